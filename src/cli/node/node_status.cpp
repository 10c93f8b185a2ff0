// `tangram status`: the daemon's health, and how many instances of each profile are free.
#include <array>
#include <cstdio>
#include <string>

#include <boost/json/object.hpp>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/log_copy.hpp"
#include "cli/client/watch.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

// "17 B", "1.5 KiB", "16 GiB"
std::string size_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g %s", value, kUnits[unit]);
  return text.data();
}

std::string use_text(const api::LimitUse& use, std::string_view what, bool is_bytes) {
  if (!use.limit) return "";
  const auto text = [&](std::uint64_t n) { return is_bytes ? size_text(n) : std::to_string(n); };
  return cat(text(use.used), " of ", text(*use.limit), " ", what);
}

// Only what has a limit: an admin has none.
std::string limits_text(const api::UserUse& user) {
  std::string all;
  for (const std::string& text :
       {use_text(user.jobs, "active jobs", false), use_text(user.slices, "slices", false),
        use_text(user.held_jobs, "held jobs", false),
        use_text(user.request_bytes, "of requests", true),
        use_text(user.log_bytes, "of logs", true)}) {
    if (!text.empty()) all += cat(all.empty() ? "" : ", ", text);
  }
  return all;
}

// "queue=fcfs (default: backfill), threshold=0.5 (config: 0.6)"; empty: as configured.
std::string differences_text(const std::vector<api::TuningDifference>& differences) {
  std::string all;
  for (const api::TuningDifference& each : differences) {
    all += cat(all.empty() ? "" : ", ", each.key, "=", each.value,
               each.in_file ? " (config: " : " (default: ", each.expected, ")");
  }
  return all;
}

std::string time_limits_text(const api::TimeLimits& limits) {
  std::string all;
  if (limits.standard) all = cat("default ", api::duration_text(*limits.standard));
  if (limits.longest)
    all += cat(all.empty() ? "" : ", ", "maximum ", api::duration_text(*limits.longest));
  return all;
}

void print_status(const api::StatusView& s, Output& out) {
  out.line(cat(out.paint(cat("tangramd ", terminal_safe(s.version)), Style::kBold), "  process ",
               s.pid, ", since ", local_text(s.since), s.emulated ? "  (emulated GPUs)" : ""));
  Table facts({{"", Align::kLeft, 0}, {""}});
  const auto add = [&](std::string_view name, const std::string& value,
                       Style style = Style::kPlain) {
    if (!value.empty())
      facts.row({Cell(cat("  ", name), Style::kDim), Cell(terminal_safe(value), style)});
  };
  add("jobs",
      cat(s.running, " running, ", s.queued, " queued, ", s.held, " held, ", s.over, " finished"));
  if (s.orphans > 0) {
    add("orphans",
        cat(s.orphans, s.orphans == 1 ? " run" : " runs",
            " of another store; see `tangram orphan list`"),
        Style::kBad);
  }
  add("GPUs", cat(s.gpus, s.driver.empty() ? "" : ", driver ", s.driver));
  add("policies", cat("placement ", s.placement, ", migration ", s.migration, ", queue ", s.queue,
                      ", threshold ", s.threshold));
  add("tuning", differences_text(s.tuning_differences));
  add("your limits", limits_text(s.user));
  add("time limits", time_limits_text(s.time_limits));
  add("store", s.store, s.store == "ok" ? Style::kGood : Style::kBad);
  facts.print(out);
  if (!s.profiles.empty()) {
    out.line();
    Table table({{"PROFILE", Align::kLeft, 2},
                 {"MiB", Align::kRight},
                 {"FREE", Align::kRight},
                 {"STARTABLE", Align::kRight}});
    for (const api::ProfileView& p : s.profiles) {
      table.row(
          {p.name, std::to_string(p.memory_mib),
           Cell(std::to_string(p.fits_now), p.fits_now > 0 ? Style::kGood : Style::kDim),
           Cell(std::to_string(p.starts_now), p.starts_now > 0 ? Style::kGood : Style::kDim)});
    }
    table.print(out);
  }
  for (const std::string& trouble : s.troubles) {
    out.line();
    out.paragraph(terminal_safe(trouble));
  }
}

struct StatusOptions {
  DaemonOptions daemon;
  std::string wait;
};

Result<void> status(const StatusOptions& options, Command& command, Output& out) {
  std::chrono::milliseconds reconnect_time{0};
  if (!options.wait.empty()) {
    const auto typed = api::parse_duration(options.wait);
    if (!typed) return invalid(cat("--wait: ", typed.error().message));
    reconnect_time = *typed;
  }
  auto client = reconnect(socket_of(options.daemon), reconnect_time);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->request("GET", "/v1/status");
  if (!reply) return std::unexpected(reply.error());
  return show(reply->body, api::read_status_view, print_status, command, out);
}

}  // namespace

void add_status(Verb& app, Command& command) {
  const auto options = std::make_shared<StatusOptions>();
  Verb verb = add_daemon_verb(app, command, "status", "Show daemon health and free capacity",
                              options, status);
  verb->add_option("--wait", options->wait,
                   "Wait up to this long, e.g. 10s, for the daemon to start")
      ->option_text("TIME");
  add_watch_option(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram status\n"
      "  tangram status --wait 10s\n"
      "FREE counts the instances that fit now. STARTABLE counts the jobs that would\n"
      "start now: none while a job ahead of them waits.");
}

}  // namespace tangram::cli
