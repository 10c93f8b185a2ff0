// What plugins of other schedulers need of leases: timely responses, problem types that distinguish
// "not now" from "never" and from "lease ended", leases without expiry for jobs that nothing
// renews, and the driver's names of the granted instances. Plugins decide by `type`, never by text.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <pwd.h>
#include <set>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.is_object() ? value.get_object().if_contains(key) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

class LeasePlugin : public ::testing::Test {
 protected:
  explicit LeasePlugin(NodeOptions options = {.emulate = "1xA100-40GB"})
      : node(std::move(options)) {}

  json::value acquire(json::object request, int status = 201) {
    request.emplace("profile", "1g.5gb");
    return node.call("POST", "/v1/leases", status, request);
  }
  json::value lease(std::uint64_t id) { return node.call("GET", cat("/v1/leases/", id)); }
  static std::uint64_t id_of(const json::value& lease) {
    return lease.at("id").to_number<std::uint64_t>();
  }
  json::value await(std::uint64_t id, const std::string& state) {
    json::value seen;
    eventually(cat("lease ", id, " is ", state), [&] {
      seen = lease(id);
      return text(seen, "state") == state;
    });
    return seen;
  }

  Node node;
};

// A prolog must get a response even while the driver hangs.
TEST_F(LeasePlugin, IsAnsweredWhileTheDriverHangs) {
  node.start();
  node.tangram({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=hang:20000"});
  const json::object request{{"key", "slurm/7"}, {"ttl", "1h"}, {"wait", "10s"}};
  const json::value refused = acquire(request, 409);
  EXPECT_EQ(text(refused, "type"), "urn:tangram:not-ready") << refused;
  const json::value kept = node.call("GET", "/v1/leases?key=slurm/7").at(0);
  EXPECT_EQ(text(kept, "state"), "waiting");
  EXPECT_EQ(text(kept, "reason"), "placed; creating its instance");
  json::object repeated = request;
  repeated["wait"] = "50s";
  EXPECT_EQ(id_of(acquire(repeated, 200)), id_of(kept));
}

// A request without a key leaves no lease behind.
TEST_F(LeasePlugin, GivesUpAnInstanceThatIsNotCreatedInTime) {
  node.start();
  node.tangram({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=hang:20000"});
  const json::value refused = acquire({{"ttl", "1h"}}, 409);
  EXPECT_EQ(text(refused, "type"), "urn:tangram:not-ready") << refused;
  EXPECT_EQ(text(await(1, "over"), "reason"), "its instance was not created in time");
}

// A full node becomes free by itself; a node without a GPU in service does not.
TEST_F(LeasePlugin, LearnsWhetherWaitingHelps) {
  node.start();
  acquire({{"profile", "7g.40gb"}, {"ttl", "1h"}});
  EXPECT_EQ(text(acquire({}, 409), "type"), "urn:tangram:no-room");
  node.call("POST", "/v1/gpus/0/cordon", 202);
  for (const char* wait : {"0s", "100ms"}) {
    const json::value refused = acquire({{"wait", wait}}, 409);
    EXPECT_EQ(text(refused, "type"), "urn:tangram:out-of-service") << refused;
    EXPECT_THAT(text(refused, "detail"), HasSubstr("cordoned or lost"));
  }
  node.call("POST", "/v1/gpus/0/uncordon", 202);
  EXPECT_EQ(text(acquire({{"key", "k"}}, 409), "type"), "urn:tangram:no-room");
}

TEST_F(LeasePlugin, LearnsThatALeaseHasEnded) {
  node.start();
  const std::uint64_t id = id_of(acquire({{"ttl", "1h"}}));
  node.call("DELETE", cat("/v1/leases/", id));
  await(id, "over");
  const json::value refused =
      node.call("POST", cat("/v1/leases/", id, "/renew"), 409, json::object{});
  EXPECT_EQ(text(refused, "type"), "urn:tangram:lease-over");
}

// Nothing renews the lease of a job without a time limit between its prolog and its epilog.
TEST_F(LeasePlugin, CanHaveLeasesThatEndOnlyWhenReleased) {
  node.start();
  acquire({{"ttl", "none"}}, 400);  // without a key it could not be found again
  const json::value granted = acquire({{"ttl", "none"}, {"key", "slurm/7"}});
  const std::uint64_t id = id_of(granted);
  EXPECT_EQ(text(granted, "ttl"), "none");
  EXPECT_TRUE(granted.at("expires").is_null());
  EXPECT_THAT(node.tangram({"lease", "list"}), HasSubstr("never"));
  node.kill();
  node.start();
  const json::value after = lease(id);
  EXPECT_EQ(text(after, "state"), "granted");
  EXPECT_EQ(text(after, "ttl"), "none");
  EXPECT_TRUE(after.at("expires").is_null());
  const std::string renew = cat("/v1/leases/", id, "/renew");
  EXPECT_TRUE(node.call("POST", renew, 200, json::object{}).at("expires").is_null());
  EXPECT_FALSE(node.call("POST", renew, 200, json::object{{"ttl", "1h"}}).at("expires").is_null());
  EXPECT_TRUE(node.call("POST", renew, 200, json::object{{"ttl", "none"}}).at("expires").is_null());
  const std::uint64_t plain = id_of(acquire({{"ttl", "1h"}}));
  node.call("POST", cat("/v1/leases/", plain, "/renew"), 409, json::object{{"ttl", "none"}});
  node.call("DELETE", "/v1/leases?key=slurm/7");
  await(id, "over");
}

TEST_F(LeasePlugin, NeedsAnAdminForThat) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  node.start();
  const passwd* nobody = getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const json::value token =
      node.call("POST", "/v1/tokens", 201, json::object{{"uid", nobody->pw_uid}});
  auto client = http::Client::open(node.socket(), {.token = text(token, "secret")});
  const auto status = [&](const json::object& request) {
    return client->exchange("POST", "/v1/leases", request)->status;
  };
  EXPECT_EQ(status({{"profile", "1g.5gb"}, {"key", "k"}, {"ttl", "none"}}), 403);
  EXPECT_EQ(status({{"profile", "1g.5gb"}, {"cgroup", "/sys/fs/cgroup/x"}}), 403);
  const auto own =
      client->request("POST", "/v1/leases", json::object{{"profile", "1g.5gb"}, {"key", "k"}});
  ASSERT_TRUE(own) << own.error().message;
  const std::string renew = cat("/v1/leases/", id_of(own->body), "/renew");
  EXPECT_EQ(client->exchange("POST", renew, json::object{{"ttl", "none"}})->status, 403);
}

// A plugin needs them to write its own CDI specification.
TEST_F(LeasePlugin, GetsTheDriversNames) {
  node.start();
  const json::value first = acquire({{"ttl", "1h"}});
  const json::value second = acquire({{"ttl", "1h"}});
  for (const json::value& each : {first, second}) {
    EXPECT_EQ(each.at("gpu_minor"), 0) << each;
    EXPECT_EQ(each.at("ci"), 0) << each;
    EXPECT_TRUE(each.at("gi").is_number()) << each;
  }
  EXPECT_NE(first.at("gi"), second.at("gi"));
  node.kill();
  node.start();
  EXPECT_EQ(lease(id_of(first)).at("gi"), first.at("gi"));
  node.call("DELETE", cat("/v1/leases/", id_of(first)));
  EXPECT_TRUE(await(id_of(first), "over").at("gi").is_null());
}

TEST_F(LeasePlugin, ReadsManyLeasesInPages) {
  node.start();
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 5; ++i) ids.insert(id_of(acquire({{"ttl", "1h"}})));
  auto client = http::Client::open(node.socket());
  std::set<std::uint64_t> seen;
  std::string target = "/v1/leases?limit=2";
  for (int page = 0; page < 3; ++page) {
    const auto reply = client->request("GET", target);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body.as_array().size(), page < 2 ? 2U : 1U);
    for (const json::value& each : reply->body.as_array()) seen.insert(id_of(each));
    EXPECT_EQ(reply->next.empty(), page == 2) << reply->next;
    target = reply->next;
  }
  EXPECT_EQ(seen, ids);
  node.call("GET", "/v1/leases?limit=0", 400);
  node.call("GET", "/v1/leases?before=x", 400);
}

class LeaseCgroup : public LeasePlugin {
 protected:
  LeaseCgroup() {
    std::filesystem::create_directories(node.at("cgroup"));
    node.use_environment(
        {"TANGRAM_EMULATOR_LATENCY=0", cat("TANGRAM_CGROUP_ROOT=", node.at("cgroup"))});
    node.start();
  }
  [[nodiscard]] json::object lease_request() const {
    return {{"ttl", "1h"}, {"cgroup", node.at("cgroup") + "/slurm/job_7"}};
  }
  void set_processes(const std::string& pids) const {
    std::filesystem::create_directories(node.at("cgroup/slurm/job_7/step_batch"));
    node.folder().write("cgroup/slurm/job_7/step_batch/cgroup.procs", pids);
  }
};

// A killed slurmstepd leaves an orphan in the job's cgroup that may not use the GPU yet.
TEST_F(LeaseCgroup, MustBeEmptyBeforeTheLeaseEnds) {
  const std::uint64_t id = id_of(acquire(lease_request()));
  set_processes("4242\n");
  node.call("DELETE", cat("/v1/leases/", id));
  const auto is_named = [&] {
    const json::value seen = lease(id);
    return text(seen, "state") == "releasing" &&
           text(seen, "reason").find("process 4242 in ") != std::string::npos;
  };
  eventually("the reason names the process", is_named);
  node.kill();
  node.start();
  EXPECT_TRUE(is_named());
  set_processes("");
  await(id, "over");
}

TEST_F(LeaseCgroup, ThatDoesNotExistCountsAsEmpty) {
  const std::uint64_t id = id_of(acquire(lease_request()));
  node.call("DELETE", cat("/v1/leases/", id));
  await(id, "over");
  acquire({{"cgroup", "/etc"}}, 422);
  acquire({{"cgroup", "job_7"}}, 400);
}

TEST_F(LeasePlugin, LearnsThatTheDriverDoesNotListProcesses) {
  node.start();
  const std::uint64_t id = id_of(acquire({{"ttl", "1h"}}));
  node.tangram(
      {"emulate", "fault", "call", "nvmlDeviceGetComputeRunningProcesses=UNKNOWN", "--times", "0"});
  node.call("DELETE", cat("/v1/leases/", id));
  eventually("the reason names the driver", [&] {
    return text(lease(id), "reason").find("cannot list the processes") != std::string::npos;
  });
  EXPECT_EQ(text(lease(id), "state"), "releasing");
  node.tangram({"emulate", "fault", "clear"});
  await(id, "over");
}

}  // namespace
}  // namespace tangram::tests
