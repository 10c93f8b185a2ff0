// `tangram signal`: sends a running job a signal, to reload, to report, to save. One rule: it goes
// to the job's process group and nothing else is done; ending a job is `tangram cancel`.
#include <boost/json/object.hpp>

#include "api/signals.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "files/json_text.hpp"

namespace tangram::cli {
namespace {

struct Options {
  DaemonOptions daemon;
  std::string job, signal;
};

Result<void> send(const Options& options, Command& command, Output& out) {
  const auto signal = api::parse_signal(options.signal);
  if (!signal) return std::unexpected(signal.error());
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = job_named(*client, options.job);
  if (!id) return std::unexpected(id.error());
  const auto sent = client->request("POST", cat("/v1/jobs/", *id, "/signal"),
                                    boost::json::object{{"signal", *signal}});
  if (!sent) return std::unexpected(sent.error());
  const std::string name = api::signal_name(*signal);
  if (command.json) {
    out.add(files::json_text(boost::json::object{{"job", *id}, {"signal", name}}));
  } else {
    out.line(cat(name, " was sent to job ", *id));
  }
  return {};
}

}  // namespace

void add_signal(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = add_daemon_verb(app, command, "signal", "Send a running job a signal", options, send);
  verb->add_option("JOB", options->job, "The number of the job")->required();
  verb->add_option("SIGNAL", options->signal, "Its name or number, as USR1, SIGHUP or 10")
      ->required();
  verb->footer("Example:\n  tangram signal 17 USR1\nTo end a job, `tangram cancel` it.");
}

}  // namespace tangram::cli
