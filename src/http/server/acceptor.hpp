// Acceptor: accepts connections on a listening socket on the event loop. It accepts a bounded
// number at a time, so that many new connections do not starve other events.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tangram::http {

class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  // Takes ownership of the listening `descriptor`. `on_accept` gets the descriptor of each new
  // connection and owns it.
  Acceptor(boost::asio::io_context& loop, int descriptor, std::function<void(int)> on_accept);

  void start();
  void close();

 private:
  void accept_pending();
  void retry_later();

  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer retry_;
  std::function<void(int)> on_accept_;
};

}  // namespace tangram::http
