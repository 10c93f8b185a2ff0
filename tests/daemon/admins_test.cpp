// Members of the group access.admins have admin rights, but cannot act as other users on any route.
#include <optional>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

TEST(Admins, OfTheGroupCannotActAsOtherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  constexpr uid_t kMember = 2;  // bin, of the group bin
  Node node({.config = "[access]\nadmins = \"bin\"\n"});
  allow_other_users(node);
  node.start();
  const auto as_member = [&](const std::string& method, const std::string& target, int status,
                             const std::optional<json::value>& body = std::nullopt) {
    const auto [answered, answer] = call_as(kMember, node, method, target, body);
    EXPECT_EQ(answered, status) << method << " " << target << ": " << answer;
    return answer;
  };
  as_member("POST", "/v1/gpus/0/cordon", 202);
  as_member("POST", "/v1/gpus/0/uncordon", 202);
  for (const std::uint32_t uid : {0U, 1U, kNobody}) {
    const json::value refused =
        as_member("POST", "/v1/tokens", 403, json::object{{"uid", uid}, {"scope", "read"}});
    EXPECT_THAT(json::serialize(refused), HasSubstr("only root may create tokens for other users"));
  }
  const json::value created =
      as_member("POST", "/v1/tokens", 201, json::object{{"scope", "admin"}});
  const auto with_token = [&](const std::string& method, const std::string& target, int status,
                              const std::optional<json::value>& body = std::nullopt) {
    const std::string secret(created.at("secret").as_string());
    const auto reply =
        http::Client::open(node.socket(), {.token = secret})->exchange(method, target, body);
    EXPECT_TRUE(reply && reply->status == status) << method << " " << target;
    return reply ? reply->body : json::value();
  };
  with_token("POST", "/v1/gpus/0/cordon", 202);
  with_token("POST", "/v1/gpus/0/uncordon", 202);
  with_token("POST", "/v1/tokens", 403, json::object{{"uid", 0}});
  json::object request = node.job_request("1g.5gb", "id -u");
  const auto job = with_token("POST", "/v1/jobs", 201, request).at("id").to_number<std::uint64_t>();
  node.await(job, "over");
  EXPECT_EQ(node.output(job), cat(kMember, "\n"));
  request["uid"] = 0;
  with_token("POST", "/v1/jobs", 400, request);
  // A lease for another user is allowed: it starts no process as that user.
  const json::object lease{{"profile", "1g.5gb"}, {"uid", kNobody}, {"ttl", "1h"}};
  with_token("POST", "/v1/leases", 201, lease);
  EXPECT_TRUE(node.run_processes().empty());
}

}  // namespace
}  // namespace tangram::tests
