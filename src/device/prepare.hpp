// Switching MIG mode on: the instruction for a person, and the attempt. The driver may accept the
// change only as pending, until a reset; `mode` is what the driver reports afterwards.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// The command to run as root to switch MIG on; empty if it is on.
[[nodiscard]] std::string mig_instruction(const Gpu& gpu);

struct Preparation {
  MigMode mode = MigMode::kOff;  // as the driver reports it afterwards
  std::vector<Process> holders;  // processes that keep the GPU from being reset
  std::string next;              // what the user has to do; empty if nothing
};

// Switches MIG on. It stays on; Tangram never switches it off.
[[nodiscard]] Outcome<Preparation> prepare(const Library& library, const Gpu& gpu);
// The same without a person: only if the driver lists no process on the GPU. If it does, nothing is
// changed and `holders` has them.
[[nodiscard]] Outcome<Preparation> prepare_unused(const Library& library, const Gpu& gpu);

}  // namespace tangram::device
