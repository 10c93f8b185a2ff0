// Ten thousand connections of one client that send nothing, or half a request, and stay open. The
// daemon accepts as many as its quota allows, keeps serving other clients, uses a bounded number of
// descriptors and bytes, and recovers afterwards. It is started with a low soft limit of
// descriptors, as a shell gives it.
#include "connection_flood.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "other_user.hpp"
#include "program.hpp"
#include "tcp_node.hpp"
#include "tests/support/http/keys.hpp"

namespace tangram::tests {
namespace {

constexpr uid_t kSecondUser = 1;  // a user that every Debian has
constexpr int kQuota = 256;       // connections of one client
constexpr rlim_t kFewDescriptors = 200;
constexpr int kMargin = 40;
constexpr long kMaxGrowth = 64L << 10U;  // KiB

double milliseconds_of(const std::function<void()>& action) {
  const auto begun = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun)
      .count();
}

// The daemon's resources before the flood, which bound those during it.
struct Baseline {
  explicit Baseline(const Node& node) : descriptors(node.descriptors()), kib(node.resident_kib()) {}
  void expect_bounded(const Node& node, int descriptors_each) const {
    EXPECT_LE(node.descriptors(), descriptors + kQuota * descriptors_each + kMargin);
    EXPECT_LE(node.resident_kib(), kib + kMaxGrowth);
  }
  int descriptors;
  long kib;
};

TEST(HalfOpen, SocketConnectionsDoNotBlockOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  Node node({.descriptors = kFewDescriptors});
  node.start();
  allow_other_users(node);
  const Baseline baseline(node);
  FloodOptions options = flood_of_socket(node.socket(), "GET /v1/jobs HTTP/1.1\r\nHo");
  options.uid = kNobody;
  if (const std::string why = unsupported_reason(options); !why.empty()) GTEST_SKIP() << why;
  ConnectionFlood flood(options);
  double slowest = 0;
  do {
    EXPECT_EQ(call_as(kSecondUser, node, "GET", "/v1/jobs").first, 200);
    slowest = std::max(slowest, milliseconds_of([&] { node.call("GET", "/v1/status"); }));
    baseline.expect_bounded(node, 1);
  } while (!flood.is_complete() && !HasFailure());
  const auto job =
      call_as(kSecondUser, node, "POST", "/v1/jobs", node.job_request("1g.5gb", "ulimit -Sn"));
  ASSERT_EQ(job.first, 201) << job.second;
  const auto id = job.second.at("id").to_number<std::uint64_t>();
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
  EXPECT_EQ(node.output(id),
            cat(kFewDescriptors, "\n"));  // the job has the soft limit, the daemon a higher one
  // The kernel completes connections before the daemon accepts them.
  eventually("connections beyond the quota are closed",
             [&] { return flood.count_open() <= kQuota; });
  baseline.expect_bounded(node, 1);
  flood.end();
  RecordProperty("slowest_answer_ms", std::to_string(slowest));
  eventually("the connections are closed",
             [&] { return node.descriptors() <= baseline.descriptors + kMargin; });
  EXPECT_EQ(call_as(kNobody, node, "GET", "/v1/jobs").first, 200);
}

// Large request bodies without their last bytes: no more is read than the byte quota allows.
TEST(HalfOpen, UnfinishedBodiesUseBoundedMemory) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  Node node({.descriptors = kFewDescriptors});
  node.start();
  allow_other_users(node);
  const Baseline baseline(node);
  FloodOptions options = flood_of_socket(
      node.socket(), cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         "Content-Length: 4000000\r\n\r\n",
                         std::string(3'900'000, ' ')));
  options.uid = kNobody;
  options.connections_each = 200;
  ConnectionFlood flood(options);
  do {
    EXPECT_EQ(call_as(kSecondUser, node, "GET", "/v1/jobs").first, 200);
    EXPECT_EQ(
        call_as(kSecondUser, node, "POST", "/v1/jobs", node.job_request("1g.5gb", "true")).first,
        201);
    baseline.expect_bounded(node, 1);
  } while (!flood.is_complete() && !HasFailure());
  flood.end();
  eventually("the connections are closed",
             [&] { return node.descriptors() <= baseline.descriptors + kMargin; });
  EXPECT_EQ(call_as(kNobody, node, "GET", "/v1/jobs").first, 200);
}

// Over TCP a client is identified by its address; the second one uses 127.0.0.2.
TEST(HalfOpen, TcpConnectionsDoNotBlockOtherAddresses) {
  TcpNode tcp({.descriptors = kFewDescriptors});
  Node& node = tcp.node();
  node.start();
  const std::string token(
      node.call("POST", "/v1/tokens", 201, boost::json::object{}).at("secret").as_string());
  const auto list_jobs_from = [&](const std::string& address) {
    return run_program("/usr/bin/curl", {"-sS", "--interface", address, "--cacert", tcp.ca(), "-H",
                                         cat("Authorization: Bearer ", token),
                                         cat("https://127.0.0.1:", tcp.port(), "/v1/jobs")});
  };
  const Baseline baseline(node);
  const FloodOptions options =
      flood_of_port(tcp.port(), std::string("\x16\x03\x01\x02\x00\x01", 6));
  if (const std::string why = unsupported_reason(options); !why.empty()) GTEST_SKIP() << why;
  ConnectionFlood flood(options);
  double slowest = 0;
  do {
    const Ended second = list_jobs_from("127.0.0.2");
    EXPECT_EQ(second.out, "[]\n") << second.err;
    slowest = std::max(slowest, milliseconds_of([&] { node.call("GET", "/v1/status"); }));
    baseline.expect_bounded(node, 3);
  } while (!flood.is_complete() && !HasFailure());
  // The kernel completes connections before the daemon accepts them.
  eventually("connections beyond the quota are closed",
             [&] { return flood.count_open() <= kQuota; });
  baseline.expect_bounded(node, 3);
  flood.end();
  RecordProperty("slowest_answer_ms", std::to_string(slowest));
  eventually("the connections are closed",
             [&] { return node.descriptors() <= baseline.descriptors + kMargin; });
  EXPECT_EQ(list_jobs_from("127.0.0.1").out, "[]\n");
}

}  // namespace
}  // namespace tangram::tests
