// `tangram cancel`, `tangram hold`, `tangram release` and `tangram requeue`. All jobs are tried
// even if one fails; the first error is reported at the end.
#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_words.hpp"
#include "cli/command/failures.hpp"
#include "http/routes/query.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct JobChangeOptions {
  DaemonOptions daemon;
  std::vector<std::string> jobs;
};

std::string cancelled_text(const api::JobView& job) {
  return is_terminal(job.state) ? cat("is ", name_of(job.state)) : "is stopping";
}

std::string state_text(const api::JobView& job) {
  return cat("is ", name_of(job.state), job.reason.empty() ? "" : ": ", job.reason);
}

using Text = std::string (*)(const api::JobView&);

std::string target_of(const JobWord& word, std::string_view action) {
  if (!word.is_array) return cat("/v1/jobs/", word.id, "/", action);
  const std::string target = cat("/v1/arrays/", word.id, "/", action);
  return word.indices
             ? cat(target, "?indices=", http::percent_encoded(api::indices_text(*word.indices)))
             : target;
}

// What became of a job or an array.
Result<std::string> line_of(const JobWord& word, std::string_view action, Text text,
                            const boost::json::value& reply) {
  if (!word.is_array) {
    const auto job = api::read_job_view(reply);
    if (!job) return std::unexpected(job.error());
    return cat("job ", word.id, " ", text(*job));
  }
  const auto array = api::read_array_view(reply);
  if (!array) return std::unexpected(array.error());
  const std::uint64_t count = array->changed.value_or(0);
  return cat("array ", word.id, ": ", action, " of ", count, count == 1 ? " task" : " tasks");
}

// Arrays replaced by the jobs of their tasks.
Result<std::vector<JobWord>> words_of_tasks(http::Client& client,
                                            const std::vector<JobWord>& words) {
  const auto jobs = jobs_of(client, words);
  if (!jobs) return std::unexpected(jobs.error());
  std::vector<JobWord> tasks;
  for (const std::uint64_t job : *jobs) tasks.push_back({.id = job});
  return tasks;
}

Result<void> change(const JobChangeOptions& options, std::string_view action, Text text,
                    Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  auto words = read_job_words(*client, options.jobs);
  if (words && action == "requeue") words = words_of_tasks(*client, *words);
  if (!words) return std::unexpected(words.error());
  boost::json::array documents;
  for (const JobWord& word : *words) {
    auto reply = client->request("POST", target_of(word, action));
    if (!reply) {
      report_failure(command, reply.error());
      continue;
    }
    const auto line = line_of(word, action, text, reply->body);
    if (!line) return std::unexpected(line.error());
    if (!command.json) out.line(*line);
    documents.push_back(std::move(reply->body));
  }
  if (command.json && !documents.empty()) out.add(text::json_text(documents));
  return {};
}

Result<void> cancel(const JobChangeOptions& options, Command& command, Output& out) {
  return change(options, "cancel", cancelled_text, command, out);
}
Result<void> hold(const JobChangeOptions& options, Command& command, Output& out) {
  return change(options, "hold", state_text, command, out);
}
Result<void> release(const JobChangeOptions& options, Command& command, Output& out) {
  return change(options, "release", state_text, command, out);
}

Result<void> requeue(const JobChangeOptions& options, Command& command, Output& out) {
  return change(options, "requeue", state_text, command, out);
}

Verb add_verb(Verb& app, Command& command, const char* name, const char* help,
              Result<void> (*action)(const JobChangeOptions&, Command&, Output&)) {
  const auto options = std::make_shared<JobChangeOptions>();
  Verb verb = add_daemon_verb(app, command, name, help, options, action);
  verb->add_option("JOB", options->jobs, "Job IDs; of arrays 12, 12_3 or '12_[1-5]'")->required();
  return verb;
}

}  // namespace

void add_cancel(Verb& app, Command& command) {
  add_verb(app, command, "cancel", "Stop jobs or remove them from the queue", cancel)
      ->footer(
          "Examples:\n  tangram cancel $(tangram ps -q --name train)\n"
          "  tangram cancel 12_[50-100]");
}

void add_hold(Verb& app, Command& command) {
  add_verb(app, command, "hold", "Keep queued jobs from starting", hold)
      ->footer(
          "Example:\n  tangram hold 17 18\n"
          "Only a queued job can be held; jobs behind it may start before it.");
}

void add_release(Verb& app, Command& command) {
  add_verb(app, command, "release", "Allow held jobs to start again", release)
      ->footer("Example:\n  tangram release 17");
}

void add_requeue(Verb& app, Command& command) {
  add_verb(app, command, "requeue", "Stop running batch jobs and queue them again", requeue)
      ->footer(
          "Example:\n  tangram requeue 17\n"
          "The job keeps its ID and the position of its submission in the queue.");
}

}  // namespace tangram::cli
