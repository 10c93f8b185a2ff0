// How jobs and tasks of arrays are named on the command line: 17 (a job, or a whole array), 12_3
// (task 3 of array 12), 12_[1-5,9] (some of its tasks).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/array_spec.hpp"
#include "api/job.hpp"
#include "base/error.hpp"
#include "http/client/client.hpp"

namespace tangram::cli {

struct JobWord {
  std::uint64_t id = 0;  // of a job or an array
  bool is_array = false;
  std::optional<api::ArrayIndices> indices = {};  // of an array; nullopt: all its tasks
};

// Whether this is a task of an array, as in 12_3; the job of that task.
[[nodiscard]] bool names_task(const std::string& typed);
[[nodiscard]] Result<std::uint64_t> job_of_task_word(http::Client& client,
                                                     const std::string& typed);

// Asks the daemon whether a plain number is an array. If `typed` is a job's name, the error lists
// the jobs that have it.
[[nodiscard]] Result<JobWord> read_job_word(http::Client& client, const std::string& typed);
[[nodiscard]] Result<std::vector<JobWord>> read_job_words(http::Client& client,
                                                          const std::vector<std::string>& typed);
[[nodiscard]] Result<api::ArrayView> get_array(http::Client& client, std::uint64_t id);
// The jobs that the words name, arrays replaced by their tasks.
[[nodiscard]] Result<std::vector<std::uint64_t>> jobs_of(http::Client& client,
                                                         const std::vector<JobWord>& words);
// "17", "12_3" or "12_[1-5]"; the opposite of read_job_word().
[[nodiscard]] std::string job_word(const api::JobView& job);
[[nodiscard]] std::string tasks_word(std::uint64_t array, const api::ArrayIndices& indices);

}  // namespace tangram::cli
