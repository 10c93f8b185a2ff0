// Node: a real tangramd on an emulated node of its own, for tests: started, asked over its socket,
// killed, started again on the same state. One rule: nothing in it is a stand-in: the daemon, its
// shims and the jobs are processes, and the GPUs are reached through NVML.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/error.hpp"
#include "files/test_folder.hpp"

namespace tangram::tests {

inline constexpr std::chrono::milliseconds kLong{60'000};  // nothing should ever take it

struct NodeOptions {
  std::string emulate = "2xA100-40GB";
  std::string config = {};  // TOML, besides what is needed
  std::vector<std::string> environment = {"TANGRAM_EMULATOR_LATENCY=0"};
  std::string program = {};                // empty: the tangramd that was built
  std::optional<rlim_t> descriptors = {};  // the soft limit it is started with; empty: ours
};

class Node {
 public:
  explicit Node(NodeOptions options = {});
  ~Node();  // ends the daemon and every run, whatever state they are in
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  Node(Node&&) = delete;
  Node& operator=(Node&&) = delete;

  // Starts the daemon and waits until it answers.
  void start();
  // Starts it and waits until it ends of itself: the exit code; what it said is in log().
  int start_and_fail();
  void stop();    // SIGTERM, and waits
  void kill();    // SIGKILL, and waits
  void reload();  // SIGHUP
  void use_program(std::string tangramd) { options_.program = std::move(tangramd); }
  // From the next start on.
  void use_environment(std::vector<std::string> environment) {
    options_.environment = std::move(environment);
  }
  // Waits until the daemon has ended of itself.
  void await_death();
  [[nodiscard]] bool runs() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] long resident_kib() const;  // memory of the daemon
  [[nodiscard]] int descriptors() const;    // it has open

  // A request and its answer; the status is checked unless it is 0.
  boost::json::value ask(const std::string& method, const std::string& target, int status = 200,
                         const std::optional<boost::json::value>& body = std::nullopt);
  // The same where the daemon may die at any moment: nothing if it did not answer.
  std::optional<boost::json::value> try_ask(const std::string& method, const std::string& target,
                                            const std::optional<boost::json::value>& body);
  // A job that runs a shell script; more keys of the request in `more`.
  std::uint64_t submit(const std::string& profile, const std::string& script,
                       const boost::json::object& more = {});
  [[nodiscard]] boost::json::object request(const std::string& profile, const std::string& script,
                                            const boost::json::object& more = {}) const;
  boost::json::object job(std::uint64_t id);
  std::string state(std::uint64_t id) { return std::string(job(id).at("state").as_string()); }
  // Waits until the job is in that state, or over if it is "over"; gives it.
  boost::json::object await(std::uint64_t id, const std::string& state,
                            std::chrono::milliseconds time = kLong);
  std::string output(std::uint64_t id, const std::string& stream = "stdout");

  // `tangram` against this daemon.
  std::string tangram(const std::vector<std::string>& arguments, int* code = nullptr);

  // The emulated driver's own view of its instances: "gpu profile@start" each.
  std::vector<std::string> instances();

  [[nodiscard]] std::string state_dir() const { return folder_.at("state"); }
  [[nodiscard]] std::string socket() const { return folder_.at("socket"); }
  [[nodiscard]] std::string log() const { return folder_.read("log"); }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.at(name); }
  [[nodiscard]] const files::testing::Folder& folder() const { return folder_; }
  // Every living process that was started by a job of this daemon.
  [[nodiscard]] std::vector<pid_t> run_processes() const;
  [[nodiscard]] std::vector<pid_t> shims() const;
  [[nodiscard]] std::vector<pid_t> endpoints() const;
  // The job that a process belongs to, as its environment says.
  [[nodiscard]] static std::optional<std::uint64_t> job_of(pid_t pid);

 private:
  void spawn();
  files::testing::Folder folder_;
  NodeOptions options_;
  pid_t pid_ = -1;
};

// Asks again and again, without hurry, until it is so; a failure of the test if it never is.
void eventually(const std::string& what, const std::function<bool()>& so,
                std::chrono::milliseconds time = kLong);

}  // namespace tangram::tests
