// What it takes to get MIG mode on: the instruction for a person, and the attempt. The driver may
// accept a change of mode and only note it down, to take effect after a reset. One rule: a GPU is
// called ready when the driver, asked again, says that MIG is on; never before.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// What to run, as root, so that MIG is on; empty if it is.
[[nodiscard]] std::string mig_instruction(const Gpu& gpu);

struct Preparation {
  MigMode mode = MigMode::kOff;  // as the driver says afterwards
  std::vector<Process> holders;  // processes that keep the GPU from being reset
  std::string next;              // what remains to be done; empty if nothing
};

// Asks the driver to switch MIG on. It stays on: who needs it off says so to the driver.
[[nodiscard]] Outcome<Preparation> prepare(const Library& library, const Gpu& gpu);

}  // namespace tangram::device
