// tangram-endpoint FOLDER [--ready-fd N]: the relay of one service; started by tangramd, not by
// people. How it ends is in endpoint/folder.hpp. One rule: only arguments are looked at here.
#include <cstdio>
#include <string_view>

#include "endpoint/endpoint.hpp"
#include "files/start_arguments.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: tangram-endpoint FOLDER [--ready-fd N]\n"
    "Owns the address that FOLDER/spec.json describes, and relays what comes there to the replica\n"
    "it is told of on FOLDER/control.\n"
    "tangramd starts it; there is no need to do so by hand.\n"
    "  --ready-fd N  an open descriptor that gets one line once it listens or could not\n"
    "  --version     print the version\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::puts("tangram-endpoint " TANGRAM_VERSION) < 0 ? 1 : 0;
  }
  const auto arguments = tangram::files::parse_start_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(tangram::endpoint::EndpointExit::kUsage);
  }
  return static_cast<int>(tangram::endpoint::run_endpoint(*arguments));
}
