// http mode while bytes flow: streams, large bodies, connections that end early, responses before
// the request is complete, and upgrades.
#include <condition_variable>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/endpoint/http.hpp"

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::get;
using ::testing::HasSubstr;
using testing::HttpReplica;
using testing::pattern;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;

class EndpointHttpStream : public testing::HttpTest {};

TEST_F(EndpointHttpStream, ATruncatedResponseNeverLooksComplete) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "abc<eof>"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "5\r\nab<eof>"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
       "5\r\nabcde\r\n<eof>"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdeXX", "5\r\nabcde<eof>"},
  };
  std::size_t row = 0;
  HttpReplica replica([&](const std::string&) { return table[row].first + "<close>"; });
  start(replica);
  for (; row < table.size(); ++row) {
    const Peer client = endpoint_.client();
    client.send(get("/"));
    EXPECT_EQ(body_of(client.read_all()), table[row].second);
  }
  EXPECT_EQ(endpoint_.control().counts().broken, table.size());
  EXPECT_EQ(endpoint_.control().counts().cut, 0U);
}

TEST_F(EndpointHttpStream, AResponseUntilCloseThatIsResetIsResetForTheClientToo) {
  Replica replica([](Peer& peer) {
    (void)read_message(peer);
    peer.send("HTTP/1.1 200 OK\r\n\r\npart");
    (void)peer.read_until("never");  // until the client has read it; see below
    peer.reset();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_THAT(client.read_until("part"), HasSubstr("part"));
  client.half_close();  // relayed, so that the replica continues
  EXPECT_EQ(client.read_all(), "<reset>");
}

TEST_F(EndpointHttpStream, EachPieceOfAStreamIsRelayedAtOnce) {
  // The next piece is sent only when the client has received the previous one completely.
  std::mutex mutex;
  std::condition_variable turn;
  int sent = 0;
  int received = 0;
  const std::vector<std::string> pieces = {"5\r\nhello\r\n", "1\r\n", "!",     "\r\n", "3;",
                                           "x\r\nab",        "c\r",   "\n0\r", "\n",   "\r\n"};
  Replica replica([&](Peer& peer) {
    (void)read_message(peer);
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const std::string& piece : pieces) {
      std::unique_lock lock(mutex);
      turn.wait_for(lock, std::chrono::seconds(30), [&] { return received == sent; });
      ++sent;
      peer.send(piece);
    }
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_TRUE(client.read_until("\r\n\r\n").ends_with("\r\n\r\n"));
  for (const std::string& piece : pieces) {
    EXPECT_EQ(client.read_bytes(piece.size()), piece);
    const std::lock_guard lock(mutex);
    ++received;
    turn.notify_all();
  }
}

TEST_F(EndpointHttpStream, LargeBodiesAreRelayedBothWaysAndASlowReaderCostsNoMemory) {
  const std::string large = pattern(std::size_t{20} << 20U);
  std::atomic<bool> came_whole = false;
  HttpReplica replica([&](const std::string& request) {
    came_whole = body_of(request) == large;
    return response(large);
  });
  start(replica);
  const std::size_t before = endpoint_.memory_kib();
  const Peer client = endpoint_.client(16'384);
  std::thread writer([&] { client.send(post("/", large)); });
  writer.join();
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(came_whole);
  std::size_t got = 0;
  std::size_t most = 0;
  bool same = true;
  while (got < large.size()) {
    std::string piece;
    ASSERT_EQ(client.read_some(piece, 10'000), Peer::ReadResult::kBytes);
    same = same && std::string_view(large).substr(got, piece.size()) == piece;
    got += piece.size();
    if (got % 100 == 0) most = std::max(most, endpoint_.memory_kib());
  }
  EXPECT_TRUE(same);
  EXPECT_LT(std::max(most, endpoint_.memory_kib()), before + 2'048);
}

TEST_F(EndpointHttpStream, AReplicaThatDoesNotReadCausesBackPressure) {
  std::mutex mutex;
  mutex.lock();
  Replica replica([&](Peer& peer) {
    const std::lock_guard lock(mutex);
    (void)read_message(peer);
    peer.send(response("done"));
  });
  endpoint_.start_to(replica);
  const std::size_t before = endpoint_.memory_kib();
  const Peer client = endpoint_.client();
  const std::string large = pattern(std::size_t{20} << 20U);
  std::atomic<bool> is_sent = false;
  std::thread writer([&] {
    client.send(post("/", large));
    is_sent = true;
  });
  std::uint64_t last = 0;
  EXPECT_TRUE(eventually([&] {
    const std::uint64_t now = endpoint_.control().counts().bytes_in;
    const bool has_stalled = now > 0 && now == std::exchange(last, now);
    if (!has_stalled) std::this_thread::sleep_for(milliseconds(50));
    return has_stalled;
  }));
  EXPECT_FALSE(is_sent);
  EXPECT_LT(endpoint_.memory_kib(), before + 2'048);
  mutex.unlock();
  writer.join();
  EXPECT_THAT(client.read_until("done"), HasSubstr("200 OK"));
}

TEST_F(EndpointHttpStream, AHalfClosedClientGetsItsResponse) {
  HttpReplica replica(
      [](const std::string& request) { return response(cat(request.substr(4, 2), " done")); });
  start(replica);
  const Peer client = endpoint_.client();
  client.send(get("/a") + get("/b"));
  client.half_close();
  const std::string received = client.read_all();
  EXPECT_THAT(received, HasSubstr("/a done"));
  EXPECT_TRUE(received.ends_with("/b done<eof>")) << received;
}

TEST_F(EndpointHttpStream, TheReplicaNoticesThatTheClientClosed) {
  std::atomic<bool> saw_end = false;
  std::atomic<bool> saw_break = false;
  Replica replica([&](Peer& peer) {
    (void)read_message(peer);
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    saw_end = peer.read_all() == "<eof>";
    while (peer.send("1\r\na\r\n")) std::this_thread::sleep_for(milliseconds(1));
    saw_break = true;
  });
  endpoint_.start_to(replica);
  Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_THAT(client.read_until("a\r\n"), HasSubstr("200 OK"));
  client.close();
  EXPECT_TRUE(eventually([&] { return saw_end.load(); }));
  EXPECT_TRUE(eventually([&] { return saw_break.load(); }));  // if it continues nevertheless
}

TEST_F(EndpointHttpStream, ATruncatedRequestDoesNotLookComplete) {
  std::atomic<bool> broke = false;
  Replica replica([&](Peer& peer) {
    (void)peer.read_until("part");
    broke = peer.read_all().ends_with("<reset>");
  });
  endpoint_.start_to(replica);
  Peer client = endpoint_.client();
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\npart");
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().active == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return broke.load(); }));
}

TEST_F(EndpointHttpStream, ExpectContinueIsRelayed) {
  Replica replica([](Peer& peer) {
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("Expect: 100-continue\r\n"));
    peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    peer.send(response(peer.read_bytes(5)));
    (void)peer.read_all();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(read_message(client), response("hello"));  // the connection stays open
}

TEST_F(EndpointHttpStream, WithoutContinueTheClientConnectionIsClosed) {
  Replica replica([](Peer& peer) {
    (void)peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    (void)peer.read_all();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.read_all(),
            "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig<eof>");
}

TEST_F(EndpointHttpStream, AResponseBeforeTheEndOfTheRequestIsRelayed) {
  Replica replica([](Peer& peer) {
    std::string request = peer.read_until("first");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nearly ");
    request += peer.read_until("last.");
    peer.send(request.ends_with("firstlast.") ? "right" : "wrong");
    (void)peer.read_all();
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nfirst");
  EXPECT_THAT(client.read_until("early "), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.send("last.");
  EXPECT_EQ(client.read_until("right"), "right");
}

TEST_F(EndpointHttpStream, AResponseWithoutReadingTheRequestIsRelayed) {
  Replica replica([](Peer& peer) {
    (void)peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
  });  // closes with most of the body unread
  endpoint_.start_to(replica);
  for (int i = 0; i < 20; ++i) {
    const Peer client = endpoint_.client();
    std::thread writer([&] { client.send(post("/", std::string(std::size_t{2} << 20U, 'x'))); });
    const std::string received = client.read_until("no");
    EXPECT_THAT(received, StartsWith("HTTP/1.1 403 No\r\n"));
    ::shutdown(client.fd(), SHUT_RDWR);
    writer.join();
  }
}

TEST_F(EndpointHttpStream, AnUpgradeBecomesATunnel) {
  Replica replica([](Peer& peer) {
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("Upgrade: websocket\r\nConnection: Upgrade\r\n"));
    peer.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: x\r\n\r\nfirst");
    std::string text = peer.read_until("?");
    peer.send("you said " + text);
    peer.send(peer.read_all());
  });
  endpoint_.start_to(replica);
  const Peer client = endpoint_.client();
  client.send(get("/", "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n") + "early");
  EXPECT_EQ(client.read_until("first"),
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
            "x\r\nConnection: Upgrade\r\n\r\nfirst");
  client.send(std::string(" \0\r\n\r\n?", 7));
  EXPECT_EQ(client.read_until("?"), std::string("you said early \0\r\n\r\n?", 21));
  EXPECT_EQ(endpoint_.control().counts().active, 1U);
  client.send("bye");
  client.half_close();
  EXPECT_EQ(client.read_all(), "bye<eof><eof>");
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 0; }));
}

TEST_F(EndpointHttpStream, AnUpgradeThatIsRefusedIsAPlainResponse) {
  HttpReplica replica("no");
  start(replica);
  const Peer client = endpoint_.client();
  for (int i = 0; i < 2; ++i) {
    client.send(get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    EXPECT_EQ(read_message(client), response("no"));
  }
}

}  // namespace
}  // namespace tangram::endpoint
