// The control socket: commands, errors, clients that disconnect, and limits.
#include "endpoint/relay/control.hpp"

#include <functional>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/relay/control_command.hpp"
#include "tests/support/endpoint/endpoint.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using testing::ControlClient;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Peer;
using testing::TestEndpoint;
namespace json = boost::json;

std::string parse_error(std::string_view line) {
  const auto command = parse_control_command(line);
  EXPECT_FALSE(command) << line;
  return command ? "" : command.error().message;
}

TEST(EndpointControlCommand, IsParsed) {
  const auto command = parse_control_command(
      R"({"do":"route","id":7,"run":12,"port":20003,"drain_ms":30000,"new":1})");
  ASSERT_TRUE(command);
  EXPECT_EQ(command->id, 7);
  const auto& route = std::get<RouteCommand>(command->what);
  EXPECT_EQ(route.route, (Route{12, 20'003}));
  EXPECT_EQ(route.drain, std::chrono::seconds(30));
  EXPECT_TRUE(
      std::holds_alternative<HoldCommand>(parse_control_command(R"({"do":"hold","id":8})")->what));
  EXPECT_TRUE(std::holds_alternative<CountsCommand>(
      parse_control_command(R"({"do":"counts","id":9})")->what));
  const auto end = parse_control_command(R"({"do":"end","id":10,"drain_ms":5000})");
  EXPECT_EQ(std::get<EndCommand>(end->what).drain, std::chrono::seconds(5));
}

TEST(EndpointControlCommand, IsRejectedIfAnyPartIsInvalid) {
  EXPECT_THAT(parse_error("nonsense"), HasSubstr("JSON object"));
  EXPECT_THAT(parse_error("[]"), HasSubstr("JSON object"));
  EXPECT_THAT(parse_error("{}"), HasSubstr("\"do\""));
  EXPECT_THAT(parse_error(R"({"do":7})"), HasSubstr("\"do\""));
  EXPECT_THAT(parse_error(R"({"do":"dance","id":1})"), HasSubstr("route, hold, counts or end"));
  EXPECT_THAT(parse_error(R"({"do":"hold"})"), HasSubstr("\"id\""));
  EXPECT_THAT(parse_error(R"({"do":"hold","id":-1})"), HasSubstr("\"id\""));
  EXPECT_THAT(parse_error(R"({"do":"end","id":1})"), HasSubstr("\"drain_ms\""));
  EXPECT_THAT(parse_error(R"({"do":"route","id":1,"run":1,"port":0,"drain_ms":0})"),
              HasSubstr("\"port\""));
  EXPECT_THAT(parse_error(R"({"do":"route","id":1,"run":-1,"port":1,"drain_ms":0})"),
              HasSubstr("\"run\""));
  EXPECT_THAT(parse_error(R"({"do":"route","id":1,"run":4294967296,"port":1,"drain_ms":0})"),
              HasSubstr("\"run\""));
}

class EndpointControl : public ::testing::Test {
 protected:
  void SetUp() override { endpoint_.start(); }
  TestEndpoint endpoint_{EndpointMode::kTcp};
};

TEST_F(EndpointControl, AnswersInvalidCommandsAndContinues) {
  endpoint_.control().send("{]");
  EXPECT_TRUE(endpoint_.control().next_with("error").contains("error"));
  EXPECT_EQ(endpoint_.control().counts(), api::EndpointCounts{});
}

TEST_F(EndpointControl, ReadsCommandsInPiecesAndSeveralAtOnce) {
  const ControlClient& control = endpoint_.control();
  control.peer().send(R"({"do":"ho)");
  control.peer().send(R"(ld","id":1})");
  control.peer().send("\n{\"do\":\"hold\",\"id\":2}\n{\"do\":\"hold\",\"id\":3}\n");
  for (const int id : {1, 2, 3}) {
    EXPECT_EQ(endpoint_.control().next_with("done").at("done"), json::value(id));
  }
}

TEST_F(EndpointControl, ReportsADrainToEveryClient) {
  ControlClient other(endpoint_.folder());
  ASSERT_TRUE(other.next());
  endpoint_.control().route(1, 1);
  endpoint_.control().route(2, 2);
  EXPECT_EQ(endpoint_.control().drained(), (std::vector<std::int64_t>{1, 2, 0, 0}));
  EXPECT_EQ(other.drained(), (std::vector<std::int64_t>{1, 2, 0, 0}));
}

TEST_F(EndpointControl, SurvivesClientsThatConnectAndDisconnect) {
  for (int i = 0; i < 200; ++i) {
    ControlClient client(endpoint_.folder());
    if (i % 3 == 0) client.send(R"({"do":"counts","id":1})");  // without reading the answer
    if (i % 3 == 1) client.peer().send(R"({"do":)");
  }
  // Disconnected clients are released, so a new one is accepted.
  EXPECT_TRUE(eventually([&] { return ControlClient(endpoint_.folder()).next().has_value(); }));
  endpoint_.control().route(1, 1);
}

TEST_F(EndpointControl, AcceptsSixteenClients) {
  std::vector<ControlClient> clients;
  for (std::size_t i = 0; i < Control::kMaxClients; ++i) {
    clients.emplace_back(endpoint_.folder());
    ASSERT_TRUE(clients.back().next());
  }
  EXPECT_FALSE(ControlClient(endpoint_.folder()).next());
  clients.pop_back();
  EXPECT_TRUE(eventually([&] { return ControlClient(endpoint_.folder()).next().has_value(); }));
}

TEST_F(EndpointControl, DisconnectsAClientThatSendsTooLongALine) {
  ControlClient client(endpoint_.folder());
  ASSERT_TRUE(client.next());
  client.peer().send(std::string(Control::kMaxLine + 1, 'x'));
  EXPECT_TRUE(client.next_with("error").contains("error"));
  EXPECT_FALSE(client.next());
  endpoint_.control().route(1, 1);
}

TEST_F(EndpointControl, DisconnectsAClientThatNeverReads) {
  const ControlClient client(endpoint_.folder());
  // Until the kernel's buffers and the endpoint's are full of answers.
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "{\"do\":\"counts\",\"id\":1}\n";
  int batches = 0;
  while (client.peer().send(many) && batches < 1'000) ++batches;
  EXPECT_LT(batches, 1'000);
  endpoint_.control().route(1, 1);
}

TEST_F(EndpointControl, RejectsOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const auto as_another = [&](const std::function<bool()>& is_so) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(::setresuid(65'534, 65'534, 65'534) == 0 && is_so() ? 0 : 1);
    return TestEndpoint::wait_for(pid) == 0;
  };
  EXPECT_TRUE(as_another(
      [&] { return !os::connect_in(endpoint_.folder(), api::kControlSocket).has_value(); }));
  // Even if all file permissions allow it: the peer's credentials are checked.
  ::chmod(endpoint_.base().at("").c_str(), 0755);
  ::chmod(endpoint_.folder().c_str(), 0755);
  ::chmod((endpoint_.folder() + "/control").c_str(), 0666);
  EXPECT_TRUE(as_another([&] {
    auto connection = os::connect_in(endpoint_.folder(), api::kControlSocket);
    if (!connection) return false;
    std::string received;
    const auto how = Peer(connection->release()).read_some(received);
    return how == Peer::ReadResult::kEof || how == Peer::ReadResult::kReset;
  }));
  EXPECT_TRUE(ControlClient(endpoint_.folder()).next());
}

}  // namespace
}  // namespace tangram::endpoint
