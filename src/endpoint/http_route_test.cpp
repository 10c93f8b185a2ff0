// http mode while the service moves: which replica a request goes to, what is sent again, what
// waits, what is drained and what is cut; and that a client on a kept connection notices nothing.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/test_http.hpp"

namespace tangram::endpoint {
namespace {

using testing::body_of;
using testing::eventually;
using testing::Gate;
using testing::get;
using ::testing::HasSubstr;
using testing::hear_message;
using testing::HttpReplica;
using testing::Master;
using testing::Peer;
using testing::post;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;
using Figures = std::vector<std::int64_t>;

class EndpointHttpRoute : public testing::HttpTest {};

TEST_F(EndpointHttpRoute, EachRequestOfAKeptConnectionGoesToTheCurrentReplica) {
  HttpReplica one("one");
  HttpReplica two("two");
  start(one);
  const Peer client = endpoint_.client();
  EXPECT_EQ(ask(client, get("/")), "one");
  endpoint_.master().route(2, two.port());
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 0}));
  EXPECT_EQ(ask(client, get("/")), "two");
  EXPECT_EQ(ask(client, post("/", "x")), "two");
  endpoint_.master().route(1, one.port());
  EXPECT_EQ(ask(client, post("/", "x")), "one");
}

TEST_F(EndpointHttpRoute, AHoldLetsWhatIsInFlightGoOn) {
  Gate gate;
  HttpReplica replica([&](const std::string&) {
    gate.wait();
    return response("finished");
  });
  start(replica);
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().active == 1; }));
  endpoint_.master().hold();
  gate.open();
  EXPECT_EQ(body_of(hear_message(client)), "finished");
  HttpReplica two("two");
  endpoint_.master().route(2, two.port());
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 0}));
}

TEST_F(EndpointHttpRoute, WhatIsInFlightFinishesWhereItBegan) {
  Gate gate;
  HttpReplica one([&](const std::string&) {
    gate.wait();
    return response("one");
  });
  HttpReplica two("two");
  start(one);
  const Peer a = endpoint_.client();
  const Peer b = endpoint_.client();
  a.say(get("/"));
  b.say(post("/", "x"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 2; }));
  endpoint_.master().route(2, two.port());
  EXPECT_EQ(ask(endpoint_.client(), get("/")), "two");
  gate.open();
  EXPECT_EQ(body_of(hear_message(a)), "one");
  EXPECT_EQ(body_of(hear_message(b)), "one");
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 2, 0}));
  EXPECT_EQ(ask(a, get("/")), "two");
  EXPECT_EQ(endpoint_.master().counts().drained, 2U);
  EXPECT_THAT(endpoint_.log(), HasSubstr("drained: run 1, 2 finished, 0 cut"));
}

TEST_F(EndpointHttpRoute, WhatIsNotOverAfterTheDrainIsCut) {
  std::atomic<int> seen = 0;
  Replica one([&](Peer& peer) {
    const std::string request = hear_message(peer);
    ++seen;
    if (request.starts_with("GET /half"))
      peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    (void)peer.hear_all();
  });
  HttpReplica two("two");
  endpoint_.start_to(one);
  const Peer half = endpoint_.client();
  const Peer none = endpoint_.client();
  half.say(get("/half"));
  none.say(post("/none", "x"));
  EXPECT_THAT(half.hear("half"), HasSubstr("200 OK"));
  EXPECT_TRUE(eventually([&] { return seen == 2; }));
  EXPECT_EQ(endpoint_.master().counts().active, 2U);
  endpoint_.master().route(2, two.port(), 40);
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 2}));
  EXPECT_EQ(half.hear_all(), "<end>");  // short of its length
  EXPECT_THAT(none.hear_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(endpoint_.master().counts().cut, 2U);
}

TEST_F(EndpointHttpRoute, TheSameRouteAgainIsAnsweredAgain) {
  HttpReplica one("one");
  HttpReplica two("two");
  start(one);
  endpoint_.master().route(1, one.port());  // nothing was left: nothing to tell
  endpoint_.master().route(2, two.port());
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 0}));
  Master other(endpoint_.folder());  // a daemon that was started again, say
  other.route(2, two.port());
  EXPECT_EQ(other.drained(), (Figures{1, 2, 0, 0}));
}

TEST_F(EndpointHttpRoute, TheSameRouteAgainWhileItDrainsIsToldAtTheEnd) {
  Gate gate;
  HttpReplica one([&](const std::string&) {
    gate.wait();
    return response("one");
  });
  HttpReplica two("two");
  start(one);
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 1; }));
  endpoint_.master().route(2, two.port());
  Master other(endpoint_.folder());
  other.route(2, two.port());
  gate.open();
  EXPECT_EQ(other.drained(), (Figures{1, 2, 1, 0}));
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 1, 0}));
}

TEST_F(EndpointHttpRoute, ARouteBackTakesTheRunOutOfItsDrain) {
  Gate gate;
  HttpReplica one([&](const std::string& request) {
    if (request.starts_with("GET /slow")) gate.wait();
    return response("one");
  });
  HttpReplica two("two");
  start(one);
  const Peer slow = endpoint_.client();
  slow.say(get("/slow"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 1; }));
  endpoint_.master().route(2, two.port(), 150);
  endpoint_.master().route(1, one.port());
  EXPECT_EQ(endpoint_.master().drained(), (Figures{2, 1, 0, 0}));
  EXPECT_TRUE(slow.is_silent(300));  // longer than the drain that was called off
  gate.open();
  EXPECT_EQ(body_of(hear_message(slow)), "one");
}

TEST_F(EndpointHttpRoute, SeveralRunsDrainAtOnce) {
  Gate gate;
  const auto slow = [&](const std::string&) {
    gate.wait();
    return response("x");
  };
  HttpReplica one(slow);
  HttpReplica two(slow);
  HttpReplica three("three");
  start(one);
  const Peer a = endpoint_.client();
  a.say(get("/"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 1; }));
  endpoint_.master().route(2, two.port());
  const Peer b = endpoint_.client();
  b.say(get("/"));
  EXPECT_TRUE(eventually([&] { return two.seen().size() == 1; }));
  endpoint_.master().route(3, three.port());
  gate.open();
  std::vector<Figures> drained = {endpoint_.master().drained(), endpoint_.master().drained()};
  std::ranges::sort(drained);
  EXPECT_EQ(drained, (std::vector<Figures>{{1, 2, 1, 0}, {2, 3, 1, 0}}));
}

TEST_F(EndpointHttpRoute, WhatIsBrokenOffWhileItDrainsIsNeitherFinishedNorCut) {
  std::atomic<int> seen = 0;
  Gate gate;
  Replica one([&](Peer& peer) {
    const std::string request = hear_message(peer);
    ++seen;
    if (request.starts_with("GET /half")) {
      peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
      return gate.wait();
    }
    (void)peer.hear_all();
  });
  HttpReplica two("two");
  endpoint_.start_to(one);
  const Peer half = endpoint_.client();
  Peer leaving = endpoint_.client();
  half.say(get("/half"));
  leaving.say(post("/none", "x"));
  EXPECT_TRUE(eventually([&] { return seen == 2; }));
  endpoint_.master().route(2, two.port());
  gate.open();
  leaving.reset();
  const auto line = endpoint_.master().next_with("drained");
  EXPECT_EQ(line, (boost::json::object{
                      {"drained", 1}, {"to", 2}, {"finished", 0}, {"cut", 0}, {"broken", 2}}));
  const api::EndpointCounts counts = endpoint_.master().counts();
  EXPECT_EQ(counts.broken, 2U);
  EXPECT_EQ(counts.cut, 0U);
  EXPECT_EQ(counts.drained, 0U);
}

TEST_F(EndpointHttpRoute, ATunnelIsDrainedLikeARequest) {
  Replica one([](Peer& peer) {
    (void)peer.hear("\r\n\r\n");
    peer.say("HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello");
    (void)peer.hear_all();
  });
  HttpReplica two("two");
  endpoint_.start_to(one);
  const Peer client = endpoint_.client();
  client.say(get("/", "Connection: Upgrade\r\nUpgrade: x\r\n"));
  EXPECT_THAT(client.hear("hello"), StartsWith("HTTP/1.1 101 "));
  endpoint_.master().route(2, two.port(), 40);
  EXPECT_EQ(endpoint_.master().drained(), (Figures{1, 2, 0, 1}));
  EXPECT_EQ(client.hear_all(), "<break>");
}

TEST_F(EndpointHttpRoute, TheEndLetsWhatIsInFlightFinishAndSaysSo) {
  Gate gate;
  HttpReplica replica([&](const std::string& request) {
    if (request.starts_with("GET /slow")) gate.wait();
    return response("finished");
  });
  start(replica);
  const Peer idle = endpoint_.client();
  EXPECT_EQ(ask(idle, get("/")), "finished");
  const Peer busy = endpoint_.client();
  busy.say(get("/slow"));
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().active == 1; }));
  endpoint_.master().end(60'000);
  EXPECT_EQ(idle.hear_all(), "<end>");
  gate.open();
  EXPECT_EQ(busy.hear_all(),
            "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nfinished<end>");
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

TEST_F(EndpointHttpRoute, TheEndRefusesWhoWaits) {
  endpoint_.start();
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().bytes_in > 0; }));
  endpoint_.master().end(60'000);
  EXPECT_THAT(client.hear_all(), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

// What a service must survive: its replicas change while clients go on asking on kept connections,
// by every method, and the replica that was left is gone as soon as it is drained.
TEST_F(EndpointHttpRoute, UnderLoadNoRequestFailsAndEachIsServedByTheRouteItBeganWith) {
  constexpr int kMoves = 40;
  constexpr int kClients = 8;
  std::atomic<int> current = 0;  // changed before the route; `settled` after it is answered
  std::atomic<int> settled = 0;
  std::atomic<bool> is_over = false;
  std::atomic<int> asked = 0;
  const auto replica_of = [](int run) {
    return std::make_unique<HttpReplica>([run](const std::string& request) {
      std::this_thread::sleep_for(std::chrono::microseconds(request.size() * 7 % 2'000));
      return response(std::to_string(run), request.size() % 5 == 0 ? "Connection: close\r\n" : "");
    });
  };
  auto old_one = replica_of(0);
  ASSERT_EQ(endpoint_.start().at("ready"), boost::json::value(true));
  endpoint_.master().route(0, old_one->port());
  std::vector<std::thread> clients;
  std::mutex mutex;
  std::vector<std::string> failures;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937 random(static_cast<unsigned>(c));
      Peer client = endpoint_.client();
      while (!is_over) {
        if (random() % 16 == 0) client = endpoint_.client();
        const std::string filler(random() % 300, 'f');
        const int first = settled;
        const std::string body =
            ask(client, random() % 2 == 0 ? get(cat("/", filler)) : post("/", filler));
        const int last = current;
        ++asked;
        const auto run = parse_int(body, 0, kMoves);
        if (run && *run >= first && *run <= last) continue;
        const std::lock_guard lock(mutex);
        failures.push_back(
            cat("answer ", tangram::quoted(body), " between ", first, " and ", last));
        client = endpoint_.client();
      }
    });
  }
  for (int run = 1; run <= kMoves; ++run) {
    auto next = replica_of(run);
    const int before = asked;
    EXPECT_TRUE(eventually([&] { return asked >= before + kClients; }));
    current = run;
    endpoint_.master().route(static_cast<std::uint32_t>(run), next->port());
    settled = run;
    const Figures drained = endpoint_.master().drained();
    EXPECT_EQ(drained.at(0), run - 1);
    EXPECT_EQ(drained.at(3), 0);
    old_one->stop();
    old_one = std::move(next);
  }
  is_over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(failures, ::testing::IsEmpty());
  const api::EndpointCounts counts = endpoint_.master().counts();
  EXPECT_EQ(counts.requests, static_cast<std::uint64_t>(asked));
  EXPECT_EQ(counts.refused, 0U);
  EXPECT_EQ(counts.cut, 0U);
}

}  // namespace
}  // namespace tangram::endpoint
