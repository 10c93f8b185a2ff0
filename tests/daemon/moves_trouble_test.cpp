// What goes wrong around a service that is moved, and is told: instances removed by others,
// endpoints that hang or cannot be opened, requests that cannot be read. One rule: whatever
// happens, the job is served from one place or says why not.
#include <csignal>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "files/descriptor.hpp"
#include "others.hpp"
#include "served.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : "";
}

json::object last_place(Served& served) {
  return served.node.job(served.job).at("places").as_array().back().as_object();
}

void await_two(Served& served) {
  eventually("its replica is there", [&] { return served.node.run_processes().size() >= 2; });
}

// The value of a series of /metrics.
double metric(Node& node, const std::string& series) {
  const std::string all(node.ask("GET", "/metrics").as_string());
  const std::size_t at = all.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::stod(all.substr(at + series.size() + 2));
}

void edit_store(Node& node, const std::string& sql) {
  SQLite::Database store(node.state_dir() + "/tangram.db", SQLite::OPEN_READWRITE);
  store.exec(sql);
}

TEST(Removed, ATargetThatVanishesIsNoPlaceToGo) {
  Served served({}, {}, 1'500);
  const auto before = served.place();
  served.ask_move(1, 0);
  await_two(served);
  served.node.tangram({"emulate", "fault", "vanish", "1", "1g.5gb@0"});
  served.await_rest();
  EXPECT_EQ(served.place(), before) << served.node.log();
  EXPECT_EQ(served.get("/whoami").first, 200);
  EXPECT_EQ(last_place(served).at("result"), "rolled-back");
  EXPECT_THAT(text(last_place(served).at("reason")), HasSubstr("its instance is gone"));
  EXPECT_TRUE(served.node.job(served.job).at("reason").is_null());
  eventually("one run is left", [&] { return served.node.shims().size() == 1; });
}

TEST(Removed, AJobWhoseInstanceVanishesIsRestartedElsewhereOrFails) {
  Served served({}, {{"restart", "on-failure"}});
  const auto [gpu, start] = served.place();
  const auto pid = served.node.job(served.job).at("pid");
  served.node.tangram({"emulate", "fault", "vanish", std::to_string(gpu), cat("1g.5gb@", start)});
  eventually("it runs again", [&] {
    const json::object job = served.node.job(served.job);
    return job.at("state") == "running" && job.at("restarts") == 1 && job.at("pid") != pid;
  });
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  const auto batch = served.node.submit("2g.10gb", "exec sleep 1000");
  const json::object there = served.node.await(batch, "running");
  served.node.tangram({"emulate", "fault", "vanish", cat(there.at("gpu").to_number<int>()),
                       cat("2g.10gb@", there.at("start").to_number<int>())});
  const json::object over = served.node.await(batch, "over");
  EXPECT_EQ(over.at("state"), "failed");
  EXPECT_THAT(text(over.at("reason")), HasSubstr("its instance is gone"));
  eventually("its processes are gone", [&] { return served.node.shims().size() == 1; });
}

// While no daemon is there.
TEST(Removed, IsNoticedAtTheStart) {
  Served served({}, {{"restart", "on-failure"}});
  const auto [gpu, start] = served.place();
  const auto other = served.node.submit("1g.5gb", "exec sleep 1000");
  served.node.await(other, "running");
  served.node.kill();
  served.node.tangram({"emulate", "fault", "vanish", std::to_string(gpu), cat("1g.5gb@", start)});
  served.node.start();
  eventually("it runs again", [&] {
    const json::object job = served.node.job(served.job);
    return job.at("state") == "running" && job.at("restarts") == 1;
  });
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  EXPECT_EQ(served.node.state(other), "running");
}

// Its user can stop it, and a bug could.
TEST(Endpoint, ThatHangsIsReplaced) {
  Served served;
  const auto hung = served.node.endpoints();
  ASSERT_EQ(hung.size(), 1U);
  const std::uint16_t port = served.port();
  ASSERT_EQ(::kill(hung[0], SIGSTOP), 0);
  eventually("another one is there", [&] {
    const auto now = served.node.endpoints();
    return now.size() == 1 && now[0] != hung[0];
  });
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  EXPECT_EQ(served.port(), port);
  const auto again = served.node.endpoints();
  ASSERT_EQ(again.size(), 1U);
  ASSERT_EQ(::kill(again[0], SIGSTOP), 0);
  served.node.ask("POST", cat("/v1/jobs/", served.job, "/cancel"), 0);
  eventually("it is ended too", [&] { return served.node.endpoints().empty(); });
}

// A daemon that comes back finds the move at its drain and the endpoint mute.
TEST(Endpoint, ThatHangsOverARestartDoesNotHoldUpAMove) {
  Served served;
  served.node.stop();
  served.node.use_environment(
      {"TANGRAM_EMULATOR_LATENCY=0", "TANGRAM_DIE_AT=committed:traffic-switched"});
  served.node.start();
  (void)served.node.try_ask("POST", cat("/v1/jobs/", served.job, "/move"),
                            json::object{{"to", {{"gpu", 1}, {"start", 2}}}});
  served.node.await_death();
  const auto hung = served.node.endpoints();
  ASSERT_EQ(hung.size(), 1U);
  ASSERT_EQ(::kill(hung[0], SIGSTOP), 0);
  served.node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  served.node.start();
  served.await_rest();
  EXPECT_EQ(served.place(), std::pair(1, 2)) << served.node.log();
  eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  eventually("one run is left", [&] { return served.node.shims().size() == 1; });
}

TEST(Endpoint, OfARequestThatCannotBeReadGoesOn) {
  Served served;
  const auto endpoints = served.node.endpoints();
  const auto place = served.place();
  served.node.stop();
  edit_store(served.node, "UPDATE requests SET request = json_set(request, '$.endpoint', 'odd')");
  served.node.start();
  EXPECT_EQ(served.get("/whoami").first, 200);
  EXPECT_EQ(served.node.endpoints(), endpoints);
  EXPECT_THAT(text(served.node.job(served.job).at("reason")), HasSubstr("cannot be read"));
  served.node.kill();
  edit_store(served.node, "UPDATE requests SET request = 'damaged'");
  served.node.start();
  EXPECT_EQ(served.get("/whoami").first, 200);
  EXPECT_EQ(served.node.endpoints(), endpoints);
  EXPECT_EQ(served.node.state(served.job), "running");
  EXPECT_EQ(served.place(), place);
  EXPECT_EQ(served.node.shims().size(), 1U);
}

// The port that was asked for is the service's own, also while somebody else listens there.
TEST(Endpoint, KeepsThePortThatWasAskedForUntilItCanHaveIt) {
  files::Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
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
  eventually("it is told", [&] {
    return text(node.job(id).at("reason")).starts_with("its endpoint cannot be opened");
  });
  EXPECT_EQ(node.job(id).at("port"), port);
  other = files::Descriptor(-1);
  eventually("it has its address", [&] { return !node.job(id).at("address").is_null(); });
  EXPECT_EQ(node.job(id).at("port"), port);
  EXPECT_TRUE(node.job(id).at("reason").is_null());
}

// What was counted stays counted when the service is over.
TEST(Endpoint, CountsNeverGoDown) {
  Served served;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(served.get("/whoami").first, 200);
  served.node.ask("POST", cat("/v1/jobs/", served.job, "/cancel"), 0);
  eventually("it is gone", [&] { return served.node.endpoints().empty(); });
  EXPECT_GE(metric(served.node, "tangram_endpoint_requests_total{result=\"relayed\"}"), 20);
}

// Why a move was taken back: at the place, in `show` and in the event.
class TakenBack : public testing::Test {
 protected:
  static void expect_reason(Served& served, const std::string& at_place,
                            const std::string& in_event) {
    served.await_rest();
    const json::object place = last_place(served);
    EXPECT_EQ(place.at("result"), "rolled-back") << served.node.log();
    EXPECT_THAT(text(place.at("reason")), HasSubstr(at_place));
    EXPECT_THAT(served.node.tangram({"show", std::to_string(served.job)}), HasSubstr(at_place));
    EXPECT_THAT(served.node.tangram({"events", "--kind", "move"}),
                AllOf(HasSubstr("rolled back"), HasSubstr(in_event)));
    EXPECT_TRUE(served.node.job(served.job).at("reason").is_null()) << "it runs";
    eventually("it is reached", [&] { return served.get("/whoami").first == 200; });
  }
};

TEST_F(TakenBack, BecauseTheReplicaWasNeverReady) {
  const json::object impatient{
      {"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}, {"deadline", "1s"}};
  Served served({}, {{"probe", impatient}});
  served.load_for(3'600'000);
  served.ask_move(1, 0);
  expect_reason(served, "it was not ready within 1s", "its replica was not ready in time");
}

TEST_F(TakenBack, BecauseTheReplicaWasKilled) {
  Served served;
  served.load_for(60'000);
  served.ask_move(1, 0);
  await_two(served);
  const auto original = served.node.job(served.job).at("pid").to_number<pid_t>();
  for (const pid_t pid : served.node.run_processes()) {
    if (pid != original) ::kill(pid, SIGKILL);
  }
  expect_reason(served, "SIGKILL", "its replica was ended by signal 9");
}

TEST_F(TakenBack, BecauseTheInstanceCouldNotBeMade) {
  Served served;
  served.node.tangram({"emulate", "fault", "call",
                       "nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES", "--times",
                       "1"});
  served.ask_move(1, 0);
  expect_reason(served, "INSUFFICIENT_RESOURCES", "INSUFFICIENT_RESOURCES");
  EXPECT_TRUE(last_place(served).at("run").is_null());
}

TEST_F(TakenBack, BecauseTheEndpointDidNotSwitch) {
  Served served;
  const auto hung = served.node.endpoints();
  ASSERT_EQ(hung.size(), 1U);
  ASSERT_EQ(::kill(hung[0], SIGSTOP), 0);
  served.ask_move(1, 0);
  expect_reason(served, "its endpoint did not switch", "its endpoint did not switch");
}

// What restrains moves restrains owners; operators may all the same.
TEST(AskedBy, AnOwnerIsRestrainedAndAnAdministratorIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user";
  Node node({.config = "[scheduler]\nmigration = \"off\"\n"});
  let_others_in(node);
  node.start();
  const auto [made, job] =
      ask_as(kNobody, node, "POST", "/v1/jobs",
             node.request("1g.5gb", "exec sleep 1000",
                          {{"kind", "service"},
                           {"directory", "/"},
                           {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                           {"endpoint", {{"mode", "none"}}}}));
  ASSERT_EQ(made, 201) << json::serialize(job);
  const auto id = job.at("id").to_number<std::uint64_t>();
  node.await(id, "running");
  const std::string target = cat("/v1/jobs/", id, "/move");
  const auto [status, problem] = ask_as(kNobody, node, "POST", target, json::object{});
  EXPECT_EQ(status, 409);
  EXPECT_THAT(json::serialize(problem), HasSubstr("migration = off"));
  node.ask("POST", target, 202, json::object{});
}

}  // namespace
}  // namespace tangram::tests
