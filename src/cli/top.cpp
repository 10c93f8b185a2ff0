// `tangram top`: the node live on a terminal. One rule: this file waits (for keys, signals and
// news) and does nothing else; what is shown is in top_view, what keys do in top_keys.
#include <csignal>
#include <poll.h>
#include <unistd.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/signal_watch.hpp"
#include "cli/top_keys.hpp"

namespace tangram::cli {
namespace {

struct Options {
  DaemonOptions daemon;
  std::string every = "1s";
};

class Top {
 public:
  Top(TopScreen& screen, TopFeed& feed, const SignalWatch& signals, const Output& out)
      : screen_(screen), feed_(feed), signals_(signals), out_(out) {}

  // The signal that ended it; none: a key.
  std::optional<int> run() {
    while (true) {
      screen_.paint(draw(*picture_, state_, screen_.size(), out_));
      pollfd all[] = {{STDIN_FILENO, POLLIN, 0},
                      {signals_.descriptor(), POLLIN, 0},
                      {feed_.descriptor(), POLLIN, 0}};
      ::poll(all, std::size(all), -1);
      if (const auto signal = heed_signals()) return signal;
      if (all[2].revents != 0) take_news();
      if ((all[0].revents & (POLLHUP | POLLERR)) != 0) return SIGHUP;
      if (heed_keys()) return std::nullopt;
    }
  }

 private:
  std::optional<int> heed_signals() {
    while (const auto info = signals_.take()) {
      if (info->ssi_signo != SIGWINCH) return static_cast<int>(info->ssi_signo);
      screen_.resize();
    }
    return std::nullopt;
  }

  void take_news() {
    TopFeed::News news = feed_.take();
    if (const auto cost = news.picture->frag_cost(); cost && news.picture->trouble.empty()) {
      state_.trail.add(news.picture->taken, *cost);
    }
    if (!state_.paused) {
      keep_choice(state_, *picture_, *news.picture);
      picture_ = std::move(news.picture);
    }
    if (!news.answer) return;
    const bool explains = news.answer->wish.deed == TopWish::Deed::kExplain;
    if (news.answer->ok && explains) {
      state_.panel = std::move(news.answer->text);
      state_.panel_line = 0;
    } else {
      state_.message = std::move(news.answer->text);
    }
  }

  // True: it is to end.
  bool heed_keys() {
    while (const auto key = screen_.key()) {
      const TopOutcome outcome = press(state_, *picture_, *key);
      if (outcome.quit) return true;
      if (outcome.wish) feed_.ask(*outcome.wish);
    }
    return false;
  }

  TopScreen& screen_;
  TopFeed& feed_;
  const SignalWatch& signals_;
  const Output& out_;
  TopState state_;
  std::shared_ptr<const TopPicture> picture_ = std::make_shared<TopPicture>();
};

Result<void> top(const Options& options, Command& command, Output& out) {
  const auto every = api::parse_duration(options.every);
  if (!every || *every < TopFeed::kBetweenLooks) {
    return invalid(cat("--every ", tangram::quoted(options.every),
                       ": write a time of at least 500ms, as 2s."));
  }
  // A daemon that is not there at the beginning is a mistake of whoever types; later it is waited
  // for.
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
  const auto options = std::make_shared<Options>();
  Verb verb = app.add_subcommand("top", "Watch GPUs and jobs live; ? shows the keys");
  verb->add_option("--every", options->every,
                   "Look so often, and when something happened (default: 1s)")
      ->option_text("TIME");
  add_daemon_options(*verb, options->daemon);
  add_drawing_options(*verb, command);
  verb->footer(
      "Keys: q quit, s sort, / filter, up and down choose a job, c cancel it,\n"
      "e explain it, p pause, ? help.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return top(*options, command, out); };
  });
}

}  // namespace tangram::cli
