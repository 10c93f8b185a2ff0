// See missing_size.hpp.
#include "cli/client/missing_size.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace tangram::cli {

Error missing_size(const std::vector<std::string>& command) {
  const bool is_behind = std::ranges::any_of(command, [](std::string_view word) {
    return word == "-p" || word.starts_with("--profile") || word.starts_with("--gpu-memory");
  });
  const std::string where = is_behind ? cat(" before ", tangram::quoted(command.front()),
                                            ": the words behind it are arguments of the command.")
                                      : ".";
  return {ErrorCode::kInvalid,
          cat("no instance size given: use --profile (e.g. 2g.10gb) or --gpu-memory (e.g. 8GiB)",
              where)};
}

}  // namespace tangram::cli
