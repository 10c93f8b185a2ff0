// Heap allocations per step in a steady state: arrivals, departures and moves on GPUs that have
// been filled before. A program of its own, because it counts every operator new of the process.
// The profile name in an event is allocated by the caller; names here are short enough to need no
// heap.
#include <cstdio>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "tests/properties/steady_node.hpp"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace tangram::properties {
namespace {

void count(std::uint32_t gpus, unsigned load, const char* migration) {
  SteadyNode steady(gpus, "paper", migration);
  steady.fill_to_load(load);
  for (int i = 0; i < 20'000; ++i) steady.cycle();  // lets the buffers grow
  const std::size_t steps = steady.driver().steps();
  allocations = 0;
  for (int i = 0; i < 20'000; ++i) steady.cycle();
  const std::size_t counted = allocations;
  const std::size_t taken = steady.driver().steps() - steps;
  const double each = static_cast<double>(counted) / static_cast<double>(taken);
  std::printf("%u GPUs, %u %% load, migration %s: %zu allocations in %zu steps: %.5f per step\n",
              gpus, load, migration, counted, taken, each);
  EXPECT_LE(each, 0.01);
}

TEST(Allocations, NoneInASteadyState) {
  for (const unsigned load : {30U, 70U, 90U}) count(64, load, "both");
  count(1000, 70, "both");
  count(64, 70, "off");
}

}  // namespace
}  // namespace tangram::properties
