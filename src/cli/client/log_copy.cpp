// See log_copy.hpp.
#include "cli/client/log_copy.hpp"

#include <thread>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "http/routes/query.hpp"

namespace tangram::cli {
namespace {

constexpr auto kBetweenAttempts = std::chrono::milliseconds(200);

std::string target_of(const LogQuery& query, const std::string& next) {
  std::string target =
      cat("/v1/jobs/", query.job, "/logs?stream=", query.stream, query.follow ? "&follow=1" : "");
  if (!next.empty()) return cat(target, "&from=", http::percent_encoded(next));
  if (query.tail) target += cat("&tail=", *query.tail);
  return target;
}

}  // namespace

// A fixed delay: an absent daemon gives nothing to wait on.
void pause_between_attempts() { std::this_thread::sleep_for(kBetweenAttempts); }

Result<http::Client> reconnect(const std::string& socket,
                               std::chrono::milliseconds reconnect_time) {
  const auto deadline = std::chrono::steady_clock::now() + reconnect_time;
  while (true) {
    auto client = connect_to(socket);
    if (client || client.error().code != ErrorCode::kUnavailable) return client;
    if (std::chrono::steady_clock::now() >= deadline) return client;
    pause_between_attempts();
  }
}

Result<void> copy_log(const LogQuery& query, int descriptor) {
  std::string next;
  const auto on_piece = [&](const http::LogChunk& piece) {
    constexpr std::string_view kLost = "[tangram: output was rotated away before it was read]\n";
    if (piece.gap && !write_now(STDERR_FILENO, kLost)) return false;
    if (!write_now(descriptor, piece.bytes)) return false;
    next = piece.next;
    return true;
  };
  using Clock = std::chrono::steady_clock;
  constexpr auto kSteady = std::chrono::seconds(5);
  std::optional<Clock::time_point> broken;  // since when there is no progress
  std::chrono::milliseconds reconnect_time{0};
  while (true) {
    auto client = reconnect(query.socket, reconnect_time);
    if (!client) return std::unexpected(client.error());
    const std::string before = next;
    const auto begin = Clock::now();
    const Result<void> done = client->stream(target_of(query, next), on_piece);
    if (done || done.error().code != ErrorCode::kUnavailable) return done;
    // Connections that are accepted and closed at once count as an absent daemon.
    const auto now = Clock::now();
    if (next != before || now - begin > kSteady || !broken) broken = now;
    reconnect_time =
        query.reconnect_time - std::chrono::floor<std::chrono::milliseconds>(now - *broken);
    if (reconnect_time.count() <= 0) return done;
    pause_between_attempts();
  }
}

}  // namespace tangram::cli
