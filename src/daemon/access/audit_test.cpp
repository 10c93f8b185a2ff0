// The audit log: its lines, and that refusals cannot flood it.
#include "daemon/access/audit.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "daemon/access/user_cache.hpp"
#include "tests/support/base/await.hpp"
#include "tests/support/os/folder.hpp"

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

constexpr std::uint32_t kUnknownUser = 4'000'000'001;

http::Caller from(std::string address, std::optional<std::uint64_t> token = std::nullopt) {
  http::Caller caller;
  caller.address = std::move(address);
  caller.token = token;
  return caller;
}

TEST(Audit, CountsUnauthenticatedRequests) {
  const os::testing::Folder folder;
  const std::string file = folder.at("audit.log");
  {
    auto audit = Audit::open(file);
    ASSERT_TRUE(audit);
    ::tangram::testing::await([&] { return user_identity_known(0); });
    http::ApiHandlers handlers;
    (*audit)->register_handlers(handlers);
    for (int i = 0; i < 1'000; ++i) {
      handlers.on_answered(from(cat("192.0.2.7:", 1024 + i)), "POST", "/" + std::string(8'000, 'x'),
                           401, "");
    }
    handlers.on_answered(from("192.0.2.7:9", 4), "DELETE", "/v1/tokens/5", 404, "");
    handlers.on_answered(from(""), "POST", "/v1/jobs", 201, "job=7");
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

TEST(Audit, DoesNotCreateItsFolder) {
  const os::testing::Folder folder;
  const auto audit = Audit::open(folder.at("none/audit.log"));
  ASSERT_FALSE(audit);
  EXPECT_THAT(audit.error().message,
              ::testing::AllOf(::testing::HasSubstr(folder.at("none")),
                               ::testing::HasSubstr("is not an existing directory"),
                               ::testing::HasSubstr("log.audit")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("none")));
}

// Refusals of one user beyond the limit are counted; what succeeded is always logged.
TEST(Audit, CountsFrequentRefusalsOfOneUser) {
  const os::testing::Folder folder;
  const std::string file = folder.at("audit.log");
  {
    auto audit = Audit::open(file);
    ASSERT_TRUE(audit);
    ::tangram::testing::await(
        [&] { return user_identity_known(0) && user_identity_known(kUnknownUser); });
    http::ApiHandlers handlers;
    (*audit)->register_handlers(handlers);
    for (int i = 0; i < 1'000; ++i) {
      handlers.on_answered(from("", i % 7), "POST", cat("/v1/refused/", i), 403, "");
      handlers.on_answered(from(""), "POST", cat("/v1/done/", i), 201, "");
    }
    http::Caller unknown;
    unknown.uid = kUnknownUser;
    for (int i = 0; i < 100; ++i) {
      handlers.on_answered(unknown, "POST", "/v1/refused", 404, "");
    }
  }
  std::size_t refused = 0;
  std::size_t done = 0;
  std::size_t unknown_refused = 0;
  std::vector<json::object> counted;
  for (const json::object& line : lines_of(file)) {
    if (line.contains("refused")) {
      counted.push_back(line);
    } else if (line.at("uid") == kUnknownUser) {
      ++unknown_refused;
    } else {
      ++(line.at("status") == 403 ? refused : done);
    }
  }
  EXPECT_EQ(refused, 30U);
  EXPECT_EQ(done, 1'000U);
  EXPECT_EQ(unknown_refused, 30U);
  ASSERT_EQ(counted.size(), 2U);
  EXPECT_EQ(counted[0].at("user"), "others");
  EXPECT_EQ(counted[0].at("refused"), 70);
  EXPECT_EQ(counted[1].at("user"), "root");
  EXPECT_EQ(counted[1].at("uid"), 0);
  EXPECT_EQ(counted[1].at("refused"), 970);
}

TEST(Audit, LinesAreShortAndPrintable) {
  const os::testing::Folder folder;
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
std::vector<std::string> texts(const std::vector<RefusalLog::Summary>& summaries) {
  std::vector<std::string> all;
  for (const auto& each : summaries) all.push_back(cat(each.source.network, ' ', each.count));
  return all;
}

TEST(RefusalLog, CountsAreDueOnceAMinute) {
  RefusalLog refusals;
  const RefusalLog::Time now{};
  EXPECT_THAT(texts(refusals.take_due(now)), ElementsAre());
  refusals.add({.network = "a"}, now);
  EXPECT_THAT(texts(refusals.take_due(now)), ElementsAre("a 1"));
  refusals.add({.network = "a"}, now + 1s);
  refusals.add({.network = "a"}, now + 2s);
  refusals.add({.network = "b"}, now + 2s);
  EXPECT_THAT(texts(refusals.take_due(now + 59s)), ElementsAre("b 1"));
  EXPECT_THAT(texts(refusals.take_due(now + 60s)), ElementsAre("a 2"));
  EXPECT_THAT(texts(refusals.take_due(now + 200s)), ElementsAre());
  // Both had no refusal for a minute and were dropped.
  refusals.add({.network = "a"}, now + 201s);
  EXPECT_THAT(texts(refusals.take_due(now + 201s)), ElementsAre("a 1"));
  refusals.add({.network = "b"}, now + 202s);
  refusals.add({.network = "a"}, now + 203s);
  EXPECT_THAT(texts(refusals.take_all()), UnorderedElementsAre("a 1", "b 1"));
  EXPECT_THAT(texts(refusals.take_all()), ElementsAre());
}

TEST(RefusalLog, LogsAFewInFullPerMinute) {
  RefusalLog refusals(2);
  const RefusalLog::Time now{};
  const RefusalLog::Source ada{.user = 7};
  EXPECT_TRUE(refusals.add(ada, now));
  EXPECT_TRUE(refusals.add(ada, now + 1s));
  EXPECT_FALSE(refusals.add(ada, now + 2s));
  EXPECT_FALSE(refusals.add(ada, now + 2s));
  EXPECT_TRUE(refusals.add({.user = 8}, now + 2s));
  EXPECT_THAT(refusals.take_due(now + 59s), ElementsAre());
  const auto due = refusals.take_due(now + 60s);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].source, ada);
  EXPECT_EQ(due[0].count, 2U);
  EXPECT_TRUE(refusals.add(ada, now + 61s));
  EXPECT_TRUE(refusals.add(ada, now + 61s));
  EXPECT_FALSE(refusals.add(ada, now + 62s));
  EXPECT_THAT(texts(refusals.take_all()), ElementsAre(" 1"));
}

TEST(RefusalLog, BoundsTheNumberOfSources) {
  RefusalLog refusals;
  const RefusalLog::Time now{};
  for (int i = 0; i < 10'000; ++i) refusals.add({.network = cat("network ", i)}, now);
  const auto summaries = refusals.take_due(now);
  EXPECT_EQ(summaries.size(), 101U);
  EXPECT_THAT(texts(summaries), ::testing::Contains("others 9900"));
}

}  // namespace
}  // namespace tangram::daemon
