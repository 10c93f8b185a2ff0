// Saved state as JSON: round trips of every field.
#include "store/saved_json.hpp"

#include <gtest/gtest.h>

namespace tangram::store {
namespace {

using core::GpuId;
using core::InstanceId;
using core::JobId;
using core::RunId;

core::SavedJob full_job() {
  core::SavedJob saved;
  saved.profile = "2g.10gb";
  core::Job& job = saved.job;
  job.id = JobId(0x8000'0000'0000'0001U);
  job.order = 0xFFFF'FFFF'FFFF'FFFFU;
  job.kind = core::JobKind::kLease;
  job.phase = core::JobPhase::kStopping;
  job.allowed_to_move = false;
  job.cancelled = job.ending = job.failed = true;
  job.holds = 3;
  job.restart = core::Restart::kOnFailure;
  job.restarts = 65'535;
  job.max_restarts = 9;
  job.create_failures = 255;
  job.priority = -32'768;
  job.user = 0xFFFF'FFFFU;
  job.time_limit = Duration(0);
  job.stop_grace = Duration(1);
  job.gpu_model = "A100-40GB";
  job.main = {GpuId(1), InstanceId(2), RunId(3), true, true};
  job.replica = {GpuId(4), InstanceId(5), RunId(6), true, false};
  job.move_kind = core::MoveKind::kDrain;
  job.move = core::MovePhase::kRollingBack;
  job.replica_start = 7;
  job.cooldown_until = Instant::max();
  job.back_offs = {{GpuId(8), 9, 10, Instant(Duration(-1))}, {}};
  return saved;
}

TEST(SavedJson, JobsComeBack) {
  for (const core::SavedJob& job : {full_job(), core::SavedJob{}}) {
    const auto read = read_saved_job(saved_json(job));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, job);
  }
}

TEST(SavedJson, WhatQueuesWithBackfillKnowComesBack) {
  core::SavedJob job = full_job();
  job.job.submitted = Instant(Duration(1));
  job.job.ends = Instant{};
  job.job.counted_slices = 8;
  job.job.passed = 3;
  job.job.reservation = core::Reservation{GpuId(2), 4, Instant(Duration(5))};
  job.job.lost_reservation = Instant(Duration(6));
  const auto read = read_saved_job(saved_json(job));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, job);
}

// A store of an earlier version: no job passes, and there is no ageing, until that is tuned.
TEST(SavedJson, AnEarlierTuningHasNoFairness) {
  const auto read = read_saved_rest(R"({"v":1,"tuning":{"queue":"fcfs"}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tuning.fairness,
            (core::Fairness{.max_passes = 0, .ageing = {}, .half_life = {}}));
}

TEST(SavedJson, EveryEnumNameComesBack) {
  core::SavedJob job;
  for (int kind = 0; kind < 3; ++kind) {
    for (int phase = 0; phase < 6; ++phase) {
      for (int move = 0; move < 7; ++move) {
        job.job.kind = static_cast<core::JobKind>(kind);
        job.job.restart = static_cast<core::Restart>(kind);
        job.job.move_kind = static_cast<core::MoveKind>(kind);
        job.job.phase = static_cast<core::JobPhase>(phase);
        job.job.move = static_cast<core::MovePhase>(move);
        EXPECT_EQ(read_saved_job(saved_json(job)), job);
        job.job.move_kind = core::MoveKind::kRequested;
        EXPECT_EQ(read_saved_job(saved_json(job)), job);
      }
    }
  }
}

TEST(SavedJson, GpusComeBack) {
  core::SavedGpu gpu{.id = GpuId(9),
                     .model = nullptr,
                     .layout = {{mig::ProfileIndex(1), 2}, {}},
                     .health = core::Health::kUnresponsive,
                     .cordoned = true,
                     .draining = true,
                     .incoming = true,
                     .entries = {}};
  for (int state = 0; state < 7; ++state) {
    gpu.entries.push_back({.placement = {mig::ProfileIndex(4), 5},
                           .state = static_cast<core::EntryState>(state),
                           .movable = state % 2 == 0,
                           .leaving = state % 3 == 0,
                           .id = InstanceId(static_cast<std::uint32_t>(state)),
                           .job = state == 2 ? std::nullopt : std::optional(JobId(0))});
  }
  for (const core::SavedGpu& each : {gpu, core::SavedGpu{}}) {
    const auto read = read_saved_gpu(saved_json(each));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, each);
  }
}

TEST(SavedJson, TheRestComesBack) {
  core::SavedRest rest;
  rest.partitioning = core::Partitioning::kStatic;
  rest.tuning.threshold = core::Threshold::from_billionths(0);
  rest.tuning.queue = "largest-profile";
  rest.tuning.restraint.protect_head = false;
  rest.now = Instant(Duration(1));
  rest.woken_at = Instant{};
  rest.next_order = 1;
  rest.next_instance = 2;
  rest.next_run = 3;
  rest.try_queue = true;
  rest.head_order = 0;
  rest.to_plan = {GpuId(0), GpuId(7)};
  rest.restrained = {GpuId(1)};
  for (int kind = 0; kind < 7; ++kind) {
    rest.timers.push_back({.when = Instant(Duration(kind)),
                           .kind = static_cast<core::TimerKind>(kind),
                           .job = JobId(4),
                           .gpu = GpuId(5),
                           .instance = InstanceId(6),
                           .run = RunId(7)});
  }
  rest.quarantines = {{GpuId(1), InstanceId(2), 3, true}};
  rest.cooling = {JobId(9), JobId(8)};
  rest.recent = {"1g.5gb", "7g.40gb"};
  rest.tuning.fairness = {.max_passes = 0, .ageing = Duration(1), .half_life = {}};
  rest.ordered_at = Instant(Duration(8));
  rest.usage = {{.user = 1, .used = ~std::uint64_t{0}, .slices = 2, .since = Instant(Duration(3))},
                {.user = 0xFFFF'FFFFU}};
  for (const core::SavedRest& each : {rest, core::SavedRest{}}) {
    const auto read = read_saved_rest(saved_json(each));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, each);
  }
}

TEST(SavedJson, RejectsAnythingElse) {
  EXPECT_FALSE(read_saved_job(""));
  EXPECT_FALSE(read_saved_job(R"({"v":2})"));
  EXPECT_FALSE(read_saved_job(R"({"v":1,"colour":3})"));
  EXPECT_FALSE(read_saved_job(R"({"v":1,"main":{"gpu":-1}})"));
  EXPECT_FALSE(read_saved_gpu(R"({"v":1,"entries":[{"state":"asleep"}]})"));
  EXPECT_FALSE(read_saved_rest(R"({"v":1,"tuning":{"threshold":1000000001}})"));
}

}  // namespace
}  // namespace tangram::store
