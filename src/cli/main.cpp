// The program `tangram`; all of it is in cli/tangram.cpp.
#include <csignal>

#include "cli/tangram.hpp"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is seen as EPIPE, and is no error
  return tangram::cli::run_tangram(argc, argv);
}
