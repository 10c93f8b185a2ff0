// Command lines are everybody's: `ps` shows them. One rule: no process of ours, and no job, has a
// token or a value of a job's environment among its words.
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include <gtest/gtest.h>

#include "background.hpp"
#include "base/text.hpp"
#include "served.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Of every process of the machine, as `ps` sees it.
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
  const std::string hush = cat("hush-", getpid(), "-never-told");
  Served served;
  Node& node = served.node;
  const json::value token = node.ask("POST", "/v1/tokens", 201, json::object{{"scope", "admin"}});
  const std::string secret(token.at("secret").as_string());
  // The CLI takes its own environment along.
  const Background run({TANGRAM_BINARY, "run", "-p", "1g.5gb", "--", "/bin/sleep", "1000"},
                       {cat("TANGRAM_SOCKET=", node.socket()), cat("TANGRAM_TOKEN=", secret),
                        cat("NODE_UNDER_TEST=", node.socket()), cat("HUSH=", hush)});
  eventually("both jobs run, one with the secret", [&] {
    std::size_t running = 0;
    for (const pid_t pid : node.run_processes()) {
      std::ifstream in(cat("/proc/", pid, "/environ"), std::ios::binary);
      const std::string environment((std::istreambuf_iterator<char>(in)), {});
      if (environment.find(hush) != std::string::npos) ++running;
    }
    return running >= 2 && node.shims().size() == 2 && node.endpoints().size() == 1;
  });
  const auto lines = command_lines();
  std::vector<pid_t> ours = node.shims();
  for (const pid_t pid : node.endpoints()) ours.push_back(pid);
  for (const pid_t pid : node.run_processes()) ours.push_back(pid);
  ours.push_back(node.pid());
  for (const pid_t pid : ours) {
    EXPECT_TRUE(lines.contains(pid) && !lines.at(pid).empty()) << pid;
  }
  bool cli = false;
  for (const auto& [pid, line] : lines) {
    if (pid == getpid()) continue;
    EXPECT_EQ(line.find(hush), std::string::npos) << pid << ": " << line;
    EXPECT_EQ(line.find(secret), std::string::npos) << pid << ": " << line;
    cli = cli || line.starts_with(TANGRAM_BINARY);
  }
  EXPECT_TRUE(cli) << "`tangram run` was not among them";
}

}  // namespace
}  // namespace tangram::tests
