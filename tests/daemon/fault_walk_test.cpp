// A sample of the fault walk; the program fault_walk fails every call.
#include "fault_walk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::tests {
namespace {

struct Sample {
  const char* program;
  const char* kind;
  int step;  // between the calls that fail
};

class FaultWalk : public ::testing::TestWithParam<Sample> {};

TEST_P(FaultWalk, LosesNothing) {
  const Sample& sample = GetParam();
  const FaultWalkResult result = run_fault_walk({.program = sample.program,
                                                 .kind = sample.kind,
                                                 .from = 1 + sample.step / 2,
                                                 .to = 4 * sample.step,
                                                 .step = sample.step});
  EXPECT_EQ(result.violations, std::vector<std::string>());
  EXPECT_THAT(result.failed_calls, ::testing::Not(::testing::IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(
    Calls, FaultWalk,
    ::testing::Values(Sample{"daemon", "descriptors", 40}, Sample{"daemon", "disk", 40},
                      Sample{"daemon", "space", 20}, Sample{"daemon", "memory", 3},
                      Sample{"shim", "descriptors", 4}, Sample{"shim", "disk", 3},
                      Sample{"shim", "space", 3}, Sample{"shim", "memory", 1},
                      Sample{"daemon", "network", 60}, Sample{"shim", "network", 3},
                      Sample{"endpoint", "descriptors", 4}, Sample{"endpoint", "disk", 2},
                      Sample{"endpoint", "network", 6}),
    [](const auto& of) { return std::string(of.param.program) + "_" + of.param.kind; });

}  // namespace
}  // namespace tangram::tests
