// See signals.hpp.
#include "api/signals.hpp"

#include <csignal>
#include <cstring>
#include <vector>

#include "base/text.hpp"

namespace tangram::api {
namespace {

constexpr int kLastSignal = 64;

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (int signal = 1; signal < 32; ++signal) {
    if (const char* name = ::sigabbrev_np(signal)) names.emplace_back(name);
  }
  return names;
}

}  // namespace

Result<int> parse_signal(std::string_view text) {
  if (const auto number = parse_int(text, 1, kLastSignal)) return *number;
  std::string name;
  for (const char c : text) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal < 32; ++signal) {
    const char* known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  const std::vector<std::string> names = all_names();
  const auto near = nearest(name, names);
  return invalid(cat("unknown signal ", quoted(text),
                     near ? cat("; did you mean ", *near, "? Use") : std::string(": use"),
                     " a name, e.g. TERM, or a number from 1 to ", kLastSignal));
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? cat("signal ", signal) : cat("SIG", name);
}

}  // namespace tangram::api
