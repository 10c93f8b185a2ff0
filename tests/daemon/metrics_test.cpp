// The metrics of a real daemon: as Prometheus wants them, as docs/metrics.md lists them, and right:
// what they count is what was done. The rules and the dashboard name only metrics there are.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

std::string file(const std::string& name) {
  std::ifstream in(std::string(TANGRAM_SOURCE_DIR "/") + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string metrics(Node& node) { return std::string(node.ask("GET", "/metrics").as_string()); }

std::set<std::string> families(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

// The value of a series, as it stands in the text; empty if there is none.
std::string value_of(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

// A node that has been through everything that a series comes of.
void live(Node& node) {
  node.tangram({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=UNKNOWN",
                "--times", "1"});
  const auto forever = node.submit("3g.20gb", "exec sleep 1000");
  node.await(forever, "running");
  node.await(node.submit("1g.5gb", "true"), "over");
  node.await(node.submit("1g.5gb", "false"), "over");
}

bool has_promtool() { return std::system("command -v promtool > /dev/null") == 0; }

TEST(Metrics, ArePrometheusText) {
  Node node;
  node.start();
  live(node);
  node.folder().write("metrics", metrics(node));
  if (!has_promtool()) GTEST_SKIP() << "promtool is not installed";
  const std::string check =
      cat("promtool check metrics < ", node.at("metrics"), " > ", node.at("said"), " 2>&1");
  EXPECT_EQ(std::system(check.c_str()), 0) << node.folder().read("said");
}

TEST(Metrics, CountWhatWasDone) {
  Node node;
  node.start();
  live(node);
  const std::string text = metrics(node);
  EXPECT_EQ(value_of(text, "tangram_jobs_finished_total{result=\"completed\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_jobs_finished_total{result=\"failed\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_jobs{state=\"running\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_job_wait_seconds_count"), "3");
  EXPECT_EQ(value_of(text, "tangram_job_run_seconds_count"), "2");
  EXPECT_EQ(value_of(text, "tangram_action_failures_total{action=\"create\"}"), "1") << text;
  EXPECT_EQ(value_of(text, "tangram_instances_wanted{profile=\"3g.20gb\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_instances_actual{profile=\"3g.20gb\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_store_ok"), "1");
  EXPECT_NE(
      text.find("tangram_nvml_errors_total{call=\"nvmlDeviceCreateGpuInstanceWithPlacement\""),
      std::string::npos);
  node.ask("POST", "/v1/gpus/0/cordon", 202);
  EXPECT_NE(metrics(node).find("tangram_gpu_in_service{gpu=\"0\""), std::string::npos);
}

// A lease is no job, whichever of them is counted.
TEST(Metrics, CountLeasesApart) {
  Node node;
  node.start();
  const auto lease = [&](const char* ttl) {
    const json::object wish{{"profile", "1g.5gb"}, {"ttl", ttl}};
    return node.ask("POST", "/v1/leases", 201, wish).at("id").to_number<std::uint64_t>();
  };
  const auto kept = lease("1h");
  const auto forgotten = lease("1s");
  node.ask("DELETE", cat("/v1/leases/", kept));
  node.await(kept, "over");
  node.await(forgotten, "over");
  node.await(node.submit("1g.5gb", "true"), "over");
  const std::string text = metrics(node);
  EXPECT_EQ(value_of(text, "tangram_leases_finished_total{result=\"released\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_leases_finished_total{result=\"ended\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_lease_wait_seconds_count"), "2");
  EXPECT_EQ(value_of(text, "tangram_lease_hold_seconds_count"), "2");
  EXPECT_EQ(value_of(text, "tangram_jobs_finished_total{result=\"completed\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_jobs_finished_total{result=\"cancelled\"}"), "0");
  EXPECT_EQ(value_of(text, "tangram_job_wait_seconds_count"), "1");
  EXPECT_EQ(value_of(text, "tangram_job_run_seconds_count"), "1");
}

TEST(Metrics, RulesAreAsPrometheusWantsThem) {
  if (!has_promtool()) GTEST_SKIP() << "promtool is not installed";
  const files::testing::Folder folder;
  const std::string check =
      cat("promtool check rules " TANGRAM_SOURCE_DIR "/packaging/prometheus/tangram.rules.yml > ",
          folder.at("said"), " 2>&1");
  EXPECT_EQ(std::system(check.c_str()), 0) << folder.read("said");
}

TEST(Metrics, AreAllInTheDocumentAndNoOthers) {
  std::set<std::string> described;
  const std::string page = file("docs/metrics.md");
  const std::regex row(R"(\n\| `([a-z_]+)` \|)");
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    described.insert((*at)[1]);
  }
  Node node;
  node.start();
  live(node);
  EXPECT_EQ(families(metrics(node)), described);
}

TEST(Metrics, RulesAndDashboardNameOnlyWhatThereIs) {
  const std::string page = file("docs/metrics.md");
  const std::regex name(R"(tangram_[a-z_]+)");
  for (const char* each :
       {"packaging/prometheus/tangram.rules.yml", "packaging/grafana/tangram.json"}) {
    const std::string text = file(each);
    int found = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      std::string metric = at->str();
      for (const char* suffix : {"_bucket", "_count", "_sum"}) {
        if (metric.ends_with(suffix)) metric.erase(metric.size() - std::string(suffix).size());
      }
      EXPECT_NE(page.find(cat("`", metric, "`")), std::string::npos) << each << ": " << metric;
      ++found;
    }
    EXPECT_GT(found, 5) << each;
  }
}

}  // namespace
}  // namespace tangram::tests
