// See log_copy.hpp.
#include "cli/log_copy.hpp"

#include <thread>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "http/query.hpp"

namespace tangram::cli {
namespace {

constexpr auto kBetweenAttempts = std::chrono::milliseconds(200);

std::string target_of(const LogWish& wish, const std::string& next) {
  std::string target =
      cat("/v1/jobs/", wish.job, "/logs?stream=", wish.stream, wish.follow ? "&follow=1" : "");
  if (!next.empty()) return cat(target, "&from=", http::percent_encoded(next));
  if (wish.tail) target += cat("&tail=", *wish.tail);
  return target;
}

}  // namespace

// There is nothing to wait for: a daemon that is not there cannot say when it is back.
void pause_between_attempts() { std::this_thread::sleep_for(kBetweenAttempts); }

Result<http::Client> reconnect(const std::string& socket, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto client = connect_to(socket);
    if (client || client.error().code != ErrorCode::kUnavailable) return client;
    if (std::chrono::steady_clock::now() >= deadline) return client;
    pause_between_attempts();
  }
}

Result<void> copy_log(const LogWish& wish, int descriptor) {
  std::string next;
  const auto take = [&](const http::LogPiece& piece) {
    constexpr std::string_view kLost = "[tangram: output was rotated away before it was read]\n";
    if (piece.gap && !write_now(STDERR_FILENO, kLost)) return false;
    if (!write_now(descriptor, piece.bytes)) return false;
    next = piece.next;
    return true;
  };
  using Clock = std::chrono::steady_clock;
  constexpr auto kSteady = std::chrono::seconds(5);
  std::optional<Clock::time_point> broken;  // since when there is no progress
  std::chrono::milliseconds patience{0};
  while (true) {
    auto client = reconnect(wish.socket, patience);
    if (!client) return std::unexpected(client.error());
    const std::string before = next;
    const auto begin = Clock::now();
    const Result<void> done = client->stream(target_of(wish, next), take);
    if (done || done.error().code != ErrorCode::kUnavailable) return done;
    // A daemon that takes connections only to drop them is as good as none.
    const auto now = Clock::now();
    if (next != before || now - begin > kSteady || !broken) broken = now;
    patience = wish.patience - std::chrono::floor<std::chrono::milliseconds>(now - *broken);
    if (patience.count() <= 0) return done;
    pause_between_attempts();
  }
}

}  // namespace tangram::cli
