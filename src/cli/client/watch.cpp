// See watch.hpp.
#include "cli/client/watch.hpp"

#include <chrono>
#include <csignal>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/signal_watch.hpp"

namespace tangram::cli {
namespace {

constexpr auto kDefaultInterval = std::chrono::seconds(2);

std::size_t rows_of_screen() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 24;
  return size.ws_row;
}

// Text that overwrites the previous output without clearing the screen first, which would flicker.
std::string in_place(std::string_view text) {
  std::string screen = "\x1b[H";
  std::size_t rows = rows_of_screen();
  while (!text.empty() && rows > 0) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    screen += cat(text.substr(0, end), "\x1b[K", --rows > 0 ? "\n" : "");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return screen + (rows > 0 ? "\x1b[J" : "");
}

}  // namespace

void add_watch_option(Verb& verb, Command& command) {
  const auto set_interval = [&command](const std::vector<std::string>& typed) {
    command.watch = kDefaultInterval;
    if (typed.empty() || typed.front().empty()) return;
    const auto every = api::parse_duration(typed.front());
    constexpr std::chrono::milliseconds kShortest{100};
    if (!every || *every < kShortest) {
      reject_value("--watch", "invalid interval: use e.g. 5 (seconds) or 500ms");
    }
    command.watch = *every;
  };
  verb.add_callback_option("-w,--watch", set_interval,
                           "Repeat until interrupted, at this interval (default: 2s)")
      ->expected(0, 1)
      ->option_text("[TIME]");
}

Result<void> watch(const Command& command) {
  const SignalWatch signals({SIGINT, SIGTERM});
  const bool screen = ::isatty(STDOUT_FILENO) == 1 && !command.json;
  bool first = true;
  while (true) {
    Output out = Output::for_stdout(command.output);
    const Result<void> done = command.run(out);
    if (!done && (first || done.error().code != ErrorCode::kUnavailable)) return done;
    if (first && screen && !write_now(STDOUT_FILENO, "\x1b[2J")) return {};
    first = false;
    if (!done) out.line(cat("tangram: ", done.error().message));
    if (!write_now(STDOUT_FILENO, screen ? in_place(out.text()) : out.text())) return {};
    if (signals.wait(*command.watch)) break;
  }
  return {};
}

}  // namespace tangram::cli
