// Ten thousand connections of one guest that say nothing, or half a request, and stay: the daemon
// lets in as many as one may have, goes on serving everybody else, needs a bounded number of
// descriptors and bytes for it, and is well afterwards. It is started with few descriptors, as a
// shell gives them.
#include "siege.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
#include "http/test_keys.hpp"
#include "node.hpp"
#include "others.hpp"
#include "program.hpp"
#include "tcp_node.hpp"

namespace tangram::tests {
namespace {

constexpr uid_t kSecondUser = 1;  // a user that every Debian has
constexpr int kShare = 256;       // connections of one guest
constexpr rlim_t kFewDescriptors = 200;
constexpr int kMargin = 40;
constexpr long kMostGrowth = 64L << 10U;  // KiB

double time_of(const std::function<void()>& what) {
  const auto begun = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun)
      .count();
}

// What the daemon had before, and may have while it is besieged.
struct Before {
  explicit Before(const Node& node) : descriptors(node.descriptors()), kib(node.resident_kib()) {}
  void expect_bounded(const Node& node, int descriptors_each) const {
    EXPECT_LE(node.descriptors(), descriptors + kShare * descriptors_each + kMargin);
    EXPECT_LE(node.resident_kib(), kib + kMostGrowth);
  }
  int descriptors;
  long kib;
};

TEST(HalfOpen, OnTheSocketHinderNobodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  Node node({.descriptors = kFewDescriptors});
  node.start();
  let_others_in(node);
  const Before before(node);
  SiegePlan plan = siege_of_socket(node.socket(), "GET /v1/jobs HTTP/1.1\r\nHo");
  plan.uid = kNobody;
  if (const std::string why = obstacle_to(plan); !why.empty()) GTEST_SKIP() << why;
  Siege siege(plan);
  double slowest = 0;
  do {
    EXPECT_EQ(ask_as(kSecondUser, node, "GET", "/v1/jobs").first, 200);
    slowest = std::max(slowest, time_of([&] { node.ask("GET", "/v1/status"); }));
    before.expect_bounded(node, 1);
  } while (!siege.complete() && !HasFailure());
  const auto job =
      ask_as(kSecondUser, node, "POST", "/v1/jobs", node.request("1g.5gb", "ulimit -Sn"));
  ASSERT_EQ(job.first, 201) << job.second;
  const auto id = job.second.at("id").to_number<std::uint64_t>();
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
  EXPECT_EQ(node.output(id), cat(kFewDescriptors, "\n"));  // more are the daemon's own
  // The kernel has them before the daemon does.
  eventually("the others are turned away", [&] { return siege.standing() <= kShare; });
  before.expect_bounded(node, 1);
  siege.end();
  RecordProperty("slowest_answer_ms", std::to_string(slowest));
  eventually("all are gone", [&] { return node.descriptors() <= before.descriptors + kMargin; });
  EXPECT_EQ(ask_as(kNobody, node, "GET", "/v1/jobs").first, 200);
}

// All but the last bytes of large jobs: no more of them is read than there is room for.
TEST(HalfOpen, BodiesTakeABoundedShareOfMemory) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  Node node({.descriptors = kFewDescriptors});
  node.start();
  let_others_in(node);
  const Before before(node);
  SiegePlan plan = siege_of_socket(
      node.socket(), cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         "Content-Length: 4000000\r\n\r\n",
                         std::string(3'900'000, ' ')));
  plan.uid = kNobody;
  plan.each = 200;
  Siege siege(plan);
  do {
    EXPECT_EQ(ask_as(kSecondUser, node, "GET", "/v1/jobs").first, 200);
    EXPECT_EQ(ask_as(kSecondUser, node, "POST", "/v1/jobs", node.request("1g.5gb", "true")).first,
              201);
    before.expect_bounded(node, 1);
  } while (!siege.complete() && !HasFailure());
  siege.end();
  eventually("all are gone", [&] { return node.descriptors() <= before.descriptors + kMargin; });
  EXPECT_EQ(ask_as(kNobody, node, "GET", "/v1/jobs").first, 200);
}

// Over TCP a guest is an address: the second one is another of this machine's.
TEST(HalfOpen, OverTcpHinderNobodyElse) {
  TcpNode tcp({.descriptors = kFewDescriptors});
  Node& node = tcp.node();
  node.start();
  const std::string token(
      node.ask("POST", "/v1/tokens", 201, boost::json::object{}).at("secret").as_string());
  const auto ask_from = [&](const std::string& address) {
    return run_program("/usr/bin/curl", {"-sS", "--interface", address, "--cacert", tcp.ca(), "-H",
                                         cat("Authorization: Bearer ", token),
                                         cat("https://127.0.0.1:", tcp.port(), "/v1/jobs")});
  };
  const Before before(node);
  const SiegePlan plan = siege_of_port(tcp.port(), std::string("\x16\x03\x01\x02\x00\x01", 6));
  if (const std::string why = obstacle_to(plan); !why.empty()) GTEST_SKIP() << why;
  Siege siege(plan);
  double slowest = 0;
  do {
    const Ended second = ask_from("127.0.0.2");
    EXPECT_EQ(second.out, "[]\n") << second.err;
    slowest = std::max(slowest, time_of([&] { node.ask("GET", "/v1/status"); }));
    before.expect_bounded(node, 3);
  } while (!siege.complete() && !HasFailure());
  // The kernel has them before the daemon does.
  eventually("the others are turned away", [&] { return siege.standing() <= kShare; });
  before.expect_bounded(node, 3);
  siege.end();
  RecordProperty("slowest_answer_ms", std::to_string(slowest));
  eventually("all are gone", [&] { return node.descriptors() <= before.descriptors + kMargin; });
  EXPECT_EQ(ask_from("127.0.0.1").out, "[]\n");
}

}  // namespace
}  // namespace tangram::tests
