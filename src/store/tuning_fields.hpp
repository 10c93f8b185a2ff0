// JSON fields of core::Tuning, shared by events and saved state. Private to the store.
#pragma once

#include "core/tuning.hpp"
#include "store/json_fields.hpp"

namespace tangram::store {

template <class V, Of<core::DayWindow> X>
void fields(V& v, X& x) {
  v("from_s", x.from_s);
  v("to_s", x.to_s);
}
template <class V, Of<core::Restraint> X>
void fields(V& v, X& x) {
  v("most_moves", x.most_moves);
  v("cooldown_us", x.cooldown);
  v("smallest_gain_ppm", x.smallest_gain_ppm);
  v("window", x.window);
  v("protect_head", x.protect_head);
}
// Missing in stores before schema 7: no job passes a head, and there is no ageing.
template <class V, Of<core::Fairness> X>
void fields(V& v, X& x) {
  v("max_passes", x.max_passes);
  v("ageing_us", x.ageing);
  v("half_life_us", x.half_life);
}
template <class V, Of<core::Tuning> X>
void fields(V& v, X& x) {
  v("threshold", x.threshold);
  v("placement", x.placement);
  v("migration", x.migration);
  v("queue", x.queue);
  v("restraint", x.restraint);
  v("fairness", x.fairness);
}

}  // namespace tangram::store
