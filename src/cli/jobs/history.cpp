// `tangram history` and `tangram usage`: finished jobs, and the GPU time that users consumed. All
// pages are read up to --limit.
#include "api/history.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/watch.hpp"
#include "cli/client/when.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

constexpr std::size_t kLargestPage = 1'000;

struct HistoryOptions {
  DaemonOptions daemon;
  std::string user, profile, state, since, until;
  std::size_t limit = 50;
};

Result<RequestTarget> target_of(const HistoryOptions& o) {
  const auto since = when_parameter("--since", o.since);
  if (!since) return std::unexpected(since.error());
  const auto until = when_parameter("--until", o.until);
  if (!until) return std::unexpected(until.error());
  RequestTarget target("/v1/history");
  target.add("user", o.user).add("profile", o.profile).add("state", o.state);
  target.add("since", *since).add("until", *until);
  return target;
}

Result<std::vector<api::JobView>> get_jobs(const HistoryOptions& o) {
  const auto first = target_of(o);
  if (!first) return std::unexpected(first.error());
  auto client = connect(o.daemon);
  if (!client) return std::unexpected(client.error());
  std::vector<api::JobView> jobs;
  std::optional<std::uint64_t> before;
  while (jobs.size() < o.limit) {
    RequestTarget target = *first;
    target.add("limit", std::to_string(std::min(o.limit - jobs.size(), kLargestPage)));
    if (before) target.add("before", std::to_string(*before));
    const auto reply = client->request("GET", target.text());
    if (!reply) return std::unexpected(reply.error());
    auto page = api::read_history_page(reply->body);
    if (!page) return std::unexpected(page.error());
    std::ranges::move(page->jobs, std::back_inserter(jobs));
    before = page->next;
    if (!before) break;
  }
  return jobs;
}

void print_finished_jobs(const std::vector<api::JobView>& jobs, Output& out) {
  Table table({{"JOB", Align::kRight, 0},
               {"NAME"},
               {"USER"},
               {"PROFILE"},
               {"STATE"},
               {"ENDED"},
               {"RAN", Align::kRight},
               {"REASON"}});
  for (const api::JobView& job : jobs) {
    const bool failed = job.state != api::JobState::kCompleted;
    const std::string reason = job.reason.empty() && failed ? end_text(job) : job.reason;
    table.row({Cell(std::to_string(job.id), Style::kBold), terminal_safe(job.request.name),
               terminal_safe(job.user), job.profile, state_cell(job),
               job.ended ? local_text(*job.ended) : "-",
               job.started && job.ended ? age_text(*job.ended - *job.started) : "-",
               Cell(terminal_safe(reason), Style::kDim)});
  }
  table.print(out);
}

Result<void> history(const HistoryOptions& options, Command& command, Output& out) {
  const auto jobs = get_jobs(options);
  if (!jobs) return std::unexpected(jobs.error());
  if (command.json) {
    boost::json::array documents;
    for (const api::JobView& job : *jobs) documents.push_back(to_json(job));
    out.add(text::json_text(documents));
  } else if (jobs->empty()) {
    out.line("No finished jobs match.");
  } else {
    print_finished_jobs(*jobs, out);
  }
  return {};
}

struct UsageOptions {
  DaemonOptions daemon;
  std::string user, since, until;
};

void print_usage(const api::Usage& usage, Output& out) {
  Table table({{"USER", Align::kLeft, 0},
               {"PROFILE"},
               {"JOBS", Align::kRight},
               {"SLICE HOURS", Align::kRight},
               {"GPU HOURS", Align::kRight}});
  std::uint64_t jobs = 0;
  double slices = 0;
  double gpus = 0;
  for (const api::UsageRow& row : usage.rows) {
    table.row({terminal_safe(row.user), terminal_safe(row.profile), std::to_string(row.jobs),
               fmt::format("{:.2f}", row.slice_hours), fmt::format("{:.2f}", row.gpu_hours)});
    jobs += row.jobs;
    slices += row.slice_hours;
    gpus += row.gpu_hours;
  }
  if (usage.rows.size() > 1) {
    table.row({Cell("all", Style::kBold), "", std::to_string(jobs), fmt::format("{:.2f}", slices),
               Cell(fmt::format("{:.2f}", gpus), Style::kBold)});
  }
  const std::string from =
      usage.from == api::WallTime{} ? "" : cat("from ", local_text(usage.from), " ");
  out.line(out.paint(cat(from, "to ", local_text(usage.to)), Style::kDim));
  if (usage.rows.empty()) {
    out.line("No usage in this period.");
    return;
  }
  table.print(out);
}

Result<void> usage(const UsageOptions& options, Command& command, Output& out) {
  const auto since = when_parameter("--since", options.since);
  if (!since) return std::unexpected(since.error());
  const auto until = when_parameter("--until", options.until);
  if (!until) return std::unexpected(until.error());
  const std::string target = RequestTarget("/v1/usage")
                                 .add("user", options.user)
                                 .add("since", *since)
                                 .add("until", *until)
                                 .text();
  const auto answer = request_json(options.daemon, "GET", target);
  if (!answer) return std::unexpected(answer.error());
  return show<api::Usage>(*answer, api::read_usage, print_usage, command, out);
}

template <class Options>
void add_span(Verb& verb, Options& o) {
  verb.add_option("--user", o.user, "Show only this user")->option_text("USER");
  verb.add_option("--since", o.since,
                  "Show only jobs that ended after this time, e.g. 2d (ago) or 2026-11-16")
      ->option_text("WHEN");
  verb.add_option("--until", o.until, "Show only jobs that ended before this time")
      ->option_text("WHEN");
}

}  // namespace

void add_history(Verb& app, Command& command) {
  const auto options = std::make_shared<HistoryOptions>();
  Verb verb = add_daemon_verb(app, command, "history", "List finished jobs, newest first", options,
                              history);
  add_span(*verb, *options);
  verb->add_option("--profile", options->profile, "Show only jobs of this profile")
      ->option_text("PROFILE");
  verb->add_option("--state", options->state, "Show only jobs in this final state, e.g. failed")
      ->option_text("STATE");
  verb->add_option("--limit", options->limit, "Show at most this many jobs (default: 50)")
      ->between(1, 1'000'000)
      ->option_text("N");
  add_watch_option(*verb, command);
  verb->footer("Example:\n  tangram history --state failed --since 2d");
}

void add_usage(Verb& app, Command& command) {
  const auto options = std::make_shared<UsageOptions>();
  Verb verb =
      add_daemon_verb(app, command, "usage", "Show GPU time by user and profile", options, usage);
  add_span(*verb, *options);
  add_watch_option(*verb, command);
  verb->footer(
      "Example:\n  tangram usage --since 7d\n"
      "A slice hour is one compute slice for one hour; a GPU hour is all of a GPU's.");
}

}  // namespace tangram::cli
