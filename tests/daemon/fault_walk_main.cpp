// The long form of the fault walk: fault_walk daemon|shim|endpoint KIND [FROM [TO [STEP [COUNT]]]];
// see fault_walk.hpp, and failing_calls.cpp for the kinds.
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "fault_walk.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: fault_walk daemon|shim|endpoint descriptors|disk|space|memory|network "
                 "[FROM [TO [STEP [COUNT]]]]\n");
    return 2;
  }
  tangram::tests::FaultWalkOptions options{.program = argv[1], .kind = argv[2], .verbose = true};
  if (argc > 3) options.from = std::atoi(argv[3]);
  if (argc > 4) options.to = std::atoi(argv[4]);
  if (argc > 5) options.step = std::atoi(argv[5]);
  if (argc > 6) options.count = std::atoi(argv[6]);
  const auto result = tangram::tests::run_fault_walk(options);
  std::printf("%s, %s: %d scenarios, %zu calls failed, %zu violations\n", options.program.c_str(),
              options.kind.c_str(), result.scenarios, result.failed_calls.size(),
              result.violations.size());
  for (const std::string& each : result.violations) std::printf("  %s\n", each.c_str());
  return result.violations.empty() ? 0 : 1;
}
