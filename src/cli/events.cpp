// `tangram events`: what happened on the node, and with -f what happens. One rule: a line per
// event, written at once; with --json a JSON object per line.
#include <algorithm>
#include <array>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/event_stream.hpp"
#include "cli/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr auto kPatience = std::chrono::minutes(5);

struct Options {
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
  const std::string kind = fmt::format("{:<15}", harmless(event.kind));
  return fmt::format("{}  {:>6}  {}  {}\n", out.paint(local_text(event.time), Style::kDim),
                     event.id, out.paint(kind, style_of(event.kind)), harmless(event.text));
}

// A kind that is mistyped would be waited for in vain; which second words there are is the daemon's
// to know.
Result<std::string> joined(const std::vector<std::string>& kinds) {
  const std::array<std::string, 5> known = {"job", "lease", "move", "gpu", "tuning"};
  std::string text;
  for (const std::string& kind : kinds) {
    const std::string first = kind.substr(0, kind.find('.'));
    if (std::ranges::find(known, first) == known.end()) {
      const auto near = nearest(first, known);
      return invalid(cat("--kind: there are no events of ", tangram::quoted(first),
                         near ? cat("; did you mean ", *near, "?") : ";", " They are of ",
                         join_words(known), "."));
    }
    text += cat(text.empty() ? "" : ",", kind);
  }
  return text;
}

Result<void> events(const Options& options, Command& command, Output& out) {
  EventWish wish;
  wish.socket = socket_of(options.daemon);
  wish.follow = options.follow;
  wish.after = options.after;
  if (!options.follow && !options.after) wish.after = 0;
  if (options.follow) wish.patience = kPatience;
  auto kinds = joined(options.kinds);
  if (!kinds) return std::unexpected(kinds.error());
  wish.kinds = std::move(*kinds);
  if (!options.job.empty()) {
    auto client = connect(options.daemon);
    if (!client) return std::unexpected(client.error());
    const auto id = job_named(*client, options.job);
    if (!id) return std::unexpected(id.error());
    wish.job = std::to_string(*id);
  }
  return follow_events(wish, [&](const EventNews& news) {
    if (news.gap) {
      return write_now(STDERR_FILENO, cat("tangram: the events from ", news.gap->after + 1, " to ",
                                          news.gap->next - 1, " are forgotten.\n"));
    }
    return write_now(STDOUT_FILENO, command.json ? cat(news.json, "\n") : line_of(news.event, out));
  });
}

}  // namespace

void add_events(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb =
      add_daemon_verb(app, command, "events", "List what happened on the node", options, events);
  verb->add_flag("-f,--follow", options->follow,
                 "Go on with what happens, from now on unless --after says otherwise");
  verb->add_option("--after", options->after, "Only those after the event of this number")
      ->option_text("N");
  verb->add_option("--job", options->job, "Only those of this job or lease")->option_text("JOB");
  verb->add_option("--kind", options->kinds,
                   "Only these kinds, as job.failed, or job for all of jobs; may be repeated")
      ->option_text("KIND");
  verb->footer(
      "Examples:\n"
      "  tangram events -f\n"
      "  tangram events --kind job.failed gpu\n"
      "  tangram events -f --after 4711 --json\n"
      "With -f a daemon that is restarted is waited for; no event is lost or doubled.");
}

}  // namespace tangram::cli
