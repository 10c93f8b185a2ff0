// `tangram status`: how the daemon fares, what fits now, and what would start.
#include <boost/json/object.hpp>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/log_copy.hpp"
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
    Table table({{"PROFILE", Align::kLeft, 2},
                 {"MiB", Align::kRight},
                 {"FIT NOW", Align::kRight},
                 {"START NOW", Align::kRight}});
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
    out.paragraph(harmless(trouble));
  }
}

struct Options {
  DaemonOptions daemon;
  std::string wait;  // for a daemon that is not there yet
};

Result<void> status(const Options& options, Command& command, Output& out) {
  std::chrono::milliseconds patience{0};
  if (!options.wait.empty()) {
    const auto typed = api::parse_duration(options.wait);
    if (!typed) return invalid(cat("--wait: ", typed.error().message));
    patience = *typed;
  }
  auto client = reconnect(socket_of(options.daemon), patience);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->request("GET", "/v1/status");
  if (!reply) return std::unexpected(reply.error());
  return show(reply->body, api::read_status_view, print, command, out);
}

}  // namespace

void add_status(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = add_daemon_verb(app, command, "status", "Show how the daemon fares and what fits now",
                              options, status);
  verb->add_option("--wait", options->wait,
                   "Wait so long, as 10s, for a daemon that is being started")
      ->option_text("TIME");
  add_watch_option(*verb, command);
  verb->footer("Example:\n  tangramd --emulate 2xA100-40GB & tangram status --wait 10s");
}

}  // namespace tangram::cli
