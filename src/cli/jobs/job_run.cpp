// `tangram run`: submits a job and behaves like the command itself: it copies the job's output,
// forwards signals and exits with the job's exit code. All output is copied before it returns.
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/log_copy.hpp"
#include "cli/client/signal_relay.hpp"
#include "cli/jobs/job_options.hpp"
#include "cli/jobs/job_waiter.hpp"

namespace tangram::cli {
namespace {

struct JobRunOptions {
  DaemonOptions daemon;
  JobOptions job;
  bool quiet = false;
};

void print_notice(const JobRunOptions& options, const std::string& text) {
  if (!options.quiet) fmt::print(stderr, "tangram: {}\n", terminal_safe(text));
}

// Returns a callback that prints why the job waits whenever the reason changes.
std::function<void(const api::JobView&)> wait_reporter(const JobRunOptions& options) {
  return [&options, last = std::string()](const api::JobView& job) mutable {
    const std::string text =
        cat("job ", job.id, " is ", name_of(job.state), job.reason.empty() ? "" : ": ", job.reason);
    if (text != last) print_notice(options, text);
    last = text;
  };
}

// Copies one stream of the job on a thread of its own.
class StreamCopy {
 public:
  StreamCopy(const JobRunOptions& options, std::uint64_t id, const char* stream, int descriptor) {
    LogQuery query;
    query.socket = socket_of(options.daemon);
    query.job = id;
    query.stream = stream;
    query.follow = true;
    query.reconnect_time = kReconnectTime;
    thread_ = std::thread(
        [this, query = std::move(query), descriptor] { done_ = copy_log(query, descriptor); });
  }
  ~StreamCopy() {
    if (thread_.joinable()) thread_.join();
  }
  StreamCopy(const StreamCopy&) = delete;
  StreamCopy& operator=(const StreamCopy&) = delete;
  StreamCopy(StreamCopy&&) = delete;
  StreamCopy& operator=(StreamCopy&&) = delete;

  Result<void> finish() {
    thread_.join();
    return done_;
  }

 private:
  std::thread thread_;
  Result<void> done_;
};

// Prints why the job ended, unless the exit code says it: then the program has reported it itself.
void print_end(const JobRunOptions& options, const api::JobView& job) {
  if (job.state == api::JobState::kCompleted) return;
  const std::string code = job.exit_code ? cat("exited with ", *job.exit_code) : "";
  if (job.exit_code && (job.reason.empty() || job.reason == code)) return;
  const std::string why = job.reason.empty() ? end_text(job) : job.reason;
  print_notice(options, cat("job ", job.id, " ", name_of(job.state), why.empty() ? "" : ": ", why));
}

Result<void> run(const JobRunOptions& options, Command& command) {
  const auto request = job_request(options.job, command.trailing);
  if (!request) return std::unexpected(request.error());
  SignalRelay relay;
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const std::string socket = socket_of(options.daemon);
  const auto job_made = submit_job(*client, socket, *request);
  if (!job_made) return std::unexpected(job_made.error());
  const std::uint64_t id = job_made->id;
  relay.start(socket, id);
  StreamCopy out(options, id, "stdout", STDOUT_FILENO);
  StreamCopy err(options, id, "stderr", STDERR_FILENO);
  JobWaiter waiter(socket, std::move(*client));
  waiter.on_waiting = wait_reporter(options);
  if (auto ok = waiter.wait_until(id, "running"); !ok) return std::unexpected(ok.error());
  waiter.on_waiting = nullptr;
  const auto job = waiter.wait_until(id, "over");
  if (!job) return std::unexpected(job.error());
  const Result<void> out_copied = out.finish();
  const Result<void> err_copied = err.finish();
  if (!out_copied) return out_copied;
  if (!err_copied) return err_copied;
  print_end(options, **job);
  command.exit_code = exit_code_of(**job);
  return {};
}

}  // namespace

void add_run(Verb& app, Command& command) {
  const auto options = std::make_shared<JobRunOptions>();
  Verb verb = app.add_subcommand("run", "Run a command as a job and wait for it");
  add_job_options(*verb, options->job);
  verb->add_flag("-q,--quiet", options->quiet, "Do not report why the job waits");
  add_daemon_options(*verb, options->daemon);
  verb->footer(
      "Example:\n"
      "  tangram run -p 2g.10gb python train.py --epochs 3\n"
      "Options end at the command's first word; -- may precede it.\n"
      "Output and signals are passed through; standard input is not. The exit code is\n"
      "that of the job: 128 plus the signal that ended it, 125 if Tangram could not run\n"
      "it. Press Ctrl-C twice within a second to kill the job.");
  verb->callback([&command, options] {
    command.failure_code = kOwnFailure;
    command.run = [&command, options](Output&) { return run(*options, command); };
  });
}

}  // namespace tangram::cli
