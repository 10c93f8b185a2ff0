// The control socket: orders and mistakes, clients that come and go, and the bounds of all of it.
#include "endpoint/control.hpp"

#include <functional>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/order.hpp"
#include "endpoint/test_endpoint.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Master;
using testing::Peer;
using testing::TestEndpoint;
namespace json = boost::json;

std::string mistake_in(std::string_view line) {
  const auto order = parse_order(line);
  EXPECT_FALSE(order) << line;
  return order ? "" : order.error().message;
}

TEST(EndpointOrder, IsUnderstoodWhole) {
  const auto order =
      parse_order(R"({"do":"route","id":7,"run":12,"port":20003,"drain_ms":30000,"new":1})");
  ASSERT_TRUE(order);
  EXPECT_EQ(order->id, 7);
  const auto& route = std::get<RouteOrder>(order->what);
  EXPECT_EQ(route.route, (Route{12, 20'003}));
  EXPECT_EQ(route.drain, std::chrono::seconds(30));
  EXPECT_TRUE(std::holds_alternative<HoldOrder>(parse_order(R"({"do":"hold","id":8})")->what));
  EXPECT_TRUE(std::holds_alternative<CountsOrder>(parse_order(R"({"do":"counts","id":9})")->what));
  const auto end = parse_order(R"({"do":"end","id":10,"drain_ms":5000})");
  EXPECT_EQ(std::get<EndOrder>(end->what).drain, std::chrono::seconds(5));
}

TEST(EndpointOrder, OrRefusedWhole) {
  EXPECT_THAT(mistake_in("nonsense"), HasSubstr("JSON object"));
  EXPECT_THAT(mistake_in("[]"), HasSubstr("JSON object"));
  EXPECT_THAT(mistake_in("{}"), HasSubstr("\"do\""));
  EXPECT_THAT(mistake_in(R"({"do":7})"), HasSubstr("\"do\""));
  EXPECT_THAT(mistake_in(R"({"do":"dance","id":1})"), HasSubstr("route, hold, counts or end"));
  EXPECT_THAT(mistake_in(R"({"do":"hold"})"), HasSubstr("\"id\""));
  EXPECT_THAT(mistake_in(R"({"do":"hold","id":-1})"), HasSubstr("\"id\""));
  EXPECT_THAT(mistake_in(R"({"do":"end","id":1})"), HasSubstr("\"drain_ms\""));
  EXPECT_THAT(mistake_in(R"({"do":"route","id":1,"run":1,"port":0,"drain_ms":0})"),
              HasSubstr("\"port\""));
  EXPECT_THAT(mistake_in(R"({"do":"route","id":1,"run":-1,"port":1,"drain_ms":0})"),
              HasSubstr("\"run\""));
  EXPECT_THAT(mistake_in(R"({"do":"route","id":1,"run":4294967296,"port":1,"drain_ms":0})"),
              HasSubstr("\"run\""));
}

class EndpointControl : public ::testing::Test {
 protected:
  void SetUp() override { endpoint_.start(); }
  TestEndpoint endpoint_{EndpointMode::kTcp};
};

TEST_F(EndpointControl, AnswersWhatItCannotDoAndGoesOn) {
  endpoint_.master().say("{]");
  EXPECT_TRUE(endpoint_.master().next_with("error").contains("error"));
  EXPECT_EQ(endpoint_.master().counts(), api::EndpointCounts{});
}

TEST_F(EndpointControl, TakesOrdersInPiecesAndTogether) {
  const Master& master = endpoint_.master();
  master.peer().say(R"({"do":"ho)");
  master.peer().say(R"(ld","id":1})");
  master.peer().say("\n{\"do\":\"hold\",\"id\":2}\n{\"do\":\"hold\",\"id\":3}\n");
  for (const int id : {1, 2, 3}) {
    EXPECT_EQ(endpoint_.master().next_with("done").at("done"), json::value(id));
  }
}

TEST_F(EndpointControl, TellsEveryClientOfADrain) {
  Master other(endpoint_.folder());
  ASSERT_TRUE(other.next());
  endpoint_.master().route(1, 1);
  endpoint_.master().route(2, 2);
  EXPECT_EQ(endpoint_.master().drained(), (std::vector<std::int64_t>{1, 2, 0, 0}));
  EXPECT_EQ(other.drained(), (std::vector<std::int64_t>{1, 2, 0, 0}));
}

TEST_F(EndpointControl, SurvivesClientsThatComeAndGo) {
  for (int i = 0; i < 200; ++i) {
    Master guest(endpoint_.folder());
    if (i % 3 == 0) guest.say(R"({"do":"counts","id":1})");  // and does not wait for the answer
    if (i % 3 == 1) guest.peer().say(R"({"do":)");
  }
  // Those who left are forgotten, so there is always a place for one more.
  EXPECT_TRUE(eventually([&] { return Master(endpoint_.folder()).next().has_value(); }));
  endpoint_.master().route(1, 1);
}

TEST_F(EndpointControl, HasPlacesForSixteen) {
  std::vector<Master> masters;
  for (std::size_t i = 0; i < Control::kMostClients; ++i) {
    masters.emplace_back(endpoint_.folder());
    ASSERT_TRUE(masters.back().next());
  }
  EXPECT_FALSE(Master(endpoint_.folder()).next());
  masters.pop_back();
  EXPECT_TRUE(eventually([&] { return Master(endpoint_.folder()).next().has_value(); }));
}

TEST_F(EndpointControl, DropsWhoSendsTooLongALine) {
  Master guest(endpoint_.folder());
  ASSERT_TRUE(guest.next());
  guest.peer().say(std::string(Control::kLongestLine + 1, 'x'));
  EXPECT_TRUE(guest.next_with("error").contains("error"));
  EXPECT_FALSE(guest.next());
  endpoint_.master().route(1, 1);
}

TEST_F(EndpointControl, DropsWhoNeverReads) {
  const Master deaf(endpoint_.folder());
  // Until the kernel's buffers and ours are full of answers.
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "{\"do\":\"counts\",\"id\":1}\n";
  int batches = 0;
  while (deaf.peer().say(many) && batches < 1'000) ++batches;
  EXPECT_LT(batches, 1'000);
  endpoint_.master().route(1, 1);
}

TEST_F(EndpointControl, IsNotForOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const auto as_another = [&](const std::function<bool()>& is_so) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(::setresuid(65'534, 65'534, 65'534) == 0 && is_so() ? 0 : 1);
    return TestEndpoint::wait_for(pid) == 0;
  };
  EXPECT_TRUE(as_another(
      [&] { return !files::connect_in(endpoint_.folder(), api::kControlSocket).has_value(); }));
  // Also if every door on the way stands open: it looks at who is there.
  ::chmod(endpoint_.base().at("").c_str(), 0755);
  ::chmod(endpoint_.folder().c_str(), 0755);
  ::chmod((endpoint_.folder() + "/control").c_str(), 0666);
  EXPECT_TRUE(as_another([&] {
    auto connection = files::connect_in(endpoint_.folder(), api::kControlSocket);
    if (!connection) return false;
    std::string heard;
    const auto how = Peer(connection->release()).more(heard);
    return how == Peer::Heard::kEnd || how == Peer::Heard::kBreak;
  }));
  EXPECT_TRUE(Master(endpoint_.folder()).next());
}

}  // namespace
}  // namespace tangram::endpoint
