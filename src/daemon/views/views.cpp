// See views.hpp.
#include "daemon/views/views.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"
#include "core/transcript.hpp"
#include "daemon/engine/tuning_text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/runs/supervisor.hpp"
#include "device/gpus.hpp"

namespace tangram::daemon {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The reason without anything that the job itself reported.
std::string public_reason(const store::JobRow& row) {
  const bool held = row.state == api::name_of(api::JobState::kHeld);
  if (held || row.kind == "lease") return row.reason;
  if (row.exit_code && *row.exit_code != 0) return cat("exited with ", *row.exit_code);
  if (row.exit_signal) return cat("killed by signal ", *row.exit_signal);
  return "";
}

std::string why_missing(const store::GpuRow& row) {
  return cat("not in this node any more: the driver does not list ", row.uuid,
             ". Check `nvidia-smi -L` and the kernel log, and reboot the node; if the GPU was "
             "removed for good, run `tangram cordon ",
             row.gpu, "` to end the alert.");
}

}  // namespace

api::JobView Views::outline(const store::JobRow& row, bool may_read) const {
  api::JobView view;
  view.id = row.id;
  if (row.array != 0) {
    view.array = row.array;
    view.array_index = row.array_index;
  }
  view.user = row.user;
  view.uid = row.uid;
  view.request.name = row.name;
  view.request.profile = row.profile;
  for (const auto kind : {api::JobKind::kService, api::JobKind::kLease}) {
    if (row.kind == api::name_of(kind)) view.request.kind = kind;
  }
  view.outline = true;
  view.state = api::find_state(row.state).value_or(api::JobState::kFailed);
  view.reason = may_read ? row.reason : public_reason(row);
  if (may_read) view.request.labels = api::read_labels(row.labels);
  view.profile = row.profile;
  view.gpu = row.gpu;
  if (row.gpu) view.gpu_uuid = hardware_.uuid_of(core::GpuId(*row.gpu));
  view.start = row.start;
  view.mig_uuid = row.mig_uuid;
  view.port = row.port;
  view.address = row.address;
  view.exit_code = row.exit_code;
  view.exit_signal = row.exit_signal;
  view.restarts = row.restarts;
  view.waits_for = api::read_stored_dependencies(row.waits_for);
  view.submitted = row.submitted;
  view.started = row.started;
  view.ended = row.ended;
  if (row.over) return view;
  if (row.run) view.pid = supervisor_.pid_of(*row.run);
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(row.id));
  view.moving = slot != core::kNoJob && node.job(slot).moving();
  return view;
}

Views::Queue Views::queue() const {
  Queue ahead;
  for (const auto& queued : engine_.scheduler().queued_jobs()) {
    ahead.emplace(queued.job.value(), queued.ahead);
  }
  return ahead;
}

std::string Views::why_waiting(const store::JobRow& row, bool may_read, const Queue& queue) const {
  const auto at = queue.find(row.id);
  if (at == queue.end()) return may_read ? row.reason : public_reason(row);
  const std::size_t ahead = at->second;
  std::string why = ahead == 0 ? cat("next in queue: waiting for a free ", row.profile)
                               : cat(ahead, ahead == 1 ? " job" : " jobs", " ahead");
  if (may_read && !row.reason.empty()) why += cat("; previously: ", row.reason);
  return why;
}

bool Views::is_mig_off(core::GpuId gpu) const {
  return std::ranges::any_of(hardware_.gpus(), [&](const device::Gpu& each) {
    return device::is_mig_off(each) && hardware_.id_of(each.uuid) == gpu;
  });
}

std::vector<std::string> Views::mig_troubles() const {
  std::vector<std::string> troubles;
  for (const device::Gpu& gpu : hardware_.gpus()) {
    if (device::is_mig_off(gpu)) troubles.push_back(cat("GPU ", gpu.index, ": ", gpu.trouble));
  }
  return troubles;
}

std::string Views::mig_note(const std::string& profile) const {
  const core::Node& node = engine_.scheduler().node();
  std::vector<std::string> gpus;
  for (const device::Gpu& gpu : hardware_.gpus()) {
    if (!device::is_mig_off(gpu)) continue;
    const auto id = hardware_.id_of(gpu.uuid);
    if (id && node.model(*id).find_profile(profile)) gpus.push_back(std::to_string(id->value()));
  }
  if (gpus.empty()) return "";
  return cat("MIG mode is off on GPU ", join_words(gpus), " (see `tangram gpus`)");
}

api::GpuView Views::view(core::GpuId id) const {
  const core::Node& node = engine_.scheduler().node();
  const core::Gpu& gpu = node.gpu(id);
  const mig::Model& model = node.model(id);
  api::GpuView view;
  view.model = model.name();
  view.health = core::name_of(gpu.health);
  view.cordoned = gpu.cordoned;
  view.draining = gpu.draining;
  view.busy = node.busy(id);
  view.compute_slices = static_cast<std::uint32_t>(model.compute_slices());
  view.memory_slices = static_cast<std::uint32_t>(model.memory_slices());
  view.load = ratio(model.compute_used(gpu.occupied), model.compute_slices());
  view.frag_cost = ratio(model.frag_units(gpu.occupied), model.frag_denominator());
  for (const core::Entry& entry : node.entries(id)) {
    const mig::Profile& profile = model.profile(entry.placement.profile);
    api::InstanceView instance;
    instance.profile = profile.name;
    instance.start = entry.placement.start;
    instance.size = static_cast<std::uint32_t>(profile.memory_slices);
    instance.state = core::name_of(entry.state);
    if (entry.job != core::kNoJob) {
      instance.job = node.job(entry.job).id.value();
      if (const store::JobRow* row = engine_.records().job(*instance.job)) {
        instance.job_name = row->name;
      }
    }
    if (const auto* row = engine_.records().instance(entry.id.value())) {
      instance.uuid = row->mig_uuid;
    }
    view.instances.push_back(std::move(instance));
  }
  std::ranges::sort(view.instances, {}, &api::InstanceView::start);
  return view;
}

api::GpuView Views::view(const device::Gpu& gpu) const {
  const auto id = hardware_.id_of(gpu.uuid);
  const bool known = id && id->value() < engine_.scheduler().node().gpu_count();
  api::GpuView view = known ? this->view(*id) : api::GpuView{};
  view.index = known ? id->value() : gpu.index;
  view.uuid = gpu.uuid;
  view.name = gpu.device_name;
  view.mig = device::name_of(gpu.mig);
  view.trouble = gpu.trouble;
  if (view.health.empty()) view.health = gpu.health == device::Health::kOk ? "ok" : "lost";
  if (gpu.health == device::Health::kOk && device::is_mig_off(gpu)) view.health = "mig-off";
  return view;
}

api::GpuView Views::view(const store::GpuRow& missing) const {
  api::GpuView view = this->view(core::GpuId(missing.gpu));
  view.index = missing.gpu;
  view.uuid = missing.uuid;
  view.name = missing.name;
  view.mig = device::name_of(device::MigMode::kUnknown);
  view.health = core::name_of(core::Health::kLost);
  view.trouble = why_missing(missing);
  return view;
}

bool Views::is_listed(const std::string& uuid) const {
  return std::ranges::find(hardware_.gpus(), uuid, &device::Gpu::uuid) != hardware_.gpus().end();
}

bool Views::is_retired(core::GpuId id, const std::string& uuid) const {
  if (id.value() >= engine_.scheduler().node().gpu_count() || is_listed(uuid)) return false;
  const auto by_xid = engine_.facts().find(xid_cordon_key(id));
  return engine_.scheduler().node().gpu(id).cordoned &&
         (by_xid == engine_.facts().end() || by_xid->second != "yes");
}

std::vector<store::GpuRow> Views::missing_gpus() const {
  std::vector<store::GpuRow> missing;
  for (const auto& [number, row] : engine_.records().gpus()) {
    const bool known = number < engine_.scheduler().node().gpu_count();
    if (known && !is_listed(row.uuid)) missing.push_back(row);
  }
  return missing;
}

// A GPU that the driver counts but cannot identify is taken to be one of the missing ones.
std::vector<api::GpuView> Views::gpus() const {
  std::vector<api::GpuView> views;
  const std::vector<store::GpuRow> missing = missing_gpus();
  std::size_t nameless = 0;
  for (const device::Gpu& gpu : hardware_.gpus()) {
    if (gpu.uuid.empty() && nameless++ < missing.size()) continue;
    views.push_back(view(gpu));
  }
  for (const store::GpuRow& row : missing) views.push_back(view(row));
  std::ranges::sort(views, {},
                    [](const api::GpuView& each) { return std::pair(each.index, each.uuid); });
  return views;
}

namespace {

// The view of a profile, added if there is none, with its geometry on this model.
api::ProfileView& view_of(std::vector<api::ProfileView>& views, const mig::Model& model,
                          const mig::Profile& profile) {
  const auto memory_mib = static_cast<std::uint32_t>(std::max(0, profile.facts.memory_mib));
  auto at = std::ranges::find(views, profile.name, &api::ProfileView::name);
  if (at == views.end()) {
    views.push_back({.name = profile.name, .memory_mib = memory_mib, .fits_now = 0});
    at = views.end() - 1;
  }
  if (std::ranges::find(at->models, model.name(), &api::ProfileGeometry::model) ==
      at->models.end()) {
    at->models.push_back({.model = model.name(),
                          .compute_slices = static_cast<std::uint32_t>(profile.compute_slices),
                          .memory_slices = static_cast<std::uint32_t>(profile.memory_slices),
                          .memory_mib = memory_mib,
                          .max_instances = static_cast<std::uint32_t>(profile.max_instances)});
  }
  return *at;
}

// How many instances of the profile fit on the GPU at once.
std::uint32_t count_fits(const core::Node& node, core::GpuId g, mig::ProfileIndex profile) {
  const core::Gpu& gpu = node.gpu(g);
  if (!gpu.takes_jobs() || (gpu.allowed >> profile.value() & 1U) == 0) return 0;
  const mig::Model& model = node.model(g);
  const bool once = model.profile(profile).name.find('+') != std::string::npos;
  mig::Occupancy occupied = gpu.occupied;
  std::uint32_t count = 0;
  while (const auto start = model.best_start(occupied, profile)) {
    occupied = model.with(occupied, {profile, static_cast<std::uint8_t>(*start)});
    ++count;
    if (once) break;
  }
  return count;
}

// The same, on all GPUs of these models.
std::uint32_t count_fits(const core::Node& node, core::ProfileName name,
                         const core::ModelSet& models) {
  std::uint32_t count = 0;
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    const core::ModelId model = node.gpu(core::GpuId(g)).model;
    const auto profile = node.profile_on(model, name);
    if (profile && models.contains(model)) count += count_fits(node, core::GpuId(g), *profile);
  }
  return count;
}

}  // namespace

std::vector<api::ProfileView> Views::profiles() const {
  const core::Node& node = engine_.scheduler().node();
  std::vector<api::ProfileView> views;
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    const mig::Model& model = node.model(core::GpuId(g));
    for (std::size_t i = 0; i < model.profiles().size(); ++i) {
      const mig::ProfileIndex index(static_cast<std::uint8_t>(i));
      const mig::Profile& profile = model.profile(index);
      api::ProfileView& view = view_of(views, model, profile);
      view.fits_now += count_fits(node, core::GpuId(g), index);
    }
  }
  const core::Scheduler& scheduler = engine_.scheduler();
  // Avoids walking the queue, which may be long, in the common cases.
  const bool is_queue_empty = scheduler.waiting_count() == 0;
  const bool in_turn = scheduler.policies().queue->name == "fcfs";  // a new job is last
  for (api::ProfileView& view : views) {
    if (view.fits_now == 0 || (!is_queue_empty && in_turn)) continue;
    const auto name = *node.find_name(view.name);
    const auto place = scheduler.place_in_queue(name);
    if (place.models.empty()) continue;
    view.starts_now = is_queue_empty ? view.fits_now : count_fits(node, name, place.models);
  }
  return views;
}

api::StatusView Views::status() const {
  api::StatusView view;
  view.version = TANGRAM_VERSION;
  view.pid = static_cast<std::uint64_t>(getpid());
  view.since = since_;
  view.emulated = emulated_;
  view.driver = hardware_.driver();
  view.store = engine_.store_error().empty() ? "ok" : engine_.store_error();
  for (const device::Gpu& gpu : hardware_.gpus()) {
    if (!gpu.trouble.empty()) view.troubles.push_back(cat("GPU ", gpu.index, ": ", gpu.trouble));
  }
  for (const store::GpuRow& row : missing_gpus()) {
    if (is_retired(core::GpuId(row.gpu), row.uuid)) continue;
    view.troubles.push_back(cat("GPU ", row.gpu, ": ", why_missing(row)));
  }
  const core::Node& node = engine_.scheduler().node();
  view.gpus = node.gpu_count();
  for (const auto& [id, row] : engine_.records().jobs()) {
    if (row.over) continue;
    const auto state = api::find_state(row.state);
    if (state == api::JobState::kHeld)
      ++view.held;
    else if (state == api::JobState::kQueued)
      ++view.queued;
    else
      ++view.running;
  }
  view.over = engine_.records().ended_jobs();
  view.orphans = static_cast<std::uint32_t>(supervisor_.orphan_count());
  const core::Tuning& tuning = node.tuning();
  view.placement = tuning.placement;
  view.migration = tuning.migration;
  view.queue = tuning.queue;
  view.threshold = tuning.threshold.text();
  view.tuning_differences = differences(tuning, tuning_in_file_);
  view.profiles = profiles();
  return view;
}

}  // namespace tangram::daemon
