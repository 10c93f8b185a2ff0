// Leases while the disk hangs or fails (slow_disk.cpp): no holder loses its instance because a
// renewal cannot be written, a release is accepted without a retry, and no request waits longer
// than it asked to.
#include <filesystem>
#include <fstream>
#include <sys/ioctl.h>
#include <thread>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/job.hpp"
#include "background_process.hpp"
#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class LeaseDisk : public ::testing::Test {
 protected:
  LeaseDisk() : node({.emulate = "1xA100-40GB"}) {
    node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_DISK,
                          "ASAN_OPTIONS=verify_asan_link_order=0",
                          "TANGRAM_SLOW_DISK=" + node.at("disk")});
    node.start();
  }
  ~LeaseDisk() override { recover(); }
  LeaseDisk(const LeaseDisk&) = delete;
  LeaseDisk& operator=(const LeaseDisk&) = delete;
  LeaseDisk(LeaseDisk&&) = delete;
  LeaseDisk& operator=(LeaseDisk&&) = delete;

  void hang() const { std::ofstream(node.at("disk.hang")); }
  void fail() const { std::ofstream(node.at("disk.fail")); }
  void recover() const {
    std::filesystem::remove(node.at("disk.hang"));
    std::filesystem::remove(node.at("disk.fail"));
  }
  [[nodiscard]] int status(const std::string& method, const std::string& target,
                           const std::optional<json::value>& body = std::nullopt) const {
    const auto reply = http::Client::open(node.socket())->exchange(method, target, body, kTimeout);
    return reply ? reply->status : 0;
  }
  // Submits a job: the fault is noticed only when something is written.
  void write_in_background() {
    writer_ = std::jthread([this] {
      static_cast<void>(http::Client::open(node.socket())
                            ->request("POST", "/v1/jobs",
                                      node.job_request("1g.5gb", "true", {{"hold", true}}),
                                      kTimeout));
    });
  }
  void await_fault() {
    write_in_background();
    eventually("the daemon is not ready", [&] { return status("GET", "/readyz") == 503; });
  }
  void await_recovery() {
    recover();
    eventually("the daemon is ready", [&] { return status("GET", "/readyz") == 200; });
    writer_.join();
  }
  json::value acquire(json::object request, int expected = 201) {
    request.emplace("profile", "1g.5gb");
    return node.call("POST", "/v1/leases", expected, request);
  }
  json::value lease(std::uint64_t id) { return node.call("GET", cat("/v1/leases/", id)); }
  std::string state(std::uint64_t id) { return std::string(lease(id).at("state").as_string()); }
  // Waits until the lease's present deadline has passed.
  void await_deadline(std::uint64_t id) {
    const std::string until(lease(id).at("expires").as_string());
    eventually("its deadline has passed", [&] {
      return api::wall_text(std::chrono::floor<std::chrono::microseconds>(
                 std::chrono::system_clock::now())) > until;
    });
  }
  static std::uint64_t id_of(const json::value& lease) {
    return lease.at("id").to_number<std::uint64_t>();
  }

  Node node;

 private:
  std::jthread writer_;
};

TEST_F(LeaseDisk, AFailureEndsNoLease) {
  const std::uint64_t renewed = id_of(acquire({{"ttl", "1s"}}));
  const std::uint64_t silent = id_of(acquire({{"ttl", "1s"}}));
  fail();
  await_fault();
  await_deadline(renewed);
  await_deadline(silent);
  const std::string renew = cat("/v1/leases/", renewed, "/renew");
  const json::value refused = node.call("POST", renew, 503, json::object{});
  EXPECT_THAT(json::serialize(refused), HasSubstr("stays granted"));
  await_deadline(renewed);
  node.call("POST", renew, 503, json::object{{"ttl", "1h"}});
  EXPECT_EQ(lease(renewed).at("ttl"), "1h");
  EXPECT_EQ(state(renewed), "granted");
  EXPECT_EQ(state(silent), "granted");
  await_recovery();
  // Renewals during the fault are kept, and leases without one get time for it.
  EXPECT_EQ(state(silent), "granted");
  node.call("POST", cat("/v1/leases/", silent, "/renew"), 200, json::object{{"ttl", "1h"}});
  node.kill();
  node.start();
  EXPECT_EQ(lease(renewed).at("ttl"), "1h");
  EXPECT_EQ(state(renewed), "granted");
}

TEST_F(LeaseDisk, HangingEndsNoLease) {
  const std::uint64_t id = id_of(acquire({{"ttl", "5s"}}));
  hang();
  write_in_background();
  eventually("a write is pending", [&] { return status("GET", "/v1/jobs/2") == 200; });
  const std::string renew = cat("/v1/leases/", id, "/renew");
  node.call("POST", renew, 503, json::object{{"ttl", "1s"}});  // answered when the deadline passes
  await_deadline(id);
  node.call("POST", renew, 503, json::object{});
  EXPECT_EQ(state(id), "granted");
  await_recovery();
  node.call("POST", cat("/v1/leases/", id, "/renew"), 200, json::object{{"ttl", "1h"}});
  EXPECT_EQ(state(id), "granted");
}

// A lease that is not renewed ends after the disk has recovered.
TEST_F(LeaseDisk, RecoveryLetsLeasesExpire) {
  const std::uint64_t id = id_of(acquire({{"ttl", "1s"}}));
  fail();
  await_fault();
  await_deadline(id);
  await_recovery();
  eventually("the lease has ended", [&] { return state(id) == "over"; });
}

TEST_F(LeaseDisk, AFailureDoesNotTerminateACommand) {
  BackgroundProcess command(
      {TANGRAM_BINARY, "lease", "-p", "1g.5gb", "--ttl", "1s", "--", "/bin/sh", "-c",
       cat("while [ ! -e ", node.at("go"), " ]; do sleep 0.05; done; exit 4")},
      {cat("TANGRAM_SOCKET=", node.socket())});
  std::uint64_t id = 0;
  eventually("the lease is granted", [&] {
    const json::value all = node.call("GET", "/v1/leases");
    if (all.as_array().empty() || all.at(0).at("state") != "granted") return false;
    id = id_of(all.at(0));
    return true;
  });
  fail();
  await_fault();
  for (int i = 0; i < 3; ++i) await_deadline(id);
  await_recovery();
  node.folder().write("go", "");
  EXPECT_EQ(command.wait(), 4) << command.err();
  EXPECT_EQ(command.err(), "");
}

TEST_F(LeaseDisk, AFailureLosesNoRelease) {
  const std::uint64_t id = id_of(acquire({{"ttl", "1h"}}));
  const std::uint64_t keyed = id_of(acquire({{"ttl", "1h"}, {"key", "slurm/1"}}));
  fail();
  await_fault();
  const json::value accepted = node.call("DELETE", cat("/v1/leases/", id), 202);
  EXPECT_EQ(accepted.at("state"), "releasing");
  EXPECT_THAT(std::string(accepted.at("reason").as_string()),
              HasSubstr("once the store can be written"));
  EXPECT_TRUE(accepted.at("environment").as_object().empty());
  node.call("DELETE", cat("/v1/leases/", id), 202);
  node.call("DELETE", "/v1/leases?key=slurm/1", 202);
  node.call("DELETE", "/v1/leases?key=slurm/1", 204);  // no lease has this key any more
  node.call("POST", cat("/v1/leases/", id, "/renew"), 409, json::object{});
  await_recovery();
  for (const std::uint64_t each : {id, keyed}) {
    eventually("the lease has ended", [&] { return state(each) == "over"; });
    EXPECT_EQ(lease(each).at("reason"), "released");
  }
}

// The disk begins to hang during a release.
TEST_F(LeaseDisk, HangingDoesNotDelayAnEpilog) {
  const std::uint64_t id = id_of(acquire({{"ttl", "1h"}, {"key", "slurm/1"}}));
  hang();
  EXPECT_EQ(status("DELETE", "/v1/leases?key=slurm/1"), 202);
  recover();
  eventually("the lease has ended", [&] { return state(id) == "over"; });
}

// A waiting request is answered within its `wait` even while the disk fails.
TEST_F(LeaseDisk, AFailureDoesNotProlongWaits) {
  const std::uint64_t whole = id_of(acquire({{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  json::object request{{"ttl", "1h"}, {"key", "pod"}, {"wait", "100ms"}, {"linger", "1h"}};
  acquire(request, 409);
  fail();
  await_fault();
  acquire(request, 503);
  await_recovery();
  node.call("DELETE", cat("/v1/leases/", whole));
  request["wait"] = "1m";
  EXPECT_EQ(acquire(request, 200).at("state"), "granted");  // it kept its place in the queue
}

// A request with a key keeps its place even if the client disconnects before it is durable.
TEST_F(LeaseDisk, ASlowDiskLosesNoPlaceInTheQueue) {
  acquire({{"profile", "7g.40gb"}, {"ttl", "1h"}});
  hang();
  write_in_background();
  eventually("a write is pending", [&] { return status("GET", "/v1/jobs/2") == 200; });
  const std::string body = R"({"profile":"1g.5gb","key":"pod","wait":"50s"})";
  http::testing::RawSocket raw(node.socket());
  raw.send(cat("POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
               "Content-Length: ", body.size(), "\r\n\r\n", body));
  int unread = 1;
  eventually("the request is read",
             [&] { return ::ioctl(raw.descriptor(), TIOCOUTQ, &unread) == 0 && unread == 0; });
  // Requests wait at most a second for durability; this one waits as long as the one before.
  node.call("GET", "/v1/leases");
  raw.close();
  for (int i = 0; i < 20; ++i) node.call("GET", "/healthz");
  await_recovery();
  const json::value found = node.call("GET", "/v1/leases?key=pod");
  EXPECT_EQ(found.at(0).at("state"), "waiting");
  EXPECT_EQ(node.call("GET", cat("/v1/leases/", id_of(found.at(0)))).at("state"), "waiting");
}

}  // namespace
}  // namespace tangram::tests
