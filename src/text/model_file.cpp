// See model_file.hpp: parsing. Single values are checked where they are read. Errors of the whole
// model (duplicate profiles, placements that exceed the compute slices) are found by Model::build()
// and reported at the first profile whose addition makes the model invalid.
#include "text/model_file.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "os/read_file.hpp"
#include "text/model_keys.hpp"
#include "text/toml_table.hpp"

namespace tangram::text {
namespace {

constexpr std::size_t kLargestFile = 1'048'576;
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestDeviceName = 96;  // NVML's own limit

const std::vector<std::string>& model_keys() {
  static const std::vector<std::string> keys = {"name",     "compute_slices", "memory_slices",
                                                "inferred", "device_names",   "profile"};
  return keys;
}

const std::vector<std::string>& profile_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all = {"name", "compute_slices", "memory_slices", "starts",
                                    "max_instances"};
    for (const FactKey& key : kFactKeys) all.emplace_back(key.name);
    return all;
  }();
  return keys;
}

// Names are used in commands, paths and diagrams, so their characters are restricted.
bool is_plain_name(std::string_view name) {
  const auto is_alnum = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !name.empty() && name.size() <= kLongestName &&
         is_alnum(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, [&](unsigned char c) {
           return is_alnum(c) ||
                  std::string_view("._+-").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

std::string plain_name(const TomlTable& table, Findings& findings) {
  std::string name = table.text("name");
  if (!is_plain_name(name)) {
    findings.add(table.where("name"),
                 cat("the name ", quoted(name), " cannot be used; allowed: 1 to ", kLongestName,
                     " letters, digits, '.', '_', '+' and '-', the first a "
                     "letter or digit."));
  }
  return name;
}

std::vector<std::string> device_names(const TomlTable& table, Findings& findings) {
  std::vector<std::string> names = table.texts_or_none("device_names");
  for (const std::string& name : names) {
    if (!name.empty() && name.size() <= kLongestDeviceName && printable(name) == name) continue;
    findings.add(table.where("device_names"),
                 cat("the device name ", quoted(name), " cannot be used; allowed: 1 to ",
                     kLongestDeviceName, " printable ASCII characters."));
  }
  return names;
}

mig::Profile profile_of(const TomlTable& table, Findings& findings) {
  table.allow_only(profile_keys());
  mig::Profile profile;
  profile.name = plain_name(table, findings);
  profile.compute_slices = table.number("compute_slices", {1, mig::kMaxComputeSlices});
  profile.memory_slices = table.number("memory_slices", {1, mig::kMaxMemorySlices});
  profile.starts = table.numbers("starts", {0, mig::kMaxMemorySlices - 1});
  profile.max_instances =
      table.number_or("max_instances", {1, mig::kMaxMemorySlices}, default_max_instances(profile));
  for (const FactKey& key : kFactKeys) {
    profile.facts.*key.fact = table.number_or(key.name, key.range, mig::kUnknown);
  }
  return profile;
}

// A specification, and the positions of its profiles in the file.
struct Draft {
  mig::ModelSpec spec;
  std::vector<toml::source_position> positions;
};

Draft draft_of(const TomlTable& table, Findings& findings) {
  table.allow_only(model_keys());
  Draft draft;
  draft.spec.name = plain_name(table, findings);
  draft.spec.compute_slices = table.number("compute_slices", {1, mig::kMaxComputeSlices});
  draft.spec.memory_slices = table.number("memory_slices", {1, mig::kMaxMemorySlices});
  draft.spec.inferred = table.flag_or("inferred", false);
  draft.spec.device_names = device_names(table, findings);
  for (const TomlTable& profile : table.tables("profile", "a profile")) {
    draft.spec.profiles.push_back(profile_of(profile, findings));
    draft.positions.push_back(profile.where());
  }
  return draft;
}

Result<mig::Model> build_first(const mig::ModelSpec& spec, std::size_t profiles) {
  mig::ModelSpec part = spec;
  part.profiles.resize(profiles);
  return mig::Model::build(std::move(part));
}

// Finds the profile that makes the model invalid. Adding profiles never makes an invalid model
// valid, so binary search works.
Error locate_error(const Draft& draft, const Error& whole, std::string_view file) {
  const std::size_t count = draft.spec.profiles.size();
  if (count == 0 || count > mig::kMaxProfiles) {
    return error_at(file, count == 0 ? kFirstLine : draft.positions[mig::kMaxProfiles],
                    whole.message);
  }
  std::size_t good = 0;
  std::size_t bad = count;
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (build_first(draft.spec, middle) ? good : bad) = middle;
  }
  return error_at(file, draft.positions[bad - 1], build_first(draft.spec, bad).error().message);
}

}  // namespace

int default_max_instances(const mig::Profile& profile) {
  const mig::Media media = mig::media_of(profile.name);
  if (media == mig::Media::kExtended || media == mig::Media::kAll) return 1;
  return static_cast<int>(profile.starts.size());
}

Result<mig::Model> read_model(std::string_view toml, std::string_view file_name) {
  const Result<toml::table> root = parse_toml(toml, file_name);
  if (!root) return std::unexpected(root.error());
  Findings findings(file_name);
  const Draft draft = draft_of(TomlTable(*root, "a model", findings), findings);
  if (auto error = findings.first()) return std::unexpected(*std::move(error));
  Result<mig::Model> model = mig::Model::build(draft.spec);
  if (!model) return std::unexpected(locate_error(draft, model.error(), file_name));
  return model;
}

Result<mig::ModelSpec> parse_model(std::string_view toml, std::string_view file_name) {
  const Result<mig::Model> model = read_model(toml, file_name);
  if (!model) return std::unexpected(model.error());
  return model->spec();
}

Result<mig::Model> load_model(const std::string& path) {
  const Result<std::string> text = os::read_file(path, "model file", kLargestFile);
  if (!text) return std::unexpected(text.error());
  return read_model(*text, path);
}

}  // namespace tangram::text
