// `tangram top`: shows the node live on a terminal. This file is the event loop (keys, signals and
// updates); top_view draws, top_keys handles keys.
#include <csignal>
#include <poll.h>
#include <unistd.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/signal_watch.hpp"
#include "cli/top/top_keys.hpp"

namespace tangram::cli {
namespace {

struct TopOptions {
  DaemonOptions daemon;
  std::string every = "1s";
};

class Top {
 public:
  Top(TopScreen& screen, TopFeed& feed, const SignalWatch& signals, const Output& out)
      : screen_(screen), feed_(feed), signals_(signals), out_(out) {}

  // Returns the signal that ended it, or nullopt if a key did.
  std::optional<int> run() {
    while (true) {
      screen_.paint(draw(*snapshot_, state_, screen_.size(), out_));
      pollfd all[] = {{STDIN_FILENO, POLLIN, 0},
                      {signals_.descriptor(), POLLIN, 0},
                      {feed_.descriptor(), POLLIN, 0}};
      ::poll(all, std::size(all), -1);
      if (const auto signal = handle_signals()) return signal;
      if (all[2].revents != 0) handle_update();
      if ((all[0].revents & (POLLHUP | POLLERR)) != 0) return SIGHUP;
      if (handle_keys()) return std::nullopt;
    }
  }

 private:
  std::optional<int> handle_signals() {
    while (const auto info = signals_.take()) {
      if (info->ssi_signo != SIGWINCH) return static_cast<int>(info->ssi_signo);
      screen_.resize();
    }
    return std::nullopt;
  }

  void handle_update() {
    TopFeed::Update update = feed_.take();
    if (const auto cost = update.snapshot->frag_cost(); cost && update.snapshot->trouble.empty()) {
      state_.history.add(update.snapshot->taken, *cost);
    }
    if (!state_.paused) {
      keep_selection(state_, *snapshot_, *update.snapshot);
      snapshot_ = std::move(update.snapshot);
    }
    if (!update.reply) return;
    const bool explains = update.reply->request.action == TopRequest::Action::kExplain;
    if (update.reply->ok && explains) {
      state_.panel = std::move(update.reply->text);
      state_.panel_line = 0;
    } else {
      state_.message = std::move(update.reply->text);
    }
  }

  // Returns true if the user quits.
  bool handle_keys() {
    while (const auto key = screen_.key()) {
      const TopOutcome outcome = press(state_, *snapshot_, *key);
      if (outcome.quit) return true;
      if (outcome.request) feed_.send(*outcome.request);
    }
    return false;
  }

  TopScreen& screen_;
  TopFeed& feed_;
  const SignalWatch& signals_;
  const Output& out_;
  TopState state_;
  std::shared_ptr<const TopSnapshot> snapshot_ = std::make_shared<TopSnapshot>();
};

Result<void> top(const TopOptions& options, Command& command, Output& out) {
  const auto every = api::parse_duration(options.every);
  if (!every || *every < TopFeed::kMinInterval) {
    return invalid(cat("--every: invalid interval ", tangram::quoted(options.every),
                       ": use at least 500ms, e.g. 2s."));
  }
  // Fail at once if there is no daemon at the start; later, an absent daemon is waited for.
  if (auto client = connect(options.daemon); !client) return std::unexpected(client.error());
  const SignalWatch signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH});
  auto screen = TopScreen::open(command.output);
  if (!screen) return std::unexpected(screen.error());
  TopFeed feed(options.daemon, *every);
  const auto signal = Top(**screen, feed, signals, out).run();
  if (signal && *signal != SIGINT) command.exit_code = 128 + *signal;
  return {};
}

}  // namespace

void add_top(Verb& app, Command& command) {
  const auto options = std::make_shared<TopOptions>();
  Verb verb = app.add_subcommand("top", "Watch GPUs and jobs live (press ? for help)");
  verb->add_option("--every", options->every,
                   "Refresh interval, in addition to events (default: 1s)")
      ->option_text("TIME");
  add_daemon_options(*verb, options->daemon);
  add_drawing_options(*verb, command);
  verb->footer(
      "Example:\n  tangram top --every 2s\n"
      "Keys: q quit, s sort, / filter, up and down select a job, c cancel it,\n"
      "e explain it, p pause, ? help.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return top(*options, command, out); };
  });
}

}  // namespace tangram::cli
