// The daemon among many: how soon it answers hundreds of callers who submit, look and follow events
// at once, and whether many readers of a fast stream of events each get all of it. Figures are
// printed; what must not happen (an error, an event lost or doubled, a follower that does not come
// to the end, slow answers, a daemon that grows) is a failure.
//
//   crowd callers [500] [20]      so many callers for so many seconds, until it was calm, at most
//                                 ten times
//   crowd callers 200 10 tls      the same over TLS, each with a token of its own
//   crowd readers [50] [100000]   so many readers of so many events
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "crowd.hpp"
#include "empty_answers.hpp"
#include "http/client.hpp"
#include "node.hpp"
#include "stolen.hpp"
#include "tcp_node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

double ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// Over the socket, or over TLS with a token of his own.
Crowd::Entry entry_to(TcpNode& tcp, bool tls) {
  Node& node = tcp.node();
  if (!tls) return [&node] { return http::Client::open(node.socket()); };
  return [&tcp, &node]() -> Result<http::Client> {
    const auto made = node.try_ask("POST", "/v1/tokens", json::object{});
    if (!made) return failed("a token could not be made.");
    const std::string secret(made->at("secret").as_string());
    return http::Client::open(tcp.url(), {.token = secret, .ca_file = tcp.ca()});
  };
}

// What must not be, besides errors: answers that take long, and memory that grows with the
// requests.
constexpr double kSlowestMs = 5;             // of 99 in 100 looks
constexpr long kMostGrowthKib = 32L << 10U;  // of a round; events are kept, up to 65,536
constexpr double kCalmPercent = 0.5;         // of the processors, taken away by the host
constexpr int kMostRounds = 10;

struct Round {
  double stolen = 0;  // percent
  double p99 = 0;     // milliseconds
  int bad = 0;
};

int judge(bool good, const char* what) {
  if (!good) std::fprintf(stderr, "crowd: %s\n", what);
  return good ? 0 : 1;
}

Round one_round(Node& node, const Crowd::Entry& enter, std::uint64_t jobs, std::uint64_t count,
                std::chrono::seconds time) {
  const long before = node.resident_kib();
  Crowd crowd(node, enter, jobs);
  const Stolen stolen;
  EmptyAnswers empty;
  crowd.come(count, time);
  const Latencies& least = empty.end();
  crowd.looks.sort();
  Round round{.stolen = stolen.percent(), .p99 = crowd.looks.at(0.99)};
  std::printf("%llu callers for %lld s: %llu requests, %llu events read, %llu errors\n",
              static_cast<unsigned long long>(count), static_cast<long long>(time.count()),
              static_cast<unsigned long long>(crowd.requests.load()),
              static_cast<unsigned long long>(crowd.events.load()),
              static_cast<unsigned long long>(crowd.errors.load()));
  std::printf(
      "GET /v1/jobs/{id}, %zu of them: half %.2f ms, 95 %% %.2f ms, 99 %% %.2f ms, worst %.2f ms\n",
      crowd.looks.count(), crowd.looks.at(0.5), crowd.looks.at(0.95), round.p99, crowd.looks.at(1));
  std::printf(
      "an empty answer meanwhile: half %.2f ms, 95 %% %.2f ms, 99 %% %.2f ms, worst %.2f ms\n",
      least.at(0.5), least.at(0.95), least.at(0.99), least.at(1));
  const long after = node.resident_kib();
  std::printf(
      "resident memory of the daemon: %ld KiB before, %ld KiB after; the host took %.1f %% of the "
      "processors away\n",
      before, after, round.stolen);
  std::fflush(stdout);
  round.bad += judge(crowd.errors == 0, "there were errors");
  round.bad +=
      judge(crowd.followers == (count + 9) / 10, "not every follower has read to the last event");
  round.bad += judge(after - before <= kMostGrowthKib, "the daemon grew by more than 32 MiB");
  return round;
}

// Nothing may go wrong in any round. How soon callers are answered is judged by the first round in
// which the host left the machine alone, or else by the one with the least taken away.
int callers(std::uint64_t count, std::chrono::seconds time, bool tls) {
  TcpNode tcp({.emulate = "4xA100-40GB",
               .config = cat("[access]\nconnections_per_user = ", count + 10, "\n")});
  Node& node = tcp.node();
  node.start();
  constexpr std::uint64_t kJobs = 200;
  for (std::uint64_t i = 0; i < kJobs; ++i) node.submit("1g.5gb", "true", {{"hold", true}});
  const Crowd::Entry enter = entry_to(tcp, tls);
  Crowd first(node, enter, kJobs);
  first.come(count, time / 4);  // until buffers and caches have their size
  Round calmest{.stolen = 100};
  int bad = 0;
  for (int i = 0; i < kMostRounds && calmest.stolen >= kCalmPercent; ++i) {
    // An address may connect 256 times at once and then 50 times a second.
    if (tls) std::this_thread::sleep_for(std::chrono::milliseconds(count * 1000 / 50));
    const Round round = one_round(node, enter, kJobs, count, time);
    bad += round.bad;
    if (round.stolen < calmest.stolen) calmest = round;
  }
  bad += judge(calmest.p99 <= kSlowestMs, "99 of 100 looks should take 5 ms at most");
  return bad == 0 ? 0 : 1;
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
  const Stolen stolen;
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
      "%llu lost or doubled; resident memory %ld KiB; the host took %.1f %% of the processors "
      "away\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(wanted), seconds,
      static_cast<double>(wanted) / seconds, static_cast<unsigned long long>(whole.load()),
      static_cast<unsigned long long>(wrong.load()), node.resident_kib(), stolen.percent());
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
