// The daemon and a disk that hangs or fails (slow_disk.cpp): who looks at what is on the disk is
// served all the same, others are told what is not yet there only when that takes too long; whoever
// asked for something is answered when it is on the disk and not before; and nothing is lost or
// done twice.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
#include "node.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class Disk : public ::testing::Test {
 protected:
  Disk() {
    node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_DISK,
                          "ASAN_OPTIONS=verify_asan_link_order=0",
                          "TANGRAM_SLOW_DISK=" + node.at("disk")});
    node.start();
    held = node.submit("1g.5gb", "true", {{"hold", true}});
  }
  ~Disk() override {
    recover();
    if (asker.joinable()) asker.join();
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  Disk(Disk&&) = delete;
  Disk& operator=(Disk&&) = delete;

  void hang() const { std::ofstream(node.at("disk.hang")); }
  void fail() const { std::ofstream(node.at("disk.fail")); }
  void recover() const {
    std::filesystem::remove(node.at("disk.hang"));
    std::filesystem::remove(node.at("disk.fail"));
  }
  // A submission that is answered when it is.
  void submit_meanwhile() {
    asker = std::jthread([this] {
      auto client = http::Client::open(node.socket());
      reply = client->request("POST", "/v1/jobs", request(), kLong, "once");
      answered = true;
    });
    eventually("it is in the store", [&] { return stored(2).has_value(); });
  }
  // As the store has it, on the disk or not.
  [[nodiscard]] std::optional<store::JobRow> stored(std::uint64_t id) const {
    const auto store = store::Store::open(node.state_dir() + "/tangram.db", {.read_only = true});
    return store ? (*store)->job(id).value() : std::nullopt;
  }
  [[nodiscard]] json::object request() const {
    return node.request("2g.10gb", "true", {{"hold", true}});
  }
  std::size_t jobs() { return node.ask("GET", "/v1/jobs").as_array().size(); }
  std::string events() {
    auto client = http::Client::open(node.socket());
    std::string kinds;
    const auto read =
        client->events("/v1/events?after=0&follow=false", [&](const http::EventPiece& piece) {
          kinds += cat(piece.kind, " ");
          return true;
        });
    EXPECT_TRUE(read);
    return kinds;
  }

  Node node;
  std::uint64_t held = 0;
  std::jthread asker;
  std::atomic<bool> answered = false;
  Result<http::ClientReply> reply = failed("nobody was asked.");
};

TEST_F(Disk, WhileItHangsOthersAreServed) {
  const std::string before = events();
  hang();
  submit_meanwhile();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(node.state(held), "held");
    node.ask("GET", "/healthz");
  }
  EXPECT_EQ(events(), before);  // it has not happened yet
  node.ask("GET", "/v1/gpus");  // a while later
  EXPECT_EQ(node.state(2), "held");
  EXPECT_FALSE(answered);
  recover();
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(events(), before + "job.submitted job.held ");
}

// Whoever sees a job's end finds the event of it: what he sees is on the disk.
TEST_F(Disk, ThatIsSlowShowsNobodyWhatIsNotOnIt) {
  const std::string before = events();
  hang();
  submit_meanwhile();
  std::jthread recovers([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // less than anybody waits
    recover();
  });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(jobs(), 2U);
  if (std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(900)) {
    GTEST_SKIP() << "the machine stood still for longer than anybody waits for the disk";
  }
  EXPECT_EQ(events(), before + "job.submitted job.held ");
}

TEST_F(Disk, ThatFailsIsSaidAndAskedAgain) {
  fail();
  submit_meanwhile();
  eventually("it is said",
             [&] { return node.log().find("Input/output error") < node.log().size(); });
  const json::value ready = node.ask("GET", "/readyz", 503);
  EXPECT_THAT(json::serialize(ready), HasSubstr("cannot put the store"));
  const json::value refused =
      node.ask("POST", "/v1/jobs", 503, node.request("1g.5gb", "true", {{"hold", true}}));
  EXPECT_THAT(json::serialize(refused), HasSubstr("Input/output error"));
  EXPECT_FALSE(answered);
  recover();
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(jobs(), 2U);
  node.ask("GET", "/readyz");
  EXPECT_THAT(node.log(), HasSubstr("the store can be written again"));
  node.stop();
  int code = -1;
  const std::string replayed =
      node.tangram({"store", "replay", "--state-dir", node.state_dir()}, &code);
  EXPECT_EQ(code, 0) << replayed;
}

// The first batch after a failure begins the log anew, which must not hold up the loop either.
TEST_F(Disk, ThatHangsRightAfterItFailedHoldsUpNobody) {
  fail();
  submit_meanwhile();
  eventually("it is said",
             [&] { return node.log().find("Input/output error") < node.log().size(); });
  recover();
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message;
  hang();
  asker = std::jthread([this] {
    auto client = http::Client::open(node.socket());
    reply = client->request("POST", "/v1/jobs/2/cancel", std::nullopt, kLong);
  });
  eventually("it is on its way", [&] { return stored(2).value().over; });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(node.state(held), "held");
    node.ask("GET", "/healthz");
  }
  recover();
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message;
}

// A token that leaked must not be good for as long as a disk is bad.
TEST_F(Disk, ThatFailsKeepsNoTokenAlive) {
  const auto made = node.ask("POST", "/v1/tokens", 201, json::object{});
  const std::string it = cat("/v1/tokens/", made.at("id").to_number<std::uint64_t>());
  const auto status = [&] {
    const std::string secret(made.at("secret").as_string());
    const auto shown =
        http::Client::open(node.socket(), {.token = secret})->exchange("GET", "/v1/gpus");
    return shown ? shown->status : 0;
  };
  EXPECT_EQ(status(), 200);
  fail();
  submit_meanwhile();
  eventually("it is said",
             [&] { return node.log().find("Input/output error") < node.log().size(); });
  const json::value gone = node.ask("DELETE", it);
  EXPECT_TRUE(gone.at("revoked").as_bool());
  EXPECT_THAT(json::serialize(gone.at("unsaved")), HasSubstr("Input/output error"));
  EXPECT_EQ(status(), 401);
  EXPECT_THAT(node.tangram({"token", "revoke", it.substr(it.rfind('/') + 1)}),
              HasSubstr("a crash could still undo that"));
  EXPECT_FALSE(node.ask("GET", "/v1/tokens").at(0).at("unsaved").is_null());
  recover();
  asker.join();
  eventually("it is on the disk",
             [&] { return node.ask("GET", "/v1/tokens").at(0).at("unsaved").is_null(); });
  node.kill();
  node.start();
  EXPECT_EQ(status(), 401);
  EXPECT_TRUE(node.ask("DELETE", it).at("unsaved").is_null());
}

// The disk begins to fail while it is asked: whoever waits is told so.
TEST_F(Disk, ThatHangsOverARevocationIsSaid) {
  const auto made = node.ask("POST", "/v1/tokens", 201, json::object{});
  const std::string it = cat("/v1/tokens/", made.at("id").to_number<std::uint64_t>());
  hang();
  asker = std::jthread([&] {
    reply = http::Client::open(node.socket())->request("DELETE", it, std::nullopt, kLong);
  });
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_THAT(json::serialize(reply->body), HasSubstr("the disk has not taken in the store"));
  recover();
  eventually("it is on the disk",
             [&] { return node.ask("GET", "/v1/tokens").at(0).at("unsaved").is_null(); });
}

// Nobody waits without end to hear that nothing can be done.
TEST_F(Disk, ThatHangsForLongIsSaid) {
  hang();
  submit_meanwhile();
  eventually("a wish is refused", [&] {
    const auto ready = http::Client::open(node.socket())->exchange("GET", "/readyz");
    return ready && ready->status == 503;
  });
  const json::value why = node.ask("POST", "/v1/jobs/1/cancel", 503);
  EXPECT_THAT(json::serialize(why), HasSubstr("the disk has not taken in the store"));
  EXPECT_EQ(node.state(held), "held");
  EXPECT_FALSE(answered);
  recover();
  asker.join();
  ASSERT_TRUE(reply) << reply.error().message;
  node.ask("GET", "/readyz");
  node.ask("POST", "/v1/jobs/1/cancel", 202);
}

// What nobody was told of may be there or not; with the same key it is there once.
TEST_F(Disk, AsSomeoneDiesMeanwhileNothingIsDoneTwice) {
  hang();
  submit_meanwhile();
  node.kill();
  asker.join();
  EXPECT_FALSE(reply);
  recover();
  node.start();
  auto client = http::Client::open(node.socket());
  const auto again = client->request("POST", "/v1/jobs", request(), kLong, "once");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->body.at("id").to_number<std::uint64_t>(), 2U);
  EXPECT_EQ(jobs(), 2U);
}

}  // namespace
}  // namespace tangram::tests
