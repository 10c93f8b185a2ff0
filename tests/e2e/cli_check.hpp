// Helpers of the tests of `tangram`: running it, comparing its output with tests/e2e/golden/*.txt,
// and expecting an error. After an intended change, run the test with TANGRAM_REGENERATE=1 and
// review the difference as code.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"

namespace tangram::tests {

using Words = std::vector<std::string>;

Ended tangram_run(const Words& words, const std::string& input = "", const Words& environment = {});
std::string read_text(const std::string& path);
void expect_golden(const std::string& name, const Words& words, const std::string& input = "");
// Expects exit code 2, empty standard output and exactly this message.
void expect_refused(const Ended& ended, const std::string& message);

}  // namespace tangram::tests
