// See progress.hpp.
#include "cli/command/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

namespace tangram::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr int kColumns = 79;

std::string time_left(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s left", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min left", seconds / 60);
  return fmt::format("{:.1f} h left", seconds / 3600);
}

}  // namespace

std::string progress_line(const ProgressState& state, double seconds, int columns) {
  if (state.total == 0) return fmt::format("{}  {} done", state.label, state.done);
  const double part =
      std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
  std::string tail = fmt::format("{:3.0f} %", 100 * part);
  if (part > 0.01 && seconds > 1) tail += "  " + time_left(seconds * (1 - part) / part);
  const int space = columns - static_cast<int>(state.label.size() + tail.size()) - 6;
  std::string bar;
  if (space >= 10) {
    const int width = std::min(space, 40);
    const int full = static_cast<int>(part * width);
    bar = "[" + std::string(static_cast<std::size_t>(full), '#') +
          std::string(static_cast<std::size_t>(width - full), '-') + "]  ";
  }
  return (state.label + "  " + bar + tail).substr(0, static_cast<std::size_t>(columns));
}

ProgressBar::ProgressBar(std::function<ProgressState()> state) : state_(std::move(state)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::jthread([this] { draw(); });
}

ProgressBar::~ProgressBar() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
}

void ProgressBar::draw() {
  std::unique_lock lock(mutex_);
  std::string label;
  auto begin = std::chrono::steady_clock::now();
  while (!stop_.wait_for(lock, kRedraw, [this] { return stopping_; })) {
    const ProgressState state = state_();
    const auto now = std::chrono::steady_clock::now();
    if (state.label != label) {
      label = state.label;
      begin = now;
    }
    const double seconds = std::chrono::duration<double>(now - begin).count();
    fmt::print(stderr, "\r\x1b[K{}", progress_line(state, seconds, kColumns));
    std::fflush(stderr);
  }
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace tangram::cli
