// Node: the state of everything the scheduler owns: GPUs with their instances, jobs, and the index
// over them. Policies see it const. A GPU changes only inside a Node::Edit (or set_movable), which
// updates the index, so the index is never stale.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/entry_pool.hpp"
#include "core/id_map.hpp"
#include "core/ids.hpp"
#include "core/index.hpp"
#include "core/job.hpp"
#include "core/model_set.hpp"
#include "core/policy.hpp"
#include "core/touched.hpp"
#include "core/tuning.hpp"
#include "mig/model.hpp"

namespace tangram::core {

enum class Health : std::uint8_t { kOk, kUnresponsive, kLost };

struct Gpu {
  ModelId model;
  Health health = Health::kOk;
  bool cordoned = false;
  bool draining = false;
  bool incoming = false;  // a move into it is under way
  bool edited = false;    // an Edit of it lives
  EntryBlock entries;
  mig::Occupancy occupied;
  mig::Occupancy projected;
  std::uint32_t allowed = 0;

  [[nodiscard]] bool takes_jobs() const { return health == Health::kOk && !cordoned; }
};

// The reservation of a waiting job, as the others see it.
struct Reserved {
  JobId job;
  GpuId gpu;
  mig::Placement placement;
  Instant time{};
};

class Node {
 public:
  explicit Node(Partitioning partitioning = Partitioning::kDynamic) : partitioning_(partitioning) {}

  // Building. A model is added once; equal models share one id.
  ModelId add_model(std::shared_ptr<const mig::Model> model);
  GpuId add_gpu(ModelId model);
  void set_layout(GpuId g, std::span<const mig::Placement> layout);  // static partitioning
  void reserve_gpus(std::uint32_t count);  // saves the index from growing step by step

  // GPUs.
  [[nodiscard]] std::uint32_t gpu_count() const { return static_cast<std::uint32_t>(gpus_.size()); }
  [[nodiscard]] const Gpu& gpu(GpuId g) const { return gpus_[g.value()]; }
  [[nodiscard]] const mig::Model& model(ModelId m) const { return *models_[m.value()].model; }
  [[nodiscard]] const mig::Model& model(GpuId g) const { return model(gpu(g).model); }
  [[nodiscard]] const std::shared_ptr<const mig::Model>& shared_model(ModelId m) const {
    return models_[m.value()].model;
  }
  [[nodiscard]] std::size_t model_count() const { return models_.size(); }
  [[nodiscard]] std::span<const Entry> entries(GpuId g) const { return pool_.of(gpu(g).entries); }
  [[nodiscard]] std::span<const mig::Placement> layout(GpuId g) const {
    return g.value() < layouts_.size() ? layouts_[g.value()] : std::span<const mig::Placement>();
  }
  [[nodiscard]] const Entry* find(GpuId g, InstanceId id) const;
  [[nodiscard]] const Entry* idle_at(GpuId g, mig::Placement p) const;
  [[nodiscard]] bool busy(GpuId g) const {
    return index_.ranks(gpu(g).model).busy(gpu(g).occupied);
  }
  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] Partitioning partitioning() const { return partitioning_; }
  // FragCost over the common denominator of all models of the node, to compare GPUs of different
  // ones.
  [[nodiscard]] std::int64_t cost(ModelId m, mig::Occupancy o) const {
    return models_[m.value()].cost_scale * model(m).frag_units(o);
  }
  [[nodiscard]] std::int64_t cost_denominator() const { return common_denominator_; }

  // Profiles by name.
  [[nodiscard]] std::optional<ProfileName> find_name(std::string_view profile) const;
  [[nodiscard]] const std::string& name(ProfileName p) const { return names_[p.value()]; }
  [[nodiscard]] std::optional<mig::ProfileIndex> profile_on(ModelId m, ProfileName p) const {
    const std::uint8_t i = models_[m.value()].profile_of[p.value()];
    return i == kNoProfile ? std::nullopt : std::optional(mig::ProfileIndex(i));
  }
  [[nodiscard]] std::size_t name_count() const { return names_.size(); }
  // The models that have the profile; only `gpu_model`, unless empty.
  [[nodiscard]] ModelSet models_of(ProfileName p, std::string_view gpu_model = {}) const;
  [[nodiscard]] ModelSet models_of(const Job& job) const {
    return models_of(job.profile, job.gpu_model);
  }
  // Whether some GPU (in service; or at all) has the profile: in its layout, if static. Only GPUs
  // of `gpu_model` count, unless it is empty.
  [[nodiscard]] bool servable(ProfileName p, std::string_view gpu_model = {}) const;
  [[nodiscard]] bool known_to_some_gpu(ProfileName p, std::string_view gpu_model = {}) const;
  // What the job requests of a slot, as the placement policies see it.
  [[nodiscard]] Request request_of(const Job& job) const {
    Request request{
        .profile = job.profile,
        .avoid = job.back_offs,
        .models = job.gpu_model.empty() ? ModelSet::all() : models_of(job.profile, job.gpu_model)};
    if (!reserved_.empty()) add_times(request, job);
    return request;
  }

  // Jobs.
  [[nodiscard]] const Job& job(JobSlot s) const { return jobs_[s.value()]; }
  // Marks the job as changed.
  [[nodiscard]] Job& job(JobSlot s) {
    if (touched_.on()) touched_.add(s);
    return jobs_[s.value()];
  }
  // For queue links only: they are not saved, so this does not mark the job as changed.
  [[nodiscard]] Job& queue_links(JobSlot s) { return jobs_[s.value()]; }
  [[nodiscard]] JobSlot find_job(JobId id) const { return job_ids_.find(id); }
  [[nodiscard]] std::size_t job_count() const { return job_ids_.size(); }
  [[nodiscard]] std::vector<JobSlot> jobs_by_id() const;  // O(n log n): not for every step
  // Jobs that could be moved but for their cooldown, in no particular order.
  [[nodiscard]] std::span<const JobSlot> cooling() const { return cooling_; }
  // No-op if it cools down already: a job moved by hand within its cooldown begins a new one.
  void add_cooling(JobSlot s) {
    if (std::ranges::find(cooling_, s) == cooling_.end()) cooling_.push_back(s);
  }
  void drop_cooling(JobSlot s) { std::erase(cooling_, s); }
  JobSlot add_job(const JobSpec& spec, ProfileName profile);
  void remove_job(JobSlot s);

  // Saving and restoring (saved.hpp).
  [[nodiscard]] Touched& touched() { return touched_; }
  [[nodiscard]] const Touched& touched() const { return touched_; }
  [[nodiscard]] bool alive(JobSlot s) const { return find_job(job(s).id) == s; }
  [[nodiscard]] std::uint64_t next_order() const { return next_order_; }
  [[nodiscard]] std::vector<ProfileName> recent_requests() const;  // the oldest first
  void set_next_order(std::uint64_t order) { next_order_ = order; }
  JobSlot restore_job(const Job& saved);  // its id must be free

  // Also for policies.
  [[nodiscard]] const Tuning& tuning() const { return tuning_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] JobSlot queue_head() const { return queue_head_; }
  // The waiting job that GPUs of this model go to first; the queue's head if the queue is strict.
  [[nodiscard]] JobSlot head_of(ModelId m) const {
    return m.value() < pool_heads_.size() ? pool_heads_[m.value()] : queue_head_;
  }
  [[nodiscard]] std::span<const JobSlot> pool_heads() const { return pool_heads_; }
  [[nodiscard]] std::span<const Reserved> reserved() const { return reserved_; }  // by job
  [[nodiscard]] std::uint32_t moves_under_way() const { return moves_; }
  // Requests among the last kRecent for each profile name.
  static constexpr std::size_t kRecent = 64;
  [[nodiscard]] std::uint32_t recent(ProfileName p) const { return recent_count_[p.value()]; }
  void note_request(ProfileName p);

  void set_tuning(const Tuning& tuning);
  void set_now(Instant now) { now_ = now; }
  void set_queue_head(JobSlot s) { queue_head_ = s; }
  void add_reserved(const Job& job);  // its reservation; it has none yet
  void drop_reserved(JobId job);
  // By model, kNoJob where no job waits for it. Empty: the queue is strict.
  void set_pool_heads(std::span<const JobSlot> heads) {
    pool_heads_.assign(heads.begin(), heads.end());
  }
  void add_moves(int change) {
    moves_ = static_cast<std::uint32_t>(static_cast<int>(moves_) + change);
  }

  // The one change to a GPU that every job causes: short, because nothing else depends on it.
  void set_movable(GpuId g, InstanceId id, bool movable);

  // Changes to one GPU. The index is updated at the end of the edit and is not used before.
  class Edit {
   public:
    Edit(Node& node, GpuId gpu);
    ~Edit();
    Edit(const Edit&) = delete;
    Edit& operator=(const Edit&) = delete;
    Edit(Edit&&) = delete;
    Edit& operator=(Edit&&) = delete;

    [[nodiscard]] GpuId id() const { return id_; }
    [[nodiscard]] Gpu& gpu() { return node_.gpus_[id_.value()]; }
    [[nodiscard]] std::span<Entry> entries() { return node_.pool_.of(gpu().entries); }
    [[nodiscard]] Entry& entry(InstanceId id);
    void push(const Entry& entry) { node_.pool_.push(gpu().entries, entry); }
    void erase(InstanceId id);
    void clear() { node_.pool_.clear(gpu().entries); }

   private:
    Node& node_;
    GpuId id_;
    IndexStand before_;
  };

  [[nodiscard]] std::size_t gpu_bytes() const;  // memory of GPUs, instances and index
  [[nodiscard]] GpuSummary summary(GpuId g) const;

 private:
  static constexpr std::uint8_t kNoProfile = 0xFF;
  struct ModelInfo {
    std::shared_ptr<const mig::Model> model;
    std::vector<std::uint8_t> profile_of;  // by ProfileName
    std::uint32_t all_profiles = 0;        // bit per profile
    std::uint32_t limited = 0;             // profiles with a limit that geometry does not enforce
    std::uint32_t wants_all_media = 0;     // +me.all profiles
    std::uint32_t no_media = 0;            // -me profiles
    std::uint32_t gpus = 0;
    std::uint32_t gpus_in_service = 0;
    std::int64_t cost_scale = 1;
  };
  ProfileName intern(const std::string& profile);
  void add_times(Request& request, const Job& job) const;
  void summarize(GpuId g);  // occupied, projected, allowed from the entries
  [[nodiscard]] static std::uint32_t allowed_profiles(const ModelInfo& info, std::uint32_t present,
                                                      std::span<const Entry> entries);
  [[nodiscard]] bool in_layout(GpuId g, mig::ProfileIndex p) const;

  Partitioning partitioning_;
  std::vector<ModelInfo> models_;
  std::vector<std::string> names_;
  std::vector<Gpu> gpus_;
  std::vector<std::vector<mig::Placement>> layouts_;  // by GPU; empty if dynamic
  EntryPool pool_;
  Index index_;
  std::vector<Job> jobs_;
  std::vector<JobSlot> free_jobs_;
  IdMap job_ids_;
  std::vector<JobSlot> cooling_;
  std::uint64_t next_order_ = 0;
  Tuning tuning_;
  Instant now_{};
  JobSlot queue_head_ = kNoJob;
  std::vector<JobSlot> pool_heads_;
  std::vector<Reserved> reserved_;
  std::uint32_t moves_ = 0;
  std::int64_t common_denominator_ = 1;
  std::array<ProfileName, kRecent> recent_{};
  std::size_t recent_next_ = 0;
  std::vector<std::uint32_t> recent_count_;
  Touched touched_;
};

}  // namespace tangram::core
