// JSON fields of the scheduler's saved state. In a header, because fields() is found by
// argument-dependent lookup, which an anonymous namespace would prevent. Private to the store.
#pragma once

#include "core/saved.hpp"
#include "store/json_fields.hpp"
#include "store/tuning_fields.hpp"

namespace tangram::store {

template <class V, Of<core::BackOff> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("start", x.start);
  v("failures", x.failures);
  v("until", x.until);
}
template <class V, Of<core::Replica> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("instance", x.instance);
  v("run", x.run);
  v("ready", x.ready);
  v("stopping", x.stopping);
}
template <class V, Of<core::Reservation> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("start", x.start);
  v("time", x.time);
}
template <class V, Of<core::UserUsage> X>
void fields(V& v, X& x) {
  v("user", x.user);
  v("used", x.used);
  v("slices", x.slices);
  v("since", x.since);
}
template <class V, Of<core::SavedJob> X>
void fields(V& v, X& saved) {
  auto& x = saved.job;
  v("id", x.id);
  v("order", x.order);
  v("profile", saved.profile);
  v("kind", x.kind);
  v("phase", x.phase);
  v("allowed_to_move", x.allowed_to_move);
  v("cancelled", x.cancelled);
  v("ending", x.ending);
  v("failed", x.failed);
  v("requeued", x.requeued);
  v("holds", x.holds);
  v("restart", x.restart);
  v("restarts", x.restarts);
  v("max_restarts", x.max_restarts);
  v("create_failures", x.create_failures);
  v("priority", x.priority);
  v("user", x.user);
  v("time_limit_us", x.time_limit);
  v("stop_grace_us", x.stop_grace);
  v("gpu_model", x.gpu_model);
  v("main", x.main);
  v("replica", x.replica);
  v("move_kind", x.move_kind);
  v("move", x.move);
  v("replica_start", x.replica_start);
  v("cooldown_until", x.cooldown_until);
  v("back_offs", x.back_offs);
  v("submitted", x.submitted);
  v("ends", x.ends);
  v("counted_slices", x.counted_slices);
  v("passed", x.passed);
  v("reservation", x.reservation);
  v("lost_reservation", x.lost_reservation);
}
template <class V, Of<core::SavedEntry> X>
void fields(V& v, X& x) {
  v("at", x.placement);
  v("state", x.state);
  v("movable", x.movable);
  v("leaving", x.leaving);
  v("id", x.id);
  v("job", x.job);
}
template <class V, Of<core::SavedGpu> X>
void fields(V& v, X& x) {
  v("id", x.id);
  v("layout", x.layout);
  v("health", x.health);
  v("cordoned", x.cordoned);
  v("draining", x.draining);
  v("incoming", x.incoming);
  v("entries", x.entries);
}
template <class V, Of<core::Timer> X>
void fields(V& v, X& x) {
  v("when", x.when);
  v("kind", x.kind);
  v("job", x.job);
  v("gpu", x.gpu);
  v("instance", x.instance);
  v("run", x.run);
}
template <class V, Of<core::SavedQuarantine> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("instance", x.instance);
  v("failures", x.failures);
  v("asked", x.attempting);
}
template <class V, Of<core::SavedRest> X>
void fields(V& v, X& x) {
  v("partitioning", x.partitioning);
  v("tuning", x.tuning);
  v("now", x.now);
  v("woken_at", x.woken_at);
  v("next_order", x.next_order);
  v("next_instance", x.next_instance);
  v("next_run", x.next_run);
  v("try_queue", x.try_queue);
  v("head_order", x.head_order);
  v("ask", x.to_plan);
  v("asleep", x.restrained);
  v("timers", x.timers);
  v("quarantines", x.quarantines);
  v("cooling", x.cooling);
  v("recent", x.recent);
  v("ordered_at", x.ordered_at);
  v("usage", x.usage);
}

}  // namespace tangram::store
