// NodeSpec: an emulated node as somebody describes it, in one line ("4xA100-40GB,2xA30") or in a
// TOML file with everything that can be set (docs/emulator.md). One rule: a description that cannot
// be kept (an unknown model, an illegal layout) is refused here, with its place, and never later.
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
  std::vector<mig::PlacementText> instances;  // that are there from the beginning, foreign to all
  std::uint32_t link_kbps = 0;
  std::uint32_t flow_kbps = 0;
};

struct NodeSpec {
  std::string description;  // what it was made from
  std::string driver = "570.133.20";
  Privileges privileges = Privileges::kOwner;
  bool find_processes = false;
  bool shared = false;  // every user of the machine may register processes and demands
  Latencies latencies;
  std::vector<GpuSpec> gpus;
};

// GI and CI together 0.15 s to create and 0.1 s to destroy, up to 0.5 s "in use" after the last
// process: what was seen on an A30. A PCIe reading takes 20 ms.
[[nodiscard]] Latencies usual_latencies();

// A short form, or the path of a node file.
[[nodiscard]] Result<NodeSpec> read_node(const std::string& description);
// What is in a state file: a short form, or the text of a node file.
[[nodiscard]] Result<NodeSpec> parse_description(const std::string& description);
[[nodiscard]] Result<NodeSpec> parse_short_form(std::string_view text);
[[nodiscard]] Result<NodeSpec> parse_node_file(std::string_view text, std::string_view file);

}  // namespace tangram::emulator
