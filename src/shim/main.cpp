// tangram-shim RUN_DIR [--ready-fd N]: the parent process of one run of a job, started by tangramd.
// Its exit statuses are in shim/run_folder.hpp.
#include <cstdio>
#include <string_view>
#include <unistd.h>

#include "os/start_arguments.hpp"
#include "shim/shim.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: tangram-shim RUN_DIR [--ready-fd N]\n"
    "Run the job described by RUN_DIR/spec.json once, and write how it ended to RUN_DIR/exit.\n"
    "Started by tangramd; not meant to be run by hand.\n"
    "  --ready-fd N  Write one line to this open descriptor when the job is about to be started,\n"
    "                and another one once it runs or has failed\n"
    "  --hold-scope  Run no job; wait until standard input is closed\n"
    "  --version     Print the version\n";

// Keeps the systemd scope alive in which the daemon put this process; see systemd_scope.hpp. The
// standard input is a pipe to which nothing is written.
int hold_scope() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::puts("tangram-shim " TANGRAM_VERSION) < 0 ? 1 : 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--hold-scope") return hold_scope();
  const auto arguments = tangram::os::parse_start_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(tangram::shim::ShimExit::kUsage);
  }
  return static_cast<int>(tangram::shim::run_shim(*arguments));
}
