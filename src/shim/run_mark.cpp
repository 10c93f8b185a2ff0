// See run_mark.hpp.
#include "shim/run_mark.hpp"

#include <array>
#include <cerrno>
#include <sys/random.h>

#include "base/text.hpp"
#include "shim/run_folder.hpp"
#include "shim/system.hpp"

namespace tangram::shim {

Result<std::string> make_tag() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed(cat("cannot get random bytes for the mark of the run: ", errno_text(errno), "."));
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text += {"0123456789abcdef"[byte >> 4U], "0123456789abcdef"[byte & 15U]};
  }
  return text;
}

uid_t user_of(const api::RunSpec& spec) {
  const uid_t own = ::geteuid();
  return spec.user && own == 0 ? spec.user->uid : own;
}

// The tag in `started` is the one that the shim used: spec.json may have been written again.
Result<RunMark> read_mark(const std::string& folder) {
  const auto spec = read_spec(folder);
  if (!spec) return std::unexpected(spec.error());
  const auto started = read_started(folder);
  if (!started) return std::unexpected(started.error());
  const bool has_tag = *started && !(*started)->tag.empty();
  return RunMark{
      .tag = has_tag ? (*started)->tag : spec->tag, .uid = user_of(*spec), .cgroup = spec->cgroup};
}

}  // namespace tangram::shim
