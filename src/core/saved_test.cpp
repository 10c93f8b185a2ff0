// Restoring invalid state: a damaged store must give an Error, never a failed CHECK. That a
// restored scheduler continues as the original is tested in tests/properties/saved_test.cpp.
#include "core/saved.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mig/catalog.hpp"

namespace tangram::core {
namespace {

using ::testing::HasSubstr;

// The core has no policies of its own.
constexpr PlacementPolicy kFirst{
    "paper", "", {}, [](const Node&, const Request&, const Slot& slot) -> Key {
      return {slot.gpu.value(), slot.start};
    }};
constexpr QueuePolicy kFcfs{"fcfs", "",
                            [](const Waiting& a, const Waiting& b) { return a.order < b.order; }};
constexpr MigrationPolicy kOff{"both", "", [](const Node&, GpuId) { return Answer{}; }};
constexpr Policies kPolicies{&kFirst, &kFcfs, &kOff};

std::shared_ptr<const mig::Model> a100() {
  return {std::shared_ptr<void>(), *mig::find_model("A100-40GB")};
}

// Two GPUs; job 1 runs, job 2 starts, job 3 waits for its instance, jobs 4 and 5 wait.
Scheduler some_scheduler() {
  Scheduler s({}, kPolicies);
  Actions out;
  std::int64_t at = 0;
  const auto step = [&](const Event& e) { s.step(Instant(Duration(++at)), e, out); };
  step(GpuAdded{a100(), {}});
  step(GpuAdded{a100(), {}});
  const char* profiles[] = {"3g.20gb", "3g.20gb", "7g.40gb", "7g.40gb", "1g.5gb"};
  for (std::uint64_t id = 1; id <= 5; ++id) {
    step(JobSubmitted{{.id = JobId(id), .profile = profiles[id - 1]}});
  }
  step(InstanceCreated{GpuId(0), InstanceId(1)});
  step(InstanceCreated{GpuId(0), InstanceId(2)});
  step(JobReady{JobId(1), RunId(1)});
  return s;
}

SavedJob& job(Saved& saved, std::size_t id) { return saved.jobs[id - 1]; }
SavedEntry& entry(Saved& saved, std::size_t i) { return saved.gpus[0].entries[i]; }

TEST(Saved, ComesBackAsItWas) {
  const Saved saved = some_scheduler().save();
  ASSERT_EQ(saved.jobs.size(), 5U);
  ASSERT_EQ(saved.gpus[0].entries.size(), 2U);
  auto restored = Scheduler::restore(saved, kPolicies);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->save(), saved);
  EXPECT_EQ(restored->waiting(), (std::vector{JobId(4), JobId(5)}));
}

TEST(Saved, AnEmptySchedulerToo) {
  Scheduler fresh({}, kPolicies);
  const auto restored = Scheduler::restore(fresh.save(), kPolicies);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->save(), fresh.save());
}

TEST(Saved, PoliciesMustBeThoseOfTheTuning) {
  Saved saved = some_scheduler().save();
  saved.rest.tuning.queue = "largest-memory";
  EXPECT_FALSE(Scheduler::restore(saved, kPolicies));
}

TEST(Saved, ChangesAreOnlyWhatChanged) {
  Scheduler s = some_scheduler();
  s.track_changes();
  Actions out;
  s.step(s.node().now(), JobReady{JobId(2), RunId(2)}, out);
  const SavedChanges changes = s.take_changes();
  ASSERT_EQ(changes.jobs.size(), 1U);
  EXPECT_EQ(changes.jobs[0].job.id, JobId(2));
  ASSERT_EQ(changes.gpus.size(), 1U);
  EXPECT_EQ(changes.gpus[0].id, GpuId(0));
  s.step(s.node().now(), JobCancelled{JobId(5)}, out);
  const SavedChanges more = s.take_changes();
  EXPECT_TRUE(more.jobs.empty());
  EXPECT_EQ(more.jobs_gone, (std::vector{JobId(5)}));
  // Submitting does not touch the jobs that are waiting.
  s.step(s.node().now(), JobSubmitted{{.id = JobId(6), .profile = "1g.5gb"}}, out);
  EXPECT_EQ(s.take_changes().jobs.size(), 1U);
}

TEST(Saved, AnIdGivenAgainIsNotGone) {
  Scheduler s = some_scheduler();
  s.track_changes();
  Actions out;
  s.step(s.node().now(), JobCancelled{JobId(5)}, out);
  s.step(s.node().now(), JobSubmitted{{.id = JobId(5), .profile = "1g.5gb"}}, out);
  const SavedChanges changes = s.take_changes();
  EXPECT_TRUE(changes.jobs_gone.empty());
  ASSERT_EQ(changes.jobs.size(), 1U);
  EXPECT_EQ(changes.jobs[0].job.order, 5U);
}

struct Damage {
  const char* why;
  std::function<void(Saved&)> done;
};

TEST(Saved, NonsenseIsRefused) {
  const Damage damages[] = {
      {"number 1", [](Saved& s) { s.gpus.erase(s.gpus.begin()); }},
      {"no model", [](Saved& s) { s.gpus[1].model = nullptr; }},
      {"health", [](Saved& s) { s.gpus[1].health = static_cast<Health>(9); }},
      {"is lost", [](Saved& s) { s.gpus[0].health = Health::kLost; }},
      {"more instances", [](Saved& s) { s.gpus[0].entries.resize(33); }},
      {"a layout", [](Saved& s) { s.gpus[0].layout = {{mig::ProfileIndex(0), 0}}; }},
      {"drain", [](Saved& s) { s.gpus[0].draining = true; }},
      {"target of an incoming move", [](Saved& s) { s.gpus[1].incoming = true; }},
      {"overlap", [](Saved& s) { entry(s, 1).placement = entry(s, 0).placement; }},
      {"where none", [](Saved& s) { entry(s, 0).placement.start = 3; }},
      {"does not wait", [](Saved& s) { job(s, 1).job.reservation.emplace(); }},
      {"a reservation nowhere",
       [](Saved& s) { job(s, 4).job.reservation = Reservation{GpuId(9), 0, {}}; }},
      {"other slices", [](Saved& s) { s.rest.usage = {{.user = 0, .used = 0, .slices = 1}}; }},
      {"has no usage", [](Saved& s) { job(s, 1).job.counted_slices = 4; }},
      {"given twice", [](Saved& s) { s.rest.usage = {{.user = 3}, {.user = 3}}; }},
      {"where none", [](Saved& s) { entry(s, 0).placement.profile = mig::ProfileIndex(99); }},
      {"no known state", [](Saved& s) { entry(s, 0).state = static_cast<EntryState>(7); }},
      {"no job holds", [](Saved& s) { entry(s, 0).state = EntryState::kIdle; }},
      {"flags", [](Saved& s) { entry(s, 0).movable = false; }},
      {"flags", [](Saved& s) { entry(s, 1).leaving = true; }},
      {"belongs to job 77", [](Saved& s) { entry(s, 0).job = JobId(77); }},
      {"not where its job is", [](Saved& s) { entry(s, 1).job = JobId(4); }},
      {"held by no job", [](Saved& s) { entry(s, 1).job.reset(); }},
      {"duplicate instance", [](Saved& s) { entry(s, 1).id = entry(s, 0).id; }},
      {"impossible number", [](Saved& s) { entry(s, 1).id = InstanceId(1000); }},
      {"impossible number", [](Saved& s) { entry(s, 1).id = kNoInstance; }},
      {"duplicate job", [](Saved& s) { job(s, 2).job.id = JobId(1); }},
      {"as the same", [](Saved& s) { job(s, 2).job.order = 0; }},
      {"future", [](Saved& s) { job(s, 2).job.order = 100; }},
      {"duplicate run", [](Saved& s) { job(s, 2).job.main.run = RunId(1); }},
      {"impossible place", [](Saved& s) { job(s, 2).job.main.run = RunId(100); }},
      {"impossible place", [](Saved& s) { job(s, 2).job.main.gpu = GpuId(2); }},
      {"impossible place", [](Saved& s) { job(s, 5).job.replica.gpu = GpuId(2); }},
      {"no job can have", [](Saved& s) { job(s, 2).job.phase = static_cast<JobPhase>(6); }},
      {"no job can have", [](Saved& s) { job(s, 2).job.holds = 32; }},
      {"not there", [](Saved& s) { job(s, 2).job.back_offs = {{GpuId(9), 0, 1, {}}}; }},
      {"no GPU has", [](Saved& s) { job(s, 5).profile = "9g.99gb"; }},
      {"another profile", [](Saved& s) { job(s, 1).profile = "4g.20gb"; }},
      {"without a cause", [](Saved& s) { job(s, 5).job.phase = JobPhase::kHeld; }},
      {"flags", [](Saved& s) { job(s, 1).job.phase = JobPhase::kQueued; }},
      {"has a place", [](Saved& s) { job(s, 2).job.phase = JobPhase::kQueued; }},
      {"flags", [](Saved& s) { job(s, 1).job.move = MovePhase::kStarting; }},
      {"does not move", [](Saved& s) { job(s, 1).job.replica.ready = true; }},
      {"partitioning", [](Saved& s) { s.rest.partitioning = static_cast<Partitioning>(2); }},
      {"planning", [](Saved& s) { s.rest.to_plan = {GpuId(2)}; }},
      {"planning", [](Saved& s) { s.rest.restrained = {GpuId(2)}; }},
      {"timer", [](Saved& s) { s.rest.timers = {{.kind = TimerKind::kLayout, .gpu = GpuId(2)}}; }},
      {"timer", [](Saved& s) { s.rest.timers = {{.kind = static_cast<TimerKind>(7)}}; }},
      {"quarantine", [](Saved& s) { s.rest.quarantines = {{GpuId(2), InstanceId(1), 0, false}}; }},
      {"cools down", [](Saved& s) { s.rest.cooling = {JobId(99)}; }},
      {"on no GPU", [](Saved& s) { s.rest.recent = {"9g.99gb"}; }},
      {"too many recent", [](Saved& s) { s.rest.recent.resize(65, "1g.5gb"); }},
      {"begin at 0", [](Saved& s) { s.rest.next_run = 0; }},
      {"impossible", [](Saved& s) { s.rest.next_instance = 1; }},
  };
  const Saved good = some_scheduler().save();
  for (const Damage& damage : damages) {
    Saved bad = good;
    damage.done(bad);
    const auto restored = Scheduler::restore(bad, kPolicies);
    ASSERT_FALSE(restored) << damage.why;
    EXPECT_THAT(restored.error().message,
                ::testing::AnyOf(HasSubstr(damage.why), HasSubstr("does not know")));
  }
}

// Written by versions that entered a job again when it was moved within its cooldown.
TEST(Saved, RepeatedCooldownIsRepaired) {
  Saved repeated = some_scheduler().save();
  repeated.rest.cooling = {JobId(1), JobId(1)};
  const auto restored = Scheduler::restore(repeated, kPolicies);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->save().rest.cooling, std::vector{JobId(1)});
}

}  // namespace
}  // namespace tangram::core
