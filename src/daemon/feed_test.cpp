// The feed on a real engine and store: what is committed is told once, the rest never.
#include "daemon/feed.hpp"

#include <future>
#include <optional>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "daemon/reader.hpp"
#include "files/test_folder.hpp"
#include "mig/catalog.hpp"
#include "store/syncer.hpp"

namespace tangram::daemon {
namespace {

http::Caller me() {
  http::Caller caller;
  caller.uid = geteuid();
  return caller;
}

// An engine that nobody performs anything for.
struct Bench {
  Bench() {
    auto opened = store::Store::open(folder.at("tangram.db"), {});
    store = *std::move(opened);
    engine = std::make_unique<Engine>(
        loop, *store,
        Disk::Work{[syncer = std::make_shared<store::Syncer>(*store)] { return syncer->sync(); },
                   [] { return Result<void>(); }});
    EXPECT_TRUE(engine->load({}));
    reader = std::make_unique<Reader>(loop, folder.at("tangram.db"));
    feed = std::make_unique<Feed>(*engine, *reader, access);
    feed->fill(doors);
    engine->tell([this](const std::vector<store::EventRow>& events) { feed->publish(events); });
  }
  // Steps all that is waiting, and sees it on the disk.
  void turn() {
    loop.restart();
    while (!engine->settled()) loop.run_one();
    loop.poll();
  }
  void add_gpu() {
    const auto model = mig::find_model("A100-40GB");
    engine->post(core::GpuAdded{{std::shared_ptr<void>(), *model}, {}});
    turn();
  }
  http::EventPage page(std::uint64_t after, std::size_t most = 100) {
    return page_of(doors, after, most);
  }
  // Waits for it if it must be read.
  http::EventPage page_of(http::Doors& from, std::uint64_t after, std::size_t most) {
    std::optional<http::Answer<http::EventPage>> answer;
    from.events(me(), after, most,
                [&](http::Answer<http::EventPage> page) { answer = std::move(page); });
    const auto work = boost::asio::make_work_guard(loop);
    loop.restart();
    while (!answer) loop.run_one();
    return answer->value();
  }

  files::testing::Folder folder;
  boost::asio::io_context loop;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Reader> reader;
  Access access{""};
  std::unique_ptr<Feed> feed;
  http::Doors doors;
};

TEST(Feed, TellsWhatIsCommittedAndRingsOncePerBatch) {
  Bench bench;
  int rung = 0;
  auto listening = bench.doors.listen([&] { ++rung; });
  bench.add_gpu();
  EXPECT_EQ(rung, 1);
  bench.engine->post(core::GpuCordoned{core::GpuId(0)});
  bench.engine->post(core::GpuCordoned{core::GpuId(0)});  // no news
  bench.engine->post(core::GpuUncordoned{core::GpuId(0)});
  bench.turn();
  EXPECT_EQ(rung, 2);
  const http::EventPage all = bench.page(0);
  ASSERT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.events[0].kind, "gpu.added");
  EXPECT_EQ(all.events[1].kind, "gpu.cordoned");
  EXPECT_EQ(all.events[2].kind, "gpu.uncordoned");
  EXPECT_EQ(all.last, 3U);
  EXPECT_FALSE(all.gap);
  EXPECT_EQ(bench.page(1, 1).events.front().id, 2U);
  EXPECT_TRUE(bench.page(3).events.empty());
  EXPECT_TRUE(bench.page(99).events.empty());
  listening.reset();
  bench.engine->post(core::GpuCordoned{core::GpuId(0)});
  bench.turn();
  EXPECT_EQ(rung, 2);
}

TEST(Feed, ABatchThatIsNotCommittedIsNotTold) {
  Bench bench;
  bench.add_gpu();
  int rung = 0;
  const auto listening = bench.doors.listen([&] { ++rung; });
  bool refused = false;
  const auto spoil = [](Records& records) {  // a run of no job: the store refuses it
    store::RunRow run;
    run.run = 1;
    run.job = 77;
    records.put(run);
  };
  bench.engine->post(Input{.event = core::GpuCordoned{core::GpuId(0)},
                           .note = spoil,
                           .done = [&](const Result<void>& result) { refused = !result; },
                           .wish = true});
  bench.turn();
  EXPECT_TRUE(refused);
  EXPECT_EQ(rung, 0);
  EXPECT_EQ(bench.page(0).events.size(), 1U);
  // Its number is the next one's.
  bench.loop.restart();
  while (!bench.engine->store_trouble().empty()) bench.loop.run_one();  // its own retry
  bench.engine->post(core::GpuDrained{core::GpuId(0)});
  bench.turn();
  ASSERT_GE(bench.page(1).events.size(), 1U);
  EXPECT_EQ(bench.page(1).events.front().id, 2U);
  EXPECT_EQ(bench.page(1).events.front().kind, "gpu.draining");
}

TEST(Feed, OlderEventsComeFromTheStoreAndForgottenOnesAreAGap) {
  Bench bench;
  bench.add_gpu();
  for (int i = 0; i < 5; ++i) {
    bench.engine->post(core::GpuCordoned{core::GpuId(0)});
    bench.engine->post(core::GpuUncordoned{core::GpuId(0)});
    bench.turn();
  }
  Feed later(*bench.engine, *bench.reader,
             bench.access);  // as after a restart: it has seen nothing
  http::Doors doors;
  later.fill(doors);
  const http::EventPage all = bench.page_of(doors, 4, 3);
  ASSERT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.events.front().id, 5U);
  EXPECT_EQ(all.events.front().kind, "gpu.uncordoned");
  EXPECT_FALSE(all.gap);
  EXPECT_EQ(all.last, 11U);
  ASSERT_TRUE(bench.store->trim({.most_steps = 2}));
  const http::EventPage rest = bench.page_of(doors, 4, 100);
  EXPECT_TRUE(rest.gap);
  ASSERT_EQ(rest.events.size(), 2U);
  EXPECT_EQ(rest.events.front().id, 10U);
}

// On the loop it would keep everybody waiting, by as many pages as there are.
TEST(Feed, OlderEventsAreNotReadOnTheLoop) {
  Bench bench;
  bench.add_gpu();
  Feed later(*bench.engine, *bench.reader, bench.access);
  http::Doors doors;
  later.fill(doors);
  bench.engine->tell([&](const std::vector<store::EventRow>& events) { later.publish(events); });
  std::promise<void> go_on;
  ASSERT_TRUE(bench.reader->ask<int>(
      1,
      [&](store::Store&) -> Result<int> {
        go_on.get_future().wait();
        return 1;
      },
      [](const Result<int>&) {}));
  std::size_t told = 0;
  doors.events(me(), 0, 9, [&](const http::Answer<http::EventPage>& page) {
    told = page.value().events.size();
  });
  EXPECT_EQ(told, 0U);  // and here we are
  bench.engine->post(core::GpuCordoned{core::GpuId(0)});
  bench.turn();
  go_on.set_value();
  const auto work = boost::asio::make_work_guard(bench.loop);
  bench.loop.restart();
  while (told == 0) bench.loop.run_one_for(std::chrono::seconds(10));
  EXPECT_EQ(told, 2U);  // also what was committed meanwhile
}

// The store has it before the disk does, and the Reader finds it there.
TEST(Feed, WhatIsNotYetOnTheDiskIsNotTold) {
  Bench bench;
  bench.add_gpu();
  Feed later(*bench.engine, *bench.reader, bench.access);
  http::Doors doors;
  later.fill(doors);
  bench.engine->post(core::GpuCordoned{core::GpuId(0)});
  bench.turn();  // `later` is not told
  ASSERT_EQ(bench.store->last_event(), 2U);
  const http::EventPage page = bench.page_of(doors, 0, 100);
  EXPECT_EQ(page.last, 1U);
  EXPECT_EQ(page.events.size(), 1U);
  EXPECT_EQ(doors.last_event(me()), 1U);
  EXPECT_TRUE(bench.page_of(doors, 1, 100).events.empty());
}

// One who asks without end takes his own places, not those of the others.
TEST(Reader, NobodyTakesAllThePlaces) {
  const files::testing::Folder folder;
  const auto store = store::Store::open(folder.at("tangram.db"), {});
  boost::asio::io_context loop;
  const auto work = boost::asio::make_work_guard(loop);
  Reader reader(loop, folder.at("tangram.db"));
  std::promise<void> go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  std::size_t answered = 0;
  const auto ask = [&](std::uint32_t uid) {
    return reader.ask<int>(
        uid,
        [gone_on](store::Store&) -> Result<int> {
          gone_on.wait();
          return 1;
        },
        [&](const Result<int>& found) { answered += found ? 1U : 0U; });
  };
  for (std::size_t i = 0; i < Reader::kMostOfOne; ++i) EXPECT_TRUE(ask(1000));
  EXPECT_FALSE(ask(1000));
  EXPECT_TRUE(ask(1001));
  std::size_t taken = Reader::kMostOfOne + 1;
  for (std::uint32_t uid = 2000; taken < Reader::kMostWaiting; ++uid, ++taken) {
    EXPECT_TRUE(ask(uid));
  }
  EXPECT_FALSE(ask(1));  // all together
  go_on.set_value();
  while (answered < taken) loop.run_one_for(std::chrono::seconds(10));
  EXPECT_TRUE(ask(1000));
  while (answered <= taken) loop.run_one_for(std::chrono::seconds(10));
}

}  // namespace
}  // namespace tangram::daemon
