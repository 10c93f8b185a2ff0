// Hooks: tells a program and a URL of the operator's choice about the end of every job ([hooks] in
// the configuration). Each gets the job as JSON, on standard input or as the body of a POST.
// Deliveries run beside the event loop, at most kMaxRunning at a time, each for at most kTimeout.
// One that fails is logged and counted, and not repeated. One that the daemon's end interrupted is
// repeated by the next daemon: at least once. Used on the loop only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"
#include "daemon/config/hook_options.hpp"
#include "daemon/engine/engine.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Views;

class Hooks {
 public:
  static constexpr std::size_t kMaxRunning = 4;
  static constexpr std::size_t kMaxWaiting = 10'000;  // events; later ones are dropped
  static constexpr std::chrono::seconds kTimeout{10};
  // `hook`: "command" or "url"; `result`: "ok", "failed", "timeout" or "dropped".
  using OnResult = std::function<void(std::string_view hook, std::string_view result)>;

  Hooks(boost::asio::io_context& loop, Engine& engine, const Views& views, HookOptions options,
        OnResult on_result);
  ~Hooks();  // deliveries in progress go on
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
  Hooks(Hooks&&) = delete;
  Hooks& operator=(Hooks&&) = delete;

  // Delivers what an earlier daemon did not. Called once, before the first on_events().
  void start();
  void set(HookOptions options);
  // Called with the events of a batch once it is durable.
  void on_events(const std::vector<store::EventRow>& events);
  // Called for every child of the daemon that has ended, before it is reaped.
  void on_child_ended(pid_t pid, int status);

 private:
  enum class Kind : std::uint8_t { kCommand, kUrl };
  struct Delivery;
  struct LoopHandle;  // lets threads that outlive this object post to the loop safely

  void add(const store::EventRow& event);
  void start_waiting();
  void start_delivery(const store::EventRow& event, Kind kind);
  void run_command(const std::shared_ptr<Delivery>& delivery);
  void on_spawned(const std::shared_ptr<Delivery>& delivery, const Result<pid_t>& pid);
  void post_to_url(const std::shared_ptr<Delivery>& delivery);
  void on_timeout(const std::shared_ptr<Delivery>& delivery);
  void finish(const std::shared_ptr<Delivery>& delivery, const std::string& error);
  void end_event(std::uint64_t event);
  void store_progress();
  bool run_thread(std::function<void()> work);

  boost::asio::io_context& loop_;
  Engine& engine_;
  const Views& views_;
  HookOptions options_;
  OnResult on_result_;
  std::deque<store::EventRow> waiting_;
  std::size_t running_ = 0;
  std::map<std::uint64_t, int> unfinished_;              // deliveries left, by event
  std::map<pid_t, std::shared_ptr<Delivery>> children_;  // commands that run
  std::size_t spawning_ = 0;
  std::map<pid_t, int> ended_early_;  // ended while a spawn was in progress
  std::uint64_t last_event_ = 0;      // seen
  std::shared_ptr<LoopHandle> handle_;
};

}  // namespace tangram::daemon
