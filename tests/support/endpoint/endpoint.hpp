// For tests: a real tangram-endpoint in a temporary folder, and a client of its control socket.
// Every wait has a deadline, and every process that a test starts is killed with the fixture.
#pragma once

#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <poll.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "api/endpoint_spec.hpp"
#include "api/run_spec.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "endpoint/process/folder.hpp"
#include "os/local_socket.hpp"
#include "tests/support/endpoint/sockets.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/os/process.hpp"

namespace tangram::endpoint::testing {

namespace json = boost::json;

// A client of the control socket.
class ControlClient {
 public:
  explicit ControlClient(const std::string& folder) {
    auto connection = os::connect_in(folder, api::kControlSocket);
    if (connection) socket_ = Peer(connection->release());
  }
  bool send(std::string_view line) const { return socket_.send(cat(line, "\n")); }
  [[nodiscard]] const Peer& peer() const { return socket_; }
  void close() { socket_.close(); }

  // The next line; nullopt on EOF or timeout.
  std::optional<json::object> next() {
    while (received_.find('\n') == std::string::npos) {
      if (socket_.read_some(received_) != Peer::ReadResult::kBytes) return std::nullopt;
    }
    const std::size_t end = received_.find('\n');
    const json::value document = json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    return document.as_object();
  }
  // The next line that has the key; skips others.
  json::object next_with(std::string_view key) {
    while (auto line = next()) {
      if (line->contains(key)) return *line;
    }
    ADD_FAILURE() << "no line with " << key;
    return {};
  }
  // Sends a command and returns its answer.
  json::object command(json::object fields) {
    fields["id"] = ++last_id_;
    send(json::serialize(fields));
    json::object answer = next_with("done");
    EXPECT_EQ(answer.contains("done") ? answer.at("done") : json::value(), json::value(last_id_));
    return answer;
  }
  void route(std::uint32_t run, std::uint16_t port, int drain_ms = 30'000) {
    command({{"do", "route"}, {"run", run}, {"port", port}, {"drain_ms", drain_ms}});
  }
  void hold() { command({{"do", "hold"}}); }
  void end(int drain_ms) { command({{"do", "end"}, {"drain_ms", drain_ms}}); }
  api::EndpointCounts counts() {
    const auto counts = api::read_endpoint_counts(command({{"do", "counts"}}).at("counts"));
    CHECK(counts);
    return *counts;
  }
  // {run, to, finished, cut} of the next "drained" line.
  std::vector<std::int64_t> drained() {
    const json::object line = next_with("drained");
    if (!line.contains("cut")) return {};
    return {line.at("drained").as_int64(), line.at("to").as_int64(), line.at("finished").as_int64(),
            line.at("cut").as_int64()};
  }

 private:
  Peer socket_;
  std::string received_;
  std::int64_t last_id_ = 0;
};

class TestEndpoint {
 public:
  explicit TestEndpoint(api::EndpointMode mode) : folder_(base_.at("endpoint")) {
    spec.job = 7;
    spec.mode = mode;
  }
  ~TestEndpoint() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  TestEndpoint(const TestEndpoint&) = delete;
  TestEndpoint& operator=(const TestEndpoint&) = delete;
  TestEndpoint(TestEndpoint&&) = delete;
  TestEndpoint& operator=(TestEndpoint&&) = delete;

  void prepare() {
    const auto prepared = prepare_endpoint_folder(folder_, spec);
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  // Starts one more endpoint process on the folder; `before` runs in the child before exec.
  [[nodiscard]] pid_t spawn(std::vector<std::string> options = {},
                            const std::function<void()>& before = {}) const {
    std::vector<std::string> arguments{TANGRAM_ENDPOINT, folder_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return os::testing::spawn(std::move(arguments), before);
  }
  // Starts it, waits until it listens or has failed, and returns its line on the ready descriptor.
  json::object start(const std::function<void()>& before = {}) {
    prepare();
    return start_prepared(before);
  }
  json::object start_prepared(const std::function<void()>& before = {}) {
    os::testing::ReadyPipe pipe;
    pid_ = spawn(pipe.arguments(), before);
    json::object ready = json::parse(pipe.read()).as_object();
    if (ready.contains("port")) port_ = static_cast<std::uint16_t>(ready.at("port").as_int64());
    return ready;
  }
  // start(), then routes to the replica as run 1.
  void start_to(const Replica& replica) {
    ASSERT_EQ(start().at("ready"), json::value(true));
    control().route(1, replica.port());
  }

  EndpointExit wait() { return static_cast<EndpointExit>(wait_for(std::exchange(pid_, 0))); }
  static int wait_for(pid_t pid) {
    const auto code = os::testing::wait_for_end(pid);
    EXPECT_TRUE(code) << "the endpoint did not end in time";
    return code.value_or(-1);
  }

  [[nodiscard]] ControlClient& control() {
    if (!control_) control_.emplace(folder_);
    return *control_;
  }
  [[nodiscard]] Peer client(int receive_buffer = 0) const {
    return Peer::to(port_, receive_buffer);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const os::testing::Folder& base() const { return base_; }
  [[nodiscard]] std::string log() const { return base_.read("endpoint/log"); }
  // CPU time used so far.
  [[nodiscard]] std::chrono::milliseconds cpu_time() const {
    std::ifstream file(cat("/proc/", pid_, "/stat"));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream rest(text.substr(text.rfind(')') + 2));
    std::string word;
    long ticks = 0;
    for (int field = 3; field <= 15 && rest >> word; ++field) {
      if (field >= 14) ticks += std::stol(word);
    }
    return std::chrono::milliseconds(ticks * 1'000 / ::sysconf(_SC_CLK_TCK));
  }
  // Resident memory in KiB.
  [[nodiscard]] std::size_t memory_kib() const {
    std::ifstream file(cat("/proc/", pid_, "/statm"));
    std::size_t whole = 0;
    std::size_t resident = 0;
    file >> whole >> resident;
    return resident * 4;
  }

  api::EndpointSpec spec;

 private:
  os::testing::Folder base_;
  std::string folder_;
  std::optional<ControlClient> control_;
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace tangram::endpoint::testing
