// What the verbs that speak to the daemon share: where it listens, how a job is named, and writing
// while a verb still runs. One rule: a job is named by its number; a name is answered with the
// numbers that have it.
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
#include "cli/verbs.hpp"
#include "files/json_text.hpp"
#include "http/client.hpp"

namespace tangram::cli {

struct DaemonOptions {
  std::string socket;  // --socket; empty: TANGRAM_SOCKET, or the system's
};
void add_daemon_options(Verb& verb, DaemonOptions& options);
[[nodiscard]] std::string socket_of(const DaemonOptions& options);
[[nodiscard]] Result<http::Client> connect(const DaemonOptions& options);
// The same by address: a socket's path, or an https:// URL, with the token and the certificates
// that the environment names.
[[nodiscard]] Result<http::Client> connect_to(const std::string& where);
// One question on a connection of its own: the body of the answer.
[[nodiscard]] Result<boost::json::value> ask(
    const DaemonOptions& options, std::string_view method, std::string_view target,
    const std::optional<boost::json::value>& body = std::nullopt);

// A list of views, each read as `read` does.
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

// A list that comes in pages, the newest first: all of them together, by id.
[[nodiscard]] Result<boost::json::array> ask_for_all(
    http::Client& client, std::string target,
    std::chrono::milliseconds patience = http::Client::kPatience);

// An answer of the daemon: as it is with --json, else read and printed for people.
template <class View>
[[nodiscard]] Result<void> show(const boost::json::value& answer,
                                Result<View> (*read)(const boost::json::value&),
                                void (*print)(const View&, Output&), const Command& command,
                                Output& out) {
  if (command.json) {
    out.add(files::json_text(answer));
    return {};
  }
  const auto view = read(answer);
  if (!view) return std::unexpected(view.error());
  print(*view, out);
  return {};
}

// A verb that speaks to the daemon: --socket and the output options are there already. `Options`
// has a member `daemon`.
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

// "/v1/history?user=ann": a target with a query; what is empty is left out.
class RequestTarget {
 public:
  explicit RequestTarget(std::string path) : text_(std::move(path)) {}
  RequestTarget& add(std::string_view key, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  char next_ = '?';
};

// The number of a job that was typed.
[[nodiscard]] Result<std::uint64_t> job_named(http::Client& client, const std::string& typed);
[[nodiscard]] Result<std::vector<std::uint64_t>> jobs_named(http::Client& client,
                                                            const std::vector<std::string>& typed);
// Numbers only; nothing is asked of the daemon.
[[nodiscard]] std::optional<std::uint64_t> number_in(const std::string& typed);
[[nodiscard]] Result<api::JobView> get_job(http::Client& client, std::uint64_t id);

// The job when it is so, or none when the patience was used up.
[[nodiscard]] Result<std::optional<api::JobView>> wait_for(http::Client& client, std::uint64_t id,
                                                           std::string_view what,
                                                           std::chrono::milliseconds patience);

// A GPU by its index, its UUID or the beginning of one.
[[nodiscard]] Result<std::vector<api::GpuView>> get_gpus(http::Client& client);
[[nodiscard]] Result<std::uint32_t> gpu_named(const std::vector<api::GpuView>& gpus,
                                              const std::string& typed);

// What `tangram wait` and `tangram run` exit with for a job that is over.
[[nodiscard]] int exit_code_of(const api::JobView& job);

// Writes at once, for verbs that go on for long: what a job prints cannot be kept until its end, as
// Output does. False: nobody reads any more, or it cannot be written.
[[nodiscard]] bool write_now(int descriptor, std::string_view text);

}  // namespace tangram::cli
