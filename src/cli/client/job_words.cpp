// See job_words.hpp.
#include "cli/client/job_words.hpp"

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"

namespace tangram::cli {
namespace {

// The part behind '_': "3" or "[1-5]".
Result<api::ArrayIndices> read_indices(const std::string& typed, std::string_view text) {
  const bool in_brackets = text.starts_with('[') && text.ends_with(']') && text.size() > 2;
  const bool is_plain = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!in_brackets && !is_plain) {
    return invalid(
        cat(tangram::quoted(typed), ": name tasks of an array as e.g. 12_3 or '12_[1-5]'."));
  }
  auto indices = api::parse_indices(in_brackets ? text.substr(1, text.size() - 2) : text);
  if (!indices) return invalid(cat(tangram::quoted(typed), ": ", indices.error().message, "."));
  return indices;
}

}  // namespace

bool names_task(const std::string& typed) {
  const std::size_t bar = typed.find('_');
  return bar != std::string::npos && parse_job_id(typed.substr(0, bar)) &&
         parse_job_id(typed.substr(bar + 1));
}

Result<std::uint64_t> job_of_task_word(http::Client& client, const std::string& typed) {
  const auto word = read_job_word(client, typed);
  if (!word) return std::unexpected(word.error());
  const auto jobs = jobs_of(client, {*word});
  if (!jobs) return std::unexpected(jobs.error());
  return jobs->front();
}

Result<JobWord> read_job_word(http::Client& client, const std::string& typed) {
  const std::size_t bar = typed.find('_');
  const auto array = parse_job_id(typed.substr(0, bar));
  if (bar != std::string::npos && array) {
    auto indices = read_indices(typed, std::string_view(typed).substr(bar + 1));
    if (!indices) return std::unexpected(indices.error());
    return JobWord{.id = *array, .is_array = true, .indices = *std::move(indices)};
  }
  const auto id = resolve_job(client, typed);
  if (!id) return std::unexpected(id.error());
  const auto reply = client.request("GET", cat("/v1/arrays/", *id));
  if (!reply && reply.error().code != ErrorCode::kNotFound) return std::unexpected(reply.error());
  return JobWord{.id = *id, .is_array = reply.has_value()};
}

Result<std::vector<JobWord>> read_job_words(http::Client& client,
                                            const std::vector<std::string>& typed) {
  std::vector<JobWord> words;
  for (const std::string& each : typed) {
    auto word = read_job_word(client, each);
    if (!word) return std::unexpected(word.error());
    words.push_back(*std::move(word));
  }
  return words;
}

Result<api::ArrayView> get_array(http::Client& client, std::uint64_t id) {
  const auto reply = client.request("GET", cat("/v1/arrays/", id));
  if (!reply) return std::unexpected(reply.error());
  return api::read_array_view(reply->body);
}

Result<std::vector<std::uint64_t>> jobs_of(http::Client& client,
                                           const std::vector<JobWord>& words) {
  std::vector<std::uint64_t> jobs;
  for (const JobWord& word : words) {
    if (!word.is_array) {
      jobs.push_back(word.id);
      continue;
    }
    const auto array = get_array(client, word.id);
    if (!array) return std::unexpected(array.error());
    for (const std::uint32_t index : word.indices.value_or(array->spec.indices)) {
      const auto job = job_of_task(*array, index);
      if (!job) {
        return not_found(cat("array ", word.id, " has no task ", index, ": its tasks are ",
                             api::indices_text(array->spec.indices), "."));
      }
      jobs.push_back(*job);
    }
  }
  return jobs;
}

std::string job_word(const api::JobView& job) {
  if (!job.array || !job.array_index) return std::to_string(job.id);
  return cat(*job.array, '_', *job.array_index);
}

std::string tasks_word(std::uint64_t array, const api::ArrayIndices& indices) {
  if (indices.size() == 1) return cat(array, '_', indices.front());
  return cat(array, "_[", api::indices_text(indices), ']');
}

}  // namespace tangram::cli
