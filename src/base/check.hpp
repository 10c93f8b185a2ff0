// CHECK: an assertion that is on in every build. A scheduler that owns other people's GPUs
// stops rather than act on a state it does not understand. One rule: CHECK is for our own
// mistakes; anything that input, hardware or the network can cause is an Error.
#pragma once

namespace tangram {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace tangram

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::tangram::check_failed(#condition, __FILE__, __LINE__))
