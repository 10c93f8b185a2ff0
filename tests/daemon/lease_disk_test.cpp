// Leases and a disk that hangs or fails (slow_disk.cpp): who holds one keeps it although his
// renewals cannot be written down, who gives one back is not told to come again, and nobody waits
// longer than he said. One rule: trouble with the disk takes no instance from anybody.
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
#include "background.hpp"
#include "base/text.hpp"
#include "http/client.hpp"
#include "http/raw_socket.hpp"
#include "node.hpp"

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
    const auto reply = http::Client::open(node.socket())->exchange(method, target, body, kLong);
    return reply ? reply->status : 0;
  }
  // Something has to be written for anybody to notice.
  void write_meanwhile() {
    meanwhile_ = std::jthread([this] {
      static_cast<void>(http::Client::open(node.socket())
                            ->request("POST", "/v1/jobs",
                                      node.request("1g.5gb", "true", {{"hold", true}}), kLong));
    });
  }
  void await_trouble() {
    write_meanwhile();
    eventually("it is in trouble", [&] { return status("GET", "/readyz") == 503; });
  }
  void await_recovery() {
    recover();
    eventually("it is well again", [&] { return status("GET", "/readyz") == 200; });
    meanwhile_.join();
  }
  json::value acquire(json::object request, int expected = 201) {
    request.emplace("profile", "1g.5gb");
    return node.ask("POST", "/v1/leases", expected, request);
  }
  json::value lease(std::uint64_t id) { return node.ask("GET", cat("/v1/leases/", id)); }
  std::string state(std::uint64_t id) { return std::string(lease(id).at("state").as_string()); }
  // Its time is over, as it was last said.
  void await_deadline(std::uint64_t id) {
    const std::string until(lease(id).at("expires").as_string());
    eventually("its time is over", [&] {
      return api::wall_text(std::chrono::floor<std::chrono::microseconds>(
                 std::chrono::system_clock::now())) > until;
    });
  }
  static std::uint64_t id_of(const json::value& lease) {
    return lease.at("id").to_number<std::uint64_t>();
  }

  Node node;

 private:
  std::jthread meanwhile_;
};

TEST_F(LeaseDisk, ThatFailsEndsNoLease) {
  const std::uint64_t renewed = id_of(acquire({{"ttl", "1s"}}));
  const std::uint64_t silent = id_of(acquire({{"ttl", "1s"}}));
  fail();
  await_trouble();
  await_deadline(renewed);
  await_deadline(silent);
  const std::string renew = cat("/v1/leases/", renewed, "/renew");
  const json::value refused = node.ask("POST", renew, 503, json::object{});
  EXPECT_THAT(json::serialize(refused), HasSubstr("goes on"));
  await_deadline(renewed);
  node.ask("POST", renew, 503, json::object{{"ttl", "1h"}});
  EXPECT_EQ(lease(renewed).at("ttl"), "1h");
  EXPECT_EQ(state(renewed), "granted");
  EXPECT_EQ(state(silent), "granted");
  await_recovery();
  // What was said meanwhile is kept, and who could say nothing has a moment to.
  EXPECT_EQ(state(silent), "granted");
  node.ask("POST", cat("/v1/leases/", silent, "/renew"), 200, json::object{{"ttl", "1h"}});
  node.kill();
  node.start();
  EXPECT_EQ(lease(renewed).at("ttl"), "1h");
  EXPECT_EQ(state(renewed), "granted");
}

TEST_F(LeaseDisk, ThatHangsEndsNoLease) {
  const std::uint64_t id = id_of(acquire({{"ttl", "5s"}}));
  hang();
  write_meanwhile();
  eventually("the disk has work", [&] { return status("GET", "/v1/jobs/2") == 200; });
  const std::string renew = cat("/v1/leases/", id, "/renew");
  node.ask("POST", renew, 503, json::object{{"ttl", "1s"}});  // when its time is over
  await_deadline(id);
  node.ask("POST", renew, 503, json::object{});
  EXPECT_EQ(state(id), "granted");
  await_recovery();
  node.ask("POST", cat("/v1/leases/", id, "/renew"), 200, json::object{{"ttl", "1h"}});
  EXPECT_EQ(state(id), "granted");
}

// And one that nobody renews ends by itself, later.
TEST_F(LeaseDisk, ThatIsWellAgainLetsLeasesEnd) {
  const std::uint64_t id = id_of(acquire({{"ttl", "1s"}}));
  fail();
  await_trouble();
  await_deadline(id);
  await_recovery();
  eventually("it is over", [&] { return state(id) == "over"; });
}

TEST_F(LeaseDisk, ThatFailsDoesNotHurryACommand) {
  Background command({TANGRAM_BINARY, "lease", "-p", "1g.5gb", "--ttl", "1s", "--", "/bin/sh", "-c",
                      cat("while [ ! -e ", node.at("go"), " ]; do sleep 0.05; done; exit 4")},
                     {cat("TANGRAM_SOCKET=", node.socket())});
  std::uint64_t id = 0;
  eventually("it is granted", [&] {
    const json::value all = node.ask("GET", "/v1/leases");
    if (all.as_array().empty() || all.at(0).at("state") != "granted") return false;
    id = id_of(all.at(0));
    return true;
  });
  fail();
  await_trouble();
  for (int i = 0; i < 3; ++i) await_deadline(id);
  await_recovery();
  node.folder().write("go", "");
  EXPECT_EQ(command.wait(), 4) << command.err();
  EXPECT_EQ(command.err(), "");
}

TEST_F(LeaseDisk, ThatFailsLosesNoRelease) {
  const std::uint64_t id = id_of(acquire({{"ttl", "1h"}}));
  const std::uint64_t keyed = id_of(acquire({{"ttl", "1h"}, {"key", "slurm/1"}}));
  fail();
  await_trouble();
  const json::value noted = node.ask("DELETE", cat("/v1/leases/", id), 202);
  EXPECT_EQ(noted.at("state"), "releasing");
  EXPECT_THAT(std::string(noted.at("reason").as_string()), HasSubstr("once that can be written"));
  EXPECT_TRUE(noted.at("environment").as_object().empty());
  node.ask("DELETE", cat("/v1/leases/", id), 202);
  node.ask("DELETE", "/v1/leases?key=slurm/1", 202);
  node.ask("DELETE", "/v1/leases?key=slurm/1", 204);  // nobody's any more
  node.ask("POST", cat("/v1/leases/", id, "/renew"), 409, json::object{});
  await_recovery();
  for (const std::uint64_t each : {id, keyed}) {
    eventually("it is over", [&] { return state(each) == "over"; });
    EXPECT_EQ(lease(each).at("reason"), "released");
  }
}

// It begins to hang while somebody gives a lease back.
TEST_F(LeaseDisk, ThatHangsHoldsUpNoEpilog) {
  const std::uint64_t id = id_of(acquire({{"ttl", "1h"}, {"key", "slurm/1"}}));
  hang();
  EXPECT_EQ(status("DELETE", "/v1/leases?key=slurm/1"), 202);
  recover();
  eventually("it is over", [&] { return state(id) == "over"; });
}

// Who waits is answered in his time, whatever the disk does.
TEST_F(LeaseDisk, ThatFailsLetsNobodyWaitLonger) {
  const std::uint64_t whole = id_of(acquire({{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  json::object request{{"ttl", "1h"}, {"key", "pod"}, {"wait", "100ms"}, {"linger", "1h"}};
  acquire(request, 409);
  fail();
  await_trouble();
  acquire(request, 503);
  await_recovery();
  node.ask("DELETE", cat("/v1/leases/", whole));
  request["wait"] = "1m";
  EXPECT_EQ(acquire(request, 200).at("state"), "granted");  // in its old place
}

// Whoever asked with a key keeps his place, even if he left before it was written down.
TEST_F(LeaseDisk, ThatIsSlowCostsNobodyHisPlace) {
  acquire({{"profile", "7g.40gb"}, {"ttl", "1h"}});
  hang();
  write_meanwhile();
  eventually("the disk has work", [&] { return status("GET", "/v1/jobs/2") == 200; });
  const std::string body = R"({"profile":"1g.5gb","key":"pod","wait":"50s"})";
  http::testing::Raw raw(node.socket());
  raw.say(cat("POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
              "Content-Length: ", body.size(), "\r\n\r\n", body));
  int unread = 1;
  eventually("it is read",
             [&] { return ::ioctl(raw.descriptor(), TIOCOUTQ, &unread) == 0 && unread == 0; });
  // Requests wait a second at most for what is on its way to the disk; this one waits as long.
  node.ask("GET", "/v1/leases");
  raw.leave();
  for (int i = 0; i < 20; ++i) node.ask("GET", "/healthz");
  await_recovery();
  const json::value found = node.ask("GET", "/v1/leases?key=pod");
  EXPECT_EQ(found.at(0).at("state"), "waiting");
  EXPECT_EQ(node.ask("GET", cat("/v1/leases/", id_of(found.at(0)))).at("state"), "waiting");
}

}  // namespace
}  // namespace tangram::tests
