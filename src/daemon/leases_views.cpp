// See leases.hpp: how leases look to callers.
#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/lease_state.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/problems.hpp"
#include "daemon/spawn.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {

api::LeaseState Leases::state_of(const store::JobRow& row) const {
  const bool ends = !row.over && ending_.contains(row.id);
  return ends ? api::LeaseState::kReleasing : lease_state(row);
}

// From memory if it is recent, else from the store.
http::Answer<store::JobRow> Leases::find(const Caller& caller, std::uint64_t id) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  const store::JobRow* recent = engine_.records().job(id);
  if (recent != nullptr && recent->kind == "lease") return *recent;
  auto stored = engine_.store().job(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  if (*stored && (*stored)->kind == "lease") return **std::move(stored);
  return std::unexpected(missing(cat("there is no lease ", id, ".")));
}

// Who took it may change it, and admins; for whom it was taken may look.
http::Answer<store::JobRow> Leases::find_taken(const Caller& caller, std::uint64_t id,
                                               std::string_view deed) {
  auto row = find(caller, id);
  if (!row) return row;
  const store::LeaseRow* open = engine_.records().lease(id);
  const std::uint32_t taker = open == nullptr ? row->uid : open->taker;
  const auto may = access_.require_taker(caller, taker, row->uid, cat("lease ", id), deed);
  return may ? std::move(row) : std::unexpected(may.error());
}

http::Answer<api::LeaseView> Leases::lease(const Caller& caller, std::uint64_t id) {
  const auto row = find(caller, id);
  if (!row) return std::unexpected(row.error());
  const bool waits = !row->over && state_of(*row) == api::LeaseState::kWaiting;
  const Views::Queue queue = waits ? views_.queue() : Views::Queue();
  if (const store::LeaseRow* open = engine_.records().lease(id)) {
    return view(caller, *row, *open, queue);
  }
  const auto stored = engine_.store().lease(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  return view(caller, *row, stored->value_or(store::LeaseRow{.job = id, .taker = row->uid}), queue);
}

http::Answer<std::vector<api::LeaseView>> Leases::leases(const Caller& caller,
                                                         const http::LeaseFilter& filter) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::LeaseView> views;
  const Views::Queue queue = views_.queue();
  const auto& all = engine_.records().leases();
  const auto end = filter.before ? all.lower_bound(*filter.before) : all.end();
  for (auto at = std::make_reverse_iterator(end); at != all.rend(); ++at) {
    if (views.size() == filter.most) break;
    const store::JobRow* row = engine_.records().job(at->first);
    if (row != nullptr && !row->over) views.push_back(view(caller, *row, at->second, queue));
  }
  std::ranges::reverse(views);
  return views;
}

// What others took for him is his, too: a prolog's lease is found by the job's processes.
http::Answer<std::vector<api::LeaseView>> Leases::leases_by_key(const Caller& caller,
                                                                const std::string& key,
                                                                std::uint32_t uid) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::LeaseView> views;
  const Views::Queue queue = views_.queue();
  for (const auto& [id, lease] : engine_.records().leases()) {
    if (lease.key != key || !is_open(id)) continue;
    const store::JobRow& row = *engine_.records().job(id);
    if (row.uid == uid) views.push_back(view(caller, row, lease, queue));
  }
  std::ranges::stable_partition(
      views, [&](const api::LeaseView& each) { return each.taker_uid == caller.uid; });
  if (!views.empty()) return views;
  return std::unexpected(missing(
      cat("the user ", uid, " has no open lease with the key ", tangram::quoted(key), ".")));
}

std::string Leases::reason_of(const store::JobRow& row, api::LeaseState state,
                              const Views::Queue& queue) const {
  const bool noted = ending_.contains(row.id) && !engine_.store_trouble().empty();
  if (noted && !row.over) return cat("it ends once that can be written: ", engine_.store_trouble());
  if (state != api::LeaseState::kWaiting) return row.reason;
  const auto phase = api::find_state(row.state);
  if (phase != api::JobState::kPlaced && phase != api::JobState::kStarting) {
    return views_.why_waiting(row, true, queue);
  }
  return cat("it has a place; its instance is being made",
             row.reason.empty() ? "" : cat("; before: ", row.reason));
}

// Where it is, also in the words of the driver, which whoever writes a CDI specification needs.
void Leases::show_place(const store::JobRow& row, api::LeaseView& view) const {
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

api::LeaseView Leases::view(const Caller& caller, const store::JobRow& row,
                            const store::LeaseRow& known, const Views::Queue& queue) const {
  const store::LeaseRow lease = with_unwritten(known);
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
  show_place(row, view);
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
