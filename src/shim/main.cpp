// tangram-shim RUN_DIR [--ready-fd N]: the parent process of one run of a job, started by tangramd.
// Its exit statuses are in shim/run_folder.hpp.
#include <cstdio>
#include <string_view>

#include "os/start_arguments.hpp"
#include "shim/shim.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: tangram-shim RUN_DIR [--ready-fd N]\n"
    "Run the job described by RUN_DIR/spec.json once, and write how it ended to RUN_DIR/exit.\n"
    "Started by tangramd; not meant to be run by hand.\n"
    "  --ready-fd N  descriptor to which one line is written once the job runs or has failed\n"
    "  --version     print the version\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::puts("tangram-shim " TANGRAM_VERSION) < 0 ? 1 : 0;
  }
  const auto arguments = tangram::os::parse_start_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(tangram::shim::ShimExit::kUsage);
  }
  return static_cast<int>(tangram::shim::run_shim(*arguments));
}
