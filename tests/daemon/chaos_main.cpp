// The long form of the chaos test: chaos [ROUNDS [SEED]]. Prints the command that repeats it.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "chaos.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tangram::tests::ChaosOptions options{.rounds = 200, .seed = 1, .verbose = true};
  if (argc > 1) options.rounds = std::atoi(argv[1]);
  if (argc > 2) options.seed = std::strtoull(argv[2], nullptr, 10);
  const auto result = tangram::tests::run_chaos(options);
  std::printf(
      "\n%d rounds, seed %llu: %zu jobs acknowledged, %zu unanswered, %zu kills of the "
      "daemon, %zu of shims, %zu of jobs, %zu stops of the daemon, %zu moves, %zu leases, %zu "
      "looks at /proc, %zu at the driver, %zu at the API, %zu violations\n",
      options.rounds, static_cast<unsigned long long>(options.seed), result.acknowledged,
      result.unanswered, result.daemon_kills, result.shim_kills, result.job_kills,
      result.daemon_stops, result.moves, result.leases, result.looks, result.driver_looks,
      result.api_looks, result.violations.size());
  for (const std::string& each : result.violations) std::printf("  %s\n", each.c_str());
  std::printf("repeat: %s %d %llu\n", argv[0], options.rounds,
              static_cast<unsigned long long>(options.seed));
  return result.violations.empty() ? 0 : 1;
}
