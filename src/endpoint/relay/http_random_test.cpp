// Property test: messages of every kind, cut into random pieces on both sides, are relayed byte for
// byte. A failure prints its seed.
#include <random>

#include <gtest/gtest.h>

#include "tests/support/endpoint/http.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using testing::Peer;
using testing::Replica;
using testing::TestEndpoint;

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::string bytes(std::size_t most) {
    // Mostly the characters that framing consists of.
    static constexpr std::string_view kBytes("\r\n\r\n0:;aHTTP/1.1 \0\xff", 20);
    std::string text(below(most + 1), '\0');
    for (char& byte : text) byte = kBytes[below(kBytes.size())];
    return text;
  }
  std::string fields() {
    std::string text;
    for (std::size_t i = below(4); i > 0; --i) {
      text += cat("X-", below(100), ": ", std::string(below(200), 'v'), "\r\n");
    }
    return text;
  }
  std::string chunked(std::string_view body) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::string text;
    while (!body.empty()) {
      const std::size_t size = 1 + below(std::min<std::size_t>(body.size(), 255));
      if (size >= 16) text += kHex[size / 16];
      text += kHex[size % 16];
      text += cat(below(4) == 0 ? ";e=\"q\"" : "", "\r\n", body.substr(0, size), "\r\n");
      body.remove_prefix(size);
    }
    return cat(text, below(3) == 0 ? "00" : "0", "\r\n", below(3) == 0 ? "T: v\r\n" : "", "\r\n");
  }
  std::string framed(std::string_view start, std::size_t largest) {
    const std::string body = bytes(largest);
    if (below(2) == 0) {
      return cat(start, fields(), "Content-Length: ", body.size(), "\r\n\r\n", body);
    }
    return cat(start, fields(), "Transfer-Encoding: chunked\r\n\r\n", chunked(body));
  }
  std::string request(std::size_t largest) {
    if (below(3) == 0) return cat("GET / HTTP/1.1\r\nHost: x\r\n", fields(), "\r\n");
    const char* method = below(2) == 0 ? "POST" : "PUT";
    return framed(cat(method, " /p HTTP/1.1\r\nHost: x\r\n"), largest);
  }
  std::string response(std::size_t largest) {
    if (below(5) == 0) return cat("HTTP/1.1 204 None\r\n", fields(), "\r\n");
    const std::string hints = below(5) == 0 ? "HTTP/1.1 103 Hints\r\n\r\n" : "";
    return hints + framed("HTTP/1.1 200 OK\r\n", largest);
  }
  // Sends in pieces and yields now and then, so that the other side receives some of them alone.
  bool send(const Peer& peer, std::string_view text) {
    while (!text.empty()) {
      const std::size_t size = std::min(text.size(), 1 + below(below(3) == 0 ? 4 : 3'000));
      if (!peer.send(text.substr(0, size))) return false;
      text.remove_prefix(size);
      if (below(8) == 0) std::this_thread::yield();
    }
    return true;
  }

 private:
  std::mt19937 random_;
};

struct Exchange {
  std::string request;
  std::string response;
};

void check(unsigned seed, std::size_t largest) {
  SCOPED_TRACE(cat("seed ", seed));
  Maker maker(seed);
  std::vector<Exchange> exchanges(30);
  for (Exchange& exchange : exchanges) {
    exchange = {maker.request(largest), maker.response(largest)};
  }
  std::atomic<std::size_t> next = 0;
  std::atomic<int> wrong = 0;
  Replica replica([&](Peer& peer) {
    Maker cutter(seed + 1);
    while (next < exchanges.size()) {
      std::string first;
      if (peer.read_some(first, 1) != Peer::ReadResult::kBytes)
        return;  // an idle connection that is not reused
      const Exchange& exchange = exchanges[next];
      const std::string request = first + peer.read_bytes(exchange.request.size() - 1);
      if (request != exchange.request) ++wrong;
      ++next;
      if (!cutter.send(peer, exchange.response)) return;
    }
  });
  TestEndpoint endpoint(EndpointMode::kHttp);
  endpoint.start_to(replica);
  const Peer client = endpoint.client();
  for (const Exchange& exchange : exchanges) {
    std::thread writer([&] { Maker(seed + 2).send(client, exchange.request); });
    const std::string received = client.read_bytes(exchange.response.size());
    writer.join();
    ASSERT_TRUE(received == exchange.response)
        << received.size() << " bytes, not " << exchange.response.size();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(next, exchanges.size());
  EXPECT_EQ(endpoint.control().counts().requests, exchanges.size());
}

TEST(EndpointHttpRandom, MessagesInPiecesComeOutTheSame) {
  for (unsigned seed = 1; seed <= 12; ++seed) check(seed * 1'000, 2'000);
}

TEST(EndpointHttpRandom, LargeMessagesInPiecesComeOutTheSame) {
  for (unsigned seed = 1; seed <= 3; ++seed) check(seed * 1'000'000, 150'000);
}

}  // namespace
}  // namespace tangram::endpoint
