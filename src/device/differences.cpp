// See differences.hpp.
#include "device/differences.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace tangram::device {
namespace {

struct FactName {
  std::string_view name;
  int mig::ProfileFacts::* fact;
};

constexpr FactName kFacts[] = {
    {"memory (MiB)", &mig::ProfileFacts::memory_mib},
    {"NVML number", &mig::ProfileFacts::nvml_enum},
    {"NVML id", &mig::ProfileFacts::nvml_id},
    {"multiprocessors", &mig::ProfileFacts::multiprocessors},
    {"copy engines", &mig::ProfileFacts::copy_engines},
    {"decoders", &mig::ProfileFacts::decoders},
    {"encoders", &mig::ProfileFacts::encoders},
    {"JPEG engines", &mig::ProfileFacts::jpeg},
    {"optical flow engines", &mig::ProfileFacts::ofa},
};

std::string starts_text(std::vector<int> starts) {
  std::ranges::sort(starts);
  std::vector<std::string> words;
  for (const int start : starts) words.push_back(std::to_string(start));
  return join_words(words);
}

// Collects the sentences about one model.
class Comparison {
 public:
  explicit Comparison(std::string_view model) : model_(model) {}

  void compare(std::string_view what, const auto& in_table, const auto& reported) {
    if (in_table == reported) return;
    add(cat(what, " is ", reported, " by the driver, ", in_table, " in the table."));
  }
  void compare(const mig::Profile& table, const mig::Profile& reported) {
    const std::string of = cat(table.name, ": ");
    compare(cat(of, "compute slices"), table.compute_slices, reported.compute_slices);
    compare(cat(of, "memory slices"), table.memory_slices, reported.memory_slices);
    compare(cat(of, "the list of starts"), starts_text(table.starts), starts_text(reported.starts));
    compare(cat(of, "most instances"), table.max_instances, reported.max_instances);
    for (const FactName& row : kFacts) {
      const int ours = table.facts.*row.fact;
      const int theirs = reported.facts.*row.fact;
      if (ours != mig::kUnknown && theirs != mig::kUnknown)
        compare(cat(of, row.name), ours, theirs);
    }
  }
  void add(const std::string& sentence) { sentences_.push_back(cat(model_, ": ", sentence)); }

  [[nodiscard]] std::vector<std::string> take() { return std::move(sentences_); }

 private:
  std::string_view model_;
  std::vector<std::string> sentences_;
};

const mig::Profile* find(const mig::ModelSpec& spec, const std::string& name) {
  const auto found = std::ranges::find(spec.profiles, name, &mig::Profile::name);
  return found == spec.profiles.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> differences(const mig::ModelSpec& table, const mig::ModelSpec& reported) {
  Comparison comparison(table.name);
  comparison.compare("compute slices", table.compute_slices, reported.compute_slices);
  comparison.compare("memory slices", table.memory_slices, reported.memory_slices);
  for (const mig::Profile& profile : table.profiles) {
    const mig::Profile* theirs = find(reported, profile.name);
    if (theirs == nullptr) {
      comparison.add(cat(profile.name, " is in the table; the driver does not offer it."));
    } else {
      comparison.compare(profile, *theirs);
    }
  }
  for (const mig::Profile& profile : reported.profiles) {
    if (find(table, profile.name) != nullptr) continue;
    comparison.add(cat(profile.name, " is offered by the driver; the table lacks it."));
  }
  return comparison.take();
}

}  // namespace tangram::device
