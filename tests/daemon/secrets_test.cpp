// Command lines are visible to every user: those of Tangram's processes and of jobs contain no
// token and no value of a job's environment.
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "service_node.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// The command lines of all processes, as `ps` shows them.
std::map<pid_t, std::string> command_lines() {
  std::map<pid_t, std::string> lines;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = parse_int(entry.path().filename().string(), 1, INT32_MAX);
    if (!pid) continue;
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    lines[*pid] = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return lines;
}

TEST(Secrets, AreInNoCommandLine) {
  const std::string hidden = cat("hidden-", getpid(), "-value");
  ServiceNode service;
  Node& node = service.node;
  const json::value token = node.call("POST", "/v1/tokens", 201, json::object{{"scope", "admin"}});
  const std::string secret(token.at("secret").as_string());
  // `tangram run` passes its own environment to the job.
  const BackgroundProcess run({TANGRAM_BINARY, "run", "-p", "1g.5gb", "--", "/bin/sleep", "1000"},
                              {cat("TANGRAM_SOCKET=", node.socket()), cat("TANGRAM_TOKEN=", secret),
                               cat("NODE_UNDER_TEST=", node.socket()), cat("HIDDEN=", hidden)});
  eventually("both jobs run, one with the secret", [&] {
    std::size_t running = 0;
    for (const pid_t pid : node.run_processes()) {
      std::ifstream in(cat("/proc/", pid, "/environ"), std::ios::binary);
      const std::string environment((std::istreambuf_iterator<char>(in)), {});
      if (environment.find(hidden) != std::string::npos) ++running;
    }
    return running >= 2 && node.shims().size() == 2 && node.endpoints().size() == 1;
  });
  const auto lines = command_lines();
  std::vector<pid_t> checked = node.shims();
  for (const pid_t pid : node.endpoints()) checked.push_back(pid);
  for (const pid_t pid : node.run_processes()) checked.push_back(pid);
  checked.push_back(node.pid());
  for (const pid_t pid : checked) {
    EXPECT_TRUE(lines.contains(pid) && !lines.at(pid).empty()) << pid;
  }
  bool has_cli = false;
  for (const auto& [pid, line] : lines) {
    if (pid == getpid()) continue;
    EXPECT_EQ(line.find(hidden), std::string::npos) << pid << ": " << line;
    EXPECT_EQ(line.find(secret), std::string::npos) << pid << ": " << line;
    has_cli = has_cli || line.starts_with(TANGRAM_BINARY);
  }
  EXPECT_TRUE(has_cli) << "`tangram run` was not among them";
}

}  // namespace
}  // namespace tangram::tests
