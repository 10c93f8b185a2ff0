// A program run from a test: its arguments and standard input in, what it printed and how it
// ended out. One rule: the environment is fixed, so that a test does not depend on who runs it.
#pragma once

#include <string>
#include <vector>

namespace tangram::tests {

struct Ended {
  int code = -1;  // exit code, or -1 if a signal ended it
  std::string out;
  std::string err;
};

// `environment` comes on top of a plain UTF-8 one.
Ended run_program(const std::string& program, const std::vector<std::string>& arguments,
                  const std::string& input = "", const std::vector<std::string>& environment = {});

}  // namespace tangram::tests
