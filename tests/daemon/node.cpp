// See node.hpp.
#include "node.hpp"

#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "http/client/client.hpp"
#include "openapi_check.hpp"
#include "program.hpp"

namespace tangram::tests {
namespace {

constexpr std::chrono::milliseconds kPollInterval{5};

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  DIR* proc = opendir("/proc");
  CHECK(proc != nullptr);
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid > 0) pids.push_back(pid);
  }
  closedir(proc);
  return pids;
}

std::string read_proc(pid_t pid, const char* file) {
  std::ifstream in(cat("/proc/", pid, "/", file), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_alive(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const auto after = stat.rfind(')');
  return after != std::string::npos && after + 2 < stat.size() && stat[after + 2] != 'Z';
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_proc(pid, "stat");
  const auto after = stat.rfind(')');
  if (after == std::string::npos || after + 4 > stat.size()) return 0;
  return static_cast<pid_t>(std::atoi(stat.c_str() + after + 4));
}

}  // namespace

void eventually(const std::string& description, const std::function<bool()>& condition,
                std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "timed out: " << description;
    std::this_thread::sleep_for(kPollInterval);
  }
}

Node::Node(NodeOptions options) : options_(std::move(options)) {
  if (options_.program.empty()) options_.program = TANGRAMD_BINARY;
  folder_.write("tangram.toml", options_.config);
}

Node::~Node() {
  if (pid_ > 0) kill();
  for (const pid_t shim : shims()) ::kill(shim, SIGKILL);
  for (const pid_t endpoint : endpoints()) ::kill(endpoint, SIGKILL);
  for (const pid_t pid : run_processes()) ::kill(pid, SIGKILL);
}

void Node::spawn() {
  const std::string log = folder_.at("log");
  std::vector<std::string> arguments = {options_.program, "--config",  folder_.at("tangram.toml"),
                                        "--state-dir",    state_dir(), "--socket",
                                        socket(),         "--emulate", options_.emulate};
  std::vector<char*> argv;
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  pid_ = fork();
  CHECK(pid_ >= 0);
  if (pid_ > 0) return;
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(fd, 1);
  dup2(fd, 2);
  setpgid(0, 0);
  for (std::string& each : options_.environment) putenv(each.data());
  if (options_.descriptors) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = *options_.descriptors;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  execv(argv[0], argv.data());
  _exit(127);
}

void Node::start() {
  spawn();
  eventually("the daemon answers", [&] {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      ADD_FAILURE() << "tangramd exited: " << log();
      return true;
    }
    return try_call("GET", "/v1/status", std::nullopt).has_value();
  });
}

bool Node::try_start() {
  spawn();
  eventually("the daemon answers or exits", [&] {
    return !has_not_exited() || try_call("GET", "/v1/status", std::nullopt).has_value();
  });
  return is_running();
}

bool Node::has_not_exited() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

int Node::start_and_fail() {
  spawn();
  int status = 0;
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << "tangramd did not exit: " << log();
      kill();
      return -1;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Node::stop() {
  CHECK(pid_ > 0);
  ::kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log();
  pid_ = -1;
}

void Node::kill() {
  CHECK(pid_ > 0);  // kill(-1) would signal every process
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Node::await_crash() {
  CHECK(pid_ > 0);
  int status = 0;
  waitpid(pid_, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << log();
  pid_ = -1;
}

void Node::reload() {
  CHECK(pid_ > 0);
  ::kill(pid_, SIGHUP);
}

std::optional<boost::json::value> Node::try_call(const std::string& method,
                                                 const std::string& target,
                                                 const std::optional<boost::json::value>& body) {
  auto client = http::Client::open(socket());
  if (!client) return std::nullopt;
  auto reply = client->request(method, target, body);
  if (!reply || reply->status >= 300) return std::nullopt;
  return std::move(reply->body);
}

boost::json::value Node::call(const std::string& method, const std::string& target, int status,
                              const std::optional<boost::json::value>& body) {
  auto client = http::Client::open(socket());
  if (!client) {
    ADD_FAILURE() << client.error().message;
    return nullptr;
  }
  auto reply = client->exchange(method, target, body);
  if (!reply) {
    ADD_FAILURE() << method << " " << target << ": " << reply.error().message;
    return nullptr;
  }
  EXPECT_EQ(undocumented_reason(method, target, reply->status), "");
  if (status != 0) {
    EXPECT_EQ(reply->status, status)
        << method << " " << target << ": " << boost::json::serialize(reply->body);
  }
  return std::move(reply->body);
}

long Node::resident_kib() const {
  std::ifstream status(cat("/proc/", pid_, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  }
  return 0;
}

int Node::descriptors() const {
  int count = 0;
  for (const auto& each : std::filesystem::directory_iterator(cat("/proc/", pid_, "/fd"))) {
    count += each.path().empty() ? 0 : 1;
  }
  return count;
}

// Jobs are marked in their environment, so that their processes are found independently of Tangram.
boost::json::object Node::job_request(const std::string& profile, const std::string& script,
                                      const boost::json::object& more) const {
  boost::json::object body{
      {"command", {"/bin/sh", "-c", script}},
      {"profile", profile},
      {"environment", {{"PATH", "/usr/bin:/bin"}, {"NODE_UNDER_TEST", socket()}}},
      {"directory", "/"}};
  for (const auto& [key, value] : more) body[key] = value;
  return body;
}

std::uint64_t Node::submit(const std::string& profile, const std::string& script,
                           const boost::json::object& more) {
  const auto answer = call("POST", "/v1/jobs", 201, job_request(profile, script, more));
  return answer.is_object() && answer.get_object().contains("id")
             ? answer.at("id").to_number<std::uint64_t>()
             : 0;
}

boost::json::object Node::job(std::uint64_t id) {
  const auto answer = call("GET", cat("/v1/jobs/", id));
  return answer.is_object() ? answer.get_object() : boost::json::object{{"state", "?"}};
}

boost::json::object Node::await(std::uint64_t id, const std::string& state,
                                std::chrono::milliseconds timeout) {
  boost::json::object found;
  eventually(
      cat("job ", id, " is ", state),
      [&] {
        found = job(id);
        const std::string now(found.at("state").as_string());
        const bool over =
            now == "completed" || now == "failed" || now == "cancelled" || now == "refused";
        return now == state || (state == "over" && over);
      },
      timeout);
  return found;
}

std::string Node::output(std::uint64_t id, const std::string& stream) {
  auto client = http::Client::open(socket());
  std::string text;
  if (!client) return text;
  const auto done = client->stream(cat("/v1/jobs/", id, "/logs?stream=", stream),
                                   [&](const http::LogChunk& piece) {
                                     text += piece.bytes;
                                     return true;
                                   });
  EXPECT_TRUE(done) << done.error().message;
  return text;
}

std::string Node::tangram(const std::vector<std::string>& arguments, int* code) {
  const Ended ended =
      run_program(TANGRAM_BINARY, arguments, "",
                  {cat("TANGRAM_SOCKET=", socket()), "TANGRAM_EMULATE=" + options_.emulate,
                   cat("TANGRAM_EMULATOR_STATE=", state_dir(), "/emulated-node")});
  if (code != nullptr) {
    *code = ended.code;
  } else {
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  return ended.out + (code != nullptr ? ended.err : "");
}

std::vector<std::string> Node::instances() {
  std::vector<std::string> found;
  const auto status = boost::json::parse(tangram({"emulate", "status", "--json"}));
  int index = 0;
  for (const auto& gpu : status.at("gpus").as_array()) {
    for (const auto& each : gpu.at("instances").as_array()) {
      found.push_back(cat(index, " ", std::string_view(each.at("profile").as_string()), "@",
                          each.at("start").to_number<int>()));
    }
    ++index;
  }
  return found;
}

std::vector<pid_t> Node::run_processes() const {
  std::vector<pid_t> found;
  const std::string mark = "NODE_UNDER_TEST=" + socket();
  for (const pid_t pid : all_processes()) {
    if (read_proc(pid, "environ").find(mark) != std::string::npos && is_alive(pid)) {
      found.push_back(pid);
    }
  }
  return found;
}

std::optional<std::uint64_t> Node::job_of(pid_t pid) {
  const std::string environment = read_proc(pid, "environ");
  const std::string key = "TANGRAM_JOB_ID=";
  const auto at = environment.find(key);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(environment.c_str() + at + key.size(), nullptr, 10);
}

// A child that a shim has forked has the shim's command line until it calls exec.
std::vector<pid_t> Node::shims() const {
  const auto is_shim = [&](pid_t pid) {
    const std::string line = read_proc(pid, "cmdline");
    return line.find("tangram-shim") != std::string::npos &&
           line.find(state_dir()) != std::string::npos;
  };
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    if (is_shim(pid) && is_alive(pid) && !is_shim(parent_of(pid))) found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> Node::endpoints() const {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    const std::string line = read_proc(pid, "cmdline");
    const bool is_ours = line.find("tangram-endpoint") != std::string::npos &&
                         line.find(state_dir()) != std::string::npos;
    if (is_ours && is_alive(pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace tangram::tests
