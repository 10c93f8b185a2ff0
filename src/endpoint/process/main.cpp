// tangram-endpoint FOLDER [--ready-fd N]: the relay of one service, started by tangramd. Its exit
// codes are in endpoint/process/folder.hpp. This file only parses the arguments.
#include <cstdio>
#include <string_view>

#include "endpoint/process/endpoint.hpp"
#include "os/start_arguments.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: tangram-endpoint FOLDER [--ready-fd N]\n"
    "Listen on the address in FOLDER/spec.json and relay connections to the replica that is set\n"
    "on FOLDER/control. Started by tangramd; not meant to be run by hand.\n"
    "  --ready-fd N  Write one line to this open descriptor once listening or failed\n"
    "  --version     Print the version\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::puts("tangram-endpoint " TANGRAM_VERSION) < 0 ? 1 : 0;
  }
  const auto arguments = tangram::os::parse_start_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(tangram::endpoint::EndpointExit::kUsage);
  }
  return static_cast<int>(tangram::endpoint::run_endpoint(*arguments));
}
