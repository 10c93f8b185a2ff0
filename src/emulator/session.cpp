// See session.hpp.
#include "emulator/session.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"

namespace tangram::emulator {
namespace {

struct Session {
  std::mutex mutex;
  unsigned uses = 0;
  std::vector<std::unique_ptr<StateFile>> opened;  // the last is the current one
  std::atomic<StateFile*> current = nullptr;       // while in use
  std::atomic<double> scale = 1;
};

// Never destroyed: threads may still call while the process exits.
Session& session() {
  static auto& the = *new Session;
  return the;
}

// Reads an environment variable. Not safe against another thread that changes the environment
// during nvmlInit, as with any library.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<double> read_scale() {
  const auto text = environment("TANGRAM_EMULATOR_LATENCY");
  if (!text) return 1.0;
  double scale = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), scale);
  if (error != std::errc() || end != text->data() + text->size() ||
      !(scale >= 0 && scale <= 1000)) {
    return invalid(cat("TANGRAM_EMULATOR_LATENCY is ", tangram::quoted(*text),
                       "; allowed: a factor from 0 (no waiting) to 1000."));
  }
  return scale;
}

Result<StateFile*> open_state(Session& s) {
  const auto scale = read_scale();
  if (!scale) return std::unexpected(scale.error());
  s.scale = *scale;
  const std::string path = state_path();
  const auto description = environment("TANGRAM_EMULATE");
  if (!s.opened.empty() && s.opened.back()->is_at(path) && !description) {
    return s.opened.back().get();
  }
  std::optional<NodeSpec> spec;
  if (description) {
    auto read = read_node(*description);
    if (!read) return std::unexpected(read.error());
    spec = std::move(*read);
  }
  if (!s.opened.empty() && s.opened.back()->is_at(path) &&
      spec->description == s.opened.back()->description()) {
    return s.opened.back().get();
  }
  auto state = StateFile::open(path, spec ? &*spec : nullptr);
  if (!state) return std::unexpected(state.error());
  s.opened.push_back(std::move(*state));
  return s.opened.back().get();
}

}  // namespace

std::string node_from_environment() { return environment("TANGRAM_EMULATE").value_or(""); }

// Each node has a file of its own, so that several can be tried one after another.
std::string state_path() {
  if (const auto path = environment("TANGRAM_EMULATOR_STATE")) return *path;
  std::string name = "tangram-emulator";
  for (const char c : node_from_environment()) {
    if (name.size() == std::string_view("tangram-emulator").size()) name += '-';
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  constexpr std::size_t kLongest = 120;
  name.resize(std::min(name.size(), kLongest));
  if (const auto folder = environment("XDG_RUNTIME_DIR")) {
    if (access(folder->c_str(), W_OK) == 0) return cat(*folder, "/", name, ".state");
  }
  return cat("/tmp/", name, ".", geteuid(), ".state");
}

nvml::Return session_init() {
  Session& s = session();
  const std::scoped_lock lock(s.mutex);
  if (s.uses == 0) {
    const auto state = open_state(s);
    if (!state) {
      std::fprintf(stderr, "tangram emulator: %s\n", state.error().message.c_str());
      return nvml::kDriverNotLoaded;
    }
    s.current = *state;
  }
  ++s.uses;
  return nvml::kSuccess;
}

nvml::Return session_shutdown() {
  Session& s = session();
  const std::scoped_lock lock(s.mutex);
  if (s.uses == 0) return nvml::kUninitialized;
  if (--s.uses == 0) s.current = nullptr;
  return nvml::kSuccess;
}

StateFile* session_state() { return session().current.load(std::memory_order_acquire); }

Result<StateFile*> control_state() {
  if (StateFile* state = session_state()) return state;
  Session& s = session();
  const std::scoped_lock lock(s.mutex);
  return open_state(s);
}

double latency_scale() { return session().scale.load(std::memory_order_relaxed); }

// Blocks the caller, as a driver call does.
void emulate_latency(std::uint32_t microseconds) {
  const double scaled = microseconds * latency_scale();
  if (scaled > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(scaled));
}

std::int64_t boot_time_ns() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace tangram::emulator
