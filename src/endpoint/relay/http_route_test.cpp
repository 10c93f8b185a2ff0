// http mode while the service moves: which replica each request goes to, what is retried, waits, is
// drained or cut; and that clients on keep-alive connections notice nothing.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/endpoint/http.hpp"

namespace tangram::endpoint {
namespace {

using testing::body_of;
using testing::ControlClient;
using testing::eventually;
using testing::Gate;
using testing::get;
using ::testing::HasSubstr;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;
using DrainCounts = std::vector<std::int64_t>;

class EndpointHttpRoute : public testing::HttpTest {};

TEST_F(EndpointHttpRoute, EachRequestOfAKeepAliveConnectionGoesToTheCurrentReplica) {
  HttpReplica one("one");
  HttpReplica two("two");
  start(one);
  const Peer client = endpoint_.client();
  EXPECT_EQ(fetch(client, get("/")), "one");
  endpoint_.control().route(2, two.port());
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 0}));
  EXPECT_EQ(fetch(client, get("/")), "two");
  EXPECT_EQ(fetch(client, post("/", "x")), "two");
  endpoint_.control().route(1, one.port());
  EXPECT_EQ(fetch(client, post("/", "x")), "one");
}

TEST_F(EndpointHttpRoute, AHoldLetsRequestsInFlightFinish) {
  Gate gate;
  HttpReplica replica([&](const std::string&) {
    gate.wait();
    return response("finished");
  });
  start(replica);
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().active == 1; }));
  endpoint_.control().hold();
  gate.open();
  EXPECT_EQ(body_of(read_message(client)), "finished");
  HttpReplica two("two");
  endpoint_.control().route(2, two.port());
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 0}));
}

TEST_F(EndpointHttpRoute, RequestsInFlightFinishOnTheirReplica) {
  Gate gate;
  HttpReplica one([&](const std::string&) {
    gate.wait();
    return response("one");
  });
  HttpReplica two("two");
  start(one);
  const Peer a = endpoint_.client();
  const Peer b = endpoint_.client();
  a.send(get("/"));
  b.send(post("/", "x"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 2; }));
  endpoint_.control().route(2, two.port());
  EXPECT_EQ(fetch(endpoint_.client(), get("/")), "two");
  gate.open();
  EXPECT_EQ(body_of(read_message(a)), "one");
  EXPECT_EQ(body_of(read_message(b)), "one");
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 2, 0}));
  EXPECT_EQ(fetch(a, get("/")), "two");
  EXPECT_EQ(endpoint_.control().counts().drained, 2U);
  EXPECT_THAT(endpoint_.log(), HasSubstr("drained: run 1, 2 finished, 0 cut"));
}

TEST_F(EndpointHttpRoute, RequestsInFlightAfterTheDrainTimeoutAreCut) {
  std::atomic<int> seen = 0;
  Replica one([&](Peer& peer) {
    const std::string request = read_message(peer);
    ++seen;
    if (request.starts_with("GET /half"))
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    (void)peer.read_all();
  });
  HttpReplica two("two");
  endpoint_.start_to(one);
  const Peer half = endpoint_.client();
  const Peer none = endpoint_.client();
  half.send(get("/half"));
  none.send(post("/none", "x"));
  EXPECT_THAT(half.read_until("half"), HasSubstr("200 OK"));
  EXPECT_TRUE(eventually([&] { return seen == 2; }));
  EXPECT_EQ(endpoint_.control().counts().active, 2U);
  endpoint_.control().route(2, two.port(), 40);
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 2}));
  EXPECT_EQ(half.read_all(), "<eof>");  // short of its length
  EXPECT_THAT(none.read_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(endpoint_.control().counts().cut, 2U);
}

TEST_F(EndpointHttpRoute, TheSameRouteAgainIsAnsweredAgain) {
  HttpReplica one("one");
  HttpReplica two("two");
  start(one);
  endpoint_.control().route(1, one.port());  // no run was left: nothing to report
  endpoint_.control().route(2, two.port());
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 0}));
  ControlClient other(endpoint_.folder());  // e.g. a daemon that was restarted
  other.route(2, two.port());
  EXPECT_EQ(other.drained(), (DrainCounts{1, 2, 0, 0}));
}

TEST_F(EndpointHttpRoute, TheSameRouteAgainDuringADrainIsReportedAtItsEnd) {
  Gate gate;
  HttpReplica one([&](const std::string&) {
    gate.wait();
    return response("one");
  });
  HttpReplica two("two");
  start(one);
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 1; }));
  endpoint_.control().route(2, two.port());
  ControlClient other(endpoint_.folder());
  other.route(2, two.port());
  gate.open();
  EXPECT_EQ(other.drained(), (DrainCounts{1, 2, 1, 0}));
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 1, 0}));
}

TEST_F(EndpointHttpRoute, ARouteBackCancelsTheDrain) {
  Gate gate;
  HttpReplica one([&](const std::string& request) {
    if (request.starts_with("GET /slow")) gate.wait();
    return response("one");
  });
  HttpReplica two("two");
  start(one);
  const Peer slow = endpoint_.client();
  slow.send(get("/slow"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 1; }));
  endpoint_.control().route(2, two.port(), 150);
  endpoint_.control().route(1, one.port());
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{2, 1, 0, 0}));
  EXPECT_TRUE(slow.is_silent(300));  // longer than the cancelled drain's timeout
  gate.open();
  EXPECT_EQ(body_of(read_message(slow)), "one");
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
  a.send(get("/"));
  EXPECT_TRUE(eventually([&] { return one.seen().size() == 1; }));
  endpoint_.control().route(2, two.port());
  const Peer b = endpoint_.client();
  b.send(get("/"));
  EXPECT_TRUE(eventually([&] { return two.seen().size() == 1; }));
  endpoint_.control().route(3, three.port());
  gate.open();
  std::vector<DrainCounts> drained = {endpoint_.control().drained(), endpoint_.control().drained()};
  std::ranges::sort(drained);
  EXPECT_EQ(drained, (std::vector<DrainCounts>{{1, 2, 1, 0}, {2, 3, 1, 0}}));
}

TEST_F(EndpointHttpRoute, RequestsBrokenDuringADrainAreNeitherFinishedNorCut) {
  std::atomic<int> seen = 0;
  Gate gate;
  Replica one([&](Peer& peer) {
    const std::string request = read_message(peer);
    ++seen;
    if (request.starts_with("GET /half")) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
      gate.wait();
      return;
    }
    (void)peer.read_all();
  });
  HttpReplica two("two");
  endpoint_.start_to(one);
  const Peer half = endpoint_.client();
  Peer leaving = endpoint_.client();
  half.send(get("/half"));
  leaving.send(post("/none", "x"));
  EXPECT_TRUE(eventually([&] { return seen == 2; }));
  endpoint_.control().route(2, two.port());
  gate.open();
  leaving.reset();
  const auto line = endpoint_.control().next_with("drained");
  EXPECT_EQ(line, (boost::json::object{
                      {"drained", 1}, {"to", 2}, {"finished", 0}, {"cut", 0}, {"broken", 2}}));
  const api::EndpointCounts counts = endpoint_.control().counts();
  EXPECT_EQ(counts.broken, 2U);
  EXPECT_EQ(counts.cut, 0U);
  EXPECT_EQ(counts.drained, 0U);
}

TEST_F(EndpointHttpRoute, ATunnelIsDrainedLikeARequest) {
  Replica one([](Peer& peer) {
    (void)peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello");
    (void)peer.read_all();
  });
  HttpReplica two("two");
  endpoint_.start_to(one);
  const Peer client = endpoint_.client();
  client.send(get("/", "Connection: Upgrade\r\nUpgrade: x\r\n"));
  EXPECT_THAT(client.read_until("hello"), StartsWith("HTTP/1.1 101 "));
  endpoint_.control().route(2, two.port(), 40);
  EXPECT_EQ(endpoint_.control().drained(), (DrainCounts{1, 2, 0, 1}));
  EXPECT_EQ(client.read_all(), "<reset>");
}

TEST_F(EndpointHttpRoute, ShutdownLetsRequestsInFlightFinishAndClosesTheirConnections) {
  Gate gate;
  HttpReplica replica([&](const std::string& request) {
    if (request.starts_with("GET /slow")) gate.wait();
    return response("finished");
  });
  start(replica);
  const Peer idle = endpoint_.client();
  EXPECT_EQ(fetch(idle, get("/")), "finished");
  const Peer busy = endpoint_.client();
  busy.send(get("/slow"));
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().active == 1; }));
  endpoint_.control().end(60'000);
  EXPECT_EQ(idle.read_all(), "<eof>");
  gate.open();
  EXPECT_EQ(busy.read_all(),
            "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nfinished<eof>");
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

TEST_F(EndpointHttpRoute, ShutdownRefusesWaitingRequests) {
  endpoint_.start();
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().bytes_in > 0; }));
  endpoint_.control().end(60'000);
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(endpoint_.wait(), EndpointExit::kDone);
}

// Replicas change while clients keep sending requests on keep-alive connections, idempotent or not,
// and each previous replica is stopped as soon as it is drained.
TEST_F(EndpointHttpRoute, UnderLoadNoRequestFailsAndEachIsServedByTheRouteItBeganWith) {
  constexpr int kMoves = 40;
  constexpr int kClients = 8;
  std::atomic<int> current = 0;  // set before the route command; `settled` after its answer
  std::atomic<int> settled = 0;
  std::atomic<bool> is_over = false;
  std::atomic<int> requests = 0;
  const auto replica_of = [](int run) {
    return std::make_unique<HttpReplica>([run](const std::string& request) {
      std::this_thread::sleep_for(std::chrono::microseconds(request.size() * 7 % 2'000));
      return response(std::to_string(run), request.size() % 5 == 0 ? "Connection: close\r\n" : "");
    });
  };
  auto old_one = replica_of(0);
  ASSERT_EQ(endpoint_.start().at("ready"), boost::json::value(true));
  endpoint_.control().route(0, old_one->port());
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
            fetch(client, random() % 2 == 0 ? get(cat("/", filler)) : post("/", filler));
        const int last = current;
        ++requests;
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
    const int before = requests;
    EXPECT_TRUE(eventually([&] { return requests >= before + kClients; }));
    current = run;
    endpoint_.control().route(static_cast<std::uint32_t>(run), next->port());
    settled = run;
    const DrainCounts drained = endpoint_.control().drained();
    EXPECT_EQ(drained.at(0), run - 1);
    EXPECT_EQ(drained.at(3), 0);
    old_one->stop();
    old_one = std::move(next);
  }
  is_over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_THAT(failures, ::testing::IsEmpty());
  const api::EndpointCounts counts = endpoint_.control().counts();
  EXPECT_EQ(counts.requests, static_cast<std::uint64_t>(requests));
  EXPECT_EQ(counts.refused, 0U);
  EXPECT_EQ(counts.cut, 0U);
}

}  // namespace
}  // namespace tangram::endpoint
