// What the verbs that speak to the daemon share: where it listens, how a job is named, and writing
// while a verb still runs. One rule: a job is named by its number; a name is answered with the
// numbers that have it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.hpp"
#include "base/error.hpp"
#include "cli/verbs.hpp"
#include "http/client.hpp"

namespace tangram::cli {

struct DaemonOptions {
  std::string socket;  // --socket; empty: TANGRAM_SOCKET, or the system's
};
void add_daemon_options(CLI::App& verb, DaemonOptions& options);
[[nodiscard]] std::string socket_of(const DaemonOptions& options);
[[nodiscard]] Result<http::Client> connect(const DaemonOptions& options);

// The number of a job that was typed.
[[nodiscard]] Result<std::uint64_t> job_named(http::Client& client, const std::string& typed);
[[nodiscard]] Result<std::vector<std::uint64_t>> jobs_named(http::Client& client,
                                                            const std::vector<std::string>& typed);
[[nodiscard]] Result<api::JobView> get_job(http::Client& client, std::uint64_t id);

// The job when it is so, or none when the patience was used up.
[[nodiscard]] Result<std::optional<api::JobView>> wait_for(http::Client& client, std::uint64_t id,
                                                           std::string_view what,
                                                           std::chrono::milliseconds patience);

// What `tangram wait` and `tangram run` exit with for a job that is over.
[[nodiscard]] int exit_code_of(const api::JobView& job);

// Writes at once, for verbs that go on for long: what a job prints cannot be kept until its end, as
// Output does. False: nobody reads any more, or it cannot be written.
[[nodiscard]] bool write_now(int descriptor, std::string_view text);

}  // namespace tangram::cli
