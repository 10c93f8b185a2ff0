// See leases.hpp: the API views of leases.
#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/leases/lease_state.hpp"
#include "daemon/leases/lease_timers.hpp"
#include "daemon/leases/leases.hpp"
#include "daemon/runs/spawn.hpp"

namespace tangram::daemon {

api::LeaseState Leases::state_of(const store::JobRow& row) const {
  const bool ends = !row.over && ending_.contains(row.id);
  return ends ? api::LeaseState::kReleasing : lease_state(row);
}

// The row of a lease: from memory if recent, otherwise from the store.
http::Answer<store::JobRow> Leases::find_row(const Caller& caller, std::uint64_t id) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  const store::JobRow* recent = engine_.records().job(id);
  if (recent != nullptr && recent->kind == "lease") return *recent;
  auto stored = engine_.store().job(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  if (*stored && (*stored)->kind == "lease") return **std::move(stored);
  return std::unexpected(missing(cat("lease ", id, ": not found.")));
}

// The uid that took the lease and admins may change it; its owner may only read it.
http::Answer<store::JobRow> Leases::find_owned(const Caller& caller, std::uint64_t id,
                                               std::string_view action) {
  auto row = find_row(caller, id);
  if (!row) return row;
  const store::LeaseRow* open = engine_.records().lease(id);
  const std::uint32_t taker = open == nullptr ? row->uid : open->taker;
  const auto may = access_.require_taker(caller, taker, row->uid, cat("lease ", id), action);
  return may ? std::move(row) : std::unexpected(may.error());
}

http::Answer<api::LeaseView> Leases::get_lease(const Caller& caller, std::uint64_t id) {
  const auto row = find_row(caller, id);
  if (!row) return std::unexpected(row.error());
  const bool waits = !row->over && state_of(*row) == api::LeaseState::kWaiting;
  const Views::Queue queue = waits ? views_.queue() : Views::Queue();
  if (const store::LeaseRow* open = engine_.records().lease(id)) {
    return make_view(caller, *row, *open, queue);
  }
  const auto stored = engine_.store().lease(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  return make_view(caller, *row, stored->value_or(store::LeaseRow{.job = id, .taker = row->uid}),
                   queue);
}

http::Answer<std::vector<api::LeaseView>> Leases::list_leases(const Caller& caller,
                                                              const http::LeaseFilter& filter) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::LeaseView> views;
  const Views::Queue queue = views_.queue();
  const auto& all = engine_.records().leases();
  const auto end = filter.before ? all.lower_bound(*filter.before) : all.end();
  for (auto at = std::make_reverse_iterator(end); at != all.rend(); ++at) {
    if (views.size() == filter.limit) break;
    const store::JobRow* row = engine_.records().job(at->first);
    if (row != nullptr && !row->over) views.push_back(make_view(caller, *row, at->second, queue));
  }
  std::ranges::reverse(views);
  return views;
}

// The open leases of the user with this key, those taken by the caller first. Includes leases that
// others took for the user: a job's processes find the lease of their prolog.
http::Answer<std::vector<api::LeaseView>> Leases::list_by_key(const Caller& caller,
                                                              const std::string& key,
                                                              std::uint32_t uid) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::LeaseView> views;
  std::vector<api::LeaseView> of_others;
  const Views::Queue queue = views_.queue();
  for (const auto& [id, lease] : engine_.records().leases()) {
    if (lease.key != key || !is_open(id)) continue;
    const store::JobRow& row = *engine_.records().job(id);
    if (row.uid != uid) continue;
    (lease.taker == caller.uid ? views : of_others).push_back(make_view(caller, row, lease, queue));
  }
  views.insert(views.end(), of_others.begin(), of_others.end());
  if (!views.empty()) return views;
  return std::unexpected(
      missing(cat("user ", uid, " has no open lease with the key ", tangram::quoted(key), ".")));
}

std::string Leases::reason_of(const store::JobRow& row, api::LeaseState state,
                              const Views::Queue& queue) const {
  const bool is_unsaved = ending_.contains(row.id) && !engine_.store_error().empty();
  if (is_unsaved && !row.over)
    return cat("will end once the store can be written: ", engine_.store_error());
  if (state != api::LeaseState::kWaiting) return row.reason;
  const auto phase = api::find_state(row.state);
  if (phase != api::JobState::kPlaced && phase != api::JobState::kStarting) {
    return views_.why_waiting(row, true, queue);
  }
  return cat("placed; creating its instance",
             row.reason.empty() ? "" : cat("; before: ", row.reason));
}

// Sets where the lease is, including the driver's identifiers, which a CDI specification needs.
void Leases::set_location(const store::JobRow& row, api::LeaseView& view) const {
  view.start = row.start;
  view.mig_uuid = row.mig_uuid;
  if (!row.mig_uuid.empty()) view.cdi = cdi_name(row.mig_uuid);
  view.gpu = row.gpu;
  if (!row.gpu) return;
  view.gpu_uuid = hardware_.uuid_of(core::GpuId(*row.gpu));
  view.gpu_minor = hardware_.minor_of(core::GpuId(*row.gpu));
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(row.id));
  if (slot == core::kNoJob) return;
  const device::Instance* instance = hardware_.instance(node.job(slot).main.instance);
  if (instance == nullptr) return;
  view.gi = instance->gi;
  view.ci = instance->ci;
}

api::LeaseView Leases::make_view(const Caller& caller, const store::JobRow& row,
                                 const store::LeaseRow& known, const Views::Queue& queue) const {
  const store::LeaseRow lease = with_unsaved_renewal(known);
  api::LeaseView view;
  view.id = row.id;
  view.key = lease.key;
  view.name = row.name;
  view.user = row.user;
  view.uid = row.uid;
  view.taker = user_name(lease.taker);
  view.taker_uid = lease.taker;
  view.profile = row.profile;
  view.state = state_of(row);
  view.reason = reason_of(row, view.state, queue);
  set_location(row, view);
  view.ttl = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl);
  view.asked = row.submitted;
  view.granted = lease.granted;
  view.ended = row.ended;
  if (access_.may_read(caller, row.uid)) view.labels = api::read_labels(row.labels);
  if (view.state != api::LeaseState::kGranted) return view;
  if (lease.deadline) view.expires = Clock::wall() + (*lease.deadline - Clock::since_boot());
  if (!access_.may_read(caller, row.uid)) return view;
  view.environment = {{"CUDA_VISIBLE_DEVICES", row.mig_uuid},
                      {"NVIDIA_VISIBLE_DEVICES", row.mig_uuid},
                      {"TANGRAM_LEASE_ID", std::to_string(row.id)},
                      {"TANGRAM_PROFILE", row.profile},
                      {"TANGRAM_CDI_DEVICE", view.cdi}};
  return view;
}

}  // namespace tangram::daemon
