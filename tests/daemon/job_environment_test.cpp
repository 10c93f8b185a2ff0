// What a job finds in its environment, and what docs/jobs.md says it finds. One rule: the job
// itself says what it has.
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

// Each run writes its environment into a file of its own, under the name of its run.
constexpr const char* kTell =
    "env > $NOTES/part.$TANGRAM_RUN_ID; "
    "mv $NOTES/part.$TANGRAM_RUN_ID $NOTES/run.$TANGRAM_RUN_ID; ";

class JobEnvironment : public ::testing::Test {
 protected:
  JobEnvironment() { node_.start(); }
  std::uint64_t submit(const std::string& script, json::object more = {},
                       const std::string& first = "") {
    more["environment"] = {
        {"PATH", "/usr/bin:/bin"}, {"NODE_UNDER_TEST", node_.socket()}, {"NOTES", node_.at(".")}};
    return node_.submit("1g.5gb", cat(first, kTell, script), more);
  }
  // What the n-th run of this node said, without what the test gave it and the shell adds.
  Environment of_run(int run) {
    const std::string name = cat("run.", run);
    eventually(cat("run ", run, " has told"), [&] { return node_.folder().has(name); });
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

// The names in the table of "What a job finds".
std::set<std::string> documented() {
  const std::string text = read_text(TANGRAM_SOURCE_DIR "/docs/jobs.md");
  const auto begin = text.find("## What a job finds");
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

TEST_F(JobEnvironment, IsWhatTheDocumentSays) {
  node_.await(submit("true"), "over");
  const auto service = submit("sleep 1000", {{"kind", "service"}});
  node_.await(service, "running");
  const auto moved = submit(
      "[ \"$TANGRAM_RESUME\" != 1 ] || : > $TANGRAM_CHECKPOINT/resumed; "
      "while :; do sleep 0.02; done",
      {{"move", {{"way", "checkpoint"}}}}, "trap ': > $TANGRAM_CHECKPOINT/saved' USR1; ");
  node_.await(moved, "running");
  of_run(3);  // it is ready to save
  node_.ask("POST", cat("/v1/jobs/", moved, "/move"), 202,
            json::object{{"to", {{"gpu", 1}, {"start", 0}}}});
  std::set<std::string> found;
  for (int run = 1; run <= 4; ++run) {
    for (const auto& [name, value] : of_run(run)) found.insert(name);
  }
  EXPECT_EQ(found, documented());
}

TEST_F(JobEnvironment, NamesTheInstanceAndThePlace) {
  const auto id = submit("sleep 1000", {{"name", "told"}});
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
  EXPECT_EQ(env["TANGRAM_JOB_NAME"], "told");
  EXPECT_EQ(env["TANGRAM_RESTARTS"], "0");
}

}  // namespace
}  // namespace tangram::tests
