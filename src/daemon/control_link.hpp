// ControlLink: the daemon's end of the control socket of one shim or endpoint (api/run_spec.hpp and
// api/endpoint_spec.hpp have the words). It
// hands over whole lines and the end of the stream, and sends requests in order. One rule: it knows
// nothing of runs; a link that ended is thrown away and a new one made.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "base/error.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class ControlLink {
 public:
  struct Told {
    std::function<void(const boost::json::object&)> line;
    std::function<void()> end;  // no shim there, or it is gone; once, and never within a call
  };

  // Connects at once, in the background.
  ControlLink(boost::asio::io_context& loop, const std::string& folder, Told told);
  // Nothing is told afterwards.
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;
  ControlLink(ControlLink&&) = delete;
  ControlLink& operator=(ControlLink&&) = delete;

  void send(const boost::json::object& request);
  // SIGKILL for whoever listens at the other end, as the kernel knows him: for one that hangs.
  [[nodiscard]] Result<void> kill_peer();

 private:
  class Stream;
  std::shared_ptr<Stream> stream_;
};

}  // namespace tangram::daemon
