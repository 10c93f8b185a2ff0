// The audit log: what stands in it, and that strangers cannot fill it.
#include "daemon/audit.hpp"

#include <fstream>
#include <thread>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "daemon/users.hpp"
#include "files/test_folder.hpp"

namespace tangram::daemon {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<json::object> lines_of(const std::string& file) {
  std::vector<json::object> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line).as_object());
  return lines;
}

http::Caller from(std::string address, std::optional<std::uint64_t> token = std::nullopt) {
  http::Caller caller;
  caller.address = std::move(address);
  caller.token = token;
  return caller;
}

TEST(Audit, CountsStrangersInsteadOfQuotingThem) {
  const files::testing::Folder folder;
  const std::string file = folder.at("audit.log");
  {
    auto audit = Audit::open(file);
    ASSERT_TRUE(audit);
    while (!is_user_settled(0)) std::this_thread::yield();
    http::Doors doors;
    (*audit)->fill(doors);
    for (int i = 0; i < 1'000; ++i) {
      doors.answered(from(cat("192.0.2.7:", 1024 + i)), "POST", "/" + std::string(8'000, 'x'), 401,
                     "");
    }
    doors.answered(from("192.0.2.7:9", 4), "DELETE", "/v1/tokens/5", 404, "");
    doors.answered(from(""), "POST", "/v1/jobs", 201, "job=7");
  }
  const auto lines = lines_of(file);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].at("refused"), 1);
  EXPECT_EQ(lines[0].at("address"), "192.0.2.7");
  EXPECT_EQ(lines[1].at("token"), 4);
  EXPECT_EQ(lines[1].at("status"), 404);
  EXPECT_FALSE(lines[1].contains("what"));
  EXPECT_EQ(lines[2].at("user"), "root");
  EXPECT_EQ(lines[2].at("what"), "job=7");
  EXPECT_EQ(lines[3].at("refused"), 999);
}

TEST(Audit, LinesAreShortAndPrintable) {
  const files::testing::Folder folder;
  auto audit = Audit::open(folder.at("audit.log"));
  ASSERT_TRUE(audit);
  const std::string target = "/a\xff\n" + std::string(8'000, 'x');
  (*audit)->write(from(""), std::string(5'000, 'M'), target, 404, std::string(8'000, 'w'));
  const auto lines = lines_of(folder.at("audit.log"));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("method").as_string(), std::string(16, 'M'));
  EXPECT_EQ(lines[0].at("what").as_string(), std::string(512, 'w'));
  EXPECT_EQ(lines[0].at("target").as_string(), "/a\\xff\\x0a" + std::string(252, 'x'));
}

// "192.0.2.7 3"
std::vector<std::string> texts(const std::vector<Refusals::Report>& reports) {
  std::vector<std::string> all;
  for (const auto& each : reports) all.push_back(cat(each.network, ' ', each.count));
  return all;
}

TEST(Refusals, AreReportedOnceAMinute) {
  Refusals refusals;
  const Refusals::Time now{};
  EXPECT_THAT(texts(refusals.take_due(now)), ElementsAre());
  refusals.count("a", now);
  EXPECT_THAT(texts(refusals.take_due(now)), ElementsAre("a 1"));
  refusals.count("a", now + 1s);
  refusals.count("a", now + 2s);
  refusals.count("b", now + 2s);
  EXPECT_THAT(texts(refusals.take_due(now + 59s)), ElementsAre("b 1"));
  EXPECT_THAT(texts(refusals.take_due(now + 60s)), ElementsAre("a 2"));
  EXPECT_THAT(texts(refusals.take_due(now + 200s)), ElementsAre());
  // Both were quiet for a minute and are forgotten.
  refusals.count("a", now + 201s);
  EXPECT_THAT(texts(refusals.take_due(now + 201s)), ElementsAre("a 1"));
  refusals.count("b", now + 202s);
  refusals.count("a", now + 203s);
  EXPECT_THAT(texts(refusals.take_all()), UnorderedElementsAre("a 1", "b 1"));
  EXPECT_THAT(texts(refusals.take_all()), ElementsAre());
}

TEST(Refusals, AreBoundedHoweverManyTheyComeFrom) {
  Refusals refusals;
  const Refusals::Time now{};
  for (int i = 0; i < 10'000; ++i) refusals.count(cat("network ", i), now);
  const auto reports = refusals.take_due(now);
  EXPECT_EQ(reports.size(), 101U);
  EXPECT_THAT(texts(reports), ::testing::Contains("others 9900"));
}

}  // namespace
}  // namespace tangram::daemon
