// `tangram gpus`: draws the GPUs of the node as maps of their memory slices.
#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/slice_map.hpp"
#include "cli/client/watch.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

void print_gpu(const api::GpuView& gpu, Output& out) {
  std::string head = out.paint(cat("GPU ", gpu.index), Style::kBold);
  head += cat("  ", terminal_safe(gpu.model.empty() ? gpu.name : gpu.model));
  if (gpu.trouble.empty()) {
    head +=
        cat("  ", out.paint(gpu.busy ? "Busy" : "Lazy", gpu.busy ? Style::kYellow : Style::kGood));
    head += fmt::format("  load {:.2f}  FragCost {:.3f}", gpu.load, gpu.frag_cost);
  }
  if (gpu.cordoned) head += cat("  ", out.paint("cordoned", Style::kYellow));
  if (gpu.draining) head += cat("  ", out.paint("draining", Style::kYellow));
  if (gpu.health != "ok") head += cat("  ", out.paint(terminal_safe(gpu.health), Style::kBad));
  out.line(head);
  if (!gpu.trouble.empty()) out.paragraph(terminal_safe(gpu.trouble));
  if (gpu.memory_slices > 0) out.add(slice_map(out, gpu));
}

Result<void> gpus(const DaemonOptions& options, bool as_json, Output& out) {
  auto client = connect(options);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->request("GET", "/v1/gpus");
  if (!reply) return std::unexpected(reply.error());
  if (as_json) {
    out.add(text::json_text(reply->body));
    return {};
  }
  const auto& list = reply->body.as_array();
  if (list.empty()) out.line("no GPUs");
  for (const auto& document : list) {
    const auto gpu = api::read_gpu_view(document);
    if (!gpu) return std::unexpected(gpu.error());
    print_gpu(*gpu, out);
  }
  return {};
}

}  // namespace

void add_gpus(Verb& app, Command& command) {
  const auto options = std::make_shared<DaemonOptions>();
  Verb verb = app.add_subcommand("gpus", "Show GPUs and the jobs on their slices");
  add_daemon_options(*verb, *options);
  add_output_options(*verb, command);
  add_watch_option(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram gpus\n"
      "  tangram gpus --watch 1s\n"
      "A box is an instance with its job. Idle instances can be destroyed to make\n"
      "space, foreign ones were not created by Tangram, quarantined ones could not be\n"
      "destroyed.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return gpus(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
