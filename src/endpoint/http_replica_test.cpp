// http mode and its replica: which connections are used again, what is sent again, and what waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/pool.hpp"
#include "endpoint/test_http.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::Gate;
using testing::get;
using ::testing::HasSubstr;
using testing::hear_message;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;
using Figures = std::vector<std::int64_t>;

std::uint16_t port_of_nobody() {
  const Replica gone([](Peer&) {});
  return gone.port();
}

class EndpointHttpReplica : public testing::HttpTest {};

TEST_F(EndpointHttpReplica, IdleConnectionsToTheReplicaAreUsedAgain) {
  HttpReplica replica("ok");
  start(replica);
  const Peer client = endpoint_.client();
  const Peer other = endpoint_.client();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(i % 2 == 0 ? client : other, get("/")), "ok");
  EXPECT_EQ(replica.connections(), 2);  // the first one is watched
}

TEST_F(EndpointHttpReplica, ButNotForWhatMustNotBeDoneTwice) {
  HttpReplica replica("ok");
  start(replica);
  const Peer client = endpoint_.client();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(client, get("/")), "ok");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, post("/", "x")), "ok");
  EXPECT_EQ(replica.connections(), 5);  // one is watched, one is idle
}

TEST_F(EndpointHttpReplica, AndNotAfterASecondOfIdleness) {
  std::atomic<int> ended = 0;
  Replica replica([&](Peer& peer) {
    (void)hear_message(peer);
    peer.say(response("ok"));
    if (peer.hear_all() == "<end>") ++ended;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, get("/")), "ok");
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
}

TEST_F(EndpointHttpReplica, NorAfterAChangeOfRoute) {
  std::array<std::atomic<const Peer*>, 2> idle{};
  std::atomic<std::size_t> served = 0;
  Gate gate;
  Replica replica([&](Peer& peer) {
    (void)hear_message(peer);
    peer.say(response("ok"));
    idle.at(served++) = &peer;
    gate.wait();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(client, get("/")), "ok");  // one of them is watched
  EXPECT_TRUE(eventually([&] { return idle[0] != nullptr && idle[1] != nullptr; }));
  HttpReplica two("two");
  endpoint_.master().route(2, two.port());
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 0}));
  for (const auto& each : idle) EXPECT_FALSE(each.load()->is_silent(0));  // its end is there
  gate.open();
}

TEST_F(EndpointHttpReplica, ARequestOnAConnectionThatEndsIsSentAgain) {
  // Every connection serves one request, says nothing of that, and ends when the next one comes.
  std::atomic<int> served = 0;
  Replica replica([&](Peer& peer) {
    const std::string request = hear_message(peer);
    ++served;
    peer.say(response(request.substr(0, 3)));
    (void)peer.hear("\r\n\r\n");
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  const std::string body(60'000, 'b');
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(client, get("/")), "GET");  // the first is watched
  EXPECT_EQ(ask(client, cat("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(),
                            "\r\n\r\n", body)),
            "PUT");
  EXPECT_EQ(ask(client, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"), "DEL");
  EXPECT_EQ(endpoint_.master().counts().retried, 3U);
  EXPECT_EQ(served, 5);
}

TEST_F(EndpointHttpReplica, OneThatCouldNotBeSentAgainHasAConnectionOfItsOwn) {
  Replica replica([&](Peer& peer) {
    const std::string request = hear_message(peer);
    peer.say(response(request.substr(0, 3)));
    (void)peer.hear_bytes(1'000);
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  const std::string start = "PUT / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(client, get("/")), "GET");
  EXPECT_EQ(ask(client, cat(start, "Content-Length: 200000\r\n\r\n", std::string(200'000, 'b'))),
            "PUT");
  // Nobody knows before how long it is.
  EXPECT_EQ(ask(client, cat(start, "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")),
            "PUT");
  EXPECT_EQ(endpoint_.master().counts().retried, 0U);
}

TEST_F(EndpointHttpReplica, NothingIsSentAgainIfSomethingOfAResponseCame) {
  std::atomic<int> served = 0;
  Replica replica([&](Peer& peer) {
    (void)hear_message(peer);
    ++served;
    peer.say(response("ok"));
    (void)peer.hear("\r\n\r\n");
    ++served;
    peer.say("HTTP/1.1 2");
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, get("/")), "ok");  // this connection is watched
  EXPECT_EQ(ask(client, get("/")), "ok");
  client.say(get("/"));
  EXPECT_THAT(client.hear_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(served, 3);
}

TEST_F(EndpointHttpReplica, NorOnAFreshConnection) {
  std::atomic<int> served = 0;
  Replica replica([&](Peer& peer) {
    (void)hear_message(peer);
    ++served;
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_THAT(client.hear_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(served, 1);
}

TEST_F(EndpointHttpReplica, AReplicaThatRefusesIsTriedAgain) {
  const std::uint16_t port = port_of_nobody();
  endpoint_.start();
  endpoint_.master().route(1, port);
  const Peer client = endpoint_.client();
  client.say(post("/", "once"));
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().bytes_in > 0; }));
  EXPECT_TRUE(client.is_silent());
  HttpReplica replica([](const std::string&) { return response("ok"); }, port);
  EXPECT_EQ(body_of(hear_message(client)), "ok");
  EXPECT_EQ(replica.seen(), std::vector<std::string>{post("/", "once")});
}

TEST_F(EndpointHttpReplica, AReplicaThatRefusesIsLeftForTheNextOne) {
  endpoint_.start();
  endpoint_.master().route(1, port_of_nobody());
  const Peer client = endpoint_.client();
  client.say(post("/", "once"));
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().bytes_in > 0; }));
  HttpReplica replica("two");
  endpoint_.master().route(2, replica.port());
  EXPECT_EQ(body_of(hear_message(client)), "two");
}

TEST_F(EndpointHttpReplica, AReplicaThatGoesOnRefusingIsGivenUp) {
  endpoint_.spec.connect = milliseconds(60);
  endpoint_.start();
  endpoint_.master().route(1, port_of_nobody());
  const Peer client = endpoint_.client();
  client.say(get("/"));
  const std::string heard = client.hear_all();
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(heard, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(heard, HasSubstr("takes no connection"));
}

TEST_F(EndpointHttpReplica, RequestsWaitForAReplica) {
  endpoint_.start();
  const Peer first = endpoint_.client();
  const Peer second = endpoint_.client();
  first.say(get("/a"));
  second.say(post("/b", "x"));
  EXPECT_TRUE(eventually([&] {
    return endpoint_.master().counts().bytes_in == get("/a").size() + post("/b", "x").size();
  }));
  HttpReplica replica("ok");
  endpoint_.master().route(1, replica.port());
  EXPECT_EQ(body_of(hear_message(first)), "ok");
  EXPECT_EQ(body_of(hear_message(second)), "ok");
  endpoint_.master().hold();
  first.say(get("/c"));
  EXPECT_TRUE(first.is_silent());
  endpoint_.master().route(1, replica.port());
  EXPECT_EQ(body_of(hear_message(first)), "ok");
}

TEST_F(EndpointHttpReplica, ButNotForEver) {
  endpoint_.spec.wait = milliseconds(60);
  endpoint_.start();
  const Peer client = endpoint_.client();
  client.say(get("/"));
  const std::string heard = client.hear_all();
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(heard, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(heard, HasSubstr("no replica"));
}

}  // namespace
}  // namespace tangram::endpoint
