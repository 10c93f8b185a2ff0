// `tangram orphan`: live runs without a job in the store.
#include <boost/json/array.hpp>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/watch.hpp"
#include "cli/command/failures.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct OrphanListOptions {
  DaemonOptions daemon;
};

Result<void> list_orphans(const OrphanListOptions& options, Command& command, Output& out) {
  const auto answer = request_json(options.daemon, "GET", "/v1/node/orphans");
  if (!answer) return std::unexpected(answer.error());
  if (command.json) {
    out.add(text::json_text(*answer));
    return {};
  }
  const auto orphans = read_list(*answer, api::read_orphan_view);
  if (!orphans) return std::unexpected(orphans.error());
  if (orphans->empty()) out.line("No orphans.");
  if (orphans->empty()) return {};
  Table table({{"RUN", Align::kRight, 0},
               {"JOB", Align::kRight},
               {"USER"},
               {"PROCESS", Align::kRight},
               {"STATE"},
               {"INSTANCE"},
               {"FOLDER"}});
  for (const api::OrphanView& orphan : *orphans) {
    table.row({Cell(std::to_string(orphan.run), Style::kBold), std::to_string(orphan.job),
               terminal_safe(orphan.user), orphan.pid ? std::to_string(*orphan.pid) : "-",
               orphan.ending ? "stopping" : "running", terminal_safe(orphan.instance),
               terminal_safe(orphan.folder)});
  }
  table.print(out);
  return {};
}

struct OrphanEndOptions {
  DaemonOptions daemon;
  std::vector<std::uint64_t> runs;
};

Result<void> end_orphans(const OrphanEndOptions& options, Command& command, Output& out) {
  boost::json::array documents;
  for (const std::uint64_t run : options.runs) {
    auto answer = request_json(options.daemon, "DELETE", cat("/v1/node/orphans/", run));
    if (!answer) {
      report_failure(command, answer.error());
      continue;
    }
    if (!command.json) out.line(cat("orphan ", run, " is stopping"));
    documents.push_back(std::move(*answer));
  }
  if (command.json && !documents.empty()) out.add(text::json_text(documents));
  return {};
}

}  // namespace

void add_orphan(Verb& app, Command& command) {
  Verb orphan = app.add_subcommand("orphan", "List and stop orphaned runs");
  orphan->require_subcommand(0, 1);
  Verb listing = add_daemon_verb(*orphan, command, "list", "List orphaned runs",
                                 std::make_shared<OrphanListOptions>(), list_orphans);
  add_watch_option(*listing, command);
  listing->footer("Example:\n  tangram orphan list");
  const auto options = std::make_shared<OrphanEndOptions>();
  Verb ending =
      add_daemon_verb(*orphan, command, "end", "Stop orphaned runs", options, end_orphans);
  ending->add_option("ORPHAN", options->runs, "Run IDs")->required();
  ending->footer("Example:\n  tangram orphan end 7");
  orphan->footer(
      "Example:\n  tangram orphan list\n"
      "A run is orphaned if the store was moved away, or restored from an older\n"
      "backup, while it ran. It keeps its instance until it ends. For admins.");
}

}  // namespace tangram::cli
