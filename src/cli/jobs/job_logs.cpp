// `tangram logs`: prints a job's output; -f follows it.
#include <unistd.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/log_copy.hpp"

namespace tangram::cli {
namespace {

struct JobLogsOptions {
  DaemonOptions daemon;
  std::string job;
  bool follow = false;
  bool errors = false;
  std::optional<std::uint64_t> tail;
};

Result<void> logs(const JobLogsOptions& options) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = resolve_job(*client, options.job);
  if (!id) return std::unexpected(id.error());
  LogQuery query;
  query.socket = socket_of(options.daemon);
  query.job = *id;
  query.stream = options.errors ? "stderr" : "stdout";
  query.follow = options.follow;
  query.tail = options.tail;
  if (options.follow) query.reconnect_time = std::chrono::seconds(30);
  return copy_log(query, STDOUT_FILENO);
}

}  // namespace

void add_logs(Verb& app, Command& command) {
  const auto options = std::make_shared<JobLogsOptions>();
  Verb verb = app.add_subcommand("logs", "Print the output of a job");
  verb->add_option("JOB", options->job, "Job number")->required();
  verb->add_flag("-f,--follow", options->follow, "Follow the output until the job ends");
  verb->add_flag("--stderr", options->errors, "Print standard error instead of standard output");
  verb->add_option("--tail", options->tail, "Print only the last N lines")
      ->between(0, 1'000'000'000)
      ->option_text("N");
  add_daemon_options(*verb, options->daemon);
  verb->footer("Example:\n  tangram logs -f --tail 10 17");
  verb->callback(
      [&command, options] { command.run = [options](Output&) { return logs(*options); }; });
}

}  // namespace tangram::cli
