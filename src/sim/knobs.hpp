// Knobs: every assumption of the simulation outside the scheduler. Each has a default with a source
// or the word "assumed" (docs/simulator.md), and `tangram sim sweep` can vary each by name.
// Assumptions are defined here only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::sim {

struct Knobs {
  // Reconfiguration, in seconds: an A30 through NVML; the A100 is assumed alike.
  double create_s = 0.15;
  double destroy_s = 0.1;
  double in_use_s = 0.5;  // how long a released instance may refuse to be destroyed

  // Start of a replica: process and CUDA context (assumed), then the weights at load_gbps.
  double process_start_s = 2.0;
  double load_gbps = 2.6;
  double drain_query = 1;  // 1: a query ends where it began; 0: it moves at once
  double drain_s = 0;      // time to drain an original without queries (assumed)
  double stop_s = 0.1;     // from the signal to the last process (assumed)

  // The models in memory.
  double bytes_per_weight = 2;  // 2: fp16, 4: fp32
  double reserve_gib = 0.6;     // CUDA context and fragmentation (assumed)
  double kv_tokens = 1024;      // of context kept resident (assumed)

  // Speed. Decode reaches about half of the memory bandwidth; prefill of the FLOPS (assumed).
  double hbm_gbps = 1555.2;  // of a whole A100 40GB; a slice has its share of memory slices
  double hbm_efficiency = 0.5;
  double hbm_streamed = 0;  // 1: weights that are fetched are then read from memory, too
  double tflops = 312;      // fp16 dense, of all multiprocessors
  double multiprocessors = 108;
  double flops_efficiency = 0.5;

  // The PCIe link of a GPU, shared by its instances.
  double link_gbps = 25.7;    // host to device, pinned, gen 4 x16
  double flow_gbps = 25.7;    // maximum of one stream: 25.7 pinned, about 10 pageable
  double prefetch = 0;        // 0: transfer and compute add; 1: they overlap
  double tlb_penalty = 0.02;  // slow-down of compute per neighbour: the shared TLB (assumed)
  double contention = 1;      // 0: every job runs as if it were alone
};

struct Knob {
  std::string_view name;
  std::string_view unit;
  std::string_view summary;
  double lowest;
  double highest;
  double Knobs::* value;
};

[[nodiscard]] std::span<const Knob> knob_table();
[[nodiscard]] Result<const Knob*> find_knob(std::string_view name);
// "link_gbps=12": sets the knob; the error says what is allowed.
[[nodiscard]] Result<void> set_knob(Knobs& knobs, std::string_view assignment);

}  // namespace tangram::sim
