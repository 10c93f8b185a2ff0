// The long form of the storm of leases, as a program: lease_storm [HOLDERS [LEASES OF EACH]].
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "lease_storm.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  tangram::tests::StormOptions options{
      .holders = 50, .each = 36, .kill_one_in = 100, .doom_one_in = 100, .tell = true};
  if (argc > 1) options.holders = std::atoi(argv[1]);
  if (argc > 2) options.each = std::atoi(argv[2]);
  const auto storm = tangram::tests::run_storm(options);
  std::printf("%zu leases granted, %zu given up, %zu holders killed, %zu complaints\n",
              storm.granted, storm.given_up, storm.killed + storm.doomed, storm.complaints.size());
  for (const std::string& each : storm.complaints) std::printf("  %s\n", each.c_str());
  return storm.complaints.empty() ? 0 : 1;
}
