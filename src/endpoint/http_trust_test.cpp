// Which replicas get requests that may not be sent twice on connections that were idle: see
// pool.hpp.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/pool.hpp"
#include "endpoint/test_http.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::eventually;
using testing::get;
using testing::hear_message;
using testing::Peer;
using testing::post;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;

// Serves on every connection, and notes how many requests each has carried and which have ended.
class Keeper {
 public:
  // `closes`: those that were idle for so long, without a word.
  explicit Keeper(milliseconds closes = std::chrono::hours(1)) : closes_(closes) {}
  [[nodiscard]] const Replica& replica() const { return replica_; }
  [[nodiscard]] int connections() const { return replica_.connections(); }
  [[nodiscard]] int ended() const { return ended_; }    // by the endpoint
  [[nodiscard]] int closed() const { return closed_; }  // by the replica

 private:
  void serve(Peer& peer) {
    while (true) {
      if (peer.is_silent(static_cast<int>(closes_.count()))) {
        peer.leave();
        ++closed_;
        return;
      }
      if (hear_message(peer).empty()) {
        ++ended_;
        return;
      }
      peer.say(response("ok"));
    }
  }

  milliseconds closes_;
  std::atomic<int> ended_ = 0;
  std::atomic<int> closed_ = 0;
  Replica replica_{[this](Peer& peer) { serve(peer); }};
};

class EndpointHttpTrust : public testing::HttpTest {
 protected:
  // The replica's first connection has been watched, and was kept.
  Peer client_of_known(const Keeper& replica) {
    endpoint_.start_to(replica.replica());
    Peer client = endpoint_.client();
    EXPECT_EQ(ask(client, post("/", "x")), "ok");
    EXPECT_TRUE(eventually([&] { return replica.ended() == 1; }));
    return client;
  }
};

TEST_F(EndpointHttpTrust, WhatMayNotBeDoneTwiceGoesToAReplicaThatKeepsConnections) {
  Keeper replica;
  endpoint_.start_to(replica.replica());
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return replica.ended() == 2; }));  // the watched one too
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(ask(client, get("/")), "ok");
  EXPECT_LE(replica.connections(), 6);  // 3, unless this machine stood still for half a second
}

TEST_F(EndpointHttpTrust, OneThatWasIdleForHalfASecondIsNotSure) {
  Keeper replica;
  const Peer client = client_of_known(replica);
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  std::this_thread::sleep_for(Pool::kLongestSure + milliseconds(50));  // shorter than it is kept
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 3);
}

TEST_F(EndpointHttpTrust, WhoIsCaughtDuringTheTrialIsNotTrustedAfterIt) {
  // The first connection is kept; from the second on each ends after one request, without a word.
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    const bool is_first = ++begun == 1;
    while (!hear_message(peer).empty()) {
      peer.say(response("ok"));
      if (!is_first) break;
    }
    peer.leave();
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, get("/")), "ok");
  EXPECT_EQ(ask(client, get("/")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 2; }));  // the first by the endpoint
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 5);
}

TEST_F(EndpointHttpTrust, AClientOfHttp10LeavesNoConnectionBehind) {
  // Told to close, it does, and does not say so.
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    while (true) {
      const std::string request = hear_message(peer);
      if (request.empty()) break;
      peer.say(response("ok"));
      if (request.find("Connection: close") != std::string::npos) break;
    }
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  const Peer old = endpoint_.client();
  EXPECT_EQ(ask(old, "GET / HTTP/1.0\r\nHost: x\r\n\r\n"), "ok");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_LE(replica.connections(), 6);  // 3, or 8 if each had its own
}

TEST_F(EndpointHttpTrust, WhatIsKnownIsOfOneReplicaOnly) {
  Keeper replica;
  const Peer client = client_of_known(replica);
  Keeper two;
  endpoint_.master().route(2, two.replica().port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(two.connections(), 3);
}

TEST_F(EndpointHttpTrust, OneThatClosesIdleConnectionsIsNotTrusted) {
  Keeper replica(milliseconds(300));
  endpoint_.start_to(replica.replica());
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return replica.closed() == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 4);
  EXPECT_TRUE(eventually([&] { return replica.ended() == 3; }));
  EXPECT_EQ(replica.closed(), 1);  // none of the others was kept
}

TEST_F(EndpointHttpTrust, NorIsOneThatBeginsToCloseThem) {
  // After each request from the fourth on it ends the connection, and does not say so.
  std::atomic<int> served = 0;
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    while (!hear_message(peer).empty()) {
      peer.say(response("ok"));
      if (++served >= 4) break;
    }
    peer.leave();
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended >= 2; }));
  const int before = replica.connections();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), before + 3);
}

TEST_F(EndpointHttpTrust, WhatMayNotBeDoneTwiceIsNotSentAgainEither) {
  std::atomic<int> ended = 0;
  std::atomic<int> posts = 0;
  Replica replica([&](Peer& peer) {
    for (int i = 0; !hear_message(peer).empty(); ++i) {
      ++posts;
      if (i == 2) break;
      peer.say(response("ok"));
    }
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  std::string heard = "HTTP/1.1 200 ";
  int asked = 1;
  for (; heard.starts_with("HTTP/1.1 200 ") && asked < 20; ++asked) {  // the third, if in time
    client.say(post("/", "x"));
    heard = hear_message(client);
  }
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(posts, asked);
  EXPECT_EQ(endpoint_.master().counts().retried, 0U);
  const Peer next = endpoint_.client();
  const int before = replica.connections();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(next, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), before + 3);
}

}  // namespace
}  // namespace tangram::endpoint
