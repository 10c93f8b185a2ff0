// See node.hpp.
#include "core/node.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "core/reservation.hpp"
#include "mig/limits.hpp"

namespace tangram::core {

ProfileName Node::intern(const std::string& profile) {
  if (const auto known = find_name(profile)) return *known;
  names_.push_back(profile);
  recent_count_.push_back(0);
  for (ModelInfo& info : models_) info.profile_of.push_back(kNoProfile);
  return ProfileName(static_cast<std::uint16_t>(names_.size() - 1));
}

std::optional<ProfileName> Node::find_name(std::string_view profile) const {
  const auto at = std::ranges::find(names_, profile);
  if (at == names_.end()) return std::nullopt;
  return ProfileName(static_cast<std::uint16_t>(at - names_.begin()));
}

ModelId Node::add_model(std::shared_ptr<const mig::Model> model) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i].model == model || models_[i].model->spec() == model->spec()) {
      return ModelId(static_cast<std::uint8_t>(i));
    }
  }
  CHECK(models_.size() < 0xFF);
  ModelInfo info;
  info.model = std::move(model);
  info.profile_of.assign(names_.size(), kNoProfile);
  models_.push_back(std::move(info));
  const mig::Model& added = *models_.back().model;
  for (std::size_t i = 0; i < added.profiles().size(); ++i) {
    const mig::ProfileIndex p(static_cast<std::uint8_t>(i));
    const ProfileName name = intern(added.profile(p).name);
    ModelInfo& back = models_.back();
    back.profile_of[name.value()] = p.value();
    const std::uint32_t bit = 1U << i;
    back.all_profiles |= bit;
    if (mig::is_limited(added, p)) back.limited |= bit;
    const mig::Media media = mig::media_of(added.profile(p).name);
    if (media == mig::Media::kAll) back.wants_all_media |= bit;
    if (media == mig::Media::kNone) back.no_media |= bit;
  }
  common_denominator_ = std::lcm(common_denominator_, std::int64_t{added.frag_denominator()});
  for (ModelInfo& each : models_) {
    each.cost_scale = common_denominator_ / each.model->frag_denominator();
  }
  index_.add_model(added, tuning_.threshold);
  return ModelId(static_cast<std::uint8_t>(models_.size() - 1));
}

void Node::reserve_gpus(std::uint32_t count) {
  gpus_.reserve(count);
  index_.set_capacity(std::max(count, gpu_count()));
}

GpuId Node::add_gpu(ModelId model) {
  const GpuId id(gpu_count());
  ModelInfo& info = models_[model.value()];
  ++info.gpus;
  ++info.gpus_in_service;
  gpus_.push_back({.model = model,
                   .entries = {},
                   .occupied = {},
                   .projected = {},
                   .allowed = info.all_profiles});
  if (gpu_count() > gpus_.capacity() / 2) {
    index_.set_capacity(static_cast<std::uint32_t>(gpus_.capacity()));
  }
  index_.insert(id, summary(id), {});
  if (touched_.on()) touched_.add(id);
  return id;
}

void Node::set_layout(GpuId g, std::span<const mig::Placement> layout) {
  if (layouts_.size() <= g.value()) layouts_.resize(g.value() + 1);
  layouts_[g.value()].assign(layout.begin(), layout.end());
  if (touched_.on()) touched_.add(g);
}

const Entry* Node::find(GpuId g, InstanceId id) const {
  for (const Entry& e : entries(g)) {
    if (e.id == id) return &e;
  }
  return nullptr;
}

const Entry* Node::idle_at(GpuId g, mig::Placement p) const {
  for (const Entry& e : entries(g)) {
    if (e.state == EntryState::kIdle && e.placement == p) return &e;
  }
  return nullptr;
}

bool Node::in_layout(GpuId g, mig::ProfileIndex p) const {
  return std::ranges::any_of(entries(g), [&](const Entry& e) {
    return e.placement.profile == p && e.state != EntryState::kForeign;
  });
}

ModelSet Node::models_of(ProfileName p, std::string_view gpu_model) const {
  ModelSet models;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const ModelId m(static_cast<std::uint8_t>(i));
    const bool wanted = gpu_model.empty() || models_[i].model->name() == gpu_model;
    if (wanted && profile_on(m, p)) models.insert(m);
  }
  return models;
}

bool Node::servable(ProfileName p, std::string_view gpu_model) const {
  const ModelSet models = models_of(p, gpu_model);
  for (std::size_t m = 0; m < models_.size(); ++m) {
    if (!models.contains(ModelId(static_cast<std::uint8_t>(m)))) continue;
    const auto profile = profile_on(ModelId(static_cast<std::uint8_t>(m)), p);
    if (models_[m].gpus_in_service == 0) continue;
    if (partitioning_ == Partitioning::kDynamic) return true;
    for (std::uint32_t g = 0; g < gpu_count(); ++g) {
      const Gpu& gpu = gpus_[g];
      if (gpu.model.value() == m && gpu.takes_jobs() && in_layout(GpuId(g), *profile)) return true;
    }
  }
  return false;
}

bool Node::known_to_some_gpu(ProfileName p, std::string_view gpu_model) const {
  const ModelSet models = models_of(p, gpu_model);
  for (std::size_t m = 0; m < models_.size(); ++m) {
    if (!models.contains(ModelId(static_cast<std::uint8_t>(m)))) continue;
    const auto profile = profile_on(ModelId(static_cast<std::uint8_t>(m)), p);
    if (models_[m].gpus == 0) continue;
    if (partitioning_ == Partitioning::kDynamic) return true;
    for (std::uint32_t g = 0; g < gpu_count(); ++g) {
      if (gpus_[g].model.value() != m) continue;
      const auto same = [&](mig::Placement at) { return at.profile == *profile; };
      if (in_layout(GpuId(g), *profile) || std::ranges::any_of(layout(GpuId(g)), same)) return true;
    }
  }
  return false;
}

std::vector<JobSlot> Node::jobs_by_id() const {
  std::vector<JobSlot> slots;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const JobSlot slot(static_cast<std::uint32_t>(i));
    if (job_ids_.find(jobs_[i].id) == slot) slots.push_back(slot);
  }
  std::ranges::sort(slots, {}, [&](JobSlot s) { return job(s).id; });
  return slots;
}

JobSlot Node::add_job(const JobSpec& spec, ProfileName profile) {
  JobSlot slot(static_cast<std::uint32_t>(jobs_.size()));
  if (free_jobs_.empty()) {
    jobs_.emplace_back();
  } else {
    slot = free_jobs_.back();
    free_jobs_.pop_back();
  }
  Job& j = job(slot);
  std::vector<BackOff> no_back_offs = std::move(j.back_offs);  // keeps its memory
  no_back_offs.clear();
  j = Job{};
  j.back_offs = std::move(no_back_offs);
  j.id = spec.id;
  j.order = next_order_++;
  j.profile = profile;
  j.kind = spec.kind;
  j.allowed_to_move = spec.movable && spec.kind != JobKind::kLease;
  j.restart = spec.restart;
  j.max_restarts = spec.max_restarts;
  j.priority = spec.priority;
  j.user = spec.user;
  j.time_limit = spec.time_limit;
  j.stop_grace = spec.stop_grace;
  j.gpu_model = spec.gpu_model;
  job_ids_.insert(spec.id, slot);
  return slot;
}

JobSlot Node::restore_job(const Job& saved) {
  const JobSlot slot(static_cast<std::uint32_t>(jobs_.size()));
  jobs_.push_back(saved);
  job_ids_.insert(saved.id, slot);
  return slot;
}

void Node::remove_job(JobSlot s) {
  if (touched_.on()) touched_.add_gone(job(s).id);
  job_ids_.erase(job(s).id);
  free_jobs_.push_back(s);
}

void Node::add_reserved(const Job& job) {
  const Reservation& r = *job.reservation;
  const mig::Placement placement{*profile_on(gpu(r.gpu).model, job.profile), r.start};
  const auto at = std::ranges::lower_bound(reserved_, job.id, {}, &Reserved::job);
  reserved_.insert(at, {job.id, r.gpu, placement, r.time});
}

void Node::drop_reserved(JobId job) {
  std::erase_if(reserved_, [&](const Reserved& r) { return r.job == job; });
}

// A running job that is moved may not use a reserved place, however soon it ends.
void Node::add_times(Request& request, const Job& job) const {
  request.job = job.id;
  const bool waits = job.phase == JobPhase::kQueued || job.phase == JobPhase::kHeld;
  if (waits) request.ends = end_of(job, now_ + kStartMargin).value_or(Instant::max());
}

void Node::note_request(ProfileName p) {
  const std::size_t at = recent_next_ % kRecent;
  if (recent_next_ >= kRecent) --recent_count_[recent_[at].value()];
  recent_[at] = p;
  ++recent_count_[p.value()];
  ++recent_next_;
}

std::vector<ProfileName> Node::recent_requests() const {
  const std::size_t count = std::min(recent_next_, kRecent);
  std::vector<ProfileName> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(recent_[(recent_next_ - count + i) % kRecent]);
  }
  return requests;
}

void Node::set_tuning(const Tuning& tuning) {
  const bool rebuild = tuning.threshold != tuning_.threshold;
  tuning_ = tuning;
  if (!rebuild) return;
  std::vector<const mig::Model*> models;
  for (const ModelInfo& info : models_) models.push_back(info.model.get());
  index_.set_threshold(models, tuning.threshold);
  for (std::uint32_t g = 0; g < gpu_count(); ++g) {
    index_.insert(GpuId(g), summary(GpuId(g)), entries(GpuId(g)));
  }
}

GpuSummary Node::summary(GpuId g) const {
  const Gpu& gpu = gpus_[g.value()];
  return {.model = gpu.model,
          .occupied = gpu.occupied,
          .projected = gpu.projected,
          .allowed = gpu.allowed,
          .takes_jobs = gpu.takes_jobs(),
          .gives_jobs = gpu.health == Health::kOk};
}

std::uint32_t Node::allowed_profiles(const ModelInfo& info, std::uint32_t present_mask,
                                     std::span<const Entry> entries) {
  if ((present_mask & info.limited) == 0) {
    const bool media_used = (present_mask & ~info.no_media) != 0;
    return media_used ? info.all_profiles & ~info.wants_all_media : info.all_profiles;
  }
  std::array<mig::ProfileIndex, kMaxEntriesPerGpu> present{};
  std::size_t count = 0;
  for (const Entry& e : entries) {
    if (e.occupies()) present[count++] = e.placement.profile;
  }
  std::uint32_t allowed = 0;
  for (std::uint32_t bits = info.all_profiles; bits != 0; bits &= bits - 1) {
    const mig::ProfileIndex p(static_cast<std::uint8_t>(std::countr_zero(bits)));
    if (mig::within_limits(*info.model, std::span(present).first(count), p)) {
      allowed |= 1U << p.value();
    }
  }
  return allowed;
}

void Node::summarize(GpuId g) {
  Gpu& gpu = gpus_[g.value()];
  const ModelInfo& info = models_[gpu.model.value()];
  const mig::Model& model = *info.model;
  unsigned slices = 0;
  unsigned leaving_slices = 0;
  int compute = 0;
  int leaving_compute = 0;
  std::uint32_t present = 0;
  for (const Entry& e : entries(g)) {
    if (!e.occupies()) continue;
    const unsigned range = model.range(e.placement);
    CHECK((slices & range) == 0);
    slices |= range;
    compute += model.compute_of(e.placement.profile);
    present |= 1U << e.placement.profile.value();
    if (!e.leaving) continue;
    leaving_slices |= range;
    leaving_compute += model.compute_of(e.placement.profile);
  }
  const auto mask = [](unsigned bits) { return static_cast<mig::SliceMask>(bits); };
  gpu.occupied = model.state_of(mask(slices), compute);
  gpu.projected = leaving_slices == 0
                      ? gpu.occupied
                      : model.state_of(mask(slices & ~leaving_slices), compute - leaving_compute);
  gpu.allowed = allowed_profiles(info, present, entries(g));
}

// What the index has of the GPU, unchanged until the edit ends.
Node::Edit::Edit(Node& node, GpuId gpu)
    : node_(node), id_(gpu), before_(Index::stand(node.summary(gpu), node.entries(gpu))) {
  CHECK(!std::exchange(this->gpu().edited, true));
  if (node.touched_.on()) node.touched_.add(gpu);
}

Node::Edit::~Edit() {
  gpu().edited = false;
  node_.summarize(id_);
  const GpuSummary now = node_.summary(id_);
  node_.index_.update(id_, before_, Index::stand(now, node_.entries(id_)), node_.entries(id_));
  std::uint32_t& in_service = node_.models_[now.model.value()].gpus_in_service;
  in_service += static_cast<std::uint32_t>(now.takes_jobs);
  in_service -= static_cast<std::uint32_t>(before_.summary.takes_jobs);
}

void Node::set_movable(GpuId g, InstanceId id, bool movable) {
  CHECK(!gpus_[g.value()].edited);
  for (Entry& e : pool_.of(gpus_[g.value()].entries)) {
    if (e.id != id || e.movable == movable) continue;
    e.movable = movable;
    if (touched_.on()) touched_.add(g);
    index_.set_movable(g, summary(g), e.placement, movable);
  }
}

Entry& Node::Edit::entry(InstanceId id) {
  for (Entry& e : entries()) {
    if (e.id == id) return e;
  }
  CHECK(false);
  return entries().front();
}

void Node::Edit::erase(InstanceId id) {
  const std::span<Entry> all = entries();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].id != id) continue;
    node_.pool_.erase(gpu().entries, i);
    return;
  }
  CHECK(false);
}

std::size_t Node::gpu_bytes() const {
  return gpus_.capacity() * sizeof(Gpu) + pool_.bytes() + index_.bytes();
}

}  // namespace tangram::core
