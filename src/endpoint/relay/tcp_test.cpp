// tcp mode with real sockets: bytes, half-closes and resets are relayed, connections stay with
// their replica, and nothing is lost when the route changes.
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/endpoint/endpoint.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using std::chrono::milliseconds;
using testing::eventually;
using testing::pattern;
using testing::Peer;
using testing::Replica;
using testing::TestEndpoint;
using DrainCounts = std::vector<std::int64_t>;

// Sends its name, then echoes until EOF.
Replica::Serve echo(std::string name) {
  return [name = std::move(name)](Peer& peer) {
    peer.send(name);
    std::string text;
    while (peer.read_some(text) == Peer::ReadResult::kBytes) {
      peer.send(text);
      text.clear();
    }
  };
}

class EndpointTcp : public ::testing::Test {
 protected:
  TestEndpoint endpoint_{EndpointMode::kTcp};
};

TEST_F(EndpointTcp, RelaysBytesBothWaysAndHalfClose) {
  Replica replica([](Peer& peer) {
    const std::string received =
        peer.read_all();  // reads up to the client's EOF and can still answer
    peer.send(cat("heard ", received));
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send("one ");
  client.send("two");
  client.half_close();
  EXPECT_EQ(client.read_all(), "heard one two<eof><eof>");
}

TEST_F(EndpointTcp, RelaysAHalfCloseOfTheReplicaFirst) {
  std::string received;
  {
    Replica replica([&](Peer& peer) {
      peer.send("bye");
      peer.half_close();
      received = peer.read_all();
    });
    endpoint_.start_to(replica);
    const Peer client = endpoint_.client();
    EXPECT_EQ(client.read_all(), "bye<eof>");
    client.send("still here");
    client.half_close();
    EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 0; }));
  }
  EXPECT_EQ(received, "still here<eof>");
}

TEST_F(EndpointTcp, AResetIsNotRelayedAsEof) {
  Replica replica([](Peer& peer) {
    (void)peer.read_until("go");
    peer.reset();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send("go");
  EXPECT_EQ(client.read_all(), "<reset>");
}

TEST_F(EndpointTcp, TheReplicaNoticesThatTheClientReset) {
  std::string received;
  {
    Replica replica([&](Peer& peer) {
      peer.send("hello");
      received = peer.read_all();
    });
    endpoint_.start_to(replica);
    Peer client = endpoint_.client();
    EXPECT_EQ(client.read_until("hello"), "hello");
    client.reset();
    EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 0; }));
  }
  EXPECT_EQ(received, "<reset>");
}

TEST_F(EndpointTcp, LargeStreamsAreRelayedCompletelyAndASlowReaderCostsNoMemory) {
  const std::string sent = pattern(std::size_t{64} << 20U);  // more than the kernel buffers
  std::atomic<std::size_t> accepted = 0;
  Replica replica([&](Peer& peer) {
    for (std::size_t at = 0; at < sent.size(); at += 65'536) {
      if (!peer.send(std::string_view(sent).substr(at, 65'536))) return;
      accepted = at + 65'536;
    }
  });
  endpoint_.start_to(replica);
  const std::size_t before = endpoint_.memory_kib();
  const Peer client = endpoint_.client(16'384);
  // The client does not read: the replica's writes must stall well before the end.
  std::size_t last = 1;
  EXPECT_TRUE(eventually([&] {
    const std::size_t now = accepted;
    const bool has_stalled = now > 0 && now == std::exchange(last, now);
    if (!has_stalled) std::this_thread::sleep_for(milliseconds(100));
    return has_stalled;
  }));
  EXPECT_LT(accepted, sent.size());
  EXPECT_LT(endpoint_.memory_kib(), before + 2'048);
  const std::string received = client.read_all();
  EXPECT_EQ(received.size(), sent.size() + 5);
  EXPECT_TRUE(received == sent + "<eof>");
}

TEST_F(EndpointTcp, AConnectionStaysWithItsReplica) {
  Replica old_one(echo("old "));
  Replica new_one(echo("new "));
  endpoint_.start_to(old_one);
  Peer before = endpoint_.client();
  EXPECT_EQ(before.read_until(" "), "old ");
  endpoint_.control().route(2, new_one.port());
  const Peer after = endpoint_.client();
  EXPECT_EQ(after.read_until(" "), "new ");
  before.send("still there?");
  EXPECT_EQ(before.read_until("?"), "still there?");
  EXPECT_EQ(endpoint_.control().counts().active, 2U);
  before.close();
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 1, 0}));
  EXPECT_EQ(endpoint_.control().counts().drained, 1U);
}

TEST_F(EndpointTcp, ConnectionsAreCutAfterTheDrainTimeout) {
  Replica old_one(echo("old "));
  Replica new_one(echo("new "));
  endpoint_.start_to(old_one);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.read_until(" "), "old ");
  endpoint_.control().route(2, new_one.port(), 30);
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 1}));
  EXPECT_EQ(client.read_all(), "<reset>");
  EXPECT_EQ(endpoint_.control().counts().cut, 1U);
}

TEST_F(EndpointTcp, ClientsWaitForAReplica) {
  ASSERT_EQ(endpoint_.start().at("ready"), boost::json::value(true));
  const Peer first = endpoint_.client();
  first.send("question");
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 1; }));
  EXPECT_EQ(endpoint_.control().counts().active, 0U);
  Replica replica(echo("hello "));
  endpoint_.control().route(1, replica.port());
  EXPECT_EQ(first.read_until("question"), "hello question");
}

TEST_F(EndpointTcp, ButNotForEver) {
  endpoint_.spec.wait = milliseconds(50);
  endpoint_.start();
  EXPECT_EQ(endpoint_.client().read_all(), "<eof>");
  EXPECT_EQ(endpoint_.control().counts().open, 0U);
}

TEST_F(EndpointTcp, AReplicaThatRefusesIsRetried) {
  std::uint16_t port = 0;
  {
    const Replica gone(echo(""));
    port = gone.port();
  }
  endpoint_.start();
  endpoint_.control().route(1, port);
  const Peer client = endpoint_.client();
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 1; }));
  EXPECT_TRUE(client.is_silent());
  Replica replica(echo("hello "), port);
  EXPECT_EQ(client.read_until(" "), "hello ");
}

TEST_F(EndpointTcp, AReplicaThatRefusesIsAbandonedForTheNextRoute) {
  std::uint16_t port = 0;
  {
    const Replica gone(echo(""));
    port = gone.port();
  }
  endpoint_.start();
  endpoint_.control().route(1, port);
  const Peer client = endpoint_.client();
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 1; }));
  Replica replica(echo("hello "));
  endpoint_.control().route(2, replica.port());
  EXPECT_EQ(client.read_until(" "), "hello ");
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 0}));
}

TEST_F(EndpointTcp, AReplicaThatKeepsRefusingTimesOut) {
  std::uint16_t port = 0;
  {
    const Replica gone(echo(""));
    port = gone.port();
  }
  endpoint_.spec.connect = milliseconds(50);
  endpoint_.start();
  endpoint_.control().route(1, port);
  EXPECT_EQ(endpoint_.client().read_all(), "<eof>");
}

TEST_F(EndpointTcp, AConnectionIdleOnBothSidesIsCut) {
  Replica replica(echo("hello "));
  endpoint_.spec.idle = milliseconds(60);
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.read_all(), "hello <reset>");
  EXPECT_EQ(endpoint_.control().counts().cut, 1U);
}

TEST_F(EndpointTcp, UnlessTheIdleTimeoutIsDisabled) {
  Replica replica(echo("hello "));
  endpoint_.spec.idle = milliseconds(0);
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.read_until(" "), "hello ");
  EXPECT_TRUE(client.is_silent(600));  // more than two checks of all sessions
  client.send("more?");
  EXPECT_EQ(client.read_until("?"), "more?");
}

TEST_F(EndpointTcp, ConnectionsBeyondTheLimitWaitInTheBacklog) {
  Replica replica(echo("hello "));
  endpoint_.spec.most_connections = 2;
  endpoint_.start_to(replica);
  Peer first = endpoint_.client();
  const Peer second = endpoint_.client();
  EXPECT_EQ(first.read_until(" "), "hello ");
  EXPECT_EQ(second.read_until(" "), "hello ");
  const Peer third = endpoint_.client();  // in the backlog
  EXPECT_TRUE(third.is_silent());
  EXPECT_EQ(endpoint_.control().counts().open, 2U);
  first.close();
  EXPECT_EQ(third.read_until(" "), "hello ");
}

TEST_F(EndpointTcp, WithoutFreeDescriptorsItWaitsAndDoesNotSpin) {
  Replica replica(echo("hello "));
  // The limit of open files is lowered while the endpoint runs.
  endpoint_.start_to(replica);
  const rlimit none{.rlim_cur = 3, .rlim_max = 4'096};
  ASSERT_EQ(::prlimit(endpoint_.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  const Peer client = endpoint_.client();
  EXPECT_TRUE(eventually([&] {
    return !endpoint_.log().empty() && endpoint_.log().find("cannot accept") != std::string::npos;
  }));
  const auto before = endpoint_.cpu_time();
  EXPECT_TRUE(client.is_silent(1'000));
  EXPECT_LT(endpoint_.cpu_time() - before, milliseconds(100));
  const rlimit enough{.rlim_cur = 4'096, .rlim_max = 4'096};
  ASSERT_EQ(::prlimit(endpoint_.pid(), RLIMIT_NOFILE, &enough, nullptr), 0);
  EXPECT_EQ(client.read_until(" "), "hello ");
}

TEST_F(EndpointTcp, ShutdownLetsConnectionsFinish) {
  Replica replica(echo("hello "));
  endpoint_.start_to(replica);
  Peer client = endpoint_.client();
  EXPECT_EQ(client.read_until(" "), "hello ");
  endpoint_.control().end(60'000);
  client.send("more?");
  EXPECT_EQ(client.read_until("?"), "more?");
  client.close();
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

TEST_F(EndpointTcp, ShutdownCutsConnectionsAfterTheDrainTimeout) {
  Replica replica(echo("hello "));
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.read_until(" "), "hello ");
  endpoint_.control().end(30);
  EXPECT_EQ(client.read_all(), "<reset>");
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

TEST_F(EndpointTcp, CountsWhatItDid) {
  Replica replica(echo("hello "));
  endpoint_.start_to(replica);
  {
    const Peer client = endpoint_.client();
    client.send("12345?");
    EXPECT_EQ(client.read_until("?"), "hello 12345?");
  }
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 0; }));
  const api::EndpointCounts counts = endpoint_.control().counts();
  EXPECT_EQ(counts,
            (api::EndpointCounts{.connections = 1, .requests = 1, .bytes_in = 6, .bytes_out = 12}));
}

}  // namespace
}  // namespace tangram::endpoint
