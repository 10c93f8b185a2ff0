// For tests: a real tangram-endpoint in a folder of its own, and a client of its control socket.
// One rule: nothing is waited for without a deadline, and whatever a test started is gone after it.
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
#include "endpoint/folder.hpp"
#include "endpoint/test_sockets.hpp"
#include "files/local_socket.hpp"
#include "files/test_folder.hpp"
#include "files/test_process.hpp"

namespace tangram::endpoint::testing {

namespace json = boost::json;

// A client of the control socket.
class Master {
 public:
  explicit Master(const std::string& folder) {
    auto connection = files::connect_in(folder, api::kControlSocket);
    if (connection) socket_ = Peer(connection->release());
  }
  bool say(std::string_view line) const { return socket_.say(cat(line, "\n")); }
  [[nodiscard]] const Peer& peer() const { return socket_; }
  void leave() { socket_.leave(); }

  // The next line; none: the end, or nothing in time.
  std::optional<json::object> next() {
    while (received_.find('\n') == std::string::npos) {
      if (socket_.more(received_) != Peer::Heard::kBytes) return std::nullopt;
    }
    const std::size_t end = received_.find('\n');
    const json::value document = json::parse(received_.substr(0, end));
    received_.erase(0, end + 1);
    return document.as_object();
  }
  // Lines are passed over until one has the key.
  json::object next_with(std::string_view key) {
    while (auto line = next()) {
      if (line->contains(key)) return *line;
    }
    ADD_FAILURE() << "no line with " << key;
    return {};
  }
  json::object order(json::object words) {
    words["id"] = ++last_id_;
    say(json::serialize(words));
    json::object answer = next_with("done");
    EXPECT_EQ(answer.contains("done") ? answer.at("done") : json::value(), json::value(last_id_));
    return answer;
  }
  void route(std::uint32_t run, std::uint16_t port, int drain_ms = 30'000) {
    order({{"do", "route"}, {"run", run}, {"port", port}, {"drain_ms", drain_ms}});
  }
  void hold() { order({{"do", "hold"}}); }
  void end(int drain_ms) { order({{"do", "end"}, {"drain_ms", drain_ms}}); }
  api::EndpointCounts counts() {
    const auto counts = api::read_endpoint_counts(order({{"do", "counts"}}).at("counts"));
    CHECK(counts);
    return *counts;
  }
  // {run, to, finished, cut} of the next such line.
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
  // Another process on the same folder; `before` runs in it first.
  [[nodiscard]] pid_t spawn(std::vector<std::string> more = {},
                            const std::function<void()>& before = {}) const {
    std::vector<std::string> words{TANGRAM_ENDPOINT, folder_};
    words.insert(words.end(), more.begin(), more.end());
    return files::testing::spawn(std::move(words), before);
  }
  // Starts it and waits until it listens or could not: the line on the ready descriptor.
  json::object start(const std::function<void()>& before = {}) {
    prepare();
    return start_prepared(before);
  }
  json::object start_prepared(const std::function<void()>& before = {}) {
    files::testing::ReadyPipe pipe;
    pid_ = spawn(pipe.arguments(), before);
    json::object ready = json::parse(pipe.hear()).as_object();
    if (ready.contains("port")) port_ = static_cast<std::uint16_t>(ready.at("port").as_int64());
    return ready;
  }
  // As start(), with a route to the replica as run 1.
  void start_to(const Replica& replica) {
    ASSERT_EQ(start().at("ready"), json::value(true));
    master().route(1, replica.port());
  }

  EndpointExit wait() { return static_cast<EndpointExit>(wait_for(std::exchange(pid_, 0))); }
  static int wait_for(pid_t pid) {
    const auto code = files::testing::wait_for_end(pid);
    EXPECT_TRUE(code) << "the endpoint did not end in time";
    return code.value_or(-1);
  }

  [[nodiscard]] Master& master() {
    if (!master_) master_.emplace(folder_);
    return *master_;
  }
  [[nodiscard]] Peer client(int room = 0) const { return Peer::to(port_, room); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const files::testing::Folder& base() const { return base_; }
  [[nodiscard]] std::string log() const { return base_.read("endpoint/log"); }
  // Spent on the processor so far.
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
  files::testing::Folder base_;
  std::string folder_;
  std::optional<Master> master_;
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace tangram::endpoint::testing
