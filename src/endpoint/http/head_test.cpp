// Heads and bodies without sockets: what is parsed, rejected and serialized, and where bodies end,
// however the bytes are cut into pieces.
#include "endpoint/http/head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "endpoint/net/buffer.hpp"

namespace tangram::endpoint {
namespace {

using ::testing::HasSubstr;

// The request as the replica gets it, or the error for the client, e.g. "400 …".
std::string relayed_request(std::string_view bytes, const Forwarded* forwarded = nullptr) {
  HeadScan scan;
  if (scan.scan(bytes) != HeadScan::State::kComplete) return "no head";
  RequestHead head;
  const auto read = parse_head(bytes.substr(0, scan.size()), head);
  if (!read) return cat(read.error().status, " ", read.error().detail);
  std::string out;
  write_head(out, head, forwarded);
  return out;
}

std::string relayed_response(std::string_view bytes, bool keeps = true, bool is_http11 = true) {
  HeadScan scan;
  if (scan.scan(bytes) != HeadScan::State::kComplete) return "no head";
  ResponseHead head;
  const auto read = parse_head(bytes.substr(0, scan.size()), false, head);
  if (!read) return cat("refused: ", read.error().detail);
  std::string out;
  write_head(out, head, keeps, is_http11);
  return out;
}

std::string get(std::string_view fields) {
  return cat("GET / HTTP/1.1\r\nHost: x\r\n", fields, "\r\n");
}

TEST(EndpointHead, IsFoundWhereverItIsCut) {
  const std::string bytes = get("A: b\r\nC: d\r\n") + "body";
  for (std::size_t cut = 0; cut + 4 < bytes.size(); ++cut) {
    HeadScan scan;
    EXPECT_EQ(scan.scan(std::string_view(bytes).substr(0, cut)), HeadScan::State::kIncomplete);
    EXPECT_EQ(scan.scan(bytes), HeadScan::State::kComplete);
    EXPECT_EQ(scan.size(), bytes.size() - 4);
  }
}

TEST(EndpointHead, AmbiguousLinesAreInvalid) {
  for (const char* bytes : {"GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\r\nHost: x\n\r\n",
                            "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: x\r\n\tfolded\r\n\r\n", "\n"}) {
    EXPECT_EQ(HeadScan().scan(bytes), HeadScan::State::kInvalid) << printable(bytes);
  }
}

TEST(EndpointHead, HasAtMost64KiB) {
  const std::string start = "GET / HTTP/1.1\r\nHost: x\r\nA: ";
  const std::string most =
      cat(start, std::string(kMaxHeadSize - start.size() - 4, 'a'), "\r\n\r\n");
  EXPECT_EQ(HeadScan().scan(most), HeadScan::State::kComplete);
  EXPECT_NE(relayed_request(most).substr(0, 3), "400");
  const std::string more =
      cat(start, std::string(kMaxHeadSize - start.size() - 3, 'a'), "\r\n\r\n");
  EXPECT_EQ(HeadScan().scan(more), HeadScan::State::kTooLarge);
  EXPECT_EQ(HeadScan().scan(std::string(kMaxHeadSize, 'a')), HeadScan::State::kTooLarge);
}

TEST(EndpointHead, AmbiguousRequestsAreRejected) {
  for (const std::string& bytes :
       {get("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
        get("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
        get("Content-Length: 1\r\nContent-Length: 1\r\n"),
        get("Content-Length: 1\r\nContent-Length: 2\r\n"),
        get("Content-Length: 1, 1\r\n"),
        get("Content-Length: +1\r\n"),
        get("Content-Length: -1\r\n"),
        get("Content-Length: 0x1\r\n"),
        get("Content-Length: 1 1\r\n"),
        get("Content-Length:\r\n"),
        get("Content-Length: 99999999999999999999\r\n"),
        get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        get("Transfer-Encoding: gzip\r\n"),
        get("Transfer-Encoding: gzip, chunked\r\n"),
        get("Transfer-Encoding: chunked, identity\r\n"),
        get("Transfer-Encoding: xchunked\r\n"),
        get("Transfer-Encoding: \x0b"
            "chunked\r\n"),
        get("Transfer-Encoding : chunked\r\n"),
        get("Content-Length : 1\r\n"),
        get(" A: b\r\n"),
        get("A b\r\n"),
        get(": b\r\n"),
        get(std::string("A: b\0c\r\n", 8)),
        get("A: b\x01\r\n"),
        get("A: b\rc\r\n"),
        get("Host: y\r\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        std::string("GET /\r\nHost: x\r\n\r\n"),
        std::string("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET / HTTP/1.1 \r\nHost: x\r\n\r\n"),
        std::string("GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
        std::string("GET / http/1.1\r\nHost: x\r\n\r\n"),
        std::string("G@T / HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n")}) {
    const std::string relayed = relayed_request(bytes);
    EXPECT_TRUE(relayed.starts_with("400 ") || relayed == "no head")
        << printable(bytes) << " → " << printable(relayed);
  }
  std::string names = "Connection: a";
  for (int i = 0; i < 64; ++i) names += ",b";
  EXPECT_TRUE(relayed_request(get(names + "\r\n")).starts_with("400 "));
  EXPECT_TRUE(relayed_request("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("501 "));
}

TEST(EndpointHead, OfARequestIsWrittenUnchangedWithoutHopByHopFields) {
  const auto expect = [](std::string_view fields, std::string_view expected) {
    EXPECT_EQ(relayed_request(get(fields)), get(expected)) << fields;
  };
  expect("", "");
  expect("aCCept:  */* \r\nX:\r\nX: 2\r\n", "aCCept: */*\r\nX: \r\nX: 2\r\n");
  expect("Connection: close\r\n", "");
  expect("Connection: keep-alive, X-Secret\r\nX-Secret: 1\r\nx-secret: 2\r\nX-Other: 3\r\n",
         "X-Other: 3\r\n");
  expect("Keep-Alive: timeout=5\r\nTE: trailers\r\nProxy-Connection: x\r\nproxy-foo: y\r\n", "");
  expect("Proxy-Authorization: Basic x\r\nAuthorization: y\r\n", "Authorization: y\r\n");
  expect("Upgrade: websocket\r\n", "");
  expect("Connection: Upgrade\r\nUpgrade: websocket\r\nA: b\r\n",
         "Upgrade: websocket\r\nA: b\r\nConnection: Upgrade\r\n");
  expect("Connection: Upgrade\r\nUpgrade: h2c\r\n", "");
  expect("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n", "");
  expect("Connection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n", "");
  // Framing fields stay even if Connection lists them.
  expect("Connection: Content-Length, Host\r\nContent-Length: 5\r\n", "Content-Length: 5\r\n");
  expect("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n",
         "Transfer-Encoding: chunked\r\nTrailer: T\r\n");
  expect("Expect: 100-continue\r\nContent-Length: 1\r\n",
         "Expect: 100-continue\r\nContent-Length: 1\r\n");
  EXPECT_EQ(relayed_request("BREW http://h/a?b=%20 HTTP/1.1\r\nHost: h\r\n\r\n"),
            "BREW http://h/a?b=%20 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(relayed_request("GET / HTTP/1.0\r\nConnection: keep-alive\r\nA: b\r\n\r\n"),
            "GET / HTTP/1.0\r\nConnection: close\r\nA: b\r\n\r\n");
}

TEST(EndpointHead, GetsForwardedFieldsIfEnabled) {
  const Forwarded forwarded{"192.0.2.7"};
  EXPECT_EQ(
      relayed_request(get(""), &forwarded),
      get("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: x\r\nX-Forwarded-Proto: http\r\n"));
  EXPECT_EQ(relayed_request(get("X-Forwarded-For: a\r\nx-forwarded-for: b, c\r\nX-Forwarded-Proto: "
                                "https\r\nX-Forwarded-Host: h\r\n"),
                            &forwarded),
            get("X-Forwarded-Proto: https\r\nX-Forwarded-Host: h\r\nX-Forwarded-For: a, b, c, "
                "192.0.2.7\r\n"));
  EXPECT_EQ(relayed_request(get("Forwarded: for=a\r\nX-Forwarded-Port: 1\r\n"), &forwarded),
            get("Forwarded: for=a\r\nX-Forwarded-Port: 1\r\nX-Forwarded-For: 192.0.2.7\r\n"
                "X-Forwarded-Host: x\r\nX-Forwarded-Proto: http\r\n"));
}

// A replica sees 127.0.0.1 as its client, and many servers believe these fields from there.
TEST(EndpointHead, LosesForwardedFieldsOfTheClientUnlessEnabled) {
  for (const std::string_view name :
       {"Forwarded", "FORWARDED", "X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Proto",
        "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Anything", "X_Forwarded_For",
        "X-Forwarded_Proto", "x_forwarded_scheme"}) {
    EXPECT_EQ(relayed_request(get(cat("A: b\r\n", name, ": c\r\nD: e\r\n"))),
              get("A: b\r\nD: e\r\n"))
        << name;
  }
  for (const std::string_view name : {"X-Forward", "X-Forwarded", "Forwarded-By", "Forward"}) {
    const std::string kept = get(cat(name, ": c\r\n"));
    EXPECT_EQ(relayed_request(kept), kept);
  }
}

TEST(EndpointHead, OfAResponseKeepsForwardedFields) {
  const std::string_view fields = "Forwarded: for=a\r\nX-Forwarded-For: b\r\n";
  EXPECT_EQ(relayed_response(cat("HTTP/1.1 200 OK\r\n", fields, "Content-Length: 0\r\n\r\n")),
            cat("HTTP/1.1 200 OK\r\n", fields, "Content-Length: 0\r\n\r\n"));
}

TEST(EndpointHead, OfAResponseIsWrittenTheSameWay) {
  EXPECT_EQ(
      relayed_response("HTTP/1.1 200 OK\r\nServer: s\r\nConnection: keep-alive\r\nKeep-Alive: "
                       "5\r\nContent-Length: 2\r\n\r\n"),
      "HTTP/1.1 200 OK\r\nServer: s\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(relayed_response("HTTP/1.0 404 Not  Here\r\n\r\n", false),
            "HTTP/1.1 404 Not  Here\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(relayed_response("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", true, false),
            "HTTP/1.1 200 \r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(relayed_response("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  // Status lines without a reason and without the blank before it are accepted, as by clients.
  EXPECT_EQ(relayed_response("HTTP/1.1 200\r\nA: b\r\nContent-Length: 0\r\n\r\n"),
            "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(relayed_response("HTTP/1.0 204\r\n\r\n"), "HTTP/1.1 204 \r\n\r\n");
  EXPECT_EQ(relayed_response("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: w\r\n\r\n"),
            "HTTP/1.1 101 S\r\nUpgrade: w\r\nConnection: Upgrade\r\n\r\n");
  for (const char* bytes :
       {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/3.0 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
        "HTTP/1.1 200 O\x01K\r\n\r\n", "HTTP/1.1 2x4\r\n\r\n", "HTTP/1.1\t204\r\n\r\n"}) {
    EXPECT_THAT(relayed_response(bytes), HasSubstr("refused: ")) << printable(bytes);
  }
}

Framing framing_of(std::string_view bytes, bool to_head) {
  ResponseHead head;
  EXPECT_TRUE(parse_head(bytes, to_head, head));
  return head.framing;
}

TEST(EndpointHead, OfAResponseDeterminesTheFraming) {
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\n\r\n", false), Framing::kUntilClose);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", false), Framing::kLength);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", false),
            Framing::kChunked);
  for (const char* status : {"100 C", "103 E", "204 N", "304 N"}) {
    EXPECT_EQ(framing_of(cat("HTTP/1.1 ", status, "\r\nContent-Length: 9\r\n\r\n"), false),
              Framing::kNone);
  }
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true), Framing::kNone);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\n\r\n", true), Framing::kNone);
}

// The number of bytes that belong to the body; nullopt: it is malformed or incomplete.
std::optional<std::size_t> body_size(Framing framing, std::string_view bytes, std::size_t cut,
                                     std::uint64_t length = 0) {
  Body body(framing, length);
  std::size_t taken = body.take(bytes.substr(0, cut));
  if (taken == cut) taken += body.take(bytes.substr(cut));
  if (!body.is_complete()) return std::nullopt;
  return taken;
}

TEST(EndpointBody, EndsWhereItsChunksDoWhereverTheyAreCut) {
  for (const std::string& body : {std::string("0\r\n\r\n"), std::string("5\r\nhello\r\n0\r\n\r\n"),
                                  std::string("00a;x=\"y\\\" z\";w \r\n0123456789\r\n000\r\n\r\n"),
                                  std::string("1 ;x\r\na\r\n0\r\nA: b\r\nC:\r\nD: \xff\r\n\r\n"),
                                  std::string("A\r\n\r\n\r\n\r\n0\r\n\r\r\n0;last\r\n\r\n")}) {
    const std::string bytes = body + "GET / next";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      EXPECT_EQ(body_size(Framing::kChunked, bytes, cut), body.size()) << printable(body) << cut;
    }
    // No byte is held back until a line is complete.
    for (std::size_t cut = 0; cut <= body.size(); ++cut) {
      EXPECT_EQ(Body(Framing::kChunked).take(std::string_view(body).substr(0, cut)), cut);
    }
  }
}

TEST(EndpointBody, AmbiguousChunksAreRejected) {
  for (const std::string& bytes : {std::string("\r\n"),
                                   std::string("x\r\n"),
                                   std::string("-1\r\n"),
                                   std::string("+1\r\n"),
                                   std::string(" 1\r\n"),
                                   std::string("0x1\r\n"),
                                   std::string("1\n"),
                                   std::string("1\r\r"),
                                   std::string("1 2\r\n"),
                                   std::string("1;a\nb\r\n"),
                                   std::string("1;a=\"b\r\n"),
                                   std::string("1;a=\"\\\"\r\n"),
                                   std::string("1;a=\"\n\"\r\n"),
                                   std::string("1;\0\r\n", 5),
                                   std::string("1\r\nab\r\n"),
                                   std::string("1\r\na\n"),
                                   std::string("1\r\na\r\r"),
                                   std::string("10000000000000000\r\n"),
                                   std::string("0\r\nbad line\r\n"),
                                   std::string("0\r\n: v\r\n"),
                                   std::string("0\r\nA: b\nC: d\r\n"),
                                   std::string("0\r\nA: b\r\n folded\r\n"),
                                   std::string("0\r\n\n"),
                                   cat("1;", std::string(Body::kMaxChunkLine, 'x')),
                                   cat("0\r\nA: ", std::string(Body::kMaxTrailer, 'x'))}) {
    Body body(Framing::kChunked);
    const std::size_t taken = body.take(bytes);
    EXPECT_TRUE(body.is_broken()) << printable(bytes);
    EXPECT_LT(taken, bytes.size());
  }
}

TEST(EndpointBody, OfALengthAndUntilTheEnd) {
  EXPECT_EQ(body_size(Framing::kLength, "hello", 2, 4), 4U);
  EXPECT_EQ(body_size(Framing::kLength, "hello", 2, 0), 0U);
  EXPECT_EQ(body_size(Framing::kLength, "hello", 2, 6), std::nullopt);
  EXPECT_TRUE(Body().is_complete());
  Body until(Framing::kUntilClose);
  EXPECT_EQ(until.take("hello"), 5U);
  EXPECT_FALSE(until.is_complete());
  until.on_eof();
  EXPECT_TRUE(until.is_complete());
  Body length(Framing::kLength, 3);
  length.on_eof();
  EXPECT_TRUE(length.is_broken());
}

TEST(EndpointBuffer, GrowsToItsLimitAndGivesBackWhatItDoesNotNeed) {
  Buffer buffer;
  EXPECT_EQ(buffer.prepare(32'768).size(), Buffer::kInitialSize);
  buffer.commit(Buffer::kInitialSize);
  EXPECT_EQ(buffer.prepare(32'768).size(), 32'768 - Buffer::kInitialSize);
  buffer.commit(32'768 - Buffer::kInitialSize);
  EXPECT_TRUE(buffer.prepare(32'768).empty());
  buffer.consume(100);
  EXPECT_EQ(buffer.prepare(32'768).size(), 100U);
  buffer.consume(buffer.size());
  EXPECT_EQ(buffer.prepare(32'768).size(), 32'768U);
  buffer.commit(10);
  buffer.consume(10);
  EXPECT_EQ(buffer.prepare(32'768).size(), Buffer::kInitialSize);
}

TEST(EndpointBuffer, KeepsItsBytesInOrder) {
  Buffer buffer;
  std::string expected;
  char next = 0;
  for (std::size_t i = 0; i < 4'000; ++i) {
    const auto space = buffer.prepare(9'000);
    const std::size_t add = std::min(space.size(), i * 7 % 3'000);
    for (std::size_t at = 0; at < add; ++at) expected += space[at] = next++;
    buffer.commit(add);
    const std::size_t gone = std::min(buffer.size(), i * 11 % 2'500);
    buffer.consume(gone);
    expected.erase(0, gone);
    ASSERT_EQ(buffer.view(), expected);
    ASSERT_LE(buffer.size(), 9'000U);
  }
}

}  // namespace
}  // namespace tangram::endpoint
