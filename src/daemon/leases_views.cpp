// See leases.hpp: how leases look to callers.
#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/problems.hpp"
#include "daemon/spawn.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

api::LeaseState state_of(const store::JobRow& row) {
  if (row.over) return api::LeaseState::kOver;
  if (row.state == api::name_of(api::JobState::kRunning)) return api::LeaseState::kGranted;
  if (row.state == api::name_of(api::JobState::kStopping)) return api::LeaseState::kReleasing;
  return api::LeaseState::kWaiting;
}

std::map<std::string, std::string> labels_in(const std::string& stored) {
  std::map<std::string, std::string> labels;
  if (stored.empty()) return labels;
  const boost::json::value parsed = boost::json::parse(stored);
  for (const auto& [name, value] : parsed.as_object()) {
    labels.emplace(name, value.as_string());
  }
  return labels;
}

}  // namespace

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
  if (const store::LeaseRow* open = engine_.records().lease(id)) return view(caller, *row, *open);
  const auto stored = engine_.store().lease(id);
  if (!stored) return std::unexpected(unavailable(stored.error().message));
  return view(caller, *row, stored->value_or(store::LeaseRow{.job = id, .taker = row->uid}));
}

http::Answer<std::vector<api::LeaseView>> Leases::leases(const Caller& caller) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::LeaseView> views;
  for (const auto& [id, lease] : engine_.records().leases()) {
    const store::JobRow* row = engine_.records().job(id);
    if (row != nullptr && !row->over) views.push_back(view(caller, *row, lease));
  }
  return views;
}

// What others took for him is his, too: a prolog's lease is found by the job's processes.
http::Answer<std::vector<api::LeaseView>> Leases::leases_by_key(const Caller& caller,
                                                                const std::string& key,
                                                                std::uint32_t uid) {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::LeaseView> views;
  for (const auto& [id, lease] : engine_.records().leases()) {
    if (lease.key != key || !is_open(id)) continue;
    const store::JobRow& row = *engine_.records().job(id);
    if (row.uid == uid) views.push_back(view(caller, row, lease));
  }
  std::ranges::stable_partition(
      views, [&](const api::LeaseView& each) { return each.taker_uid == caller.uid; });
  if (!views.empty()) return views;
  return std::unexpected(
      missing(cat(user_name(uid), " has no open lease with the key ", tangram::quoted(key), ".")));
}

api::LeaseView Leases::view(const Caller& caller, const store::JobRow& row,
                            const store::LeaseRow& lease) const {
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
  view.reason =
      view.state == api::LeaseState::kWaiting ? views_.why_waiting(row, true) : row.reason;
  view.gpu = row.gpu;
  if (row.gpu) view.gpu_uuid = hardware_.uuid_of(core::GpuId(*row.gpu));
  view.start = row.start;
  view.mig_uuid = row.mig_uuid;
  if (!row.mig_uuid.empty()) view.cdi = cdi_name(row.mig_uuid);
  view.ttl = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl);
  view.asked = row.submitted;
  view.granted = lease.granted;
  view.ended = row.ended;
  if (access_.may_read(caller, row.uid)) view.labels = labels_in(lease.labels);
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
