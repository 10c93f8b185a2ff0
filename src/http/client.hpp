// Client: speaks to the daemon, for the command line and for plugins: a request and its reply, or a
// log as it comes. It waits; whoever must not wait uses a thread and abort(). One rule: what the
// daemon refuses comes back as an Error with the daemon's own words.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/error.hpp"

namespace tangram::http {

struct ClientReply {
  int status = 0;
  boost::json::value body;  // null if there is none
};

// A piece of a log.
struct LogPiece {
  std::string_view bytes;
  std::string next;  // where to go on after these bytes: the parameter `from`
  bool gap = false;  // what stood before was rotated away
};

class Client {
 public:
  // Connects. An Error with kUnavailable says that nobody listens there; later ones of this code
  // say that the connection was lost, and that another attempt may succeed.
  [[nodiscard]] static Result<Client> open(const std::string& socket);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  static constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(60);

  // Gives up when nothing comes for so long.
  [[nodiscard]] Result<ClientReply> request(
      std::string_view method, std::string_view target,
      const std::optional<boost::json::value>& body = std::nullopt,
      std::chrono::milliseconds patience = kPatience);

  // GET of a log, until its end or until `take` says false.
  [[nodiscard]] Result<void> stream(std::string_view target,
                                    const std::function<bool(const LogPiece&)>& take);

  // Ends what another thread has this client do, and all that it is asked afterwards.
  void abort();

 private:
  class Line;
  explicit Client(std::unique_ptr<Line> line);
  std::unique_ptr<Line> line_;
};

}  // namespace tangram::http
