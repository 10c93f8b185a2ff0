// Doctor: looks at everything that Tangram needs of a machine and says what is wrong and what to do
// about it, before a user meets it as a failure. One rule: it only looks; it changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/owned.hpp"

namespace tangram::device {

struct Finding {
  enum class Severity : std::uint8_t {
    kOk,       // as it should be
    kNote,     // good to know
    kWarning,  // works, but not as one may expect
    kProblem,  // does not work until something is done
  };
  Severity severity = Severity::kOk;
  std::string what;
  std::string advice;  // empty if there is nothing to do

  friend bool operator==(const Finding&, const Finding&) = default;
};

// In the order of looking: library, driver, permission, then GPU by GPU. `owned` tells Tangram's
// own instances from others'.
[[nodiscard]] std::vector<Finding> diagnose(const std::string& library_path, const Owned& owned);

}  // namespace tangram::device
