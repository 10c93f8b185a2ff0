// The port of a replica is in use by a program of another user, which the service's user did not
// start: it gets no byte of any client, and clients are served once the route is the replica's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/endpoint/http.hpp"
#include "tests/support/os/port_user.hpp"

namespace tangram::endpoint {
namespace {

using os::testing::PortUser;
using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using ::testing::HasSubstr;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using ::testing::StartsWith;
using testing::TestEndpoint;

constexpr uid_t kNobody = 65'534;

class ForeignReplica : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  }
  // Starts the endpoint and routes to a program of another user.
  void start(TestEndpoint& endpoint) {
    squatter_ = std::make_unique<PortUser>(kNobody);
    ASSERT_TRUE(squatter_->listen());
    squatter_->accept();
    ASSERT_EQ(endpoint.start().at("ready"), boost::json::value(true));
    endpoint.control().route(1, squatter_->port());
  }
  void await_attempt() {
    EXPECT_TRUE(eventually([&] { return squatter_->report().connections > 0; }));
  }
  void expect_nothing_sent() { EXPECT_EQ(squatter_->report().bytes, 0U); }

  std::unique_ptr<PortUser> squatter_;
};

TEST_F(ForeignReplica, GetsNoRequest) {
  TestEndpoint endpoint(api::EndpointMode::kHttp);
  endpoint.spec.connect = milliseconds(200);
  start(endpoint);
  const Peer client = endpoint.client();
  client.send(post("/", "secret"));
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("in use by another user"));
  EXPECT_GT(squatter_->report().connections, 0U);
  expect_nothing_sent();
  EXPECT_THAT(endpoint.log(),
              HasSubstr(cat("port ", squatter_->port(), " of run 1 is in use by uid 65534")));
}

TEST_F(ForeignReplica, ThatHasNotAcceptedGetsNothingEither) {
  TestEndpoint endpoint(api::EndpointMode::kHttp);
  squatter_ = std::make_unique<PortUser>(kNobody);
  ASSERT_TRUE(squatter_->listen());
  endpoint.spec.connect = milliseconds(200);
  ASSERT_EQ(endpoint.start().at("ready"), boost::json::value(true));
  endpoint.control().route(1, squatter_->port());
  const Peer client = endpoint.client();
  client.send(post("/", "secret"));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 503 "));
  squatter_->accept();
  await_attempt();
  expect_nothing_sent();
}

TEST_F(ForeignReplica, CostsAClientNothingButTime) {
  TestEndpoint endpoint(api::EndpointMode::kHttp);
  start(endpoint);
  const Peer client = endpoint.client();
  client.send(post("/", "secret"));
  await_attempt();
  HttpReplica replica("ok");
  endpoint.control().route(2, replica.replica().port());
  EXPECT_EQ(body_of(read_message(client)), "ok");
  expect_nothing_sent();
}

TEST_F(ForeignReplica, GetsNoByteOfAConnection) {
  TestEndpoint endpoint(api::EndpointMode::kTcp);
  start(endpoint);
  const Peer client = endpoint.client();
  client.send("secret");
  await_attempt();
  Replica replica([](Peer& peer) { peer.send(peer.read_until("secret")); });
  endpoint.control().route(2, replica.port());
  EXPECT_EQ(client.read_until("secret"), "secret");
  expect_nothing_sent();
}

}  // namespace
}  // namespace tangram::endpoint
