// Doctor: checks everything that Tangram needs of a machine and reports what is wrong and what to
// do about it. It changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/owned_instances.hpp"

namespace tangram::device {

struct Finding {
  enum class Severity : std::uint8_t {
    kOk,       // as it should be
    kNote,     // information
    kWarning,  // works, but not as expected
    kProblem,  // does not work until fixed
  };
  Severity severity = Severity::kOk;
  std::string what;
  std::string advice;  // empty if there is nothing to do

  friend bool operator==(const Finding&, const Finding&) = default;
};

// In the order library, driver, permission, then GPU by GPU. `owned`: Tangram's own instances.
[[nodiscard]] std::vector<Finding> diagnose(const std::string& library_path,
                                            const OwnedInstances& owned);

}  // namespace tangram::device
