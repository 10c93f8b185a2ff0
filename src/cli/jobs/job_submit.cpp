// `tangram submit`: submits a job and prints its ID.
#include <algorithm>
#include <unistd.h>

#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/jobs/job_options.hpp"
#include "cli/jobs/job_waiter.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct JobSubmitOptions {
  DaemonOptions daemon;
  JobOptions job;
  bool wait = false;
};

// Of an array: the first exit code that is not 0.
Result<void> wait_until_over(std::string socket, http::Client client, const SubmittedJob& made,
                             Command& command) {
  JobWaiter waiter(std::move(socket), std::move(client));
  const std::uint64_t first = made.tasks == 0 ? made.id : made.first;
  for (std::uint64_t id = first; id < first + std::max<std::uint64_t>(1, made.tasks); ++id) {
    const auto job = waiter.wait_until(id, "over");
    if (!job) return std::unexpected(job.error());
    if (command.exit_code == 0) command.exit_code = exit_code_of(**job);
  }
  return {};
}

boost::json::value json_of(const SubmittedJob& job) {
  boost::json::object object{{"id", job.id}};
  if (!job.move.empty()) object["move"] = job.move;
  if (job.tasks != 0) object["array"] = {{"first", job.first}, {"tasks", job.tasks}};
  return object;
}

// What was decided for a service, or for a batch job that asks to be moved.
std::string decision_text(const SubmittedJob& job, bool is_service) {
  if (job.move == "replica") return "  may be moved while it runs: a replica takes over";
  if (job.move == "checkpoint") return "  may be moved while it runs: by checkpoint";
  const bool is_kept = is_service && job.move == "never";
  return is_kept ? "  is never moved while it runs; --move replica would allow it" : "";
}

void print_submitted(const SubmittedJob& job, const api::JobRequest& request, Output& out) {
  const bool is_array = job.tasks != 0;
  out.line(is_array ? cat("array ", job.id, " submitted: ", job.tasks, " tasks, jobs ", job.first,
                          " to ", job.first + job.tasks - 1)
                    : cat("job ", job.id, " submitted"));
  const std::string decision = decision_text(job, request.kind == api::JobKind::kService);
  if (!decision.empty()) out.line(decision);
  if (::isatty(STDOUT_FILENO) != 1 || is_array) return;
  out.line(out.paint(cat("  tangram logs -f ", job.id, "   print its output"), Style::kDim));
  out.line(out.paint(cat("  tangram show ", job.id, "      show its state"), Style::kDim));
}

Result<void> submit(const JobSubmitOptions& options, Command& command, Output& out) {
  const auto request = job_request(options.job, command.trailing);
  if (!request) return std::unexpected(request.error());
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const std::string socket = socket_of(options.daemon);
  const auto job = submit_job(*client, socket, *request);
  if (!job) return std::unexpected(job.error());
  if (command.json) {
    out.add(text::json_text(json_of(*job)));
  } else {
    print_submitted(*job, *request, out);
  }
  if (!options.wait) return {};
  if (auto ok = out.flush(); !ok) return ok;  // print the ID before waiting for the job
  return wait_until_over(socket, std::move(*client), *job, command);
}

}  // namespace

void add_submit(Verb& app, Command& command) {
  const auto options = std::make_shared<JobSubmitOptions>();
  Verb verb = app.add_subcommand("submit", "Submit a job and print its ID");
  add_job_options(*verb, options->job);
  verb->add_option("--array", options->job.array,
                   "Submit one task per index, e.g. 1-100, 1,3,5-9 or 0-20:5; %N at the end: at "
                   "most N active at a time")
      ->option_text("INDICES[%N]");
  verb->add_flag("--wait", options->wait, "Wait until the job ends and exit with its code");
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram submit -p 1g.5gb python train.py --epochs 3\n"
      "  tangram submit --gpu-memory 8GiB --service --probe http:/health ./serve\n"
      "  tangram submit -p 1g.5gb --array 1-100%8 --output 'run-%a.txt' ./simulate\n"
      "  tangram submit -p 1g.5gb --after 12,13:any ./clean-up\n"
      "Options end at the command's first word; -- may precede it.\n"
      "The job inherits the environment, the directory and the umask of this command.");
  verb->callback([&command, options] {
    if (options->wait) command.failure_code = kOwnFailure;
    command.run = [&command, options](Output& out) { return submit(*options, command, out); };
  });
}

}  // namespace tangram::cli
