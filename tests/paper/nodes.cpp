// See nodes.hpp.
#include "nodes.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/candidates.hpp"
#include "core/transcript.hpp"
#include "mig/catalog.hpp"
#include "mig/layout.hpp"
#include "policies/migration.hpp"
#include "policies/registry.hpp"

namespace tangram::paper {
namespace {

std::shared_ptr<const mig::Model> shared_model(std::string_view name) {
  return {std::shared_ptr<void>(), *mig::find_model(name)};
}

core::Tuning tuning_of(std::string_view threshold) {
  core::Tuning tuning;
  tuning.threshold = *core::Threshold::parse(threshold);
  tuning.restraint.cooldown = Duration::zero();
  return tuning;
}

core::Policies the_paper() { return *policies::find_policies(core::Tuning{}); }

}  // namespace

core::Node node_of(std::string_view threshold, const std::vector<GpuText>& gpus) {
  core::Snapshot snapshot{.tuning = tuning_of(threshold), .gpus = {}};
  for (const GpuText& gpu : gpus) {
    core::SnapshotGpu& added = snapshot.gpus.emplace_back();
    added.model = shared_model(gpu.model);
    for (const std::string& job : gpu.jobs) {
      const auto colon = job.find(':');
      const auto at = *mig::parse_placement(job.substr(colon + 1));
      added.jobs.push_back(
          {core::JobId(std::stoull(job.substr(0, colon))), at.profile, at.start, true});
    }
    for (const std::string& idle : gpu.idle) {
      const auto at = *mig::parse_placement(idle);
      added.idle.push_back({at.profile, at.start});
    }
  }
  auto node = core::build(snapshot);
  CHECK(node.has_value());
  return std::move(*node);
}

mig::Occupancy occupied(const core::Node& node, std::uint32_t gpu) {
  return node.gpu(core::GpuId(gpu)).occupied;
}

mig::Placement placement(const core::Node& node, std::uint32_t gpu, std::string_view text) {
  const mig::Model& model = node.model(core::GpuId(gpu));
  const auto at = *mig::parse_placement(text);
  return *model.placement(*model.find_profile(at.profile), at.start);
}

std::optional<core::Slot> arrive(const core::Node& node, std::string_view profile) {
  const core::Request request{.profile = *node.find_name(profile)};
  const core::PlacementPolicy& policy = **policies::find_placement("paper");
  const auto slot = core::choose(node, policy, request);
  EXPECT_EQ(slot, core::choose_plainly(node, policy, request));
  return slot;
}

std::optional<core::Move> next_move(const core::Node& node, std::uint32_t gpu) {
  const auto move = policies::both_next_move(node, core::GpuId(gpu)).move;
  EXPECT_EQ(move, policies::both_next_move_plain(node, core::GpuId(gpu)).move);
  return move;
}

std::string text(const std::optional<core::Slot>& slot) {
  if (!slot) return "queued";
  return cat("gpu ", slot->gpu.value(), " start ", int{slot->start}, slot->reuse ? " reuse" : "");
}

std::string text(const std::optional<core::Move>& move) {
  if (!move) return "none";
  return cat("job ", move->job.value(), " to ", text(std::optional(move->to)));
}

Driver::Driver(std::uint32_t gpus, std::string_view threshold)
    : scheduler_(tuning_of(threshold), the_paper()) {
  for (std::uint32_t i = 0; i < gpus; ++i) send(core::GpuAdded{shared_model("A100-40GB"), {}});
}

void Driver::send(const core::Event& event) {
  const std::size_t before = open_.size();
  scheduler_.step(Instant{}, event, open_);
  for (std::size_t i = before; i < open_.size(); ++i) {
    if (open_[i].index() < 5) log.push_back(core::to_text(scheduler_.node(), open_[i]));
  }
}

core::Actions Driver::take_open() { return std::exchange(open_, {}); }

void Driver::answer(const core::Action& action) {
  if (const auto* a = std::get_if<core::CreateInstance>(&action)) {
    send(core::InstanceCreated{a->gpu, a->instance});
  } else if (const auto* b = std::get_if<core::DestroyInstance>(&action)) {
    send(core::InstanceDestroyed{b->gpu, b->instance});
  } else if (const auto* c = std::get_if<core::StartJob>(&action)) {
    send(core::JobReady{c->job, c->run});
  } else if (const auto* d = std::get_if<core::SwitchTraffic>(&action)) {
    send(core::TrafficSwitched{d->job, d->to});
    send(core::TrafficDrained{d->job, d->from, d->to});
  } else if (const auto* e = std::get_if<core::StopJob>(&action)) {
    send(core::JobExited{e->job, e->run, true});
  }
}

void Driver::answer_all() {
  while (!open_.empty()) {
    for (const core::Action& action : take_open()) answer(action);
  }
}

void Driver::submit(std::uint64_t job, std::string_view profile) {
  send(core::JobSubmitted{{.id = core::JobId(job), .profile = std::string(profile)}});
  answer_all();
}

void Driver::exit(std::uint64_t job) {
  const core::JobSlot s = scheduler_.node().find_job(core::JobId(job));
  CHECK(s != core::kNoJob);
  send(core::JobExited{core::JobId(job), scheduler_.node().job(s).main.run, true});
}

}  // namespace tangram::paper
