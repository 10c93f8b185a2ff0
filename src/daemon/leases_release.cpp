// See leases.hpp: leases given back by their holders. That is a fact like any other: if it cannot
// be written down now it is noted, and done as soon as it can be.
#include <algorithm>

#include "base/text.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/problems.hpp"

namespace tangram::daemon {

// One who gives a lease back and has not been answered.
struct Leases::Parting {
  Caller caller;
  std::uint64_t id = 0;
  Parted reply;
};

void Leases::release(const Caller& caller, std::uint64_t id, const Parted& reply) {
  const auto row = find_taken(caller, id, "release");
  if (!row) return reply(std::unexpected(row.error()));
  const auto parting = std::make_shared<Parting>(Parting{caller, id, reply});
  if (row->over || row->state == api::name_of(api::JobState::kStopping)) {
    return tell_parted(*parting, false);
  }
  Input input{.event = core::WakeUp{}};
  if (ending_.insert(id).second) {  // from now on it is nobody's
    input.event = core::JobCancelled{core::JobId(id)};
    input.note = [id](Records& records) {
      store::JobRow* mine = records.edit_job(id);
      if (mine != nullptr && !mine->over) mine->reason = "released";
    };
  }
  input.done = [this, alive = alive_, parting](const Result<void>& /*a fact*/) {
    if (!*alive) return;
    // One that was never committed has nobody else to forget it.
    if (engine_.records().job(parting->id) == nullptr) ending_.erase(parting->id);
    if (std::erase(parting_, parting) > 0) tell_parted(*parting, false);
  };
  parting_.push_back(parting);
  engine_.post(std::move(input));
  if (!engine_.store_trouble().empty()) tell_parted();
}

void Leases::tell_parted(const Parting& parting, bool noted) {
  auto seen = lease(parting.caller, parting.id);
  if (!seen) return parting.reply(std::unexpected(std::move(seen.error())));
  parting.reply(Released{.lease = *std::move(seen), .noted = noted});
}

// All who wait for it: nobody knows how long the store will be in trouble.
void Leases::tell_parted() {
  for (const auto& each : std::exchange(parting_, {})) tell_parted(*each, true);
}

void Leases::release_by_key(const Caller& caller, const Name& name,
                            const http::Reply<std::optional<Released>>& reply) {
  if (auto may = access_.admit_change(caller); !may) return reply(std::unexpected(may.error()));
  if (name.uid != caller.uid) {
    const auto may = access_.require_admin(caller, "release leases of others");
    if (!may) return reply(std::unexpected(may.error()));
  }
  const auto id = find_name(name);
  if (!id) return reply(std::nullopt);
  if (engine_.records().job(*id) == nullptr) {  // asked for and not committed: once that is clear
    engine_.post(Input{.event = core::WakeUp{},
                       .done =
                           [this, alive = alive_, caller, name, reply](const Result<void>&) {
                             if (*alive) release_by_key(caller, name, reply);
                           },
                       .wish = true});
    return;
  }
  release(caller, *id, [reply](Answer<Released> answer) {
    if (answer) return reply(*std::move(answer));
    reply(std::unexpected(std::move(answer.error())));
  });
}

}  // namespace tangram::daemon
