// See job.hpp: the names of its enumerations.
#include "api/job.hpp"

#include "api/job_words.hpp"
#include "api/words.hpp"

namespace tangram::api {

std::string_view name_of(JobKind kind) { return kKindWords[static_cast<std::size_t>(kind)]; }

std::string_view name_of(Restart restart) {
  return kRestartWords[static_cast<std::size_t>(restart)];
}

std::string_view name_of(JobState state) { return kStateWords[static_cast<std::size_t>(state)]; }

std::optional<JobState> find_state(std::string_view name) {
  const auto place = find_word(name, kStateWords);
  if (!place) return std::nullopt;
  return static_cast<JobState>(*place);
}

}  // namespace tangram::api
