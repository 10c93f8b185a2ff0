// For tests: a minimal HTTP/1.1 replica that records requests and writes scripted responses, and a
// fixture with an endpoint in front of it. The replica parses just enough to find where a request
// ends.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "tests/support/endpoint/endpoint.hpp"

namespace tangram::endpoint::testing {

inline std::string response(std::string_view body, std::string_view fields = "") {
  return cat("HTTP/1.1 200 OK\r\n", fields, "Content-Length: ", body.size(), "\r\n\r\n", body);
}
inline std::string get(std::string_view target, std::string_view fields = "") {
  return cat("GET ", target, " HTTP/1.1\r\nHost: x\r\n", fields, "\r\n");
}
inline std::string post(std::string_view target, std::string_view body) {
  return cat("POST ", target, " HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(), "\r\n\r\n",
             body);
}

// The raw value of a field of a head; "" if absent.
inline std::string field_of(std::string_view head, std::string_view name) {
  const std::string start = cat("\r\n", name, ": ");
  const std::size_t at = head.find(start);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + start.size();
  return std::string(head.substr(begin, head.find("\r\n", begin) - begin));
}

// Reads one whole message, head and body, unchanged; "" on EOF before the end of the head.
inline std::string read_message(const Peer& peer) {
  std::string text = peer.read_until("\r\n\r\n");
  if (!text.ends_with("\r\n\r\n")) return "";
  if (const std::string length = field_of(text, "Content-Length"); !length.empty()) {
    text += peer.read_bytes(std::stoul(length));
  } else if (!field_of(text, "Transfer-Encoding").empty()) {
    text += peer.read_until("0\r\n\r\n");
  }
  return text;
}

inline std::string body_of(std::string_view message) {
  const std::size_t end = message.find("\r\n\r\n");
  return end == std::string_view::npos ? "" : std::string(message.substr(end + 4));
}

// Blocks waiting threads until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

class HttpReplica {
 public:
  // Returns the bytes to answer with. "": close the connection; a trailing kThenClose: close it
  // after the answer.
  using Answer = std::function<std::string(const std::string& request)>;
  static constexpr std::string_view kThenClose = "<close>";

  explicit HttpReplica(Answer answer, std::uint16_t port = 0)
      : answer_(std::move(answer)), replica_([this](Peer& peer) { serve(peer); }, port) {}
  explicit HttpReplica(std::string body)
      : HttpReplica([body = std::move(body)](const std::string&) { return response(body); }) {}

  [[nodiscard]] std::uint16_t port() const { return replica_.port(); }
  [[nodiscard]] const Replica& replica() const { return replica_; }
  [[nodiscard]] int connections() const { return replica_.connections(); }
  [[nodiscard]] std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  void stop() { replica_.stop(); }

 private:
  void serve(Peer& peer) {
    while (true) {
      const std::string request = read_message(peer);
      if (request.empty()) return;
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(request);
      }
      std::string text = answer_(request);
      const bool closes = text.empty() || text.ends_with(kThenClose);
      if (text.ends_with(kThenClose)) text.resize(text.size() - kThenClose.size());
      if (!peer.send(text) || closes) return;
    }
  }

  Answer answer_;
  std::mutex mutex_;
  std::vector<std::string> seen_;
  Replica replica_;  // last member: its threads use the others
};

// Fixture for tests of http mode.
class HttpTest : public ::testing::Test {
 protected:
  void start(const HttpReplica& replica) { endpoint_.start_to(replica.replica()); }
  // Sends a request and returns the body of the response.
  static std::string fetch(const Peer& client, const std::string& request) {
    client.send(request);
    return body_of(read_message(client));
  }
  TestEndpoint endpoint_{api::EndpointMode::kHttp};
};

}  // namespace tangram::endpoint::testing
