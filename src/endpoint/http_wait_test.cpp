// Clients that wait for a replica: those who leave meanwhile, and those who all want to connect at
// once when it is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/test_http.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::get;
using testing::hear_message;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::Replica;
using testing::response;
using testing::TestEndpoint;

class EndpointWait : public ::testing::Test {
 protected:
  void start() { ASSERT_EQ(endpoint_.start().at("ready"), boost::json::value(true)); }
  bool are_open(std::uint32_t count) {
    return eventually([&] { return endpoint_.master().counts().open == count; });
  }
  TestEndpoint endpoint_{EndpointMode::kHttp};
};

TEST_F(EndpointWait, WhatAClientAskedForThatLeftIsNotDone) {
  start();
  Peer impatient = endpoint_.client();
  Peer with_much = endpoint_.client();  // its end is behind bytes that nobody has room for
  impatient.say(post("/order", "x"));
  with_much.say(post("/order", std::string(100'000, 'x')));
  EXPECT_TRUE(are_open(2));
  impatient.leave();
  with_much.leave();
  EXPECT_TRUE(are_open(0));
  HttpReplica replica("done");
  endpoint_.master().route(1, replica.port());
  const Peer patient = endpoint_.client();
  patient.say(post("/last", "x"));
  EXPECT_EQ(body_of(hear_message(patient)), "done");
  EXPECT_EQ(replica.seen().size(), 1U);
}

TEST_F(EndpointWait, WhatAClientAskedForThatLeavesARefusingReplicaIsNotDone) {
  std::uint16_t port = 0;
  {
    const Replica gone([](Peer&) {});
    port = gone.port();
  }
  endpoint_.spec.connect = milliseconds(30'000);
  start();
  endpoint_.master().route(1, port);
  Peer impatient = endpoint_.client();
  impatient.say(post("/order", "x"));
  EXPECT_TRUE(are_open(1));
  impatient.leave();
  EXPECT_TRUE(are_open(0));
}

TEST_F(EndpointWait, HalfAnEndIsNoLeaving) {
  start();
  const Peer client = endpoint_.client();
  client.say(post("/order", "x"));
  client.finish();
  EXPECT_TRUE(are_open(1));
  HttpReplica replica("done");
  endpoint_.master().route(1, replica.port());
  EXPECT_EQ(body_of(hear_message(client)), "done");
}

TEST(EndpointWaitTcp, WhoLeftIsNotConnected) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  Peer impatient = endpoint.client();
  impatient.say("order");
  EXPECT_TRUE(eventually([&] { return endpoint.master().counts().open == 1; }));
  impatient.leave();
  EXPECT_TRUE(eventually([&] { return endpoint.master().counts().open == 0; }));
}

// What does not fit into the backlog is dropped, and the kernel would not try it again in time.
TEST_F(EndpointWait, ManyAtOnceReachAReplicaThatTakesFew) {
  constexpr std::size_t kClients = 300;
  endpoint_.spec.connect = milliseconds(2'500);
  start();
  std::vector<Peer> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(endpoint_.client());
    clients.back().say(post("/", std::to_string(i)));
  }
  EXPECT_TRUE(are_open(kClients));
  Replica slow(
      [](Peer& peer) {
        if (!hear_message(peer).empty()) peer.say(response("taken"));
      },
      0, {.backlog = 1, .pace = milliseconds(5)});
  endpoint_.master().route(1, slow.port());
  std::size_t taken = 0;
  for (const Peer& client : clients) taken += body_of(hear_message(client)) == "taken" ? 1U : 0U;
  EXPECT_EQ(taken, kClients);
  EXPECT_EQ(endpoint_.master().counts().refused, 0U);
}

TEST_F(EndpointWait, AnotherReplicaHasAllTheTimeToTakeAConnection) {
  std::uint16_t port = 0;
  {
    const Replica gone([](Peer&) {});
    port = gone.port();
  }
  endpoint_.spec.connect = milliseconds(2'000);
  start();
  endpoint_.master().route(1, port);
  const Peer client = endpoint_.client();
  const auto began = std::chrono::steady_clock::now();
  client.say(get("/"));
  EXPECT_TRUE(are_open(1));
  // The second one, which refuses as well, is told of when the time of the first is nearly over.
  EXPECT_TRUE(client.is_silent(1'200));
  endpoint_.master().route(2, port);
  EXPECT_THAT(hear_message(client), ::testing::StartsWith("HTTP/1.1 503"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(3'100));
}

// Those who keep connections they do not use must not keep others out.
TEST_F(EndpointWait, WithoutRoomTheOneThatIsIdleForLongestGoes) {
  HttpReplica replica("ok");
  endpoint_.spec.most_connections = 3;
  start();
  endpoint_.master().route(1, replica.port());
  const Peer silent = endpoint_.client();  // has never asked
  std::vector<Peer> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(endpoint_.client());
    idle.back().say(get("/"));
    EXPECT_EQ(body_of(hear_message(idle.back())), "ok");
  }
  std::vector<Peer> fresh;
  for (int i = 0; i < 2; ++i) {
    fresh.push_back(endpoint_.client());
    fresh.back().say(get("/"));
    EXPECT_EQ(body_of(hear_message(fresh.back())), "ok");
    EXPECT_EQ((i == 0 ? silent : idle[0]).hear_all(), "<end>");
  }
  idle[1].say(get("/"));
  EXPECT_EQ(body_of(hear_message(idle[1])), "ok");
  EXPECT_EQ(endpoint_.master().counts().displaced, 2U);
  EXPECT_THAT(endpoint_.log(), ::testing::HasSubstr("idle ones are ended for others"));
}

TEST_F(EndpointWait, WhoIsServedIsNotEndedForOthers) {
  testing::Gate gate;
  HttpReplica replica([&](const std::string&) {
    gate.wait();
    return response("ok");
  });
  endpoint_.spec.most_connections = 1;
  start();
  endpoint_.master().route(1, replica.port());
  const Peer served = endpoint_.client();
  served.say(get("/"));
  EXPECT_TRUE(are_open(1));
  const Peer next = endpoint_.client();
  next.say(get("/"));
  EXPECT_TRUE(eventually(
      [&] { return endpoint_.log().find("are in use; more wait") != std::string::npos; }));
  EXPECT_TRUE(next.is_silent(1'500));
  gate.open();
  EXPECT_EQ(body_of(hear_message(served)), "ok");
  EXPECT_EQ(body_of(hear_message(next)), "ok");
}

}  // namespace
}  // namespace tangram::endpoint
