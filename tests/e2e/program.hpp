// Runs a program in a test with arguments and standard input; returns its output and exit code. The
// environment is fixed, so that tests do not depend on that of the caller.
#pragma once

#include <string>
#include <vector>

namespace tangram::tests {

struct Ended {
  int code = -1;  // exit code, or -1 if a signal ended it
  std::string out;
  std::string err;
};

// `environment`: variables in addition to a plain UTF-8 environment.
Ended run_program(const std::string& program, const std::vector<std::string>& arguments,
                  const std::string& input = "", const std::vector<std::string>& environment = {});

}  // namespace tangram::tests
