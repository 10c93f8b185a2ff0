// What each kind of client may do and see, at every route of the real daemon: the owner of a job,
// another user, that user's read token, an admin, and an admin's write token. A mark is placed in
// all of the owner's data (command, environment, folder, error, output); it must not appear in a
// response to another user, nor in a log that others can read.
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

#include <SQLiteCpp/Database.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr const char* kMark = "q7-mark";
constexpr const char* kSecretMark = "q7-mark-of-the-environment";
constexpr uid_t kOwnerUid = kNobody;
constexpr uid_t kOtherUid = 2;  // the user bin, who owns nothing here

// In the order of their requests: clients without the right come first, while the object exists.
enum Client : std::size_t { kReader, kOtherUser, kWriter, kOwner, kAdmin };
constexpr std::array kClients{kReader, kOtherUser, kWriter, kOwner, kAdmin};
constexpr std::array kNames{"another user's read token", "another user", "an admin's write token",
                            "the owner", "an admin"};
using Statuses = std::array<int, kClients.size()>;
constexpr Statuses kAll{200, 200, 200, 200, 200};
constexpr Statuses kAdminsOnly{403, 403, 403, 403, 202};

// The object of a row's request.
enum class Object : std::uint8_t { kNothing, kRunning, kFailed, kHeld, kArray, kLease, kToken };

struct Row {
  const char* method;
  const char* pattern;  // as documented; "{id}" is replaced
  Object object;
  Statuses statuses;
  const char* query = "";
  const char* body = nullptr;
};

// The status for each client, as docs/api.md has it.
const std::vector<Row>& table() {
  constexpr Statuses kOwnersAndAdmins{403, 403, 403, 202, 202};
  constexpr Statuses kEveryUser{403, 201, 201, 201, 201};
  constexpr Statuses kOwnerAndAdminOk{403, 403, 403, 200, 200};
  static const std::vector<Row> kTable = {
      {"POST", "/v1/jobs", Object::kNothing, kEveryUser, "",
       R"({"command":["true"],"profile":"1g.5gb","directory":"/","hold":true})"},
      {"GET", "/v1/jobs", Object::kNothing, kAll, "?all=true"},
      {"GET", "/v1/jobs/{id}", Object::kRunning, kAll},
      {"GET", "/v1/jobs/{id}", Object::kFailed, kAll},
      {"GET", "/v1/jobs/{id}", Object::kHeld, kAll},
      {"GET", "/v1/jobs/{id}/wait", Object::kFailed, kAll},
      {"GET", "/v1/jobs/{id}/wait", Object::kRunning, {204, 204, 204, 204, 204}, "?timeout=1ms"},
      {"GET", "/v1/jobs/{id}/logs", Object::kRunning, kOwnerAndAdminOk},
      {"POST", "/v1/jobs/{id}/hold", Object::kHeld, kOwnersAndAdmins},
      {"POST", "/v1/jobs/{id}/release", Object::kHeld, kOwnersAndAdmins},
      {"POST", "/v1/jobs/{id}/cancel", Object::kHeld, kOwnersAndAdmins},
      // 409 for those who may: jobs that are held have no run and cannot be held again.
      {"POST", "/v1/jobs/{id}/requeue", Object::kHeld, {403, 403, 403, 409, 409}},
      {"GET", "/v1/arrays/{id}", Object::kArray, kAll},
      {"POST", "/v1/arrays/{id}/hold", Object::kArray, {403, 403, 403, 409, 409}},
      {"POST", "/v1/arrays/{id}/release", Object::kArray, kOwnersAndAdmins},
      {"POST", "/v1/arrays/{id}/cancel", Object::kArray, kOwnersAndAdmins},
      {"POST",
       "/v1/jobs/{id}/signal",
       Object::kRunning,
       {403, 403, 403, 204, 204},
       "",
       R"({"signal":"CONT"})"},
      // 422 for those who may request a move: this job is pinned.
      {"POST", "/v1/jobs/{id}/move", Object::kRunning, {403, 403, 403, 422, 422}},
      {"GET", "/v1/explain/{id}", Object::kRunning, kAll},
      {"GET", "/v1/explain/{id}", Object::kFailed, kAll},
      {"GET", "/v1/explain/{id}", Object::kHeld, kAll},
      {"GET", "/v1/what-if", Object::kNothing, kAll, "?profile=7g.40gb"},
      {"POST", "/v1/leases", Object::kNothing, kEveryUser, "",
       R"({"profile":"1g.5gb","wait":"30s"})"},
      {"GET", "/v1/leases", Object::kNothing, kAll},
      // A key names a lease of the client that took it; a read token cannot release.
      {"GET", "/v1/leases", Object::kLease, {404, 404, 404, 200, 404}, "?key=owners/1"},
      {"GET", "/v1/leases/{id}", Object::kLease, kAll},
      {"POST", "/v1/leases/{id}/renew", Object::kLease, kOwnerAndAdminOk},
      {"DELETE", "/v1/leases", Object::kLease, {403, 204, 204, 200, 204}, "?key=owners/1"},
      {"DELETE", "/v1/leases/{id}", Object::kLease, kOwnerAndAdminOk},
      {"GET", "/v1/gpus", Object::kNothing, kAll},
      {"POST", "/v1/gpus/{id}/cordon", Object::kNothing, kAdminsOnly},
      {"POST", "/v1/gpus/{id}/drain", Object::kNothing, kAdminsOnly},
      {"POST", "/v1/gpus/{id}/uncordon", Object::kNothing, kAdminsOnly},
      {"GET", "/v1/node/orphans", Object::kNothing, {403, 403, 403, 403, 200}},
      {"DELETE", "/v1/node/orphans/{id}", Object::kNothing, {403, 403, 403, 403, 404}},
      {"GET", "/v1/defrag", Object::kNothing, kAll},
      {"GET", "/v1/tuning", Object::kNothing, kAll},
      {"PATCH", "/v1/tuning", Object::kNothing, {403, 403, 403, 403, 200}, "", R"({"gain":"0.5"})"},
      {"GET", "/v1/events", Object::kNothing, kAll, "?after=0&follow=false"},
      {"GET", "/v1/history", Object::kNothing, kAll},
      {"GET", "/v1/usage", Object::kNothing, kAll},
      {"POST", "/v1/tokens", Object::kNothing, kEveryUser, "", R"({"scope":"read"})"},
      // With a token for another user one could act as that user.
      {"POST",
       "/v1/tokens",
       Object::kNothing,
       {403, 403, 403, 403, 201},
       "",
       R"({"scope":"read","uid":1})"},
      {"GET", "/v1/tokens", Object::kNothing, kAll},
      // Tokens of other users do not exist for a client; a read token is refused before that.
      {"DELETE", "/v1/tokens/{id}", Object::kToken, {403, 404, 404, 200, 200}},
      {"GET", "/v1/status", Object::kNothing, kAll},
      {"GET", "/metrics", Object::kNothing, kAll},
      {"GET", "/healthz", Object::kNothing, kAll},
      {"GET", "/readyz", Object::kNothing, kAll},
  };
  return kTable;
}

std::uint64_t id_in(const json::value& answer) {
  const json::object* object = answer.if_object();
  return object != nullptr && object->contains("id") ? object->at("id").to_number<std::uint64_t>()
                                                     : 0;
}

class Privacy : public ::testing::Test {
 protected:
  // Enough GPUs for all requests, and the most verbose log.
  Privacy()
      : node_({.emulate = "4xA100-40GB",
               .config = "[log]\nlevel = \"debug\"\n[scheduler]\nmigration = \"off\"\n"}) {}

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
    allow_other_users(node_);
    node_.start();
    reader_ = token({{"uid", kOtherUid}, {"scope", "read"}});
    writer_ = token({{"scope", "write"}});
    std::filesystem::create_directory(node_.at(kMark));
  }

  std::string token(const json::object& request) {
    return std::string(node_.call("POST", "/v1/tokens", 201, request).at("secret").as_string());
  }
  std::pair<int, json::value> call_with_token(const std::string& secret, const std::string& method,
                                              const std::string& target,
                                              const std::optional<json::value>& body) const {
    auto client = http::Client::open(node_.socket(), {.token = secret});
    if (!client) return {0, nullptr};
    auto reply = client->exchange(method, target, body);
    return reply ? std::pair(reply->status, reply->body) : std::pair(0, json::value());
  }
  std::pair<int, json::value> call(Client client, const std::string& method,
                                   const std::string& target,
                                   const std::optional<json::value>& body = std::nullopt) const {
    if (client == kReader) return call_with_token(reader_, method, target, body);
    if (client == kWriter) return call_with_token(writer_, method, target, body);
    const uid_t uid = client == kOwner ? kOwnerUid : client == kOtherUser ? kOtherUid : 0;
    return call_as(uid, node_, method, target, body);
  }
  std::uint64_t create(Client client, const std::string& target, const json::value& body) const {
    const auto [status, answer] = call(client, "POST", target, body);
    EXPECT_EQ(status, 201) << answer;
    return id_in(answer);
  }

  // A job request with the mark in every field that may contain it.
  [[nodiscard]] json::object marked_request(const std::string& script,
                                            const json::object& more = {}) const {
    json::object request = node_.job_request("1g.5gb", cat(script, " # ", kMark), more);
    request["name"] = "plain";
    request["labels"] = {{"project", kMark}};
    request["environment"].as_object()["SECRET"] = kSecretMark;
    if (!more.contains("directory")) request["directory"] = node_.at(kMark);
    return request;
  }
  std::uint64_t make(Object object) {
    switch (object) {
      case Object::kNothing:
        return 3;  // a GPU
      case Object::kRunning:
        return running_;
      case Object::kFailed:
        return failed_;
      case Object::kHeld:
        return create(kOwner, "/v1/jobs", marked_request("true", {{"hold", true}}));
      case Object::kArray:
        return create(kOwner, "/v1/jobs",
                      marked_request("true", {{"hold", true}, {"array", "1-2"}}));
      case Object::kLease:
        return lease_;
      case Object::kToken:
        return create(kOwner, "/v1/tokens", json::object{{"name", kMark}});
    }
    return 0;
  }
  void create_objects() {
    running_ = create(kOwner, "/v1/jobs", marked_request(cat("echo ", kMark, "; sleep 1000")));
    const json::object nowhere{{"directory", cat("/nowhere/", kMark)}};
    failed_ = create(kOwner, "/v1/jobs", marked_request("true", nowhere));
    node_.await(running_, "running");
    node_.await(failed_, "failed");
    lease_ = create(kOwner, "/v1/leases",
                    json::object{{"profile", "1g.5gb"}, {"key", "owners/1"}, {"wait", "30s"}});
  }

  Node node_;
  std::string reader_;
  std::string writer_;
  std::uint64_t running_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t lease_ = 0;
};

std::string target_of(const Row& row, std::uint64_t id) {
  std::string target = row.pattern;
  if (const auto at = target.find("{id}"); at != std::string::npos) {
    target.replace(at, 4, std::to_string(id));
  }
  return target + row.query;
}

TEST_F(Privacy, EveryRouteChecksTheRightsOfEveryClient) {
  create_objects();
  std::set<std::string> tested;
  for (const Row& row : table()) {
    tested.insert(cat(row.method, " ", row.pattern));
    for (const Client client : kClients) {
      const std::string target = target_of(row, make(row.object));
      SCOPED_TRACE(cat(row.method, " ", target, " by ", kNames[client]));
      const auto body = row.body == nullptr ? std::nullopt : std::optional(json::parse(row.body));
      const auto [status, answer] = call(client, row.method, target, body);
      const std::string text = json::serialize(answer);
      EXPECT_EQ(status, row.statuses[client]) << text;
      const bool may_see = client == kOwner || client == kAdmin;
      EXPECT_TRUE(may_see || text.find(kMark) == std::string::npos) << text;
    }
  }
  std::ifstream file(TANGRAM_SOURCE_DIR "/docs/openapi.json");
  std::stringstream text;
  text << file.rdbuf();
  const json::value document = json::parse(text.str());
  for (const auto& [path, operations] : document.at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      std::string name(method);
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      EXPECT_TRUE(tested.contains(cat(name, " ", std::string_view(path)))) << name << " " << path;
    }
  }
}

// Shows that the mark can be found; otherwise the test above would prove nothing.
TEST_F(Privacy, OwnersAndAdminsSeeTheMark) {
  create_objects();
  for (const Client client : {kOwner, kAdmin}) {
    const std::string running =
        json::serialize(call(client, "GET", cat("/v1/jobs/", running_)).second);
    EXPECT_NE(running.find(kSecretMark), std::string::npos);
    const json::value failed = call(client, "GET", cat("/v1/jobs/", failed_)).second;
    EXPECT_NE(json::serialize(failed.at("reason")).find(kMark), std::string::npos) << failed;
    for (const char* list : {"/v1/jobs?all=true", "/v1/history"}) {
      EXPECT_NE(json::serialize(call(client, "GET", list).second).find(kMark), std::string::npos);
    }
    const std::string why =
        json::serialize(call(client, "GET", cat("/v1/explain/", failed_)).second);
    EXPECT_NE(why.find(kMark), std::string::npos) << why;
    const auto logs = call(client, "GET", cat("/v1/jobs/", running_, "/logs"));
    EXPECT_NE(json::serialize(logs.second).find(kMark), std::string::npos) << logs.second;
  }
}

// The error of an earlier run is hidden from others too while the job waits to be restarted.
TEST_F(Privacy, EarlierErrorsAreOnlyForTheOwner) {
  const json::object again{
      {"directory", cat("/nowhere/", kMark)}, {"restart", "always"}, {"max_restarts", 1'000}};
  const std::uint64_t id = create(kOwner, "/v1/jobs", marked_request("true", again));
  eventually("it has been restarted", [&] {
    const json::object job = node_.job(id);
    return job.at("restarts").to_number<int>() > 0;
  });
  for (int i = 0; i < 20; ++i) {
    for (const Client client : {kReader, kOtherUser, kWriter}) {
      for (const std::string& target :
           {cat("/v1/jobs/", id), std::string("/v1/jobs"), cat("/v1/explain/", id)}) {
        const std::string text = json::serialize(call(client, "GET", target).second);
        EXPECT_EQ(text.find(kMark), std::string::npos) << kNames[client] << " " << target << text;
      }
    }
  }
}

TEST_F(Privacy, LogsContainNoEnvironment) {
  create_objects();
  call(kOtherUser, "POST", cat("/v1/jobs/", running_, "/cancel"));
  call(kOwner, "POST", cat("/v1/jobs/", running_, "/cancel"));
  node_.await(running_, "over");
  call(kOwner, "POST", "/v1/jobs",
       json::object{{"environment", {{"SECRET", kSecretMark}, {"", 7}}}});
  node_.stop();
  EXPECT_NE(node_.log().find(cat("job ", running_)), std::string::npos) << "the log is empty";
  EXPECT_EQ(node_.log().find(kSecretMark), std::string::npos);
  std::ifstream file(node_.state_dir() + "/audit.log");
  std::stringstream audit;
  audit << file.rdbuf();
  EXPECT_NE(audit.str().find(cat("/v1/jobs/", running_, "/cancel")), std::string::npos);
  EXPECT_EQ(audit.str().find(kMark), std::string::npos) << audit.str();
}

// Other users see the outline of a lease without its environment; refused requests have no effect.
TEST_F(Privacy, OtherUsersSeeOutlinesOfLeases) {
  create_objects();
  const std::string it = cat("/v1/leases/", lease_);
  const json::value mine = call(kOwner, "GET", it).second;
  EXPECT_FALSE(mine.at("environment").as_object().empty());
  for (const Client client : {kReader, kOtherUser, kWriter}) {
    SCOPED_TRACE(kNames[client]);
    EXPECT_TRUE(call(client, "GET", it).second.at("environment").as_object().empty());
    const json::value list = call(client, "GET", "/v1/leases").second;
    EXPECT_TRUE(list.at(0).at("environment").as_object().empty());
    EXPECT_EQ(call(client, "POST", it + "/renew", json::object{{"ttl", "1h"}}).first, 403);
    EXPECT_EQ(call(client, "DELETE", it).first, 403);
    EXPECT_EQ(call(client, "POST", cat("/v1/jobs/", lease_, "/cancel")).first, 403);
  }
  const json::value after = call(kOwner, "GET", it).second;
  EXPECT_EQ(after.at("state"), "granted");
  EXPECT_EQ(after.at("ttl"), mine.at("ttl"));
  // Another user's lease with the same key is independent.
  const json::object same{{"profile", "1g.5gb"}, {"key", "owners/1"}, {"wait", "30s"}};
  EXPECT_NE(create(kOtherUser, "/v1/leases", same), lease_);
}

TEST_F(Privacy, TheSameKeyOfTwoUsersIsTwoJobs) {
  const json::object request = node_.job_request("1g.5gb", "true", {{"hold", true}});
  std::set<std::uint64_t> jobs;
  for (const std::string& secret : {token({{"uid", kOwnerUid}}), token({{"uid", kOtherUid}})}) {
    for (const int status : {201, 200}) {
      auto client = http::Client::open(node_.socket(), {.token = secret});
      ASSERT_TRUE(client);
      const auto reply =
          client->exchange("POST", "/v1/jobs", request, http::Client::kDefaultTimeout, "same-key");
      ASSERT_TRUE(reply);
      EXPECT_EQ(reply->status, status) << reply->body;
      jobs.insert(id_in(reply->body));
    }
  }
  EXPECT_EQ(jobs.size(), 2U);
}

// The shortest ttl of a token is a minute; the test makes it shorter in the store.
TEST_F(Privacy, AnExpiredTokenIsInvalid) {
  const std::string expiring = token({{"uid", kOtherUid}});
  const std::string lasting = token({{"uid", kOtherUid}});
  node_.stop();
  const auto end = std::chrono::system_clock::now() + std::chrono::seconds(5);
  {
    SQLite::Database store(node_.state_dir() + "/tangram.db", SQLite::OPEN_READWRITE);
    const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(end.time_since_epoch());
    const std::string id = expiring.substr(8, expiring.find('_', 8) - 8);
    ASSERT_EQ(store.exec(cat("UPDATE tokens SET expires = ", wall.count(), " WHERE id = ", id)), 1);
  }
  node_.start();
  auto follower = http::Client::open(node_.socket(), {.token = expiring});
  ASSERT_TRUE(follower);
  const auto status = [&](const std::string& secret) {
    return call_with_token(secret, "GET", "/v1/jobs", std::nullopt).first;
  };
  eventually("it has expired", [&] {
    const int now = status(expiring);
    EXPECT_TRUE(now == 200 || std::chrono::system_clock::now() >= end) << now;
    return now == 401;
  });
  EXPECT_GE(std::chrono::system_clock::now(), end);
  EXPECT_EQ(status(lasting), 200);
  const auto refused =
      follower->exchange("GET", "/v1/jobs");  // connected while the token was valid
  EXPECT_TRUE(!refused || refused->status == 401);
  EXPECT_EQ(call_with_token(expiring, "POST", "/v1/tokens", json::object{}).first, 401);
}

}  // namespace
}  // namespace tangram::tests
