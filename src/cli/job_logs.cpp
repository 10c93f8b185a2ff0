// `tangram logs`: what a job printed, and with -f what it prints.
#include <unistd.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/log_copy.hpp"

namespace tangram::cli {
namespace {

struct Options {
  DaemonOptions daemon;
  std::string job;
  bool follow = false;
  bool errors = false;
  std::optional<std::uint64_t> tail;
};

Result<void> logs(const Options& options) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = job_named(*client, options.job);
  if (!id) return std::unexpected(id.error());
  LogWish wish;
  wish.socket = socket_of(options.daemon);
  wish.job = *id;
  wish.stream = options.errors ? "stderr" : "stdout";
  wish.follow = options.follow;
  wish.tail = options.tail;
  if (options.follow) wish.patience = std::chrono::seconds(30);
  return copy_log(wish, STDOUT_FILENO);
}

}  // namespace

void add_logs(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = app.add_subcommand("logs", "Print what a job printed");
  verb->add_option("JOB", options->job, "The number of the job")->required();
  verb->add_flag("-f,--follow", options->follow, "Go on until the job is over");
  verb->add_flag("--stderr", options->errors, "Its standard error instead of its standard output");
  verb->add_option("--tail", options->tail, "Only the last lines")
      ->between(0, 1'000'000'000)
      ->option_text("N");
  add_daemon_options(*verb, options->daemon);
  verb->footer("Example:\n  tangram logs -f --tail 10 17");
  verb->callback(
      [&command, options] { command.run = [options](Output&) { return logs(*options); }; });
}

}  // namespace tangram::cli
