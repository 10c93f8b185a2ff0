// The API for admins and for questions about the node, through the real daemon: cordon, drain,
// tuning, holds, explanations, history, usage, the audit log. What the daemon reports is compared
// with what then takes place.
#include <algorithm>
#include <csignal>
#include <sys/stat.h>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kForever = "exec sleep 1000";

std::string text(const json::value& object, std::string_view key) {
  const json::value& value = object.at(key);
  return value.is_null() ? "" : std::string(value.as_string());
}

std::string sentences(const json::value& explanation) {
  std::string all;
  const json::array& lines = explanation.at("text").as_array();
  for (const json::value& line : lines) all += cat(std::string_view(line.as_string()), "\n");
  return all;
}

TEST(NodeApi, CordonHoldsJobsAndUncordonStartsThem) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const json::value cordoned = node.call("POST", "/v1/gpus/0/cordon", 202);
  EXPECT_TRUE(cordoned.at("cordoned").as_bool());
  const auto id = node.submit("1g.5gb", "true");
  EXPECT_EQ(node.state(id), "held");
  EXPECT_THAT(text(node.job(id), "reason"), HasSubstr("no GPU in service"));
  node.kill();
  node.start();
  EXPECT_EQ(node.state(id), "held");  // also after a crash
  EXPECT_FALSE(node.call("POST", "/v1/gpus/0/uncordon", 202).at("cordoned").as_bool());
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
  node.call("POST", "/v1/gpus/7/cordon", 404);
}

TEST(NodeApi, ACordonOutlivesARebootUnlessAnXidCausedIt) {
  Node node({.config = "[device]\nobserve_every = \"100ms\"\n"});
  node.start();
  node.await(node.submit("1g.5gb", kForever), "running");
  node.call("POST", "/v1/gpus/0/cordon", 202);
  node.tangram({"emulate", "fault", "xid", "1", "48"});
  const auto cordoned = [&](std::size_t gpu) {
    return node.call("GET", "/v1/gpus").as_array().at(gpu).at("cordoned").as_bool();
  };
  eventually("the Xid has cordoned the GPU", [&] { return cordoned(1); });
  node.kill();
  for (const pid_t shim : node.shims()) ::kill(shim, SIGKILL);
  for (const pid_t pid : node.run_processes()) ::kill(pid, SIGKILL);
  node.tangram({"emulate", "reboot"});
  node.start();
  eventually("the cordon of the Xid is lifted", [&] { return !cordoned(1); });
  EXPECT_TRUE(cordoned(0));
}

TEST(NodeApi, DrainEmptiesAGpu) {
  Node node({.emulate = "2xA100-40GB"});
  node.start();
  const auto first = node.submit("7g.40gb", kForever);
  node.await(first, "running");
  const json::value drained = node.call("POST", "/v1/gpus/0/drain", 202);
  EXPECT_TRUE(drained.at("draining").as_bool());
  EXPECT_EQ(node.job(first).at("state").as_string(), "running");  // pinned: the drain waits for it
  const auto second = node.submit("7g.40gb", "true");
  EXPECT_EQ(node.await(second, "over").at("gpu"), 1);
  node.call("POST", cat("/v1/jobs/", first, "/cancel"), 202);
  node.await(first, "over");
  eventually("the GPU is empty", [&] {
    const json::value gpus = node.call("GET", "/v1/gpus");
    const json::array& all = gpus.as_array().at(0).at("instances").as_array();
    return std::ranges::none_of(
        all, [](const json::value& each) { return each.at("state").as_string() == "held"; });
  });
}

TEST(NodeApi, TuningAppliesAtOnceAndOutlivesARestart) {
  Node node;
  node.start();
  EXPECT_EQ(text(node.call("GET", "/v1/tuning"), "threshold"), "0.4");
  const json::value tuned = node.call(
      "PATCH", "/v1/tuning", 200, json::object{{"threshold", "0.5"}, {"window", "22:00-06:00"}});
  EXPECT_EQ(text(tuned, "threshold"), "0.5");
  node.call("PATCH", "/v1/tuning", 422, json::object{{"placement", "papr"}});
  node.call("PATCH", "/v1/tuning", 400, json::object{{"treshold", "0.5"}});
  node.call("PATCH", "/v1/tuning", 400, json::object{});
  node.kill();
  node.start();
  EXPECT_EQ(text(node.call("GET", "/v1/tuning"), "threshold"), "0.5");
  EXPECT_EQ(text(node.call("GET", "/v1/tuning"), "window"), "22:00-06:00");
  // A changed configuration file overrides the keys that it sets, and no others.
  node.folder().write("tangram.toml", "[scheduler]\nthreshold = \"0.6\"\n");
  node.reload();
  eventually("the file has been read",
             [&] { return text(node.call("GET", "/v1/tuning"), "threshold") == "0.6"; });
  EXPECT_EQ(text(node.call("GET", "/v1/tuning"), "window"), "22:00-06:00");
}

// The store of an earlier version whose defaults were others: it kept the whole configuration that
// it had applied last, also keys that the file did not set.
TEST(NodeApi, TuningSurvivesAnUpgradeWithOtherDefaults) {
  Node node({.config = "[scheduler]\nplacement = \"best-fit\"\n"});
  node.start();
  node.tangram({"tune", "queue=fcfs", "threshold=0.5", "placement=first-fit"});
  node.stop();
  {
    auto store = store::Store::open(node.state_dir() + "/tangram.db", {});
    ASSERT_TRUE(store) << store.error().message;
    store::Changes changes;
    changes.scheduler.rest = (*store)->scheduler()->rest;
    changes.facts["tuning"] =
        R"({"threshold":"0.3","placement":"best-fit","migration":"both","queue":"largest-memory",)"
        R"("most_moves":4,"cooldown":"1m","gain":"0","window":null,"protect_head":true})";
    ASSERT_TRUE((*store)->commit(changes));
  }
  node.start();
  const json::value tuning = node.call("GET", "/v1/tuning");
  EXPECT_EQ(text(tuning, "queue"), "fcfs");
  EXPECT_EQ(text(tuning, "threshold"), "0.5");
  EXPECT_EQ(text(tuning, "placement"), "first-fit");
  const std::string status = node.tangram({"status"});
  EXPECT_THAT(status, HasSubstr("threshold=0.5 (default: 0.4)"));
  EXPECT_THAT(status, HasSubstr("placement=first-fit"));
  const json::value placement{
      {"key", "placement"}, {"value", "first-fit"}, {"expected", "best-fit"}, {"source", "file"}};
  const json::value differences = node.call("GET", "/v1/status").at("tuning_differences");
  EXPECT_NE(std::ranges::find(differences.as_array(), placement), differences.as_array().end())
      << differences;
}

TEST(NodeApi, StatusNamesNoTuningThatIsAsConfigured) {
  Node node({.config = "[scheduler]\nthreshold = \"0.3\"\n"});
  node.start();
  EXPECT_TRUE(node.call("GET", "/v1/status").at("tuning_differences").as_array().empty());
  EXPECT_THAT(node.tangram({"status"}), Not(HasSubstr("(default: ")));
}

TEST(NodeApi, AHeldJobWaitsForItsRelease) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "true", {{"hold", true}});
  EXPECT_EQ(node.state(id), "held");
  node.call("POST", cat("/v1/jobs/", id, "/hold"), 202);
  EXPECT_THAT(sentences(node.call("GET", cat("/v1/explain/", id))), HasSubstr("tangram release"));
  node.call("POST", cat("/v1/jobs/", id, "/release"), 202);
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
  node.call("POST", cat("/v1/jobs/", id, "/hold"), 409);
  node.call("POST", cat("/v1/jobs/", id, "/release"), 409);
  node.call("POST", "/v1/jobs/99/hold", 404);
}

// A full node, a waiting job, and the departure that its explanation names.
TEST(Explain, TheNamedDepartureStartsTheJob) {
  Node node({.emulate = "1xA100-40GB", .config = "[scheduler]\nqueue = \"fcfs\"\n"});
  node.start();
  const auto large = node.submit("4g.20gb", kForever);
  const auto small = node.submit("2g.10gb", kForever);
  node.await(large, "running");
  node.await(small, "running");
  const auto waiting = node.submit("4g.20gb", "true");
  const auto behind = node.submit("1g.5gb", "true");
  const json::value why = node.call("GET", cat("/v1/explain/", waiting));
  EXPECT_EQ(text(why, "state"), "queued");
  EXPECT_TRUE(why.at("ahead").as_array().empty());
  ASSERT_EQ(why.at("departures").as_array(), json::array{large});
  EXPECT_THAT(sentences(why), HasSubstr(cat("The end of job ", large, " would make room.")));
  const json::value second = node.call("GET", cat("/v1/explain/", behind));
  EXPECT_EQ(second.at("ahead").as_array(), json::array{waiting});
  EXPECT_THAT(sentences(second), HasSubstr("There is room for it now"));
  EXPECT_THAT(sentences(second),
              HasSubstr(cat("For the first of them see `tangram explain ", waiting, "`.")));
  const json::value third = node.call("GET", cat("/v1/explain/", node.submit("4g.20gb", "true")));
  EXPECT_THAT(sentences(third),
              HasSubstr(cat("The end of job ", large,
                            " would make room for it, if those ahead of it start elsewhere.")));
  node.call("POST", cat("/v1/jobs/", large, "/cancel"), 202);
  EXPECT_EQ(node.await(waiting, "over").at("exit_code"), 0);
  node.call("GET", "/v1/explain/99", 404);
}

// Names leases and foreign instances in the way, and jobs that are ending already.
TEST(Explain, NamesWhatIsInTheWay) {
  Node node({.emulate = "2xA100-40GB", .config = "[device]\nobserve_every = \"100ms\"\n"});
  node.start();
  node.tangram({"emulate", "fault", "foreign", "0", "3g.20gb@4"});
  const json::value lease =
      node.call("POST", "/v1/leases", 201, json::object{{"profile", "7g.40gb"}, {"wait", "30s"}});
  const auto id = lease.at("id").to_number<std::uint64_t>();
  const auto waiting = node.submit("7g.40gb", "true");
  const auto why = [&] { return node.call("GET", cat("/v1/explain/", waiting)); };
  eventually("the foreign instance is named", [&] {
    return sentences(why()).find("occupied by a foreign 3g.20gb@4") != std::string::npos;
  });
  EXPECT_EQ(why().at("leases"), json::array{id});
  EXPECT_THAT(sentences(why()), HasSubstr(cat("The end of lease ", id, " would make room.")));
  node.call("DELETE", cat("/v1/leases/", id));
  const auto stubborn =
      node.submit("7g.40gb", "trap '' TERM; while :; do sleep 0.1; done", {{"grace", "1h"}});
  EXPECT_EQ(node.await(waiting, "over").at("exit_code"), 0);
  node.await(stubborn, "running");
  const auto next = node.submit("7g.40gb", "true");
  node.call("POST", cat("/v1/jobs/", stubborn, "/cancel"), 202);
  node.await(stubborn, "stopping");
  const json::value soon = node.call("GET", cat("/v1/explain/", next));
  EXPECT_EQ(soon.at("to_come").at("jobs"), json::array{stubborn}) << soon;
  EXPECT_THAT(sentences(soon), HasSubstr(cat("once job ", stubborn, " has left")));
}

// There is no decision to explain for a job that was never placed.
TEST(Explain, OfAJobThatWasNeverPlaced) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  node.await(node.submit("7g.40gb", kForever), "running");
  const auto id = node.submit("7g.40gb", kForever);
  EXPECT_EQ(node.state(id), "queued");
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  node.await(id, "over");
  const std::string text = sentences(node.call("GET", cat("/v1/explain/", id)));
  EXPECT_THAT(text, HasSubstr("It was never placed"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cannot be explained")));
}

// Explaining a running job repeats the decision: the winner is the job's slot.
TEST(Explain, TheWinnerIsWhereTheJobRuns) {
  Node node({.emulate = "2xA100-40GB"});
  node.start();
  std::vector<std::uint64_t> jobs;
  for (const char* profile : {"3g.20gb", "2g.10gb", "1g.5gb", "4g.20gb", "1g.5gb"}) {
    jobs.push_back(node.submit(profile, kForever));
    node.await(jobs.back(), "running");
  }
  const auto late = node.submit("4g.20gb", kForever);  // waits until a job ends
  node.call("POST", cat("/v1/jobs/", jobs[3], "/cancel"), 202);
  node.await(late, "running");
  jobs[3] = late;
  const auto check = [&] {
    for (const std::uint64_t id : jobs) {
      const json::value why = node.call("GET", cat("/v1/explain/", id));
      ASSERT_FALSE(why.at("candidates").as_array().empty()) << sentences(why);
      const json::value winner = why.at("candidates").as_array().at(0);
      const json::object job = node.job(id);
      EXPECT_EQ(winner.at("gpu"), job.at("gpu")) << sentences(why);
      EXPECT_EQ(winner.at("start"), job.at("start")) << sentences(why);
    }
  };
  check();
  node.kill();
  node.start();
  check();  // from the journal of the earlier daemon
}

TEST(WhatIf, PredictsTheSubmission) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const json::value free = node.call("GET", "/v1/what-if?profile=4g.20gb");
  EXPECT_TRUE(free.at("starts_now").as_bool());
  const json::value best = free.at("candidates").as_array().at(0);
  const auto id = node.submit("4g.20gb", kForever);
  EXPECT_EQ(node.await(id, "running").at("start"), best.at("start"));
  const json::value full = node.call("GET", "/v1/what-if?gpu_memory=30GiB");
  EXPECT_FALSE(full.at("starts_now").as_bool()) << full;
  const json::value wrong = node.call("GET", "/v1/what-if?profile=4g.21gb", 422);
  EXPECT_THAT(text(wrong, "detail"), HasSubstr("did you mean 4g.20gb"));
  node.call("GET", "/v1/what-if", 400);
  node.call("GET", "/v1/what-if?profile=1g.5gb&gpu_memory=8GiB", 400);
}

TEST(History, IsReadPageByPageAndUsageAddsUp) {
  Node node;
  node.start();
  std::vector<std::uint64_t> jobs;
  for (int i = 0; i < 7; ++i) jobs.push_back(node.submit(i < 4 ? "1g.5gb" : "2g.10gb", "true"));
  for (const std::uint64_t id : jobs) node.await(id, "over");
  std::vector<std::uint64_t> seen;
  std::string target = "/v1/history?limit=3";
  for (int pages = 0; pages < 10; ++pages) {
    const json::value page = node.call("GET", target);
    const json::array& rows = page.at("jobs").as_array();
    for (const json::value& job : rows) seen.push_back(job.at("id").to_number<std::uint64_t>());
    if (page.at("next").is_null()) break;
    target = cat("/v1/history?limit=3&before=", page.at("next").to_number<std::uint64_t>());
  }
  std::ranges::reverse(jobs);
  EXPECT_EQ(seen, jobs);
  const json::value small = node.call("GET", "/v1/history?profile=1g.5gb");
  EXPECT_EQ(small.at("jobs").as_array().size(), 4U);
  EXPECT_TRUE(node.call("GET", "/v1/history?state=failed").at("jobs").as_array().empty());
  const json::value usage = node.call("GET", "/v1/usage");
  const json::array& rows = usage.at("rows").as_array();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("jobs"), 4);
  EXPECT_EQ(rows[1].at("jobs"), 3);
  for (const json::value& row : rows) {
    EXPECT_GT(row.at("slice_hours").to_number<double>(), 0);
    EXPECT_NEAR(row.at("gpu_hours").to_number<double>() * 7,
                row.at("slice_hours").to_number<double>(), 1e-9);
  }
}

TEST(Audit, RecordsUsersAndRequestsButNoSecrets) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "true", {{"environment", {{"SECRET", "s3cr3t"}}}});
  node.await(id, "over");
  node.call("POST", "/v1/gpus/0/cordon", 202);
  node.call("POST", "/v1/gpus/9/cordon", 404);
  const std::string path = node.state_dir() + "/audit.log";
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  const std::string log = node.folder().read("state/audit.log");
  EXPECT_THAT(log, HasSubstr("\"/v1/gpus/0/cordon\",\"status\":202"));
  EXPECT_THAT(log, HasSubstr("\"/v1/gpus/9/cordon\",\"status\":404"));
  EXPECT_THAT(log, HasSubstr("\"user\":"));
  EXPECT_THAT(log, testing::Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(node.log(), testing::Not(HasSubstr("s3cr3t")));
}

}  // namespace
}  // namespace tangram::tests
