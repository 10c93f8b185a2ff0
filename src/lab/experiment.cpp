// See experiment.hpp.
#include "lab/experiment.hpp"

#include "base/text.hpp"
#include "lab/kinds.hpp"
#include "mig/catalog.hpp"
#include "os/read_file.hpp"
#include "sim/knobs.hpp"
#include "text/toml_table.hpp"

namespace tangram::lab {
namespace {

using Mistakes = text::Findings;  // the lab's own Findings are results
using text::TomlTable;

constexpr std::size_t kMaxFileBytes = 1U << 20U;
constexpr int kMaxGpus = 1'000'000;
constexpr int kMaxTasks = 100'000'000;
constexpr int kMaxSeeds = 100'000;

const std::vector<std::string>& config_keys() {
  static const std::vector<std::string> keys{
      "title",     "section",   "kind",         "model",     "gpus",  "tasks", "seeds",
      "instances", "workloads", "load_percent", "threshold", "knobs", "try",   "node"};
  return keys;
}

std::vector<sim::Share> read_mix(const TomlTable& table, Mistakes& findings) {
  auto mix = sim::parse_mix(table.text("instances"));
  if (mix) return *mix;
  findings.add(table.where("instances"), mix.error().message);
  return {};
}

std::vector<std::string> read_knobs(const TomlTable& table, std::string_view key,
                                    Mistakes& findings) {
  std::vector<std::string> knobs = table.texts_or_none(key);
  for (const std::string& knob : knobs) {
    sim::Knobs tried;
    const auto set = sim::set_knob(tried, knob);
    if (!set) findings.add(table.where(key), set.error().message);
  }
  return knobs;
}

// The model must exist, and have the profiles of the instances.
void check_model(const TomlTable& table, Mistakes& findings, const std::string& name,
                 const std::vector<sim::Share>& instances) {
  const auto model = mig::find_model(name);
  if (!model) {
    findings.add(table.where("model"), model.error().message);
    return;
  }
  for (const sim::Share& share : instances) {
    const auto profile = (*model)->find_profile(share.profile);
    if (!profile) findings.add(table.where("instances"), profile.error().message);
  }
}

void read_nodes(const TomlTable& table, Mistakes& findings, Experiment& e) {
  static const std::vector<std::string> keys{"name", "model", "gpus", "instances", "knobs"};
  for (const TomlTable& node : table.tables_or_none("node", "a node")) {
    node.allow_only(keys);
    NodeVariant variant;
    variant.name = node.text("name");
    variant.model = node.text("model");
    variant.gpus = static_cast<std::uint32_t>(node.number("gpus", {1, kMaxGpus}));
    variant.instances = read_mix(node, findings);
    variant.knobs = read_knobs(node, "knobs", findings);
    check_model(node, findings, variant.model, variant.instances);
    e.nodes.push_back(std::move(variant));
  }
}

void read_config(const TomlTable& table, Mistakes& findings, Experiment& e) {
  table.allow_only(config_keys());
  e.title = table.text("title");
  e.section = table.text("section");
  e.kind = table.text("kind");
  e.model = table.text("model");
  e.gpus = static_cast<std::uint32_t>(table.number_or("gpus", {1, kMaxGpus}, 4));
  e.tasks = table.number_or("tasks", {1, kMaxTasks}, e.tasks);
  e.seeds = table.number_or("seeds", {1, kMaxSeeds}, e.seeds);
  e.load_percent = table.number_or("load_percent", {1, 1000}, e.load_percent);
  e.workloads = table.texts_or_none("workloads");
  e.instances = read_mix(table, findings);
  e.knobs = read_knobs(table, "knobs", findings);
  e.tries = read_knobs(table, "try", findings);
  read_nodes(table, findings, e);
  const auto threshold = core::Threshold::parse(table.text("threshold"));
  if (threshold) {
    e.threshold = *threshold;
  } else {
    findings.add(table.where("threshold"), threshold.error().message);
  }
  for (const std::string& name : e.workloads) {
    const auto known = sim::paper_workload(name);
    if (!known) findings.add(table.where("workloads"), known.error().message);
  }
  if (e.workloads.empty()) {
    findings.add(table.where("workloads"), cat("an experiment needs at least one of the workloads ",
                                               join_words(sim::paper_workload_names()), "."));
  }
  const auto kind = find_kind(e.kind);
  if (!kind) findings.add(table.where("kind"), kind.error().message);
  check_model(table, findings, e.model, e.instances);
}

void read_expected(const TomlTable& table, Experiment& e) {
  static const std::vector<std::string> keys{"paper", "claim"};
  static const std::vector<std::string> claim_keys{"measure", "on", "at_least_percent", "says"};
  table.allow_only(keys);
  e.paper = table.text("paper");
  for (const TomlTable& claim : table.tables_or_none("claim", "a claim")) {
    claim.allow_only(claim_keys);
    e.claims.push_back({claim.text("measure"), claim.texts_or_none("on"),
                        claim.number("at_least_percent", {0, 100}), claim.text("says")});
  }
}

Result<std::string> file_of(const std::string& directory, const std::string& path, bool needed) {
  if (!directory.empty()) {
    const auto text = os::read_file(directory + "/" + path, "experiment file", kMaxFileBytes);
    return text || needed ? text : Result<std::string>("");
  }
  for (const EmbeddedFile& file : embedded_experiments()) {
    if (file.path == path) return std::string(file.text);
  }
  if (!needed) return std::string();
  return not_found(cat("experiment file ", tangram::quoted(path), ": not found."));
}

}  // namespace

Result<Experiment> parse_experiment(std::string_view id, std::string_view config,
                                    std::string_view expected, std::string_view plot,
                                    std::string_view where) {
  Experiment e;
  e.id = id;
  e.plot = plot;
  const std::string config_name = cat(where, "/config.toml");
  const auto config_table = text::parse_toml(config, config_name);
  if (!config_table) return std::unexpected(config_table.error());
  Mistakes findings(config_name);
  read_config(TomlTable(*config_table, "an experiment", findings), findings, e);
  if (const auto first = findings.first()) return std::unexpected(*first);
  const std::string expected_name = cat(where, "/expected.toml");
  const auto expected_table = text::parse_toml(expected, expected_name);
  if (!expected_table) return std::unexpected(expected_table.error());
  Mistakes more(expected_name);
  read_expected(TomlTable(*expected_table, "what is expected", more), e);
  if (const auto first = more.first()) return std::unexpected(*first);
  return e;
}

Result<Experiment> load_experiment(std::string_view id, const std::string& directory) {
  const auto config = file_of(directory, cat(id, "/config.toml"), true);
  if (!config) return std::unexpected(config.error());
  const auto expected = file_of(directory, cat(id, "/expected.toml"), true);
  if (!expected) return std::unexpected(expected.error());
  const auto plot = file_of(directory, cat(id, "/plot.gp"), false);
  if (!plot) return std::unexpected(plot.error());
  const std::string root = directory.empty() ? "experiments" : directory;
  return parse_experiment(id, *config, *expected, *plot, cat(root, "/", id));
}

const std::vector<std::string>& paper_suite() {
  static const std::vector<std::string> suite{"tpot",          "instances", "wait",
                                              "fragmentation", "execution", "ablation"};
  return suite;
}

const std::vector<std::string>& extra_suite() {
  static const std::vector<std::string> suite{"threshold", "sensitivity", "baselines", "gpu-models",
                                              "node-size"};
  return suite;
}

}  // namespace tangram::lab
