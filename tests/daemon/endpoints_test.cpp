// Endpoints in the daemon's care: what a service says of its endpoint reaches it, one that hangs or
// dies again and again harms nobody.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "served.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

json::object spec_of(const Node& node) {
  for (const auto& each : std::filesystem::directory_iterator(node.state_dir() + "/endpoints")) {
    std::stringstream text;
    text << std::ifstream(each.path() / "spec.json").rdbuf();
    return json::parse(text.str()).as_object();
  }
  ADD_FAILURE() << "there is no endpoint";
  return {};
}

TEST(Endpoints, BearWhatTheirServiceSaysOrElseTheConfiguration) {
  Served served({.config = "[endpoints]\nwait = \"7s\"\nconnect = \"2s\"\nidle = \"1h\"\n"},
                {{"endpoint", {{"idle", "none"}, {"connect", "1s"}, {"most_connections", 99}}}});
  const json::object spec = spec_of(served.node);
  EXPECT_EQ(spec.at("idle_ms"), 0);
  EXPECT_EQ(spec.at("connect_ms"), 1'000);
  EXPECT_EQ(spec.at("wait_ms"), 7'000);
  EXPECT_EQ(spec.at("keep_alive_ms"), 75'000);
  EXPECT_EQ(spec.at("most_connections"), 99);
}

// Nobody knows whether it has switched: its replica may have requests already.
TEST(Endpoints, ThatHangAreSteeredBackBeforeTheReplicaIsStopped) {
  Served served;
  const auto before = served.place();
  const auto endpoints = served.node.endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  ::kill(endpoints[0], SIGSTOP);
  served.ask_move(1, 0);
  eventually("it is given up",
             [&] { return served.node.log().find("did not switch within") != std::string::npos; });
  const auto given_up = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - given_up < std::chrono::seconds(2)) {
    ASSERT_EQ(served.node.shims().size(), 2U) << served.node.log();
  }
  ::kill(endpoints[0], SIGCONT);
  served.await_rest();
  EXPECT_EQ(served.place(), before) << served.node.log();
  EXPECT_EQ(served.get("/whoami").first, 200);
  eventually("one run is left", [&] { return served.node.shims().size() == 1; });
  EXPECT_EQ(served.get("/whoami").first, 200);
  ASSERT_TRUE(served.move(1, 0)) << served.node.log();
}

TEST(Endpoints, ThatDieAgainAndAgainAreOpenedWithPauses) {
  Served served;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) {
    eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
    const auto endpoints = served.node.endpoints();
    ASSERT_EQ(endpoints.size(), 1U) << served.node.log();
    ::kill(endpoints[0], SIGKILL);
    eventually("it is gone", [&] { return served.node.endpoints() != endpoints; });
  }
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  EXPECT_GE(std::chrono::steady_clock::now() - began,
            std::chrono::milliseconds(250 + 500 + 1'000 + 2'000));
  EXPECT_THAT(served.node.log(), HasSubstr("it ended soon after it was opened"));
}

// The value of a series, as it stands in the metrics.
std::string metric(Node& node, const std::string& series) {
  const json::value answer = node.ask("GET", "/metrics");
  std::istringstream lines{std::string(answer.as_string())};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

// They outlive the daemon, and so do their own counts: a day's requests are not made again when the
// next daemon finds them.
TEST(Endpoints, CountFromZeroForTheNextDaemon) {
  constexpr const char* kRelayed = "tangram_endpoint_requests_total{result=\"relayed\"}";
  Served served;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(served.get("/whoami").first, 200);
  eventually("they are counted", [&] { return std::stoi(metric(served.node, kRelayed)) >= 20; });
  boost::asio::io_context loop;
  boost::asio::ip::tcp::socket guest(loop);
  guest.connect({boost::asio::ip::address_v4::loopback(), served.port()});
  served.node.kill();
  served.node.start();
  eventually("it has told the new daemon how it stands",
             [&] { return metric(served.node, "tangram_endpoint_connections") == "1"; });
  EXPECT_EQ(metric(served.node, kRelayed), "0");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(served.get("/whoami").first, 200);
  eventually("only what came since is counted",
             [&] { return metric(served.node, kRelayed) == "3"; });
}

}  // namespace
}  // namespace tangram::tests
