// Turns: who may connect to the replica now. When a replica comes back, everybody who waited wants
// to at the same moment; a server drops what does not fit into its backlog, and the kernel tries a
// dropped connection again after one second only, then after two more. One rule: at most kMost
// connections are being made at once, the others come in order, and an attempt that is not answered
// is soon made anew.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tangram::endpoint {

class Dial;

class Turns {
 public:
  static constexpr std::size_t kMost = 64;

  explicit Turns(boost::asio::io_context& loop) : look_(loop) {}

  // True: an attempt may begin now, the first or another one. False: its on_turn() will say when.
  [[nodiscard]] bool take(Dial& dial);
  // It is connected, or has given up.
  void leave(Dial& dial);

  // Where a dial stands; it keeps this itself.
  struct Place {
    enum class Where { kNowhere, kWaiting, kTaken };
    Where where = Where::kNowhere;
    std::list<Dial*>::iterator at{};
  };

 private:
  void put(Dial& dial, Place::Where where);
  void pass_on();
  void look();
  void begin_anew(std::chrono::steady_clock::time_point now);

  std::list<Dial*> taken_;  // the one whose attempt began first is first
  std::list<Dial*> waiting_;
  boost::asio::steady_timer look_;
  bool is_looking_ = false;
  bool is_passing_on_ = false;
};

}  // namespace tangram::endpoint
