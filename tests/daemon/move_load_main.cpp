// Moves a service under load: keep-alive and one-shot requests and long streams go through its
// endpoint while it is moved within its GPU and to the other one, optionally with restarts of the
// daemon (alternately stopped and killed). Prints figures; fails if a request failed or was
// answered twice or out of order.
//
//   move_load [MOVES [RESTARTS]]   default: 100 moves, no restarts
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "move_load.hpp"
#include "service_node.hpp"
#include "steal_time.hpp"

namespace tangram::tests {
namespace {

TEST(MoveLoad, NoRequestFails) {
  const char* wanted_moves = std::getenv("MOVE_LOAD_MOVES");
  const char* wanted_restarts = std::getenv("MOVE_LOAD_RESTARTS");
  const int moves = wanted_moves == nullptr ? 100 : std::atoi(wanted_moves);
  const int restarts = wanted_restarts == nullptr ? 0 : std::atoi(wanted_restarts);
  ServiceNode service;
  const StealTime steal;
  const auto begun = std::chrono::steady_clock::now();
  MoveLoad load({.port = service.port()});
  int done = 0;
  double streams = 0;  // the number of open ones, summed over the moves
  for (int i = 0; i < moves; ++i) {
    const int gpu = (i / 2) % 2;  // two moves within a GPU, then two within the other
    const int start = i % 7;
    if (restarts > 0 && i % (moves / restarts) == moves / restarts / 2) {
      service.request_move(gpu, start);
      i % 2 == 0 ? service.node.stop() : service.node.kill();
      service.node.start();
      service.await_no_move();
      done += service.slot() == std::pair(gpu, start) ? 1 : 0;
    } else {
      done += service.move(gpu, start) ? 1 : 0;
    }
    streams += load.open_streams;
    std::fprintf(stderr, "\r%d of %d moves, %llu requests, %llu streams, %llu failed ", i + 1,
                 moves, static_cast<unsigned long long>(load.requests),
                 static_cast<unsigned long long>(load.streams),
                 static_cast<unsigned long long>(load.failures()));
  }
  load.stop();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf(
      "\n%d of %d moves done, %d restarts, in %.0f s: %llu requests (%.0f/s), %llu streams with "
      "%llu tokens, %llu failed; steal time %.1f %%\n",
      done, moves, restarts, seconds, static_cast<unsigned long long>(load.requests),
      static_cast<double>(load.requests) / seconds, static_cast<unsigned long long>(load.streams),
      static_cast<unsigned long long>(load.tokens),
      static_cast<unsigned long long>(load.failures()), steal.percent());
  for (const std::string& each : load.failure_messages()) std::printf("  %s\n", each.c_str());
  EXPECT_EQ(load.failures(), 0U);
  EXPECT_GE(static_cast<double>(load.requests) / seconds, 500)
      << "too few requests to be significant";
  EXPECT_GE(streams / moves, 45)
      << "average number of open streams (of 50; some are just being reopened)";
  EXPECT_EQ(done, moves);
}

}  // namespace
}  // namespace tangram::tests

int main(int argc, char** argv) {
  if (argc > 1) setenv("MOVE_LOAD_MOVES", argv[1], 1);
  if (argc > 2) setenv("MOVE_LOAD_RESTARTS", argv[2], 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
