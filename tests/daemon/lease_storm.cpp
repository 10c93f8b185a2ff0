// See lease_storm.hpp.
#include "lease_storm.hpp"

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
#include "http/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr int kDouble = 3;  // exit codes of a holder
constexpr int kRefused = 4;
constexpr int kGranted = 5;  // though it could not be
constexpr const char* kTtl = "3s";

struct Kind {
  const char* profile;
  int slices;
};
constexpr Kind kKinds[] = {{"1g.5gb", 1}, {"2g.10gb", 2}, {"3g.20gb", 4}};

// Locks every memory slice of the instance, for as long as this process has the files open.
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

// Asks for a whole GPU, of which there is none as long as the storm lasts, and dies of its alarm
// while it waits. With a key, what it asked for keeps its place a little longer.
[[noreturn]] void wait_for_death(http::Client& client, unsigned seed) {
  json::object wish{{"profile", "7g.40gb"}, {"ttl", kTtl}, {"wait", "50s"}};
  if ((seed >> 24U) % 2 == 0) {
    wish["key"] = cat("doomed/", getpid());
    wish["linger"] = "100ms";
  }
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 50'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  static_cast<void>(client.request("POST", "/v1/leases", wish));
  _exit(kGranted);
}

// One process. A death while holding is SIGKILL's: nothing is tidied up.
[[noreturn]] void hold(const std::string& socket, const std::string& folder, unsigned seed,
                       const StormOptions& options) {
  auto client = http::Client::open(socket);
  if (!client) _exit(kRefused);
  for (int i = 0; i < options.each; ++i) {
    seed = seed * 1'664'525U + 1'013'904'223U;
    if ((seed >> 12U) % static_cast<unsigned>(options.doom_one_in) == 0) {
      wait_for_death(*client, seed);
    }
    const Kind& kind = kKinds[(seed >> 8U) % 3];
    const auto reply =
        client->request("POST", "/v1/leases",
                        json::object{{"profile", kind.profile}, {"ttl", kTtl}, {"wait", "50s"}});
    if (!reply || reply->status != 201) _exit(kRefused);
    std::vector<int> files;
    if (!lock_slices(folder, reply->body, kind.slices, files)) _exit(kDouble);
    if ((seed >> 16U) % static_cast<unsigned>(options.kill_one_in) == 0) raise(SIGKILL);
    for (const int file : files) close(file);
    const auto id = reply->body.at("id").to_number<std::uint64_t>();
    const auto released = client->request("DELETE", cat("/v1/leases/", id));
    if (!released || released->status != 200) _exit(kRefused);
  }
  _exit(0);
}

// Every lease that was granted is over once, and none was granted twice.
void check_events(Node& node, Storm& storm) {
  std::map<std::uint64_t, std::pair<int, int>> seen;  // granted, over
  auto client = http::Client::open(node.socket());
  if (!client) return storm.complaints.push_back(client.error().message);
  const auto done = client->events(
      "/v1/events?after=0&follow=false&kind=lease", [&](const http::EventPiece& piece) {
        const json::value event = json::parse(piece.data);
        auto& [granted, over] = seen[event.at("job").to_number<std::uint64_t>()];
        if (piece.kind == "lease.granted") ++granted;
        if (piece.kind == "lease.over") ++over;
        return true;
      });
  if (!done) storm.complaints.push_back(done.error().message);
  for (const auto& [id, counts] : seen) {
    storm.granted += counts.first > 0 ? 1 : 0;
    storm.given_up += counts.first == 0 ? 1 : 0;
    if (counts.first <= 1 && counts.second == 1) continue;
    storm.complaints.push_back(
        cat("lease ", id, " was granted ", counts.first, " times and over ", counts.second));
  }
}

// On each of the two GPUs, so that no whole one comes free.
std::vector<std::uint64_t> hold_both(Node& node) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 2; ++i) {
    const json::object wish{{"profile", "4g.20gb"}, {"ttl", "1h"}};
    ids.push_back(node.ask("POST", "/v1/leases", 201, wish).at("id").to_number<std::uint64_t>());
  }
  return ids;
}

const char* complaint_of(int code) {
  if (code == kDouble) return "two holders of one slice";
  return code == kGranted ? "what could not be granted was" : "a holder was refused";
}

}  // namespace

Storm run_storm(const StormOptions& options) {
  Storm storm;
  Node node({.emulate = "2xA100-40GB"});
  node.start();
  const std::vector<std::uint64_t> held = hold_both(node);
  std::vector<pid_t> holders;
  for (int i = 0; i < options.holders; ++i) {
    const pid_t pid = fork();
    if (pid == 0) hold(node.socket(), node.at("slice"), 77U + static_cast<unsigned>(i), options);
    holders.push_back(pid);
  }
  for (const pid_t pid : holders) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) ++(WTERMSIG(status) == SIGALRM ? storm.doomed : storm.killed);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) continue;
    storm.complaints.emplace_back(complaint_of(WEXITSTATUS(status)));
  }
  if (options.tell) {
    std::printf("all holders have ended, %zu killed, %zu of them waiting\n",
                storm.killed + storm.doomed, storm.doomed);
  }
  for (const std::uint64_t id : held) node.ask("DELETE", cat("/v1/leases/", id));
  // What the killed ones held ends by itself.
  eventually("no lease is left", [&] { return node.ask("GET", "/v1/leases").as_array().empty(); });
  const json::value gpus = node.ask("GET", "/v1/gpus");
  for (const json::value& gpu : gpus.as_array()) {
    for (const json::value& each : gpu.at("instances").as_array()) {
      if (each.at("state") != "idle") storm.complaints.push_back("an instance was leaked");
    }
  }
  check_events(node, storm);
  return storm;
}

}  // namespace tangram::tests
