// EventService with a real engine and store: durable events are returned once, others never.
#include "daemon/service/event_service.hpp"

#include <future>
#include <optional>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "daemon/views/history_reader.hpp"
#include "mig/catalog.hpp"
#include "store/wal_sync.hpp"
#include "tests/support/base/await.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

http::Caller me() {
  http::Caller caller;
  caller.uid = geteuid();
  return caller;
}

// An engine without executors.
struct EventServiceFixture {
  EventServiceFixture() {
    auto opened = store::Store::open(folder.at("tangram.db"), {});
    store = *std::move(opened);
    engine = std::make_unique<Engine>(
        loop, *store,
        FsyncThread::Work{
            [syncer = std::make_shared<store::WalSync>(*store)] { return syncer->sync(); },
            [] { return Result<void>(); }});
    EXPECT_TRUE(engine->load({}));
    reader = std::make_unique<HistoryReader>(loop, folder.at("tangram.db"));
    events = std::make_unique<EventService>(*engine, *reader, access);
    events->register_handlers(handlers);
    engine->set_on_events(
        [this](const std::vector<store::EventRow>& rows) { events->publish(rows); });
  }
  // Runs the loop until all posted inputs are durable.
  void run_until_durable() {
    loop.restart();
    ::tangram::testing::await([&] { return engine->is_idle(); },
                              [&] { loop.run_one_for(std::chrono::milliseconds(10)); });
    loop.poll();
  }
  void add_gpu() {
    const auto model = mig::find_model("A100-40GB");
    engine->post(core::GpuAdded{{std::shared_ptr<void>(), *model}, {}});
    run_until_durable();
  }
  http::EventPage page(std::uint64_t after, std::size_t most = 100) {
    return page_of(handlers, after, most);
  }
  // Runs the loop until the page is there.
  http::EventPage page_of(http::ApiHandlers& from, std::uint64_t after, std::size_t most) {
    std::optional<http::Answer<http::EventPage>> answer;
    from.events(me(), after, most,
                [&](http::Answer<http::EventPage> page) { answer = std::move(page); });
    const auto work = boost::asio::make_work_guard(loop);
    loop.restart();
    ::tangram::testing::await([&] { return answer.has_value(); },
                              [&] { loop.run_one_for(std::chrono::milliseconds(10)); });
    return answer->value();
  }

  os::testing::Folder folder;
  boost::asio::io_context loop;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<HistoryReader> reader;
  Access access{""};
  std::unique_ptr<EventService> events;
  http::ApiHandlers handlers;
};

TEST(EventService, ReturnsDurableEventsAndNotifiesOncePerBatch) {
  EventServiceFixture fixture;
  int notified = 0;
  auto listening = fixture.handlers.subscribe_events([&] { ++notified; });
  fixture.add_gpu();
  EXPECT_EQ(notified, 1);
  fixture.engine->post(core::GpuCordoned{core::GpuId(0)});
  fixture.engine->post(core::GpuCordoned{core::GpuId(0)});  // changes nothing
  fixture.engine->post(core::GpuUncordoned{core::GpuId(0)});
  fixture.run_until_durable();
  EXPECT_EQ(notified, 2);
  const http::EventPage all = fixture.page(0);
  ASSERT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.events[0].kind, "gpu.added");
  EXPECT_EQ(all.events[1].kind, "gpu.cordoned");
  EXPECT_EQ(all.events[2].kind, "gpu.uncordoned");
  EXPECT_EQ(all.last, 3U);
  EXPECT_FALSE(all.gap);
  EXPECT_EQ(fixture.page(1, 1).events.front().id, 2U);
  EXPECT_TRUE(fixture.page(3).events.empty());
  EXPECT_TRUE(fixture.page(99).events.empty());
  listening.reset();
  fixture.engine->post(core::GpuCordoned{core::GpuId(0)});
  fixture.run_until_durable();
  EXPECT_EQ(notified, 2);
}

TEST(EventService, ABatchThatIsNotCommittedHasNoEvents) {
  EventServiceFixture fixture;
  fixture.add_gpu();
  int notified = 0;
  const auto listening = fixture.handlers.subscribe_events([&] { ++notified; });
  bool refused = false;
  const auto spoil = [](JobTable& records) {  // a run without a job: the store refuses it
    store::RunRow run;
    run.run = 1;
    run.job = 77;
    records.put(run);
  };
  fixture.engine->post(Input{.event = core::GpuCordoned{core::GpuId(0)},
                             .edit_rows = spoil,
                             .done = [&](const Result<void>& result) { refused = !result; },
                             .may_be_refused = true});
  fixture.run_until_durable();
  EXPECT_TRUE(refused);
  EXPECT_EQ(notified, 0);
  EXPECT_EQ(fixture.page(0).events.size(), 1U);
  // The next event gets its id.
  fixture.loop.restart();
  ::tangram::testing::await(
      [&] { return fixture.engine->store_error().empty(); },
      [&] { fixture.loop.run_one_for(std::chrono::milliseconds(10)); });  // the engine retries
  fixture.engine->post(core::GpuDrained{core::GpuId(0)});
  fixture.run_until_durable();
  ASSERT_GE(fixture.page(1).events.size(), 1U);
  EXPECT_EQ(fixture.page(1).events.front().id, 2U);
  EXPECT_EQ(fixture.page(1).events.front().kind, "gpu.draining");
}

TEST(EventService, OlderEventsComeFromTheStoreAndDeletedOnesAreAGap) {
  EventServiceFixture fixture;
  fixture.add_gpu();
  for (int i = 0; i < 5; ++i) {
    fixture.engine->post(core::GpuCordoned{core::GpuId(0)});
    fixture.engine->post(core::GpuUncordoned{core::GpuId(0)});
    fixture.run_until_durable();
  }
  EventService later(*fixture.engine, *fixture.reader,
                     fixture.access);  // as after a restart: without events in memory
  http::ApiHandlers handlers;
  later.register_handlers(handlers);
  const http::EventPage all = fixture.page_of(handlers, 4, 3);
  ASSERT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.events.front().id, 5U);
  EXPECT_EQ(all.events.front().kind, "gpu.uncordoned");
  EXPECT_FALSE(all.gap);
  EXPECT_EQ(all.last, 11U);
  ASSERT_TRUE(fixture.store->apply_retention({.most_steps = 2}));
  const http::EventPage remaining = fixture.page_of(handlers, 4, 100);
  EXPECT_TRUE(remaining.gap);
  ASSERT_EQ(remaining.events.size(), 2U);
  EXPECT_EQ(remaining.events.front().id, 10U);
}

// Reading on the loop would delay all other callers.
TEST(EventService, OlderEventsAreNotReadOnTheLoop) {
  EventServiceFixture fixture;
  fixture.add_gpu();
  EventService later(*fixture.engine, *fixture.reader, fixture.access);
  http::ApiHandlers handlers;
  later.register_handlers(handlers);
  fixture.engine->set_on_events(
      [&](const std::vector<store::EventRow>& events) { later.publish(events); });
  std::promise<void> go_on;
  ASSERT_TRUE(fixture.reader->query<int>(
      1,
      [&](store::Store&) -> Result<int> {
        go_on.get_future().wait();
        return 1;
      },
      [](const Result<int>&) {}));
  std::size_t received = 0;
  handlers.events(me(), 0, 9, [&](const http::Answer<http::EventPage>& page) {
    received = page.value().events.size();
  });
  EXPECT_EQ(received, 0U);  // the call has returned
  fixture.engine->post(core::GpuCordoned{core::GpuId(0)});
  fixture.run_until_durable();
  go_on.set_value();
  const auto work = boost::asio::make_work_guard(fixture.loop);
  fixture.loop.restart();
  ::tangram::testing::await([&] { return received != 0; },
                            [&] { fixture.loop.run_one_for(std::chrono::milliseconds(10)); });
  EXPECT_EQ(received, 2U);  // with the event committed meanwhile
}

// The HistoryReader sees committed events before they are durable.
TEST(EventService, EventsThatAreNotDurableAreNotReturned) {
  EventServiceFixture fixture;
  fixture.add_gpu();
  EventService later(*fixture.engine, *fixture.reader, fixture.access);
  http::ApiHandlers handlers;
  later.register_handlers(handlers);
  fixture.engine->post(core::GpuCordoned{core::GpuId(0)});
  fixture.run_until_durable();  // `later` is not notified
  ASSERT_EQ(fixture.store->last_event(), 2U);
  const http::EventPage page = fixture.page_of(handlers, 0, 100);
  EXPECT_EQ(page.last, 1U);
  EXPECT_EQ(page.events.size(), 1U);
  EXPECT_EQ(handlers.last_event(me()), 1U);
  EXPECT_TRUE(fixture.page_of(handlers, 1, 100).events.empty());
}

// One user cannot use up the slots of all users.
TEST(HistoryReader, LimitsWaitingQueriesPerUser) {
  const os::testing::Folder folder;
  const auto store = store::Store::open(folder.at("tangram.db"), {});
  boost::asio::io_context loop;
  const auto work = boost::asio::make_work_guard(loop);
  HistoryReader reader(loop, folder.at("tangram.db"));
  std::promise<void> go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  std::size_t answered = 0;
  const auto query = [&](std::uint32_t uid) {
    return reader.query<int>(
        uid,
        [gone_on](store::Store&) -> Result<int> {
          gone_on.wait();
          return 1;
        },
        [&](const Result<int>& found) { answered += found ? 1U : 0U; });
  };
  for (std::size_t i = 0; i < HistoryReader::kMaxPerUser; ++i) EXPECT_TRUE(query(1000));
  EXPECT_FALSE(query(1000));
  EXPECT_TRUE(query(1001));
  std::size_t taken = HistoryReader::kMaxPerUser + 1;
  for (std::uint32_t uid = 2000; taken < HistoryReader::kMaxWaiting; ++uid, ++taken) {
    EXPECT_TRUE(query(uid));
  }
  EXPECT_FALSE(query(1));  // limit of all users together
  go_on.set_value();
  ::tangram::testing::await([&] { return answered >= taken; },
                            [&] { loop.run_one_for(std::chrono::milliseconds(10)); });
  EXPECT_TRUE(query(1000));
  ::tangram::testing::await([&] { return answered > taken; },
                            [&] { loop.run_one_for(std::chrono::milliseconds(10)); });
}

}  // namespace
}  // namespace tangram::daemon
