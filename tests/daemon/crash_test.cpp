// What must survive a crash of the daemon, a shim or a job, a full disk or a reboot. After each,
// the daemon's records are compared with the machine: no acknowledged job is lost, none ran twice,
// every exit status is right, no instance and no process is left over.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "chaos.hpp"
#include "node.hpp"
#include "program.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

std::string text(const json::object& job, const char* key) {
  const json::value& value = job.at(key);
  return value.is_string() ? std::string(value.as_string()) : "";
}

std::string until(const std::string& file, int code) {
  return cat("echo begun; while [ ! -e ", file, " ]; do sleep 0.02; done; exit ", code);
}

TEST(Crash, AKilledDaemonRecoversItsJobs) {
  Node node;
  node.start();
  const auto running = node.submit("2g.10gb", until(node.at("go"), 7));
  const auto ends_meanwhile = node.submit("1g.5gb", until(node.at("end"), 9));
  const json::object before = node.await(running, "running");
  node.await(ends_meanwhile, "running");
  node.kill();
  node.folder().write("end", "");
  eventually("it has ended without a daemon", [&] { return node.shims().size() == 1; });
  node.start();
  EXPECT_EQ(node.await(ends_meanwhile, "over").at("exit_code"), 9);
  const json::object after = node.job(running);
  EXPECT_EQ(text(after, "state"), "running");
  EXPECT_EQ(after.at("pid"), before.at("pid"));
  EXPECT_EQ(after.at("uuid"), before.at("uuid"));
  node.folder().write("go", "");
  EXPECT_EQ(node.await(running, "over").at("exit_code"), 7);
  EXPECT_EQ(node.output(running), "begun\n");
}

// A binary in another folder: neither the shims nor the store depend on the daemon's path.
TEST(Crash, AnUpgradeToANewBinaryDoesNotAffectJobs) {
  namespace fs = std::filesystem;
  Node node;
  const fs::path old = fs::path(TANGRAMD_BINARY).parent_path();
  const fs::path fresh = node.at("upgrade");
  fs::create_directories(fresh / "emulator");
  for (const char* each :
       {"tangramd", "tangram-shim", "tangram-endpoint", "emulator/libnvidia-ml.so.1"}) {
    fs::copy_file(old / each, fresh / each);
  }
  node.start();
  const auto id = node.submit("2g.10gb", until(node.at("go"), 3));
  node.await(id, "running");
  node.stop();
  EXPECT_EQ(node.shims().size(), 1U);
  node.use_program((fresh / "tangramd").string());
  node.start();
  EXPECT_EQ(node.state(id), "running");
  EXPECT_EQ(node.await(node.submit("1g.5gb", "exit 2"), "over").at("exit_code"), 2);
  node.folder().write("go", "");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 3);
}

TEST(Crash, AJobWhoseShimIsKilledFailsWithAllItsProcesses) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "setsid sleep 1000 & sleep 1000 & echo up; wait");
  eventually("it is up", [&] { return node.output(id) == "up\n"; });
  ASSERT_EQ(node.shims().size(), 1U);
  ::kill(node.shims().front(), SIGKILL);
  const json::object job = node.await(id, "failed");
  EXPECT_EQ(text(job, "reason"), "shim lost");
  EXPECT_TRUE(job.at("exit_code").is_null());
  EXPECT_TRUE(node.run_processes().empty());
  // The instance can be used again.
  EXPECT_EQ(node.await(node.submit("1g.5gb", "true"), "over").at("exit_code"), 0);
}

TEST(Crash, AShimKilledWhileNoDaemonRunsIsDetectedAtTheStart) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "sleep 1000 & wait");
  node.await(id, "running");
  node.kill();
  ASSERT_EQ(node.shims().size(), 1U);
  ::kill(node.shims().front(), SIGKILL);
  node.start();
  EXPECT_EQ(text(node.await(id, "failed"), "reason"), "shim lost");
  EXPECT_TRUE(node.run_processes().empty());
}

TEST(Crash, ARebootIsRecognised) {
  Node node;
  node.start();
  const auto never = node.submit("2g.10gb", "sleep 1000");
  const auto again = node.submit("1g.5gb", until(node.at("go"), 0), {{"restart", "on-failure"}});
  node.await(never, "running");
  node.await(again, "running");
  node.kill();
  for (const pid_t shim : node.shims()) ::kill(shim, SIGKILL);
  for (const pid_t pid : node.run_processes()) ::kill(pid, SIGKILL);
  node.tangram({"emulate", "reboot"});
  EXPECT_TRUE(node.instances().empty());
  node.folder().write("go", "");
  node.start();
  EXPECT_EQ(text(node.await(never, "failed"), "reason"), "the node was rebooted while it ran");
  EXPECT_EQ(node.await(again, "over").at("exit_code"), 0);
  EXPECT_EQ(node.job(again).at("restarts"), 1);
}

TEST(Crash, ADamagedStoreIsRefusedWithAdvice) {
  Node node;
  node.start();
  node.await(node.submit("1g.5gb", "true"), "over");
  node.stop();
  const std::string path = node.state_dir() + "/tangram.db";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file << std::string(30'000, 'x');
  }
  EXPECT_EQ(node.start_and_fail(), 1);
  EXPECT_NE(node.log().find("tangram store restore"), std::string::npos) << node.log();
}

TEST(Crash, ASecondDaemonIsRefused) {
  Node node;
  node.start();
  int code = 0;
  const std::string socket = node.at("other");
  const Ended ended = run_program(TANGRAMD_BINARY, {"--state-dir", node.state_dir(), "--socket",
                                                    socket, "--emulate", "2xA100-40GB"});
  code = ended.code;
  EXPECT_EQ(code, 1);
  EXPECT_NE(ended.err.find("another"), std::string::npos) << ended.err;
}

// A small file system for the state; needs root to mount it.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& where) : where_(where) {
    std::filesystem::create_directories(where);
    mounted_ = mount("tmpfs", where.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(where_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  SmallDisk(SmallDisk&&) = delete;
  SmallDisk& operator=(SmallDisk&&) = delete;
  [[nodiscard]] bool is_mounted() const { return mounted_; }
  void fill() const {
    const int fd = open((where_ + "/filler").c_str(), O_WRONLY | O_CREAT, 0600);
    const std::string block(4096, 'x');
    while (write(fd, block.data(), block.size()) > 0) {
    }
    close(fd);
  }
  void free() const { std::filesystem::remove(where_ + "/filler"); }
  [[nodiscard]] bool set_read_only(bool yes) const {
    return mount("tmpfs", where_.c_str(), "tmpfs", yes ? MS_REMOUNT | MS_RDONLY : MS_REMOUNT,
                 "size=4m") == 0;
  }

 private:
  std::string where_;
  bool mounted_ = false;
};

TEST(Crash, AFullDiskLosesNothing) {
  Node node;
  const SmallDisk disk(node.state_dir());
  if (!disk.is_mounted()) GTEST_SKIP() << "needs root to mount a small file system";
  node.start();
  const auto id = node.submit("2g.10gb", until(node.at("go"), 21));
  node.await(id, "running");
  disk.fill();
  eventually("submissions are refused", [&] {
    auto refused = node.try_call("POST", "/v1/jobs", node.job_request("1g.5gb", "true"));
    return !refused;
  });
  node.folder().write("go", "");
  eventually("it has ended", [&] { return node.shims().empty(); });
  disk.free();
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 21);
  const auto next = node.submit("1g.5gb", "true");
  EXPECT_EQ(node.await(next, "over").at("exit_code"), 0);
}

TEST(Crash, AReadOnlyStoreIsReportedAtTheStart) {
  Node node;
  const SmallDisk disk(node.state_dir());
  if (!disk.is_mounted()) GTEST_SKIP() << "needs root to mount a small file system";
  node.start();
  const auto id = node.submit("1g.5gb", "exit 4");
  node.await(id, "over");
  node.stop();
  ASSERT_TRUE(disk.set_read_only(true));
  EXPECT_EQ(node.start_and_fail(), 1);
  EXPECT_NE(node.log().find("ead-only"), std::string::npos) << node.log();
  ASSERT_TRUE(disk.set_read_only(false));
  node.start();
  EXPECT_EQ(node.job(id).at("exit_code"), 4);
}

TEST(Crash, AGpuThatFallsOffTheBusFailsItsJobs) {
  Node node;
  node.start();
  const auto id = node.submit("7g.40gb", "sleep 1000");
  const json::object job = node.await(id, "running");
  node.tangram({"emulate", "fault", "fall-off", cat(job.at("gpu").to_number<int>())});
  EXPECT_EQ(text(node.await(id, "failed"), "reason"), "its GPU was lost");
  eventually("its process is gone", [&] { return node.run_processes().empty(); });
  EXPECT_EQ(node.await(node.submit("7g.40gb", "true"), "over").at("exit_code"), 0);
}

// The short form; the program chaos (chaos_main.cpp) is the long one.
TEST(Crash, KilledAtRandomMomentsUnderLoad) {
  const ChaosResult result = run_chaos({.rounds = 12, .seed = 1});
  EXPECT_EQ(result.violations, std::vector<std::string>());
  EXPECT_GT(result.acknowledged, 30U);
}

}  // namespace
}  // namespace tangram::tests
