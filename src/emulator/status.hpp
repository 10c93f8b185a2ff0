// The state of an emulated node as JSON, for `tangram emulate status` and for tests, without
// processes that have ended.
#pragma once

#include <string>

#include "emulator/state_file.hpp"

namespace tangram::emulator {

[[nodiscard]] std::string status_json(const StateFile& state);

}  // namespace tangram::emulator
