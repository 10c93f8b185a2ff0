// The cost of the store: encoding an event and a saved job, a batch of submissions in one
// transaction (by size, with the scheduler's own steps separately), and loading what a restarted
// daemon needs. The store is on the disk of TMPDIR; synchronous=FULL is part of the figure. Every
// iteration writes new rows.
#include <cstdlib>
#include <filesystem>

#include <benchmark/benchmark.h>

#include "store/event_json.hpp"
#include "store/replay.hpp"
#include "store/saved_json.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::bench {
namespace {

using store::testing::SchedulerDriver;

core::Event submission(std::uint64_t id) {
  return core::JobSubmitted{{.id = core::JobId(id), .profile = "1g.5gb"}};
}

void encode_event(benchmark::State& state) {
  std::uint64_t id = 0;
  for (auto _ : state) benchmark::DoNotOptimize(store::event_json(submission(++id)));
}
BENCHMARK(encode_event);

void decode_event(benchmark::State& state) {
  const std::string text = store::event_json(submission(123'456));
  for (auto _ : state) benchmark::DoNotOptimize(store::read_event(text));
}
BENCHMARK(decode_event);

core::SavedJob running_job() {
  core::SavedJob job;
  job.profile = "1g.5gb";
  job.job.id = core::JobId(123'456);
  job.job.order = 123'455;
  job.job.phase = core::JobPhase::kRunning;
  job.job.main = {core::GpuId(3), core::InstanceId(17), core::RunId(99), true, false};
  return job;
}

void encode_saved_job(benchmark::State& state) {
  const core::SavedJob job = running_job();
  for (auto _ : state) benchmark::DoNotOptimize(store::saved_json(job));
}
BENCHMARK(encode_saved_job);

void decode_saved_job(benchmark::State& state) {
  const std::string text = store::saved_json(running_job());
  for (auto _ : state) benchmark::DoNotOptimize(store::read_saved_job(text));
}
BENCHMARK(decode_saved_job);

// A store and the scheduler in front of it.
struct StoreFixture {
  explicit StoreFixture(const os::testing::Folder& folder)
      : store(std::move(*store::Store::open(folder.at("tangram.db"), {}))) {
    for (int i = 0; i < 4; ++i) {
      driver.step(core::GpuAdded{store::testing::model_named("A100-40GB"), {}});
    }
    CHECK(store->commit(driver.take()).has_value());
  }
  store::Changes batch(int size) {
    for (int i = 0; i < size; ++i) driver.submit(next++);
    return driver.take();
  }

  std::unique_ptr<store::Store> store;
  SchedulerDriver driver;
  std::uint64_t next = 1;
};

// Times commit() only. After the first jobs all wait, so a batch consists of submissions only.
void commit_submissions(benchmark::State& state) {
  const os::testing::Folder folder;
  StoreFixture fixture(folder);
  const int size = static_cast<int>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    const store::Changes batch = fixture.batch(size);
    state.ResumeTiming();
    CHECK(fixture.store->commit(batch).has_value());
  }
  state.SetItemsProcessed(state.iterations() * size);
}
BENCHMARK(commit_submissions)->Arg(1)->Arg(10)->Arg(50)->Arg(200)->UseRealTime();

// With the scheduler's steps and take_changes(): the daemon's total cost.
void step_and_commit(benchmark::State& state) {
  const os::testing::Folder folder;
  StoreFixture fixture(folder);
  const int size = static_cast<int>(state.range(0));
  for (auto _ : state) CHECK(fixture.store->commit(fixture.batch(size)).has_value());
  state.SetItemsProcessed(state.iterations() * size);
}
BENCHMARK(step_and_commit)->Arg(1)->Arg(50)->UseRealTime();

void load_queue(benchmark::State& state) {
  const os::testing::Folder folder;
  StoreFixture fixture(folder);
  for (int left = static_cast<int>(state.range(0)); left > 0; left -= 500) {
    CHECK(fixture.store->commit(fixture.batch(500)).has_value());
  }
  for (auto _ : state) {
    const auto contents = fixture.store->load(1000);
    CHECK(contents.has_value());
    benchmark::DoNotOptimize(SchedulerDriver(*contents).scheduler().waiting_count());
  }
}
BENCHMARK(load_queue)->Arg(10'000)->Unit(benchmark::kMillisecond);

void replay_steps(benchmark::State& state) {
  const os::testing::Folder folder;
  StoreFixture fixture(folder);
  for (int i = 0; i < 20; ++i) CHECK(fixture.store->commit(fixture.batch(500)).has_value());
  for (auto _ : state) CHECK(store::replay(*fixture.store).has_value());
  state.SetItemsProcessed(state.iterations() * 10'000);
}
BENCHMARK(replay_steps)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tangram::bench

BENCHMARK_MAIN();
