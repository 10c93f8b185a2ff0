// --output and --error: output in files of the user, through the real programs.
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

TEST(OutputFiles, HaveTheOutputOfTheJob) {
  Node node;
  node.start();
  const std::string pattern = node.at("out-%j.txt");
  const std::string out = node.tangram({"submit", "-p", "1g.5gb", "--output", pattern, "--", "sh",
                                        "-c", "echo hello; echo trouble >&2"});
  EXPECT_THAT(out, HasSubstr("job 1 submitted"));
  EXPECT_EQ(node.await(1, "over").at("exit_code"), 0);
  EXPECT_THAT(node.folder().read("out-1.txt"), HasSubstr("hello\n"));
  EXPECT_THAT(node.folder().read("out-1.txt"), HasSubstr("trouble\n"));
  EXPECT_EQ(node.output(1), "hello\n");
  EXPECT_EQ(node.job(1).at("request").at("output"), json::value(pattern));
  EXPECT_THAT(node.tangram({"show", "1"}), HasSubstr(pattern));
}

TEST(OutputFiles, ThatCannotBeWrittenAreTheReasonOfTheJob) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "echo ran", {{"error", node.at("none/err")}});
  const json::object job = node.await(id, "failed");
  EXPECT_THAT(std::string(job.at("reason").as_string()),
              HasSubstr("No such file or directory. Its directory must exist"));
  EXPECT_EQ(node.output(id), "");
  int code = 0;
  EXPECT_THAT(node.tangram({"submit", "-p", "1g.5gb", "--output", "%x", "--", "true"}, &code),
              HasSubstr("--output: use %j"));
  EXPECT_NE(code, 0);
}

TEST(OutputFiles, AreNotWrittenWithTheDaemonsRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as another user";
  Node node;
  node.start();
  allow_other_users(node);
  json::object request = node.job_request("1g.5gb", "echo ran");
  request["directory"] = "/";
  request["output"] = node.at("secret");  // a folder of root
  const auto answer = call_as(kNobody, node, "POST", "/v1/jobs", request);
  ASSERT_EQ(answer.first, 201) << answer.second;
  const auto id = answer.second.at("id").to_number<std::uint64_t>();
  const json::object job = node.await(id, "failed");
  EXPECT_THAT(std::string(job.at("reason").as_string()), HasSubstr("Permission denied"));
  EXPECT_FALSE(node.folder().has("secret"));
}

}  // namespace
}  // namespace tangram::tests
