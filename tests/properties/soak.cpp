// soak: the property test without end, e.g. for a night, or for one seed.
//   soak --seed N [--steps N]      one world, its story on failure
//   soak --seconds N [--from N]    worlds with consecutive seeds until the time has passed
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "world.hpp"

namespace {

using tangram::properties::run_world;

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

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 0;
  std::uint64_t from = 1;
  long seconds = 60;
  int steps = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--from") from = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seconds") seconds = std::strtol(argv[i + 1], nullptr, 10);
    if (option == "--steps") steps = static_cast<int>(std::strtol(argv[i + 1], nullptr, 10));
  }
  try {
    return seed != 0 ? one(seed, steps) : many(seconds, from, steps);
  } catch (const tangram::properties::Broken& broken) {
    std::fprintf(stderr, "%s--steps %d\n", broken.what(), steps);
    return 1;
  }
}
