// NodeSpec: the description of an emulated node, from one line ("4xA100-40GB,2xA30") or a TOML file
// with all settings (docs/emulator.md). An invalid description (an unknown model, an illegal
// layout) is rejected here, with line and column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "emulator/state.hpp"
#include "mig/layout.hpp"

namespace tangram::emulator {

struct GpuSpec {
  std::string model;  // of the catalog
  bool mig = true;
  bool swapped = false;
  bool in_vm = false;
  std::vector<mig::PlacementText> instances;  // present from the start, not Tangram's
  std::uint32_t link_kbps = 0;
  std::uint32_t flow_kbps = 0;
};

struct NodeSpec {
  std::string description;  // its source text
  std::string driver = "570.133.20";
  Privileges privileges = Privileges::kOwner;
  bool find_processes = false;
  bool shared = false;  // all users may register processes and demands
  Latencies latencies;
  std::vector<GpuSpec> gpus;
};

// The default latencies: GI and CI together 0.15 s to create and 0.1 s to destroy, up to 0.5 s "in
// use" after the last process, as measured on an A30. A PCIe reading takes 20 ms.
[[nodiscard]] Latencies usual_latencies();

// `description`: a short form, or the path of a node file.
[[nodiscard]] Result<NodeSpec> read_node(const std::string& description);
// `description`: the text in a state file, a short form or a node file.
[[nodiscard]] Result<NodeSpec> parse_description(const std::string& description);
[[nodiscard]] Result<NodeSpec> parse_short_form(std::string_view text);
[[nodiscard]] Result<NodeSpec> parse_node_file(std::string_view text, std::string_view file);

}  // namespace tangram::emulator
