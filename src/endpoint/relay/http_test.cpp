// http mode with real sockets: how requests and responses are relayed for every kind of framing,
// what is rejected, timeouts and counters.
#include "tests/support/endpoint/http.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::endpoint {
namespace {

using std::chrono::milliseconds;
using testing::body_of;
using testing::eventually;
using testing::get;
using ::testing::HasSubstr;
using testing::HttpReplica;
using testing::Peer;
using testing::post;
using testing::read_message;
using testing::Replica;
using testing::response;
using ::testing::StartsWith;

class EndpointHttp : public testing::HttpTest {};

TEST_F(EndpointHttp, RequestsReachTheReplicaAsTheyAre) {
  HttpReplica replica("ok");
  start(replica);
  const std::vector<std::pair<std::string, std::string>> table = {
      {get("/"), get("/")},
      {get("/a?b=c&d=%00", "A: 1\r\nB: \r\n"), get("/a?b=c&d=%00", "A: 1\r\nB: \r\n")},
      {get("/", "Connection: close\r\n"), get("/")},
      {get("/", "Connection: x\r\nX: y\r\nKeep-Alive: 5\r\nTE: gzip\r\nUpgrade: q\r\n"), get("/")},
      {post("/", "hello"), post("/", "hello")},
      {post("/", ""), post("/", "")},
      {"\r\n\r\n" + get("/"), get("/")},
      {"PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
       "chunked\r\n\r\n5;e=1\r\nhello\r\n0\r\n\r\n",
       "PUT /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
       "chunked\r\n\r\n5;e=1\r\nhello\r\n0\r\n\r\n"},
      {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"DELETE /y HTTP/1.0\r\n\r\n", "DELETE /y HTTP/1.0\r\nConnection: close\r\n\r\n"},
  };
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Peer client = endpoint_.client();
    client.send(table[i].first);
    EXPECT_THAT(client.read_until("ok"), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(replica.seen().back(), table[i].second);
    EXPECT_EQ(replica.seen().size(), i + 1);
  }
}

TEST_F(EndpointHttp, MalformedRequestsDoNotReachTheReplica) {
  HttpReplica replica("ok");
  start(replica);
  const std::vector<std::pair<int, std::string>> table = {
      {400, get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")},
      {400, get("/", "Content-Length: 1\r\nContent-Length: 2\r\n")},
      {400, get("/", "Transfer-Encoding: gzip, chunked\r\n")},
      {400, get("/", "A: b\r\n c\r\n")},
      {400, get("/", std::string("A: \0\r\n", 6))},
      {400, get("/", "Host: y\r\n")},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\nHost: x\n\n"},
      {400, "\x16\x03\x01\x02"},
      {400, "GET /\r\n\r\n"},
      {400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n"},
      {501, "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n"},
      {431, cat("GET / HTTP/1.1\r\nHost: x\r\nA: ", std::string(65'536, 'a'))},
  };
  for (const auto& [status, bytes] : table) {
    const Peer client = endpoint_.client();
    client.send(bytes + get("/smuggled"));
    const std::string received = client.read_all();
    EXPECT_THAT(received, StartsWith(cat("HTTP/1.1 ", status, " ")))
        << printable(bytes).substr(0, 99);
    EXPECT_THAT(received, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_THAT(received, HasSubstr("application/problem+json"));
    EXPECT_TRUE(received.ends_with("}\n<eof>")) << received;
  }
  EXPECT_EQ(replica.connections(), 0);
  EXPECT_EQ(endpoint_.control().counts().refused, table.size());
}

TEST_F(EndpointHttp, ResponsesReachTheClientAsTheyAre) {
  const std::string chunks = "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nDigest: z\r\n\r\n";
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
  struct Row {
    std::string replica, client;
    std::string method = "GET";
  };
  const std::vector<Row> table = {
      {response("body", "Set-Cookie: a\r\nSet-Cookie: b\r\n"),
       response("body", "Set-Cookie: a\r\nSet-Cookie: b\r\n")},
      {response("", "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n"), response("")},
      {chunked + "\r\n" + chunks, chunked + "\r\n" + chunks},
      {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
       "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", "HEAD"},
      {chunked + "\r\n", chunked + "\r\n", "HEAD"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: l\r\n\r\n" + response("x"),
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: l\r\n\r\n" + response("x")},
      {"HTTP/1.1 500 Oh no\r\nContent-Length: 1\r\n\r\n!",
       "HTTP/1.1 500 Oh no\r\nContent-Length: 1\r\n\r\n!"},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n!<close>", response("!")},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!<close>", response("!")},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end<close>",
       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end<eof>"},
      {"HTTP/1.0 200 OK\r\n\r\nuntil the end<close>",
       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end<eof>"},
  };
  std::size_t row = 0;
  HttpReplica replica([&](const std::string&) { return table[row].replica; });
  start(replica);
  for (; row < table.size(); ++row) {
    const Peer client = endpoint_.client();
    client.send(cat(table[row].method, " / HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string& expected = table[row].client;
    if (expected.ends_with("<eof>")) {
      EXPECT_EQ(client.read_all(), expected);
      continue;
    }
    EXPECT_EQ(client.read_bytes(expected.size()), expected);
    // The connection is still usable, and the next response begins where this one ended.
    client.send(cat(table[row].method, " / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    std::string last = client.read_all();
    const std::size_t close = last.find("Connection: close\r\n");
    ASSERT_NE(close, std::string::npos) << last;
    EXPECT_EQ(last.erase(close, 19), expected + "<eof>");
  }
}

TEST_F(EndpointHttp, MalformedResponsesAreNotRelayed) {
  const std::vector<std::string> table = {
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
      "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
      "nonsense\r\n\r\n",
      cat("HTTP/1.1 200 OK\r\nA: ", std::string(65'536, 'a')),
      "HTTP/1.1 200 O<close>",
      "<close>",
  };
  std::size_t row = 0;
  HttpReplica replica([&](const std::string&) { return table[row]; });
  start(replica);
  for (; row < table.size(); ++row) {
    const Peer client = endpoint_.client();
    client.send(get("/"));
    const std::string received = client.read_all();
    EXPECT_THAT(received, StartsWith("HTTP/1.1 502 Bad Gateway\r\n")) << row;
    EXPECT_TRUE(received.ends_with("}\n<eof>"));
  }
}

TEST_F(EndpointHttp, PipelinedRequestsAreAnsweredInOrder) {
  HttpReplica replica([](const std::string& request) {
    return response(request.substr(5, 1), request.starts_with("GET /b") ? "B: yes\r\n" : "");
  });
  start(replica);
  const Peer client = endpoint_.client();
  client.send(get("/a") + get("/b") + post("/c", "x") + get("/d", "Connection: close\r\n") +
              get("/never"));
  std::string bodies;
  for (int i = 0; i < 4; ++i) bodies += body_of(read_message(client));
  EXPECT_EQ(bodies, "ab/d");
  EXPECT_EQ(client.read_all(), "<eof>");
  EXPECT_EQ(replica.seen().size(), 4U);
}

TEST_F(EndpointHttp, ClientsOfHttp10AreServed) {
  HttpReplica replica([](const std::string& request) {
    EXPECT_THAT(request, HasSubstr(" HTTP/1.0\r\n"));
    if (request.starts_with("GET /long")) return response("known");
    if (request.starts_with("GET /chunks")) {
      return std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    }
    return std::string("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nall<close>");
  });
  start(replica);
  const Peer plain = endpoint_.client();
  plain.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(plain.read_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall<eof>");
  const Peer kept = endpoint_.client();
  for (int i = 0; i < 3; ++i) {
    kept.send("GET /long HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(read_message(kept),
              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nknown");
  }
  const Peer chunks = endpoint_.client();
  chunks.send("GET /chunks HTTP/1.0\r\n\r\n");
  EXPECT_THAT(chunks.read_all(), StartsWith("HTTP/1.1 502 "));
}

TEST_F(EndpointHttp, RemovesForwardedFieldsOfTheClient) {
  HttpReplica replica("ok");
  start(replica);
  const Peer client = endpoint_.client();
  client.send(get("/", "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nA: b\r\n"));
  EXPECT_EQ(read_message(client), response("ok"));
  EXPECT_EQ(replica.seen().at(0), get("/", "A: b\r\n"));
}

TEST_F(EndpointHttp, AddsForwardedFields) {
  HttpReplica replica("ok");
  endpoint_.spec.forwarded = true;
  start(replica);
  const Peer client = endpoint_.client();
  client.send(get("/", "X-Forwarded-For: 192.0.2.1\r\n"));
  EXPECT_EQ(read_message(client), response("ok"));
  EXPECT_EQ(replica.seen().at(0),
            get("/",
                "X-Forwarded-For: 192.0.2.1, 127.0.0.1\r\nX-Forwarded-Host: x\r\n"
                "X-Forwarded-Proto: http\r\n"));
}

TEST_F(EndpointHttp, AHeaderThatComesTooSlowlyIsRefused) {
  HttpReplica replica("ok");
  endpoint_.spec.header = milliseconds(60);
  start(replica);
  const Peer slow = endpoint_.client();
  slow.send("GET / HTT");
  EXPECT_THAT(slow.read_all(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_EQ(endpoint_.client().read_all(),
            "<eof>");  // a client that sends nothing gets no response
}

TEST_F(EndpointHttp, AnIdleClientIsDisconnected) {
  HttpReplica replica("ok");
  endpoint_.spec.keep_alive = milliseconds(60);
  start(replica);
  const Peer client = endpoint_.client();
  client.send(get("/"));
  EXPECT_EQ(client.read_all(), response("ok") + "<eof>");
}

TEST_F(EndpointHttp, AnExchangeThatStallsIsCut) {
  Replica replica([](Peer& peer) {
    const std::string request = read_message(peer);
    if (request.starts_with("GET /half"))
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    (void)peer.read_all();
  });
  endpoint_.spec.idle = milliseconds(60);
  endpoint_.start_to(replica);
  const Peer half = endpoint_.client();
  half.send(get("/half"));
  EXPECT_EQ(body_of(half.read_all()), "ab<eof>");
  const Peer none = endpoint_.client();
  none.send(get("/none"));
  EXPECT_THAT(none.read_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(endpoint_.control().counts().cut, 2U);
}

TEST_F(EndpointHttp, ErrorResponsesToHeadHaveNoBody) {
  endpoint_.spec.wait = milliseconds(30);
  endpoint_.start();
  const Peer client = endpoint_.client();
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\n<eof>"));
}

TEST_F(EndpointHttp, CountsWhatItDid) {
  HttpReplica replica("ok");
  start(replica);
  std::size_t in = 0;
  {
    const Peer client = endpoint_.client();
    for (int i = 0; i < 3; ++i) {
      client.send(get("/"));
      EXPECT_EQ(read_message(client), response("ok"));
      in += get("/").size();
    }
    client.send("no\r\n\r\n");
    in += 6;
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 400 "));
  }
  EXPECT_TRUE(eventually([&] { return endpoint_.control().counts().open == 0; }));
  api::EndpointCounts counts = endpoint_.control().counts();
  EXPECT_GT(std::exchange(counts.bytes_out, 0), 3 * response("ok").size());
  EXPECT_EQ(counts,
            (api::EndpointCounts{.connections = 1, .requests = 3, .refused = 1, .bytes_in = in}));
}

}  // namespace
}  // namespace tangram::endpoint
