// `tangram run`: a job that feels like a program started here: its output comes as it is printed,
// signals go to it, and its exit code is ours. One rule: all of its output is delivered before the
// verb returns.
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_options.hpp"
#include "cli/job_text.hpp"
#include "cli/job_vigil.hpp"
#include "cli/log_copy.hpp"
#include "cli/signal_relay.hpp"

namespace tangram::cli {
namespace {

struct Options {
  DaemonOptions daemon;
  JobOptions job;
  bool quiet = false;
};

void say(const Options& options, const std::string& text) {
  if (!options.quiet) fmt::print(stderr, "tangram: {}\n", harmless(text));
}

// Says why it waits, each reason once.
std::function<void(const api::JobView&)> teller(const Options& options) {
  return [&options, said = std::string()](const api::JobView& job) mutable {
    const std::string text =
        cat("job ", job.id, " is ", name_of(job.state), job.reason.empty() ? "" : ": ", job.reason);
    if (text != said) say(options, text);
    said = text;
  };
}

// Copies one stream of the job in a thread.
class Copy {
 public:
  Copy(const Options& options, std::uint64_t id, const char* stream, int descriptor) {
    LogWish wish;
    wish.socket = socket_of(options.daemon);
    wish.job = id;
    wish.stream = stream;
    wish.follow = true;
    wish.patience = kRestartPatience;
    thread_ = std::thread(
        [this, wish = std::move(wish), descriptor] { done_ = copy_log(wish, descriptor); });
  }
  ~Copy() {
    if (thread_.joinable()) thread_.join();
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  Copy(Copy&&) = delete;
  Copy& operator=(Copy&&) = delete;

  Result<void> finish() {
    thread_.join();
    return done_;
  }

 private:
  std::thread thread_;
  Result<void> done_;
};

// A program that fails says why by itself.
void explain(const Options& options, const api::JobView& job) {
  if (job.state == api::JobState::kCompleted) return;
  const std::string code = job.exit_code ? cat("exited with ", *job.exit_code) : "";
  if (job.exit_code && (job.reason.empty() || job.reason == code)) return;
  const std::string why = job.reason.empty() ? end_text(job) : job.reason;
  say(options, cat("job ", job.id, " ", name_of(job.state), why.empty() ? "" : ": ", why));
}

Result<void> run(const Options& options, Command& command) {
  const auto request = job_request(options.job, command.trailing);
  if (!request) return std::unexpected(request.error());
  SignalRelay relay;
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const std::string socket = socket_of(options.daemon);
  const auto id = submit_job(*client, socket, *request);
  if (!id) return std::unexpected(id.error());
  relay.start(socket, *id);
  Copy out(options, *id, "stdout", STDOUT_FILENO);
  Copy err(options, *id, "stderr", STDERR_FILENO);
  Vigil vigil(socket, std::move(*client));
  vigil.meanwhile = teller(options);
  if (auto begun = vigil.until(*id, "running"); !begun) return std::unexpected(begun.error());
  vigil.meanwhile = nullptr;
  const auto job = vigil.until(*id, "over");
  if (!job) return std::unexpected(job.error());
  const Result<void> printed = out.finish();
  const Result<void> complained = err.finish();
  if (!printed) return printed;
  if (!complained) return complained;
  explain(options, **job);
  command.exit_code = exit_code_of(**job);
  return {};
}

}  // namespace

void add_run(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = app.add_subcommand("run", "Run a command as a job, as if it were started here");
  add_job_options(*verb, options->job);
  verb->add_flag("-q,--quiet", options->quiet, "Say nothing about waiting");
  add_daemon_options(*verb, options->daemon);
  verb->footer(
      "Example:\n"
      "  tangram run -p 2g.10gb -- python train.py --epochs 3\n"
      "The exit code is the job's: 128 and the signal if one ended it; 125 if Tangram\n"
      "could not run it. Interrupt twice within a second to kill it. Standard input is\n"
      "not passed on: the job's is empty.");
  verb->callback([&command, options] {
    command.failure_code = kOwnFailure;
    command.run = [&command, options](Output&) { return run(*options, command); };
  });
}

}  // namespace tangram::cli
