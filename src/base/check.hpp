// CHECK: an assertion that is enabled in every build, because a scheduler must stop rather than act
// on an inconsistent state. Use it for bugs only; anything that input, hardware or the network can
// cause is an Error (base/error.hpp).
#pragma once

namespace tangram {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace tangram

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::tangram::check_failed(#condition, __FILE__, __LINE__))
