// `tangram status`: how the daemon fares, and what could start now.
#include <boost/json/object.hpp>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/watch.hpp"
#include "files/json_text.hpp"

namespace tangram::cli {
namespace {

void print(const api::StatusView& s, Output& out) {
  out.line(cat(out.paint(cat("tangramd ", harmless(s.version)), Style::kBold), "  process ", s.pid,
               ", since ", local_text(s.since), s.emulated ? "  (emulated GPUs)" : ""));
  Table facts({{"", Align::kLeft, 0}, {""}});
  const auto add = [&](std::string_view name, const std::string& value,
                       Style style = Style::kPlain) {
    if (!value.empty())
      facts.row({Cell(cat("  ", name), Style::kDim), Cell(harmless(value), style)});
  };
  add("jobs",
      cat(s.running, " running, ", s.queued, " queued, ", s.held, " held, ", s.over, " over"));
  add("GPUs", cat(s.gpus, s.driver.empty() ? "" : ", driver ", s.driver));
  add("policies", cat("placement ", s.placement, ", migration ", s.migration, ", queue ", s.queue,
                      ", threshold ", s.threshold));
  add("store", s.store, s.store == "ok" ? Style::kGood : Style::kBad);
  facts.print(out);
  if (!s.profiles.empty()) {
    out.line();
    Table table({{"PROFILE", Align::kLeft, 2}, {"MiB", Align::kRight}, {"FIT NOW", Align::kRight}});
    for (const api::ProfileView& p : s.profiles) {
      table.row({p.name, std::to_string(p.memory_mib),
                 Cell(std::to_string(p.fits_now), p.fits_now > 0 ? Style::kGood : Style::kDim)});
    }
    table.print(out);
  }
  for (const std::string& trouble : s.troubles) {
    out.line();
    out.paragraph(harmless(trouble));
  }
}

Result<void> status(const DaemonOptions& options, bool as_json, Output& out) {
  auto client = connect(options);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->request("GET", "/v1/status");
  if (!reply) return std::unexpected(reply.error());
  if (as_json) {
    out.add(files::json_text(reply->body));
    return {};
  }
  const auto view = api::read_status_view(reply->body);
  if (!view) return std::unexpected(view.error());
  print(*view, out);
  return {};
}

}  // namespace

void add_status(Verb& app, Command& command) {
  const auto options = std::make_shared<DaemonOptions>();
  Verb verb = app.add_subcommand("status", "Show how the daemon fares and what could start now");
  add_daemon_options(*verb, *options);
  add_output_options(*verb, command);
  add_watch_option(*verb, command);
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return status(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
