// The daemon on a disk that hangs or fails (slow_disk.cpp). Requests about durable data are served
// as usual; those about data that is not durable yet wait, for a limited time; a change is
// acknowledged only when it is durable; and nothing is lost or done twice.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class DiskFault : public ::testing::Test {
 protected:
  DiskFault() {
    node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SLOW_DISK,
                          "ASAN_OPTIONS=verify_asan_link_order=0",
                          "TANGRAM_SLOW_DISK=" + node.at("disk")});
    node.start();
    held = node.submit("1g.5gb", "true", {{"hold", true}});
  }
  ~DiskFault() override {
    recover();
    if (submitter.joinable()) submitter.join();
  }
  DiskFault(const DiskFault&) = delete;
  DiskFault& operator=(const DiskFault&) = delete;
  DiskFault(DiskFault&&) = delete;
  DiskFault& operator=(DiskFault&&) = delete;

  void hang() const { std::ofstream(node.at("disk.hang")); }
  void fail() const { std::ofstream(node.at("disk.fail")); }
  void recover() const {
    std::filesystem::remove(node.at("disk.hang"));
    std::filesystem::remove(node.at("disk.fail"));
  }
  // Submits a job, which gets this ID, in another thread and returns when it is in the store,
  // durable or not.
  void submit_in_background(std::uint64_t id = 2) {
    submitter = std::jthread([this] {
      auto client = http::Client::open(node.socket());
      reply = client->request("POST", "/v1/jobs", request(), kTimeout, "once");
      answered = true;
    });
    eventually("the job is in the store", [&] { return stored(id).has_value(); });
  }
  // The job in the store, durable or not.
  [[nodiscard]] std::optional<store::JobRow> stored(std::uint64_t id) const {
    const auto store = store::Store::open(node.state_dir() + "/tangram.db", {.read_only = true});
    return store ? (*store)->job(id).value() : std::nullopt;
  }
  [[nodiscard]] json::object request() const {
    return node.job_request("2g.10gb", "true", {{"hold", true}});
  }
  std::size_t jobs() { return node.call("GET", "/v1/jobs").as_array().size(); }
  std::string events() {
    auto client = http::Client::open(node.socket());
    std::string kinds;
    const auto read =
        client->events("/v1/events?after=0&follow=false", [&](const http::ServerSentEvent& piece) {
          kinds += cat(piece.kind, " ");
          return true;
        });
    EXPECT_TRUE(read);
    return kinds;
  }

  Node node;
  std::uint64_t held = 0;
  std::jthread submitter;
  std::atomic<bool> answered = false;
  Result<http::ClientReply> reply = failed("no request was made");
};

TEST_F(DiskFault, HangingDoesNotBlockRequestsAboutDurableData) {
  const std::string before = events();
  hang();
  submit_in_background();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(node.state(held), "held");
    node.call("GET", "/healthz");
  }
  EXPECT_EQ(events(), before);   // the submission is not durable yet
  node.call("GET", "/v1/gpus");  // waits for the longest time that a request waits for durability
  EXPECT_EQ(node.state(2), "held");
  EXPECT_FALSE(answered);
  recover();
  submitter.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(events(), before + "job.submitted job.held ");
}

// A response reports only durable state, so the event of a listed job can be read.
TEST_F(DiskFault, ASlowDiskDelaysResponsesUntilTheirDataIsDurable) {
  const std::string before = events();
  hang();
  submit_in_background();
  std::jthread recovers([&] {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(200));  // less than a request waits for durability
    recover();
  });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(jobs(), 2U);
  if (std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(900)) {
    GTEST_SKIP() << "the machine paused for longer than a request waits for durability";
  }
  EXPECT_EQ(events(), before + "job.submitted job.held ");
}

TEST_F(DiskFault, AJobEndsWhenItEndsHoweverLateThatIsCommitted) {
  using std::chrono::seconds;
  const auto job = node.submit("1g.5gb", cat("while [ ! -e ", node.at("go"),
                                             " ]; do sleep 0.02; done; : > ", node.at("end")));
  node.await(job, "running");
  hang();
  submit_in_background(3);
  std::ofstream(node.at("go"));
  eventually("the job has ended", [&] { return std::filesystem::exists(node.at("end")); });
  const auto over = std::chrono::steady_clock::now() + seconds(4);
  std::this_thread::sleep_until(over);  // its end cannot be committed meanwhile
  const api::WallTime recovered = store::wall_now();
  recover();
  const json::object view = node.await(job, "over");
  EXPECT_EQ(view.at("state"), "completed");
  EXPECT_LT(std::string(view.at("ended").as_string()), api::wall_text(recovered - seconds(2)));
  const json::value& place = view.at("places").as_array().back();
  EXPECT_EQ(place.at("ended"), view.at("ended"));
}

TEST_F(DiskFault, AFailureIsReportedAndRetried) {
  fail();
  submit_in_background();
  eventually("the error is logged",
             [&] { return node.log().find("Input/output error") < node.log().size(); });
  const json::value ready = node.call("GET", "/readyz", 503);
  EXPECT_THAT(json::serialize(ready), HasSubstr("cannot sync the store"));
  const json::value refused =
      node.call("POST", "/v1/jobs", 503, node.job_request("1g.5gb", "true", {{"hold", true}}));
  EXPECT_THAT(json::serialize(refused), HasSubstr("Input/output error"));
  EXPECT_FALSE(answered);
  recover();
  submitter.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(jobs(), 2U);
  node.call("GET", "/readyz");
  eventually("the recovery is logged",
             [&] { return node.log().contains("the store is writable again"); });
  node.stop();
  int code = -1;
  const std::string replayed =
      node.tangram({"store", "replay", "--state-dir", node.state_dir()}, &code);
  EXPECT_EQ(code, 0) << replayed;
}

// The first batch after a failure rewrites the WAL, which must not block the event loop either.
TEST_F(DiskFault, HangingRightAfterAFailureBlocksNoOtherRequest) {
  fail();
  submit_in_background();
  eventually("the error is logged",
             [&] { return node.log().find("Input/output error") < node.log().size(); });
  recover();
  submitter.join();
  ASSERT_TRUE(reply) << reply.error().message;
  hang();
  submitter = std::jthread([this] {
    auto client = http::Client::open(node.socket());
    reply = client->request("POST", "/v1/jobs/2/cancel", std::nullopt, kTimeout);
  });
  eventually("the cancellation is in the store", [&] { return stored(2).value().over; });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(node.state(held), "held");
    node.call("GET", "/healthz");
  }
  recover();
  submitter.join();
  ASSERT_TRUE(reply) << reply.error().message;
}

// Revoking a leaked token must work even while the disk fails.
TEST_F(DiskFault, AFailureDoesNotKeepTokensValid) {
  const auto created = node.call("POST", "/v1/tokens", 201, json::object{});
  const std::string target = cat("/v1/tokens/", created.at("id").to_number<std::uint64_t>());
  const auto status = [&] {
    const std::string secret(created.at("secret").as_string());
    const auto reply_with_token =
        http::Client::open(node.socket(), {.token = secret})->exchange("GET", "/v1/gpus");
    return reply_with_token ? reply_with_token->status : 0;
  };
  EXPECT_EQ(status(), 200);
  fail();
  submit_in_background();
  eventually("the error is logged",
             [&] { return node.log().find("Input/output error") < node.log().size(); });
  const json::value revoked = node.call("DELETE", target);
  EXPECT_TRUE(revoked.at("revoked").as_bool());
  EXPECT_THAT(json::serialize(revoked.at("unsaved")), HasSubstr("Input/output error"));
  EXPECT_EQ(status(), 401);
  EXPECT_THAT(node.tangram({"token", "revoke", target.substr(target.rfind('/') + 1)}),
              HasSubstr("but not saved yet: "));
  EXPECT_FALSE(node.call("GET", "/v1/tokens").at(0).at("unsaved").is_null());
  recover();
  submitter.join();
  eventually("the revocation is durable",
             [&] { return node.call("GET", "/v1/tokens").at(0).at("unsaved").is_null(); });
  node.kill();
  node.start();
  EXPECT_EQ(status(), 401);
  EXPECT_TRUE(node.call("DELETE", target).at("unsaved").is_null());
}

// The disk begins to hang during the request: the response says that the change is not durable.
TEST_F(DiskFault, ARevocationThatIsNotDurableIsReported) {
  const auto created = node.call("POST", "/v1/tokens", 201, json::object{});
  const std::string target = cat("/v1/tokens/", created.at("id").to_number<std::uint64_t>());
  hang();
  submitter = std::jthread([&] {
    reply = http::Client::open(node.socket())->request("DELETE", target, std::nullopt, kTimeout);
  });
  submitter.join();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 200);
  EXPECT_THAT(json::serialize(reply->body), HasSubstr("fsync of"));
  recover();
  eventually("the revocation is durable",
             [&] { return node.call("GET", "/v1/tokens").at(0).at("unsaved").is_null(); });
}

// Requests do not wait forever for a hanging disk: they are refused with the reason.
TEST_F(DiskFault, HangingForLongIsReported) {
  hang();
  submit_in_background();
  eventually("the daemon is not ready", [&] {
    const auto ready = http::Client::open(node.socket())->exchange("GET", "/readyz");
    return ready && ready->status == 503;
  });
  const json::value why = node.call("POST", "/v1/jobs/1/cancel", 503);
  EXPECT_THAT(json::serialize(why), HasSubstr("fsync of"));
  EXPECT_EQ(node.state(held), "held");
  EXPECT_FALSE(answered);
  recover();
  submitter.join();
  ASSERT_TRUE(reply) << reply.error().message;
  node.call("GET", "/readyz");
  node.call("POST", "/v1/jobs/1/cancel", 202);
}

// An unacknowledged submission may exist or not; repeated with the same key it exists once.
TEST_F(DiskFault, ACrashWhileHangingDoesNothingTwice) {
  hang();
  submit_in_background();
  node.kill();
  submitter.join();
  EXPECT_FALSE(reply);
  recover();
  node.start();
  auto client = http::Client::open(node.socket());
  const auto repeated = client->request("POST", "/v1/jobs", request(), kTimeout, "once");
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(repeated->body.at("id").to_number<std::uint64_t>(), 2U);
  EXPECT_EQ(jobs(), 2U);
}

}  // namespace
}  // namespace tangram::tests
