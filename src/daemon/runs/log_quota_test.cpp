// Which logs are removed when a user has too many.
#include "daemon/runs/log_quota.hpp"

#include <filesystem>
#include <fstream>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;
constexpr std::uint32_t kAdmin = 1002;

class LogQuotaTest : public testing::Test {
 protected:
  LogQuota::EndedRun run(std::uint32_t id, std::uint32_t uid, std::size_t bytes) {
    const std::string name = cat("run-", id);
    std::filesystem::create_directory(folder_.at(name));
    std::ofstream(folder_.at(name + "/stdout.log.1")) << std::string(bytes / 2, 'a');
    std::ofstream(folder_.at(name + "/stdout.log")) << std::string(bytes - bytes / 2, 'b');
    std::ofstream(folder_.at(name + "/spec.json")) << "{}";
    return {.run = id, .uid = uid, .folder = folder_.at(name)};
  }
  [[nodiscard]] std::string log(std::uint32_t id) const {
    std::ifstream in(folder_.at(cat("run-", id, "/stdout.log")));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] bool is_trimmed(std::uint32_t id) const {
    return log(id).starts_with("[tangram: output was trimmed");
  }
  // Runs the loop until `is_true`.
  template <class Predicate>
  void await(Predicate is_true) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_true() && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(is_true());
  }

  os::testing::Folder folder_;
  boost::asio::io_context loop_;
  LogQuota quota_{loop_, 100'000, [](std::uint32_t uid) { return uid == kAdmin; }};
};

TEST_F(LogQuotaTest, TrimsTheOldestRunsOfTheUserOnly) {
  quota_.add({run(3, kAlice, 50'000), run(1, kAlice, 40'000), run(2, kBob, 90'000),
              run(4, kAdmin, 400'000), run(5, kAdmin, 400'000), run(6, kAlice, 1'000)});
  await([&] { return quota_.bytes_of(kAdmin) == 800'000; });
  EXPECT_EQ(quota_.bytes_of(kAlice), 90'000U);  // small logs do not count
  quota_.add({run(7, kAlice, 30'000)});
  await([&] { return is_trimmed(1); });
  EXPECT_EQ(quota_.bytes_of(kAlice), 80'000U);
  EXPECT_THAT(log(1), HasSubstr("100000 bytes"));
  EXPECT_FALSE(std::filesystem::exists(folder_.at("run-1/stdout.log.1")));
  EXPECT_FALSE(std::filesystem::exists(folder_.at("run-1/stderr.log")));
  EXPECT_TRUE(std::filesystem::exists(folder_.at("run-1/spec.json")));
  for (const std::uint32_t kept : {2U, 3U, 4U, 5U, 6U, 7U}) EXPECT_FALSE(is_trimmed(kept)) << kept;
}

TEST_F(LogQuotaTest, KeepsTheNewestRunHoweverLarge) {
  quota_.add({run(1, kAlice, 10'000), run(2, kAlice, 500'000)});
  await([&] { return is_trimmed(1); });
  EXPECT_EQ(quota_.bytes_of(kAlice), 500'000U);
  EXPECT_FALSE(is_trimmed(2));
}

TEST_F(LogQuotaTest, FollowsAChangedLimitAndRemovedRuns) {
  quota_.add({run(1, kAlice, 30'000), run(2, kAlice, 30'000), run(3, kAlice, 30'000)});
  await([&] { return quota_.bytes_of(kAlice) == 90'000; });
  quota_.add({run(2, kAlice, 30'000)});  // counted once
  quota_.forget({1});
  await([&] { return quota_.bytes_of(kAlice) == 60'000; });
  quota_.set_limit(0);
  quota_.add({run(4, kAlice, 900'000)});
  await([&] { return quota_.bytes_of(kAlice) == 960'000; });
  EXPECT_FALSE(is_trimmed(2));
  quota_.set_limit(900'000);
  await([&] { return is_trimmed(2) && is_trimmed(3); });
  EXPECT_EQ(quota_.bytes_of(kAlice), 900'000U);
  EXPECT_FALSE(is_trimmed(4));
}

TEST_F(LogQuotaTest, FoldersThatAreGoneCountNothing) {
  quota_.add({{.run = 1, .uid = kAlice, .folder = folder_.at("none")}, run(2, kAlice, 5'000)});
  await([&] { return quota_.bytes_of(kAlice) == 5'000; });
  trim_logs(folder_.at("none"), "x");
  EXPECT_EQ(measure_logs(folder_.at("none")), 0U);
}

}  // namespace
}  // namespace tangram::daemon
