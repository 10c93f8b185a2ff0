// `tangram cordon`, `tangram uncordon` and `tangram drain`. Interrupting a drain ends the waiting;
// the GPU stays cordoned and continues draining.
#include <algorithm>
#include <csignal>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/log_copy.hpp"
#include "cli/client/signal_watch.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct GpuChangeOptions {
  DaemonOptions daemon;
  std::vector<std::string> gpus;
  bool no_wait = false;
};

std::string list_of(const std::vector<std::uint32_t>& gpus) {
  std::vector<std::string> words;
  words.reserve(gpus.size());
  for (const std::uint32_t gpu : gpus) words.push_back(std::to_string(gpu));
  return cat(words.size() == 1 ? "GPU " : "GPUs ", join_words(words));
}

Result<std::vector<std::uint32_t>> resolve_gpus(http::Client& client,
                                                const GpuChangeOptions& options) {
  const auto all = get_gpus(client);
  if (!all) return std::unexpected(all.error());
  std::vector<std::uint32_t> gpus;
  for (const std::string& typed : options.gpus) {
    const auto gpu = resolve_gpu(*all, typed);
    if (!gpu) return std::unexpected(gpu.error());
    if (std::ranges::find(gpus, *gpu) == gpus.end()) gpus.push_back(*gpu);
  }
  return gpus;
}

Result<boost::json::array> change(http::Client& client, const std::vector<std::uint32_t>& gpus,
                                  std::string_view action) {
  boost::json::array documents;
  for (const std::uint32_t gpu : gpus) {
    auto reply = client.request("POST", cat("/v1/gpus/", gpu, "/", action));
    if (!reply) return std::unexpected(reply.error());
    documents.push_back(std::move(reply->body));
  }
  return documents;
}

// The jobs and leases on these GPUs.
std::vector<std::string> remaining_jobs(const std::vector<api::GpuView>& all,
                                        const std::vector<std::uint32_t>& gpus) {
  std::vector<std::string> jobs;
  for (const api::GpuView& gpu : all) {
    if (std::ranges::find(gpus, gpu.index) == gpus.end()) continue;
    for (const api::InstanceView& instance : gpu.instances) {
      if (instance.job) jobs.push_back(std::to_string(*instance.job));
    }
  }
  return jobs;
}

// Progress on standard error: on a terminal one line that is redrawn, else one line per change.
class WaitingLine {
 public:
  WaitingLine() = default;
  ~WaitingLine() {
    if (terminal_ && !shown_.empty()) fmt::print(stderr, "\r\x1b[K");
  }
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;
  WaitingLine(WaitingLine&&) = delete;
  WaitingLine& operator=(WaitingLine&&) = delete;

  void show(const std::string& text) {
    if (text == shown_) return;
    fmt::print(stderr, "{}tangram: {}{}", terminal_ ? "\r\x1b[K" : "", text, terminal_ ? "" : "\n");
    shown_ = text;
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string shown_;
};

constexpr auto kPollInterval = std::chrono::milliseconds(300);
constexpr auto kDrainReconnectTime = std::chrono::seconds(30);

// Returns true when the GPUs are empty, false after an interrupt.
Result<bool> wait_until_empty(const GpuChangeOptions& options, http::Client& client,
                              const std::vector<std::uint32_t>& gpus, const SignalWatch& signals) {
  WaitingLine line;
  while (true) {
    auto all = get_gpus(client);
    if (!all && all.error().code == ErrorCode::kUnavailable) {
      auto again = reconnect(socket_of(options.daemon), kDrainReconnectTime);
      if (!again) return std::unexpected(again.error());
      client = std::move(*again);
    } else if (!all) {
      return std::unexpected(all.error());
    } else {
      const std::vector<std::string> jobs = remaining_jobs(*all, gpus);
      if (jobs.empty()) return true;
      line.show(cat("waiting for ", jobs.size() == 1 ? "job " : "jobs ", join_words(jobs),
                    " to leave ", list_of(gpus)));
    }
    if (signals.wait(kPollInterval)) return false;
  }
}

Result<void> drain(const GpuChangeOptions& options, Command& command, Output& out) {
  const SignalWatch signals({SIGINT, SIGTERM});
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto gpus = resolve_gpus(*client, options);
  if (!gpus) return std::unexpected(gpus.error());
  auto documents = change(*client, *gpus, "drain");
  if (!documents) return std::unexpected(documents.error());
  bool empty = false;
  if (!options.no_wait) {
    const auto waited = wait_until_empty(options, *client, *gpus, signals);
    if (!waited) return std::unexpected(waited.error());
    empty = *waited;
    if (!empty) {
      fmt::print(stderr, "tangram: {} {} draining; use `tangram uncordon` to stop it.\n",
                 list_of(*gpus), gpus->size() == 1 ? "continues" : "continue");
      command.exit_code = 128 + SIGINT;
      return {};
    }
  }
  if (command.json) {
    out.add(text::json_text(*documents));
  } else {
    out.line(
        cat(list_of(*gpus), gpus->size() == 1 ? " is " : " are ", empty ? "drained" : "draining"));
  }
  return {};
}

Result<void> change_and_print(const GpuChangeOptions& options, std::string_view action,
                              Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto gpus = resolve_gpus(*client, options);
  if (!gpus) return std::unexpected(gpus.error());
  const auto documents = change(*client, *gpus, action);
  if (!documents) return std::unexpected(documents.error());
  if (command.json) {
    out.add(text::json_text(*documents));
  } else {
    out.line(cat(list_of(*gpus), gpus->size() == 1 ? " is " : " are ", action, "ed"));
  }
  return {};
}

Result<void> cordon(const GpuChangeOptions& options, Command& command, Output& out) {
  return change_and_print(options, "cordon", command, out);
}
Result<void> uncordon(const GpuChangeOptions& options, Command& command, Output& out) {
  return change_and_print(options, "uncordon", command, out);
}

Verb add_gpu_verb(Verb& app, Command& command, const char* name, const char* help,
                  const std::shared_ptr<GpuChangeOptions>& options,
                  Result<void> (*action)(const GpuChangeOptions&, Command&, Output&)) {
  Verb verb = add_daemon_verb(app, command, name, help, options, action);
  verb->add_option("GPU", options->gpus, "GPU indices, UUIDs or UUID prefixes")->required();
  return verb;
}

}  // namespace

void add_cordon(Verb& app, Command& command) {
  add_gpu_verb(app, command, "cordon", "Stop placing new jobs on GPUs",
               std::make_shared<GpuChangeOptions>(), cordon)
      ->footer("Example:\n  tangram cordon 2\nRunning jobs continue; see `tangram drain`.");
}

void add_uncordon(Verb& app, Command& command) {
  add_gpu_verb(app, command, "uncordon", "Return GPUs to service",
               std::make_shared<GpuChangeOptions>(), uncordon)
      ->footer("Example:\n  tangram uncordon 2");
}

void add_drain(Verb& app, Command& command) {
  const auto options = std::make_shared<GpuChangeOptions>();
  Verb verb = add_gpu_verb(app, command, "drain",
                           "Cordon GPUs, move their jobs away and wait until they are empty",
                           options, drain);
  verb->add_flag("--no-wait", options->no_wait, "Return without waiting");
  verb->footer(
      "Example:\n  tangram drain 2\n"
      "Interrupting the command ends the waiting, not the draining.");
}

}  // namespace tangram::cli
