// Leases as their holders have them: over the socket of a real daemon, on instances of the emulated
// node, through restarts, kills and forgetfulness. One rule: what is checked is what a holder sees,
// or what the driver shows.
#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
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
  return node.ask("POST", "/v1/leases", status, request);
}

std::string state(Node& node, std::uint64_t id) {
  return text(node.ask("GET", cat("/v1/leases/", id)), "state");
}

json::value await(Node& node, std::uint64_t id, const std::string& wanted) {
  json::value seen;
  eventually(cat("lease ", id, " is ", wanted), [&] {
    seen = node.ask("GET", cat("/v1/leases/", id));
    return text(seen, "state") == wanted;
  });
  return seen;
}

std::size_t held(Node& node) {
  std::size_t count = 0;
  const json::value gpus = node.ask("GET", "/v1/gpus");
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
  EXPECT_EQ(text(node.ask("GET", cat("/v1/jobs/", id)), "state"), "running");
  EXPECT_NE(text(node.ask("GET", cat("/v1/jobs/", id, "/logs"), 409), "detail").find("a lease"),
            std::string::npos);
  const json::value renewed =
      node.ask("POST", cat("/v1/leases/", id, "/renew"), 200, json::object{{"ttl", "2h"}});
  EXPECT_GT(text(renewed, "expires"), text(lease, "expires"));
  node.ask("DELETE", cat("/v1/leases/", id));
  const json::value over = await(node, id, "over");
  EXPECT_EQ(text(over, "reason"), "released");
  EXPECT_EQ(over.at("environment").as_object().size(), 0U);
  EXPECT_EQ(held(node), 0U);
  node.ask("DELETE", cat("/v1/leases/", id));  // is no mistake
  node.ask("DELETE", "/v1/leases/999", 404);
  node.ask("GET", cat("/v1/leases/", node.submit("1g.5gb", "true")), 404);
  EXPECT_EQ(text(node.ask("POST", cat("/v1/leases/", id, "/renew"), 409, json::object{}), "type"),
            "urn:tangram:lease-over");
  EXPECT_TRUE(node.ask("GET", "/v1/leases").as_array().empty());
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
  EXPECT_EQ(node.ask("GET", cat("/v1/leases/", id_of(lease))).at("labels"), labels);
  node.ask("DELETE", cat("/v1/leases/", id_of(lease)));
  await(node, id_of(lease), "over");
  EXPECT_EQ(node.ask("GET", cat("/v1/leases/", id_of(lease))).at("labels"), labels);
  auto client = http::Client::open(node.socket());
  ASSERT_TRUE(client);
  std::vector<std::string> kinds;
  const auto told = client->events(
      "/v1/events?after=0&follow=false&kind=lease", [&](const http::EventPiece& piece) {
        EXPECT_EQ(text(json::parse(piece.data), "key"), "pod/1") << piece.data;
        kinds.emplace_back(piece.kind);
        return true;
      });
  EXPECT_TRUE(told);
  EXPECT_EQ(kinds.front(), "lease.waiting");
  EXPECT_EQ(kinds.back(), "lease.over");
}

TEST(Leases, EndByThemselvesUnlessRenewed) {
  Node node;
  node.start();
  const std::uint64_t forgotten = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1s"}}));
  const std::uint64_t kept = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}}));
  const std::uint64_t shortened = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}}));
  node.ask("POST", cat("/v1/leases/", shortened, "/renew"), 200, json::object{{"ttl", "1s"}});
  EXPECT_EQ(text(await(node, forgotten, "over"), "reason"), "it was not renewed within 1s");
  await(node, shortened, "over");
  EXPECT_EQ(state(node, kept), "granted");
  node.ask("POST", cat("/v1/jobs/", kept, "/cancel"), 202);  // by its number among jobs
  await(node, kept, "over");
  EXPECT_EQ(held(node), 0U);
}

TEST(Leases, OfTheSameKeyAreTheSame) {
  Node node;
  node.start();
  const json::object request{{"profile", "1g.5gb"}, {"key", "slurm/7"}, {"ttl", "1h"}};
  const std::uint64_t id = id_of(acquire(node, request));
  EXPECT_EQ(id_of(acquire(node, request, 200)), id);
  const json::value found = node.ask("GET", "/v1/leases?key=slurm/7");
  ASSERT_EQ(found.as_array().size(), 1U);
  EXPECT_EQ(id_of(found.as_array().front()), id);
  node.ask("GET", "/v1/leases?key=other", 404);
  acquire(node, {{"profile", "2g.10gb"}, {"key", "slurm/7"}}, 409);
  node.kill();
  node.start();
  EXPECT_EQ(id_of(acquire(node, request, 200)), id);
  node.ask("DELETE", cat("/v1/leases/", id));
  await(node, id, "over");
  EXPECT_NE(id_of(acquire(node, request)), id);
}

// Asks in a thread of its own, and can hang up.
class Asker {
 public:
  Asker(Node& node, const json::object& request)
      : client_(http::Client::open(node.socket())), thread_([this, request] {
          if (client_) reply_ = client_->request("POST", "/v1/leases", request);
        }) {}
  ~Asker() { hang_up(); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  Asker(Asker&&) = delete;
  Asker& operator=(Asker&&) = delete;

  void hang_up() {
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

// The one that waits, once there is one.
std::uint64_t waiting(Node& node) {
  std::uint64_t found = 0;
  eventually("a lease waits", [&] {
    const json::value leases = node.ask("GET", "/v1/leases");
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
  Asker asker(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}, {"wait", "50s"}});
  const std::uint64_t second = waiting(node);
  node.ask("DELETE", cat("/v1/leases/", first));
  const json::value granted = asker.wait();
  EXPECT_EQ(id_of(granted), second);
  EXPECT_EQ(text(granted, "state"), "granted");
}

TEST(Leases, AreGivenUpWithoutRoomOrAsker) {
  Node node({.emulate = kOneGpu});
  node.start();
  acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
  const json::value refused = acquire(node, {{"profile", "1g.5gb"}}, 409);
  EXPECT_EQ(text(refused, "type"), "urn:tangram:no-room");
  EXPECT_NE(text(refused, "detail").find("no GPU has room"), std::string::npos) << refused;
  acquire(node, {{"profile", "1g.5gb"}, {"wait", "300ms"}}, 409);
  acquire(node, {{"profile", "1g.5gb"}, {"key", "now or never"}}, 409);
  eventually("nothing is left of it",
             [&] { return node.ask("GET", "/v1/leases").as_array().size() == 1; });
  Asker asker(node, {{"profile", "1g.5gb"}, {"wait", "50s"}});
  const std::uint64_t id = waiting(node);
  asker.hang_up();
  EXPECT_EQ(text(await(node, id, "over"), "reason"), "whoever asked for it has left");
  EXPECT_EQ(node.ask("GET", "/v1/leases").as_array().size(), 1U);
}

TEST(Leases, StayGrantedOverRestarts) {
  Node node;
  node.start();
  const json::value kept = acquire(node, {{"profile", "2g.10gb"}, {"ttl", "1h"}});
  const std::uint64_t brief = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1s"}}));
  node.kill();
  node.start();
  node.stop();
  node.start();
  const json::value now = node.ask("GET", cat("/v1/leases/", id_of(kept)));
  EXPECT_EQ(text(now, "state"), "granted");
  EXPECT_EQ(text(now, "uuid"), text(kept, "uuid"));
  EXPECT_EQ(text(now, "granted"), text(kept, "granted"));
  node.ask("POST", cat("/v1/leases/", id_of(kept), "/renew"), 200, json::object{});
  EXPECT_EQ(state(node, brief), "granted");  // a few seconds more, to be renewed
  await(node, brief, "over");
  EXPECT_EQ(held(node), 1U);
}

TEST(Leases, ThatWaitOutliveARestartOnlyWithAKey) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  Asker plain(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}, {"wait", "50s"}});
  const std::uint64_t without = waiting(node);
  Asker keyed(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}, {"wait", "50s"}, {"key", "k"}});
  eventually("both wait", [&] { return node.ask("GET", "/v1/leases").as_array().size() == 3; });
  node.kill();
  plain.hang_up();
  keyed.hang_up();
  node.start();
  EXPECT_NE(text(await(node, without, "over"), "reason").find("restarted"), std::string::npos);
  node.ask("DELETE", cat("/v1/leases/", first));
  eventually("it is granted", [&] {
    const auto found = node.try_ask("GET", "/v1/leases?key=k", std::nullopt);
    return found && text(found->as_array().front(), "state") == "granted";
  });
}

// One waits for an hour, another not at all: each is answered in his own time.
TEST(Leases, OfTheSameKeyAreWaitedForByEachAsLongAsHeLikes) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  json::object request{{"profile", "1g.5gb"}, {"ttl", "7d"}, {"wait", "1h"}, {"key", "k"}};
  Asker patient(node, request);
  const std::uint64_t id = waiting(node);
  request["wait"] = "0s";
  EXPECT_EQ(text(acquire(node, request, 409), "type"), "urn:tangram:no-room");
  request["wait"] = "100ms";
  acquire(node, request, 409);
  EXPECT_EQ(state(node, id), "waiting");
  node.ask("DELETE", cat("/v1/leases/", first));
  const json::value granted = patient.wait();
  EXPECT_EQ(id_of(granted), id);
  // Asked for again without a time to live, it keeps the one it has.
  const json::value again = acquire(node, {{"profile", "1g.5gb"}, {"key", "k"}}, 200);
  EXPECT_EQ(text(again, "ttl"), text(granted, "ttl"));
  EXPECT_GE(text(again, "expires"), text(granted, "expires"));
  EXPECT_EQ(text(acquire(node, {{"profile", "1g.5gb"}, {"key", "k"}, {"ttl", "1h"}}, 200), "ttl"),
            "1h");
}

// Who asks again and again, as plugins do, goes on where he stood.
TEST(Leases, ThatWaitWithAKeyKeepTheirPlace) {
  Node node({.emulate = kOneGpu});
  node.start();
  const std::uint64_t first = id_of(acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}}));
  const json::object request{
      {"profile", "7g.40gb"}, {"ttl", "1h"}, {"wait", "50s"}, {"key", "pod"}};
  Asker asker(node, request);
  const std::uint64_t id = waiting(node);
  asker.hang_up();
  json::object brief = request;
  brief["wait"] = "10ms";
  acquire(node, brief, 409);
  const auto behind = node.submit("7g.40gb", "exec sleep 1000");
  acquire(node, brief, 409);
  node.kill();  // nor does a restart cost it
  node.start();
  EXPECT_EQ(state(node, id), "waiting");
  node.ask("DELETE", cat("/v1/leases/", first));
  await(node, id, "granted");  // without an asker
  EXPECT_EQ(node.state(behind), "queued");
  EXPECT_EQ(id_of(acquire(node, request, 200)), id);
}

TEST(Leases, KeepTheirPlaceForAWhileOnly) {
  Node node({.emulate = kOneGpu, .config = "[leases]\nlinger = \"300ms\"\n"});
  node.start();
  acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
  acquire(node, {{"profile", "1g.5gb"}, {"wait", "10ms"}, {"key", "a"}}, 409);
  const std::uint64_t forgotten = waiting(node);
  EXPECT_EQ(text(await(node, forgotten, "over"), "reason"),
            "no room came free in time, and nobody asked for it again");
  // As long as it says itself; and not at all.
  const json::object longer{
      {"profile", "1g.5gb"}, {"wait", "10ms"}, {"key", "b"}, {"linger", "1h"}};
  acquire(node, longer, 409);
  const std::uint64_t kept = waiting(node);
  const json::object never{{"profile", "1g.5gb"}, {"wait", "10ms"}, {"key", "c"}, {"linger", 0}};
  acquire(node, never, 409);
  EXPECT_EQ(node.ask("GET", "/v1/leases").as_array().size(), 2U);
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

TEST(Leases, EndWithTheBoot) {
  Node node;
  node.start();
  const std::uint64_t id = id_of(acquire(node, {{"profile", "1g.5gb"}, {"ttl", "1h"}}));
  node.kill();
  node.tangram({"emulate", "reboot"});
  node.start();
  EXPECT_NE(text(await(node, id, "over"), "reason").find("rebooted"), std::string::npos);
}

// A process on an instance, as its environment says.
pid_t process_on(const std::string& uuid) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const std::string devices = "CUDA_VISIBLE_DEVICES=" + uuid;
  const char* const argv[] = {"sleep", "1000", nullptr};
  const char* const environment[] = {devices.c_str(), nullptr};
  execve("/bin/sleep", const_cast<char* const*>(argv), const_cast<char* const*>(environment));
  _exit(127);
}

TEST(Leases, GiveTheirInstanceBackOnlyWhenNobodyIsLeftInIt) {
  const files::testing::Folder folder;
  const std::string file = folder.write(
      "node.toml", "find_processes = true\n[[gpu]]\nmodel = \"A100-40GB\"\ncount = 1\n");
  Node node({.emulate = file});
  node.start();
  const json::value lease = acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
  const std::uint64_t id = id_of(lease);
  const pid_t pid = process_on(text(lease, "uuid"));
  eventually("it is there", [&] {  // and not its parent's copy any more
    std::ifstream in(cat("/proc/", pid, "/environ"), std::ios::binary);
    const std::string environment((std::istreambuf_iterator<char>(in)), {});
    return environment.starts_with("CUDA_VISIBLE_DEVICES=");
  });
  node.ask("DELETE", cat("/v1/leases/", id));
  const auto named = [&] {
    const json::value seen = node.ask("GET", cat("/v1/leases/", id));
    return text(seen, "state") == "releasing" &&
           text(seen, "reason").find(std::to_string(pid)) != std::string::npos;
  };
  eventually("it is said who is left", named);
  EXPECT_EQ(held(node), 1U);
  acquire(node, {{"profile", "1g.5gb"}}, 409);
  node.kill();
  node.start();
  EXPECT_TRUE(named());
  ::kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  await(node, id, "over");
  acquire(node, {{"profile", "7g.40gb"}, {"ttl", "1h"}});
}

}  // namespace
}  // namespace tangram::tests
