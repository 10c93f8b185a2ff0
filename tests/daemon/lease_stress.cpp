// See lease_stress.hpp.
#include "lease_stress.hpp"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

// Exit codes of a process.
constexpr int kSharedSlice = 3;
constexpr int kRefused = 4;
constexpr int kGrantedWithoutRoom = 5;
constexpr const char* kTtl = "3s";

struct Size {
  const char* profile;
  int slices;
};
constexpr Size kSizes[] = {{"1g.5gb", 1}, {"2g.10gb", 2}, {"3g.20gb", 4}};

// Locks every memory slice of the instance until the files are closed. False: one is locked
// already.
bool lock_slices(const std::string& folder, const json::value& lease, int slices,
                 std::vector<int>& files) {
  for (int i = 0; i < slices; ++i) {
    const std::string name =
        cat(folder, "-", lease.at("gpu").as_int64(), "-", lease.at("start").as_int64() + i);
    const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    files.push_back(file);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0) return false;
  }
  return true;
}

// Requests a whole GPU, of which none becomes free during the test, and is killed by SIGALRM while
// it waits. With a key, the request keeps its place in the queue a little longer.
[[noreturn]] void be_killed_waiting(http::Client& client, unsigned seed) {
  json::object request{{"profile", "7g.40gb"}, {"ttl", kTtl}, {"wait", "50s"}};
  if ((seed >> 24U) % 2 == 0) {
    request["key"] = cat("killed/", getpid());
    request["linger"] = "100ms";
  }
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 50'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  static_cast<void>(client.request("POST", "/v1/leases", request));
  _exit(kGrantedWithoutRoom);
}

// One process. It kills itself with SIGKILL while it holds a lease, so that nothing is cleaned up.
[[noreturn]] void run_process(const std::string& socket, const std::string& folder, unsigned seed,
                              const LeaseStressOptions& options) {
  auto client = http::Client::open(socket);
  if (!client) _exit(kRefused);
  for (int i = 0; i < options.leases_each; ++i) {
    seed = seed * 1'664'525U + 1'013'904'223U;
    if ((seed >> 12U) % static_cast<unsigned>(options.kill_waiting_one_in) == 0) {
      be_killed_waiting(*client, seed);
    }
    const Size& size = kSizes[(seed >> 8U) % 3];
    const auto reply =
        client->request("POST", "/v1/leases",
                        json::object{{"profile", size.profile}, {"ttl", kTtl}, {"wait", "50s"}});
    if (!reply || reply->status != 201) _exit(kRefused);
    std::vector<int> files;
    if (!lock_slices(folder, reply->body, size.slices, files)) _exit(kSharedSlice);
    if ((seed >> 16U) % static_cast<unsigned>(options.kill_holding_one_in) == 0) raise(SIGKILL);
    for (const int file : files) close(file);
    const auto id = reply->body.at("id").to_number<std::uint64_t>();
    const auto released = client->request("DELETE", cat("/v1/leases/", id));
    if (!released || released->status != 200) _exit(kRefused);
  }
  _exit(0);
}

// Every lease ended exactly once, and none was granted twice.
void check_events(Node& node, LeaseStressResult& result) {
  std::map<std::uint64_t, std::pair<int, int>> seen;  // granted, over
  auto client = http::Client::open(node.socket());
  if (!client) {
    result.violations.push_back(client.error().message);
    return;
  }
  const auto done = client->events(
      "/v1/events?after=0&follow=false&kind=lease", [&](const http::ServerSentEvent& piece) {
        const json::value event = json::parse(piece.data);
        auto& [granted, over] = seen[event.at("job").to_number<std::uint64_t>()];
        if (piece.kind == "lease.granted") ++granted;
        if (piece.kind == "lease.over") ++over;
        return true;
      });
  if (!done) result.violations.push_back(done.error().message);
  for (const auto& [id, counts] : seen) {
    result.granted += counts.first > 0 ? 1 : 0;
    result.never_granted += counts.first == 0 ? 1 : 0;
    if (counts.first <= 1 && counts.second == 1) continue;
    result.violations.push_back(cat("lease ", id, " was granted ", counts.first,
                                    " times and ended ", counts.second, " times"));
  }
}

// A lease on each of the two GPUs, so that neither becomes free as a whole.
std::vector<std::uint64_t> hold_both(Node& node) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 2; ++i) {
    const json::object request{{"profile", "4g.20gb"}, {"ttl", "1h"}};
    ids.push_back(
        node.call("POST", "/v1/leases", 201, request).at("id").to_number<std::uint64_t>());
  }
  return ids;
}

const char* violation_of(int code) {
  if (code == kSharedSlice) return "two leases of one slice";
  return code == kGrantedWithoutRoom ? "a lease was granted without room" : "a request was refused";
}

}  // namespace

LeaseStressResult run_lease_stress(const LeaseStressOptions& options) {
  LeaseStressResult result;
  Node node({.emulate = "2xA100-40GB"});
  node.start();
  const std::vector<std::uint64_t> held = hold_both(node);
  std::vector<pid_t> processes;
  for (int i = 0; i < options.processes; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      run_process(node.socket(), node.at("slice"), 77U + static_cast<unsigned>(i), options);
    }
    processes.push_back(pid);
  }
  for (const pid_t pid : processes) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
      ++(WTERMSIG(status) == SIGALRM ? result.killed_waiting : result.killed_holding);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) continue;
    result.violations.emplace_back(violation_of(WEXITSTATUS(status)));
  }
  if (options.verbose) {
    std::printf("all processes have ended, %zu killed, %zu of them while waiting\n",
                result.killed_holding + result.killed_waiting, result.killed_waiting);
  }
  for (const std::uint64_t id : held) node.call("DELETE", cat("/v1/leases/", id));
  // The leases of killed processes expire.
  eventually("no lease is left", [&] { return node.call("GET", "/v1/leases").as_array().empty(); });
  const json::value gpus = node.call("GET", "/v1/gpus");
  for (const json::value& gpu : gpus.as_array()) {
    for (const json::value& each : gpu.at("instances").as_array()) {
      if (each.at("state") != "idle") result.violations.emplace_back("an instance was leaked");
    }
  }
  check_events(node, result);
  return result;
}

}  // namespace tangram::tests
