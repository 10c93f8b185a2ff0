// Recovery destroys nothing: with a store that does not know them, jobs keep running in their
// instances, and logs and checkpoints are kept.
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Orphans : public testing::Test {
 protected:
  Orphans()
      : node_({.emulate = "1xA100-40GB",
               .config = "[device]\nobserve_every = \"100ms\"\n"
                         "[scheduler]\nmigration = \"off\"\n[jobs]\nlost_found_days = 1\n"}) {
    node_.start();
  }

  // A job that runs until it is ended, and has written a line.
  std::uint64_t run_forever(const std::string& profile, const json::object& more = {}) {
    const auto id = node_.submit(profile, "echo precious; exec sleep 1000", more);
    node_.await(id, "running");
    eventually("it has written", [&] { return node_.output(id) == "precious\n"; });
    return id;
  }
  void move_store_away() {
    fs::create_directory(node_.at("away"));
    for (const auto& entry : fs::directory_iterator(node_.state_dir())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("tangram.db")) fs::rename(entry.path(), node_.at("away/" + name));
    }
  }
  std::uint64_t orphan_count() {
    return node_.call("GET", "/v1/status").at("orphans").to_number<std::uint64_t>();
  }
  void end_orphan(std::uint64_t run) {
    node_.tangram({"orphan", "end", std::to_string(run)});
    eventually("the orphan has ended", [&] { return orphan_count() == 0; });
  }
  // The paths below lost+found/TIME, of the first levels.
  std::set<std::string> lost() {
    std::set<std::string> found;
    std::error_code ignored;
    for (const auto& time : fs::directory_iterator(node_.state_dir() + "/lost+found", ignored)) {
      for (const auto& kind : fs::directory_iterator(time.path(), ignored)) {
        for (const auto& each : fs::directory_iterator(kind.path(), ignored)) {
          const std::string name = each.path().filename().string();
          found.insert(cat(kind.path().filename().string(), "/", name.substr(0, name.find('-'))));
        }
      }
    }
    return found;
  }
  // The content of a file of the only folder of that kind and number in lost+found.
  std::string lost_file(const std::string& kind, std::uint64_t number, const std::string& file) {
    for (const auto& time : fs::directory_iterator(node_.state_dir() + "/lost+found")) {
      std::error_code ignored;
      for (const auto& each : fs::directory_iterator(time.path() / kind, ignored)) {
        if (!each.path().filename().string().starts_with(cat(number, "-"))) continue;
        std::ifstream in(each.path() / file);
        return {std::istreambuf_iterator<char>(in), {}};
      }
    }
    return "no such folder";
  }
  // A few polls of the GPU, after which everything that is to be removed is removed.
  void await_polls() {
    const auto id = node_.submit("1g.5gb", "sleep 0.5");
    node_.await(id, "over");
  }

  Node node_;
};

TEST_F(Orphans, ADamagedStoreMovedAwayLeavesJobsRunning) {
  run_forever("2g.10gb");
  const auto processes = node_.run_processes();
  const auto instances = node_.instances();
  ASSERT_EQ(instances.size(), 1U);
  node_.kill();
  fs::resize_file(node_.state_dir() + "/tangram.db", 5000);
  EXPECT_EQ(node_.start_and_fail(), 1);
  EXPECT_THAT(node_.log(), HasSubstr("tangram.db* away"));
  move_store_away();
  for (int start = 0; start < 2; ++start) {  // also with a store that has seen it
    node_.start();
    EXPECT_EQ(orphan_count(), 1U);
    await_polls();
    EXPECT_EQ(node_.run_processes(), processes) << node_.log();
    EXPECT_THAT(node_.instances(), testing::Contains(instances[0])) << node_.log();
    EXPECT_THAT(node_.log(), HasSubstr("tangram orphan end 1"));
    EXPECT_THAT(node_.tangram({"status"}), HasSubstr("1 run of another store"));
    EXPECT_THAT(node_.tangram({"orphan", "list"}), HasSubstr("running"));
    if (start == 0) node_.stop();
  }
  // Its slices are not given to others.
  const auto whole = node_.submit("7g.40gb", "sleep 1000");
  EXPECT_EQ(node_.state(whole), "queued");
  if (::geteuid() == 0) {
    allow_other_users(node_);
    EXPECT_EQ(call_as(kNobody, node_, "GET", "/v1/node/orphans").first, 403);
    EXPECT_EQ(call_as(kNobody, node_, "DELETE", "/v1/node/orphans/1").first, 403);
  }
  node_.call("DELETE", "/v1/node/orphans/2", 404);
  end_orphan(1);
  node_.await(whole, "running");
  EXPECT_THAT(node_.instances(), UnorderedElementsAre("0 7g.40gb@0"));
  eventually("its folder is moved",
             [&] { return lost_file("runs", 1, "stdout.log") == "precious\n"; });
}

// The store knows an idle instance, where a newer run lives; its numbers are assigned again.
TEST_F(Orphans, ARestoredStoreKeepsNewerWork) {
  node_.await(node_.submit("1g.5gb", "true"), "over");
  node_.tangram({"store", "backup", node_.at("backup"), "--state-dir", node_.state_dir()});
  const json::object move{{"move", {{"way", "checkpoint"}}}};
  const auto saved =
      node_.submit("1g.5gb", "echo newer; echo model > $TANGRAM_CHECKPOINT/model", move);
  node_.await(saved, "over");
  const auto living = run_forever("1g.5gb", move);
  const auto instances = node_.instances();
  ASSERT_EQ(instances.size(), 1U);  // all were in the same one
  const auto processes = node_.run_processes();
  node_.stop();
  node_.tangram({"store", "restore", node_.at("backup"), "--state-dir", node_.state_dir()});
  node_.start();
  EXPECT_EQ(orphan_count(), 1U);
  eventually("folders are moved",
             [&] { return lost() == std::set<std::string>{"runs/2", "checkpoints/2"}; });
  EXPECT_EQ(lost_file("runs", 2, "stdout.log"), "newer\n");
  EXPECT_EQ(lost_file("checkpoints", 2, "model"), "model\n");
  const auto again = node_.submit("1g.5gb", "exec sleep 1000", move);  // job 2, run 2
  EXPECT_EQ(again, saved);
  node_.await(again, "running");
  const auto last = node_.submit("1g.5gb", "exec sleep 1000");
  EXPECT_EQ(last, living);
  node_.await(last, "running");
  EXPECT_EQ(node_.instances().size(), 3U) << node_.log();
  EXPECT_THAT(node_.instances(), testing::Contains(instances[0]));
  EXPECT_EQ(node_.run_processes().size(), processes.size() + 2);
  end_orphan(3);
  eventually("its folders are moved, too", [&] { return lost().contains("checkpoints/3"); });
  EXPECT_EQ(lost_file("runs", 3, "stdout.log"), "precious\n");
  EXPECT_EQ(node_.run_processes().size(), 2U);
  EXPECT_EQ(node_.state(again), "running");
  const auto in_its_place = node_.submit("1g.5gb", "sleep 1000");
  node_.await(in_its_place, "running");
  EXPECT_EQ(node_.instances().size(), 3U) << node_.log();
}

// The store has a running job in the instance of the orphan: that job ends as it did.
TEST_F(Orphans, AnInstanceThatTheStoreGivesToAnotherJobIsKept) {
  const auto before =
      node_.submit("1g.5gb", cat("while [ ! -e ", node_.at("go"), " ]; do sleep 0.02; done"));
  node_.await(before, "running");
  node_.tangram({"store", "backup", node_.at("backup"), "--state-dir", node_.state_dir()});
  node_.folder().write("go", "");
  node_.await(before, "over");
  run_forever("1g.5gb");
  const auto instances = node_.instances();
  ASSERT_EQ(instances.size(), 1U);
  const auto processes = node_.run_processes();
  node_.stop();
  node_.tangram({"store", "restore", node_.at("backup"), "--state-dir", node_.state_dir()});
  node_.start();
  const json::object job = node_.await(before, "over");
  EXPECT_EQ(job.at("state"), "completed") << job << node_.log();
  EXPECT_EQ(job.at("exit_code"), 0);
  const auto next = node_.submit("1g.5gb", "exec sleep 1000");
  node_.await(next, "running");
  EXPECT_EQ(node_.instances().size(), 2U) << node_.log();
  EXPECT_THAT(node_.instances(), testing::Contains(instances[0]));
  EXPECT_EQ(node_.run_processes().size(), processes.size() + 1);
  end_orphan(2);
  eventually("only the next job runs", [&] { return node_.run_processes().size() == 1; });
}

// An endpoint goes on with the orphan that it serves, and ends with it.
TEST_F(Orphans, KeepTheirEndpoints) {
  run_forever("1g.5gb", {{"kind", "service"},
                         {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                         {"endpoint", {{"mode", "tcp"}}}});
  const auto endpoints = node_.endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  node_.kill();
  move_store_away();
  node_.start();
  await_polls();
  EXPECT_EQ(node_.endpoints(), endpoints) << node_.log();
  end_orphan(1);
  eventually("its endpoint has ended", [&] { return node_.endpoints().empty(); });
}

// The end of an orphan needs no daemon.
TEST_F(Orphans, MayEndWhileNoDaemonRuns) {
  run_forever("1g.5gb");
  node_.kill();
  move_store_away();
  node_.start();
  EXPECT_EQ(orphan_count(), 1U);
  node_.stop();
  for (const pid_t pid : node_.run_processes()) ::kill(pid, SIGKILL);
  eventually("its shim has ended", [&] { return node_.shims().empty(); });
  node_.start();
  EXPECT_EQ(orphan_count(), 0U);
  eventually("its instance is removed", [&] { return node_.instances().empty(); });
  eventually("its folder is moved", [&] { return lost() == std::set<std::string>{"runs/1"}; });
}

// Retention looks at lost+found once a minute.
TEST_F(Orphans, RetentionRemovesLostFolders) {
  node_.await(node_.submit("1g.5gb", "true"), "over");
  node_.stop();
  move_store_away();
  node_.start();
  const fs::path folder = node_.state_dir() + "/lost+found";
  eventually("its folder is moved", [&] { return lost() == std::set<std::string>{"runs/1"}; });
  const fs::path moved = fs::directory_iterator(folder)->path();
  fs::copy(moved, folder / "keep", fs::copy_options::recursive);
  fs::copy(moved, folder / "20200101T000000Z", fs::copy_options::recursive);
  eventually(
      "what is old is removed", [&] { return !fs::exists(folder / "20200101T000000Z"); },
      std::chrono::seconds(100));
  EXPECT_TRUE(fs::exists(moved));
  EXPECT_TRUE(fs::exists(folder / "keep"));
}

}  // namespace
}  // namespace tangram::tests
