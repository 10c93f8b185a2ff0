// Which replicas get non-idempotent requests on reused keep-alive connections: see
// keep_alive_pool.hpp.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/http/keep_alive_pool.hpp"
#include "tests/support/endpoint/http.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::eventually;
using testing::get;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;

// A replica with keep-alive that counts its connections by the side that closed them.
class KeepAliveReplica {
 public:
  // `idle_timeout`: after it the replica closes an idle connection without announcing it.
  explicit KeepAliveReplica(milliseconds idle_timeout = std::chrono::hours(1))
      : idle_timeout_(idle_timeout) {}
  [[nodiscard]] const Replica& replica() const { return replica_; }
  [[nodiscard]] int connections() const { return replica_.connections(); }
  [[nodiscard]] int ended() const { return ended_; }    // by the endpoint
  [[nodiscard]] int closed() const { return closed_; }  // by the replica

 private:
  void serve(Peer& peer) {
    while (true) {
      if (peer.is_silent(static_cast<int>(idle_timeout_.count()))) {
        peer.close();
        ++closed_;
        return;
      }
      if (read_message(peer).empty()) {
        ++ended_;
        return;
      }
      peer.send(response("ok"));
    }
  }

  milliseconds idle_timeout_;
  std::atomic<int> ended_ = 0;
  std::atomic<int> closed_ = 0;
  Replica replica_{[this](Peer& peer) { serve(peer); }};
};

class EndpointKeepAlivePolicy : public testing::HttpTest {
 protected:
  // A client of a replica that has kept the probe connection open.
  Peer client_after_probe(const KeepAliveReplica& replica) {
    endpoint_.start_to(replica.replica());
    Peer client = endpoint_.client();
    EXPECT_EQ(fetch(client, post("/", "x")), "ok");
    EXPECT_TRUE(eventually([&] { return replica.ended() == 1; }));
    return client;
  }
};

TEST_F(EndpointKeepAlivePolicy, NonIdempotentRequestsReuseConnectionsThatTheReplicaKeepsOpen) {
  KeepAliveReplica replica;
  endpoint_.start_to(replica.replica());
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return replica.ended() == 2; }));  // including the probe
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(fetch(client, get("/")), "ok");
  EXPECT_LE(replica.connections(), 6);  // 3, unless this machine stalled for half a second
}

TEST_F(EndpointKeepAlivePolicy, AConnectionIdleForHalfASecondIsNotReused) {
  KeepAliveReplica replica;
  const Peer client = client_after_probe(replica);
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  std::this_thread::sleep_for(KeepAlivePool::kMaxIdleForNonIdempotent +
                              milliseconds(50));  // < kMaxIdle
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 3);
}

TEST_F(EndpointKeepAlivePolicy, AReplicaThatClosesAConnectionDuringTheProbeIsUnreliable) {
  // The first connection stays open; each later one is closed after one request, unannounced.
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    const bool is_first = ++begun == 1;
    while (!read_message(peer).empty()) {
      peer.send(response("ok"));
      if (!is_first) break;
    }
    peer.close();
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, get("/")), "ok");
  EXPECT_EQ(fetch(client, get("/")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 2; }));  // the first by the endpoint
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 5);
}

TEST_F(EndpointKeepAlivePolicy, ARequestOfHttp10LeavesNoPooledConnection) {
  // On "Connection: close" the replica closes, but its response does not announce it.
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    while (true) {
      const std::string request = read_message(peer);
      if (request.empty()) break;
      peer.send(response("ok"));
      if (request.find("Connection: close") != std::string::npos) break;
    }
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  const Peer old = endpoint_.client();
  EXPECT_EQ(fetch(old, "GET / HTTP/1.0\r\nHost: x\r\n\r\n"), "ok");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_LE(replica.connections(), 6);  // 3; 8 if each request had its own
}

TEST_F(EndpointKeepAlivePolicy, IsForgottenWhenTheRouteChanges) {
  KeepAliveReplica replica;
  const Peer client = client_after_probe(replica);
  KeepAliveReplica two;
  endpoint_.control().route(2, two.replica().port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(two.connections(), 3);
}

TEST_F(EndpointKeepAlivePolicy, AReplicaThatClosesIdleConnectionsIsUnreliable) {
  KeepAliveReplica replica(milliseconds(300));
  endpoint_.start_to(replica.replica());
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return replica.closed() == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 4);
  EXPECT_TRUE(eventually([&] { return replica.ended() == 3; }));
  EXPECT_EQ(replica.closed(), 1);  // no other connection was pooled
}

TEST_F(EndpointKeepAlivePolicy, AReplicaThatStartsToCloseConnectionsIsUnreliable) {
  // From the fourth request on it closes the connection after each one, unannounced.
  std::atomic<int> served = 0;
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    while (!read_message(peer).empty()) {
      peer.send(response("ok"));
      if (++served >= 4) break;
    }
    peer.close();
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended >= 2; }));
  const int before = replica.connections();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), before + 3);
}

TEST_F(EndpointKeepAlivePolicy, NonIdempotentRequestsAreNotRetried) {
  std::atomic<int> ended = 0;
  std::atomic<int> posts = 0;
  Replica replica([&](Peer& peer) {
    for (int i = 0; !read_message(peer).empty(); ++i) {
      ++posts;
      if (i == 2) break;
      peer.send(response("ok"));
    }
    ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
  std::string received = "HTTP/1.1 200 ";
  int requests = 1;
  for (; received.starts_with("HTTP/1.1 200 ") && requests < 20;
       ++requests) {  // fails at the third if the probe ends in time
    client.send(post("/", "x"));
    received = read_message(client);
  }
  EXPECT_THAT(received, StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(posts, requests);
  EXPECT_EQ(endpoint_.control().counts().retried, 0U);
  const Peer next = endpoint_.client();
  const int before = replica.connections();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(next, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), before + 3);
}

}  // namespace
}  // namespace tangram::endpoint
