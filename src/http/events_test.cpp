// Events: followed, resumed, filtered, missed; by readers that are slow, cut off or gone.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.hpp"
#include "http/event_stream.hpp"
#include "http/raw_socket.hpp"
#include "http/test_daemon.hpp"

namespace tangram::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Raw;
using ::testing::StartsWith;
using testing::TestDaemon;

class Events : public ::testing::Test {
 protected:
  void add(std::string_view kind, std::optional<std::uint64_t> job = std::nullopt) {
    daemon_.on_loop([&] { daemon_.events.add(std::string(kind), job); });
  }
  std::size_t listeners() {
    return daemon_.on_loop([&] { return daemon_.events.listeners(); });
  }
  // "3 job.running"
  std::vector<std::string> all(const std::string& parameters) {
    auto client = Client::open(daemon_.socket());
    std::vector<std::string> seen;
    const auto done =
        client->events(cat("/v1/events?follow=false", parameters), [&](const EventPiece& piece) {
          seen.push_back(cat(piece.id, ' ', piece.kind));
          return true;
        });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return seen;
  }
  std::string raw(std::string_view target, std::string_view header = "") {
    const Raw socket(daemon_.socket());
    socket.say(
        cat("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", header, "\r\n"));
    return socket.hear();
  }

  TestDaemon daemon_;
};

TEST_F(Events, AreResumedAndFiltered) {
  add("job.submitted", 1);
  add("job.running", 1);
  add("move.done", 2);
  add("jobless.thing");
  EXPECT_THAT(all("&after=0"),
              ElementsAre("1 job.submitted", "2 job.running", "3 move.done", "4 jobless.thing"));
  EXPECT_THAT(all("&after=2"), ElementsAre("3 move.done", "4 jobless.thing"));
  EXPECT_THAT(all("&after=4"), ElementsAre());
  EXPECT_THAT(all(""), ElementsAre());
  EXPECT_THAT(all("&after=0&kind=job"), ElementsAre("1 job.submitted", "2 job.running"));
  EXPECT_THAT(all("&after=0&kind=job.running,move.done"),
              ElementsAre("2 job.running", "3 move.done"));
  EXPECT_THAT(all("&after=0&job=2"), ElementsAre("3 move.done"));
  // The header knows better than the target of a browser that connects again.
  EXPECT_THAT(raw("/v1/events?follow=0&after=0", "Last-Event-ID: 3\r\n"),
              AllOf(Not(HasSubstr("id: 3")), HasSubstr("id: 4\nevent: jobless.thing\ndata: {")));
}

// Those that must be looked up come when they are found; who leaves meanwhile is let go.
TEST_F(Events, MayComeLaterOrAfterARefusal) {
  add("job.submitted", 1);
  add("job.running", 1);
  daemon_.on_loop([&] { daemon_.events.refusals = 2; });
  EXPECT_THAT(all("&after=0"), ElementsAre("1 job.submitted", "2 job.running"));
  daemon_.on_loop([&] { daemon_.events.late = true; });
  const auto asked = [&] { return daemon_.on_loop([&] { return daemon_.events.asked(); }); };
  std::thread gives([&] {
    while (asked() == 0) std::this_thread::yield();
    daemon_.on_loop([&] {
      daemon_.events.late = false;
      daemon_.events.give();
    });
  });
  EXPECT_THAT(all("&after=0"), ElementsAre("1 job.submitted", "2 job.running"));
  gives.join();
  daemon_.on_loop([&] { daemon_.events.late = true; });
  {
    const Raw socket(daemon_.socket());
    socket.say("GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n");
    while (asked() == 0) std::this_thread::yield();
  }
  while (listeners() > 0) std::this_thread::yield();
  daemon_.on_loop([&] { daemon_.events.give(); });
}

TEST_F(Events, HaveTheFormOfServerSentEvents) {
  add("job.running", 7);
  EXPECT_THAT(
      raw("/v1/events?follow=false&after=0"),
      AllOf(
          StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/event-stream\r\n"),
          HasSubstr("id: 1\nevent: job.running\ndata: {\"id\":1,\"kind\":\"job.running\",\"job\":7}"
                    "\n\n")));
  const Raw old(daemon_.socket());
  old.say("GET /v1/events?follow=false&after=0 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.hear(), HasSubstr("\r\n\r\nid: 1\nevent: job.running\n"));
  const Raw head(daemon_.socket());
  head.say("HEAD /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head.hear(), AllOf(StartsWith("HTTP/1.1 200"), ::testing::EndsWith("\r\n\r\n")));
  for (const auto* wrong : {"after=x", "after=-1", "follow=maybe", "job=a", "kind=", "kind=a,,b",
                            "kind=Job", "since=1"}) {
    EXPECT_THAT(raw(cat("/v1/events?", wrong)), StartsWith("HTTP/1.1 400")) << wrong;
  }
  EXPECT_THAT(raw("/v1/events", "Last-Event-ID: seven\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(Events, WhatIsForgottenIsSaid) {
  for (int i = 0; i < 10; ++i) add("job.running", 1);
  daemon_.on_loop([&] { daemon_.events.forget(6); });
  EXPECT_THAT(raw("/v1/events?follow=0&after=2"),
              HasSubstr("\r\nevent: gap\ndata: {\"after\":2,\"next\":7}\n\nid: 7\n"));
  EXPECT_THAT(all("&after=6"),
              ElementsAre("7 job.running", "8 job.running", "9 job.running", "10 job.running"));
  EXPECT_THAT(all("&after=2&job=9"), ElementsAre("0 gap"));
  daemon_.on_loop([&] { daemon_.events.forget(10); });
  EXPECT_THAT(raw("/v1/events?follow=0&after=9"), HasSubstr("{\"after\":9,\"next\":11}"));
  EXPECT_THAT(all("&after=10"), ElementsAre());
  // He remembers more than there ever was: the store is another one.
  EXPECT_THAT(raw("/v1/events?follow=0&after=99"), HasSubstr("{\"after\":99,\"next\":11}"));
}

// Readers that are cut off again and again see every event once and in order.
TEST_F(Events, NothingIsLostOrDoubled) {
  constexpr std::uint64_t kEvents = 20'000;
  constexpr int kReaders = 4;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] {
      std::uint64_t seen = 0;
      while (seen < kEvents) {
        auto client = Client::open(daemon_.socket());
        std::uint64_t now = 0;
        const auto done = client->events(cat("/v1/events?after=", seen), [&](const EventPiece& e) {
          EXPECT_EQ(e.id, seen + 1);
          seen = e.id;
          // The last reader never lets go; the others do, each after another while.
          return seen < kEvents && (reader == 0 || ++now < 997U * static_cast<unsigned>(reader));
        });
        EXPECT_TRUE(done.has_value()) << done.error().message;
      }
    });
  }
  for (std::uint64_t i = 0; i < kEvents;) {
    daemon_.on_loop([&] {
      for (std::uint64_t burst = i % 7 + 1; burst > 0 && i < kEvents; --burst, ++i) {
        daemon_.events.add("job.running", i);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 0; }));
}

TEST_F(Events, ASlowReaderHindersNobodyAndGetsAll) {
  const Raw slow(daemon_.socket());
  slow.say("GET /v1/events?after=0 HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
  constexpr std::uint64_t kEvents = 20'000;
  daemon_.on_loop([&] {
    for (std::uint64_t i = 0; i < kEvents; ++i) daemon_.events.add("job.running", i);
  });
  EXPECT_EQ(all(cat("&after=", kEvents - 1)).size(), 1U);
  const std::string heard = slow.hear(cat("id: ", kEvents, "\n"));
  std::size_t at = 0;
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    at = heard.find(cat("\nid: ", i, "\nevent"), at == 0 ? 0 : at + 1);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(Events, WhoLeavesIsForgotten) {
  Raw one(daemon_.socket());
  Raw two(daemon_.socket());
  one.say("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  two.say("GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 2; }));
  one.leave();
  two.leave();
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 0; }));
}

TEST_F(Events, TheServersEndEndsThem) {
  auto client = Client::open(daemon_.socket());
  std::thread closer([&] {
    EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
    daemon_.close();
  });
  const auto done = client->events("/v1/events", [](const EventPiece&) { return true; });
  closer.join();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(listeners(), 0U);
}

TEST(EventsHeartbeat, IsAComment) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(10);
  const TestDaemon daemon(options);
  const Raw raw(daemon.socket());
  raw.say("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(raw.hear(": alive\n\n"), HasSubstr(": alive\n\n"));
}

// He is told nothing of what happens after that, and not that this is the end either: whoever
// connects again learns why.
TEST_F(Events, WhoseTokenIsTakenBackHearsNoMore) {
  const auto follow = [&](const Raw& raw) {
    raw.say("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  };
  const Raw with(daemon_.socket());
  follow(with);
  const Raw without(daemon_.socket());
  without.say("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 2; }));
  add("job.running", 1);
  EXPECT_THAT(with.hear("\n\n\r\n"), HasSubstr("id: 1\n"));
  daemon_.on_loop([&] { daemon_.tokens.revoked = true; });
  add("job.running", 2);
  EXPECT_EQ(with.hear(), "");
  EXPECT_THAT(without.hear("id: 2\n"), HasSubstr("id: 2\n"));
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
}

TEST(EventsHeartbeat, SeesThatATokenIsTakenBack) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(10);
  TestDaemon daemon(options);
  const Raw raw(daemon.socket());
  raw.say("GET /v1/events HTTP/1.0\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  EXPECT_THAT(raw.hear(": alive\n\n"), HasSubstr(": alive\n\n"));
  daemon.on_loop([&] { daemon.tokens.revoked = true; });
  EXPECT_THAT(raw.hear(), Not(HasSubstr("<silence>")));
}

// Also if he does not read, and so waits to be written to.
TEST(EventsHeartbeat, SeesItForThoseWhoDoNotRead) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(10);
  TestDaemon daemon(options);
  daemon.on_loop([&] {
    for (int i = 0; i < 100'000; ++i) daemon.events.add("job.running", 1);
  });
  const auto listeners = [&] { return daemon.on_loop([&] { return daemon.events.listeners(); }); };
  const Raw raw(daemon.socket());
  raw.say("GET /v1/events?after=0 HTTP/1.0\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  raw.await();
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
  daemon.on_loop([&] { daemon.tokens.revoked = true; });
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 0; }));
  EXPECT_THAT(raw.hear(), Not(HasSubstr("id: 100000\n")));
}

TEST(EventStreams, AreReadHoweverTheyAreCut) {
  const std::string text =
      ": hello\n\nid: 7\nevent: a.b\ndata: {\"x\":\r\ndata: 1}\n\nevent: gap\ndata:{}\n\nid: 8\n\n"
      "id: 9\nretry: 10\nevent: c\ndata: z\n\nid: 10\nevent: unfinished\ndata: q\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    std::vector<std::string> seen;
    EventStream stream([&](const EventPiece& piece) {
      seen.push_back(cat(piece.id, ' ', piece.kind, ' ', piece.data));
      return true;
    });
    for (std::size_t at = 0; at < text.size(); at += cut) {
      ASSERT_TRUE(stream.feed(std::string_view(text).substr(at, cut)));
    }
    EXPECT_THAT(seen, ElementsAre("7 a.b {\"x\":\n1}", "0 gap {}", "9 c z"));
  }
}

}  // namespace
}  // namespace tangram::http
