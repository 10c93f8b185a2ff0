// tcp mode with real sockets: bytes, ends and breaks pass, connections stay where they began, and
// nothing is lost when the route changes.
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/test_endpoint.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using std::chrono::milliseconds;
using testing::eventually;
using testing::pattern;
using testing::Peer;
using testing::Replica;
using testing::TestEndpoint;
using Figures = std::vector<std::int64_t>;

// Says its name, then echoes until the end.
Replica::Serve echo(std::string name) {
  return [name = std::move(name)](Peer& peer) {
    peer.say(name);
    std::string text;
    while (peer.more(text) == Peer::Heard::kBytes) {
      peer.say(text);
      text.clear();
    }
  };
}

class EndpointTcp : public ::testing::Test {
 protected:
  TestEndpoint endpoint_{EndpointMode::kTcp};
};

TEST_F(EndpointTcp, PassesBytesBothWaysAndHalfAnEnd) {
  Replica replica([](Peer& peer) {
    const std::string heard = peer.hear_all();  // needs the client's end, and can still answer
    peer.say(cat("heard ", heard));
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say("one ");
  client.say("two");
  client.finish();
  EXPECT_EQ(client.hear_all(), "heard one two<end><end>");
}

TEST_F(EndpointTcp, PassesTheReplicasHalfEndFirst) {
  std::string heard;
  {
    Replica replica([&](Peer& peer) {
      peer.say("bye");
      peer.finish();
      heard = peer.hear_all();
    });
    endpoint_.start_to(replica);
    const Peer client = endpoint_.client();
    EXPECT_EQ(client.hear_all(), "bye<end>");
    client.say("still here");
    client.finish();
    EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 0; }));
  }
  EXPECT_EQ(heard, "still here<end>");
}

TEST_F(EndpointTcp, ABreakIsNoEnd) {
  Replica replica([](Peer& peer) {
    (void)peer.hear("go");
    peer.reset();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say("go");
  EXPECT_EQ(client.hear_all(), "<break>");
}

TEST_F(EndpointTcp, AClientThatBreaksOffIsSeenByTheReplica) {
  std::string heard;
  {
    Replica replica([&](Peer& peer) {
      peer.say("hello");
      heard = peer.hear_all();
    });
    endpoint_.start_to(replica);
    Peer client = endpoint_.client();
    EXPECT_EQ(client.hear("hello"), "hello");
    client.reset();
    EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 0; }));
  }
  EXPECT_EQ(heard, "<break>");
}

TEST_F(EndpointTcp, LargeStreamsPassWholeAndASlowReaderCostsNoMemory) {
  const std::string sent = pattern(std::size_t{64} << 20U);  // more than the kernel keeps
  std::atomic<std::size_t> accepted = 0;
  Replica replica([&](Peer& peer) {
    for (std::size_t at = 0; at < sent.size(); at += 65'536) {
      if (!peer.say(std::string_view(sent).substr(at, 65'536))) return;
      accepted = at + 65'536;
    }
  });
  endpoint_.start_to(replica);
  const std::size_t before = endpoint_.memory_kib();
  const Peer client = endpoint_.client(16'384);
  // Nothing is read: what the replica could write must come to rest well before the end.
  std::size_t last = 1;
  EXPECT_TRUE(eventually([&] {
    const std::size_t now = accepted;
    const bool rests = now > 0 && now == std::exchange(last, now);
    if (!rests) std::this_thread::sleep_for(milliseconds(100));
    return rests;
  }));
  EXPECT_LT(accepted, sent.size());
  EXPECT_LT(endpoint_.memory_kib(), before + 2'048);
  const std::string heard = client.hear_all();
  EXPECT_EQ(heard.size(), sent.size() + 5);
  EXPECT_TRUE(heard == sent + "<end>");
}

TEST_F(EndpointTcp, AConnectionStaysWhereItBegan) {
  Replica old_one(echo("old "));
  Replica new_one(echo("new "));
  endpoint_.start_to(old_one);
  Peer before = endpoint_.client();
  EXPECT_EQ(before.hear(" "), "old ");
  endpoint_.master().route(2, new_one.port());
  const Peer after = endpoint_.client();
  EXPECT_EQ(after.hear(" "), "new ");
  before.say("still there?");
  EXPECT_EQ(before.hear("?"), "still there?");
  EXPECT_EQ(endpoint_.master().counts().active, 2U);
  before.leave();
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 1, 0}));
  EXPECT_EQ(endpoint_.master().counts().drained, 1U);
}

TEST_F(EndpointTcp, WhatIsLeftAfterTheDrainIsCut) {
  Replica old_one(echo("old "));
  Replica new_one(echo("new "));
  endpoint_.start_to(old_one);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.hear(" "), "old ");
  endpoint_.master().route(2, new_one.port(), 30);
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 1}));
  EXPECT_EQ(client.hear_all(), "<break>");
  EXPECT_EQ(endpoint_.master().counts().cut, 1U);
}

TEST_F(EndpointTcp, ClientsWaitForAReplica) {
  ASSERT_EQ(endpoint_.start().at("ready"), boost::json::value(true));
  const Peer first = endpoint_.client();
  first.say("question");
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 1; }));
  EXPECT_EQ(endpoint_.master().counts().active, 0U);
  Replica replica(echo("hello "));
  endpoint_.master().route(1, replica.port());
  EXPECT_EQ(first.hear("question"), "hello question");
}

TEST_F(EndpointTcp, ButNotForEver) {
  endpoint_.spec.wait = milliseconds(50);
  endpoint_.start();
  EXPECT_EQ(endpoint_.client().hear_all(), "<end>");
  EXPECT_EQ(endpoint_.master().counts().open, 0U);
}

TEST_F(EndpointTcp, AReplicaThatRefusesIsTriedAgain) {
  std::uint16_t port = 0;
  {
    const Replica gone(echo(""));
    port = gone.port();
  }
  endpoint_.start();
  endpoint_.master().route(1, port);
  const Peer client = endpoint_.client();
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 1; }));
  EXPECT_TRUE(client.is_silent());
  Replica replica(echo("hello "), port);
  EXPECT_EQ(client.hear(" "), "hello ");
}

TEST_F(EndpointTcp, AReplicaThatRefusesIsLeftForTheNextOne) {
  std::uint16_t port = 0;
  {
    const Replica gone(echo(""));
    port = gone.port();
  }
  endpoint_.start();
  endpoint_.master().route(1, port);
  const Peer client = endpoint_.client();
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 1; }));
  Replica replica(echo("hello "));
  endpoint_.master().route(2, replica.port());
  EXPECT_EQ(client.hear(" "), "hello ");
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 0}));
}

TEST_F(EndpointTcp, AReplicaThatGoesOnRefusingIsGivenUp) {
  std::uint16_t port = 0;
  {
    const Replica gone(echo(""));
    port = gone.port();
  }
  endpoint_.spec.connect = milliseconds(50);
  endpoint_.start();
  endpoint_.master().route(1, port);
  EXPECT_EQ(endpoint_.client().hear_all(), "<end>");
}

TEST_F(EndpointTcp, SilenceOnBothSidesIsCutAfterAWhile) {
  Replica replica(echo("hello "));
  endpoint_.spec.idle = milliseconds(60);
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.hear_all(), "hello <break>");
  EXPECT_EQ(endpoint_.master().counts().cut, 1U);
}

TEST_F(EndpointTcp, UnlessItMayLastForEver) {
  Replica replica(echo("hello "));
  endpoint_.spec.idle = milliseconds(0);
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.hear(" "), "hello ");
  EXPECT_TRUE(client.is_silent(600));  // more than two looks at all sessions
  client.say("more?");
  EXPECT_EQ(client.hear("?"), "more?");
}

TEST_F(EndpointTcp, MoreThanTheMostConnectionsWaitForTheirTurn) {
  Replica replica(echo("hello "));
  endpoint_.spec.most_connections = 2;
  endpoint_.start_to(replica);
  Peer first = endpoint_.client();
  const Peer second = endpoint_.client();
  EXPECT_EQ(first.hear(" "), "hello ");
  EXPECT_EQ(second.hear(" "), "hello ");
  const Peer third = endpoint_.client();  // in the backlog
  EXPECT_TRUE(third.is_silent());
  EXPECT_EQ(endpoint_.master().counts().open, 2U);
  first.leave();
  EXPECT_EQ(third.hear(" "), "hello ");
}

TEST_F(EndpointTcp, WithoutFreeDescriptorsItWaitsAndDoesNotSpin) {
  Replica replica(echo("hello "));
  // Room for the endpoint's own and a few; the limit is taken away from under it.
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
  EXPECT_EQ(client.hear(" "), "hello ");
}

TEST_F(EndpointTcp, TheEndLetsWhatIsInFlightFinish) {
  Replica replica(echo("hello "));
  endpoint_.start_to(replica);
  Peer client = endpoint_.client();
  EXPECT_EQ(client.hear(" "), "hello ");
  endpoint_.master().end(60'000);
  client.say("more?");
  EXPECT_EQ(client.hear("?"), "more?");
  client.leave();
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

TEST_F(EndpointTcp, TheEndCutsTheRest) {
  Replica replica(echo("hello "));
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  EXPECT_EQ(client.hear(" "), "hello ");
  endpoint_.master().end(30);
  EXPECT_EQ(client.hear_all(), "<break>");
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

TEST_F(EndpointTcp, CountsWhatItDid) {
  Replica replica(echo("hello "));
  endpoint_.start_to(replica);
  {
    const Peer client = endpoint_.client();
    client.say("12345?");
    EXPECT_EQ(client.hear("?"), "hello 12345?");
  }
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 0; }));
  const api::EndpointCounts counts = endpoint_.master().counts();
  EXPECT_EQ(counts,
            (api::EndpointCounts{.connections = 1, .requests = 1, .bytes_in = 6, .bytes_out = 12}));
}

}  // namespace
}  // namespace tangram::endpoint
