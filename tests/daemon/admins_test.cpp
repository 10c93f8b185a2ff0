// The members of the group access.admins: what they may, and that by no door do they become
// somebody else.
#include <optional>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client.hpp"
#include "node.hpp"
#include "others.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

TEST(Admins, OfTheGroupStayWhoTheyAre) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can act as others";
  constexpr uid_t kMember = 2;  // bin, of the group bin
  Node node({.config = "[access]\nadmins = \"bin\"\n"});
  let_others_in(node);
  node.start();
  const auto as_member = [&](const std::string& method, const std::string& target, int status,
                             const std::optional<json::value>& body = std::nullopt) {
    const auto [answered, answer] = ask_as(kMember, node, method, target, body);
    EXPECT_EQ(answered, status) << method << " " << target << ": " << answer;
    return answer;
  };
  as_member("POST", "/v1/gpus/0/cordon", 202);
  as_member("POST", "/v1/gpus/0/uncordon", 202);
  for (const std::uint32_t uid : {0U, 1U, kNobody}) {
    const json::value refused =
        as_member("POST", "/v1/tokens", 403, json::object{{"uid", uid}, {"scope", "read"}});
    EXPECT_THAT(json::serialize(refused), HasSubstr("only root may create tokens for others"));
  }
  const json::value made = as_member("POST", "/v1/tokens", 201, json::object{{"scope", "admin"}});
  const auto with_token = [&](const std::string& method, const std::string& target, int status,
                              const std::optional<json::value>& body = std::nullopt) {
    const std::string secret(made.at("secret").as_string());
    const auto reply =
        http::Client::open(node.socket(), {.token = secret})->exchange(method, target, body);
    EXPECT_TRUE(reply && reply->status == status) << method << " " << target;
    return reply ? reply->body : json::value();
  };
  with_token("POST", "/v1/gpus/0/cordon", 202);
  with_token("POST", "/v1/gpus/0/uncordon", 202);
  with_token("POST", "/v1/tokens", 403, json::object{{"uid", 0}});
  json::object who = node.request("1g.5gb", "id -u");
  const auto job = with_token("POST", "/v1/jobs", 201, who).at("id").to_number<std::uint64_t>();
  node.await(job, "over");
  EXPECT_EQ(node.output(job), cat(kMember, "\n"));
  who["uid"] = 0;
  with_token("POST", "/v1/jobs", 400, who);
  // A lease is for another, and nothing of it runs as him.
  const json::object lease{{"profile", "1g.5gb"}, {"uid", kNobody}, {"ttl", "1h"}};
  with_token("POST", "/v1/leases", 201, lease);
  EXPECT_TRUE(node.run_processes().empty());
}

}  // namespace
}  // namespace tangram::tests
