// See node_spec.hpp.
#include "emulator/node_spec.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "emulator/board.hpp"
#include "mig/catalog.hpp"
#include "os/read_file.hpp"
#include "text/toml_table.hpp"

namespace tangram::emulator {
namespace {

constexpr std::size_t kLargestFile = sizeof(DescriptionState::text) - 1;
constexpr int kMaxCount = 1'000'000;  // accepted by the parser; the error for too many is better
constexpr std::uint32_t kMillisecond = 1000;
constexpr std::uint32_t kMegabyte = 1000;  // in KB
constexpr text::Range kMilliseconds{0, 600'000};
constexpr text::Range kMegabytesPerSecond{1, 1'000'000};

// The practical throughput of a link of sixteen lanes.
std::uint32_t usual_link_kbps(unsigned generation) {
  switch (generation) {
    case 4:
      return 25'000'000;
    case 5:
      return 50'000'000;
    default:
      return 100'000'000;
  }
}

GpuSpec gpu_of(const mig::Model& model) {
  GpuSpec gpu{.model = model.name(), .instances = {}};
  gpu.link_kbps = usual_link_kbps(board_of(model.name()).pcie_generation);
  gpu.flow_kbps = gpu.link_kbps;
  return gpu;
}

// Finds a model by its name or by a prefix up to a dash that matches one model only: "A30" for
// "A30-24GB".
Result<const mig::Model*> model_of(std::string_view name) {
  auto exact = mig::find_model(name);
  if (exact) return exact;
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  const mig::Model* only = nullptr;
  for (const mig::Model& model : mig::catalog()) {
    const std::string& full = model.name();
    if (full.size() <= name.size() || full[name.size()] != '-') continue;
    if (!std::ranges::equal(name, full.substr(0, name.size()), same)) continue;
    if (only != nullptr) return exact;  // ambiguous: the error lists them all
    only = &model;
  }
  if (only == nullptr) return exact;
  return only;
}

Error bad_short_form(std::string_view part, std::string_view why) {
  return {ErrorCode::kInvalid,
          cat("invalid emulated node ", tangram::quoted(part), ": ", why,
              " Write COUNTxMODEL, e.g. 4xA100-40GB or 2xH100-80GB,2xA30, or the path of a node "
              "file (see docs/emulator.md).")};
}

Result<void> add_part(NodeSpec& spec, std::string_view part) {
  std::string_view name = part;
  int count = 1;
  const std::size_t x = part.find('x');
  if (x != std::string_view::npos) {
    if (const auto n = parse_int(part.substr(0, x), 1, kMaxCount)) {
      count = *n;
      name = part.substr(x + 1);
    }
  }
  const auto model = model_of(name);
  if (!model) return std::unexpected(bad_short_form(part, model.error().message));
  if (spec.gpus.size() + static_cast<std::size_t>(count) > kMaxGpus) {
    return std::unexpected(
        bad_short_form(part, cat("a node has at most ", kMaxGpus, " emulated GPUs.")));
  }
  for (int i = 0; i < count; ++i) spec.gpus.push_back(gpu_of(**model));
  return {};
}

void read_latency(const text::TomlTable& table, Latencies& latencies) {
  static const std::vector<std::string> keys = {"create_gpu_instance",
                                                "create_compute_instance",
                                                "destroy_compute_instance",
                                                "destroy_gpu_instance",
                                                "linger",
                                                "mig_mode",
                                                "pcie_throughput"};
  table.allow_only(keys);
  const auto read = [&](std::string_view key, std::uint32_t& value) {
    const int usual = static_cast<int>(value / kMillisecond);
    value = static_cast<std::uint32_t>(table.number_or(key, kMilliseconds, usual)) * kMillisecond;
  };
  read("create_gpu_instance", latencies.create_gi);
  read("create_compute_instance", latencies.create_ci);
  read("destroy_compute_instance", latencies.destroy_ci);
  read("destroy_gpu_instance", latencies.destroy_gi);
  read("linger", latencies.linger);
  read("mig_mode", latencies.mig_mode);
  read("pcie_throughput", latencies.pcie_throughput);
}

void read_instances(const text::TomlTable& table, const mig::Model& model, GpuSpec& gpu,
                    text::Findings& findings) {
  for (const std::string& text : table.texts_or_none("instances")) {
    const auto placement = mig::parse_placement(text);
    if (!placement) {
      findings.add(table.where("instances"), placement.error().message);
    } else {
      gpu.instances.push_back(*placement);
    }
  }
  const auto layout = mig::Layout::make(model, gpu.instances);
  if (!layout) findings.add(table.where("instances"), layout.error().message);
  if (!gpu.instances.empty() && !gpu.mig) {
    findings.add(table.where("instances"), "a GPU with mig = false has no instances.");
  }
}

void read_gpu(const text::TomlTable& table, NodeSpec& spec, text::Findings& findings) {
  static const std::vector<std::string> keys = {"model", "count",     "mig",       "swapped",
                                                "in_vm", "instances", "link_mbps", "flow_mbps"};
  table.allow_only(keys);
  const auto model = model_of(table.text("model"));
  const int count = table.number_or("count", {1, static_cast<int>(kMaxGpus)}, 1);
  if (!model) {
    findings.add(table.where("model"), model.error().message);
    return;
  }
  GpuSpec gpu = gpu_of(**model);
  gpu.mig = table.flag_or("mig", true);
  gpu.swapped = table.flag_or("swapped", false);
  gpu.in_vm = table.flag_or("in_vm", false);
  gpu.link_kbps =
      static_cast<std::uint32_t>(table.number_or("link_mbps", kMegabytesPerSecond,
                                                 static_cast<int>(gpu.link_kbps / kMegabyte))) *
      kMegabyte;
  gpu.flow_kbps =
      static_cast<std::uint32_t>(table.number_or("flow_mbps", kMegabytesPerSecond,
                                                 static_cast<int>(gpu.link_kbps / kMegabyte))) *
      kMegabyte;
  read_instances(table, **model, gpu, findings);
  spec.gpus.insert(spec.gpus.end(), static_cast<std::size_t>(count), gpu);
}

void read_options(const text::TomlTable& table, NodeSpec& spec, text::Findings& findings) {
  const std::string driver = table.text_or("driver", spec.driver);
  if (driver.empty() || driver.size() >= sizeof(NodeState::driver)) {
    findings.add(table.where("driver"), "invalid driver version; use e.g. 570.133.20.");
  }
  spec.driver = driver;
  const std::string privileges = table.text_or("privileges", "owner");
  if (privileges != "owner" && privileges != "root") {
    findings.add(table.where("privileges"),
                 cat("invalid privileges ", tangram::quoted(privileges),
                     "; allowed: \"owner\" (the owner of the state file has all rights) and "
                     "\"root\" (as on hardware)."));
  }
  spec.privileges = privileges == "root" ? Privileges::kRoot : Privileges::kOwner;
  spec.find_processes = table.flag_or("find_processes", false);
  spec.shared = table.flag_or("shared", false);
}

}  // namespace

Latencies usual_latencies() {
  return {.create_gi = 100 * kMillisecond,
          .create_ci = 50 * kMillisecond,
          .destroy_ci = 40 * kMillisecond,
          .destroy_gi = 60 * kMillisecond,
          .linger = 500 * kMillisecond,
          .mig_mode = 500 * kMillisecond,
          .pcie_throughput = 20 * kMillisecond};
}

Result<NodeSpec> parse_short_form(std::string_view text) {
  NodeSpec spec{.description = std::string(text), .latencies = usual_latencies(), .gpus = {}};
  if (text.size() >= sizeof(DescriptionState::text)) {
    return std::unexpected(bad_short_form(text.substr(0, 60), "it is too long."));
  }
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const auto added = add_part(spec, text.substr(from, comma - from));
    if (!added) return std::unexpected(added.error());
    from = comma + 1;
  }
  return spec;
}

Result<NodeSpec> parse_node_file(std::string_view text, std::string_view file) {
  if (text.size() > kLargestFile) {
    return invalid(cat(file, ": a node file has at most ", kLargestFile, " bytes."));
  }
  const auto parsed = text::parse_toml(text, file);
  if (!parsed) return std::unexpected(parsed.error());
  NodeSpec spec{.description = std::string(text), .latencies = usual_latencies(), .gpus = {}};
  text::Findings findings(file);
  const text::TomlTable table(*parsed, "a node", findings);
  static const std::vector<std::string> keys = {"driver", "privileges", "find_processes",
                                                "shared", "latency",    "gpu"};
  table.allow_only(keys);
  read_options(table, spec, findings);
  if (const auto latency = table.table_or_none("latency", "the latencies")) {
    read_latency(*latency, spec.latencies);
  }
  const auto gpus = table.tables("gpu", "a GPU");
  if (gpus.empty()) findings.add(table.where("gpu"), "a node has at least one emulated GPU.");
  for (const text::TomlTable& gpu : gpus) read_gpu(gpu, spec, findings);
  if (spec.gpus.size() > kMaxGpus) {
    findings.add(table.where("gpu"), cat("a node has at most ", kMaxGpus, " emulated GPUs."));
  }
  if (const auto mistake = findings.first()) return std::unexpected(*mistake);
  return spec;
}

Result<NodeSpec> parse_description(const std::string& description) {
  const bool is_file = description.find_first_of("\n=") != std::string::npos;
  return is_file ? parse_node_file(description, "the node file") : parse_short_form(description);
}

Result<NodeSpec> read_node(const std::string& description) {
  const bool is_path = description.find('/') != std::string::npos || description.ends_with(".toml");
  if (!is_path) return parse_short_form(description);
  const auto text = os::read_file(description, "node file", kLargestFile);
  if (!text) return std::unexpected(text.error());
  return parse_node_file(*text, description);
}

}  // namespace tangram::emulator
