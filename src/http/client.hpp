// Client: speaks to the daemon, for the command line and for plugins: a request and its reply, or a
// log or events as they come. It waits; whoever must not wait uses a thread and abort(). One rule:
// what the daemon refuses comes back as an Error with the daemon's own words.
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
  std::string token = {};    // a bearer token; empty: none is shown
  std::string ca_file = {};  // PEM, who may vouch for the daemon; empty: whom this system trusts
  bool verify = true;        // that the certificate is the host's own
};

struct ClientReply {
  int status = 0;
  boost::json::value body;  // null if there is none; a text if it is not JSON
  std::string next = {};    // the target of the next page, if there is one
};

// A reply as it is meant: what the daemon refuses is an Error.
[[nodiscard]] Result<ClientReply> meaning_of(Result<ClientReply> reply);

// A piece of a log.
struct LogPiece {
  std::string_view bytes;
  std::string next;  // where to go on after these bytes: the parameter `from`
  bool gap = false;  // what stood before was rotated away
};

// One message of /v1/events.
struct EventPiece {
  std::uint64_t id = 0;   // where to go on: the parameter `after`; 0 of a gap, which has none
  std::string_view kind;  // "job.running"; or "gap": what lay between is forgotten
  std::string_view data;  // JSON
};

class Client {
 public:
  // Connects to a socket's path or to "https://host:port". An Error with kUnavailable says that
  // nobody listens there; later ones of this code say that the connection was lost, and that
  // another attempt may succeed.
  [[nodiscard]] static Result<Client> open(const std::string& where,
                                           const ClientOptions& options = {});
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  static constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(60);

  // Gives up when nothing comes for so long. `once` is an Idempotency-Key: with the same one the
  // request may be repeated without being done twice.
  [[nodiscard]] Result<ClientReply> request(
      std::string_view method, std::string_view target,
      const std::optional<boost::json::value>& body = std::nullopt,
      std::chrono::milliseconds patience = kPatience, std::string_view once = {});
  // The same, but what the daemon refuses is a reply like any other.
  [[nodiscard]] Result<ClientReply> exchange(
      std::string_view method, std::string_view target,
      const std::optional<boost::json::value>& body = std::nullopt,
      std::chrono::milliseconds patience = kPatience, std::string_view once = {});

  // GET of a log, until its end or until `take` says false.
  [[nodiscard]] Result<void> stream(std::string_view target,
                                    const std::function<bool(const LogPiece&)>& take);
  // GET of events, the same way.
  [[nodiscard]] Result<void> events(std::string_view target,
                                    const std::function<bool(const EventPiece&)>& take);

  // Ends what another thread has this client do, and all that it is asked afterwards.
  void abort();

 private:
  class Line;
  explicit Client(std::unique_ptr<Line> line);
  std::unique_ptr<Line> line_;
};

}  // namespace tangram::http
