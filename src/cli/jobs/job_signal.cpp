// `tangram signal`: sends a signal to the process group of a running job. The job's state is not
// changed; `tangram cancel` stops a job.
#include <boost/json/object.hpp>

#include "api/signals.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct JobSignalOptions {
  DaemonOptions daemon;
  std::string job, signal;
};

Result<void> send(const JobSignalOptions& options, Command& command, Output& out) {
  const auto signal = api::parse_signal(options.signal);
  if (!signal) return std::unexpected(signal.error());
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = resolve_job(*client, options.job);
  if (!id) return std::unexpected(id.error());
  const auto sent = client->request("POST", cat("/v1/jobs/", *id, "/signal"),
                                    boost::json::object{{"signal", *signal}});
  if (!sent) return std::unexpected(sent.error());
  const std::string name = api::signal_name(*signal);
  if (command.json) {
    out.add(text::json_text(boost::json::object{{"job", *id}, {"signal", name}}));
  } else {
    out.line(cat("sent ", name, " to job ", *id));
  }
  return {};
}

}  // namespace

void add_signal(Verb& app, Command& command) {
  const auto options = std::make_shared<JobSignalOptions>();
  Verb verb =
      add_daemon_verb(app, command, "signal", "Send a signal to a running job", options, send);
  verb->add_option("JOB", options->job, "Job number")->required();
  verb->add_option("SIGNAL", options->signal, "Signal name or number, e.g. USR1, SIGHUP or 10")
      ->required();
  verb->footer("Example:\n  tangram signal 17 USR1\nTo stop a job use `tangram cancel`.");
}

}  // namespace tangram::cli
