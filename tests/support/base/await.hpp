// await(): waits in a test until a condition holds, doing `work` between two checks. Throws after
// half a minute, which fails the test with a message instead of hanging it.
#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

namespace tangram::testing {

template <class Condition, class Work>
void await(Condition is_true, Work work) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("a condition of the test did not hold within 30 s");
    }
    work();
  }
}

template <class Condition>
void await(Condition is_true) {
  await(is_true, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

}  // namespace tangram::testing
