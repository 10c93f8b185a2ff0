// `tangram events`: prints the node's events, and with -f follows them. One line per event, written
// immediately; with --json one JSON object per line.
#include <algorithm>
#include <array>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/event_stream.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr auto kFollowReconnectTime = std::chrono::minutes(5);

struct EventsOptions {
  DaemonOptions daemon;
  bool follow = false;
  std::optional<std::uint64_t> after;
  std::string job;
  std::vector<std::string> kinds;
};

Style style_of(std::string_view kind) {
  if (kind.ends_with(".failed") || kind.ends_with(".lost") || kind.ends_with(".refused") ||
      kind.ends_with("quarantined")) {
    return Style::kBad;
  }
  if (kind.starts_with("job.")) return Style::kGreen;
  if (kind.starts_with("lease.")) return Style::kCyan;
  return kind.starts_with("move.") ? Style::kMagenta : Style::kYellow;
}

std::string line_of(const api::EventView& event, const Output& out) {
  const std::string kind = fmt::format("{:<15}", terminal_safe(event.kind));
  return fmt::format("{}  {:>6}  {}  {}\n", out.paint(local_text(event.time), Style::kDim),
                     event.id, out.paint(kind, style_of(event.kind)), terminal_safe(event.text));
}

// Joins kinds by commas. The family of a kind (before the dot) is checked here, because -f with a
// mistyped one would wait forever; the daemon checks the rest.
Result<std::string> join_kinds(const std::vector<std::string>& kinds) {
  const std::array<std::string, 5> known = {"job", "lease", "move", "gpu", "tuning"};
  std::string text;
  for (const std::string& kind : kinds) {
    const std::string family = kind.substr(0, kind.find('.'));
    if (std::ranges::find(known, family) == known.end()) {
      const auto near = nearest(family, known);
      return invalid(cat("--kind: unknown kind ", tangram::quoted(family),
                         near ? cat("; did you mean ", *near, "?") : ".",
                         " Known: ", join_words(known), "."));
    }
    text += cat(text.empty() ? "" : ",", kind);
  }
  return text;
}

Result<void> events(const EventsOptions& options, Command& command, Output& out) {
  EventQuery query;
  query.socket = socket_of(options.daemon);
  query.follow = options.follow;
  query.after = options.after;
  if (!options.follow && !options.after) query.after = 0;
  if (options.follow) query.reconnect_time = kFollowReconnectTime;
  auto kinds = join_kinds(options.kinds);
  if (!kinds) return std::unexpected(kinds.error());
  query.kinds = std::move(*kinds);
  if (!options.job.empty()) {
    auto client = connect(options.daemon);
    if (!client) return std::unexpected(client.error());
    const auto id = resolve_job(*client, options.job);
    if (!id) return std::unexpected(id.error());
    query.job = std::to_string(*id);
  }
  return follow_events(query, [&](const StreamItem& item) {
    if (item.gap) {
      return write_now(STDERR_FILENO, cat("tangram: events ", item.gap->after + 1, " to ",
                                          item.gap->next - 1, " are no longer kept.\n"));
    }
    return write_now(STDOUT_FILENO, command.json ? cat(item.json, "\n") : line_of(item.event, out));
  });
}

}  // namespace

void add_events(Verb& app, Command& command) {
  const auto options = std::make_shared<EventsOptions>();
  Verb verb = add_daemon_verb(app, command, "events", "Show events of jobs, leases, moves and GPUs",
                              options, events);
  verb->add_flag("-f,--follow", options->follow, "Follow new events, from now on or from --after");
  verb->add_option("--after", options->after, "Show only events after this number")
      ->option_text("N");
  verb->add_option("--job", options->job, "Show only events of this job or lease")
      ->option_text("JOB");
  verb->add_option("--kind", options->kinds,
                   "Show only these kinds, e.g. job.failed, or job for all job events; may be "
                   "repeated")
      ->option_text("KIND");
  verb->footer(
      "Examples:\n"
      "  tangram events -f\n"
      "  tangram events --kind job.failed gpu\n"
      "  tangram events -f --after 4711 --json\n"
      "With -f the stream continues after a restart of the daemon, without losing or\n"
      "repeating events.");
}

}  // namespace tangram::cli
