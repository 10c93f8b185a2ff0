// A connection: reads requests one after the other, has them answered and writes the answers. The
// only files that know Beast are the connection*.cpp behind this header. One rule: nothing is read
// while an answer is on its way, so that a client can pile up no more than a buffer's worth of
// requests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/bodies.hpp"
#include "http/doors.hpp"
#include "http/log_hall.hpp"
#include "http/server.hpp"
#include "http/watcher.hpp"

namespace tangram::http {

// What all connections of a server share.
struct House {
  House(boost::asio::io_context& the_loop, ServerOptions its_options, Doors its_doors)
      : loop(the_loop),
        options(std::move(its_options)),
        doors(std::move(its_doors)),
        watcher(loop),
        logs(loop),
        bodies(options.most_body_bytes, options.most_body_bytes_each),
        answers(options.most_answer_bytes, options.most_answer_bytes_each) {}

  boost::asio::io_context& loop;
  ServerOptions options;
  Doors doors;
  Watcher watcher;
  LogHall logs;
  Bodies bodies;
  Bodies answers;
  unsigned connections = 0;  // there ever were
  bool open = true;          // once it is not, the doors lead nowhere
};

class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  // Ends it now: nothing of the daemon is held or called after this returns.
  virtual void end() = 0;
};

// What whoever serves a connection wants to know of it.
struct Hooks {
  std::function<void()> over;  // once, when the client or end() has ended it
  // Once, when a caller from afar has shown a good token: why there is no place for him; empty:
  // there is one.
  std::function<std::string()> welcome = {};
};

// Takes the descriptor.
[[nodiscard]] std::shared_ptr<Connection> serve(int descriptor, const Caller& caller,
                                                std::shared_ptr<House> house, Hooks hooks);

}  // namespace tangram::http
