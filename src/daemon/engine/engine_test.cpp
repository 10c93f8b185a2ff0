// The engine with an fsync that the test can delay or fail: reads are served meanwhile, and a batch
// has no effect before it is durable.
#include "daemon/engine/engine.hpp"

#include <atomic>
#include <semaphore>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mig/catalog.hpp"
#include "tests/support/base/await.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

using ::testing::ElementsAre;

struct EngineFixture {
  EngineFixture() {
    auto opened = store::Store::open(folder.at("tangram.db"), {});
    store = *std::move(opened);
    engine = std::make_unique<Engine>(
        loop, *store,
        FsyncThread::Work{[this] { return sync(); }, [this] { return checkpoint(); }});
    EXPECT_TRUE(engine->load({}));
    engine->set_on_events([this](const auto& events) {
      for (const store::EventRow& event : events) published.push_back(event.kind);
    });
    ActionExecutors executors;
    executors.create = [this](const core::CreateInstance& create) { created.push_back(create); };
    engine->set_executors(std::move(executors),
                          [this](const auto& jobs) { changed += jobs.size(); });
  }
  ~EngineFixture() {
    sync_allowed.release(1'000);
    log_allowed.release(1'000);
  }
  EngineFixture(const EngineFixture&) = delete;
  EngineFixture& operator=(const EngineFixture&) = delete;
  EngineFixture(EngineFixture&&) = delete;
  EngineFixture& operator=(EngineFixture&&) = delete;

  // On the FsyncThread.
  Result<void> sync() {
    ++syncs;
    sync_allowed.acquire();
    if (next_sync_fails.exchange(false)) return failed("fsync failed.");
    return {};
  }
  Result<void> checkpoint() {
    log_allowed.acquire();
    return {};
  }
  template <class Done>
  void run_until(Done done) {
    const auto work = boost::asio::make_work_guard(loop);
    loop.restart();
    ::tangram::testing::await(done, [&] { loop.run_one_for(std::chrono::milliseconds(10)); });
  }
  // Runs what the loop has ready, without waiting for the disk.
  void run_ready_handlers() {
    for (int i = 0; i < 10; ++i) {
      bool done = false;
      boost::asio::post(loop, [&] { done = true; });
      run_until([&] { return done; });
    }
  }
  void post(const core::Event& event, bool may_be_refused = false) {
    engine->post(Input{.event = event,
                       .done =
                           [this](const Result<void>& done) {
                             answers.push_back(done ? "done" : done.error().message);
                           },
                       .may_be_refused = may_be_refused});
  }
  void add_gpu() {
    post(core::GpuAdded{{std::shared_ptr<void>(), *mig::find_model("A100-40GB")}, {}});
  }

  os::testing::Folder folder;
  boost::asio::io_context loop;
  std::counting_semaphore<> sync_allowed{0};
  std::counting_semaphore<> log_allowed{1'000};
  std::atomic<int> syncs = 0;
  std::atomic<bool> next_sync_fails = false;
  std::vector<std::string> published;
  std::vector<std::string> answers;
  std::vector<core::CreateInstance> created;
  std::size_t changed = 0;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
};

core::JobSubmitted job_submitted() {
  core::JobSpec spec;
  spec.id = core::JobId(1);
  spec.profile = "1g.5gb";
  return {spec};
}

TEST(Engine, ABatchHasNoEffectBeforeItIsDurable) {
  EngineFixture fixture;
  fixture.add_gpu();
  fixture.post(job_submitted(), true);
  fixture.run_until([&] { return fixture.syncs == 1; });
  fixture.run_ready_handlers();
  // The new state can be read; it has no other effect yet.
  EXPECT_EQ(fixture.engine->scheduler().node().gpu_count(), 1U);
  EXPECT_EQ(fixture.store->last_step(), 2U);
  EXPECT_FALSE(fixture.engine->is_idle());
  EXPECT_THAT(fixture.published, ElementsAre());
  EXPECT_THAT(fixture.answers, ElementsAre());
  EXPECT_TRUE(fixture.created.empty());
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.engine->is_idle(); });
  EXPECT_THAT(fixture.answers, ElementsAre("done", "done"));
  EXPECT_FALSE(fixture.published.empty());
  EXPECT_EQ(fixture.created.size(), 1U);
}

// A job that the batch in flight does not touch is durable; waiters are notified when all are.
TEST(Engine, KnowsWhatIsDurable) {
  EngineFixture fixture;
  fixture.add_gpu();
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.engine->is_idle(); });
  EXPECT_TRUE(fixture.engine->is_durable(std::nullopt));
  fixture.engine->post(Input{.event = job_submitted(), .edit_rows = [](JobTable& records) {
                               store::JobRow row;
                               row.id = 1;
                               records.put(row);
                             }});
  fixture.run_until([&] { return fixture.syncs == 2; });
  EXPECT_FALSE(fixture.engine->is_durable(std::nullopt));
  EXPECT_FALSE(fixture.engine->is_durable(1));
  EXPECT_TRUE(fixture.engine->is_durable(2));
  int notified = 0;
  const auto handle = fixture.engine->on_durable([&] { ++notified; });
  auto released = fixture.engine->on_durable([&] { notified += 100; });
  released.reset();
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.engine->is_durable(1); });
  EXPECT_EQ(notified, 1);
  EXPECT_TRUE(fixture.engine->is_durable(std::nullopt));
}

TEST(Engine, InputsPostedDuringASyncAreOneBatchAfterwards) {
  EngineFixture fixture;
  fixture.add_gpu();
  fixture.run_until([&] { return fixture.syncs == 1; });
  for (int i = 0; i < 5; ++i) {
    fixture.post(core::GpuCordoned{core::GpuId(0)});
    fixture.post(core::GpuUncordoned{core::GpuId(0)});
    fixture.run_ready_handlers();
  }
  EXPECT_EQ(fixture.store->last_step(), 1U);
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.syncs == 2; });
  EXPECT_EQ(fixture.store->last_step(), 11U);
  EXPECT_EQ(fixture.answers.size(), 1U);
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.engine->is_idle(); });
  EXPECT_EQ(fixture.answers.size(), 11U);
  EXPECT_EQ(fixture.syncs, 2);
}

// Whether the batch is durable is unknown after a failed fsync, so its callers wait for the retry.
TEST(Engine, AFailedSyncIsRetriedAndNothingIsLost) {
  EngineFixture fixture;
  fixture.add_gpu();
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.engine->is_idle(); });
  fixture.answers.clear();
  fixture.next_sync_fails = true;
  fixture.post(job_submitted(), true);
  fixture.run_until([&] { return fixture.syncs == 2; });
  fixture.post(core::GpuCordoned{core::GpuId(0)}, true);  // a request that waits for its batch
  fixture.post(core::GpuHealth{core::GpuId(0), core::Health::kUnresponsive});
  fixture.sync_allowed.release();
  fixture.run_until([&] { return !fixture.engine->store_error().empty(); });
  EXPECT_THAT(fixture.answers, ElementsAre("fsync failed."));  // the second request
  fixture.post(core::GpuCordoned{core::GpuId(0)}, true);
  EXPECT_THAT(fixture.answers, ElementsAre("fsync failed.", "fsync failed."));
  EXPECT_TRUE(fixture.created.empty());
  fixture.sync_allowed.release(2);
  fixture.run_until([&] { return fixture.engine->is_idle(); });
  EXPECT_EQ(fixture.engine->store_error(), "");
  EXPECT_THAT(fixture.answers, ElementsAre("fsync failed.", "fsync failed.", "done", "done"));
  EXPECT_EQ(fixture.created.size(), 1U);
  EXPECT_EQ(fixture.engine->scheduler().node().gpu(core::GpuId(0)).health,
            core::Health::kUnresponsive);
  EXPECT_FALSE(fixture.engine->scheduler().node().gpu(core::GpuId(0)).cordoned);
}

// Callers do not wait until the log is checkpointed; the next batch does.
TEST(Engine, ShortensTheLogBetweenTwoBatches) {
  EngineFixture fixture;
  while (fixture.log_allowed.try_acquire()) {
  }
  fixture.add_gpu();
  fixture.sync_allowed.release(2);
  fixture.run_until([&] { return fixture.answers.size() == 1; });
  EXPECT_TRUE(fixture.engine->is_durable(std::nullopt));
  fixture.post(core::GpuCordoned{core::GpuId(0)});
  int calls = 0;
  fixture.engine->between_batches([&] { ++calls; });
  fixture.run_ready_handlers();
  EXPECT_EQ(fixture.store->last_step(), 1U);
  EXPECT_EQ(calls, 0);
  fixture.log_allowed.release(2);
  fixture.run_until([&] { return fixture.answers.size() == 2; });
  EXPECT_EQ(fixture.store->last_step(), 2U);
  EXPECT_EQ(calls, 1);
}

// Only reports of the driver count, not other inputs.
TEST(Engine, KnowsWhetherDriverReportsAreProcessed) {
  EngineFixture fixture;
  fixture.add_gpu();
  EXPECT_FALSE(fixture.engine->driver_reports_processed());
  fixture.run_until([&] { return fixture.syncs == 1; });
  EXPECT_FALSE(fixture.engine->driver_reports_processed());
  fixture.sync_allowed.release();
  fixture.run_until([&] { return fixture.engine->is_idle(); });
  fixture.post(job_submitted());
  fixture.post(core::WakeUp{});
  EXPECT_TRUE(fixture.engine->driver_reports_processed());
  EXPECT_FALSE(fixture.engine->is_idle());
}

// close() does not wait for the effects of the batch in flight.
TEST(Engine, TheBatchInFlightAtTheEndIsInTheStore) {
  EngineFixture fixture;
  fixture.add_gpu();
  fixture.run_until([&] { return fixture.syncs == 1; });
  fixture.sync_allowed.release();
  fixture.engine->close();
  fixture.run_ready_handlers();
  EXPECT_THAT(fixture.answers, ElementsAre());
  fixture.engine.reset();
  fixture.store.reset();
  const auto again = store::Store::open(fixture.folder.at("tangram.db"), {});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->last_step(), 1U);
}

}  // namespace
}  // namespace tangram::daemon
