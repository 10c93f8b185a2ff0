// `tangram show`: prints the details of jobs.
#include <boost/json/array.hpp>

#include "api/signals.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/job_words.hpp"
#include "cli/client/watch.hpp"
#include "cli/command/failures.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct JobShowOptions {
  DaemonOptions daemon;
  std::vector<std::string> jobs;
};

class Facts {
 public:
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) table_.row({Cell(cat("  ", name), Style::kDim), terminal_safe(value)});
  }
  void print(Output& out) const { table_.print(out); }

 private:
  Table table_{{{"", Align::kLeft, 0}, {""}}};
};

std::string labels_text(const api::JobRequest& request) {
  std::string text;
  for (const auto& [name, value] : request.labels) {
    text += cat(text.empty() ? "" : " ", name, '=', value);
  }
  return text;
}

// Empty for an outline, which does not include the move options.
std::string moves_text(const api::JobView& job) {
  if (job.outline) return "";
  const api::MoveOptions& move = job.request.move;
  switch (api::move_method(job.request)) {
    case api::MoveMethod::kReplica:
      return "by replica";
    case api::MoveMethod::kCheckpoint:
      return cat("by checkpoint on ", api::signal_name(move.signal), ", within ",
                 api::duration_text(move.deadline));
    case api::MoveMethod::kNever:
      break;
  }
  return "never";
}

// How the run came to its slot. The API says "asked" for a move that a person requested.
std::string how_text(const std::string& how) {
  return how == "asked" ? "manual" : terminal_safe(how);
}

void print_places(const std::vector<api::RunRecord>& places, Output& out) {
  if (places.empty()) return;
  out.line();
  out.line(out.paint("PLACES", Style::kBold));
  Table table({{"RUN", Align::kRight, 2}, {"PLACE"}, {"HOW"}, {"SINCE"}, {"UNTIL"}, {"RESULT"}});
  const auto result = [](const api::RunRecord& place) {
    return cat(place.result, place.cut == 0 ? "" : cat(", ", place.cut, " cut"));
  };
  const auto moment = [](const std::optional<api::WallTime>& when) {
    return when ? local_text(*when) : "-";
  };
  for (const api::RunRecord& place : places) {
    table.row({place.run ? std::to_string(*place.run) : "-", cat(place.gpu, '@', place.start),
               how_text(place.how), moment(place.started), moment(place.ended),
               terminal_safe(result(place))});
  }
  table.print(out);
  for (const api::RunRecord& place : places) {  // reasons on their own lines, not wrapped
    if (place.reason.empty()) continue;
    out.line(cat("  ", place.gpu, '@', place.start, ": ", terminal_safe(place.reason)));
  }
}

void print_job(const api::JobView& job, Output& out) {
  const api::JobRequest& r = job.request;
  const Cell state = state_cell(job);
  out.line(cat(out.paint(cat("job ", job.id), Style::kBold), "  ", terminal_safe(r.name), "  ",
               out.paint(state.text, state.style)));
  Facts facts;
  const auto moment = [](const std::optional<api::WallTime>& when) {
    return when ? local_text(*when) : "";
  };
  facts.add("reason", job.reason);
  facts.add("ended with", end_text(job));
  facts.add("user", cat(job.user, " (", job.uid, ")"));
  if (job.array) facts.add("array", cat(*job.array, ", task ", job.array_index.value_or(0)));
  facts.add("command", shell_text(r.command));
  facts.add("directory", r.directory);
  facts.add("output", r.output);
  facts.add("error", r.error);
  facts.add("profile", job.profile);
  if (job.gpu)
    facts.add("place", cat("GPU ", *job.gpu, job.start ? cat(", slice ", *job.start) : ""));
  facts.add("GPU model", r.gpu_model);
  facts.add("priority", r.priority != 0 ? std::to_string(r.priority) : "");
  facts.add("instance", job.mig_uuid);
  facts.add("process", job.pid ? std::to_string(*job.pid) : "");
  facts.add("kind", std::string(name_of(r.kind)));
  facts.add("port", job.port ? std::to_string(*job.port) : "");
  facts.add("address", job.address);
  facts.add("moves", moves_text(job));
  facts.add("labels", labels_text(r));
  facts.add("after", api::dependencies_text(r.after));
  if (r.restart != api::Restart::kNever) {
    facts.add("restart", cat(name_of(r.restart), ", ", job.restarts, " of ", r.max_restarts));
  }
  facts.add("time limit", r.time_limit ? api::duration_text(*r.time_limit) : "");
  facts.add("submitted", local_text(job.submitted));
  facts.add("started", moment(job.started));
  facts.add("ended", moment(job.ended));
  if (job.started) {
    facts.add(job.ended ? "ran for" : "runs for",
              age_text(job.ended.value_or(now()) - *job.started));
  }
  facts.print(out);
  print_places(job.places, out);
}

void print_array(const api::ArrayView& array, Output& out) {
  out.line(cat(out.paint(cat("array ", array.id), Style::kBold), "  ", terminal_safe(array.name)));
  Facts facts;
  std::string states;
  for (const auto& [state, count] : array.states) {
    states += cat(states.empty() ? "" : ", ", count, ' ', state);
  }
  facts.add("tasks", cat(array.spec.indices.size(), " (", states, ")"));
  facts.add("indices", api::indices_text(array.spec.indices));
  facts.add("at a time", array.spec.most_active == 0 ? "" : std::to_string(array.spec.most_active));
  facts.add("jobs", cat(array.first, " to ", array.first + array.spec.indices.size() - 1));
  facts.add("user", cat(array.user, " (", array.uid, ")"));
  facts.add("profile", array.profile);
  facts.print(out);
}

Result<void> print_document(const boost::json::value& document, Output& out) {
  if (document.as_object().contains("states")) {
    const auto array = api::read_array_view(document);
    if (!array) return std::unexpected(array.error());
    print_array(*array, out);
    return {};
  }
  const auto job = api::read_job_view(document);
  if (!job) return std::unexpected(job.error());
  print_job(*job, out);
  return {};
}

// An array is shown as a whole; tasks that are named by index are shown as jobs.
Result<std::vector<std::string>> targets_of(http::Client& client,
                                            const std::vector<std::string>& typed) {
  const auto words = read_job_words(client, typed);
  if (!words) return std::unexpected(words.error());
  std::vector<std::string> targets;
  for (const JobWord& word : *words) {
    if (word.is_array && !word.indices) {
      targets.push_back(cat("/v1/arrays/", word.id));
      continue;
    }
    const auto jobs = jobs_of(client, {word});
    if (!jobs) return std::unexpected(jobs.error());
    for (const std::uint64_t id : *jobs) targets.push_back(cat("/v1/jobs/", id));
  }
  return targets;
}

Result<void> show(const JobShowOptions& options, Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto targets = targets_of(*client, options.jobs);
  if (!targets) return std::unexpected(targets.error());
  boost::json::array documents;
  for (const std::string& target : *targets) {
    const auto reply = client->request("GET", target);
    if (!reply) {
      report_failure(command, reply.error());
      continue;
    }
    documents.push_back(reply->body);
  }
  if (command.json) {
    if (documents.empty()) return {};
    out.add(text::json_text(targets->size() == 1 ? documents.front() : documents));
    return {};
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i > 0) out.line();
    if (const auto ok = print_document(documents[i], out); !ok) return ok;
  }
  return {};
}

}  // namespace

void add_show(Verb& app, Command& command) {
  const auto options = std::make_shared<JobShowOptions>();
  Verb verb = add_daemon_verb(app, command, "show", "Show details of a job", options, show);
  verb->add_option("JOB", options->jobs, "Job IDs; of arrays 12, 12_3 or '12_[1-5]'")->required();
  add_watch_option(*verb, command);
  verb->footer("Examples:\n  tangram show 17\n  tangram show 17 18 --json");
}

}  // namespace tangram::cli
