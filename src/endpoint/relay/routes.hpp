// Routes: which replica new traffic goes to, which exchanges are in flight to which run, and which
// wait for a replica. Moving a service is a change of route: the previous run is then drained, and
// reported (Callbacks::on_drained) once its last exchange has ended. Used on the event loop only.
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

// The report on a drained run.
struct Drained {
  std::uint32_t run = 0;
  std::uint32_t to = 0;  // the run that took over
  std::uint64_t finished = 0;
  std::uint64_t cut = 0;
  std::uint64_t broken = 0;
};

// How an exchange ended with respect to its run.
enum class Outcome : std::uint8_t {
  kFinished,    // it was complete
  kCut,         // ended early by the endpoint: drain or idle timeout
  kBroken,      // ended early by the replica or the client
  kNotStarted,  // nothing of it had reached the run
};

struct RunTraffic;

// A request (http mode) or a connection (tcp mode) that is or will be relayed to a replica.
class Exchange {
 public:
  Exchange() = default;
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Exchange(Exchange&&) = delete;
  Exchange& operator=(Exchange&&) = delete;

  // The drain timeout has expired: end the exchange and call Routes::detach().
  virtual void cut() = 0;
  // The route has changed. Called for exchanges that wait or are with another run; one that has
  // reached its replica ignores it.
  virtual void on_route() = 0;

 private:
  friend class Routes;
  enum class Attachment : std::uint8_t { kNone, kWaiting, kRun };
  Attachment attachment_ = Attachment::kNone;
  RunTraffic* traffic_ = nullptr;              // if attached to a run
  std::list<Exchange*>::iterator position_{};  // in the list of the run or of those waiting
};

// The exchanges that are attached to one run.
struct RunTraffic {
  RunTraffic(boost::asio::io_context& loop, std::uint32_t the_run) : run(the_run), deadline(loop) {}

  std::uint32_t run;
  std::list<Exchange*> exchanges{};
  std::optional<std::uint32_t> drained_to{};  // the run that took over; nullopt: not draining
  std::uint64_t finished = 0;                 // this and the next two: since the drain began
  std::uint64_t cut = 0;
  std::uint64_t broken = 0;
  boost::asio::steady_timer deadline;
};

class Routes {
 public:
  struct Callbacks {
    std::function<void(const Drained&)> on_drained;
    std::function<void()>
        on_route_changed;  // called before any exchange is notified of the new route
  };
  Routes(boost::asio::io_context& loop, Callbacks callbacks);

  [[nodiscard]] const std::optional<Route>& current() const { return current_; }
  // Number of exchanges attached to runs.
  [[nodiscard]] std::uint32_t active() const { return active_; }

  // Number of exchanges that finished while their run was draining, since the endpoint started.
  [[nodiscard]] std::uint64_t drained() const { return drained_; }

  // Routes new traffic to `route` and drains all other runs; their exchanges are cut after `drain`.
  // False: it is the current route already.
  bool set(const Route& route, std::chrono::milliseconds drain);
  // Reports the run that was left last once more. If it is still draining, the report follows then.
  void repeat_last_report();
  // Makes new traffic wait until set(). Exchanges in flight continue.
  void hold();

  // Attaches the exchange to the current run. nullopt: there is no route; the exchange waits and
  // gets on_route() at the next change.
  [[nodiscard]] std::optional<Route> attach(Exchange& exchange);
  // The exchange gets on_route() at the next change, even if there is a route now.
  void wait(Exchange& exchange);
  // Removes the exchange. True: it was attached to a run, and the outcome is counted.
  bool detach(Exchange& exchange, Outcome outcome);

 private:
  void drain_others(std::uint32_t to, std::chrono::milliseconds drain);
  void begin_drain(std::uint32_t run, RunTraffic& traffic, std::uint32_t to,
                   std::chrono::milliseconds drain);
  void cut_all(std::uint32_t run);
  void report_if_drained(std::uint32_t run);
  void notify_exchanges();

  boost::asio::io_context& loop_;
  Callbacks callbacks_;
  std::optional<Route> current_;
  std::map<std::uint32_t, std::unique_ptr<RunTraffic>> runs_;
  std::list<Exchange*> waiting_;
  std::optional<Drained> last_report_;          // on the run that was left last
  std::optional<std::uint32_t> last_left_run_;  // that run, until it is reported
  std::uint32_t active_ = 0;
  std::uint64_t drained_ = 0;
};

}  // namespace tangram::endpoint
