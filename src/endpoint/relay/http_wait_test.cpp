// Clients that wait for a replica: some disconnect meanwhile, and the others all connect at once
// when it becomes available.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/endpoint/http.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::get;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using testing::response;
using testing::TestEndpoint;

class EndpointWait : public ::testing::Test {
 protected:
  void start() { ASSERT_EQ(endpoint_.start().at("ready"), boost::json::value(true)); }
  bool are_open(std::uint32_t count) {
    return eventually([&] { return endpoint_.control().counts().open == count; });
  }
  TestEndpoint endpoint_{EndpointMode::kHttp};
};

TEST_F(EndpointWait, TheRequestOfAClientThatClosedIsNotExecuted) {
  start();
  Peer impatient = endpoint_.client();
  Peer with_much = endpoint_.client();  // its FIN is behind bytes that are not read
  impatient.send(post("/order", "x"));
  with_much.send(post("/order", std::string(100'000, 'x')));
  EXPECT_TRUE(are_open(2));
  impatient.close();
  with_much.close();
  EXPECT_TRUE(are_open(0));
  HttpReplica replica("done");
  endpoint_.control().route(1, replica.port());
  const Peer patient = endpoint_.client();
  patient.send(post("/last", "x"));
  EXPECT_EQ(body_of(read_message(patient)), "done");
  EXPECT_EQ(replica.seen().size(), 1U);
}

TEST_F(EndpointWait, TheRequestOfAClientThatClosesWhileTheReplicaRefusesIsNotExecuted) {
  std::uint16_t port = 0;
  {
    const Replica gone([](Peer&) {});
    port = gone.port();
  }
  endpoint_.spec.connect = milliseconds(30'000);
  start();
  endpoint_.control().route(1, port);
  Peer impatient = endpoint_.client();
  impatient.send(post("/order", "x"));
  EXPECT_TRUE(are_open(1));
  impatient.close();
  EXPECT_TRUE(are_open(0));
}

TEST_F(EndpointWait, AHalfClosedClientKeepsWaiting) {
  start();
  const Peer client = endpoint_.client();
  client.send(post("/order", "x"));
  client.half_close();
  EXPECT_TRUE(are_open(1));
  HttpReplica replica("done");
  endpoint_.control().route(1, replica.port());
  EXPECT_EQ(body_of(read_message(client)), "done");
}

TEST(EndpointWaitTcp, AClientThatClosedIsNotConnected) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  Peer impatient = endpoint.client();
  impatient.send("order");
  EXPECT_TRUE(eventually([&] { return endpoint.control().counts().open == 1; }));
  impatient.close();
  EXPECT_TRUE(eventually([&] { return endpoint.control().counts().open == 0; }));
}

// SYNs that do not fit into the backlog are dropped, and the kernel would retransmit them too late.
TEST_F(EndpointWait, ManyClientsAtOnceReachAReplicaWithASmallBacklog) {
  constexpr std::size_t kClients = 300;
  endpoint_.spec.connect = milliseconds(2'500);
  start();
  std::vector<Peer> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(endpoint_.client());
    clients.back().send(post("/", std::to_string(i)));
  }
  EXPECT_TRUE(are_open(kClients));
  Replica slow(
      [](Peer& peer) {
        if (!read_message(peer).empty()) peer.send(response("taken"));
      },
      0, {.backlog = 1, .accept_delay = milliseconds(5)});
  endpoint_.control().route(1, slow.port());
  std::size_t taken = 0;
  for (const Peer& client : clients) taken += body_of(read_message(client)) == "taken" ? 1U : 0U;
  EXPECT_EQ(taken, kClients);
  EXPECT_EQ(endpoint_.control().counts().refused, 0U);
}

TEST_F(EndpointWait, EachReplicaGetsTheFullConnectTimeout) {
  std::uint16_t port = 0;
  {
    const Replica gone([](Peer&) {});
    port = gone.port();
  }
  endpoint_.spec.connect = milliseconds(2'000);
  start();
  endpoint_.control().route(1, port);
  const Peer client = endpoint_.client();
  const auto began = std::chrono::steady_clock::now();
  client.send(get("/"));
  EXPECT_TRUE(are_open(1));
  // The route to the second one, which refuses as well, is set shortly before the first times out.
  EXPECT_TRUE(client.is_silent(1'200));
  endpoint_.control().route(2, port);
  EXPECT_THAT(read_message(client), ::testing::StartsWith("HTTP/1.1 503"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(3'100));
}

// Unused keep-alive connections must not block new clients.
TEST_F(EndpointWait, AtTheLimitTheLongestIdleConnectionIsClosed) {
  HttpReplica replica("ok");
  endpoint_.spec.most_connections = 3;
  start();
  endpoint_.control().route(1, replica.port());
  const Peer silent = endpoint_.client();  // has sent no request
  std::vector<Peer> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(endpoint_.client());
    idle.back().send(get("/"));
    EXPECT_EQ(body_of(read_message(idle.back())), "ok");
  }
  std::vector<Peer> fresh;
  for (int i = 0; i < 2; ++i) {
    fresh.push_back(endpoint_.client());
    fresh.back().send(get("/"));
    EXPECT_EQ(body_of(read_message(fresh.back())), "ok");
    EXPECT_EQ((i == 0 ? silent : idle[0]).read_all(), "<eof>");
  }
  idle[1].send(get("/"));
  EXPECT_EQ(body_of(read_message(idle[1])), "ok");
  EXPECT_EQ(endpoint_.control().counts().displaced, 2U);
  EXPECT_THAT(endpoint_.log(), ::testing::HasSubstr("closing idle ones for new clients"));
}

TEST_F(EndpointWait, ABusyConnectionIsNotClosedForNewClients) {
  testing::Gate gate;
  HttpReplica replica([&](const std::string&) {
    gate.wait();
    return response("ok");
  });
  endpoint_.spec.most_connections = 1;
  start();
  endpoint_.control().route(1, replica.port());
  const Peer served = endpoint_.client();
  served.send(get("/"));
  EXPECT_TRUE(are_open(1));
  const Peer next = endpoint_.client();
  next.send(get("/"));
  EXPECT_TRUE(
      eventually([&] { return endpoint_.log().find("new clients wait") != std::string::npos; }));
  EXPECT_TRUE(next.is_silent(1'500));
  gate.open();
  EXPECT_EQ(body_of(read_message(served)), "ok");
  EXPECT_EQ(body_of(read_message(next)), "ok");
}

}  // namespace
}  // namespace tangram::endpoint
