// http mode while bytes flow: streams, large bodies, ends and breaks in the middle, answers before
// the request is over, and upgrades.
#include <condition_variable>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/test_http.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::get;
using ::testing::HasSubstr;
using testing::hear_message;
using testing::HttpReplica;
using testing::pattern;
using testing::Peer;
using testing::post;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;

class EndpointHttpStream : public testing::HttpTest {};

TEST_F(EndpointHttpStream, AResponseThatBreaksOffIsNeverMadeToLookWhole) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "abc<end>"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "5\r\nab<end>"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
       "5\r\nabcde\r\n<end>"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdeXX", "5\r\nabcde<end>"},
  };
  std::size_t row = 0;
  HttpReplica replica([&](const std::string&) { return table[row].first + "<close>"; });
  start(replica);
  for (; row < table.size(); ++row) {
    const Peer client = endpoint_.client();
    client.say(get("/"));
    EXPECT_EQ(body_of(client.hear_all()), table[row].second);
  }
  EXPECT_EQ(endpoint_.master().counts().broken, table.size());
  EXPECT_EQ(endpoint_.master().counts().cut, 0U);
}

TEST_F(EndpointHttpStream, AResponseUntilTheEndThatIsBrokenOffIsBrokenOffForTheClientToo) {
  Replica replica([](Peer& peer) {
    (void)hear_message(peer);
    peer.say("HTTP/1.1 200 OK\r\n\r\npart");
    (void)peer.hear("never");  // until the client got it; see below
    peer.reset();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_THAT(client.hear("part"), HasSubstr("part"));
  client.finish();  // passed on, so that the replica goes on
  EXPECT_EQ(client.hear_all(), "<break>");
}

TEST_F(EndpointHttpStream, EachPieceOfAStreamPassesAtOnce) {
  // The next piece is only sent when the client has the last one, byte for byte.
  std::mutex mutex;
  std::condition_variable turn;
  int sent = 0;
  int heard = 0;
  const std::vector<std::string> pieces = {"5\r\nhello\r\n", "1\r\n", "!",     "\r\n", "3;",
                                           "x\r\nab",        "c\r",   "\n0\r", "\n",   "\r\n"};
  Replica replica([&](Peer& peer) {
    (void)hear_message(peer);
    peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const std::string& piece : pieces) {
      std::unique_lock lock(mutex);
      turn.wait_for(lock, std::chrono::seconds(30), [&] { return heard == sent; });
      ++sent;
      peer.say(piece);
    }
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_TRUE(client.hear("\r\n\r\n").ends_with("\r\n\r\n"));
  for (const std::string& piece : pieces) {
    EXPECT_EQ(client.hear_bytes(piece.size()), piece);
    const std::lock_guard lock(mutex);
    ++heard;
    turn.notify_all();
  }
}

TEST_F(EndpointHttpStream, LargeBodiesPassBothWaysAndASlowReaderCostsNoMemory) {
  const std::string large = pattern(std::size_t{20} << 20U);
  std::atomic<bool> came_whole = false;
  HttpReplica replica([&](const std::string& request) {
    came_whole = body_of(request) == large;
    return response(large);
  });
  start(replica);
  const std::size_t before = endpoint_.memory_kib();
  const Peer client = endpoint_.client(16'384);
  std::thread writer([&] { client.say(post("/", large)); });
  writer.join();
  EXPECT_THAT(client.hear("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(came_whole);
  std::size_t got = 0;
  std::size_t most = 0;
  bool same = true;
  while (got < large.size()) {
    std::string piece;
    ASSERT_EQ(client.more(piece, 10'000), Peer::Heard::kBytes);
    same = same && std::string_view(large).substr(got, piece.size()) == piece;
    got += piece.size();
    if (got % 100 == 0) most = std::max(most, endpoint_.memory_kib());
  }
  EXPECT_TRUE(same);
  EXPECT_LT(std::max(most, endpoint_.memory_kib()), before + 2'048);
}

TEST_F(EndpointHttpStream, AReplicaThatDoesNotReadHoldsTheClientBack) {
  std::mutex mutex;
  mutex.lock();
  Replica replica([&](Peer& peer) {
    const std::lock_guard lock(mutex);
    (void)hear_message(peer);
    peer.say(response("done"));
  });
  endpoint_.start_to(replica);
  const std::size_t before = endpoint_.memory_kib();
  const Peer client = endpoint_.client();
  const std::string large = pattern(std::size_t{20} << 20U);
  std::atomic<bool> is_sent = false;
  std::thread writer([&] {
    client.say(post("/", large));
    is_sent = true;
  });
  std::uint64_t last = 0;
  EXPECT_TRUE(eventually([&] {
    const std::uint64_t now = endpoint_.master().counts().bytes_in;
    const bool rests = now > 0 && now == std::exchange(last, now);
    if (!rests) std::this_thread::sleep_for(milliseconds(50));
    return rests;
  }));
  EXPECT_FALSE(is_sent);
  EXPECT_LT(endpoint_.memory_kib(), before + 2'048);
  mutex.unlock();
  writer.join();
  EXPECT_THAT(client.hear("done"), HasSubstr("200 OK"));
}

TEST_F(EndpointHttpStream, AClientMayEndItsSideBeforeItsAnswer) {
  HttpReplica replica(
      [](const std::string& request) { return response(cat(request.substr(4, 2), " done")); });
  start(replica);
  const Peer client = endpoint_.client();
  client.say(get("/a") + get("/b"));
  client.finish();
  const std::string heard = client.hear_all();
  EXPECT_THAT(heard, HasSubstr("/a done"));
  EXPECT_TRUE(heard.ends_with("/b done<end>")) << heard;
}

TEST_F(EndpointHttpStream, AClientThatLeavesIsSeenByTheReplica) {
  std::atomic<bool> saw_end = false;
  std::atomic<bool> saw_break = false;
  Replica replica([&](Peer& peer) {
    (void)hear_message(peer);
    peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    saw_end = peer.hear_all() == "<end>";
    while (peer.say("1\r\na\r\n")) std::this_thread::sleep_for(milliseconds(1));
    saw_break = true;
  });
  endpoint_.start_to(replica);
  Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_THAT(client.hear("a\r\n"), HasSubstr("200 OK"));
  client.leave();
  EXPECT_TRUE(eventually([&] { return saw_end.load(); }));
  EXPECT_TRUE(eventually([&] { return saw_break.load(); }));  // if it goes on although
}

TEST_F(EndpointHttpStream, ARequestThatIsNeverWholeIsNotMadeToLookSo) {
  std::atomic<bool> broke = false;
  Replica replica([&](Peer& peer) {
    (void)peer.hear("part");
    broke = peer.hear_all().ends_with("<break>");
  });
  endpoint_.start_to(replica);
  Peer client = endpoint_.client();
  client.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\npart");
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().active == 1; }));
  client.leave();
  EXPECT_TRUE(eventually([&] { return broke.load(); }));
}

TEST_F(EndpointHttpStream, AClientIsAskedForItsBody) {
  Replica replica([](Peer& peer) {
    const std::string head = peer.hear("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("Expect: 100-continue\r\n"));
    peer.say("HTTP/1.1 100 Continue\r\n\r\n");
    peer.say(response(peer.hear_bytes(5)));
    (void)peer.hear_all();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.hear("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.say("hello");
  EXPECT_EQ(hear_message(client), response("hello"));  // and the connection is kept
}

TEST_F(EndpointHttpStream, AClientThatIsNotAskedForItsBodyIsNotKept) {
  Replica replica([](Peer& peer) {
    (void)peer.hear("\r\n\r\n");
    peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    (void)peer.hear_all();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.hear_all(),
            "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig<end>");
}

TEST_F(EndpointHttpStream, AnAnswerBeforeTheRequestIsOverPasses) {
  Replica replica([](Peer& peer) {
    std::string request = peer.hear("first");
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nearly ");
    request += peer.hear("last.");
    peer.say(request.ends_with("firstlast.") ? "right" : "wrong");
    (void)peer.hear_all();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nfirst");
  EXPECT_THAT(client.hear("early "), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.say("last.");
  EXPECT_EQ(client.hear("right"), "right");
}

TEST_F(EndpointHttpStream, AnAnswerWithoutReadingTheRequestPasses) {
  Replica replica([](Peer& peer) {
    (void)peer.hear("\r\n\r\n");
    peer.say("HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  });  // and is closed with most of the body unread
  endpoint_.start_to(replica);
  for (int i = 0; i < 20; ++i) {
    const Peer client = endpoint_.client();
    std::thread writer([&] { client.say(post("/", std::string(std::size_t{2} << 20U, 'x'))); });
    const std::string heard = client.hear("no");
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 403 No\r\n"));
    ::shutdown(client.fd(), SHUT_RDWR);
    writer.join();
  }
}

TEST_F(EndpointHttpStream, AnUpgradeBecomesATunnel) {
  Replica replica([](Peer& peer) {
    const std::string head = peer.hear("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("Upgrade: websocket\r\nConnection: Upgrade\r\n"));
    peer.say(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: x\r\n\r\nfirst");
    std::string text = peer.hear("?");
    peer.say("you said " + text);
    peer.say(peer.hear_all());
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.say(get("/", "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n") + "early");
  EXPECT_EQ(client.hear("first"),
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
            "x\r\nConnection: Upgrade\r\n\r\nfirst");
  client.say(std::string(" \0\r\n\r\n?", 7));
  EXPECT_EQ(client.hear("?"), std::string("you said early \0\r\n\r\n?", 21));
  EXPECT_EQ(endpoint_.master().counts().active, 1U);
  client.say("bye");
  client.finish();
  EXPECT_EQ(client.hear_all(), "bye<end><end>");
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 0; }));
}

TEST_F(EndpointHttpStream, AnUpgradeThatIsRefusedIsAPlainResponse) {
  HttpReplica replica("no");
  start(replica);
  const Peer client = endpoint_.client();
  for (int i = 0; i < 2; ++i) {
    client.say(get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    EXPECT_EQ(hear_message(client), response("no"));
  }
}

}  // namespace
}  // namespace tangram::endpoint
