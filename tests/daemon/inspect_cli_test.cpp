// Verbs that show jobs and the node: filters of `ps`, `--watch`, `status --wait`, the geometry of
// profiles; and `tangram signal`. With the real program against the real daemon.
#include <pwd.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kForever = "while :; do sleep 0.05; done";

class InspectCli : public ::testing::Test {
 protected:
  InspectCli() { node_.start(); }
  std::string refused(const std::vector<std::string>& words) {
    int code = 0;
    std::string text = node_.tangram(words, &code);
    EXPECT_EQ(code, 2) << text;
    return text;
  }

  Node node_{{.emulate = "1xA100-40GB,1xA100-80GB"}};
};

TEST_F(InspectCli, SignalReachesTheJob) {
  const auto job = node_.submit("1g.5gb", cat("trap 'exit 7' USR1; echo ready; ", kForever));
  eventually("the job is ready", [&] { return node_.output(job) == "ready\n"; });
  EXPECT_EQ(node_.tangram({"signal", std::to_string(job), "usr1"}),
            cat("sent SIGUSR1 to job ", job, "\n"));
  EXPECT_EQ(node_.await(job, "over").at("exit_code"), 7);
  EXPECT_THAT(refused({"signal", std::to_string(job), "NONSENSE"}), HasSubstr("NONSENSE"));
  EXPECT_THAT(refused({"signal", "999", "TERM"}), HasSubstr("job 999: not found"));
  int code = 0;
  EXPECT_THAT(node_.tangram({"signal", std::to_string(job), "TERM"}, &code),
              HasSubstr("has no process that could be signalled"));
  EXPECT_EQ(code, 1);
}

TEST_F(InspectCli, PsFiltersByUserAndProfile) {
  const auto small = node_.submit("1g.5gb", kForever);
  const auto large = node_.submit("2g.10gb", kForever);
  EXPECT_EQ(node_.tangram({"ps", "-q", "--profile", "2g.10gb"}), cat(large, "\n"));
  EXPECT_EQ(node_.tangram({"ps", "-q", "--profile", "7g.40gb"}), "");
  EXPECT_EQ(node_.tangram({"ps", "-q", "--mine"}), cat(small, "\n", large, "\n"));
  const json::value one = json::parse(node_.tangram({"ps", "--json", "--profile", "1g.5gb"}));
  ASSERT_EQ(one.as_array().size(), 1U);
  EXPECT_EQ(one.at(0).at("user"), getpwuid(geteuid())->pw_name);
  EXPECT_THAT(refused({"ps", "--mine", "--user", "ann"}), HasSubstr("--mine and --user"));
  EXPECT_THAT(refused({"ps", "--mine", "--socket", "https://localhost:1"}), HasSubstr("--user"));
}

// A user without jobs gives an empty list; an unknown user is an error.
TEST_F(InspectCli, PsDistinguishesUsersWithoutJobsFromUnknownUsers) {
  EXPECT_THAT(node_.tangram({"ps", "--user", "nobody"}), HasSubstr("No active jobs."));
  EXPECT_THAT(refused({"ps", "--user", "nobodyx"}), HasSubstr("user 'nobodyx': not found"));
}

TEST_F(InspectCli, StatusWaitsForTheDaemonToStart) {
  node_.stop();
  int code = 0;
  EXPECT_THAT(node_.tangram({"status", "--wait", "10ms"}, &code), HasSubstr("cannot reach"));
  EXPECT_EQ(code, 1);
  EXPECT_THAT(refused({"status", "--wait", "soon"}), HasSubstr("--wait: "));
  BackgroundProcess status({TANGRAM_BINARY, "status", "--wait", "60s"},
                           {cat("TANGRAM_SOCKET=", node_.socket())});
  node_.start();
  EXPECT_EQ(status.wait(), 0) << status.err();
  EXPECT_THAT(status.out(), StartsWith("tangramd "));
}

// A profile name can have different slices on different models: both are listed.
TEST_F(InspectCli, StatusHasTheGeometryOfProfiles) {
  const json::value status = json::parse(node_.tangram({"status", "--json"}));
  json::object profiles;
  for (const json::value& each : status.at("profiles").as_array()) {
    profiles[each.at("name").as_string()] = each.at("models");
  }
  const json::value expected = json::parse(R"([
    {"model": "A100-40GB", "compute_slices": 1, "memory_slices": 2, "memory_mib": 9856,
     "max_instances": 4},
    {"model": "A100-80GB", "compute_slices": 1, "memory_slices": 1, "memory_mib": 9728,
     "max_instances": 7}])");
  EXPECT_EQ(profiles.at("1g.10gb"), expected);
  EXPECT_EQ(profiles.at("1g.5gb").as_array().size(), 1U);
}

TEST_F(InspectCli, VerbsCanBeRepeatedWithWatch) {
  const auto job = std::to_string(node_.submit("1g.5gb", kForever));
  node_.await(1, "running");
  const std::vector<std::vector<std::string>> verbs = {
      {"show", job}, {"explain", job}, {"tune"}, {"history"}, {"usage"}};
  for (std::vector<std::string> words : verbs) {
    SCOPED_TRACE(words.front());
    const std::string once = node_.tangram(words);
    words.insert(words.begin(), TANGRAM_BINARY);
    words.insert(words.end(), {"-w", "0.1"});
    BackgroundProcess watch(words, {cat("TANGRAM_SOCKET=", node_.socket())});
    eventually("it repeats", [&] { return watch.out().size() > 2 * once.size(); });
    watch.signal(SIGINT);
    EXPECT_EQ(watch.wait(), 0) << watch.err();
  }
  EXPECT_THAT(refused({"tune", "threshold=0.5", "--watch"}), HasSubstr("--watch"));
}

}  // namespace
}  // namespace tangram::tests
