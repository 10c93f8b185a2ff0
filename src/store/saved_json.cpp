// See saved_json.hpp.
#include "store/saved_json.hpp"

#include "base/text.hpp"
#include "store/json_fields.hpp"
#include "store/json_line.hpp"
#include "store/tuning_fields.hpp"

namespace tangram::store {

// Not in an anonymous namespace, because they are found by argument-dependent lookup.
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
  v("holds", x.holds);
  v("restart", x.restart);
  v("restarts", x.restarts);
  v("max_restarts", x.max_restarts);
  v("create_failures", x.create_failures);
  v("main", x.main);
  v("replica", x.replica);
  v("move_kind", x.move_kind);
  v("move", x.move);
  v("replica_start", x.replica_start);
  v("cooldown_until", x.cooldown_until);
  v("back_offs", x.back_offs);
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
}

namespace {

template <class T>
std::string write(const T& x) {
  json::object out;
  out.emplace("v", kSavedVersion);
  FieldWriter writer(out);
  fields(writer, x);
  return json_line(out);
}

template <class T>
Result<T> read(std::string_view text, std::string_view what) {
  const auto bad = [&](std::string_view why) {
    return invalid(cat("not the saved state of ", what, ": ", tangram::quoted(text), ": ", why));
  };
  const auto value = parse_line(text);
  if (!value || !value->is_object()) return bad("not a JSON object");
  FieldReader reader(value->get_object());
  int version = 0;
  reader("v", version);
  if (version != kSavedVersion) return bad(cat("version ", version, " instead of 1"));
  T x;
  fields(reader, x);
  if (!reader.done()) return bad("invalid fields");
  return x;
}

}  // namespace

std::string saved_json(const core::SavedJob& job) { return write(job); }
std::string saved_json(const core::SavedGpu& gpu) { return write(gpu); }
std::string saved_json(const core::SavedRest& rest) { return write(rest); }

Result<core::SavedJob> read_saved_job(std::string_view text) {
  return read<core::SavedJob>(text, "a job");
}
Result<core::SavedGpu> read_saved_gpu(std::string_view text) {
  return read<core::SavedGpu>(text, "a GPU");
}
Result<core::SavedRest> read_saved_rest(std::string_view text) {
  return read<core::SavedRest>(text, "the scheduler");
}

}  // namespace tangram::store
