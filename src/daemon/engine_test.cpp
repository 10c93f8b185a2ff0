// The engine and its disk, which takes its time here as long as the test wants, and fails when it
// says so: who only looks is served meanwhile, and nothing else follows before all is on the disk.
#include "daemon/engine.hpp"

#include <atomic>
#include <semaphore>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/test_folder.hpp"
#include "mig/catalog.hpp"

namespace tangram::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Bench {
  Bench() {
    auto opened = store::Store::open(folder.at("tangram.db"), {});
    store = *std::move(opened);
    engine = std::make_unique<Engine>(
        loop, *store, Disk::Work{[this] { return take_in(); }, [this] { return tidy_up(); }});
    EXPECT_TRUE(engine->load({}));
    engine->tell([this](const auto& events) {
      for (const store::EventRow& event : events) told.push_back(event.kind);
    });
    Hands hands;
    hands.create = [this](const core::CreateInstance& create) { created.push_back(create); };
    engine->use(std::move(hands), [this](const auto& jobs) { changed += jobs.size(); });
  }
  ~Bench() {
    may.release(1'000);
    tidied.release(1'000);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  Bench(Bench&&) = delete;
  Bench& operator=(Bench&&) = delete;

  // In the disk's thread.
  Result<void> take_in() {
    ++asked;
    may.acquire();
    if (fails.exchange(false)) return failed("the disk is on strike.");
    return {};
  }
  Result<void> tidy_up() {
    tidied.acquire();
    return {};
  }
  template <class Done>
  void run_until(Done done) {
    const auto work = boost::asio::make_work_guard(loop);
    loop.restart();
    while (!done()) loop.run_one_for(std::chrono::milliseconds(10));
  }
  // All that the loop has at hand: it must not wait for the disk.
  void run_a_while() {
    for (int i = 0; i < 10; ++i) {
      bool over = false;
      boost::asio::post(loop, [&] { over = true; });
      run_until([&] { return over; });
    }
  }
  void post(const core::Event& event, bool wish = false) {
    engine->post(Input{.event = event,
                       .done =
                           [this](const Result<void>& done) {
                             answers.push_back(done ? "done" : done.error().message);
                           },
                       .wish = wish});
  }
  // A GPU, and a job that wants an instance of it.
  void add_gpu() {
    post(core::GpuAdded{{std::shared_ptr<void>(), *mig::find_model("A100-40GB")}, {}});
  }

  files::testing::Folder folder;
  boost::asio::io_context loop;
  std::counting_semaphore<> may{0};
  std::counting_semaphore<> tidied{1'000};
  std::atomic<int> asked = 0;
  std::atomic<bool> fails = false;
  std::vector<std::string> told;
  std::vector<std::string> answers;
  std::vector<core::CreateInstance> created;
  std::size_t changed = 0;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
};

core::JobSubmitted a_job() {
  core::JobSpec spec;
  spec.id = core::JobId(1);
  spec.profile = "1g.5gb";
  return {spec};
}

TEST(Engine, NothingFollowsBeforeItIsOnTheDisk) {
  Bench bench;
  bench.add_gpu();
  bench.post(a_job(), true);
  bench.run_until([&] { return bench.asked == 1; });
  bench.run_a_while();
  // Who looks sees it; nothing else has happened.
  EXPECT_EQ(bench.engine->scheduler().node().gpu_count(), 1U);
  EXPECT_EQ(bench.store->last_step(), 2U);
  EXPECT_FALSE(bench.engine->settled());
  EXPECT_THAT(bench.told, ElementsAre());
  EXPECT_THAT(bench.answers, ElementsAre());
  EXPECT_TRUE(bench.created.empty());
  bench.may.release();
  bench.run_until([&] { return bench.engine->settled(); });
  EXPECT_THAT(bench.answers, ElementsAre("done", "done"));
  EXPECT_FALSE(bench.told.empty());
  EXPECT_EQ(bench.created.size(), 1U);
}

// Others can be told of a job that the batch does not touch, and are rung when all can be told.
TEST(Engine, KnowsWhatIsOnTheDisk) {
  Bench bench;
  bench.add_gpu();
  bench.may.release();
  bench.run_until([&] { return bench.engine->settled(); });
  EXPECT_TRUE(bench.engine->is_lasting(std::nullopt));
  bench.engine->post(Input{.event = a_job(), .note = [](Records& records) {
                             store::JobRow row;
                             row.id = 1;
                             records.put(row);
                           }});
  bench.run_until([&] { return bench.asked == 2; });
  EXPECT_FALSE(bench.engine->is_lasting(std::nullopt));
  EXPECT_FALSE(bench.engine->is_lasting(1));
  EXPECT_TRUE(bench.engine->is_lasting(2));
  int rung = 0;
  const auto waits = bench.engine->when_lasting([&] { ++rung; });
  auto leaves = bench.engine->when_lasting([&] { rung += 100; });
  leaves.reset();
  bench.may.release();
  bench.run_until([&] { return bench.engine->is_lasting(1); });
  EXPECT_EQ(rung, 1);
  EXPECT_TRUE(bench.engine->is_lasting(std::nullopt));
}

TEST(Engine, WhatComesMeanwhileIsOneBatchAfterwards) {
  Bench bench;
  bench.add_gpu();
  bench.run_until([&] { return bench.asked == 1; });
  for (int i = 0; i < 5; ++i) {
    bench.post(core::GpuCordoned{core::GpuId(0)});
    bench.post(core::GpuUncordoned{core::GpuId(0)});
    bench.run_a_while();
  }
  EXPECT_EQ(bench.store->last_step(), 1U);
  bench.may.release();
  bench.run_until([&] { return bench.asked == 2; });
  EXPECT_EQ(bench.store->last_step(), 11U);
  EXPECT_EQ(bench.answers.size(), 1U);
  bench.may.release();
  bench.run_until([&] { return bench.engine->settled(); });
  EXPECT_EQ(bench.answers.size(), 11U);
  EXPECT_EQ(bench.asked, 2);
}

// It may be on the disk or not: nobody is told either, until the disk has said so.
TEST(Engine, ADiskThatFailsIsAskedAgainAndNothingIsLost) {
  Bench bench;
  bench.add_gpu();
  bench.may.release();
  bench.run_until([&] { return bench.engine->settled(); });
  bench.answers.clear();
  bench.fails = true;
  bench.post(a_job(), true);
  bench.run_until([&] { return bench.asked == 2; });
  bench.post(core::GpuCordoned{core::GpuId(0)}, true);  // a wish that waits for its batch
  bench.post(core::GpuHealth{core::GpuId(0), core::Health::kUnresponsive});
  bench.may.release();
  bench.run_until([&] { return !bench.engine->store_trouble().empty(); });
  EXPECT_THAT(bench.answers, ElementsAre("the disk is on strike."));  // the second wish
  bench.post(core::GpuCordoned{core::GpuId(0)}, true);
  EXPECT_THAT(bench.answers, ElementsAre("the disk is on strike.", "the disk is on strike."));
  EXPECT_TRUE(bench.created.empty());
  bench.may.release(2);
  bench.run_until([&] { return bench.engine->settled(); });
  EXPECT_EQ(bench.engine->store_trouble(), "");
  EXPECT_THAT(bench.answers, ElementsAre(HasSubstr("strike"), HasSubstr("strike"), "done", "done"));
  EXPECT_EQ(bench.created.size(), 1U);
  EXPECT_EQ(bench.engine->scheduler().node().gpu(core::GpuId(0)).health,
            core::Health::kUnresponsive);
  EXPECT_FALSE(bench.engine->scheduler().node().gpu(core::GpuId(0)).cordoned);
}

// Callers need not wait for what is tidied up afterwards; the next batch does.
TEST(Engine, TidiesUpBetweenTwoBatches) {
  Bench bench;
  while (bench.tidied.try_acquire()) {
  }
  bench.add_gpu();
  bench.may.release(2);
  bench.run_until([&] { return bench.answers.size() == 1; });
  EXPECT_TRUE(bench.engine->is_lasting(std::nullopt));
  bench.post(core::GpuCordoned{core::GpuId(0)});
  int between = 0;
  bench.engine->between_batches([&] { ++between; });
  bench.run_a_while();
  EXPECT_EQ(bench.store->last_step(), 1U);
  EXPECT_EQ(between, 0);
  bench.tidied.release(2);
  bench.run_until([&] { return bench.answers.size() == 2; });
  EXPECT_EQ(bench.store->last_step(), 2U);
  EXPECT_EQ(between, 1);
}

// Much that is on its way has nothing to do with what the driver shows.
TEST(Engine, KnowsWhatTheDriverHasReported) {
  Bench bench;
  bench.add_gpu();
  EXPECT_FALSE(bench.engine->has_heard_driver());
  bench.run_until([&] { return bench.asked == 1; });
  EXPECT_FALSE(bench.engine->has_heard_driver());
  bench.may.release();
  bench.run_until([&] { return bench.engine->settled(); });
  bench.post(a_job());
  bench.post(core::WakeUp{});
  EXPECT_TRUE(bench.engine->has_heard_driver());
  EXPECT_FALSE(bench.engine->settled());
}

// The end of a daemon does not wait for what comes after the sync that is under way.
TEST(Engine, WhatIsUnderWayAtTheEndIsInTheStore) {
  Bench bench;
  bench.add_gpu();
  bench.run_until([&] { return bench.asked == 1; });
  bench.may.release();
  bench.engine->close();
  bench.run_a_while();
  EXPECT_THAT(bench.answers, ElementsAre());
  bench.engine.reset();
  bench.store.reset();
  const auto again = store::Store::open(bench.folder.at("tangram.db"), {});
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->last_step(), 1U);
}

}  // namespace
}  // namespace tangram::daemon
