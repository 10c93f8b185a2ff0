// See job_waiter.hpp.
#include "cli/jobs/job_waiter.hpp"

#include <algorithm>
#include <array>
#include <sys/random.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_words.hpp"
#include "cli/client/log_copy.hpp"

namespace tangram::cli {
namespace {

using std::chrono::milliseconds;

// A random idempotency key.
Result<std::string> make_idempotency_key() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed("cannot get random bytes (getrandom) for the idempotency key.");
  }
  return fmt::format("tangram-{:02x}", fmt::join(bytes, ""));
}

milliseconds time_left(std::optional<JobWaiter::Clock::time_point> deadline, milliseconds most) {
  if (!deadline) return most;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - JobWaiter::Clock::now());
  return std::clamp(left, milliseconds(0), most);
}

}  // namespace

SubmittedJob submitted_in(const boost::json::value& body) {
  SubmittedJob job{.id = body.at("id").to_number<std::uint64_t>(), .move = ""};
  const boost::json::value* move = body.as_object().if_contains("move");
  if (move != nullptr && move->is_string()) job.move = std::string(move->get_string().c_str());
  const boost::json::value* array = body.as_object().if_contains("array");
  if (array != nullptr && array->is_object()) {
    job.first = array->at("first").to_number<std::uint64_t>();
    job.tasks = array->at("tasks").to_number<std::uint64_t>();
  }
  return job;
}

// A daemon that closes the connection at once three times in a row is not restarting: give up.
Result<SubmittedJob> submit_job(http::Client& client, const std::string& socket,
                                const api::JobRequest& request) {
  const auto key = make_idempotency_key();
  if (!key) return std::unexpected(key.error());
  constexpr int kMaxFailures = 3;
  for (int failures = 0;;) {
    const auto begin = JobWaiter::Clock::now();
    const auto reply =
        client.request("POST", "/v1/jobs", to_json(request), http::Client::kDefaultTimeout, *key);
    if (reply) return submitted_in(reply->body);
    if (reply.error().code != ErrorCode::kUnavailable) return std::unexpected(reply.error());
    failures = JobWaiter::Clock::now() - begin < std::chrono::seconds(1) ? failures + 1 : 1;
    if (failures == kMaxFailures) return std::unexpected(reply.error());
    pause_between_attempts();
    auto again = reconnect(socket, kReconnectTime);
    if (!again) return std::unexpected(again.error());
    client = std::move(*again);
  }
}

Result<std::optional<std::vector<std::uint64_t>>> JobWaiter::find_jobs(
    const std::vector<std::string>& named, std::optional<Clock::time_point> deadline) {
  while (true) {
    const auto words = read_job_words(client_, named);
    auto jobs = words ? jobs_of(client_, *words) : std::unexpected(words.error());
    if (jobs) {
      failing_since_.reset();
      return jobs;
    }
    if (auto ok = recover(jobs.error(), deadline); !ok) return std::unexpected(ok.error());
    if (deadline && Clock::now() >= *deadline) return std::nullopt;
  }
}

Result<std::optional<api::JobView>> JobWaiter::wait_until(
    std::uint64_t id, std::string_view state, std::optional<Clock::time_point> deadline) {
  milliseconds interval = std::chrono::seconds(1);
  while (true) {
    auto job = wait_for(client_, id, state, time_left(deadline, interval));
    if (job && *job) return job;
    if (job) {
      failing_since_.reset();
      interval = std::chrono::seconds(10);
    } else if (auto ok = recover(job.error(), deadline); !ok) {
      if (ok.error().code != ErrorCode::kUnavailable) return std::unexpected(ok.error());
      return failed(
          cat(ok.error().message, " Job ", id, " continues; see `tangram show ", id, "`."));
    }
    if (deadline && Clock::now() >= *deadline) return std::nullopt;
    if (!job || !on_waiting) continue;
    if (const auto now = get_job(client_, id)) on_waiting(*now);
  }
}

// Reconnects after `error`. Connections that are accepted and closed at once count as an absent
// daemon: the time since the last good reply is limited.
Result<void> JobWaiter::recover(const Error& error, std::optional<Clock::time_point> deadline) {
  if (error.code != ErrorCode::kUnavailable) return std::unexpected(error);
  const auto now = Clock::now();
  if (!failing_since_) failing_since_ = now;
  const auto left = kReconnectTime - std::chrono::floor<milliseconds>(now - *failing_since_);
  auto again = reconnect(socket_, time_left(deadline, std::max(left, milliseconds(0))));
  if (!again && deadline && Clock::now() >= *deadline) return {};
  if (!again) return std::unexpected(Error{ErrorCode::kUnavailable, again.error().message});
  if (left.count() <= 0) return std::unexpected(error);
  client_ = std::move(*again);
  pause_between_attempts();
  return {};
}

}  // namespace tangram::cli
