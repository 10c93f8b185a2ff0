// Client: a blocking client of the daemon's API, for the command line and plugins. Sends requests
// and reads replies, logs and events over one keep-alive connection. Errors of the daemon are
// returned as an Error with its message. Not thread-safe, except for abort().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::http {

struct ClientOptions {
  std::string token = {};    // bearer token; empty: none is sent
  std::string ca_file = {};  // PEM file of trusted CAs; empty: those of the system
  bool verify = true;        // check the server's certificate
};

struct ClientReply {
  int status = 0;
  boost::json::value body;  // null if there is none; a string if it is not JSON
  std::string next = {};    // target of the next page; empty if this is the last
};

// Turns a reply with an error status into an Error with the daemon's message.
[[nodiscard]] Result<ClientReply> check_status(Result<ClientReply> reply);

// A piece of a log.
struct LogChunk {
  std::string_view bytes;
  std::string next;  // parameter `from` to resume after these bytes
  bool gap = false;  // output before it was deleted by rotation
};

// One message of /v1/events.
struct ServerSentEvent {
  std::uint64_t id = 0;   // parameter `after` to resume here; 0 for a gap
  std::string_view kind;  // "job.running"; or "gap": events in between were deleted
  std::string_view data;  // JSON
};

class Client {
 public:
  // Connects to the path of a unix socket or to "https://host:port". kUnavailable: no daemon
  // listens there. Later errors with this code mean that the connection was lost, and the request
  // may be retried.
  [[nodiscard]] static Result<Client> open(const std::string& where,
                                           const ClientOptions& options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::seconds(60);

  // Sends a request and waits for its reply. Fails if the daemon sends nothing for `timeout`. A
  // request with an `idempotency_key` may be retried with the same key without being done twice.
  [[nodiscard]] Result<ClientReply> request(
      std::string_view method, std::string_view target,
      const std::optional<boost::json::value>& body = std::nullopt,
      std::chrono::milliseconds timeout = kDefaultTimeout, std::string_view idempotency_key = {});
  // The same, but a reply with an error status is returned like any other.
  [[nodiscard]] Result<ClientReply> exchange(
      std::string_view method, std::string_view target,
      const std::optional<boost::json::value>& body = std::nullopt,
      std::chrono::milliseconds timeout = kDefaultTimeout, std::string_view idempotency_key = {});

  // Sends GET for a log and calls `take` with each piece, until the end or until it returns false.
  [[nodiscard]] Result<void> stream(std::string_view target,
                                    const std::function<bool(const LogChunk&)>& take);
  // The same for GET of events.
  [[nodiscard]] Result<void> events(std::string_view target,
                                    const std::function<bool(const ServerSentEvent&)>& take);

  // Makes the current call, in another thread, and all later calls fail at once.
  void abort();

 private:
  class Link;
  explicit Client(std::unique_ptr<Link> link);
  std::unique_ptr<Link> link_;
};

}  // namespace tangram::http
