// soak: the property test without end, e.g. for a night, or for one seed.
//   soak --seed N [--steps N]      one world, its story on failure
//   soak --seconds N [--from N]    worlds with consecutive seeds until the time has passed
//   soak --restore SECONDS [--from N]   the same, and the state is saved, restored and compared
//   with
//                                  the original after every step; requested moves are frequent
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "shadow.hpp"
#include "world.hpp"

namespace {

using tangram::properties::Broken;
using tangram::properties::run_world;
using tangram::properties::Shadow;
using tangram::properties::World;

int one(std::uint64_t seed, int steps) {
  const std::uint64_t done = run_world({.seed = seed, .steps = steps});
  std::printf("seed %llu: %llu steps\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(done));
  return 0;
}

int many(long seconds, std::uint64_t from, int steps) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t total = 0;
  std::uint64_t seed = from;
  for (; std::chrono::steady_clock::now() < end; ++seed) {
    total += run_world({.seed = seed, .steps = steps});
  }
  std::printf("seeds %llu to %llu: %llu steps, every property held\n",
              static_cast<unsigned long long>(from), static_cast<unsigned long long>(seed - 1),
              static_cast<unsigned long long>(total));
  return 0;
}

int many_restored(long seconds, std::uint64_t from, int steps) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t total = 0;
  std::uint64_t seed = from;
  for (; std::chrono::steady_clock::now() < end; ++seed) {
    Shadow shadow(seed, 1'000);
    World world(shadow.options(
        {.seed = seed, .steps = steps, .many_requested_moves = true, .full_checks = false}));
    try {
      world.run();
    } catch (const Broken& broken) {
      throw Broken(world.story() + broken.what() + "\nseed " + std::to_string(seed) + " ");
    }
    total += static_cast<std::uint64_t>(shadow.restored());
  }
  std::printf(
      "seeds %llu to %llu: %llu steps, every state was restored and went on as the original\n",
      static_cast<unsigned long long>(from), static_cast<unsigned long long>(seed - 1),
      static_cast<unsigned long long>(total));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 0;
  std::uint64_t from = 1;
  long seconds = 60;
  bool restore = false;
  int steps = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--from") from = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seconds") seconds = std::strtol(argv[i + 1], nullptr, 10);
    if (option == "--restore") {
      restore = true;
      seconds = std::strtol(argv[i + 1], nullptr, 10);
    }
    if (option == "--steps") steps = static_cast<int>(std::strtol(argv[i + 1], nullptr, 10));
  }
  try {
    if (restore) return many_restored(seconds, from, steps);
    return seed != 0 ? one(seed, steps) : many(seconds, from, steps);
  } catch (const tangram::properties::Broken& broken) {
    std::fprintf(stderr, "%s--steps %d\n", broken.what(), steps);
    return 1;
  }
}
