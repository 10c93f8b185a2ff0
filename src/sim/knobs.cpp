// See knobs.hpp.
#include "sim/knobs.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace tangram::sim {
namespace {

constexpr Knob kKnobTable[] = {
    {"create_s", "s", "creation of an instance", 0, 3600, &Knobs::create_s},
    {"destroy_s", "s", "destruction of an instance", 0, 3600, &Knobs::destroy_s},
    {"in_use_s", "s", "a released instance may refuse destruction", 0, 3600, &Knobs::in_use_s},
    {"process_start_s", "s", "process and CUDA context", 0, 3600, &Knobs::process_start_s},
    {"load_gbps", "GB/s", "loading of weights", 1e-3, 1e6, &Knobs::load_gbps},
    {"drain_query", "0 or 1", "a query ends where it began", 0, 1, &Knobs::drain_query},
    {"drain_s", "s", "draining of the original", 0, 3600, &Knobs::drain_s},
    {"stop_s", "s", "from the signal to the last process", 0, 3600, &Knobs::stop_s},
    {"bytes_per_weight", "bytes", "2: fp16, 4: fp32", 0.25, 8, &Knobs::bytes_per_weight},
    {"reserve_gib", "GiB", "memory that weights cannot use", 0, 1000, &Knobs::reserve_gib},
    {"kv_tokens", "tokens", "context kept resident", 0, 1e6, &Knobs::kv_tokens},
    {"hbm_gbps", "GB/s", "memory bandwidth of a whole GPU", 1, 1e6, &Knobs::hbm_gbps},
    {"hbm_efficiency", "", "of the bandwidth, in decode", 0.01, 1, &Knobs::hbm_efficiency},
    {"tflops", "TFLOPS", "of a whole GPU", 0.1, 1e6, &Knobs::tflops},
    {"hbm_streamed", "0 or 1", "fetched weights are read from memory, too", 0, 1,
     &Knobs::hbm_streamed},
    {"multiprocessors", "", "of a whole GPU", 1, 1e6, &Knobs::multiprocessors},
    {"flops_efficiency", "", "of the FLOPS, in prefill", 0.01, 1, &Knobs::flops_efficiency},
    {"link_gbps", "GB/s", "PCIe link of a GPU", 0.01, 1e6, &Knobs::link_gbps},
    {"flow_gbps", "GB/s", "maximum of one stream", 0.01, 1e6, &Knobs::flow_gbps},
    {"prefetch", "0 or 1", "transfer and compute overlap", 0, 1, &Knobs::prefetch},
    {"tlb_penalty", "", "slow-down of compute per neighbour", 0, 10, &Knobs::tlb_penalty},
    {"contention", "0 or 1", "neighbours slow each other down", 0, 1, &Knobs::contention},
};

// Shortest form: 0.01, not 0.010000.
std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::span<const Knob> knob_table() { return kKnobTable; }

Result<const Knob*> find_knob(std::string_view name) {
  std::vector<std::string> names;
  for (const Knob& knob : kKnobTable) {
    if (knob.name == name) return &knob;
    names.emplace_back(knob.name);
  }
  const auto near = nearest(name, names);
  return not_found(cat("unknown knob ", quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " Known: ", join_words(names), "."));
}

Result<void> set_knob(Knobs& knobs, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return invalid(cat("cannot read the knob ", quoted(assignment),
                       "; write NAME=NUMBER, e.g. link_gbps=12."));
  }
  const auto knob = find_knob(assignment.substr(0, equals));
  if (!knob) return std::unexpected(knob.error());
  const std::string_view text = assignment.substr(equals + 1);
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc{} && end == text.data() + text.size();
  if (!whole || !std::isfinite(value) || value < (*knob)->lowest || value > (*knob)->highest) {
    return invalid(cat("the knob ", (*knob)->name, " takes a number from ",
                       number_text((*knob)->lowest), " to ", number_text((*knob)->highest),
                       ", not ", quoted(text), "."));
  }
  knobs.*((*knob)->value) = value;
  return {};
}

}  // namespace tangram::sim
