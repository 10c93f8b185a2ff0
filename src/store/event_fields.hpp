// JSON fields of events, except core::GpuAdded: its model is text. In a header, because fields() is
// found by argument-dependent lookup, which an anonymous namespace would prevent. Private to the
// store.
#pragma once

#include "core/event.hpp"
#include "store/json_fields.hpp"
#include "store/tuning_fields.hpp"

namespace tangram::store {

template <class X, class... Ts>
concept OneOf = (Of<X, Ts> || ...);

template <class V, Of<core::JobSubmitted> X>
void fields(V& v, X& x) {
  v("job", x.spec.id);
  v("profile", x.spec.profile);
  v("job_kind", x.spec.kind);
  v("movable", x.spec.movable);
  v("restart", x.spec.restart);
  v("max_restarts", x.spec.max_restarts);
  v("held", x.spec.held);
  v("over_limit", x.spec.over_limit);
  v("dependent", x.spec.dependent);
  v("array_full", x.spec.array_full);
  v("priority", x.spec.priority);
  v("user", x.spec.user);
  v("time_limit_us", x.spec.time_limit);
  v("stop_grace_us", x.spec.stop_grace);
  v("gpu_model", x.spec.gpu_model);
}
template <class V, OneOf<core::JobCancelled, core::JobRequeued> X>
void fields(V& v, X& x) {
  v("job", x.job);
}
template <class V, OneOf<core::JobHeld, core::JobReleased> X>
void fields(V& v, X& x) {
  v("job", x.job);
  v("cause", x.cause);
}
template <class V, OneOf<core::JobReady, core::TrafficSwitched> X>
void fields(V& v, X& x) {
  v("job", x.job);
  v("run", x.run);
}
template <class V, Of<core::JobExited> X>
void fields(V& v, X& x) {
  v("job", x.job);
  v("run", x.run);
  v("success", x.success);
  v("node_fault", x.node_fault);
}
template <class V, Of<core::TrafficDrained> X>
void fields(V& v, X& x) {
  v("job", x.job);
  v("run", x.run);
  v("to", x.to);
}
template <class V, OneOf<core::InstanceCreated, core::InstanceDestroyed, core::InstanceQuarantined,
                         core::QuarantineEnded>
                       X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("instance", x.instance);
}
template <class V, Of<core::ActionFailed> X>
void fields(V& v, X& x) {
  v("action", x.kind);
  v("gpu", x.gpu);
  v("instance", x.instance);
  v("job", x.job);
  v("run", x.run);
}
template <class V, Of<core::GpuHealth> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("health", x.health);
}
template <class V, OneOf<core::ForeignSeen, core::ForeignGone> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
  v("placement", x.placement);
}
template <class V, OneOf<core::GpuCordoned, core::GpuUncordoned, core::GpuDrained> X>
void fields(V& v, X& x) {
  v("gpu", x.gpu);
}
template <class V, Of<core::MoveRequested> X>
void fields(V& v, X& x) {
  v("job", x.job);
  v("anywhere", x.anywhere);
  v("gpu", x.gpu);
  v("start", x.start);
  v("restrained", x.restrained);
}
template <class V, Of<core::TuningChanged> X>
void fields(V& v, X& x) {
  v("tuning", x.tuning);
}
template <class V, Of<core::WakeUp> X>
void fields(V&, X&) {}

}  // namespace tangram::store
