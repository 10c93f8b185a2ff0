// Another user takes the port of a service's run before the service does: at its start and in a
// live move. That user's program gets no byte of a probe or a client, the service starts on another
// port, a move is rolled back, and no client sees a failed request.
#include <atomic>
#include <fstream>
#include <future>
#include <sstream>
#include <stop_token>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "other_user.hpp"
#include "service_node.hpp"
#include "tests/support/os/port_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using os::testing::PortUser;
using ::testing::HasSubstr;

constexpr uid_t kSquatter = 2;  // the user bin; the service is root's

// A run of the service writes its port to the file "ports" and waits for the file "go" before it
// binds the port, as one that loads a model does.
class GatedService {
 public:
  explicit GatedService(const std::string& probe_interval) : node_(options()) {
    node_.start();
    const std::string script =
        cat("echo $PORT >> ", node_.at("ports"), "; until [ -e ", node_.at("go"),
            " ]; do sleep 0.01; done; ", "exec env LOAD_MS=1 " TANGRAM_LLM_SERVER);
    const json::object probe{{"kind", "http"}, {"path", "/health"}, {"interval", probe_interval}};
    job_ = node_.submit("1g.5gb", script,
                        {{"kind", "service"}, {"probe", probe}, {"move", {{"way", "replica"}}}});
  }

  Node& node() { return node_; }
  [[nodiscard]] json::object job() { return node_.job(job_); }
  [[nodiscard]] std::uint64_t id() const { return job_; }
  void open_gate() { node_.folder().write("go", ""); }
  void close_gate() { ::unlink(node_.at("go").c_str()); }
  // The port of the run of that number, the first being 0; waits until it has begun.
  std::uint16_t port_of_run(std::size_t number) {
    std::vector<std::uint16_t> ports;
    eventually(cat("run ", number, " has begun"), [&] {
      std::istringstream lines(node_.folder().read("ports"));
      ports.clear();
      for (std::uint16_t port = 0; lines >> port;) ports.push_back(port);
      return ports.size() > number;
    });
    return ports.size() > number ? ports[number] : 0;
  }
  [[nodiscard]] std::uint16_t address() {
    eventually("it has an address", [&] { return !job().at("address").is_null(); });
    return job().at("port").to_number<std::uint16_t>();
  }

 private:
  static NodeOptions options() {
    return {.config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"};
  }
  Node node_;
  std::uint64_t job_ = 0;
};

class PortSquatter : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  }
};

TEST_F(PortSquatter, CostsAServiceARetry) {
  GatedService service("20ms");
  PortUser squatter(kSquatter, service.port_of_run(0));
  ASSERT_TRUE(squatter.listen());
  squatter.accept();
  auto answer = std::async(std::launch::async,
                           [port = service.address()] { return get_at(port, "/whoami"); });
  const std::uint16_t next = service.port_of_run(1);
  EXPECT_NE(next, squatter.port());
  EXPECT_EQ(service.node().state(service.id()), "starting");
  service.open_gate();
  const json::object job = service.node().await(service.id(), "running");
  EXPECT_EQ(job.at("restarts"), 1);
  EXPECT_EQ(answer.get().first, 200);
  EXPECT_GT(squatter.report().connections, 0U);
  EXPECT_EQ(squatter.report().bytes, 0U);
  EXPECT_THAT(service.node().log(),
              HasSubstr(cat("port ", squatter.port(), " is in use by user ")));
}

// The service exits because it cannot bind its port, long before the next probe.
TEST_F(PortSquatter, CostsAServiceThatExitsARetry) {
  GatedService service("2s");
  PortUser squatter(kSquatter, service.port_of_run(0));
  ASSERT_TRUE(squatter.listen());
  squatter.accept();
  service.open_gate();
  EXPECT_NE(service.port_of_run(1), squatter.port());
  const json::object job = service.node().await(service.id(), "running");
  EXPECT_EQ(job.at("restarts"), 1);
  EXPECT_EQ(get_at(service.address(), "/whoami").first, 200);
  EXPECT_EQ(squatter.report().bytes, 0U);
}

// The retries are bounded.
TEST_F(PortSquatter, OfEveryPortMakesTheStartFailInTheEnd) {
  GatedService service("20ms");
  std::vector<std::unique_ptr<PortUser>> squatters;
  for (std::size_t run = 0; run < 3; ++run) {
    squatters.push_back(std::make_unique<PortUser>(kSquatter, service.port_of_run(run)));
    ASSERT_TRUE(squatters.back()->listen());
  }
  const json::object job = service.node().await(service.id(), "over");
  EXPECT_EQ(job.at("state"), "failed");
  EXPECT_THAT(std::string(job.at("reason").as_string()),
              HasSubstr(cat("port ", squatters.back()->port(), " is in use by user ")));
  for (const auto& squatter : squatters) EXPECT_EQ(squatter->report().bytes, 0U);
}

TEST_F(PortSquatter, DuringAMoveRollsItBackAndClientsNoticeNothing) {
  GatedService service("20ms");
  service.open_gate();
  service.node().await(service.id(), "running");
  const std::uint16_t address = service.address();
  const std::string before = get_at(address, "/whoami").second;
  std::atomic<int> requests = 0;
  std::jthread client([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto [status, body] = get_at(address, "/whoami");
      EXPECT_EQ(status, 200) << body;
      EXPECT_NE(body, "answer");
      ++requests;
    }
  });
  const auto move = [&](std::size_t run, const std::function<void(std::uint16_t)>& meanwhile) {
    service.close_gate();
    service.node().call("POST", cat("/v1/jobs/", service.id(), "/move"), 202,
                        json::object{{"to", {{"gpu", 1}, {"start", 4}}}});
    meanwhile(service.port_of_run(run));
    eventually("the move has ended", [&] { return service.job().at("moving") == false; });
    return service.job().at("places").as_array().back().as_object();
  };
  std::unique_ptr<PortUser> squatter;
  const json::object failed = move(1, [&](std::uint16_t port) {
    squatter = std::make_unique<PortUser>(kSquatter, port);
    EXPECT_TRUE(squatter->listen());
    squatter->accept();
  });
  EXPECT_EQ(failed.at("result"), "rolled-back");
  EXPECT_THAT(std::string(failed.at("reason").as_string()),
              HasSubstr(cat("port ", squatter->port(), " is in use by user ")));
  EXPECT_EQ(get_at(address, "/whoami").second, before);
  const json::object done = move(2, [&](std::uint16_t port) {
    EXPECT_NE(port, squatter->port());
    service.open_gate();
  });
  client.request_stop();
  client.join();
  EXPECT_EQ(done.at("gpu"), 1);
  EXPECT_NE(get_at(address, "/whoami").second, before);
  EXPECT_GT(requests, 0);
  EXPECT_GT(squatter->report().connections, 0U);
  EXPECT_EQ(squatter->report().bytes, 0U);
}

}  // namespace
}  // namespace tangram::tests
