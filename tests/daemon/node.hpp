// Node: a real tangramd on an emulated node of its own, for tests: started, called over its socket,
// killed, and started again with the same state. Nothing is mocked: the daemon, its shims and the
// jobs are processes, and the GPUs are reached through NVML.
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
#include "tests/support/os/folder.hpp"

namespace tangram::tests {

inline constexpr std::chrono::milliseconds kTimeout{60'000};

struct NodeOptions {
  std::string emulate = "2xA100-40GB";
  std::string config = {};  // TOML, added to what the test needs
  std::vector<std::string> environment = {"TANGRAM_EMULATOR_LATENCY=0"};
  std::string program = {};                // empty: the tangramd that was built
  std::optional<rlim_t> descriptors = {};  // soft limit on open files; nullopt: that of the test
};

class Node {
 public:
  explicit Node(NodeOptions options = {});
  ~Node();  // kills the daemon and all of its runs
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  Node(Node&&) = delete;
  Node& operator=(Node&&) = delete;

  // Starts the daemon and waits until it answers.
  void start();
  // Starts the daemon and waits until it answers or exits. True: it answers.
  [[nodiscard]] bool try_start();
  // Starts the daemon, waits until it exits and returns its exit code; its messages are in log().
  int start_and_fail();
  void stop();    // sends SIGTERM and waits; expects exit code 0
  void kill();    // sends SIGKILL and waits
  void reload();  // sends SIGHUP
  void use_program(std::string tangramd) { options_.program = std::move(tangramd); }
  // For the next start() and later ones.
  void use_environment(std::vector<std::string> environment) {
    options_.environment = std::move(environment);
  }
  // Waits until the daemon has killed itself at a crash point.
  void await_crash();
  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  // is_running(), and the daemon has not ended by itself; then is_running() is false from now on.
  [[nodiscard]] bool has_not_exited();
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] long resident_kib() const;  // of the daemon
  [[nodiscard]] int descriptors() const;    // number of open ones of the daemon

  // Makes a request, expects `status` (0: any) and returns the body of the response. Checks the
  // response against docs/openapi.json.
  boost::json::value call(const std::string& method, const std::string& target, int status = 200,
                          const std::optional<boost::json::value>& body = std::nullopt);
  // The same when the daemon may crash meanwhile; nullopt if there was no successful response.
  std::optional<boost::json::value> try_call(const std::string& method, const std::string& target,
                                             const std::optional<boost::json::value>& body);
  // Submits a job that runs a shell script and returns its ID. `more`: further keys of the request.
  std::uint64_t submit(const std::string& profile, const std::string& script,
                       const boost::json::object& more = {});
  [[nodiscard]] boost::json::object job_request(const std::string& profile,
                                                const std::string& script,
                                                const boost::json::object& more = {}) const;
  boost::json::object job(std::uint64_t id);
  std::string state(std::uint64_t id) { return std::string(job(id).at("state").as_string()); }
  // Waits until the job is in `state` ("over": any final state) and returns the job.
  boost::json::object await(std::uint64_t id, const std::string& state,
                            std::chrono::milliseconds timeout = kTimeout);
  std::string output(std::uint64_t id, const std::string& stream = "stdout");

  // Runs `tangram` against this daemon and returns its standard output. With `code`, the exit code
  // is stored there and standard error is appended; otherwise exit code 0 is expected.
  std::string tangram(const std::vector<std::string>& arguments, int* code = nullptr);

  // The instances in the emulated driver, each as "GPU PROFILE@START".
  std::vector<std::string> instances();

  [[nodiscard]] std::string state_dir() const { return folder_.at("state"); }
  [[nodiscard]] std::string socket() const { return folder_.at("socket"); }
  [[nodiscard]] std::string log() const { return folder_.read("log"); }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.at(name); }
  [[nodiscard]] const os::testing::Folder& folder() const { return folder_; }
  // Every live process that was started by a job of this daemon.
  [[nodiscard]] std::vector<pid_t> run_processes() const;
  [[nodiscard]] std::vector<pid_t> shims() const;
  [[nodiscard]] std::vector<pid_t> endpoints() const;
  // The job that a process belongs to according to its environment.
  [[nodiscard]] static std::optional<std::uint64_t> job_of(pid_t pid);

 private:
  void spawn();
  os::testing::Folder folder_;
  NodeOptions options_;
  pid_t pid_ = -1;
};

// Polls `condition` until it holds; fails the test if it does not within `timeout`. `description`:
// the condition in words, for the failure message.
void eventually(const std::string& description, const std::function<bool()>& condition,
                std::chrono::milliseconds timeout = kTimeout);

}  // namespace tangram::tests
