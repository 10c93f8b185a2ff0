// A random load on a real daemon (short jobs, services that move, cancels, a driver that fails one
// change in twenty), whose journal is then replayed by a scheduler. The load differs in every run
// and its seed is printed; the replay must reproduce every decision and table.
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "store/replay.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

class RandomLoad {
 public:
  explicit RandomLoad(std::uint64_t seed)
      : random_(seed), node_({.emulate = "3xA100-40GB", .config = config()}) {}

  void run(int jobs) {
    node_.start();
    ASSERT_TRUE(node_.is_running());
    inject_faults();
    for (int i = 0; i < jobs; ++i) {
      submit();
      if (draw(8) == 0) cancel_one();
      if (draw(4) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(draw(60)));
    }
    node_.tangram({"emulate", "fault", "clear"});
    end_all();
    node_.stop();
  }
  [[nodiscard]] std::string store() const { return node_.state_dir() + "/tangram.db"; }

 private:
  // Errors that the device module retries, errors that it does not retry, and instances that cannot
  // be destroyed; those block slices for half a minute, so they are rarer.
  void inject_faults() {
    const auto fault = [&](const char* call, const char* percent) {
      node_.tangram({"emulate", "fault", "call", call, "--times", "0", "--percent", percent});
    };
    fault("nvmlDeviceCreateGpuInstanceWithPlacement=INSUFFICIENT_RESOURCES", "5");
    fault("nvmlGpuInstanceCreateComputeInstance=UNKNOWN", "5");
    fault("nvmlGpuInstanceDestroy=IN_USE", "5");
    fault("nvmlComputeInstanceDestroy=UNKNOWN", "1");
  }
  static std::string config() {
    return "[device]\nobserve_every = \"100ms\"\n"
           "[scheduler]\nmigration = \"both\"\ncooldown = \"0s\"\nthreshold = \"0.6\"\n";
  }
  // Most jobs end by themselves; a few would wait half a minute for a failed change: cancel them.
  void end_all() {
    const auto cancel_after = std::chrono::steady_clock::now() + std::chrono::seconds(4);
    eventually("every job has ended", [&] {
      const auto jobs = node_.call("GET", "/v1/jobs").as_array();
      if (std::chrono::steady_clock::now() < cancel_after) return jobs.empty();
      for (const auto& job : jobs) cancel(job.at("id").to_number<std::uint64_t>());
      return jobs.empty();
    });
  }
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  void submit() {
    static constexpr const char* kProfiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb",
                                                "4g.20gb"};
    const bool service = draw(2) == 0;
    last_ = node_.submit(
        kProfiles[draw(5)],
        cat("sleep 0.", service ? draw(2) : 0, draw(5), draw(10), "; exit ", draw(5) == 0 ? 1 : 0),
        {{"kind", service ? "service" : "batch"},
         {"move", {{"way", service ? "replica" : "never"}}},
         {"endpoint", {{"mode", "none"}}},
         {"restart", draw(4) == 0 ? "on-failure" : "never"}});
  }
  // One of the last eight jobs; it may have ended already.
  void cancel_one() {
    const auto back = static_cast<std::uint64_t>(draw(8));
    if (back < last_) cancel(last_ - back);
  }
  void cancel(std::uint64_t job) { node_.call("POST", cat("/v1/jobs/", job, "/cancel"), 0); }

  std::mt19937_64 random_;
  Node node_;
  std::uint64_t last_ = 0;
};

TEST(LockStep, TheJournalOfARandomLoadIsReplayedExactly) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(cat("seed ", seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  RandomLoad load(seed);
  load.run(150);
  if (HasFatalFailure()) return;
  const auto store = store::Store::open(load.store(), {.read_only = true});
  ASSERT_TRUE(store) << store.error().message;
  const auto replayed = store::replay(**store);
  ASSERT_TRUE(replayed) << replayed.error().message;
  const auto counts = (*store)->counts();
  ASSERT_TRUE(counts) << counts.error().message;
  std::printf("%llu steps, %llu runs, %llu moves\n",
              static_cast<unsigned long long>(replayed->steps),
              static_cast<unsigned long long>(counts->runs),
              static_cast<unsigned long long>(counts->moves));
  EXPECT_EQ(replayed->last, counts->last_step);
  EXPECT_EQ(counts->jobs, 150U);
  EXPECT_EQ(counts->jobs_over, 150U);
  EXPECT_GT(counts->moves, 0U);
}

}  // namespace
}  // namespace tangram::tests
