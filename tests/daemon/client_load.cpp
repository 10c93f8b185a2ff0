// See client_load.hpp.
#include "client_load.hpp"

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

void Latencies::add(const std::vector<double>& milliseconds) {
  const std::lock_guard lock(mutex_);
  all_.insert(all_.end(), milliseconds.begin(), milliseconds.end());
}

void Latencies::sort() { std::ranges::sort(all_); }

double Latencies::at(double quantile) const {
  if (all_.empty()) return 0;
  return all_[static_cast<std::size_t>(quantile * static_cast<double>(all_.size() - 1))];
}

void ClientLoad::add_error(const std::string& message) {
  if (errors++ == 0) std::fprintf(stderr, "%s\n", message.c_str());
}

void ClientLoad::submit_and_cancel(http::Client& client) {
  const auto created =
      client.request("POST", "/v1/jobs", node_.job_request("1g.5gb", "true", {{"hold", true}}));
  ++requests;
  if (!created) {
    add_error(created.error().message);
    return;
  }
  const auto id = created->body.at("id").to_number<std::uint64_t>();
  const auto cancelled = client.request("POST", cat("/v1/jobs/", id, "/cancel"));
  ++requests;
  if (!cancelled) add_error(cancelled.error().message);
}

// About four requests a second, mostly for a single job.
void ClientLoad::run_client(std::uint64_t number, Clock::time_point until) {
  auto client = connect_();
  if (!client) {
    add_error(client.error().message);
    return;
  }
  std::vector<double> latencies;
  std::uint64_t random = number * 0x9E3779B97F4A7C15ULL + 1;
  const auto next = [&] {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    return random;
  };
  while (Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + next() % 200));  // think time
    const std::uint64_t dice = next() % 20;
    if (dice == 0) {
      submit_and_cancel(*client);
      continue;
    }
    const auto begun = Clock::now();
    std::string target;
    if (dice == 1) {
      target = "/v1/jobs?limit=20";
    } else if (dice == 2) {
      target = "/v1/gpus";
    } else {
      target = cat("/v1/jobs/", 1 + next() % jobs_);
    }
    const auto reply = client->request("GET", target);
    if (!reply) add_error(reply.error().message);
    if (dice > 2) latencies.push_back(ms(Clock::now() - begun));
    ++requests;
  }
  job_latencies.add(latencies);
}

// Reads until the last event is known and read; a stream that ends before that is an error.
void ClientLoad::follow_events() {
  auto client = connect_();
  if (!client) {
    add_error(client.error().message);
    return;
  }
  std::uint64_t last = first_after_;
  const std::string target = cat("/v1/events?after=", last);
  const auto read = client->events(target, [&](const http::ServerSentEvent& piece) {
    if (piece.id != last + 1) add_error(cat("event ", piece.id, " came after ", last));
    last = piece.id;
    ++events;
    return last < last_event_;
  });
  if (!read) {
    add_error(cat("an event stream was cut: ", read.error().message));
    return;
  }
  if (last < last_event_) {
    add_error(cat("an event stream ended at ", last, " of ", last_event_.load()));
    return;
  }
  ++followers;
}

std::uint64_t ClientLoad::read_last_event() {
  auto client = http::Client::open(node_.socket());
  std::uint64_t last = 0;
  const auto read = client ? client->events("/v1/events?after=0&follow=false",
                                            [&](const http::ServerSentEvent& piece) {
                                              last = piece.id;
                                              return true;
                                            })
                           : Result<void>(std::unexpected(client.error()));
  if (!read) add_error(read.error().message);
  return last;
}

void ClientLoad::run(std::uint64_t clients, std::chrono::milliseconds duration) {
  last_event_ = ~std::uint64_t{0};
  first_after_ = read_last_event();
  const auto until = Clock::now() + duration;
  std::vector<std::jthread> follower_threads;
  std::vector<std::jthread> client_threads;
  for (std::uint64_t i = 0; i < clients; ++i) {
    if (i % 10 == 0) {
      follower_threads.emplace_back([this] { follow_events(); });
    } else {
      client_threads.emplace_back([this, i, until] { run_client(i, until); });
    }
  }
  client_threads.clear();  // joins them
  last_event_ = read_last_event();
  // A follower that has read it already is waiting: one more event makes it compare and end.
  auto client = http::Client::open(node_.socket());
  if (!client) {
    add_error(client.error().message);
    return;
  }
  submit_and_cancel(*client);
}

}  // namespace tangram::tests
