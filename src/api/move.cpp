// The JSON of moves; see move.hpp.
#include "api/move.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kHighestStart = 255;  // of any model there could be

json::value slot_json(const SlotView& slot) {
  return json::object{{"gpu", slot.gpu}, {"start", slot.start}};
}

// A typo is told as such, not as a key that is missing; a newer daemon may say more.
SlotView slot_in(const json::value& value, const std::string& path, bool only_these,
                 Mistakes& mistakes) {
  Fields fields(value, path, "a place", mistakes);
  SlotView slot;
  slot.gpu = fields.number32("gpu").value_or(0);
  slot.start = static_cast<std::uint32_t>(fields.number("start", {0, kHighestStart}).value_or(0));
  if (only_these) fields.refuse_others();
  fields.require("gpu");
  fields.require("start");
  return slot;
}

SlotView slot_at(Fields& fields, std::string_view key, Mistakes& mistakes) {
  fields.require(key);
  const json::value* value = fields.value(key);
  return value == nullptr ? SlotView{} : slot_in(*value, fields.path_of(key), false, mistakes);
}

json::value step_json(const DefragStepView& step) {
  return json::object{{"job", step.job},
                      {"name", text_or_null(step.name)},
                      {"user", text_or_null(step.user)},
                      {"profile", step.profile},
                      {"from", slot_json(step.from)},
                      {"to", slot_json(step.to)},
                      {"reuse", step.reuse},
                      {"kind", step.kind},
                      {"gain", step.gain}};
}

DefragStepView step_in(const json::value& value, const std::string& path, Mistakes& mistakes) {
  Fields fields(value, path, "a step", mistakes);
  DefragStepView step;
  fields.require("job");
  step.job = fields.number("job", {0, kMost}).value_or(0);
  step.name = fields.text("name");
  step.user = fields.text("user");
  step.profile = fields.text("profile");
  step.from = slot_at(fields, "from", mistakes);
  step.to = slot_at(fields, "to", mistakes);
  step.reuse = fields.flag("reuse").value_or(false);
  step.kind = fields.text("kind");
  step.gain = fields.decimal("gain").value_or(0);
  return step;
}

}  // namespace

json::value to_json(const MoveRequest& request) {
  json::object object;
  if (request.to) object["to"] = slot_json(*request.to);
  return object;
}

Result<MoveRequest> read_move_request(const json::value& document) {
  Mistakes mistakes;
  Fields fields(document, "", "a move", mistakes);
  MoveRequest request;
  if (const json::value* to = fields.value("to")) {
    request.to = slot_in(*to, "to", true, mistakes);
  }
  fields.refuse_others();
  if (mistakes.first()) return std::unexpected(*mistakes.first());
  return request;
}

json::value to_json(const DefragPlan& plan) {
  json::array steps;
  for (const DefragStepView& step : plan.steps) steps.push_back(step_json(step));
  return json::object{{"frag_cost_before", plan.frag_cost_before},
                      {"frag_cost_after", plan.frag_cost_after},
                      {"steps", std::move(steps)}};
}

Result<DefragPlan> read_defrag_plan(const json::value& document) {
  Mistakes mistakes;
  Fields fields(document, "", "a plan", mistakes);
  DefragPlan plan;
  fields.require("steps");
  plan.frag_cost_before = fields.decimal("frag_cost_before").value_or(0);
  plan.frag_cost_after = fields.decimal("frag_cost_after").value_or(0);
  fields.each("steps", [&](const json::value& value, const std::string& path) {
    plan.steps.push_back(step_in(value, path, mistakes));
  });
  if (mistakes.first()) return std::unexpected(*mistakes.first());
  return plan;
}

}  // namespace tangram::api
