// See crowd.hpp.
#include "crowd.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/text.hpp"

namespace tangram::tests {
namespace {

double ms(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

void Latencies::add(const std::vector<double>& mine) {
  const std::lock_guard lock(mutex_);
  all_.insert(all_.end(), mine.begin(), mine.end());
}

void Latencies::sort() { std::ranges::sort(all_); }

double Latencies::at(double part) const {
  if (all_.empty()) return 0;
  return all_[static_cast<std::size_t>(part * static_cast<double>(all_.size() - 1))];
}

void Crowd::failed(const std::string& why) {
  if (errors++ == 0) std::fprintf(stderr, "%s\n", why.c_str());
}

void Crowd::submit_and_cancel(http::Client& client) {
  const auto made =
      client.request("POST", "/v1/jobs", node_.request("1g.5gb", "true", {{"hold", true}}));
  ++requests;
  if (!made) return failed(made.error().message);
  const auto id = made->body.at("id").to_number<std::uint64_t>();
  const auto gone = client.request("POST", cat("/v1/jobs/", id, "/cancel"));
  ++requests;
  if (!gone) failed(gone.error().message);
}

// About four questions a second, mostly for a job.
void Crowd::call(std::uint64_t number, Clock::time_point until) {
  auto client = enter_();
  if (!client) return failed(client.error().message);
  std::vector<double> mine;
  std::uint64_t random = number * 0x9E3779B97F4A7C15ULL + 1;
  const auto next = [&] {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    return random;
  };
  while (Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + next() % 200));  // he thinks
    const std::uint64_t dice = next() % 20;
    if (dice == 0) {
      submit_and_cancel(*client);
      continue;
    }
    const auto begun = Clock::now();
    const auto reply = dice == 1   ? client->request("GET", "/v1/jobs?limit=20")
                       : dice == 2 ? client->request("GET", "/v1/gpus")
                                   : client->request("GET", cat("/v1/jobs/", 1 + next() % jobs_));
    if (!reply) failed(reply.error().message);
    if (dice > 2) mine.push_back(ms(Clock::now() - begun));
    ++requests;
  }
  looks.add(mine);
}

// From now on, until the goal is known and reached; a stream that ends before that was broken.
void Crowd::follow() {
  auto client = enter_();
  if (!client) return failed(client.error().message);
  std::uint64_t last = begun_after_;
  const std::string target = cat("/v1/events?after=", last);
  const auto read = client->events(target, [&](const http::EventPiece& piece) {
    if (piece.id != last + 1) failed(cat("event ", piece.id, " came after ", last));
    last = piece.id;
    ++events;
    return last < goal_;
  });
  if (!read) return failed(cat("a follower was cut off: ", read.error().message));
  if (last < goal_) return failed(cat("a stream ended at ", last, " of ", goal_.load()));
  ++followers;
}

std::uint64_t Crowd::last_event() {
  auto client = http::Client::open(node_.socket());
  std::uint64_t last = 0;
  const auto read = client ? client->events("/v1/events?after=0&follow=false",
                                            [&](const http::EventPiece& piece) {
                                              last = piece.id;
                                              return true;
                                            })
                           : Result<void>(std::unexpected(client.error()));
  if (!read) failed(read.error().message);
  return last;
}

void Crowd::come(std::uint64_t callers, std::chrono::milliseconds time) {
  goal_ = ~std::uint64_t{0};
  begun_after_ = last_event();
  const auto until = Clock::now() + time;
  std::vector<std::jthread> following;
  std::vector<std::jthread> calling;
  for (std::uint64_t i = 0; i < callers; ++i) {
    if (i % 10 == 0) {
      following.emplace_back([this] { follow(); });
    } else {
      calling.emplace_back([this, i, until] { call(i, until); });
    }
  }
  calling.clear();  // awaits them
  goal_ = last_event();
  // Whoever has read so far already waits for one more, and looks at the goal then.
  auto client = http::Client::open(node_.socket());
  if (!client) return failed(client.error().message);
  submit_and_cancel(*client);
}

}  // namespace tangram::tests
