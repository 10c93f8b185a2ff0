// Lists of jobs, read page by page from a daemon that has more of them than it keeps in memory. The
// pages together contain every job once.
#include <algorithm>

#include <SQLiteCpp/Database.h>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

// Starts the daemon with `living` jobs, of which two run, and with finished jobs up to number
// `last`, which are written to the store.
void fill_history(Node& node, std::uint64_t living, std::uint64_t last) {
  node.start();
  for (std::uint64_t id = 1; id <= living; ++id) node.submit("7g.40gb", "sleep 1000");
  node.await(2, "running");
  node.stop();
  SQLite::Database store(node.state_dir() + "/tangram.db", SQLite::OPEN_READWRITE);
  store.exec(
      cat("WITH RECURSIVE finished(id) AS (VALUES (", living + 1,
          ") UNION ALL SELECT id + 1 FROM finished WHERE id < ", last,
          ") INSERT INTO jobs (id, uid, user, name, profile, state, over, reason, mig_uuid, "
          "restarts, submitted, ended) SELECT id, 0, 'ada', "
          "CASE WHEN id % 100 = 0 THEN 'rare' ELSE 'plain' END, '1g.5gb', "
          "CASE WHEN id % 10 = 0 THEN 'failed' ELSE 'completed' END, 1, '', '', 0, now, now "
          "FROM finished, (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000 AS now)"));
  node.start();
}

// The job numbers of all pages, in ascending order.
std::vector<std::uint64_t> ids(const Node& node, std::string target) {
  auto client = http::Client::open(node.socket());
  std::vector<std::uint64_t> all;
  while (!target.empty()) {
    const auto page = client->request("GET", target);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      break;
    }
    std::vector<std::uint64_t> these;
    for (const json::value& job : page->body.as_array()) {
      these.push_back(job.at("id").to_number<std::uint64_t>());
    }
    all.insert(all.begin(), these.begin(), these.end());
    target = page->next;
  }
  return all;
}

TEST(JobList, PagesHaveEveryJobOnce) {
  Node node;
  fill_history(node, 28, 1200);
  std::vector<std::uint64_t> every;
  for (std::uint64_t id = 1; id <= 1200; ++id) every.push_back(id);
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&limit=20"), every);
  EXPECT_EQ(ids(node, "/v1/jobs?all=1"), every);  // paged without a limit too
  const std::vector<std::uint64_t> living(every.begin(), every.begin() + 28);
  EXPECT_EQ(ids(node, "/v1/jobs?limit=5"), living);
  std::vector<std::uint64_t> rare;
  for (std::uint64_t id = 100; id <= 1200; id += 100) rare.push_back(id);
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&name=rare&limit=3"), rare);
  EXPECT_EQ(ids(node, "/v1/jobs?state=failed&name=rare&user=ada&limit=5"), rare);
  EXPECT_EQ(ids(node, "/v1/jobs?state=failed&limit=7").size(), 118U);  // 30, 40 … 1200
  // The CLI reads all pages.
  const std::string listed = node.tangram({"ps", "--all", "--quiet"});
  EXPECT_EQ(std::ranges::count(listed, '\n'), 1200);
  int code = 0;
  node.tangram({"show", "rare"}, &code);  // the name is ambiguous: its numbers are listed
  EXPECT_EQ(code, 2);
  EXPECT_EQ(json::parse(node.tangram({"ps", "--all", "--json"})).as_array().size(), 1200U);
}

// Labels match active jobs, finished ones in memory and finished ones in the store.
TEST(JobList, CanBeFilteredByLabel) {
  Node node;
  node.start();
  const auto submit = [&](const json::object& labels, const std::string& command) {
    return node.submit("1g.5gb", command, {{"labels", labels}});
  };
  const auto old = submit({{"project", "apollo"}, {"a.b/c-d", "x = \"y\""}}, "true");
  node.await(old, "completed");
  node.stop();
  node.start();
  const auto recent = submit({{"project", "gemini"}}, "true");
  node.await(recent, "completed");
  const auto living = submit({{"project", "apollo"}}, "sleep 1000");
  node.await(living, "running");
  node.submit("1g.5gb", "sleep 1000");
  using Ids = std::vector<std::uint64_t>;
  EXPECT_EQ(ids(node, "/v1/jobs?label=project"), Ids{living});
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&label=project&limit=1"), (Ids{old, recent, living}));
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&label=project%3Dapollo"), (Ids{old, living}));
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&label=a.b/c-d%3Dx+%3D+%22y%22"), Ids{old});
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&label=project%3D"), Ids{});
  EXPECT_EQ(ids(node, "/v1/jobs?all=1&label=a"), Ids{});
  EXPECT_EQ(node.tangram({"ps", "-q", "-a", "--label", "project=gemini"}), cat(recent, "\n"));
  const json::value listed = json::parse(node.tangram({"ps", "--json", "--label", "project"}));
  EXPECT_EQ(listed.at(0).at("request").at("labels").at("project"), "apollo");
}

}  // namespace
}  // namespace tangram::tests
