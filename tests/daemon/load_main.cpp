// Measures a real daemon from outside: durable submissions per second, thousands of jobs without a
// leak, the time from a free slot to the next process, the cost of being idle. Its figures depend
// on the machine: load [JOBS].
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "api/job.hpp"
#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace {

using namespace tangram;
using namespace tangram::tests;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

long descriptors(pid_t pid) {
  long count = 0;
  for ([[maybe_unused]] const auto& each :
       std::filesystem::directory_iterator(cat("/proc/", pid, "/fd"))) {
    ++count;
  }
  return count;
}

double cpu_seconds(pid_t pid) {
  std::ifstream in(cat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string word;
  for (int i = 0; i < 11; ++i) fields >> word;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void measure_submissions() {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto request = node.job_request("1g.5gb", "true", {{"hold", true}});
  constexpr int kCallers = 64;
  constexpr int kEach = 300;
  std::atomic<int> accepted = 0;
  const auto begun = Clock::now();
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      auto client = http::Client::open(node.socket());
      for (int k = 0; client && k < kEach; ++k) {
        const auto reply = client->request("POST", "/v1/jobs", request);
        if (reply && reply->status == 201) ++accepted;
      }
    });
  }
  for (std::thread& each : callers) each.join();
  std::printf("submissions: %d durable in %.2f s: %.0f a second (%d callers), RSS %ld KiB\n",
              accepted.load(), since(begun), accepted.load() / since(begun), kCallers,
              node.resident_kib());
}

void measure_many_jobs(int count) {
  Node node({.emulate = "4xA100-40GB"});
  node.start();
  const pid_t pid = node.pid();
  auto client = http::Client::open(node.socket());
  boost::json::object request = node.job_request("1g.5gb", "");
  request["command"] = {"/bin/true"};
  const auto begun = Clock::now();
  for (int i = 0; i < count; ++i) {
    if (!client->request("POST", "/v1/jobs", request)) std::abort();
    if (i == count / 10) {
      std::printf("jobs: after %d submissions RSS %ld KiB, %ld descriptors\n", i,
                  node.resident_kib(), descriptors(pid));
    }
  }
  std::printf("jobs: %d submitted in %.1f s one after the other, RSS %ld KiB\n", count,
              since(begun), node.resident_kib());
  eventually(
      "all jobs have ended",
      [&] {
        const auto status = node.call("GET", "/v1/status");
        return status.at("over").to_number<int>() == count;
      },
      std::chrono::minutes(30));
  std::printf(
      "jobs: %d finished in %.1f s (%.0f a second); RSS %ld KiB, %ld descriptors, CPU %.1f s\n",
      count, since(begun), count / since(begun), node.resident_kib(), descriptors(pid),
      cpu_seconds(pid));
}

void measure_latency() {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  for (int i = 0; i < 200; ++i) node.submit("7g.40gb", "true");
  eventually("all jobs have ended",
             [&] { return node.call("GET", "/v1/status").at("over").to_number<int>() == 200; });
  const auto jobs = node.call("GET", "/v1/jobs?all=1");
  std::vector<double> gaps;
  std::optional<api::WallTime> ended;
  for (const auto& job : jobs.as_array()) {
    const auto started = api::parse_wall(std::string_view(job.at("started").as_string()));
    if (ended && started) {
      gaps.push_back(std::chrono::duration<double, std::milli>(*started - *ended).count());
    }
    ended = *api::parse_wall(std::string_view(job.at("ended").as_string()));
  }
  std::ranges::sort(gaps);
  std::printf(
      "slot free to next process (end of one run to start of the next, same instance): "
      "p50 %.1f ms, p95 %.1f ms, max %.1f ms\n",
      gaps[gaps.size() / 2], gaps[gaps.size() * 95 / 100], gaps.back());
}

void measure_idle() {
  Node node({.emulate = "4xA100-40GB"});
  node.start();
  const auto id = node.submit("1g.5gb", "exec sleep 1000");
  node.await(id, "running");
  const double before = cpu_seconds(node.pid());
  std::this_thread::sleep_for(std::chrono::seconds(20));
  std::printf("idle: %.2f %% of a core\n", (cpu_seconds(node.pid()) - before) / 20 * 100);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  measure_submissions();
  measure_latency();
  measure_idle();
  measure_many_jobs(argc > 1 ? std::atoi(argv[1]) : 10'000);
  return 0;
}
