// The environment variables of a job are those that docs/jobs.md lists. The jobs of the test record
// their own environment.
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using Environment = std::map<std::string, std::string>;

// Each run writes its environment to a file that is named after the run.
constexpr const char* kRecord =
    "env > $NOTES/part.$TANGRAM_RUN_ID; "
    "mv $NOTES/part.$TANGRAM_RUN_ID $NOTES/run.$TANGRAM_RUN_ID; ";

class JobEnvironment : public ::testing::Test {
 protected:
  JobEnvironment() { node_.start(); }
  std::uint64_t submit(const std::string& script, json::object more = {},
                       const std::string& first = "") {
    more["environment"] = {
        {"PATH", "/usr/bin:/bin"}, {"NODE_UNDER_TEST", node_.socket()}, {"NOTES", node_.at(".")}};
    return node_.submit("1g.5gb", cat(first, kRecord, script), more);
  }
  // The environment of the n-th run on this node, without what the test and the shell add.
  Environment of_run(int run) {
    const std::string name = cat("run.", run);
    eventually(cat("run ", run, " has recorded its environment"),
               [&] { return node_.folder().has(name); });
    Environment found;
    std::istringstream lines(node_.folder().read(name));
    for (std::string line; std::getline(lines, line);) {
      const auto equals = line.find('=');
      found[line.substr(0, equals)] = line.substr(equals + 1);
    }
    for (const char* given : {"PATH", "NODE_UNDER_TEST", "NOTES", "PWD", "OLDPWD", "SHLVL", "_"}) {
      found.erase(given);
    }
    return found;
  }

  Node node_{{.emulate = "2xA100-40GB", .config = "[scheduler]\nmigration = \"off\"\n"}};
};

// The names in the table of "Environment of a job".
std::set<std::string> documented() {
  const std::string text = read_text(TANGRAM_SOURCE_DIR "/docs/jobs.md");
  const auto begin = text.find("## Environment of a job");
  const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  std::set<std::string> names;
  std::istringstream lines(section);
  const std::regex name("`([A-Z_]+)`");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at) {
      names.insert((*at)[1].str());
    }
  }
  return names;
}

TEST_F(JobEnvironment, IsAsDocumented) {
  node_.await(submit("true"), "over");
  const auto service = submit("sleep 1000", {{"kind", "service"}});
  node_.await(service, "running");
  const auto moved = submit(
      "[ \"$TANGRAM_RESUME\" != 1 ] || : > $TANGRAM_CHECKPOINT/resumed; "
      "while :; do sleep 0.02; done",
      {{"move", {{"way", "checkpoint"}}}}, "trap ': > $TANGRAM_CHECKPOINT/saved' USR1; ");
  node_.await(moved, "running");
  of_run(3);  // it has set its trap
  node_.call("POST", cat("/v1/jobs/", moved, "/move"), 202,
             json::object{{"to", {{"gpu", 1}, {"start", 0}}}});
  std::set<std::string> found;
  for (int run = 1; run <= 4; ++run) {
    for (const auto& [name, value] : of_run(run)) found.insert(name);
  }
  EXPECT_EQ(found, documented());
}

TEST_F(JobEnvironment, NamesTheInstanceAndTheSlot) {
  const auto id = submit("sleep 1000", {{"name", "named"}});
  const json::object job = node_.await(id, "running");
  Environment env = of_run(1);
  const std::string uuid(job.at("uuid").as_string());
  EXPECT_TRUE(uuid.starts_with("MIG-"));
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], uuid);
  EXPECT_EQ(env["NVIDIA_VISIBLE_DEVICES"], uuid);
  EXPECT_EQ(env["TANGRAM_MIG_UUID"], uuid);
  EXPECT_EQ(env["TANGRAM_CDI_DEVICE"], "nvidia.com/gpu=" + uuid);
  EXPECT_EQ(env["TANGRAM_GPU_UUID"], std::string(job.at("gpu_uuid").as_string()));
  EXPECT_EQ(env["TANGRAM_GPU"], std::to_string(job.at("gpu").to_number<int>()));
  EXPECT_EQ(env["TANGRAM_START"], std::to_string(job.at("start").to_number<int>()));
  EXPECT_EQ(env["TANGRAM_PROFILE"], "1g.5gb");
  EXPECT_EQ(env["TANGRAM_JOB_ID"], std::to_string(id));
  EXPECT_EQ(env["TANGRAM_JOB_NAME"], "named");
  EXPECT_EQ(env["TANGRAM_RESTARTS"], "0");
}

}  // namespace
}  // namespace tangram::tests
