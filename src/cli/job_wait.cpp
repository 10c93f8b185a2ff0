// `tangram wait`: until jobs are over, or run.
#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_vigil.hpp"
#include "files/json_text.hpp"

namespace tangram::cli {
namespace {

constexpr int kTimedOut = 124;  // as timeout(1) has it

struct Options {
  DaemonOptions daemon;
  std::vector<std::string> jobs;
  std::string timeout;
  bool running = false;
};

Result<void> wait(const Options& options, Command& command, Output& out) {
  std::optional<Vigil::Clock::time_point> deadline;
  if (!options.timeout.empty()) {
    const auto patience = api::parse_duration(options.timeout);
    if (!patience) return invalid(cat("--timeout: ", patience.error().message));
    deadline = Vigil::Clock::now() + *patience;
  }
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto ids = jobs_named(*client, options.jobs);
  if (!ids) return std::unexpected(ids.error());
  Vigil vigil(socket_of(options.daemon), std::move(*client));
  boost::json::array documents;
  for (const std::uint64_t id : *ids) {
    const auto job = vigil.until(id, options.running ? "running" : "over", deadline);
    if (!job) return std::unexpected(job.error());
    if (!*job) {
      command.exit_code = kTimedOut;
      break;
    }
    const bool ended = api::is_over((**job).state);
    if (command.exit_code == 0 && ended) command.exit_code = exit_code_of(**job);
    documents.push_back(to_json(**job));
  }
  if (command.json) out.add(files::json_text(documents));
  return {};
}

}  // namespace

void add_wait(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = app.add_subcommand("wait", "Return when jobs are over, with their exit code");
  verb->add_option("JOB", options->jobs, "The numbers of the jobs")->required();
  verb->add_flag("--running", options->running, "Return when they run, or are over already");
  verb->add_option("--timeout", options->timeout,
                   "Give up after so long, as 10m, with exit code 124")
      ->option_text("TIME");
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  verb->footer(
      "The exit code is the first that is not 0; 128 and the signal for one that ended\n"
      "by it; 124 if the time is over; 125 if one never ran, or Tangram could not say.\n"
      "A daemon that is restarted meanwhile is waited for.");
  verb->callback([&command, options] {
    command.failure_code = kOwnFailure;
    command.run = [&command, options](Output& out) { return wait(*options, command, out); };
  });
}

}  // namespace tangram::cli
