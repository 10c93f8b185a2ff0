// Batch jobs moved by their checkpoints while the daemon, a GPU or a shim fails or a shim cannot be
// reached. An original and its successor must never run at the same time, and one of them
// continues.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/descriptor.hpp"
#include "training.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class TrainingCrash : public Training {};

// A job that is cancelled during a move ends without running on, also if the daemon crashes then.
TEST_F(TrainingCrash, ACancelledOriginalDoesNotRunOnAfterARestart) {
  const auto id = train(cat("cd ", node.at(""), "; ", kSlowSuccessor));
  node.stop();
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "TANGRAM_CRASH_POINT=performed:stop-job"});
  node.start();
  request_move(id, 1 - slot(id).first, 0);
  await_file("successor");
  (void)node.try_call("POST", cat("/v1/jobs/", id, "/cancel"), std::nullopt);
  node.await_crash();
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  node.start();
  node.await(id, "cancelled");
  EXPECT_FALSE(node.folder().has("ran"));
  eventually("no run is left", [&] { return node.shims().empty(); });
}

// The target is lost before the original has answered the first request of the move.
TEST_F(TrainingCrash, ARolledBackMoveSendsNoFurtherRequests) {
  const auto id = train(
      "trap 'echo saving; : > $TANGRAM_CHECKPOINT/saved' USR1; "
      "while :; do echo tick; sleep 0.02; done");
  const int target = 1 - slot(id).first;
  ASSERT_EQ(node.shims().size(), 1U);
  const pid_t shim = node.shims().front();
  ::kill(shim, SIGSTOP);
  request_move(id, target, 0);
  eventually("the replica is being started",
             [&] { return node.log().find("start replica") != std::string::npos; });
  node.tangram({"emulate", "fault", "fall-off", cat(target)});
  await_no_move(id);
  ::kill(shim, SIGCONT);
  await_progress(id, 500);
  EXPECT_THAT(node.output(id), Not(HasSubstr("saving")));
}

// The successor's GPU is lost and its shim cannot be reached: the original stays frozen until the
// successor has ended.
TEST_F(TrainingCrash, AnOriginalWaitsForTheEndOfALostSuccessor) {
  const auto id = train(cat("cd ", node.at(""),
                            "; trap ': > $TANGRAM_CHECKPOINT/saved' USR1; "
                            "while :; do echo $TANGRAM_RUN_ID >> steps; sleep 0.02; done"));
  const auto steps_of = [&](char run) {
    return std::ranges::count(node.folder().read("steps"), run);
  };
  const int target = 1 - slot(id).first;
  const auto before = node.shims();
  request_move(id, target, 0);
  eventually("the successor runs", [&] { return steps_of('2') > 0; });
  pid_t successor = -1;
  for (const pid_t shim : node.shims()) {
    if (shim != before.front()) successor = shim;
  }
  ASSERT_GT(successor, 0);
  ::kill(successor, SIGSTOP);
  node.tangram({"emulate", "fault", "fall-off", cat(target)});
  await_no_move(id);
  const auto original_steps = steps_of('1');
  const auto successor_steps = steps_of('2');
  eventually("the successor still runs", [&] { return steps_of('2') > successor_steps + 20; });
  EXPECT_EQ(steps_of('1'), original_steps);
  ::kill(successor, SIGCONT);
  eventually("the original runs on", [&] { return steps_of('1') > original_steps + 10; });
}

// Shuts down the daemon's socket to a shim. False: the daemon's descriptors are not accessible.
bool cut_link(pid_t daemon, pid_t shim) {
  const os::Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, daemon, 0)));
  for (const auto& entry : fs::directory_iterator(cat("/proc/", daemon, "/fd"))) {
    const int number = std::atoi(entry.path().filename().c_str());
    const os::Descriptor copy(
        static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!copy.ok() || ::getsockopt(copy.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
      continue;
    if (peer.pid == shim) return ::shutdown(copy.get(), SHUT_RDWR) == 0;
  }
  return false;
}

// The second move of a job fails while its shim cannot be reached; the job continues once it can.
TEST_F(TrainingCrash, AThawIsRetriedUntilItSucceeds) {
  const auto id =
      train(cat("cd ", node.at(""),
                "; C=$TANGRAM_CHECKPOINT; if [ \"$TANGRAM_RUN_ID\" = 2 ]; then : > $C/resumed; fi; "
                "if [ \"$TANGRAM_RUN_ID\" = 3 ]; then : > successor; "
                "while [ ! -e fail ]; do sleep 0.02; done; exit 3; fi; "
                "trap ': > $C/saved' USR1; while :; do echo tick; sleep 0.02; done"));
  request_move(id, 1, 2);
  await_no_move(id);
  eventually("one run is left", [&] { return node.shims().size() == 1; });
  const pid_t shim = node.shims().front();
  request_move(id, 1, 4);
  await_file("successor");
  std::string control;
  for (const auto& entry : fs::directory_iterator(node.state_dir() + "/runs")) {
    if (entry.path().filename().string().starts_with("2-")) control = entry.path() / "control";
  }
  fs::rename(control, control + ".away");
  if (!cut_link(node.pid(), shim)) GTEST_SKIP() << "the daemon's descriptors are not accessible";
  node.folder().write("fail", "");
  await_no_move(id);
  EXPECT_EQ(slot(id), std::pair(1, 2));
  eventually("the reason says so", [&] {
    return json::serialize(node.job(id)).find("cannot be frozen or thawed") != std::string::npos;
  });
  fs::rename(control + ".away", control);
  await_progress(id);
  eventually("the reason is cleared", [&] {
    return json::serialize(node.job(id)).find("cannot be frozen or thawed") == std::string::npos;
  });
}

// Copies of the programs for a node, of which the shim can be replaced.
class ProgramCopies {
 public:
  explicit ProgramCopies(Node& node) : folder_(node.at("programs")) {
    const fs::path built = fs::path(TANGRAMD_BINARY).parent_path();
    fs::create_directories(folder_ / "emulator");
    for (const char* each :
         {"tangramd", "tangram-shim", "tangram-endpoint", "emulator/libnvidia-ml.so.1"}) {
      fs::copy_file(built / each, folder_ / each);
    }
    real_shim = (folder_ / "real-tangram-shim").string();
    fs::copy_file(built / "tangram-shim", real_shim);
    node.use_program((folder_ / "tangramd").string());
  }
  void replace_shim(const std::string& script) const {
    const fs::path script_file = folder_ / "new-shim";
    std::ofstream(script_file) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(script_file, fs::perms(0755));
    fs::rename(script_file, folder_ / "tangram-shim");
  }
  std::string real_shim;

 private:
  fs::path folder_;
};

TEST_F(TrainingCrash, AMoveWhoseSuccessorCannotStartIsRolledBackInTime) {
  const ProgramCopies programs(node);
  node.stop();
  node.start();
  const auto id =
      train("trap ': > $TANGRAM_CHECKPOINT/saved' USR1; while :; do echo tick; sleep 0.02; done",
            {{"way", "checkpoint"}, {"deadline", "1s"}});
  const auto before = slot(id);
  programs.replace_shim("exit 1");
  request_move(id, 1 - before.first, 0);
  await_no_move(id);
  EXPECT_EQ(slot(id), before);
  await_progress(id);
}

// The daemon is killed after it has spawned the successor's shim, which starts slowly.
TEST_F(TrainingCrash, AShimThatStartsTooLateDoesNotStartTheJob) {
  const ProgramCopies programs(node);
  node.stop();
  node.start();
  node.folder().write("may-save", "");
  const auto id = train(cat("cd ", node.at(""),
                            "; C=$TANGRAM_CHECKPOINT; want=; trap 'want=1' USR1; "
                            "while :; do echo $TANGRAM_RUN_ID >> steps; "
                            "if [ -n \"$want\" ] && [ -e may-save ]; then want=; : > $C/saved; fi; "
                            "sleep 0.02; done"));
  programs.replace_shim(cat("cd ", node.at(""), "; : > spawned; while [ ! -e go ]; do sleep 0.02; ",
                            "done; exec ", programs.real_shim, " \"$@\""));
  request_move(id, 1 - slot(id).first, 0);
  await_file("spawned");
  node.kill();
  fs::remove(node.at("may-save"));
  node.start();
  const std::size_t so_far = node.folder().read("steps").size();
  eventually("the original runs on",
             [&] { return node.folder().read("steps").size() > so_far + 20; });
  node.folder().write("go", "");
  const auto both_run = [&] { return node.folder().read("steps").find('2') != std::string::npos; };
  eventually("the late shim has ended", [&] { return node.shims().size() == 1 || both_run(); });
  EXPECT_FALSE(both_run());
  await_no_move(id);
}

class TrainingKilledAt : public testing::TestWithParam<const char*> {};

// Each run appends its number to one file at every step; the daemon is killed at each point of the
// move. Once the successor has written, the original must not write again.
TEST_P(TrainingKilledAt, TwoRunsNeverOverlap) {
  Node node({.config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"});
  node.start();
  const std::string script =
      cat("C=$TANGRAM_CHECKPOINT; i=0; trap 'echo $i > $C/i; : > $C/saved' USR1; "
          "if [ \"$TANGRAM_RESUME\" = 1 ]; then i=$(cat $C/i); : > $C/resumed; fi; "
          "while [ $i -lt 100 ]; do i=$((i+1)); echo $TANGRAM_RUN_ID $i >> ",
          node.at("steps"), "; sleep 0.02; done");
  const auto id =
      node.submit("1g.5gb", script, {{"move", {{"way", "checkpoint"}, {"deadline", "5s"}}}});
  node.await(id, "running");
  eventually("it has started", [&] { return node.folder().read("steps").size() > 20; });
  node.stop();
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", cat("TANGRAM_CRASH_POINT=", GetParam())});
  node.start();
  (void)node.try_call("POST", cat("/v1/jobs/", id, "/move"),
                      json::object{{"to", {{"gpu", 1}, {"start", 2}}}});
  node.await_crash();
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  node.start();
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0) << node.log();
  std::istringstream lines(node.folder().read("steps"));
  int run = 0;
  int step = 0;
  int last_run = 0;
  int last_step = 0;
  while (lines >> run >> step) {
    EXPECT_GE(run, last_run) << "both ran\n" << node.folder().read("steps");
    if (run == last_run) {
      EXPECT_EQ(step, last_step + 1);
    }
    last_run = run;
    last_step = step;
  }
  // At this point it is unknown whether the successor has started: it is ended and the move rolled
  // back.
  if (std::string_view(GetParam()) != "performed:spawned") {
    EXPECT_EQ(last_run, 2) << node.log();
  }
  EXPECT_EQ(last_step, 100);
  eventually("no run is left", [&] { return node.shims().empty(); });
}

INSTANTIATE_TEST_SUITE_P(Steps, TrainingKilledAt,
                         testing::Values("committed:move-asked", "committed:instance-created",
                                         "performed:start-job", "performed:checkpoint-asked",
                                         "performed:checkpoint-saved", "performed:frozen",
                                         "performed:spawned", "stepped:job-ready",
                                         "committed:job-ready", "committed:traffic-switched",
                                         "committed:traffic-drained", "performed:stop-job",
                                         "stepped:job-exited"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace tangram::tests
