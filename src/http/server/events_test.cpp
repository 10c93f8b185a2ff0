// Event streams: follow, resume, filter and gaps; readers that are slow, cut off or disconnected.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/client.hpp"
#include "http/client/sse_parser.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RawSocket;
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
    const auto done = client->events(cat("/v1/events?follow=false", parameters),
                                     [&](const ServerSentEvent& piece) {
                                       seen.push_back(cat(piece.id, ' ', piece.kind));
                                       return true;
                                     });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return seen;
  }
  std::string raw(std::string_view target, std::string_view header = "") {
    const RawSocket socket(daemon_.socket());
    socket.send(
        cat("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", header, "\r\n"));
    return socket.receive();
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
  // A browser that reconnects repeats the target: Last-Event-ID takes precedence.
  EXPECT_THAT(raw("/v1/events?follow=0&after=0", "Last-Event-ID: 3\r\n"),
              AllOf(Not(HasSubstr("id: 3")), HasSubstr("id: 4\nevent: jobless.thing\ndata: {")));
}

// Events that must be read from the store are sent when they have been read, unless the client
// disconnects. A busy store is retried.
TEST_F(Events, MayComeLaterOrAfterARetry) {
  add("job.submitted", 1);
  add("job.running", 1);
  daemon_.on_loop([&] { daemon_.events.busy_replies = 2; });
  EXPECT_THAT(all("&after=0"), ElementsAre("1 job.submitted", "2 job.running"));
  daemon_.on_loop([&] { daemon_.events.keep_pages = true; });
  const auto kept = [&] { return daemon_.on_loop([&] { return daemon_.events.kept_pages(); }); };
  std::thread sender([&] {
    while (kept() == 0) std::this_thread::yield();
    daemon_.on_loop([&] {
      daemon_.events.keep_pages = false;
      daemon_.events.send_kept_pages();
    });
  });
  EXPECT_THAT(all("&after=0"), ElementsAre("1 job.submitted", "2 job.running"));
  sender.join();
  daemon_.on_loop([&] { daemon_.events.keep_pages = true; });
  {
    const RawSocket socket(daemon_.socket());
    socket.send("GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n");
    while (kept() == 0) std::this_thread::yield();
  }
  while (listeners() > 0) std::this_thread::yield();
  daemon_.on_loop([&] { daemon_.events.send_kept_pages(); });
}

TEST_F(Events, HaveTheFormOfServerSentEvents) {
  add("job.running", 7);
  EXPECT_THAT(
      raw("/v1/events?follow=false&after=0"),
      AllOf(
          StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/event-stream\r\n"),
          HasSubstr("id: 1\nevent: job.running\ndata: {\"id\":1,\"kind\":\"job.running\",\"job\":7}"
                    "\n\n")));
  const RawSocket old(daemon_.socket());
  old.send("GET /v1/events?follow=false&after=0 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.receive(), HasSubstr("\r\n\r\nid: 1\nevent: job.running\n"));
  const RawSocket head(daemon_.socket());
  head.send("HEAD /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head.receive(), AllOf(StartsWith("HTTP/1.1 200"), ::testing::EndsWith("\r\n\r\n")));
  for (const auto* wrong : {"after=x", "after=-1", "follow=maybe", "job=a", "kind=", "kind=a,,b",
                            "kind=Job", "since=1"}) {
    EXPECT_THAT(raw(cat("/v1/events?", wrong)), StartsWith("HTTP/1.1 400")) << wrong;
  }
  EXPECT_THAT(raw("/v1/events", "Last-Event-ID: seven\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(Events, DeletedEventsAreReportedAsAGap) {
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
  // An ID beyond the newest event is from an earlier store.
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
        const auto done =
            client->events(cat("/v1/events?after=", seen), [&](const ServerSentEvent& e) {
              EXPECT_EQ(e.id, seen + 1);
              seen = e.id;
              // Reader 0 stays connected; the others disconnect after different numbers of events.
              return seen < kEvents &&
                     (reader == 0 || ++now < 997U * static_cast<unsigned>(reader));
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

TEST_F(Events, ASlowReaderGetsAllAndDoesNotBlockOthers) {
  const RawSocket slow(daemon_.socket());
  slow.send("GET /v1/events?after=0 HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
  constexpr std::uint64_t kEvents = 20'000;
  daemon_.on_loop([&] {
    for (std::uint64_t i = 0; i < kEvents; ++i) daemon_.events.add("job.running", i);
  });
  EXPECT_EQ(all(cat("&after=", kEvents - 1)).size(), 1U);
  const std::string received = slow.receive(cat("id: ", kEvents, "\n"));
  std::size_t at = 0;
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    at = received.find(cat("\nid: ", i, "\nevent"), at == 0 ? 0 : at + 1);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(Events, DisconnectingUnsubscribes) {
  RawSocket one(daemon_.socket());
  RawSocket two(daemon_.socket());
  one.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  two.send("GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 2; }));
  one.close();
  two.close();
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 0; }));
}

TEST_F(Events, ClosingTheServerEndsThem) {
  auto client = Client::open(daemon_.socket());
  std::thread closer([&] {
    EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
    daemon_.close();
  });
  const auto done = client->events("/v1/events", [](const ServerSentEvent&) { return true; });
  closer.join();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(listeners(), 0U);
}

TEST(EventsHeartbeat, IsAComment) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(10);
  const TestDaemon daemon(options);
  const RawSocket raw(daemon.socket());
  raw.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(raw.receive(": alive\n\n"), HasSubstr(": alive\n\n"));
}

// Neither further events nor a proper end of the stream are sent. A client that reconnects gets a
// 401.
TEST_F(Events, EndWhenTheTokenIsRevoked) {
  const auto follow = [&](const RawSocket& raw) {
    raw.send("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  };
  const RawSocket with(daemon_.socket());
  follow(with);
  const RawSocket without(daemon_.socket());
  without.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 2; }));
  add("job.running", 1);
  EXPECT_THAT(with.receive("\n\n\r\n"), HasSubstr("id: 1\n"));
  daemon_.on_loop([&] { daemon_.tokens.revoked = true; });
  add("job.running", 2);
  EXPECT_EQ(with.receive(), "");
  EXPECT_THAT(without.receive("id: 2\n"), HasSubstr("id: 2\n"));
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
}

TEST(EventsHeartbeat, DetectsARevokedToken) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(10);
  TestDaemon daemon(options);
  const RawSocket raw(daemon.socket());
  raw.send("GET /v1/events HTTP/1.0\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  EXPECT_THAT(raw.receive(": alive\n\n"), HasSubstr(": alive\n\n"));
  daemon.on_loop([&] { daemon.tokens.revoked = true; });
  EXPECT_THAT(raw.receive(), Not(HasSubstr("<timeout>")));
}

// Also if the client does not read and the write is blocked.
TEST(EventsHeartbeat, DetectsItWhileTheClientDoesNotRead) {
  ServerOptions options;
  options.heartbeat = std::chrono::milliseconds(10);
  TestDaemon daemon(options);
  daemon.on_loop([&] {
    for (int i = 0; i < 100'000; ++i) daemon.events.add("job.running", 1);
  });
  const auto listeners = [&] { return daemon.on_loop([&] { return daemon.events.listeners(); }); };
  const RawSocket raw(daemon.socket());
  raw.send("GET /v1/events?after=0 HTTP/1.0\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  raw.wait_readable();
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 1; }));
  daemon.on_loop([&] { daemon.tokens.revoked = true; });
  EXPECT_TRUE(testing::eventually([&] { return listeners() == 0; }));
  EXPECT_THAT(raw.receive(), Not(HasSubstr("id: 100000\n")));
}

TEST(EventStreams, AreParsedHoweverTheyAreSplit) {
  const std::string text =
      ": hello\n\nid: 7\nevent: a.b\ndata: {\"x\":\r\ndata: 1}\n\nevent: gap\ndata:{}\n\nid: 8\n\n"
      "id: 9\nretry: 10\nevent: c\ndata: z\n\nid: 10\nevent: unfinished\ndata: q\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    std::vector<std::string> seen;
    SseParser stream([&](const ServerSentEvent& piece) {
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
