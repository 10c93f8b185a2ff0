// See job_text.hpp.
#include "cli/client/job_text.hpp"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "api/signals.hpp"
#include "base/text.hpp"

namespace tangram::cli {

std::string terminal_safe(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) < 0xa0;  // U+0080 to U+009F
    if (byte < 0x20 || byte == 0x7f || c1) {
      out += printable(text.substr(i, c1 ? 2 : 1));
      i += c1 ? 1 : 0;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string shell_text(const std::vector<std::string>& command) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%";
  std::string out;
  for (const std::string& word : command) {
    if (!out.empty()) out += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : terminal_safe(word)) {
      if (c == '\'')
        out += "'\\''";
      else
        out += c;
    }
    out += '\'';
  }
  return out;
}

Cell state_cell(const api::JobView& job) {
  using enum api::JobState;
  const std::string text(job.moving ? "moving" : name_of(job.state));
  switch (job.state) {
    case kRunning:
      return {text, Style::kGood};
    case kHeld:
    case kQueued:
      return {text, Style::kYellow};
    case kPlaced:
    case kStarting:
    case kStopping:
      return {text, Style::kCyan};
    case kFailed:
    case kRefused:
      return {text, Style::kBad};
    case kCompleted:
    case kCancelled:
      return {text, Style::kDim};
  }
  return text;
}

std::string place_text(const api::JobView& job) {
  if (!job.gpu) return "-";
  return job.start ? cat(*job.gpu, '@', *job.start) : std::to_string(*job.gpu);
}

std::string age_text(std::chrono::microseconds age) {
  const auto seconds = std::max<std::int64_t>(0, age.count() / 1'000'000);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3'600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3'600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds / 3'600 % 24);
}

std::string local_text(api::WallTime when) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), size};
}

std::string end_text(const api::JobView& job) {
  if (job.exit_signal) return api::signal_name(*job.exit_signal);
  return job.exit_code ? cat("exit code ", *job.exit_code) : "";
}

api::WallTime now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace tangram::cli
