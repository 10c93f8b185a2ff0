// http mode towards the replica: connection reuse, retries and waiting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/http/keep_alive_pool.hpp"
#include "tests/support/endpoint/http.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::Gate;
using testing::get;
using ::testing::HasSubstr;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;
using DrainCounts = std::vector<std::int64_t>;

std::uint16_t unused_port() {
  const Replica gone([](Peer&) {});
  return gone.port();
}

class EndpointHttpReplica : public testing::HttpTest {};

TEST_F(EndpointHttpReplica, IdleConnectionsToTheReplicaAreReused) {
  HttpReplica replica("ok");
  start(replica);
  const Peer client = endpoint_.client();
  const Peer other = endpoint_.client();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fetch(i % 2 == 0 ? client : other, get("/")), "ok");
  EXPECT_EQ(replica.connections(), 2);  // the first one is the probe
}

TEST_F(EndpointHttpReplica, ButNotForNonIdempotentRequests) {
  HttpReplica replica("ok");
  start(replica);
  const Peer client = endpoint_.client();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fetch(client, get("/")), "ok");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 5);  // one is the probe, one is idle
}

TEST_F(EndpointHttpReplica, AndNotAfterOneSecondIdle) {
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    (void)read_message(peer);
    peer.send(response("ok"));
    if (peer.read_all() == "<eof>") ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, get("/")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
}

TEST_F(EndpointHttpReplica, NorAfterAChangeOfRoute) {
  std::array<std::atomic<const Peer*>, 2> idle{};
  std::atomic<std::size_t> served = 0;
  Gate gate;
  Replica replica([&](Peer& peer) {
    (void)read_message(peer);
    peer.send(response("ok"));
    idle.at(served++) = &peer;
    gate.wait();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fetch(client, get("/")), "ok");  // one of them is the probe
  EXPECT_TRUE(eventually([&] { return idle[0] != nullptr && idle[1] != nullptr; }));
  HttpReplica two("two");
  endpoint_.control().route(2, two.port());
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 0}));
  for (const auto& each : idle) EXPECT_FALSE(each.load()->is_silent(0));  // has received EOF
  gate.open();
}

TEST_F(EndpointHttpReplica, ARequestOnAReusedConnectionThatClosesIsRetried) {
  // Every connection serves one request, does not announce that, and closes on the next one.
  std::atomic<int> served = 0;
  Replica replica([&](Peer& peer) {
    const std::string request = read_message(peer);
    ++served;
    peer.send(response(request.substr(0, 3)));
    (void)peer.read_until("\r\n\r\n");
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  const std::string body(60'000, 'b');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(client, get("/")), "GET");  // the first is the probe
  EXPECT_EQ(fetch(client, cat("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(),
                              "\r\n\r\n", body)),
            "PUT");
  EXPECT_EQ(fetch(client, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"), "DEL");
  EXPECT_EQ(endpoint_.control().counts().retried, 3U);
  EXPECT_EQ(served, 5);
}

TEST_F(EndpointHttpReplica, ARequestThatCannotBeRetriedGetsANewConnection) {
  Replica replica([&](Peer& peer) {
    const std::string request = read_message(peer);
    peer.send(response(request.substr(0, 3)));
    (void)peer.read_bytes(1'000);
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  const std::string start = "PUT / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fetch(client, get("/")), "GET");
  EXPECT_EQ(fetch(client, cat(start, "Content-Length: 200000\r\n\r\n", std::string(200'000, 'b'))),
            "PUT");
  // Its length is not known in advance.
  EXPECT_EQ(fetch(client, cat(start, "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")),
            "PUT");
  EXPECT_EQ(endpoint_.control().counts().retried, 0U);
}

TEST_F(EndpointHttpReplica, NothingIsRetriedOnceAResponseHasStarted) {
  std::atomic<int> served = 0;
  Replica replica([&](Peer& peer) {
    (void)read_message(peer);
    ++served;
    peer.send(response("ok"));
    (void)peer.read_until("\r\n\r\n");
    ++served;
    peer.send("HTTP/1.1 2");
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, get("/")), "ok");  // this connection is the probe
  EXPECT_EQ(fetch(client, get("/")), "ok");
  client.send(get("/"));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(served, 3);
}

TEST_F(EndpointHttpReplica, NorOnANewConnection) {
  std::atomic<int> served = 0;
  Replica replica([&](Peer& peer) {
    (void)read_message(peer);
    ++served;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(served, 1);
}

TEST_F(EndpointHttpReplica, AReplicaThatRefusesIsRetried) {
  const std::uint16_t port = unused_port();
  endpoint_.start();
  endpoint_.control().route(1, port);
  const Peer client = endpoint_.client();
  client.send(post("/", "once"));
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().bytes_in > 0; }));
  EXPECT_TRUE(client.is_silent());
  HttpReplica replica([](const std::string&) { return response("ok"); }, port);
  EXPECT_EQ(body_of(read_message(client)), "ok");
  EXPECT_EQ(replica.seen(), std::vector<std::string>{post("/", "once")});
}

TEST_F(EndpointHttpReplica, AReplicaThatRefusesIsAbandonedForTheNextRoute) {
  endpoint_.start();
  endpoint_.control().route(1, unused_port());
  const Peer client = endpoint_.client();
  client.send(post("/", "once"));
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().bytes_in > 0; }));
  HttpReplica replica("two");
  endpoint_.control().route(2, replica.port());
  EXPECT_EQ(body_of(read_message(client)), "two");
}

TEST_F(EndpointHttpReplica, AReplicaThatKeepsRefusingTimesOut) {
  endpoint_.spec.connect = milliseconds(60);
  endpoint_.start();
  endpoint_.control().route(1, unused_port());
  const Peer client = endpoint_.client();
  client.send(get("/"));
  const std::string received = client.read_all();
  EXPECT_THAT(received, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(received, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(received, HasSubstr("does not accept connections"));
}

TEST_F(EndpointHttpReplica, RequestsWaitForAReplica) {
  endpoint_.start();
  const Peer first = endpoint_.client();
  const Peer second = endpoint_.client();
  first.send(get("/a"));
  second.send(post("/b", "x"));
  EXPECT_TRUE(eventually([&] {
    return endpoint_.control().counts().bytes_in == get("/a").size() + post("/b", "x").size();
  }));
  HttpReplica replica("ok");
  endpoint_.control().route(1, replica.port());
  EXPECT_EQ(body_of(read_message(first)), "ok");
  EXPECT_EQ(body_of(read_message(second)), "ok");
  endpoint_.control().hold();
  first.send(get("/c"));
  EXPECT_TRUE(first.is_silent());
  endpoint_.control().route(1, replica.port());
  EXPECT_EQ(body_of(read_message(first)), "ok");
}

TEST_F(EndpointHttpReplica, ButNotForEver) {
  endpoint_.spec.wait = milliseconds(60);
  endpoint_.start();
  const Peer client = endpoint_.client();
  client.send(get("/"));
  const std::string received = client.read_all();
  EXPECT_THAT(received, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(received, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(received, HasSubstr("no replica"));
}

}  // namespace
}  // namespace tangram::endpoint
