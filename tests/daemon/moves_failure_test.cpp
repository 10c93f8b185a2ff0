// Failures around a service that is moved, and how they are reported: removed instances, endpoints
// that hang or cannot be opened, unreadable requests. Whatever fails, the job runs in one slot or
// its reason says why not.
#include <csignal>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "other_user.hpp"
#include "service_node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : "";
}

json::object last_slot(ServiceNode& service) {
  return service.node.job(service.job).at("places").as_array().back().as_object();
}

void await_replica(ServiceNode& service) {
  eventually("its replica runs", [&] { return service.node.run_processes().size() >= 2; });
}

// The value of a series of /metrics.
double metric(Node& node, const std::string& series) {
  const std::string all(node.call("GET", "/metrics").as_string());
  const std::size_t at = all.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::stod(all.substr(at + series.size() + 2));
}

void edit_store(Node& node, const std::string& sql) {
  SQLite::Database store(node.state_dir() + "/tangram.db", SQLite::OPEN_READWRITE);
  store.exec(sql);
}

TEST(RemovedInstance, ATargetThatVanishesRollsTheMoveBack) {
  ServiceNode service({}, {}, 1'500);
  const auto before = service.slot();
  service.request_move(1, 0);
  await_replica(service);
  service.node.tangram({"emulate", "fault", "vanish", "1", "1g.5gb@0"});
  service.await_no_move();
  EXPECT_EQ(service.slot(), before) << service.node.log();
  EXPECT_EQ(service.get("/whoami").first, 200);
  EXPECT_EQ(last_slot(service).at("result"), "rolled-back");
  EXPECT_THAT(text(last_slot(service).at("reason")), HasSubstr("its instance is gone"));
  EXPECT_TRUE(service.node.job(service.job).at("reason").is_null());
  eventually("one run is left", [&] { return service.node.shims().size() == 1; });
}

TEST(RemovedInstance, AJobIsRestartedElsewhereOrFails) {
  ServiceNode service({}, {{"restart", "on-failure"}});
  const auto [gpu, start] = service.slot();
  const auto pid = service.node.job(service.job).at("pid");
  service.node.tangram({"emulate", "fault", "vanish", std::to_string(gpu), cat("1g.5gb@", start)});
  eventually("it runs again", [&] {
    const json::object job = service.node.job(service.job);
    return job.at("state") == "running" && job.at("restarts") == 1 && job.at("pid") != pid;
  });
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  const auto batch = service.node.submit("2g.10gb", "exec sleep 1000");
  const json::object placed = service.node.await(batch, "running");
  service.node.tangram({"emulate", "fault", "vanish", cat(placed.at("gpu").to_number<int>()),
                        cat("2g.10gb@", placed.at("start").to_number<int>())});
  const json::object over = service.node.await(batch, "over");
  EXPECT_EQ(over.at("state"), "failed");
  EXPECT_THAT(text(over.at("reason")), HasSubstr("its instance is gone"));
  eventually("its processes are gone", [&] { return service.node.shims().size() == 1; });
}

// Removed while no daemon runs.
TEST(RemovedInstance, IsDetectedAtTheStart) {
  ServiceNode service({}, {{"restart", "on-failure"}});
  const auto [gpu, start] = service.slot();
  const auto other = service.node.submit("1g.5gb", "exec sleep 1000");
  service.node.await(other, "running");
  service.node.kill();
  service.node.tangram({"emulate", "fault", "vanish", std::to_string(gpu), cat("1g.5gb@", start)});
  service.node.start();
  eventually("it runs again", [&] {
    const json::object job = service.node.job(service.job);
    return job.at("state") == "running" && job.at("restarts") == 1;
  });
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  EXPECT_EQ(service.node.state(other), "running");
}

// Its user can stop the process, and a bug could block it.
TEST(Endpoint, ThatHangsIsReplaced) {
  ServiceNode service;
  const auto hung = service.node.endpoints();
  ASSERT_EQ(hung.size(), 1U);
  const std::uint16_t port = service.port();
  ASSERT_EQ(::kill(hung[0], SIGSTOP), 0);
  eventually("another endpoint runs", [&] {
    const auto now = service.node.endpoints();
    return now.size() == 1 && now[0] != hung[0];
  });
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  EXPECT_EQ(service.port(), port);
  const auto replacement = service.node.endpoints();
  ASSERT_EQ(replacement.size(), 1U);
  ASSERT_EQ(::kill(replacement[0], SIGSTOP), 0);
  service.node.call("POST", cat("/v1/jobs/", service.job, "/cancel"), 0);
  eventually("the hanging endpoint is ended too", [&] { return service.node.endpoints().empty(); });
}

// A restarted daemon finds a move in its drain phase and an endpoint that does not answer.
TEST(Endpoint, ThatHangsAcrossARestartDoesNotBlockAMove) {
  ServiceNode service;
  service.node.stop();
  service.node.use_environment(
      {"TANGRAM_EMULATOR_LATENCY=0", "TANGRAM_CRASH_POINT=committed:traffic-switched"});
  service.node.start();
  (void)service.node.try_call("POST", cat("/v1/jobs/", service.job, "/move"),
                              json::object{{"to", {{"gpu", 1}, {"start", 2}}}});
  service.node.await_crash();
  const auto hung = service.node.endpoints();
  ASSERT_EQ(hung.size(), 1U);
  ASSERT_EQ(::kill(hung[0], SIGSTOP), 0);
  service.node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  service.node.start();
  service.await_no_move();
  EXPECT_EQ(service.slot(), std::pair(1, 2)) << service.node.log();
  eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  eventually("one run is left", [&] { return service.node.shims().size() == 1; });
}

TEST(Endpoint, OfAnUnreadableRequestContinues) {
  ServiceNode service;
  const auto endpoints = service.node.endpoints();
  const auto place = service.slot();
  service.node.stop();
  edit_store(service.node, "UPDATE requests SET request = json_set(request, '$.endpoint', 'odd')");
  service.node.start();
  EXPECT_EQ(service.get("/whoami").first, 200);
  EXPECT_EQ(service.node.endpoints(), endpoints);
  EXPECT_THAT(text(service.node.job(service.job).at("reason")), HasSubstr("cannot be read"));
  service.node.kill();
  edit_store(service.node, "UPDATE requests SET request = 'damaged'");
  service.node.start();
  EXPECT_EQ(service.get("/whoami").first, 200);
  EXPECT_EQ(service.node.endpoints(), endpoints);
  EXPECT_EQ(service.node.state(service.job), "running");
  EXPECT_EQ(service.slot(), place);
  EXPECT_EQ(service.node.shims().size(), 1U);
}

// A requested port stays the service's while another process listens on it.
TEST(Endpoint, WaitsForItsRequestedPort) {
  os::Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  socklen_t size = sizeof where;
  ASSERT_EQ(::getsockname(other.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
  const int port = ntohs(where.sin_port);
  Node node({.config = "[scheduler]\nmigration = \"off\"\n"});
  node.start();
  const auto id = node.submit(
      "1g.5gb", "exec " TANGRAM_LLM_SERVER,
      {{"kind", "service"}, {"port", port}, {"probe", {{"kind", "http"}, {"path", "/health"}}}});
  node.await(id, "running");
  eventually("the reason says so", [&] {
    return text(node.job(id).at("reason")).starts_with("its endpoint cannot be started");
  });
  EXPECT_EQ(node.job(id).at("port"), port);
  other = os::Descriptor(-1);
  eventually("the service has its address", [&] { return !node.job(id).at("address").is_null(); });
  EXPECT_EQ(node.job(id).at("port"), port);
  EXPECT_TRUE(node.job(id).at("reason").is_null());
}

// The counts of an endpoint remain when its service has ended.
TEST(Endpoint, CountsNeverGoDown) {
  ServiceNode service;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(service.get("/whoami").first, 200);
  service.node.call("POST", cat("/v1/jobs/", service.job, "/cancel"), 0);
  eventually("the endpoint is gone", [&] { return service.node.endpoints().empty(); });
  EXPECT_GE(metric(service.node, "tangram_endpoint_requests_total{result=\"relayed\"}"), 20);
}

// The reason of a roll-back: in the job's places, in `show` and in the event.
class RolledBack : public testing::Test {
 protected:
  static void expect_reason(ServiceNode& service, const std::string& in_job,
                            const std::string& in_event) {
    service.await_no_move();
    const json::object place = last_slot(service);
    EXPECT_EQ(place.at("result"), "rolled-back") << service.node.log();
    EXPECT_THAT(text(place.at("reason")), HasSubstr(in_job));
    EXPECT_THAT(service.node.tangram({"show", std::to_string(service.job)}), HasSubstr(in_job));
    EXPECT_THAT(service.node.tangram({"events", "--kind", "move"}),
                AllOf(HasSubstr("rolled back"), HasSubstr(in_event)));
    EXPECT_TRUE(service.node.job(service.job).at("reason").is_null()) << "the job runs";
    eventually("the service answers", [&] { return service.get("/whoami").first == 200; });
  }
};

TEST_F(RolledBack, BecauseTheReplicaWasNeverReady) {
  const json::object impatient{
      {"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}, {"deadline", "1s"}};
  ServiceNode service({}, {{"probe", impatient}});
  service.set_load_time(3'600'000);
  service.request_move(1, 0);
  expect_reason(service, "it was not ready within 1s", "its replica was not ready in time");
}

TEST_F(RolledBack, BecauseTheReplicaWasKilled) {
  ServiceNode service;
  service.set_load_time(60'000);
  service.request_move(1, 0);
  await_replica(service);
  const auto original = service.node.job(service.job).at("pid").to_number<pid_t>();
  for (const pid_t pid : service.node.run_processes()) {
    if (pid != original) ::kill(pid, SIGKILL);
  }
  expect_reason(service, "SIGKILL", "its replica was ended by signal 9");
}

TEST_F(RolledBack, BecauseTheInstanceCouldNotBeCreated) {
  ServiceNode service;
  service.node.tangram({"emulate", "fault", "call",
                        "nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES",
                        "--times", "1"});
  service.request_move(1, 0);
  expect_reason(service, "INSUFFICIENT_RESOURCES", "INSUFFICIENT_RESOURCES");
  EXPECT_TRUE(last_slot(service).at("run").is_null());
}

TEST_F(RolledBack, BecauseTheEndpointDidNotSwitch) {
  ServiceNode service;
  const auto hung = service.node.endpoints();
  ASSERT_EQ(hung.size(), 1U);
  ASSERT_EQ(::kill(hung[0], SIGSTOP), 0);
  service.request_move(1, 0);
  expect_reason(service, "its endpoint did not switch", "its endpoint did not switch");
}

// The scheduler's restraints apply to moves that owners request, not to those of admins.
TEST(RequestedMove, OfAnOwnerIsRestrainedAndOfAnAdminIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as another user";
  Node node({.config = "[scheduler]\nmigration = \"off\"\n"});
  allow_other_users(node);
  node.start();
  const auto [created, job] =
      call_as(kNobody, node, "POST", "/v1/jobs",
              node.job_request("1g.5gb", "exec sleep 1000",
                               {{"kind", "service"},
                                {"directory", "/"},
                                {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                                {"endpoint", {{"mode", "none"}}},
                                {"move", {{"way", "replica"}}}}));
  ASSERT_EQ(created, 201) << json::serialize(job);
  const auto id = job.at("id").to_number<std::uint64_t>();
  node.await(id, "running");
  const std::string target = cat("/v1/jobs/", id, "/move");
  const auto [status, problem] = call_as(kNobody, node, "POST", target, json::object{});
  EXPECT_EQ(status, 409);
  EXPECT_THAT(json::serialize(problem), HasSubstr("migration = off"));
  node.call("POST", target, 202, json::object{});
}

// A service without an endpoint, which is moved at once and whose original ignores SIGTERM.
class StoppingOriginal : public testing::Test {
 protected:
  void SetUp() override {
    node_.start();
    job_ = node_.submit("1g.5gb", "trap '' TERM; trap 'exit 7' USR1; while :; do sleep 0.02; done",
                        {{"kind", "service"},
                         {"endpoint", {{"mode", "none"}}},
                         {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                         {"grace", "3s"},
                         {"move", {{"way", "replica"}}}});
    node_.await(job_, "running");
    original_ = shells().at(0);
    node_.call("POST", cat("/v1/jobs/", job_, "/move"), 202, json::object{});
    eventually("its replica runs", [&] { return shells().size() == 2; });
    eventually("the original is being stopped",
               [&] { return node_.log().find(cat("stop r1 of job ", job_)) != std::string::npos; });
    const auto both = shells();
    replica_ = both.at(0) == original_ ? both.at(1) : both.at(0);
  }
  // The main processes of the job's runs.
  std::vector<pid_t> shells() const {
    std::vector<pid_t> found;
    for (const pid_t pid : node_.run_processes()) {
      std::ifstream name(cat("/proc/", pid, "/comm"));
      std::string word;
      if (name >> word && word == "sh" && ::getsid(pid) == pid) found.push_back(pid);
    }
    return found;
  }
  Node node_{{.emulate = "1xA100-40GB"}};
  std::uint64_t job_ = 0;
  pid_t original_ = 0;
  pid_t replica_ = 0;
};

TEST_F(StoppingOriginal, TheEndOfTheReplicaIsTheJobs) {
  ::kill(replica_, SIGUSR1);
  const json::object job = node_.await(job_, "failed");
  EXPECT_EQ(job.at("exit_code"), 7) << json::serialize(job);
  EXPECT_EQ(text(job.at("reason")), "exited with 7");
}

// The daemon learns of both ends at once, so both are in one batch.
TEST_F(StoppingOriginal, TheEndOfTheReplicaIsTheJobsIfBothEndedWithoutADaemon) {
  node_.kill();
  ::kill(original_, SIGKILL);
  eventually("the original has ended", [&] { return shells().size() == 1; });
  ::kill(replica_, SIGUSR1);
  eventually("both runs have ended", [&] { return node_.shims().empty(); });
  node_.start();
  const json::object job = node_.await(job_, "failed");
  EXPECT_EQ(job.at("exit_code"), 7) << json::serialize(job);
  EXPECT_EQ(text(job.at("reason")), "exited with 7");
}

}  // namespace
}  // namespace tangram::tests
