// A service that is moved while many use it: keep-alive and one-shot requests and long streams
// through its endpoint, move after move on its own GPU and to another, and, if asked, a restart of
// the daemon (by turns ended and killed) now and then. Figures are printed; a request that failed,
// was answered twice or out of order is a failure.
//
//   visitors [100] [0]   so many moves, and so many restarts spread over them
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "served.hpp"
#include "stolen.hpp"
#include "visitors.hpp"

namespace tangram::tests {
namespace {

TEST(Visitors, NoneFails) {
  const char* wanted_moves = std::getenv("VISITORS_MOVES");
  const char* wanted_restarts = std::getenv("VISITORS_RESTARTS");
  const int moves = wanted_moves == nullptr ? 100 : std::atoi(wanted_moves);
  const int restarts = wanted_restarts == nullptr ? 0 : std::atoi(wanted_restarts);
  Served served;
  const Stolen stolen;
  const auto begun = std::chrono::steady_clock::now();
  Visitors visitors({.port = served.port()});
  int done = 0;
  double streams = 0;  // at a time, summed over the moves
  for (int i = 0; i < moves; ++i) {
    const int gpu = (i / 2) % 2;  // by turns on its own GPU and to the other
    const int start = i % 7;
    if (restarts > 0 && i % (moves / restarts) == moves / restarts / 2) {
      served.ask_move(gpu, start);
      i % 2 == 0 ? served.node.stop() : served.node.kill();
      served.node.start();
      served.await_rest();
      done += served.place() == std::pair(gpu, start) ? 1 : 0;
    } else {
      done += served.move(gpu, start) ? 1 : 0;
    }
    streams += visitors.listening;
    std::fprintf(stderr, "\r%d of %d moves, %llu requests, %llu streams, %llu failed ", i + 1,
                 moves, static_cast<unsigned long long>(visitors.requests),
                 static_cast<unsigned long long>(visitors.streams),
                 static_cast<unsigned long long>(visitors.failures()));
  }
  visitors.stop();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf(
      "\n%d of %d moves done, %d restarts, in %.0f s: %llu requests (%.0f/s), %llu streams with "
      "%llu tokens, %llu failed; the host took %.1f %% of the processors away\n",
      done, moves, restarts, seconds, static_cast<unsigned long long>(visitors.requests),
      static_cast<double>(visitors.requests) / seconds,
      static_cast<unsigned long long>(visitors.streams),
      static_cast<unsigned long long>(visitors.tokens),
      static_cast<unsigned long long>(visitors.failures()), stolen.percent());
  for (const std::string& each : visitors.complaints()) std::printf("  %s\n", each.c_str());
  EXPECT_EQ(visitors.failures(), 0U);
  EXPECT_GE(static_cast<double>(visitors.requests) / seconds, 500) << "too few to say anything";
  EXPECT_GE(streams / moves, 45) << "of 50 streams at a time, but for those that just change";
  EXPECT_EQ(done, moves);
}

}  // namespace
}  // namespace tangram::tests

int main(int argc, char** argv) {
  if (argc > 1) setenv("VISITORS_MOVES", argv[1], 1);
  if (argc > 2) setenv("VISITORS_RESTARTS", argv[2], 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
