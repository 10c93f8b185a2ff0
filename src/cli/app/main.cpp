// The entry point of `tangram`; see cli/app/tangram.hpp.
#include <csignal>

#include "cli/app/tangram.hpp"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as EPIPE and is no error
  return tangram::cli::run_tangram(argc, argv);
}
