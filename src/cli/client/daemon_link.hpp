// What the verbs that talk to the daemon share: connecting, requests, resolving jobs and GPUs, and
// streaming output. A job is identified by its number only; a job name is rejected with the numbers
// of the jobs that have it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "api/node.hpp"
#include "base/error.hpp"
#include "cli/command/verbs.hpp"
#include "http/client/client.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {

struct DaemonOptions {
  std::string socket;  // --socket; empty: TANGRAM_SOCKET, else the system default
};
void add_daemon_options(Verb& verb, DaemonOptions& options);
// Returns the address to connect to: a socket's path or an https:// URL.
[[nodiscard]] std::string socket_of(const DaemonOptions& options);
[[nodiscard]] Result<http::Client> connect(const DaemonOptions& options);
// Connects to an address, with the token and the CA file from the environment.
[[nodiscard]] Result<http::Client> connect_to(const std::string& address);
// Sends one request on a new connection and returns the body of the reply.
[[nodiscard]] Result<boost::json::value> request_json(
    const DaemonOptions& options, std::string_view method, std::string_view target,
    const std::optional<boost::json::value>& body = std::nullopt);

// Reads a JSON list with `read` for each element.
template <class View>
[[nodiscard]] Result<std::vector<View>> read_list(const boost::json::value& document,
                                                  Result<View> (*read)(const boost::json::value&)) {
  if (!document.is_array()) return failed("the daemon's answer is not a list.");
  std::vector<View> views;
  for (const auto& each : document.get_array()) {
    auto view = read(each);
    if (!view) return std::unexpected(view.error());
    views.push_back(std::move(*view));
  }
  return views;
}

// Gets a paginated list, newest page first, and returns all elements ordered by id. `timeout`: per
// page.
[[nodiscard]] Result<boost::json::array> get_all_pages(
    http::Client& client, std::string target,
    std::chrono::milliseconds timeout = http::Client::kDefaultTimeout);

// Prints a reply of the daemon: unchanged with --json, else read with `read` and printed as text.
template <class View>
[[nodiscard]] Result<void> show(const boost::json::value& reply,
                                Result<View> (*read)(const boost::json::value&),
                                void (*print)(const View&, Output&), const Command& command,
                                Output& out) {
  if (command.json) {
    out.add(text::json_text(reply));
    return {};
  }
  const auto view = read(reply);
  if (!view) return std::unexpected(view.error());
  print(*view, out);
  return {};
}

// Adds a verb that talks to the daemon, with --socket and the output options. `Options` must have a
// member `daemon` of type DaemonOptions.
template <class Options>
Verb add_daemon_verb(Verb& parent, Command& command, const std::string& name,
                     const std::string& summary, const std::shared_ptr<Options>& options,
                     Result<void> (*action)(const Options&, Command&, Output&)) {
  Verb verb = parent.add_subcommand(name, summary);
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  verb->callback([&command, options, action] {
    command.run = [&command, options, action](Output& out) {
      return action(*options, command, out);
    };
  });
  return verb;
}

// A request target with a query, e.g. "/v1/history?user=ann". Empty values are omitted.
class RequestTarget {
 public:
  explicit RequestTarget(std::string path) : text_(std::move(path)) {}
  RequestTarget& add(std::string_view key, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  char next_ = '?';
};

// Returns the number in `typed`. If it is a job's name, the error lists the jobs that have it.
[[nodiscard]] Result<std::uint64_t> resolve_job(http::Client& client, const std::string& typed);
[[nodiscard]] Result<std::vector<std::uint64_t>> resolve_jobs(
    http::Client& client, const std::vector<std::string>& typed);
// Returns nullopt unless `typed` is a number. Sends no request.
[[nodiscard]] std::optional<std::uint64_t> parse_job_id(const std::string& typed);
[[nodiscard]] Result<api::JobView> get_job(http::Client& client, std::uint64_t id);

// Waits until the job is `what` ("running" or "over"). Returns nullopt after `timeout`.
[[nodiscard]] Result<std::optional<api::JobView>> wait_for(http::Client& client, std::uint64_t id,
                                                           std::string_view what,
                                                           std::chrono::milliseconds timeout);

[[nodiscard]] Result<std::vector<api::GpuView>> get_gpus(http::Client& client);
// Returns the index of the GPU with this index, UUID or unique UUID prefix.
[[nodiscard]] Result<std::uint32_t> resolve_gpu(const std::vector<api::GpuView>& gpus,
                                                const std::string& typed);

// The exit code of `tangram wait` and `tangram run` for a finished job.
[[nodiscard]] int exit_code_of(const api::JobView& job);

// Writes immediately, for verbs that stream instead of using Output. Returns false if the reader is
// gone or the write failed.
[[nodiscard]] bool write_now(int descriptor, std::string_view text);

}  // namespace tangram::cli
