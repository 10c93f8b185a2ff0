// tangram-shim RUN_DIR [--ready-fd N]: the parent of one run of a job; started by tangramd, not by
// people. How it ends is in shim/run_folder.hpp. One rule: only arguments are looked at here.
#include <cstdio>
#include <string_view>

#include "files/start_arguments.hpp"
#include "shim/shim.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: tangram-shim RUN_DIR [--ready-fd N]\n"
    "Runs the job that RUN_DIR/spec.json describes, once, and writes how it ended to "
    "RUN_DIR/exit.\n"
    "tangramd starts it; there is no need to do so by hand.\n"
    "  --ready-fd N  an open descriptor that gets one line once the job runs or could not\n"
    "  --version     print the version\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::puts("tangram-shim " TANGRAM_VERSION) < 0 ? 1 : 0;
  }
  const auto arguments = tangram::files::parse_start_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(tangram::shim::ShimExit::kUsage);
  }
  return static_cast<int>(tangram::shim::run_shim(*arguments));
}
