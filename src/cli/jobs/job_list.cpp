// `tangram ps`: lists jobs.
#include <map>
#include <pwd.h>
#include <unistd.h>

#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/job_words.hpp"
#include "cli/client/watch.hpp"
#include "http/routes/query.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct JobListOptions {
  DaemonOptions daemon;
  bool all = false;
  bool quiet = false;
  bool mine = false;
  bool tasks = false;
  std::string user, state, name, profile, label, array;
};

// The name of the calling user. Over a network the user is that of the token, which only the daemon
// knows.
Result<std::string> own_name(const JobListOptions& o) {
  if (socket_of(o.daemon).starts_with("https://")) {
    return invalid("--mine works with a local daemon only; over a network use --user USER.");
  }
  const passwd* const entry = ::getpwuid(::geteuid());
  if (entry == nullptr) return failed(cat("uid ", ::geteuid(), " has no user name here."));
  return std::string(entry->pw_name);
}

std::string target_of(const JobListOptions& o) {
  std::string target = cat("/v1/jobs?all=", o.all ? 1 : 0);
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) target += cat('&', key, '=', http::percent_encoded(value));
  };
  add("user", o.user);
  add("state", o.state);
  add("name", o.name);
  add("profile", o.profile);
  add("label", o.label);
  add("array", o.array);
  return target;
}

std::string time_of(const api::JobView& job) {
  if (!job.started) return age_text(now() - job.submitted);
  return age_text(job.ended.value_or(now()) - *job.started);
}

// A row of the list: a job, or the waiting tasks of an array that are in the same state.
struct Row {
  const api::JobView* job = nullptr;
  api::ArrayIndices tasks;
};

std::vector<Row> rows_of(const std::vector<api::JobView>& jobs, bool fold) {
  std::vector<Row> rows;
  std::map<std::pair<std::uint64_t, api::JobState>, std::size_t> folded;  // row, by array and state
  for (const api::JobView& job : jobs) {
    const bool waits = job.state == api::JobState::kHeld || job.state == api::JobState::kQueued;
    if (!fold || !waits || !job.array) {
      rows.push_back({.job = &job, .tasks = {}});
      continue;
    }
    const auto [at, is_new] = folded.try_emplace({*job.array, job.state}, rows.size());
    if (is_new) rows.push_back({.job = &job, .tasks = {}});
    rows[at->second].tasks.push_back(job.array_index.value_or(0));
  }
  return rows;
}

std::string word_of(const Row& row) {
  return row.tasks.empty() ? job_word(*row.job) : tasks_word(*row.job->array, row.tasks);
}

void print_jobs(const std::vector<Row>& rows, Output& out) {
  Table table({{"JOB", Align::kRight, 0},
               {"NAME"},
               {"USER"},
               {"PROFILE"},
               {"STATE"},
               {"TIME", Align::kRight},
               {"GPU@START"},
               {"REASON"}});
  for (const Row& row : rows) {
    const api::JobView& job = *row.job;
    constexpr std::size_t kLongestName = 20;
    std::string name = terminal_safe(job.request.name);
    if (width_of(name) > static_cast<int>(kLongestName)) {
      name = cat(printable(job.request.name).substr(0, kLongestName - 1), out.sign("…", "~"));
    }
    const bool ended_badly = is_terminal(job.state) && job.exit_code != 0;
    const std::string reason = job.reason.empty() && ended_badly ? end_text(job) : job.reason;
    table.row({Cell(word_of(row), Style::kBold), name, terminal_safe(job.user), job.profile,
               state_cell(job), time_of(job), place_text(job),
               Cell(terminal_safe(reason), Style::kDim)});
  }
  table.print(out);
}

// Fails if --user names no local user. Called when the list is empty, to detect mistyped names.
Result<void> check_user(const JobListOptions& o) {
  const bool here = !socket_of(o.daemon).starts_with("https://");
  if (!here || o.user.empty() || ::getpwnam(o.user.c_str()) != nullptr) return {};
  return not_found(cat("user ", tangram::quoted(o.user), ": not found on this machine, and no ",
                       o.all ? "" : "active ", "job belongs to a user of that name."));
}

Result<void> list(JobListOptions options, bool as_json, Output& out) {
  if (options.mine) {
    if (!options.user.empty()) return invalid("--mine and --user exclude each other.");
    const auto name = own_name(options);
    if (!name) return std::unexpected(name.error());
    options.user = *name;
  }
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  auto documents = get_all_pages(*client, target_of(options));
  if (!documents) return std::unexpected(documents.error());
  if (documents->empty()) {
    if (const auto known = check_user(options); !known) return known;
  }
  const boost::json::value list_of_all = *std::move(documents);
  if (as_json) {
    out.add(text::json_text(list_of_all));
    return {};
  }
  const auto read = read_list(list_of_all, api::read_job_view);
  if (!read) return std::unexpected(read.error());
  const std::vector<api::JobView>& jobs = *read;
  if (options.quiet) {
    for (const api::JobView& job : jobs) out.line(std::to_string(job.id));
  } else if (jobs.empty()) {
    out.line(options.all ? "No jobs." : "No active jobs. Use --all to include finished ones.");
  } else {
    print_jobs(rows_of(jobs, !options.tasks), out);
  }
  return {};
}

}  // namespace

void add_ps(Verb& app, Command& command) {
  const auto options = std::make_shared<JobListOptions>();
  Verb verb = app.add_subcommand("ps", "List jobs");
  verb->add_flag("-a,--all", options->all, "Include finished jobs");
  verb->add_option("--user", options->user, "Show only jobs of this user")->option_text("USER");
  verb->add_flag("--mine", options->mine, "Show only your own jobs");
  verb->add_option("--state", options->state, "Show only jobs in this state, e.g. running")
      ->option_text("STATE");
  verb->add_option("--name", options->name, "Show only jobs with this name")->option_text("NAME");
  verb->add_option("--profile", options->profile, "Show only jobs of this profile")
      ->option_text("PROFILE");
  verb->add_option("--label", options->label,
                   "Show only jobs with this label (your own; admins: all)")
      ->option_text("NAME[=VALUE]");
  verb->add_option("--array", options->array, "Show only tasks of this array")
      ->option_text("ARRAY");
  verb->add_flag("--tasks", options->tasks,
                 "Show waiting tasks of arrays one by one, not as one row");
  verb->add_flag("-q,--quiet", options->quiet, "Print job IDs only");
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  add_watch_option(*verb, command);
  verb->footer(
      "Examples:\n  tangram ps --all\n  tangram cancel $(tangram ps -q --label project=apollo)");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return list(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
