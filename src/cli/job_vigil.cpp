// See job_vigil.hpp.
#include "cli/job_vigil.hpp"

#include <algorithm>
#include <array>
#include <sys/random.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/log_copy.hpp"

namespace tangram::cli {
namespace {

using std::chrono::milliseconds;

// A name that no other submission has.
Result<std::string> fresh_key() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed("the system gives no random numbers (getrandom), which a submission needs.");
  }
  return fmt::format("tangram-{:02x}", fmt::join(bytes, ""));
}

milliseconds time_left(std::optional<Vigil::Clock::time_point> deadline, milliseconds most) {
  if (!deadline) return most;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Vigil::Clock::now());
  return std::clamp(left, milliseconds(0), most);
}

}  // namespace

// One that refuses at once and again is not one that went away.
Result<std::uint64_t> submit_job(http::Client& client, const std::string& socket,
                                 const api::JobRequest& request) {
  const auto key = fresh_key();
  if (!key) return std::unexpected(key.error());
  constexpr int kMostRefusals = 3;
  for (int refusals = 0;;) {
    const auto begin = Vigil::Clock::now();
    const auto reply =
        client.request("POST", "/v1/jobs", to_json(request), http::Client::kPatience, *key);
    if (reply) return reply->body.at("id").to_number<std::uint64_t>();
    if (reply.error().code != ErrorCode::kUnavailable) return std::unexpected(reply.error());
    refusals = Vigil::Clock::now() - begin < std::chrono::seconds(1) ? refusals + 1 : 1;
    if (refusals == kMostRefusals) return std::unexpected(reply.error());
    pause_between_attempts();
    auto again = reconnect(socket, kRestartPatience);
    if (!again) return std::unexpected(again.error());
    client = std::move(*again);
  }
}

Result<std::optional<api::JobView>> Vigil::until(std::uint64_t id, std::string_view what,
                                                 std::optional<Clock::time_point> deadline) {
  milliseconds patience = std::chrono::seconds(1);
  while (true) {
    auto job = wait_for(client_, id, what, time_left(deadline, patience));
    if (job && *job) return job;
    if (job) {
      broken_.reset();
      patience = std::chrono::seconds(10);
    } else if (auto ok = reach(id, job.error(), deadline); !ok) {
      return std::unexpected(ok.error());
    }
    if (deadline && Clock::now() >= *deadline) return std::nullopt;
    if (!job || !meanwhile) continue;
    if (const auto now = get_job(client_, id)) meanwhile(*now);
  }
}

// A daemon that takes connections only to drop them is as good as none.
Result<void> Vigil::reach(std::uint64_t id, const Error& error,
                          std::optional<Clock::time_point> deadline) {
  if (error.code != ErrorCode::kUnavailable) return std::unexpected(error);
  const auto now = Clock::now();
  if (!broken_) broken_ = now;
  const auto left = kRestartPatience - std::chrono::floor<milliseconds>(now - *broken_);
  auto again = reconnect(socket_, time_left(deadline, std::max(left, milliseconds(0))));
  if (!again && deadline && Clock::now() >= *deadline) return {};
  if (!again || left.count() <= 0) {
    return failed(cat(again ? error.message : again.error().message, " Job ", id,
                      " goes on without it; see `tangram show ", id, "`."));
  }
  client_ = std::move(*again);
  pause_between_attempts();
  return {};
}

}  // namespace tangram::cli
