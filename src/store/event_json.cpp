// See event_json.hpp.
#include "store/event_json.hpp"

#include <array>
#include <utility>
#include <variant>

#include "policies/registry.hpp"
#include "store/event_fields.hpp"
#include "store/json_fields.hpp"
#include "store/json_line.hpp"
#include "text/model_file.hpp"

namespace tangram::store {
namespace {

using core::Event;

// In the order of the variant. Stored: names must not change; append new ones.
constexpr std::array<std::string_view, std::variant_size_v<Event>> kKinds{
    "job-submitted",    "job-cancelled",      "job-held",         "job-released",
    "job-ready",        "job-exited",         "traffic-switched", "traffic-drained",
    "instance-created", "instance-destroyed", "action-failed",    "gpu-added",
    "gpu-health",       "foreign-seen",       "foreign-gone",     "instance-quarantined",
    "quarantine-ended", "gpu-cordoned",       "gpu-uncordoned",   "gpu-drained",
    "move-asked",       "tuning-changed",     "wake-up",          "job-requeued"};

void write(FieldWriter& v, const core::GpuAdded& x) {
  v("model", text::to_toml(x.model->spec()));
  v("layout", x.layout);
}
void write(FieldWriter& v, const auto& x) { fields(v, x); }

Result<void> finish(core::GpuAdded& x, const std::string& toml) {
  auto model = text::read_model(toml, "the model of an event");
  if (!model) return std::unexpected(model.error());
  for (const mig::Placement& p : x.layout) {
    if (p.profile.value() >= model->profiles().size())
      return invalid("the layout has an unknown profile");
    if (const auto legal = model->placement(p.profile, p.start); !legal) {
      return std::unexpected(legal.error());
    }
  }
  x.model = std::make_shared<const mig::Model>(*std::move(model));
  return {};
}

Result<Event> read(FieldReader& v, core::GpuAdded x) {
  std::string toml;
  v("model", toml);
  v("layout", x.layout);
  if (!v.done()) return invalid("invalid fields");
  if (const auto done = finish(x, toml); !done) return std::unexpected(done.error());
  return x;
}
Result<Event> read(FieldReader& v, core::TuningChanged x) {
  fields(v, x);
  if (!v.done()) return invalid("invalid fields");
  const auto policies = policies::find_policies(x.tuning);
  if (!policies) return std::unexpected(policies.error());
  x.policies = *policies;
  return x;
}
Result<Event> read(FieldReader& v, auto x) {
  fields(v, x);
  if (!v.done()) return invalid("invalid fields");
  return Event(x);
}

template <std::size_t... Is>
Result<Event> read_kind(std::string_view kind, FieldReader& v, std::index_sequence<Is...>) {
  Result<Event> result = invalid(cat("unknown kind ", tangram::quoted(kind)));
  static_cast<void>(
      ((kKinds[Is] == kind ? (result = read(v, std::variant_alternative_t<Is, Event>{}), true)
                           : false) ||
       ...));
  return result;
}

}  // namespace

std::string_view event_kind(const Event& event) { return kKinds[event.index()]; }

std::string event_json(const Event& event) {
  json::object out;
  out.emplace("v", kEventVersion);
  out.emplace("kind", event_kind(event));
  FieldWriter writer(out);
  std::visit([&](const auto& e) { write(writer, e); }, event);
  return json_line(out);
}

Result<Event> read_event(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return invalid(cat("not an event: ", tangram::quoted(text), ": ", why));
  };
  const auto value = parse_line(text);
  if (!value || !value->is_object()) return bad("not a JSON object");
  FieldReader reader(value->get_object());
  int version = 0;
  std::string kind;
  reader("v", version);
  reader("kind", kind);
  if (version != kEventVersion) return bad(cat("version ", version, " instead of 1"));
  auto event = read_kind(kind, reader, std::make_index_sequence<kKinds.size()>());
  if (!event) return bad(event.error().message);
  return event;
}

}  // namespace tangram::store
