// What each kind of caller may do and see, at every route of the real daemon: the owner of a job,
// another user, his token that may only read, an admin, and an admin's token that is no admin's.
// One rule: a mark that stands in all that is the owner's own (command, environment, folder, what
// went wrong, output) is in no answer to anybody else, and in no log that is not his.
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
#include "http/client.hpp"
#include "node.hpp"
#include "others.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr const char* kMark = "q7-mark";
constexpr const char* kSecretMark = "q7-mark-of-the-environment";
constexpr uid_t kOwner = kNobody;
constexpr uid_t kOther = 2;  // bin: somebody who owns nothing here

// In the order in which they ask: who may not comes before who may, so that there is something
// left to be refused.
enum Who : std::size_t { kReader, kStranger, kWriter, kOwns, kAdmin };
constexpr std::array kEverybody{kReader, kStranger, kWriter, kOwns, kAdmin};
constexpr std::array kNames{"another's read token", "another user", "an admin's write token",
                            "the owner", "an admin"};
using Statuses = std::array<int, kEverybody.size()>;
constexpr Statuses kAll{200, 200, 200, 200, 200};
constexpr Statuses kAdminsOnly{403, 403, 403, 403, 202};

// What a row asks about.
enum class Of : std::uint8_t { kNothing, kRunning, kFailed, kHeld, kLease, kToken };

struct Row {
  const char* method;
  const char* pattern;  // as the document has it; "{id}" is replaced
  Of of;
  Statuses statuses;
  const char* query = "";
  const char* body = nullptr;
};

// Who may what, as docs/api.md says it.
const std::vector<Row>& table() {
  constexpr Statuses kOwnersAndAdmins{403, 403, 403, 202, 202};
  constexpr Statuses kEveryUser{403, 201, 201, 201, 201};
  constexpr Statuses kHisAnd{403, 403, 403, 200, 200};
  static const std::vector<Row> kTable = {
      {"POST", "/v1/jobs", Of::kNothing, kEveryUser, "",
       R"({"command":["true"],"profile":"1g.5gb","directory":"/","hold":true})"},
      {"GET", "/v1/jobs", Of::kNothing, kAll, "?all=true"},
      {"GET", "/v1/jobs/{id}", Of::kRunning, kAll},
      {"GET", "/v1/jobs/{id}", Of::kFailed, kAll},
      {"GET", "/v1/jobs/{id}", Of::kHeld, kAll},
      {"GET", "/v1/jobs/{id}/wait", Of::kFailed, kAll},
      {"GET", "/v1/jobs/{id}/wait", Of::kRunning, {204, 204, 204, 204, 204}, "?timeout=1ms"},
      {"GET", "/v1/jobs/{id}/logs", Of::kRunning, kHisAnd},
      {"POST", "/v1/jobs/{id}/hold", Of::kHeld, kOwnersAndAdmins},
      {"POST", "/v1/jobs/{id}/release", Of::kHeld, kOwnersAndAdmins},
      {"POST", "/v1/jobs/{id}/cancel", Of::kHeld, kOwnersAndAdmins},
      {"POST",
       "/v1/jobs/{id}/signal",
       Of::kRunning,
       {403, 403, 403, 204, 204},
       "",
       R"({"signal":"CONT"})"},
      // Whoever may ask is told that this one is pinned.
      {"POST", "/v1/jobs/{id}/move", Of::kRunning, {403, 403, 403, 422, 422}},
      {"GET", "/v1/explain/{id}", Of::kRunning, kAll},
      {"GET", "/v1/explain/{id}", Of::kFailed, kAll},
      {"GET", "/v1/explain/{id}", Of::kHeld, kAll},
      {"GET", "/v1/what-if", Of::kNothing, kAll, "?profile=7g.40gb"},
      {"POST", "/v1/leases", Of::kNothing, kEveryUser, "", R"({"profile":"1g.5gb","wait":"30s"})"},
      {"GET", "/v1/leases", Of::kNothing, kAll},
      // A key names a lease of who took it; a token that only looks releases nothing.
      {"GET", "/v1/leases", Of::kLease, {404, 404, 404, 200, 404}, "?key=owners/1"},
      {"GET", "/v1/leases/{id}", Of::kLease, kAll},
      {"POST", "/v1/leases/{id}/renew", Of::kLease, kHisAnd},
      {"DELETE", "/v1/leases", Of::kLease, {403, 204, 204, 200, 204}, "?key=owners/1"},
      {"DELETE", "/v1/leases/{id}", Of::kLease, kHisAnd},
      {"GET", "/v1/gpus", Of::kNothing, kAll},
      {"POST", "/v1/gpus/{id}/cordon", Of::kNothing, kAdminsOnly},
      {"POST", "/v1/gpus/{id}/drain", Of::kNothing, kAdminsOnly},
      {"POST", "/v1/gpus/{id}/uncordon", Of::kNothing, kAdminsOnly},
      {"GET", "/v1/defrag", Of::kNothing, kAll},
      {"GET", "/v1/tuning", Of::kNothing, kAll},
      {"PATCH", "/v1/tuning", Of::kNothing, {403, 403, 403, 403, 200}, "", R"({"gain":"0.5"})"},
      {"GET", "/v1/events", Of::kNothing, kAll, "?after=0&follow=false"},
      {"GET", "/v1/history", Of::kNothing, kAll},
      {"GET", "/v1/usage", Of::kNothing, kAll},
      {"POST", "/v1/tokens", Of::kNothing, kEveryUser, "", R"({"scope":"read"})"},
      // Whoever makes one for somebody is that one.
      {"POST",
       "/v1/tokens",
       Of::kNothing,
       {403, 403, 403, 403, 201},
       "",
       R"({"scope":"read","uid":1})"},
      {"GET", "/v1/tokens", Of::kNothing, kAll},
      // Others' tokens are not even there; a token that only looks is refused before that.
      {"DELETE", "/v1/tokens/{id}", Of::kToken, {403, 404, 404, 200, 200}},
      {"GET", "/v1/status", Of::kNothing, kAll},
      {"GET", "/metrics", Of::kNothing, kAll},
      {"GET", "/healthz", Of::kNothing, kAll},
      {"GET", "/readyz", Of::kNothing, kAll},
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
  // Room for all that is asked for; a log that tells everything.
  Privacy()
      : node_({.emulate = "4xA100-40GB",
               .config = "[log]\nlevel = \"debug\"\n[scheduler]\nmigration = \"off\"\n"}) {}

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can act as others";
    let_others_in(node_);
    node_.start();
    reader_ = token({{"uid", kOther}, {"scope", "read"}});
    writer_ = token({{"scope", "write"}});
    std::filesystem::create_directory(node_.at(kMark));
  }

  std::string token(const json::object& wish) {
    return std::string(node_.ask("POST", "/v1/tokens", 201, wish).at("secret").as_string());
  }
  std::pair<int, json::value> shown(const std::string& secret, const std::string& method,
                                    const std::string& target,
                                    const std::optional<json::value>& body) const {
    auto client = http::Client::open(node_.socket(), {.token = secret});
    if (!client) return {0, nullptr};
    auto reply = client->exchange(method, target, body);
    return reply ? std::pair(reply->status, reply->body) : std::pair(0, json::value());
  }
  std::pair<int, json::value> ask(Who who, const std::string& method, const std::string& target,
                                  const std::optional<json::value>& body = std::nullopt) const {
    if (who == kReader) return shown(reader_, method, target, body);
    if (who == kWriter) return shown(writer_, method, target, body);
    const uid_t uid = who == kOwns ? kOwner : who == kStranger ? kOther : 0;
    return ask_as(uid, node_, method, target, body);
  }
  std::uint64_t made(Who who, const std::string& target, const json::value& body) const {
    const auto [status, answer] = ask(who, "POST", target, body);
    EXPECT_EQ(status, 201) << answer;
    return id_in(answer);
  }

  // A job of the owner's that has the mark wherever it could have one.
  [[nodiscard]] json::object marked(const std::string& script,
                                    const json::object& more = {}) const {
    json::object request = node_.request("1g.5gb", cat(script, " # ", kMark), more);
    request["name"] = "plain";
    request["labels"] = {{"project", kMark}};
    request["environment"].as_object()["SECRET"] = kSecretMark;
    if (!more.contains("directory")) request["directory"] = node_.at(kMark);
    return request;
  }
  std::uint64_t make(Of of) {
    switch (of) {
      case Of::kNothing:
        return 3;  // a GPU
      case Of::kRunning:
        return running_;
      case Of::kFailed:
        return failed_;
      case Of::kHeld:
        return made(kOwns, "/v1/jobs", marked("true", {{"hold", true}}));
      case Of::kLease:
        return lease_;
      case Of::kToken:
        return made(kOwns, "/v1/tokens", json::object{{"name", kMark}});
    }
    return 0;
  }
  void furnish() {
    running_ = made(kOwns, "/v1/jobs", marked(cat("echo ", kMark, "; sleep 1000")));
    const json::object nowhere{{"directory", cat("/nowhere/", kMark)}};
    failed_ = made(kOwns, "/v1/jobs", marked("true", nowhere));
    node_.await(running_, "running");
    node_.await(failed_, "failed");
    lease_ = made(kOwns, "/v1/leases",
                  json::object{{"profile", "1g.5gb"}, {"key", "owners/1"}, {"wait", "30s"}});
  }

  Node node_;
  std::string reader_;
  std::string writer_;
  std::uint64_t running_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t lease_ = 0;
};

// A changing row of a job that waits needs a fresh one for each who may.
std::string target_of(const Row& row, std::uint64_t id) {
  std::string target = row.pattern;
  if (const auto at = target.find("{id}"); at != std::string::npos) {
    target.replace(at, 4, std::to_string(id));
  }
  return target + row.query;
}

TEST_F(Privacy, EveryRouteSaysToEverybodyWhatIsHis) {
  furnish();
  std::set<std::string> asked;
  for (const Row& row : table()) {
    asked.insert(cat(row.method, " ", row.pattern));
    for (const Who who : kEverybody) {
      const std::string target = target_of(row, make(row.of));
      SCOPED_TRACE(cat(row.method, " ", target, " by ", kNames[who]));
      const auto body = row.body == nullptr ? std::nullopt : std::optional(json::parse(row.body));
      const auto [status, answer] = ask(who, row.method, target, body);
      const std::string text = json::serialize(answer);
      EXPECT_EQ(status, row.statuses[who]) << text;
      const bool his = who == kOwns || who == kAdmin;
      EXPECT_TRUE(his || text.find(kMark) == std::string::npos) << text;
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
      EXPECT_TRUE(asked.contains(cat(name, " ", std::string_view(path)))) << name << " " << path;
    }
  }
}

// That the mark is where it would be found, or the test above would prove nothing.
TEST_F(Privacy, OwnersAndAdminsSeeAllOfIt) {
  furnish();
  for (const Who who : {kOwns, kAdmin}) {
    const std::string running = json::serialize(ask(who, "GET", cat("/v1/jobs/", running_)).second);
    EXPECT_NE(running.find(kSecretMark), std::string::npos);
    const json::value failed = ask(who, "GET", cat("/v1/jobs/", failed_)).second;
    EXPECT_NE(json::serialize(failed.at("reason")).find(kMark), std::string::npos) << failed;
    for (const char* list : {"/v1/jobs?all=true", "/v1/history"}) {
      EXPECT_NE(json::serialize(ask(who, "GET", list).second).find(kMark), std::string::npos);
    }
    const std::string why = json::serialize(ask(who, "GET", cat("/v1/explain/", failed_)).second);
    EXPECT_NE(why.find(kMark), std::string::npos) << why;
    const auto logs = ask(who, "GET", cat("/v1/jobs/", running_, "/logs"));
    EXPECT_NE(json::serialize(logs.second).find(kMark), std::string::npos) << logs.second;
  }
}

// A job that failed waits again: what went wrong with it is still its owner's.
TEST_F(Privacy, WhatWentWrongBeforeIsTheOwnersToo) {
  const json::object again{
      {"directory", cat("/nowhere/", kMark)}, {"restart", "always"}, {"max_restarts", 1'000}};
  const std::uint64_t id = made(kOwns, "/v1/jobs", marked("true", again));
  eventually("it failed and waits", [&] {
    const json::object job = node_.job(id);
    return job.at("restarts").to_number<int>() > 0;
  });
  for (int i = 0; i < 20; ++i) {
    for (const Who who : {kReader, kStranger, kWriter}) {
      for (const std::string& target :
           {cat("/v1/jobs/", id), std::string("/v1/jobs"), cat("/v1/explain/", id)}) {
        const std::string text = json::serialize(ask(who, "GET", target).second);
        EXPECT_EQ(text.find(kMark), std::string::npos) << kNames[who] << " " << target << text;
      }
    }
  }
}

TEST_F(Privacy, LogsHaveNothingOfAnEnvironment) {
  furnish();
  ask(kStranger, "POST", cat("/v1/jobs/", running_, "/cancel"));
  ask(kOwns, "POST", cat("/v1/jobs/", running_, "/cancel"));
  node_.await(running_, "over");
  ask(kOwns, "POST", "/v1/jobs", json::object{{"environment", {{"SECRET", kSecretMark}, {"", 7}}}});
  node_.stop();
  EXPECT_NE(node_.log().find(cat("job ", running_)), std::string::npos) << "it says nothing at all";
  EXPECT_EQ(node_.log().find(kSecretMark), std::string::npos);
  std::ifstream file(node_.state_dir() + "/audit.log");
  std::stringstream audit;
  audit << file.rdbuf();
  EXPECT_NE(audit.str().find(cat("/v1/jobs/", running_, "/cancel")), std::string::npos);
  EXPECT_EQ(audit.str().find(kMark), std::string::npos) << audit.str();
}

// Others read the outline of a lease, not what its holder's process needs; and what was refused
// them did not happen.
TEST_F(Privacy, LeasesOfOthersAreOutlinesOnly) {
  furnish();
  const std::string it = cat("/v1/leases/", lease_);
  const json::value mine = ask(kOwns, "GET", it).second;
  EXPECT_FALSE(mine.at("environment").as_object().empty());
  for (const Who who : {kReader, kStranger, kWriter}) {
    SCOPED_TRACE(kNames[who]);
    EXPECT_TRUE(ask(who, "GET", it).second.at("environment").as_object().empty());
    const json::value list = ask(who, "GET", "/v1/leases").second;
    EXPECT_TRUE(list.at(0).at("environment").as_object().empty());
    EXPECT_EQ(ask(who, "POST", it + "/renew", json::object{{"ttl", "1h"}}).first, 403);
    EXPECT_EQ(ask(who, "DELETE", it).first, 403);
    EXPECT_EQ(ask(who, "POST", cat("/v1/jobs/", lease_, "/cancel")).first, 403);
  }
  const json::value after = ask(kOwns, "GET", it).second;
  EXPECT_EQ(after.at("state"), "granted");
  EXPECT_EQ(after.at("ttl"), mine.at("ttl"));
  // The same key is another's own.
  const json::object same{{"profile", "1g.5gb"}, {"key", "owners/1"}, {"wait", "30s"}};
  EXPECT_NE(made(kStranger, "/v1/leases", same), lease_);
}

TEST_F(Privacy, TheSameKeyOfTwoUsersIsTwoJobs) {
  const json::object request = node_.request("1g.5gb", "true", {{"hold", true}});
  std::set<std::uint64_t> jobs;
  for (const std::string& secret : {token({{"uid", kOwner}}), token({{"uid", kOther}})}) {
    for (const int status : {201, 200}) {
      auto client = http::Client::open(node_.socket(), {.token = secret});
      ASSERT_TRUE(client);
      const auto reply =
          client->exchange("POST", "/v1/jobs", request, http::Client::kPatience, "same-key");
      ASSERT_TRUE(reply);
      EXPECT_EQ(reply->status, status) << reply->body;
      jobs.insert(id_in(reply->body));
    }
  }
  EXPECT_EQ(jobs.size(), 2U);
}

// The shortest life of a token is a minute; in the store it is made shorter.
TEST_F(Privacy, ATokenThatExpiresLetsNobodyInAnyMore) {
  const std::string brief = token({{"uid", kOther}});
  const std::string lasting = token({{"uid", kOther}});
  node_.stop();
  const auto end = std::chrono::system_clock::now() + std::chrono::seconds(5);
  {
    SQLite::Database store(node_.state_dir() + "/tangram.db", SQLite::OPEN_READWRITE);
    const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(end.time_since_epoch());
    const std::string id = brief.substr(8, brief.find('_', 8) - 8);
    ASSERT_EQ(store.exec(cat("UPDATE tokens SET expires = ", wall.count(), " WHERE id = ", id)), 1);
  }
  node_.start();
  auto follower = http::Client::open(node_.socket(), {.token = brief});
  ASSERT_TRUE(follower);
  const auto status = [&](const std::string& secret) {
    return shown(secret, "GET", "/v1/jobs", std::nullopt).first;
  };
  eventually("it has expired", [&] {
    const int now = status(brief);
    EXPECT_TRUE(now == 200 || std::chrono::system_clock::now() >= end) << now;
    return now == 401;
  });
  EXPECT_GE(std::chrono::system_clock::now(), end);
  EXPECT_EQ(status(lasting), 200);
  const auto refused = follower->exchange("GET", "/v1/jobs");  // came in while it was good
  EXPECT_TRUE(!refused || refused->status == 401);
  EXPECT_EQ(shown(brief, "POST", "/v1/tokens", json::object{}).first, 401);
}

}  // namespace
}  // namespace tangram::tests
