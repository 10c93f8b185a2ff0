// `tangram tune`: shows or changes the scheduler's tuning. The changes of one command are applied
// together or not at all.
#include <algorithm>
#include <array>

#include "api/job.hpp"
#include "api/tuning.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/watch.hpp"
#include "cli/node/tuning_change.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct TuneOptions {
  DaemonOptions daemon;
  std::vector<std::string> changes;
};

void print_tuning(const api::TuningView& t, Output& out) {
  Table table({{"", Align::kLeft, 0}, {""}});
  const auto add = [&](const char* key, const std::string& value) {
    table.row({Cell(key, Style::kDim), terminal_safe(value)});
  };
  add("threshold", t.threshold);
  add("placement", t.placement);
  add("migration", t.migration);
  add("queue", t.queue);
  add("most_moves", std::to_string(t.most_moves));
  add("cooldown", api::duration_text(t.cooldown));
  add("gain", t.gain);
  add("window", t.window.empty() ? "always" : t.window);
  add("protect_head", t.protect_head ? "true" : "false");
  add("max_passes", std::to_string(t.max_passes));
  add("ageing", api::duration_text(t.ageing));
  add("half_life", api::duration_text(t.half_life));
  table.print(out);
}

Result<void> tune(const TuneOptions& options, Command& command, Output& out) {
  std::optional<boost::json::value> body;
  if (!options.changes.empty()) {
    if (command.watch) return invalid("--watch cannot be used with changes.");
    const auto change = tuning_change(options.changes);
    if (!change) return std::unexpected(change.error());
    body = to_json(*change);
  }
  const auto answer = request_json(options.daemon, body ? "PATCH" : "GET", "/v1/tuning", body);
  if (!answer) return std::unexpected(answer.error());
  if (command.json) {
    out.add(text::json_text(*answer));
    return {};
  }
  const auto tuning = api::read_tuning_view(*answer);
  if (!tuning) return std::unexpected(tuning.error());
  print_tuning(*tuning, out);
  return {};
}

}  // namespace

void add_tune(Verb& app, Command& command) {
  const auto options = std::make_shared<TuneOptions>();
  Verb verb =
      add_daemon_verb(app, command, "tune", "Show or change the scheduler's tuning", options, tune);
  verb->add_option("KEY=VALUE", options->changes, "Changes (default: show the tuning)");
  add_watch_option(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram tune\n"
      "  tangram tune threshold=0.5 window=22:00-06:00\n"
      "Keys: threshold (between Lazy and Busy); placement, migration and queue\n"
      "(policies, see `tangram policies`); most_moves (at a time); cooldown (after a\n"
      "move of a job); gain (minimum FragCost reduction of a move); window (time of day\n"
      "for moves, or always); protect_head (of the queue). Of the queue backfill:\n"
      "max_passes (jobs that may pass one whose start is not known), ageing (waiting\n"
      "time for one more of priority), half_life (of usage, for fair share).");
}

}  // namespace tangram::cli
