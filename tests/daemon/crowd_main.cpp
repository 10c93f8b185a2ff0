// The daemon among many: how soon it answers hundreds of callers who submit, look and follow events
// at once, and whether many readers of a fast stream of events each get all of it. Figures are
// printed; what must never happen (an error, an event lost or doubled) is a failure.
//
//   crowd callers [500] [20]      so many callers for so many seconds
//   crowd callers 200 10 tls      the same over TLS, each with a token of its own
//   crowd readers [50] [100000]   so many readers of so many events
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
#include "node.hpp"
#include "tcp_node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

double ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

class Latencies {
 public:
  void add(std::vector<double>& mine) {
    const std::lock_guard lock(mutex_);
    all_.insert(all_.end(), mine.begin(), mine.end());
  }
  [[nodiscard]] std::size_t count() const { return all_.size(); }
  void sort() { std::ranges::sort(all_); }
  [[nodiscard]] double at(double part) const {
    if (all_.empty()) return 0;
    return all_[static_cast<std::size_t>(part * static_cast<double>(all_.size() - 1))];
  }

 private:
  std::mutex mutex_;
  std::vector<double> all_;
};

// How a caller comes in.
using Entry = std::function<Result<http::Client>()>;

struct Crowd {
  Node& node;
  Entry enter;
  std::uint64_t jobs;  // there are jobs 1 to this
  Clock::time_point until;
  Latencies looks;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> events = 0;
  std::atomic<std::uint64_t> errors = 0;

  void failed(const Error& error) {
    if (errors++ == 0) std::fprintf(stderr, "%s\n", error.message.c_str());
  }

  // Every tenth caller follows events; the others ask about four times a second, mostly for a job.
  void caller(std::uint64_t number) {
    auto client = enter();
    if (!client) return failed(client.error());
    if (number % 10 == 0) return follow(*client);
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
      const auto begun = Clock::now();
      Result<http::ClientReply> reply =
          dice == 0   ? client->request("POST", "/v1/jobs",
                                        node.request("1g.5gb", "true", {{"hold", true}}))
          : dice == 1 ? client->request("GET", "/v1/jobs?limit=20")
          : dice == 2 ? client->request("GET", "/v1/gpus")
                      : client->request("GET", cat("/v1/jobs/", 1 + next() % jobs));
      if (!reply) failed(reply.error());
      if (dice > 2) mine.push_back(ms(Clock::now() - begun));
      ++requests;
    }
    looks.add(mine);
  }
  void follow(http::Client& client) {
    std::uint64_t last = 0;
    std::jthread bell([&] {
      std::this_thread::sleep_until(until);
      client.abort();
    });
    const auto read = client.events("/v1/events?after=0", [&](const http::EventPiece& piece) {
      if (piece.id != last + 1) ++errors;
      last = piece.id;
      ++events;
      return true;
    });
    static_cast<void>(read);  // ended by the bell
  }
};

// Over the socket, or over TLS with a token of his own.
Entry entry_to(TcpNode& tcp, bool tls) {
  Node& node = tcp.node();
  if (!tls) return [&node] { return http::Client::open(node.socket()); };
  return [&tcp, &node]() -> Result<http::Client> {
    const auto made = node.try_ask("POST", "/v1/tokens", json::object{});
    if (!made) return failed("a token could not be made.");
    const std::string secret(made->at("secret").as_string());
    return http::Client::open(tcp.url(), {.token = secret, .ca_file = tcp.ca()});
  };
}

int callers(std::uint64_t count, std::chrono::seconds time, bool tls) {
  TcpNode tcp({.emulate = "4xA100-40GB",
               .config = cat("[access]\nconnections_per_user = ", count + 10, "\n")});
  Node& node = tcp.node();
  node.start();
  constexpr std::uint64_t kJobs = 200;
  for (std::uint64_t i = 0; i < kJobs; ++i) node.submit("1g.5gb", "true", {{"hold", true}});
  const long before = node.resident_kib();
  Crowd crowd{.node = node,
              .enter = entry_to(tcp, tls),
              .jobs = kJobs,
              .until = Clock::now() + time,
              .looks = {}};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < count; ++i) {
      threads.emplace_back([&crowd, i] { crowd.caller(i); });
    }
  }
  crowd.looks.sort();
  std::printf("%llu callers%s for %lld s: %llu requests, %llu events read, %llu errors\n",
              static_cast<unsigned long long>(count), tls ? " over TLS" : "",
              static_cast<long long>(time.count()),
              static_cast<unsigned long long>(crowd.requests.load()),
              static_cast<unsigned long long>(crowd.events.load()),
              static_cast<unsigned long long>(crowd.errors.load()));
  std::printf(
      "GET /v1/jobs/{id}, %zu of them: half %.2f ms, 95 %% %.2f ms, 99 %% %.2f ms, worst %.2f ms\n",
      crowd.looks.count(), crowd.looks.at(0.5), crowd.looks.at(0.95), crowd.looks.at(0.99),
      crowd.looks.at(1));
  std::printf("resident memory of the daemon: %ld KiB before, %ld KiB after\n", before,
              node.resident_kib());
  return crowd.errors == 0 ? 0 : 1;
}

// Events as fast as they can be made: jobs submitted on hold and cancelled at once.
void make_events(Node& node, std::atomic<bool>& enough) {
  auto client = http::Client::open(node.socket());
  if (!client) return;
  const json::value request = node.request("1g.5gb", "true", {{"hold", true}});
  while (!enough) {
    const auto reply = client->request("POST", "/v1/jobs", request);
    if (!reply) return;
    const auto id = reply->body.at("id").to_number<std::uint64_t>();
    const auto cancelled = client->request("POST", cat("/v1/jobs/", id, "/cancel"));
    if (!cancelled) return;
  }
}

int readers(std::uint64_t count, std::uint64_t wanted) {
  Node node;
  node.start();
  std::atomic<bool> enough = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::uint64_t> whole = 0;
  const auto begun = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        auto client = http::Client::open(node.socket());
        std::uint64_t last = 0;
        const auto read = client->events("/v1/events?after=0", [&](const http::EventPiece& piece) {
          if (piece.id != last + 1) ++wrong;
          last = piece.id;
          return last < wanted;
        });
        if (!read) std::fprintf(stderr, "%s\n", read.error().message.c_str());
        if (last == wanted) ++whole;
      });
    }
    std::vector<std::jthread> makers;
    for (int i = 0; i < 16; ++i) makers.emplace_back([&] { make_events(node, enough); });
    threads.clear();  // awaits the readers
    enough = true;
  }
  const double seconds = ms(Clock::now() - begun) / 1000;
  std::printf(
      "%llu readers of %llu events in %.1f s, %.0f events/s: %llu have all of them, "
      "%llu lost or doubled; resident memory %ld KiB\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(wanted), seconds,
      static_cast<double>(wanted) / seconds, static_cast<unsigned long long>(whole.load()),
      static_cast<unsigned long long>(wrong.load()), node.resident_kib());
  return whole == count && wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tangram::tests

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, std::uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  if (what == "callers") {
    const bool tls = argc > 4 && std::string_view(argv[4]) == "tls";
    if (tls && number(2, 500) > 500) {
      std::fprintf(stderr, "crowd: there are 512 connections over TCP, so at most 500 callers\n");
      return 2;
    }
    return tangram::tests::callers(number(2, 500), std::chrono::seconds(number(3, 20)), tls);
  }
  if (what == "readers") return tangram::tests::readers(number(2, 50), number(3, 100'000));
  std::fprintf(stderr, "crowd callers [500] [20 s] [tls] | readers [50] [100000 events]\n");
  return 2;
}
