// http mode with real sockets: what the replica sees of a request and the client of a response, for
// every way of framing them; what is refused, what is too slow, and what is counted.
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
using testing::Peer;
using testing::post;
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
    client.say(table[i].first);
    EXPECT_THAT(client.hear("ok"), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(replica.seen().back(), table[i].second);
    EXPECT_EQ(replica.seen().size(), i + 1);
  }
}

TEST_F(EndpointHttp, RequestsThatAreNoGoodReachNobody) {
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
    client.say(bytes + get("/smuggled"));
    const std::string heard = client.hear_all();
    EXPECT_THAT(heard, StartsWith(cat("HTTP/1.1 ", status, " "))) << printable(bytes).substr(0, 99);
    EXPECT_THAT(heard, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_THAT(heard, HasSubstr("application/problem+json"));
    EXPECT_TRUE(heard.ends_with("}\n<end>")) << heard;
  }
  EXPECT_EQ(replica.connections(), 0);
  EXPECT_EQ(endpoint_.master().counts().refused, table.size());
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
       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end<end>"},
      {"HTTP/1.0 200 OK\r\n\r\nuntil the end<close>",
       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end<end>"},
  };
  std::size_t row = 0;
  HttpReplica replica([&](const std::string&) { return table[row].replica; });
  start(replica);
  for (; row < table.size(); ++row) {
    const Peer client = endpoint_.client();
    client.say(cat(table[row].method, " / HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string& expected = table[row].client;
    if (expected.ends_with("<end>")) {
      EXPECT_EQ(client.hear_all(), expected);
      continue;
    }
    EXPECT_EQ(client.hear_bytes(expected.size()), expected);
    // The connection is still good, and the next response begins where this one ended.
    client.say(cat(table[row].method, " / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    std::string last = client.hear_all();
    const std::size_t close = last.find("Connection: close\r\n");
    ASSERT_NE(close, std::string::npos) << last;
    EXPECT_EQ(last.erase(close, 19), expected + "<end>");
  }
}

TEST_F(EndpointHttp, ResponsesThatAreNoGoodAreNotPassedOn) {
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
    client.say(get("/"));
    const std::string heard = client.hear_all();
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 502 Bad Gateway\r\n")) << row;
    EXPECT_TRUE(heard.ends_with("}\n<end>"));
  }
}

TEST_F(EndpointHttp, PipelinedRequestsAreAnsweredInOrder) {
  HttpReplica replica([](const std::string& request) {
    return response(request.substr(5, 1), request.starts_with("GET /b") ? "B: yes\r\n" : "");
  });
  start(replica);
  const Peer client = endpoint_.client();
  client.say(get("/a") + get("/b") + post("/c", "x") + get("/d", "Connection: close\r\n") +
             get("/never"));
  std::string bodies;
  for (int i = 0; i < 4; ++i) bodies += body_of(hear_message(client));
  EXPECT_EQ(bodies, "ab/d");
  EXPECT_EQ(client.hear_all(), "<end>");
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
  plain.say("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(plain.hear_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall<end>");
  const Peer kept = endpoint_.client();
  for (int i = 0; i < 3; ++i) {
    kept.say("GET /long HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(hear_message(kept),
              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nknown");
  }
  const Peer chunks = endpoint_.client();
  chunks.say("GET /chunks HTTP/1.0\r\n\r\n");
  EXPECT_THAT(chunks.hear_all(), StartsWith("HTTP/1.1 502 "));
}

TEST_F(EndpointHttp, SaysForWhomItAsks) {
  HttpReplica replica("ok");
  endpoint_.spec.forwarded = true;
  start(replica);
  const Peer client = endpoint_.client();
  client.say(get("/", "X-Forwarded-For: 192.0.2.1\r\n"));
  EXPECT_EQ(hear_message(client), response("ok"));
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
  slow.say("GET / HTT");
  EXPECT_THAT(slow.hear_all(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_EQ(endpoint_.client().hear_all(), "<end>");  // who says nothing gets no answer
}

TEST_F(EndpointHttp, AnIdleClientIsLetGo) {
  HttpReplica replica("ok");
  endpoint_.spec.keep_alive = milliseconds(60);
  start(replica);
  const Peer client = endpoint_.client();
  client.say(get("/"));
  EXPECT_EQ(client.hear_all(), response("ok") + "<end>");
}

TEST_F(EndpointHttp, SilenceInTheMiddleIsCut) {
  Replica replica([](Peer& peer) {
    const std::string request = hear_message(peer);
    if (request.starts_with("GET /half"))
      peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    (void)peer.hear_all();
  });
  endpoint_.spec.idle = milliseconds(60);
  endpoint_.start_to(replica);
  const Peer half = endpoint_.client();
  half.say(get("/half"));
  EXPECT_EQ(body_of(half.hear_all()), "ab<end>");
  const Peer none = endpoint_.client();
  none.say(get("/none"));
  EXPECT_THAT(none.hear_all(), StartsWith("HTTP/1.1 502 "));
  EXPECT_EQ(endpoint_.master().counts().cut, 2U);
}

TEST_F(EndpointHttp, RefusalsOfHeadHaveNoBody) {
  endpoint_.spec.wait = milliseconds(30);
  endpoint_.start();
  const Peer client = endpoint_.client();
  client.say("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.hear_all().ends_with("\r\n\r\n<end>"));
}

TEST_F(EndpointHttp, CountsWhatItDid) {
  HttpReplica replica("ok");
  start(replica);
  std::size_t in = 0;
  {
    const Peer client = endpoint_.client();
    for (int i = 0; i < 3; ++i) {
      client.say(get("/"));
      EXPECT_EQ(hear_message(client), response("ok"));
      in += get("/").size();
    }
    client.say("no\r\n\r\n");
    in += 6;
    EXPECT_THAT(client.hear_all(), StartsWith("HTTP/1.1 400 "));
  }
  EXPECT_TRUE(eventually([&] { return endpoint_.master().counts().open == 0; }));
  api::EndpointCounts counts = endpoint_.master().counts();
  EXPECT_GT(std::exchange(counts.bytes_out, 0), 3 * response("ok").size());
  EXPECT_EQ(counts,
            (api::EndpointCounts{.connections = 1, .requests = 3, .refused = 1, .bytes_in = in}));
}

}  // namespace
}  // namespace tangram::endpoint
