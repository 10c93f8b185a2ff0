// ShimLink: the daemon's end of the control socket of one shim (api/run_spec.hpp has the words). It
// hands over whole lines and the end of the stream, and sends requests in order. One rule: it knows
// nothing of runs; a link that ended is thrown away and a new one made.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class ShimLink {
 public:
  struct Told {
    std::function<void(const boost::json::object&)> line;
    std::function<void()> end;  // no shim there, or it is gone; once, and never within a call
  };

  // Connects at once, in the background.
  ShimLink(boost::asio::io_context& loop, const std::string& folder, Told told);
  // Nothing is told afterwards.
  ~ShimLink();
  ShimLink(const ShimLink&) = delete;
  ShimLink& operator=(const ShimLink&) = delete;
  ShimLink(ShimLink&&) = delete;
  ShimLink& operator=(ShimLink&&) = delete;

  void send(const boost::json::object& request);

 private:
  class Stream;
  std::shared_ptr<Stream> stream_;
};

}  // namespace tangram::daemon
