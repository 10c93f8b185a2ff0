// `tangram wait`: waits until jobs have ended, or run.
#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/jobs/job_waiter.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

constexpr int kTimedOut = 124;  // as timeout(1)

struct JobWaitOptions {
  DaemonOptions daemon;
  std::vector<std::string> jobs;
  std::string timeout;
  bool running = false;
};

Result<void> wait(const JobWaitOptions& options, Command& command, Output& out) {
  std::optional<JobWaiter::Clock::time_point> deadline;
  if (!options.timeout.empty()) {
    const auto timeout = api::parse_duration(options.timeout);
    if (!timeout) return invalid(cat("--timeout: ", timeout.error().message));
    deadline = JobWaiter::Clock::now() + *timeout;
  }
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  JobWaiter waiter(socket_of(options.daemon), std::move(*client));
  const auto ids = waiter.find_jobs(options.jobs, deadline);
  if (!ids) return std::unexpected(ids.error());
  if (!*ids) command.exit_code = kTimedOut;
  boost::json::array documents;
  for (const std::uint64_t id : ids->value_or(std::vector<std::uint64_t>())) {
    const auto job = waiter.wait_until(id, options.running ? "running" : "over", deadline);
    if (!job) return std::unexpected(job.error());
    if (!*job) {
      command.exit_code = kTimedOut;
      break;
    }
    const bool ended = api::is_terminal((**job).state);
    if (command.exit_code == 0 && ended) command.exit_code = exit_code_of(**job);
    documents.push_back(to_json(**job));
  }
  if (command.json) out.add(text::json_text(documents));
  return {};
}

}  // namespace

void add_wait(Verb& app, Command& command) {
  const auto options = std::make_shared<JobWaitOptions>();
  Verb verb = app.add_subcommand("wait", "Wait until jobs end and exit with their code");
  verb->add_option("JOB", options->jobs,
                   "Job or lease IDs; of arrays 12 (all tasks), 12_3 or '12_[1-5]'")
      ->required();
  verb->add_flag("--running", options->running, "Return as soon as the jobs run or have ended");
  verb->add_option("--timeout", options->timeout,
                   "Give up after this time, e.g. 10m, with exit code 124")
      ->option_text("TIME");
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram wait 17 18\n"
      "  tangram wait 17 --running --timeout 10m\n"
      "The exit code is the first that is not 0: 128 plus the signal that ended a job,\n"
      "124 after the timeout, 125 if a job never ran or Tangram failed. Restarts of the\n"
      "daemon do not end the waiting.");
  verb->callback([&command, options] {
    command.failure_code = kOwnFailure;
    command.run = [&command, options](Output& out) { return wait(*options, command, out); };
  });
}

}  // namespace tangram::cli
