// The metrics of a real daemon: valid for Prometheus, those that docs/metrics.md lists, and
// correct.
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

std::string metrics(Node& node) { return std::string(node.call("GET", "/metrics").as_string()); }

std::set<std::string> families(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

// The value of a series in the metrics; empty if there is none.
std::string value_of(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

// Causes everything that a series exists for.
void generate_activity(Node& node) {
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
  generate_activity(node);
  node.folder().write("metrics", metrics(node));
  if (!has_promtool()) GTEST_SKIP() << "promtool is not installed";
  const std::string check =
      cat("promtool check metrics < ", node.at("metrics"), " > ", node.at("output"), " 2>&1");
  EXPECT_EQ(std::system(check.c_str()), 0) << node.folder().read("output");
}

TEST(Metrics, CountWhatWasDone) {
  Node node;
  node.start();
  generate_activity(node);
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
  node.call("POST", "/v1/gpus/0/cordon", 202);
  EXPECT_NE(metrics(node).find("tangram_gpu_in_service{gpu=\"0\""), std::string::npos);
}

// Leases are not counted as jobs.
TEST(Metrics, CountLeasesSeparately) {
  Node node;
  node.start();
  const auto lease = [&](const char* ttl) {
    const json::object request{{"profile", "1g.5gb"}, {"ttl", ttl}};
    return node.call("POST", "/v1/leases", 201, request).at("id").to_number<std::uint64_t>();
  };
  const auto kept = lease("1h");
  const auto expired = lease("1s");
  node.call("DELETE", cat("/v1/leases/", kept));
  node.await(kept, "over");
  node.await(expired, "over");
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

TEST(Metrics, DescribeTheHeadOfTheQueue) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  EXPECT_EQ(value_of(metrics(node), "tangram_queue_head_wait_seconds"), "0");
  node.tangram({"emulate", "fault", "call", "nvmlDeviceCreateGpuInstanceWithPlacement=UNKNOWN",
                "--times", "1"});
  const auto first = node.submit("7g.40gb", "exec sleep 1000");
  // Creating its instance failed on the only GPU: there is room, but it waits for the back-off.
  eventually("it waits again", [&] {
    return value_of(metrics(node), "tangram_action_failures_total{action=\"create\"}") == "1";
  });
  std::string text = metrics(node);
  EXPECT_EQ(value_of(text, "tangram_queue_length"), "1");
  EXPECT_EQ(value_of(text, "tangram_queue_head_fits"), "1");
  EXPECT_GT(std::stod(value_of(text, "tangram_queue_head_wait_seconds")), 0);
  // On a full node the head of the queue has no room.
  node.call("POST", cat("/v1/jobs/", first, "/cancel"), 202);
  node.await(first, "over");
  node.await(node.submit("4g.20gb", "exec sleep 1000"), "running");
  node.submit("7g.40gb", "true");
  text = metrics(node);
  EXPECT_EQ(value_of(text, "tangram_queue_length"), "1");
  EXPECT_EQ(value_of(text, "tangram_queue_head_fits"), "0");
}

TEST(Metrics, CountHeldJobsByCause) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  node.submit("1g.5gb", "true", {{"hold", true}});
  node.call("POST", "/v1/gpus/0/cordon", 202);
  node.submit("1g.5gb", "true");
  const std::string text = metrics(node);
  EXPECT_EQ(value_of(text, "tangram_held{cause=\"user\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_held{cause=\"no_gpu\"}"), "2");  // both
  EXPECT_EQ(value_of(text, "tangram_held{cause=\"limit\"}"), "0");
  EXPECT_EQ(value_of(text, "tangram_queue_length"), "0");
}

// And for how long leases have been releasing.
TEST(Metrics, CountLeasesByState) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const json::object request{{"profile", "7g.40gb"}, {"ttl", "1h"}};
  const auto lease =
      node.call("POST", "/v1/leases", 201, request).at("id").to_number<std::uint64_t>();
  std::string text = metrics(node);
  EXPECT_EQ(value_of(text, "tangram_leases{state=\"granted\"}"), "1");
  EXPECT_EQ(value_of(text, "tangram_leases{state=\"waiting\"}"), "0");
  EXPECT_EQ(value_of(text, "tangram_leases{state=\"running\"}"), "");
  EXPECT_EQ(value_of(text, "tangram_lease_releasing_seconds"), "0");
  // Without a list of the processes in its instance, the lease stays in state releasing.
  node.tangram(
      {"emulate", "fault", "call", "nvmlDeviceGetComputeRunningProcesses=UNKNOWN", "--times", "0"});
  node.call("DELETE", cat("/v1/leases/", lease));
  const auto releasing = [&] {
    text = metrics(node);
    return value_of(text, "tangram_leases{state=\"releasing\"}") == "1" &&
           std::stod(value_of(text, "tangram_lease_releasing_seconds")) > 0;
  };
  eventually("it is releasing", releasing);
  node.kill();
  node.start();
  eventually("it is releasing after a restart", releasing);
  EXPECT_EQ(value_of(text, "tangram_job_stopping_seconds"), "0");
  node.tangram({"emulate", "fault", "clear"});
  node.await(lease, "over");
  EXPECT_EQ(value_of(metrics(node), "tangram_lease_releasing_seconds"), "0");
}

TEST(Metrics, MeasureHowLongAJobHasBeenStopping) {
  Node node;
  node.start();
  const std::string script =
      cat("trap '' TERM; touch ", node.at("trapped"), "; while :; do sleep 0.1; done");
  const auto id = node.submit("1g.5gb", script, {{"grace", "1h"}});
  eventually("it ignores SIGTERM", [&] { return node.folder().has("trapped"); });
  node.await(id, "running");
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  node.await(id, "stopping");
  eventually("time passes", [&] {
    return std::stod(value_of(metrics(node), "tangram_job_stopping_seconds")) > 0;
  });
  EXPECT_EQ(value_of(metrics(node), "tangram_lease_releasing_seconds"), "0");
}

// So that a graph falls to 0 instead of ending.
TEST(Metrics, HaveEveryProfileFromTheStart) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const std::string text = metrics(node);
  for (const char* profile : {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
    for (const char* name : {"tangram_instances_wanted", "tangram_instances_actual"}) {
      EXPECT_EQ(value_of(text, cat(name, "{profile=\"", profile, "\"}")), "0") << name;
    }
  }
}

// tangram_frag_cost is the mean over the GPUs in service.
TEST(Metrics, ExcludeGpusOutOfServiceFromTheMean) {
  Node node({.config = "[device]\nobserve_every = \"100ms\"\n"});
  node.start();
  node.tangram({"emulate", "fault", "foreign", "0", "1g.5gb@2"});
  eventually("its slices are scattered",
             [&] { return std::stod(value_of(metrics(node), "tangram_frag_cost")) > 0; });
  node.call("POST", "/v1/gpus/0/cordon", 202);
  EXPECT_EQ(value_of(metrics(node), "tangram_frag_cost"), "0");
}

TEST(Metrics, AreThoseOfTheDocument) {
  std::set<std::string> described;
  const std::string page = file("docs/metrics.md");
  const std::regex row(R"(\n\| `([a-z_]+)` \|)");
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    described.insert((*at)[1]);
  }
  Node node;
  node.start();
  generate_activity(node);
  EXPECT_EQ(families(metrics(node)), described);
}

}  // namespace
}  // namespace tangram::tests
