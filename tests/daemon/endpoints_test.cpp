// The daemon and the endpoints of services: an endpoint gets its service's options, and one that
// hangs or crashes repeatedly affects no other service.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "service_node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

json::object spec_of(const Node& node) {
  for (const auto& each : std::filesystem::directory_iterator(node.state_dir() + "/endpoints")) {
    std::stringstream text;
    text << std::ifstream(each.path() / "spec.json").rdbuf();
    return json::parse(text.str()).as_object();
  }
  ADD_FAILURE() << "no endpoint folder";
  return {};
}

TEST(Endpoints, GetTheOptionsOfTheServiceOrElseOfTheConfiguration) {
  ServiceNode service(
      {.config = "[endpoints]\nwait = \"7s\"\nconnect = \"2s\"\nidle = \"1h\"\n"},
      {{"endpoint", {{"idle", "none"}, {"connect", "1s"}, {"most_connections", 99}}}});
  const json::object spec = spec_of(service.node);
  EXPECT_EQ(spec.at("idle_ms"), 0);
  EXPECT_EQ(spec.at("connect_ms"), 1'000);
  EXPECT_EQ(spec.at("wait_ms"), 7'000);
  EXPECT_EQ(spec.at("keep_alive_ms"), 75'000);
  EXPECT_EQ(spec.at("most_connections"), 99);
}

// Whether a hanging endpoint has switched is unknown: the replica may serve requests already.
TEST(Endpoints, ThatHangAreRoutedBackBeforeTheReplicaIsStopped) {
  ServiceNode service;
  const auto before = service.slot();
  const auto endpoints = service.node.endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  ::kill(endpoints[0], SIGSTOP);
  service.request_move(1, 0);
  eventually("the switch has timed out",
             [&] { return service.node.log().find("did not switch within") != std::string::npos; });
  const auto timed_out = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - timed_out < std::chrono::seconds(2)) {
    ASSERT_EQ(service.node.shims().size(), 2U) << service.node.log();
  }
  ::kill(endpoints[0], SIGCONT);
  service.await_no_move();
  EXPECT_EQ(service.slot(), before) << service.node.log();
  EXPECT_EQ(service.get("/whoami").first, 200);
  eventually("one run is left", [&] { return service.node.shims().size() == 1; });
  EXPECT_EQ(service.get("/whoami").first, 200);
  ASSERT_TRUE(service.move(1, 0)) << service.node.log();
}

TEST(Endpoints, ThatCrashRepeatedlyAreReopenedWithBackOff) {
  ServiceNode service;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) {
    eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
    const auto endpoints = service.node.endpoints();
    ASSERT_EQ(endpoints.size(), 1U) << service.node.log();
    ::kill(endpoints[0], SIGKILL);
    eventually("the endpoint is gone", [&] { return service.node.endpoints() != endpoints; });
  }
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(250 + 500 + 1'000 + 2'000));
  eventually("the reason is logged",
             [&] { return service.node.log().contains("it exited right after it was started"); });
}

// The value of a series in /metrics; empty if there is none.
std::string metric(Node& node, const std::string& series) {
  const json::value answer = node.call("GET", "/metrics");
  std::istringstream lines{std::string(answer.as_string())};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

// Endpoints and their counts outlive the daemon; a restarted daemon must not count earlier requests
// again.
TEST(Endpoints, CountFromZeroForTheNextDaemon) {
  constexpr const char* kRelayed = "tangram_endpoint_requests_total{result=\"relayed\"}";
  ServiceNode service;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(service.get("/whoami").first, 200);
  eventually("the requests are counted",
             [&] { return std::stoi(metric(service.node, kRelayed)) >= 20; });
  boost::asio::io_context loop;
  boost::asio::ip::tcp::socket client(loop);
  client.connect({boost::asio::ip::address_v4::loopback(), service.port()});
  service.node.kill();
  service.node.start();
  eventually("the endpoint has reported to the new daemon",
             [&] { return metric(service.node, "tangram_endpoint_connections") == "1"; });
  EXPECT_EQ(metric(service.node, kRelayed), "0");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(service.get("/whoami").first, 200);
  eventually("only later requests are counted",
             [&] { return metric(service.node, kRelayed) == "3"; });
}

}  // namespace
}  // namespace tangram::tests
