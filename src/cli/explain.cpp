// `tangram explain` and `tangram what-if`: why a job is where it is or why it waits, and what would
// become of one that is not there yet. One rule: the sentences are the daemon's; the table beside
// them is for whoever wants to check.
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/explanation_text.hpp"
#include "cli/job_text.hpp"
#include "cli/watch.hpp"

namespace tangram::cli {
namespace {

struct ExplainOptions {
  DaemonOptions daemon;
  std::string job;
};

Result<void> explain(const ExplainOptions& options, Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = job_named(*client, options.job);
  if (!id) return std::unexpected(id.error());
  const auto reply = client->request("GET", cat("/v1/explain/", *id));
  if (!reply) return std::unexpected(reply.error());
  return show<api::Explanation>(reply->body, api::read_explanation, print, command, out);
}

struct WhatIfOptions {
  DaemonOptions daemon;
  std::string profile, gpu_memory;
};

Result<void> what_if(const WhatIfOptions& options, Command& command, Output& out) {
  if (options.profile.empty() == options.gpu_memory.empty()) {
    return invalid("say what the job would need: --profile, as 2g.10gb, or --gpu-memory, as 8GiB.");
  }
  if (!options.gpu_memory.empty()) {
    const auto size = api::parse_bytes(options.gpu_memory);
    if (!size) return invalid(cat("--gpu-memory: ", size.error().message));
  }
  const std::string target = RequestTarget("/v1/what-if")
                                 .add("profile", options.profile)
                                 .add("gpu_memory", options.gpu_memory)
                                 .text();
  const auto answer = ask(options.daemon, "GET", target);
  if (!answer) return std::unexpected(answer.error());
  return show<api::WhatIf>(*answer, api::read_what_if, print, command, out);
}

}  // namespace

void add_explain(Verb& app, Command& command) {
  const auto options = std::make_shared<ExplainOptions>();
  Verb verb = add_daemon_verb(app, command, "explain",
                              "Say why a job is where it is, or why it waits", options, explain);
  verb->add_option("JOB", options->job, "The number of the job")->required();
  add_watch_option(*verb, command);
  verb->footer("Example:\n  tangram explain 17");
}

void add_what_if(Verb& app, Command& command) {
  const auto options = std::make_shared<WhatIfOptions>();
  Verb verb = add_daemon_verb(app, command, "what-if",
                              "Say what would become of a job that is not there", options, what_if);
  verb->add_option("-p,--profile", options->profile, "The MIG profile it would need; or")
      ->option_text("PROFILE");
  verb->add_option("--gpu-memory", options->gpu_memory,
                   "the smallest profile with so much memory, as 8GiB")
      ->option_text("SIZE");
  verb->footer("Examples:\n  tangram what-if -p 3g.20gb\n  tangram what-if --gpu-memory 8GiB");
}

}  // namespace tangram::cli
