// Access control over the real socket: tokens and their scopes, admins, the audit log, and
// idempotency keys of submissions. A refused request must have no effect.
#include <filesystem>
#include <fstream>
#include <pwd.h>
#include <thread>
#include <unistd.h>

#include <SQLiteCpp/Database.h>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.is_object() ? value.get_object().if_contains(key) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

// A client that presents a token.
struct TokenClient {
  Node& node;
  std::string token;

  json::value call(const std::string& method, const std::string& target, int status,
                   const std::optional<json::value>& body = std::nullopt) const {
    auto client = http::Client::open(node.socket(), {.token = token});
    EXPECT_TRUE(client);
    if (!client) return nullptr;
    const auto reply = client->exchange(method, target, body);
    EXPECT_TRUE(reply) << reply.error().message;
    if (!reply) return nullptr;
    EXPECT_EQ(reply->status, status) << method << " " << target << ": " << reply->body;
    return reply->body;
  }
};

json::value make_token(Node& node, const json::object& request, int status = 201) {
  return node.call("POST", "/v1/tokens", status, request);
}

std::uint32_t nobody() {
  const passwd* user = getpwnam("nobody");
  return user == nullptr ? 65'534 : user->pw_uid;
}

TEST(Tokens, CarryAUserAndAScope) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  Node node;
  node.start();
  const auto mine = node.submit("1g.5gb", "echo secret; sleep 1000");
  node.await(mine, "running");
  const TokenClient writer{node,
                           text(make_token(node, {{"name", "w"}, {"uid", nobody()}}), "secret")};
  const TokenClient reader{
      node, text(make_token(node, {{"uid", nobody()}, {"scope", "read"}}), "secret")};
  const TokenClient admin{node, text(make_token(node, {{"scope", "admin"}}), "secret")};
  const TokenClient plain{node, text(make_token(node, {{"scope", "write"}}), "secret")};

  EXPECT_TRUE(writer.call("GET", cat("/v1/jobs/", mine), 200).at("outline").as_bool());
  for (const TokenClient* client : {&writer, &reader}) {
    client->call("GET", cat("/v1/jobs/", mine, "/logs"), 403);
    client->call("POST", cat("/v1/jobs/", mine, "/cancel"), 403);
  }
  const auto theirs =
      writer.call("POST", "/v1/jobs", 201, node.job_request("1g.5gb", "echo mine; sleep 1000"));
  const auto id = theirs.at("id").to_number<std::uint64_t>();
  EXPECT_EQ(text(node.job(id), "user"), "nobody");
  reader.call("GET", cat("/v1/jobs/", id, "/logs"), 200);
  reader.call("POST", "/v1/jobs", 403, node.job_request("1g.5gb", "true"));
  reader.call("POST", cat("/v1/jobs/", id, "/cancel"), 403);
  reader.call("POST", "/v1/leases", 403, json::object{{"profile", "1g.5gb"}});
  // A token of an admin with a lower scope has no admin rights.
  plain.call("POST", cat("/v1/jobs/", id, "/cancel"), 403);
  plain.call("POST", "/v1/gpus/0/cordon", 403);
  writer.call("POST", "/v1/gpus/0/cordon", 403);
  writer.call("POST", "/v1/leases", 403, json::object{{"profile", "1g.5gb"}, {"uid", 0}});
  admin.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
}

TEST(Tokens, AreRevokedExpireAndOutliveTheDaemon) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  Node node;
  node.start();
  const json::value made = make_token(node, {{"name", "ci"}, {"uid", nobody()}});
  const std::string secret = text(made, "secret");
  const auto id = made.at("id").to_number<std::uint64_t>();
  EXPECT_TRUE(secret.starts_with(cat("tangram_", id, "_")));
  EXPECT_EQ(secret.size(), cat("tangram_", id, "_").size() + 43);
  node.kill();
  node.start();
  const TokenClient holder{node, secret};
  holder.call("GET", "/v1/jobs", 200);
  EXPECT_EQ(holder.call("GET", "/v1/tokens", 200).as_array().size(), 1U);
  // Tokens it creates have no wider scope and no other user; those of other users do not exist for
  // it.
  holder.call("POST", "/v1/tokens", 403, json::object{{"scope", "admin"}});
  holder.call("POST", "/v1/tokens", 403, json::object{{"uid", 0}});
  const auto token_of_root = make_token(node, {}).at("id").to_number<std::uint64_t>();
  holder.call("DELETE", cat("/v1/tokens/", token_of_root), 404);
  std::string wrong = secret;
  wrong.back() = wrong.back() == 'A' ? 'B' : 'A';
  for (const std::string& bad : {wrong, std::string("tangram_99_x"), std::string("nonsense")}) {
    EXPECT_EQ(text(TokenClient{node, bad}.call("GET", "/v1/jobs", 401), "type"),
              "urn:tangram:unauthorized");
  }
  EXPECT_TRUE(holder.call("DELETE", cat("/v1/tokens/", id), 200).at("revoked").as_bool());
  holder.call("GET", "/v1/jobs", 401);
  node.kill();
  node.start();
  holder.call("GET", "/v1/jobs", 401);
  EXPECT_EQ(text(node.call("GET", "/v1/tokens"), "secret"), "");
}

// A token created with another token expires no later than that one.
TEST(Tokens, DoNotOutliveTheirParents) {
  Node node;
  node.start();
  const json::value parent = make_token(node, {{"ttl", "1h"}});
  const TokenClient holder{node, text(parent, "secret")};
  const json::value longer = holder.call("POST", "/v1/tokens", 201, json::object{{"ttl", "30d"}});
  EXPECT_EQ(text(longer, "expires"), text(parent, "expires"));
  const json::value shorter = holder.call("POST", "/v1/tokens", 201, json::object{{"ttl", "1m"}});
  EXPECT_LT(text(shorter, "expires"), text(parent, "expires"));
  const TokenClient child{node, text(longer, "secret")};
  const json::value grandchild = child.call("POST", "/v1/tokens", 201, json::object{{"ttl", "2h"}});
  EXPECT_EQ(text(grandchild, "expires"), text(parent, "expires"));
  EXPECT_GT(text(make_token(node, {{"ttl", "2h"}}), "expires"), text(parent, "expires"));
}

// A leaked token may have been used to create others, and those to create more.
TEST(Tokens, AreRevokedWithTheirParents) {
  Node node;
  node.start();
  const auto child_of = [&](const json::value& parent) {
    return TokenClient{node, text(parent, "secret")}.call("POST", "/v1/tokens", 201,
                                                          json::object{});
  };
  const json::value leaked = make_token(node, {});
  const json::value other = make_token(node, {});
  const json::value child = child_of(leaked);
  const json::value grandchild = child_of(child);
  const json::value kept = child_of(other);
  EXPECT_TRUE(leaked.at("parent").is_null());
  EXPECT_EQ(grandchild.at("parent"), child.at("id"));
  const auto expect = [&](const json::value& token, int status) {
    TokenClient{node, text(token, "secret")}.call("GET", "/v1/jobs", status);
  };
  node.kill();
  node.start();
  expect(grandchild, 200);
  node.call("DELETE", cat("/v1/tokens/", leaked.at("id").to_number<std::uint64_t>()));
  for (int round = 0; round < 2; ++round) {
    for (const json::value* each : {&leaked, &child, &grandchild}) expect(*each, 401);
    for (const json::value* each : {&other, &kept}) expect(*each, 200);
    node.kill();
    node.start();
  }
}

// As after a user was deleted and the uid given to another user.
TEST(Tokens, AreInvalidAfterTheirUidWasReassigned) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  Node node;
  node.start();
  const TokenClient holder{node, text(make_token(node, {{"uid", nobody()}}), "secret")};
  holder.call("GET", "/v1/jobs", 200);
  node.stop();
  SQLite::Database(cat(node.state_dir(), "/tangram.db"), SQLite::OPEN_READWRITE)
      .exec("UPDATE tokens SET user = 'earlier-user'");
  node.start();
  holder.call("GET", "/v1/jobs", 401);
}

// Revoked tokens count until they are deleted, a day later.
TEST(Tokens, AreLimitedIncludingRevokedOnes) {
  Node node;
  node.start();
  auto client = http::Client::open(node.socket());
  ASSERT_TRUE(client);
  for (int i = 0; i < 1'000; ++i) {
    const auto made = client->exchange("POST", "/v1/tokens", json::object{});
    ASSERT_TRUE(made && made->status == 201) << i;
    const auto id = made->body.at("id").to_number<std::uint64_t>();
    const auto gone = client->exchange("DELETE", cat("/v1/tokens/", id), std::nullopt);
    ASSERT_TRUE(gone && gone->status == 200) << i;
    EXPECT_LT(text(gone->body, "expires"), text(made->body, "expires"));
  }
  EXPECT_NE(text(make_token(node, {}, 409), "detail").find("token limit of "), std::string::npos);
}

TEST(Tokens, RevocationEndsLogStreams) {
  Node node;
  node.start();
  const auto job = node.submit("1g.5gb", "echo begun; sleep 1000");
  node.await(job, "running");
  const json::value made = make_token(node, {});
  auto follower = http::Client::open(node.socket(), {.token = text(made, "secret")});
  ASSERT_TRUE(follower);
  bool begun = false;
  // The connection is closed, which is an error because the job has not ended.
  const auto followed =
      follower->stream(cat("/v1/jobs/", job, "/logs?follow=true"), [&](const http::LogChunk&) {
        if (!std::exchange(begun, true)) {
          const auto id = made.at("id").to_number<std::uint64_t>();
          node.call("DELETE", cat("/v1/tokens/", id));
        }
        return true;
      });
  EXPECT_TRUE(begun);
  EXPECT_FALSE(followed);
  TokenClient{node, text(made, "secret")}.call("GET", "/v1/jobs", 401);
}

// Waiting requests are answered within the time in which streams are cut.
TEST(Tokens, RevocationEndsWaits) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto job = node.submit("7g.40gb", "exec sleep 1000");
  node.await(job, "running");
  const json::value made = make_token(node, {});
  const TokenClient holder{node, text(made, "secret")};
  std::jthread waits([&] {
    const json::value answer = holder.call("GET", cat("/v1/jobs/", job, "/wait"), 401);
    EXPECT_EQ(text(answer, "type"), "urn:tangram:unauthorized");
  });
  std::jthread leases([&] {
    holder.call("POST", "/v1/leases", 401, json::object{{"profile", "7g.40gb"}, {"wait", "1h"}});
  });
  const auto count = [&] { return node.call("GET", "/v1/leases").as_array().size(); };
  eventually("the lease waits", [&] { return count() == 1; });
  node.call("DELETE", cat("/v1/tokens/", made.at("id").to_number<std::uint64_t>()));
  waits.join();
  leases.join();
  eventually("the lease has ended", [&] { return count() == 0; });
  EXPECT_EQ(node.state(job), "running");
}

// The store, the log and the audit log contain no secret.
TEST(Tokens, AreNotStoredInPlainText) {
  Node node({.config = "[log]\nlevel = \"debug\"\n"});
  node.start();
  const std::string secret = text(make_token(node, {}), "secret");
  const TokenClient holder{node, secret};
  holder.call("GET", "/v1/jobs", 200);
  holder.call("DELETE", "/v1/tokens/77", 404);
  node.stop();
  // The part after the prefix and the ID; it may contain underscores.
  const std::string part = secret.substr(secret.find('_', secret.find('_') + 1) + 1);
  ASSERT_GT(part.size(), 30U);
  std::size_t files = 0;
  const std::string root = std::filesystem::path(node.state_dir()).parent_path().string();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(bytes.find(part), std::string::npos) << entry.path();
  }
  EXPECT_GT(files, 2U);
}

TEST(Submissions, CanBeRestrictedToAdmins) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  Node node({.config = "[access]\nsubmit = \"admins\"\n"});
  node.start();
  const TokenClient holder{node, text(make_token(node, {{"uid", nobody()}}), "secret")};
  const json::value refused =
      holder.call("POST", "/v1/jobs", 403, node.job_request("1g.5gb", "true"));
  EXPECT_NE(text(refused, "detail").find("access.submit"), std::string::npos) << refused;
  holder.call("POST", "/v1/leases", 403, json::object{{"profile", "1g.5gb"}});
  const json::value taken = node.call(
      "POST", "/v1/leases", 201,
      json::object{{"profile", "1g.5gb"}, {"ttl", "1h"}, {"key", "k"}, {"uid", nobody()}});
  EXPECT_EQ(holder.call("GET", "/v1/leases?key=k", 200).at(0).at("uuid"), taken.at("uuid"));
  EXPECT_EQ(node.call("GET", "/v1/jobs?all=true").as_array().size(), 1U);
  node.submit("1g.5gb", "true");
}

TEST(AuditLog, NamesTheResultsOfRequests) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  Node node;
  node.start();
  const auto job = node.submit("1g.5gb", "echo hidden-text; sleep 1000");
  const json::value lease = node.call(
      "POST", "/v1/leases", 201,
      json::object{{"profile", "1g.5gb"}, {"key", "slurm/7"}, {"uid", nobody()}, {"ttl", "1h"}});
  const json::value token = make_token(node, {{"uid", nobody()}, {"scope", "read"}});
  node.call("PATCH", "/v1/tuning", 200, json::object{{"threshold", "0.5"}});
  node.call("DELETE", cat("/v1/leases?key=slurm/7&uid=", nobody()));
  std::vector<std::string> results;
  std::ifstream in(node.state_dir() + "/audit.log");
  for (std::string line; std::getline(in, line);) {
    EXPECT_EQ(line.find("hidden-text"), std::string::npos) << line;
    EXPECT_EQ(line.find(text(token, "secret")), std::string::npos) << line;
    results.push_back(text(json::parse(line), "what"));
  }
  const auto id = [](const json::value& of) { return of.at("id").to_number<std::uint64_t>(); };
  const std::string leased =
      cat("lease=", id(lease), " uid=", nobody(), " profile=1g.5gb key=slurm/7");
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(results[0], cat("job=", job));
  EXPECT_EQ(results[1], leased);
  EXPECT_EQ(results[2], cat("token=", id(token), " uid=", nobody(),
                            " scope=read expires=", text(token, "expires")));
  EXPECT_EQ(results[3], "threshold=0.5");
  EXPECT_EQ(results[4], leased);
}

// A request with an idempotency key.
struct Submitted {
  int status = 0;
  std::uint64_t id = 0;
  std::string type;
};
Submitted submit_once(Node& node, const std::string& key, const json::object& request) {
  auto client = http::Client::open(node.socket());
  if (!client) return {};
  const auto reply =
      client->exchange("POST", "/v1/jobs", request, http::Client::kDefaultTimeout, key);
  if (!reply) return {};
  Submitted result{.status = reply->status, .id = 0, .type = text(reply->body, "type")};
  if (const auto* id = reply->body.as_object().if_contains("id")) {
    result.id = id->to_number<std::uint64_t>();
  }
  return result;
}

TEST(Submissions, WithTheSameKeyMakeOneJob) {
  Node node;
  node.start();
  const json::object request = node.job_request("1g.5gb", "true");
  const Submitted first = submit_once(node, "a", request);
  EXPECT_EQ(first.status, 201);
  const Submitted repeated = submit_once(node, "a", request);
  EXPECT_EQ(repeated.status, 200);
  EXPECT_EQ(repeated.id, first.id);
  const Submitted other = submit_once(node, "a", node.job_request("1g.5gb", "false"));
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.type, "urn:tangram:key-reused");
  EXPECT_NE(submit_once(node, "b", request).id, first.id);
  node.kill();
  node.start();
  EXPECT_EQ(submit_once(node, "a", request).id, first.id);
  EXPECT_EQ(node.call("GET", "/v1/jobs?all=true").as_array().size(), 2U);
}

TEST(Submissions, WithTheSameKeyAtTheSameTimeMakeOneJob) {
  Node node;
  node.start();
  const json::object request = node.job_request("1g.5gb", "true");
  for (int round = 0; round < 5; ++round) {
    std::vector<Submitted> results(16);
    std::vector<std::thread> callers;
    for (Submitted& result : results) {
      callers.emplace_back([&] { result = submit_once(node, cat("round-", round), request); });
    }
    for (std::thread& each : callers) each.join();
    int created = 0;
    for (const Submitted& result : results) {
      EXPECT_EQ(result.id, results.front().id);
      created += result.status == 201 ? 1 : 0;
    }
    EXPECT_EQ(created, 1);
  }
  EXPECT_EQ(node.call("GET", "/v1/jobs?all=true").as_array().size(), 5U);
}

}  // namespace
}  // namespace tangram::tests
