// See model_file.hpp: serializing. Values that equal the parser's defaults are left out.
#include <string>

#include "base/text.hpp"
#include "text/model_file.hpp"
#include "text/model_keys.hpp"

namespace tangram::text {
namespace {

// A basic TOML string.
std::string toml_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4U], kHex[byte & 15U]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return cat('[', out, ']');
}

std::string profile_toml(const mig::Profile& profile) {
  std::vector<std::string> starts;
  starts.reserve(profile.starts.size());
  for (const int start : profile.starts) starts.push_back(std::to_string(start));
  std::string out =
      cat("\n[[profile]]\nname = ", toml_string(profile.name),
          "\ncompute_slices = ", profile.compute_slices,
          "\nmemory_slices = ", profile.memory_slices, "\nstarts = ", list(starts), "\n");
  if (profile.max_instances != default_max_instances(profile)) {
    out += cat("max_instances = ", profile.max_instances, "\n");
  }
  for (const FactKey& key : kFactKeys) {
    const int value = profile.facts.*key.fact;
    if (value != mig::kUnknown) out += cat(key.name, " = ", value, "\n");
  }
  return out;
}

}  // namespace

std::string to_toml(const mig::ModelSpec& spec) {
  std::string out =
      cat("name = ", toml_string(spec.name), "\ncompute_slices = ", spec.compute_slices,
          "\nmemory_slices = ", spec.memory_slices, "\n");
  if (spec.inferred) out += "inferred = true\n";
  if (!spec.device_names.empty()) {
    std::vector<std::string> names;
    names.reserve(spec.device_names.size());
    for (const std::string& name : spec.device_names) names.push_back(toml_string(name));
    out += cat("device_names = ", list(names), "\n");
  }
  for (const mig::Profile& profile : spec.profiles) out += profile_toml(profile);
  return out;
}

}  // namespace tangram::text
