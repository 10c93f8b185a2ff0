// Leases as their holders see them: over the socket of a real daemon, on instances of the emulated
// node, through restarts, kills and expiry.
#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr const char* kOneGpu = "1xA100-40GB";

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.is_object() ? value.get_object().if_contains(key) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

std::uint64_t id_of(const json::value& lease) {
  const json::value* id = lease.is_object() ? lease.get_object().if_contains("id") : nullptr;
  return id != nullptr && id->is_number() ? id->to_number<std::uint64_t>() : 0;
}

json::value acquire(Node& node, const json::object& request, int status = 201) {
  return node.call("POST", "/v1/leases", status, request);
}

std::string state(Node& node, std::uint64_t id) {
  return text(node.call("GET", cat("/v1/leases/", id)), "state");
}

json::value await(Node& node, std::uint64_t id, const std::string& wanted) {
  json::value seen;
  eventually(cat("lease ", id, " is ", wanted), [&] {
    seen = node.call("GET", cat("/v1/leases/", id));
    return text(seen, "state") == wanted;
  });
  return seen;
}

std::size_t held(Node& node) {
  std::size_t count = 0;
  const json::value gpus = node.call("GET", "/v1/gpus");
  for (const json::value& gpu : gpus.as_array()) {
    for (const json::value& each : gpu.at("instances").as_array()) {
      if (text(each, "state") == "held") ++count;
    }
  }
  return count;
}

TEST(Leases, AreGrantedRenewedAndReleased) {
  Node node;
  node.start();
  const json::value lease =
      acquire(node, {{"profile", "2g.10gb"}, {"ttl", "1h"}, {"name", "mine"}});
  const std::uint64_t id = id_of(lease);
  const std::string uuid = text(lease, "uuid");
  EXPECT_EQ(text(lease, "state"), "granted");
  EXPECT_TRUE(uuid.starts_with("MIG-"));
  EXPECT_EQ(text(lease, "cdi"), "nvidia.com/gpu=" + uuid);
  const json::value environment = lease.at("environment");
  for (const char* key : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    EXPECT_EQ(text(environment, key), uuid);
  }
  EXPECT_EQ(text(environment, "TANGRAM_LEASE_ID"), std::to_string(id));
  EXPECT_EQ(held(node), 1U);
  EXPECT_EQ(text(node.call("GET", cat("/v1/jobs/", id)), "state"), "running");
  EXPECT_NE(text(node.call("GET", cat("/v1/jobs/", id, "/logs"), 409), "detail").find("a lease"),
            std::string::npos);
  const json::value renewed =
      node.call("POST", cat("/v1/leases/", id, "/renew"), 200, json::object{{"ttl", "2h"}});
  EXPECT_GT(text(renewed, "expires"), text(lease, "expires"));
  node.call("DELETE", cat("/v1/leases/", id));
  const json::value over = await(node, id, "over");
  EXPECT_EQ(text(over, "reason"), "released");
  EXPECT_EQ(over.at("environment").as_object().size(), 0U);
  EXPECT_EQ(held(node), 0U);
  node.call("DELETE", cat("/v1/leases/", id));  // repeating it is no error
  node.call("DELETE", "/v1/leases/999", 404);
  node.call("GET", cat("/v1/leases/", node.submit("1g.5gb", "true")), 404);
  EXPECT_EQ(text(node.call("POST", cat("/v1/leases/", id, "/renew"), 409, json::object{}), "type"),
            "urn:tangram:lease-over");
  EXPECT_TRUE(node.call("GET", "/v1/leases").as_array().empty());
}

TEST(Leases, ShowTheirLabelsAndTheirKeyInEvents) {
  Node node;
  node.start();
  const json::object labels{{"pod", "a/b"}, {"team", "red"}};
  const json::value lease =
      acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}, {"key", "pod/1"}, {"labels", labels}});
  EXPECT_EQ(lease.at("labels"), labels);
  node.kill();
  node.start();
  EXPECT_EQ(node.call("GET", cat("/v1/leases/", id_of(lease))).at("labels"), labels);
  node.call("DELETE", cat("/v1/leases/", id_of(lease)));
  await(node, id_of(lease), "over");
  EXPECT_EQ(node.call("GET", cat("/v1/leases/", id_of(lease))).at("labels"), labels);
  auto client = http::Client::open(node.socket());
  ASSERT_TRUE(client);
  std::vector<std::string> kinds;
  const auto read = client->events(
      "/v1/events?after=0&follow=false&kind=lease", [&](const http::ServerSentEvent& piece) {
        EXPECT_EQ(text(json::parse(piece.data), "key"), "pod/1") << piece.data;
        kinds.emplace_back(piece.kind);
        return true;
      });
  EXPECT_TRUE(read);
  EXPECT_EQ(kinds.front(), "lease.waiting");
  EXPECT_EQ(kinds.back(), "lease.over");
}

TEST(Leases, ExpireUnlessRenewed) {
  Node node;
  node.start();
  const std::uint64_t expired = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1s"}}));
  const std::uint64_t kept = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}}));
  const std::uint64_t shortened = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}}));
  node.call("POST", cat("/v1/leases/", shortened, "/renew"), 200, json::object{{"ttl", "1s"}});
  EXPECT_EQ(text(await(node, expired, "over"), "reason"), "it was not renewed within 1s");
  await(node, shortened, "over");
  EXPECT_EQ(state(node, kept), "granted");
  node.call("POST", cat("/v1/jobs/", kept, "/cancel"), 202);  // by its job number
  await(node, kept, "over");
  EXPECT_EQ(held(node), 0U);
}

TEST(Leases, WithTheSameKeyAreTheSame) {
  Node node;
  node.start();
  const json::object request{{"profile", "1g.5gb"}, {"key", "slurm/7"}, {"ttl", "1h"}};
  const std::uint64_t id = id_of(acquire(node, request));
  EXPECT_EQ(id_of(acquire(node, request, 200)), id);
  const json::value found = node.call("GET", "/v1/leases?key=slurm/7");
  ASSERT_EQ(found.as_array().size(), 1U);
  EXPECT_EQ(id_of(found.as_array().front()), id);
  node.call("GET", "/v1/leases?key=other", 404);
  acquire(node, {{"profile", "2g.10gb"}, {"key", "slurm/7"}}, 409);
  node.kill();
  node.start();
  EXPECT_EQ(id_of(acquire(node, request, 200)), id);
  node.call("DELETE", cat("/v1/leases/", id));
  await(node, id, "over");
  EXPECT_NE(id_of(acquire(node, request)), id);
}

// Requests a lease in another thread; the connection can be aborted.
class PendingLease {
 public:
  PendingLease(Node& node, const json::object& request)
      : client_(http::Client::open(node.socket())), thread_([this, request] {
          if (client_) reply_ = client_->request("POST", "/v1/leases", request);
        }) {}
  ~PendingLease() { abort_request(); }
  PendingLease(const PendingLease&) = delete;
  PendingLease& operator=(const PendingLease&) = delete;
  PendingLease(PendingLease&&) = delete;
  PendingLease& operator=(PendingLease&&) = delete;

  void abort_request() {
    if (client_) client_->abort();
    if (thread_.joinable()) thread_.join();
  }
  json::value wait() {
    thread_.join();
    return reply_ && *reply_ ? (*reply_)->body : json::value();
  }

 private:
  Result<http::Client> client_;
  std::optional<Result<http::ClientReply>> reply_;
  std::thread thread_;
};

// Waits until a lease is waiting and returns its ID.
std::uint64_t waiting(Node& node) {
  std::uint64_t found = 0;
  eventually("a lease waits", [&] {
    const json::value leases = node.call("GET", "/v1/leases");
    for (const json::value& each : leases.as_array()) {
      if (text(each, "state") == "waiting") found = id_of(each);
    }
    return found != 0;
  });
  return found;
}

TEST(Leases, WaitForRoom) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  PendingLease pending(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}, {"wait", "50s"}});
  const std::uint64_t second = waiting(node);
  node.call("DELETE", cat("/v1/leases/", first));
  const json::value granted = pending.wait();
  EXPECT_EQ(id_of(granted), second);
  EXPECT_EQ(text(granted, "state"), "granted");
}

TEST(Leases, EndWithoutRoomOrClient) {
  Node node({.emulate = kOneGpu});
  node.start();
  acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
  const json::value refused = acquire(node, {{"profile", "1g.5gb"}}, 409);
  EXPECT_EQ(text(refused, "type"), "urn:tangram:no-room");
  EXPECT_NE(text(refused, "detail").find("waiting for a free 1g.5gb"), std::string::npos)
      << refused;
  acquire(node, {{"profile", "1g.5gb"}, {"wait", "300ms"}}, 409);
  acquire(node, {{"profile", "1g.5gb"}, {"key", "without waiting"}}, 409);
  eventually("the refused leases are gone",
             [&] { return node.call("GET", "/v1/leases").as_array().size() == 1; });
  PendingLease pending(node, {{"profile", "1g.5gb"}, {"wait", "50s"}});
  const std::uint64_t id = waiting(node);
  pending.abort_request();
  EXPECT_EQ(text(await(node, id, "over"), "reason"), "client disconnected");
  EXPECT_EQ(node.call("GET", "/v1/leases").as_array().size(), 1U);
}

TEST(Leases, StayGrantedAcrossRestarts) {
  Node node;
  node.start();
  const json::value kept = acquire(node, {{"profile", "2g.10gb"}, {"ttl", "1h"}});
  const std::uint64_t short_lived = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1s"}}));
  node.kill();
  node.start();
  node.stop();
  node.start();
  const json::value now = node.call("GET", cat("/v1/leases/", id_of(kept)));
  EXPECT_EQ(text(now, "state"), "granted");
  EXPECT_EQ(text(now, "uuid"), text(kept, "uuid"));
  EXPECT_EQ(text(now, "granted"), text(kept, "granted"));
  node.call("POST", cat("/v1/leases/", id_of(kept), "/renew"), 200, json::object{});
  EXPECT_EQ(state(node, short_lived),
            "granted");  // its deadline is extended, so that it can be renewed
  await(node, short_lived, "over");
  EXPECT_EQ(held(node), 1U);
}

TEST(Leases, ThatWaitSurviveARestartOnlyWithAKey) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  PendingLease plain(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}, {"wait", "50s"}});
  const std::uint64_t without = waiting(node);
  PendingLease keyed(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}, {"wait", "50s"}, {"key", "k"}});
  eventually("both wait", [&] { return node.call("GET", "/v1/leases").as_array().size() == 3; });
  node.kill();
  plain.abort_request();
  keyed.abort_request();
  node.start();
  EXPECT_NE(text(await(node, without, "over"), "reason").find("restarted"), std::string::npos);
  node.call("DELETE", cat("/v1/leases/", first));
  eventually("it is granted", [&] {
    const auto found = node.try_call("GET", "/v1/leases?key=k", std::nullopt);
    return found && text(found->as_array().front(), "state") == "granted";
  });
}

// One request waits for an hour, another not at all: each is answered within its own `wait`.
TEST(Leases, WithTheSameKeyHaveIndependentWaits) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  json::object request{{"profile", "1g.5gb"}, {"ttl", "7d"}, {"wait", "1h"}, {"key", "k"}};
  PendingLease patient(node, request);
  const std::uint64_t id = waiting(node);
  request["wait"] = "0s";
  EXPECT_EQ(text(acquire(node, request, 409), "type"), "urn:tangram:no-room");
  request["wait"] = "100ms";
  acquire(node, request, 409);
  EXPECT_EQ(state(node, id), "waiting");
  node.call("DELETE", cat("/v1/leases/", first));
  const json::value granted = patient.wait();
  EXPECT_EQ(id_of(granted), id);
  // Requested again without a ttl, it keeps the one it has.
  const json::value repeated = acquire(node, {{"profile", "1g.5gb"}, {"key", "k"}}, 200);
  EXPECT_EQ(text(repeated, "ttl"), text(granted, "ttl"));
  EXPECT_GE(text(repeated, "expires"), text(granted, "expires"));
  EXPECT_EQ(text(acquire(node, {{"profile", "1g.5gb"}, {"key", "k"}, {"ttl", "1h"}}, 200), "ttl"),
            "1h");
}

// Repeated requests with the same key, as plugins make them, keep their place in the queue.
TEST(Leases, ThatWaitWithAKeyKeepTheirPlace) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  const json::object request{
      {"profile", "7g.40gb"}, {"ttl", "1h"}, {"wait", "50s"}, {"key", "pod"}};
  PendingLease pending(node, request);
  const std::uint64_t id = waiting(node);
  pending.abort_request();
  json::object short_wait = request;
  short_wait["wait"] = "10ms";
  acquire(node, short_wait, 409);
  const auto behind = node.submit("7g.40gb", "exec sleep 1000");
  acquire(node, short_wait, 409);
  node.kill();  // it keeps its place across a restart
  node.start();
  EXPECT_EQ(state(node, id), "waiting");
  node.call("DELETE", cat("/v1/leases/", first));
  await(node, id, "granted");  // without a waiting client
  EXPECT_EQ(node.state(behind), "queued");
  EXPECT_EQ(id_of(acquire(node, request, 200)), id);
}

TEST(Leases, KeepTheirPlaceForALimitedTime) {
  Node node({.emulate = kOneGpu, .config = "[leases]\nlinger = \"300ms\"\n"});
  node.start();
  acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
  acquire(node, {{"profile", "1g.5gb"}, {"wait", "10ms"}, {"key", "a"}}, 409);
  const std::uint64_t expired = waiting(node);
  EXPECT_EQ(text(await(node, expired, "over"), "reason"),
            "no free slot in time, and the request was not repeated");
  // For as long as the request's `linger` says, or not at all.
  const json::object longer{
      {"profile", "1g.5gb"}, {"wait", "10ms"}, {"key", "b"}, {"linger", "1h"}};
  acquire(node, longer, 409);
  const std::uint64_t kept = waiting(node);
  const json::object never{{"profile", "1g.5gb"}, {"wait", "10ms"}, {"key", "c"}, {"linger", 0}};
  acquire(node, never, 409);
  EXPECT_EQ(node.call("GET", "/v1/leases").as_array().size(), 2U);
  EXPECT_EQ(state(node, kept), "waiting");
  acquire(node, {{"profile", "1g.5gb"}, {"linger", "1m"}}, 400);
}

TEST(Leases, EndWithTheirGpu) {
  Node node({.config = "[device]\nobserve_every = \"100ms\"\n"});
  node.start();
  const json::value lease = acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}});
  node.tangram({"emulate", "fault", "fall-off", std::to_string(lease.at("gpu").as_int64())});
  EXPECT_EQ(text(await(node, id_of(lease), "over"), "reason"), "its GPU was lost");
}

TEST(Leases, EndWithAReboot) {
  Node node;
  node.start();
  const std::uint64_t id = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}}));
  node.kill();
  node.tangram({"emulate", "reboot"});
  node.start();
  EXPECT_NE(text(await(node, id, "over"), "reason").find("rebooted"), std::string::npos);
}

// Starts a process whose environment names the instance.
pid_t process_on(const std::string& uuid) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const std::string devices = "CUDA_VISIBLE_DEVICES=" + uuid;
  const char* const argv[] = {"sleep", "1000", nullptr};
  const char* const environment[] = {devices.c_str(), nullptr};
  execve("/bin/sleep", const_cast<char* const*>(argv), const_cast<char* const*>(environment));
  _exit(127);
}

TEST(Leases, FreeTheirInstanceOnlyWhenNoProcessIsLeftInIt) {
  const os::testing::Folder folder;
  const std::string file = folder.write(
      "node.toml", "find_processes = true\n[[gpu]]\nmodel = \"A100-40GB\"\ncount = 1\n");
  Node node({.emulate = file});
  node.start();
  const json::value lease = acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
  const std::uint64_t id = id_of(lease);
  const pid_t pid = process_on(text(lease, "uuid"));
  eventually("it has called exec", [&] {
    std::ifstream in(cat("/proc/", pid, "/environ"), std::ios::binary);
    const std::string environment((std::istreambuf_iterator<char>(in)), {});
    return environment.starts_with("CUDA_VISIBLE_DEVICES=");
  });
  node.call("DELETE", cat("/v1/leases/", id));
  const auto is_named = [&] {
    const json::value seen = node.call("GET", cat("/v1/leases/", id));
    return text(seen, "state") == "releasing" &&
           text(seen, "reason").find(std::to_string(pid)) != std::string::npos;
  };
  eventually("the reason names the process", is_named);
  EXPECT_EQ(held(node), 1U);
  acquire(node, {{"profile", "1g.5gb"}}, 409);
  node.kill();
  node.start();
  EXPECT_TRUE(is_named());
  ::kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  await(node, id, "over");
  acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
}

}  // namespace
}  // namespace tangram::tests
