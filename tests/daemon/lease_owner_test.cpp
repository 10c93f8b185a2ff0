// Leases taken for another user, as a prolog does: who finds them, who may change them, and keys of
// different users, which are independent of each other. Only the taker changes a lease; its owner
// may read it.
#include <map>
#include <optional>
#include <pwd.h>
#include <unistd.h>

#include <boost/json/array.hpp>
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

std::uint64_t id_of(const json::value& lease) {
  const json::value* id = lease.is_object() ? lease.get_object().if_contains("id") : nullptr;
  return id != nullptr && id->is_number() ? id->to_number<std::uint64_t>() : 0;
}

std::uint32_t uid_of(const char* name) {
  const passwd* user = getpwnam(name);
  return user == nullptr ? 65'534 : user->pw_uid;
}

class LeaseOwners : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
    node_.start();
    for (const std::uint32_t uid : {owner_, other_}) {
      tokens_[uid] =
          text(node_.call("POST", "/v1/tokens", 201, json::object{{"uid", uid}}), "secret");
    }
  }

  // A request with that user's token.
  json::value as(std::uint32_t uid, const std::string& method, const std::string& target,
                 int status, const std::optional<json::value>& body = std::nullopt) {
    auto client = http::Client::open(node_.socket(), {.token = tokens_.at(uid)});
    EXPECT_TRUE(client);
    if (!client) return nullptr;
    const auto reply = client->exchange(method, target, body);
    EXPECT_TRUE(reply) << reply.error().message;
    if (!reply) return nullptr;
    EXPECT_EQ(reply->status, status) << method << " " << target << ": " << reply->body;
    return reply->body;
  }

  [[nodiscard]] static json::object lease_request(std::optional<std::uint32_t> uid = std::nullopt) {
    json::object request{{"profile", "1g.5gb"}, {"key", "slurm/4712"}, {"ttl", "1h"}};
    if (uid) request["uid"] = *uid;
    return request;
  }

  json::value prolog(int status = 201) {
    return node_.call("POST", "/v1/leases", status, lease_request(owner_));
  }
  json::value epilog(int status) {
    return node_.call("DELETE", cat("/v1/leases?key=slurm/4712&uid=", owner_), status);
  }
  std::string state(std::uint64_t id) {
    return text(node_.call("GET", cat("/v1/leases/", id)), "state");
  }

  std::uint32_t owner_ = uid_of("nobody");
  std::uint32_t other_ = uid_of("daemon");
  std::map<std::uint32_t, std::string> tokens_;
  Node node_;
};

TEST_F(LeaseOwners, MayOnlyRead) {
  const json::value lease = prolog();
  const std::string it = cat("/v1/leases/", id_of(lease));
  EXPECT_EQ(text(lease, "user"), "nobody");
  EXPECT_EQ(text(lease, "taker"), "root");
  EXPECT_EQ(lease.at("taker_uid"), 0);
  const json::value seen = as(owner_, "GET", "/v1/leases?key=slurm/4712", 200);
  ASSERT_EQ(seen.as_array().size(), 1U);
  EXPECT_EQ(text(seen.at(0).at("environment"), "CUDA_VISIBLE_DEVICES"), text(lease, "uuid"));
  const json::value refused = as(owner_, "DELETE", it, 403);
  EXPECT_NE(text(refused, "detail").find("taken by root for nobody"), std::string::npos) << refused;
  as(owner_, "POST", it + "/renew", 403, json::object{{"ttl", "1s"}});
  as(owner_, "POST", cat("/v1/jobs/", id_of(lease), "/cancel"), 403);
  as(owner_, "DELETE", "/v1/leases?key=slurm/4712", 204);  // the owner took none
  as(owner_, "DELETE", "/v1/leases?key=slurm/4712&uid=0", 403);
  // Other users see an outline.
  EXPECT_TRUE(as(other_, "GET", it, 200).at("environment").as_object().empty());
  EXPECT_EQ(state(id_of(lease)), "granted");
  node_.call("POST", it + "/renew", 200, json::object{{"ttl", "2h"}});
  EXPECT_EQ(id_of(epilog(200)), id_of(lease));
}

// Another user, and the owner, have leases with the same key already.
TEST_F(LeaseOwners, HaveIndependentKeys) {
  const std::uint64_t others = id_of(as(other_, "POST", "/v1/leases", 201, lease_request()));
  const std::uint64_t own = id_of(as(owner_, "POST", "/v1/leases", 201, lease_request()));
  const std::uint64_t taken = id_of(prolog());  // 201: a new one
  EXPECT_EQ(id_of(prolog(200)), taken);
  const std::string named = cat("/v1/leases?key=slurm/4712&uid=", owner_);
  const json::value seen = node_.call("GET", named);
  ASSERT_EQ(seen.as_array().size(), 2U);
  EXPECT_EQ(id_of(seen.at(0)), taken);
  EXPECT_EQ(id_of(as(owner_, "GET", "/v1/leases?key=slurm/4712", 200).at(0)), own);
  node_.call("GET", "/v1/leases?key=slurm/4712", 404);  // root has none of its own
  EXPECT_EQ(id_of(epilog(200)), taken);
  epilog(204);
  epilog(204);
  EXPECT_EQ(state(others), "granted");
  EXPECT_EQ(state(own), "granted");
}

TEST_F(LeaseOwners, SurviveARestart) {
  const std::uint64_t taken = id_of(prolog());
  node_.kill();
  node_.start();
  EXPECT_EQ(id_of(prolog(200)), taken);
  as(owner_, "DELETE", cat("/v1/leases/", taken), 403);
  EXPECT_EQ(id_of(epilog(200)), taken);
}

}  // namespace
}  // namespace tangram::tests
