// See pam_session.hpp.
#include "shim/pam_session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "shim/pam_process.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kCloseTimeout{10};
constexpr std::size_t kLongestLine = std::size_t{4} << 20U;

// The job finds itself and its GPU by these.
bool is_of_tangram(std::string_view name) {
  return name.starts_with("TANGRAM_") || name == "CUDA_VISIBLE_DEVICES" ||
         name == "NVIDIA_VISIBLE_DEVICES" || name == "PORT";
}

std::optional<std::uint64_t> limit_in(const json::value& value) {
  if (value.is_null()) return std::nullopt;
  return value.to_number<std::uint64_t>();
}

SessionAttributes attributes_in(const json::object& line) {
  SessionAttributes attributes;
  for (const auto& [name, pair] : line.at("limits").as_object()) {
    attributes.limits[name] = {.soft = limit_in(pair.at(0)), .hard = limit_in(pair.at(1))};
  }
  attributes.niceness = line.at("niceness").to_number<int>();
  return attributes;
}

}  // namespace

Result<void> PamSession::start(const api::RunSpec& spec) {
  auto process = start_pam_process(spec);
  if (!process) return std::unexpected(process.error());
  process_ = *std::move(process);
  phase_ = Phase::kOpening;
  return {};
}

void PamSession::apply_to(api::RunSpec& spec) const {
  if (opened_.empty()) return;
  for (const auto& [name, value] : opened_.at("environment").as_object()) {
    if (!is_of_tangram(name)) spec.environment[name] = value.as_string();
  }
  if (!spec.user) return;
  spec.user->groups.clear();
  for (const json::value& group : opened_.at("groups").as_array()) {
    spec.user->groups.push_back(group.to_number<std::uint32_t>());
  }
}

void PamSession::watch(PollSet& polls) {
  if (process_.status.ok()) polls.watch(process_.status.get(), POLLIN, [this] { read_status(); });
}

void PamSession::read_status() {
  std::array<char, 16'384> part{};
  while (process_.status.ok()) {
    const ssize_t size = ::read(process_.status.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0 || received_.size() > kLongestLine) {
      process_.status = os::Descriptor(-1);
      if (phase_ == Phase::kOpening) fail("the process that opens its PAM session has ended.");
      phase_ = Phase::kClosed;
      return;
    }
    received_.append(part.data(), static_cast<std::size_t>(size));
    for (std::size_t end = 0; (end = received_.find('\n')) != std::string::npos;) {
      boost::system::error_code bad;
      const json::value line = json::parse(std::string_view(received_).substr(0, end), bad);
      received_.erase(0, end + 1);
      if (!bad && line.is_object()) on_line(line.get_object());
    }
  }
}

void PamSession::on_line(const json::object& line) {
  if (const auto* why = line.if_contains("error"); why != nullptr && why->is_string()) {
    fail(std::string(why->get_string()));
  } else if (const auto* problem = line.if_contains("closed");
             problem != nullptr && problem->is_string()) {
    phase_ = Phase::kClosed;
    if (!problem->get_string().empty()) {
      note(cat("the PAM session was not closed properly: ", std::string_view(problem->get_string()),
               "."));
    }
  } else if (phase_ == Phase::kOpening) {
    phase_ = Phase::kOpen;
    opened_ = line;
    attributes_ = attributes_in(line);
    on_opened_();
  }
}

void PamSession::fail(std::string why) {
  if (phase_ != Phase::kOpening) return;
  phase_ = Phase::kClosed;
  failure_ = StartFailure{126, std::move(why)};
  on_opened_();
}

void PamSession::close() {
  process_.input = os::Descriptor(-1);
  const Moment until = boot_now() + kCloseTimeout;
  while (phase_ == Phase::kOpen && process_.status.ok() && boot_now() < until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - boot_now());
    pollfd polled{.fd = process_.status.get(), .events = POLLIN, .revents = 0};
    const int wait = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    if (::poll(&polled, 1, wait) > 0) read_status();
  }
  if (phase_ == Phase::kOpen) {
    note(cat("the PAM session was not closed within ", api::duration_text(kCloseTimeout), "."));
  }
}

}  // namespace tangram::shim
