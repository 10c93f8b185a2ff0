// tangram-endpoint FOLDER [--ready-fd N]: the relay of one service; started by tangramd, not by
// people. How it ends is in endpoint/folder.hpp. One rule: only arguments are looked at here.
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "endpoint/endpoint.hpp"

namespace {

constexpr const char* kUsage =
    "Usage: tangram-endpoint FOLDER [--ready-fd N]\n"
    "Owns the address that FOLDER/spec.json describes, and relays what comes there to the replica\n"
    "it is told of on FOLDER/control.\n"
    "tangramd starts it; there is no need to do so by hand.\n"
    "  --ready-fd N  an open descriptor that gets one line once it listens or could not\n"
    "  --version     print the version\n";

std::optional<tangram::endpoint::Options> parse(int argc, char** argv) {
  tangram::endpoint::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--ready-fd" && i + 1 < argc) {
      const auto fd = tangram::parse_int(argv[++i], 3, std::numeric_limits<int>::max());
      if (!fd) return std::nullopt;
      options.ready_fd = *fd;
    } else if (options.folder.empty() && !word.empty() && !word.starts_with('-')) {
      options.folder = word;
    } else {
      return std::nullopt;
    }
  }
  if (options.folder.empty()) return std::nullopt;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::puts("tangram-endpoint " TANGRAM_VERSION) < 0 ? 1 : 0;
  }
  const auto options = parse(argc, argv);
  if (!options) {
    std::fputs(kUsage, stderr);
    return static_cast<int>(tangram::endpoint::EndpointExit::kUsage);
  }
  return static_cast<int>(tangram::endpoint::run_endpoint(*options));
}
