// Routes: where new traffic goes, what is in flight to which run, and what waits for a replica.
// Moving a service is a change of route: from then on the run that was left is drained. One rule:
// every request or connection is with one run or waits, and each run that is left is reported once
// its last traveller has gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace tangram::endpoint {

struct Route {
  std::uint32_t run = 0;
  std::uint16_t port = 0;

  friend bool operator==(const Route&, const Route&) = default;
};

struct Drained {
  std::uint32_t run = 0;
  std::uint32_t to = 0;
  std::uint64_t finished = 0;
  std::uint64_t cut = 0;
  std::uint64_t broken = 0;
};

// How a traveller left its run.
enum class Ending : std::uint8_t {
  kFinished,  // it was over
  kCut,       // ended by the endpoint before that: the drain or the time of silence was over
  kBroken,    // ended by the replica or by the client before that
  kMoved,     // nothing of it had reached the run; it goes elsewhere
};

struct Traffic;

// A request (http) or a connection (tcp) that is to reach a replica.
class Traveller {
 public:
  Traveller() = default;
  virtual ~Traveller() = default;
  Traveller(const Traveller&) = delete;
  Traveller& operator=(const Traveller&) = delete;
  Traveller(Traveller&&) = delete;
  Traveller& operator=(Traveller&&) = delete;

  // The time of the drain is over: end it, and leave.
  virtual void cut() = 0;
  // There is another route: for who waits, or has not reached its replica yet.
  virtual void on_route() = 0;

 private:
  friend class Routes;
  enum class Where : std::uint8_t { kNowhere, kWaiting, kWithRun };
  Where where_ = Where::kNowhere;
  Traffic* traffic_ = nullptr;
  std::list<Traveller*>::iterator place_{};
};

// What goes to one run.
struct Traffic {
  Traffic(boost::asio::io_context& loop, std::uint32_t the_run) : run(the_run), deadline(loop) {}

  std::uint32_t run;
  std::list<Traveller*> travellers{};
  std::optional<std::uint32_t> drained_to{};  // the run that took over; none: it is not drained
  std::uint64_t finished = 0;                 // since the drain began
  std::uint64_t cut = 0;
  std::uint64_t broken = 0;
  boost::asio::steady_timer deadline;
};

class Routes {
 public:
  struct Callbacks {
    std::function<void(const Drained&)> drained;
    std::function<void()> changed;  // before anyone is told of the new route
  };
  Routes(boost::asio::io_context& loop, Callbacks callbacks);

  [[nodiscard]] const std::optional<Route>& current() const { return current_; }
  // What is with runs now.
  [[nodiscard]] std::uint32_t active() const { return active_; }

  // What was over in time while its run was being drained, since the start.
  [[nodiscard]] std::uint64_t drained() const { return drained_; }

  // True: it is a change. `drain` is for everything that is with other runs.
  bool set(const Route& route, std::chrono::milliseconds drain);
  // Tells of what the last change left: at once if it is over, else when it is.
  void report_again();
  void hold();

  // With the current run from now on; none: there is no replica, it waits and gets on_route().
  [[nodiscard]] std::optional<Route> enter(Traveller& traveller);
  // Gets on_route() at the next change, whether there is a replica or not.
  void wait(Traveller& traveller);
  // True: it was with a run.
  bool leave(Traveller& traveller, Ending ending);

 private:
  void drain_others(std::uint32_t to, std::chrono::milliseconds drain);
  void begin_drain(std::uint32_t run, Traffic& traffic, std::uint32_t to,
                   std::chrono::milliseconds drain);
  void cut_all(std::uint32_t run);
  void report_if_over(std::uint32_t run);
  void tell_travellers();

  boost::asio::io_context& loop_;
  Callbacks callbacks_;
  std::optional<Route> current_;
  std::map<std::uint32_t, std::unique_ptr<Traffic>> runs_;
  std::list<Traveller*> waiting_;
  std::optional<Drained> last_;           // the report on the run that was left last
  std::optional<std::uint32_t> leaving_;  // that run, while it is not reported yet
  std::uint32_t active_ = 0;
  std::uint64_t drained_ = 0;
};

}  // namespace tangram::endpoint
