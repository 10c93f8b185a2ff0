// The chaos test while it runs; see chaos.hpp. Included by chaos*.cpp only.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "chaos.hpp"
#include "node.hpp"

namespace tangram::tests {

struct Submission {
  std::string name;
  boost::json::object request;
  int code = 0;
  int steps = 0;            // of a job that can be moved by its checkpoint; 0: of no such job
  bool is_service = false;  // runs until it is cancelled, and can be moved by a replica
  std::uint64_t id = 0;     // 0: never acknowledged
  bool cancelled = false;   // or may be: a cancel was sent
};

class Chaos {
 public:
  explicit Chaos(const ChaosOptions& options)
      : options_(options),
        random_(options.seed),
        node_({.emulate = "3xA100-40GB", .config = "[device]\nobserve_every = \"200ms\"\n"}) {}

  ChaosResult run();

 private:
  int draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  void round(int number);
  Submission draw_submission();
  void send(Submission& submission);
  void submit();
  void kill_while_submitting();
  void cancel();
  [[nodiscard]] std::optional<std::uint64_t> draw_job();
  [[nodiscard]] std::optional<std::uint64_t> draw_movable_job();
  void act_on_job();
  void act_on_gpu();
  void lease();
  void stop_daemon_for_a_while();
  void inject_fault();
  void kill_shim();
  void kill_job();
  void settle();
  void cancel_services();
  void check_jobs();
  void check_steps();
  void check_job(const Submission& submission, const boost::json::object& job);
  void check_machine();
  void check_replay();
  void add_violation(const std::string& message) { result_.violations.push_back(message); }

  ChaosOptions options_;
  std::mt19937_64 random_;
  Node node_;
  std::vector<Submission> submissions_;
  std::set<std::string> movable_;   // names of jobs that can be moved
  std::set<std::uint64_t> killed_;  // jobs of which a process was killed
  std::vector<std::uint64_t> leases_;
  ChaosResult result_;
};

}  // namespace tangram::tests
