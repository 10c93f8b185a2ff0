// `tangram explain` and `tangram what-if`: why a job is where it is or why it waits, and what would
// happen to a new job. The daemon makes the sentences; a table lists the compared slots.
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/explanation_text.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/watch.hpp"

namespace tangram::cli {
namespace {

struct ExplainOptions {
  DaemonOptions daemon;
  std::string job;
};

Result<void> explain(const ExplainOptions& options, Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = resolve_job(*client, options.job);
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
    return invalid(
        "no instance size given: use --profile (e.g. 2g.10gb) or --gpu-memory (e.g. 8GiB).");
  }
  if (!options.gpu_memory.empty()) {
    const auto size = api::parse_bytes(options.gpu_memory);
    if (!size) return invalid(cat("--gpu-memory: ", size.error().message));
  }
  const std::string target = RequestTarget("/v1/what-if")
                                 .add("profile", options.profile)
                                 .add("gpu_memory", options.gpu_memory)
                                 .text();
  const auto answer = request_json(options.daemon, "GET", target);
  if (!answer) return std::unexpected(answer.error());
  return show<api::WhatIf>(*answer, api::read_what_if, print, command, out);
}

}  // namespace

void add_explain(Verb& app, Command& command) {
  const auto options = std::make_shared<ExplainOptions>();
  Verb verb =
      add_daemon_verb(app, command, "explain", "Explain why a job waits or was placed where it is",
                      options, explain);
  verb->add_option("JOB", options->job, "Job number")->required();
  add_watch_option(*verb, command);
  verb->footer("Example:\n  tangram explain 17");
}

void add_what_if(Verb& app, Command& command) {
  const auto options = std::make_shared<WhatIfOptions>();
  Verb verb = add_daemon_verb(app, command, "what-if",
                              "Predict whether a job would start now, wait or be rejected", options,
                              what_if);
  verb->add_option("-p,--profile", options->profile, "MIG profile of the job, e.g. 3g.20gb; or")
      ->option_text("PROFILE");
  verb->add_option("--gpu-memory", options->gpu_memory,
                   "Use the smallest profile with at least this much memory, e.g. 8GiB")
      ->option_text("SIZE");
  verb->footer("Examples:\n  tangram what-if -p 3g.20gb\n  tangram what-if --gpu-memory 8GiB");
}

}  // namespace tangram::cli
