// See commands.hpp: the input lines about GPUs and their observations, and `show`.
#include "base/text.hpp"
#include "commands.hpp"
#include "core/expected_start.hpp"
#include "core/transcript.hpp"
#include "mig/layout.hpp"

namespace tangram::scenario {

Result<core::GpuId> Commands::gpu_id(Words& words) {
  if (auto ok = words.expect("gpu"); !ok) return std::unexpected(ok.error());
  const auto number = words.number("the number of a GPU");
  if (!number) return std::unexpected(number.error());
  const core::GpuId gpu(static_cast<std::uint32_t>(*number));
  if (gpu.value() >= world_.node().gpu_count()) return invalid(cat("no GPU ", *number, "."));
  return gpu;
}

Result<void> Commands::cordon(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::GpuCordoned{*gpu});
}

Result<void> Commands::uncordon(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::GpuUncordoned{*gpu});
}

Result<void> Commands::drain(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::GpuDrained{*gpu});
}

Result<void> Commands::lose(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.lose(*gpu);
}

Result<void> Commands::unresponsive(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::GpuHealth{*gpu, core::Health::kUnresponsive});
}

Result<void> Commands::recover(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::GpuHealth{*gpu, core::Health::kOk});
}

// "foreign 1g.5gb@0 on gpu 1 seen"
Result<void> Commands::foreign(Words& words) {
  const auto word = words.next("a placement");
  if (!word) return std::unexpected(word.error());
  const auto text = mig::parse_placement(*word);
  if (!text) return std::unexpected(text.error());
  if (auto ok = words.expect("on"); !ok) return ok;
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  const mig::Model& model = world_.node().model(*gpu);
  const auto profile = model.find_profile(text->profile);
  if (!profile) return std::unexpected(profile.error());
  const auto placement = model.placement(*profile, text->start);
  if (!placement) return std::unexpected(placement.error());
  if (words.take("gone")) return world_.send(core::ForeignGone{*gpu, *placement});
  if (auto ok = words.expect("seen"); !ok) return ok;
  return world_.foreign_seen(*gpu, *placement);
}

// "unknown process in gpu 0 start 4 [gone]"
Result<void> Commands::unknown_process(Words& words) {
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.expect("start"); !ok) return ok;
  const auto start = words.number("a start");
  if (!start) return std::unexpected(start.error());
  for (const core::Entry& e : world_.node().entries(*gpu)) {
    if (e.placement.start != *start || !e.physical()) continue;
    const core::InstanceId id = e.id;
    if (words.take("gone")) return world_.send(core::QuarantineEnded{*gpu, id});
    if (auto ok = words.end(); !ok) return ok;
    return world_.send(core::InstanceQuarantined{*gpu, id});
  }
  return invalid("no instance there.");
}

// What a queue with backfill says about the start of waiting jobs.
void Commands::show_starts() {
  const core::Node& node = world_.node();
  for (const core::JobId id : world_.scheduler()->waiting()) {
    const core::Job& job = node.job(node.find_job(id));
    std::string line;
    if (job.reservation) {
      line += cat(" reserved gpu ", job.reservation->gpu.value(), " start ",
                  int{job.reservation->start}, " from ", core::instant_text(job.reservation->time));
    }
    if (const auto expected = core::expected_start(*world_.scheduler(), id)) {
      line += cat(" expected at ", core::instant_text(expected->time));
      if (expected->after) line += cat(" after job ", expected->after->value());
    }
    if (job.passed > 0) line += cat(" passed by ", job.passed);
    if (job.lost_reservation) line += cat(" lost ", core::instant_text(*job.lost_reservation));
    if (!line.empty()) out_ += cat("  job ", id.value(), ":", line, "\n");
  }
}

Result<void> Commands::show(Words& words) {
  if (auto ok = words.end(); !ok) return ok;
  const core::Node& node = world_.node();
  std::string planning;
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    out_ += cat("  ", core::gpu_line(node, core::GpuId(g)), "\n");
    if (world_.scheduler()->awaits_planning(core::GpuId(g))) planning += cat(" gpu ", g);
  }
  std::string queue;
  for (const core::JobId id : world_.scheduler()->waiting()) queue += cat(" job ", id.value());
  if (!queue.empty()) out_ += cat("  queue:", queue, "\n");
  show_starts();
  std::string held;
  for (const core::JobSlot s : node.jobs_by_id()) {
    const core::Job& job = node.job(s);
    if (job.phase != core::JobPhase::kHeld) continue;
    held += cat(" job ", job.id.value(), (job.holds & core::kHoldUser) != 0 ? " (user)" : "",
                (job.holds & core::kHoldUnservable) != 0 ? " (no GPU in service)" : "",
                (job.holds & core::kHoldLimit) != 0 ? " (limit)" : "",
                (job.holds & core::kHoldDependency) != 0 ? " (dependency)" : "",
                (job.holds & core::kHoldArray) != 0 ? " (array)" : "");
  }
  if (!held.empty()) out_ += cat("  held:", held, "\n");
  if (!planning.empty()) out_ += cat("  moves are still to be planned for", planning, "\n");
  return {};
}

}  // namespace tangram::scenario
