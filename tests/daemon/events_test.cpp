// Following events while the daemon is killed and restarted: no event is lost or repeated, and
// event numbers have no gaps.
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

struct SeenEvent {
  std::uint64_t id = 0;
  std::string kind;
  std::optional<std::uint64_t> job = {};
};

std::vector<SeenEvent> read_events(Node& node, const std::string& query) {
  std::vector<SeenEvent> all;
  auto client = http::Client::open(node.socket());
  if (!client) return all;
  const auto done =
      client->events("/v1/events?follow=false&" + query, [&](const http::ServerSentEvent& piece) {
        const json::value event = json::parse(piece.data);
        SeenEvent seen{.id = piece.id, .kind = std::string(piece.kind)};
        if (event.as_object().contains("job") && event.at("job").is_number()) {
          seen.job = event.at("job").to_number<std::uint64_t>();
        }
        all.push_back(std::move(seen));
        return true;
      });
  EXPECT_TRUE(done) << done.error().message;
  return all;
}

std::vector<std::string> kinds_of(Node& node, std::uint64_t job) {
  std::vector<std::string> kinds;
  const std::vector<SeenEvent> all = read_events(node, cat("after=0&job=", job));
  for (const SeenEvent& each : all) kinds.push_back(each.kind);
  return kinds;
}

TEST(Events, DescribeTheStatesOfAJob) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto good =
      node.submit("1g.5gb", cat("while [ ! -e ", node.at("go"), " ]; do sleep 0.02; done"));
  node.await(good, "running");
  node.folder().write("go", "");
  node.await(good, "over");
  EXPECT_EQ(kinds_of(node, good),
            (std::vector<std::string>{"job.submitted", "job.placed", "job.starting", "job.running",
                                      "job.completed"}));
  const auto bad = node.submit("1g.5gb", "exit 3");
  node.await(bad, "over");
  EXPECT_EQ(kinds_of(node, bad).back(), "job.failed");
  const auto stopped = node.submit("1g.5gb", "sleep 1000");
  node.await(stopped, "running");
  node.call("POST", cat("/v1/jobs/", stopped, "/cancel"), 202);
  node.await(stopped, "over");
  const auto end = kinds_of(node, stopped);
  ASSERT_GE(end.size(), 2U);
  EXPECT_EQ(end[end.size() - 2], "job.stopping");
  EXPECT_EQ(end.back(), "job.cancelled");
  EXPECT_EQ(read_events(node, "after=0&kind=gpu").size(), 1U);
}

TEST(Events, AreNumberedWithoutGapsAcrossKills) {
  Node node;
  node.start();
  std::uint64_t last = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) node.submit("1g.5gb", "true");
    round % 2 == 0 ? node.kill() : node.stop();
    node.start();
    const std::vector<SeenEvent> all = read_events(node, "after=0");
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].id, i + 1);
    EXPECT_GT(all.size(), last);
    last = all.size();
  }
}

// Follows events, and after a lost connection resumes after the last event.
class Follower {
 public:
  explicit Follower(const std::string& socket)
      : thread_([this, socket] {
          while (!done_) follow(socket);
        }) {}
  ~Follower() { stop(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  Follower(Follower&&) = delete;
  Follower& operator=(Follower&&) = delete;

  [[nodiscard]] std::uint64_t last() const { return last_; }
  // Returns the event numbers it has read.
  std::vector<std::uint64_t> stop() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      if (client_) client_->abort();
    }
    if (thread_.joinable()) thread_.join();
    return ids_;
  }

 private:
  void follow(const std::string& socket) {
    auto opened = http::Client::open(socket);
    {
      const std::lock_guard lock(mutex_);
      if (!opened || done_) return;
      client_.emplace(*std::move(opened));
    }
    (void)client_->events(cat("/v1/events?after=", last_.load()),
                          [&](const http::ServerSentEvent& piece) {
                            ids_.push_back(piece.id);
                            last_ = piece.id;
                            return !done_;
                          });
    const std::lock_guard lock(mutex_);
    client_.reset();
  }

  std::atomic<std::uint64_t> last_ = 0;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;  // guards client_
  std::optional<http::Client> client_;
  std::vector<std::uint64_t> ids_;
  std::thread thread_;
};

TEST(Events, AFollowerThatReconnectsReadsEachEventOnce) {
  Node node;
  node.start();
  Follower follower(node.socket());
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 10; ++i) node.submit("1g.5gb", "true");
    const std::uint64_t before = follower.last();
    eventually("it reads events", [&] { return follower.last() > before; });
    node.kill();
    node.start();
  }
  for (int i = 0; i < 3; ++i) node.await(node.submit("1g.5gb", "true"), "over");
  node.kill();  // no more events from here on
  std::uint64_t last = 0;
  {
    auto store = store::Store::open(node.state_dir() + "/tangram.db", {.read_only = true});
    ASSERT_TRUE(store) << store.error().message;
    last = (*store)->last_event();
  }
  node.start();
  eventually("it has read all events", [&] { return follower.last() >= last; });
  const std::vector<std::uint64_t> ids = follower.stop();
  ASSERT_GE(ids.size(), last);
  for (std::size_t i = 0; i < last; ++i) ASSERT_EQ(ids[i], i + 1);
}

}  // namespace
}  // namespace tangram::tests
