// Entrance: a listening socket on the loop. One rule: however many come, others get their turn on
// the loop between them.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tangram::http {

class Entrance : public std::enable_shared_from_this<Entrance> {
 public:
  // Takes the descriptor; `taken` gets that of everyone who comes.
  Entrance(boost::asio::io_context& loop, int descriptor, std::function<void(int)> taken);

  void listen();
  void close();

 private:
  void take_all();
  void listen_later();

  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer pause_;
  std::function<void(int)> taken_;
};

}  // namespace tangram::http
