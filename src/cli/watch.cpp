// See watch.hpp.
#include "cli/watch.hpp"

#include <chrono>
#include <csignal>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/signal_watch.hpp"

namespace tangram::cli {
namespace {

constexpr auto kUsual = std::chrono::seconds(2);

std::size_t rows_of_screen() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 24;
  return size.ws_row;
}

// Over what stood there: nothing flickers, and nothing of the last answer is left.
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
  const auto take = [&command](const std::vector<std::string>& typed) {
    command.watch = kUsual;
    if (typed.empty() || typed.front().empty()) return;
    const auto every = api::parse_duration(typed.front());
    constexpr std::chrono::milliseconds kShortest{100};
    if (!every || *every < kShortest) {
      refuse_value("--watch", "write how often, as 5 (seconds) or 500ms");
    }
    command.watch = *every;
  };
  verb.add_taker("-w,--watch", take, "Repeat it until interrupted (default: every 2s)")
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
