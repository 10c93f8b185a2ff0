// Fuzzes the files of an experiment: for any text, parse_experiment() gives an error with its
// position or an experiment within the limits. The input is config.toml, a line "%%%", and
// expected.toml.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lab/experiment.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kBorder = "\n%%%\n";
  const std::size_t border = text.find(kBorder);
  const std::string_view config = text.substr(0, border);
  const std::string_view expected =
      border == std::string_view::npos ? std::string_view() : text.substr(border + kBorder.size());
  const auto read = [&] {
    return tangram::lab::parse_experiment("id", config, expected, "", "dir");
  };
  const auto e = read();
  if (!e) {
    const std::string& message = e.error().message;
    if (!message.starts_with("dir/") || message.find(':') == std::string::npos) std::abort();
    return 0;
  }
  if (e->gpus < 1 || e->tasks < 1 || e->seeds < 1 || e->instances.empty()) std::abort();
  for (const tangram::lab::NodeVariant& node : e->nodes) {
    if (node.gpus < 1 || node.instances.empty()) std::abort();
  }
  for (const tangram::lab::Claim& claim : e->claims) {
    if (claim.at_least_percent < 0 || claim.at_least_percent > 100) std::abort();
  }
  const auto again = read();
  if (!again || again->title != e->title || again->claims.size() != e->claims.size()) std::abort();
  return 0;
}
