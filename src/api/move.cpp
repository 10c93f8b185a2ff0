// The JSON of moves; see move.hpp.
#include "api/move.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kHighestStart = 255;  // above that of any model

json::value slot_json(const SlotView& slot) {
  return json::object{{"gpu", slot.gpu}, {"start", slot.start}};
}

// `strict`: reject unknown keys (requests). That is checked first, so that a typo is not reported
// as a missing key.
SlotView slot_in(const json::value& value, const std::string& path, bool strict,
                 FieldErrors& errors) {
  Fields fields(value, path, "a slot", errors);
  SlotView slot;
  slot.gpu = fields.number32("gpu").value_or(0);
  slot.start = static_cast<std::uint32_t>(fields.number("start", {0, kHighestStart}).value_or(0));
  if (strict) fields.reject_unknown();
  fields.require("gpu");
  fields.require("start");
  return slot;
}

SlotView slot_at(Fields& fields, std::string_view key, FieldErrors& errors) {
  fields.require(key);
  const json::value* value = fields.value(key);
  return value == nullptr ? SlotView{} : slot_in(*value, fields.path_of(key), false, errors);
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

DefragStepView step_in(const json::value& value, const std::string& path, FieldErrors& errors) {
  Fields fields(value, path, "a step", errors);
  DefragStepView step;
  fields.require("job");
  step.job = fields.number("job", {0, kMax}).value_or(0);
  step.name = fields.text("name");
  step.user = fields.text("user");
  step.profile = fields.text("profile");
  step.from = slot_at(fields, "from", errors);
  step.to = slot_at(fields, "to", errors);
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
  FieldErrors errors;
  Fields fields(document, "", "a move", errors);
  MoveRequest request;
  if (const json::value* to = fields.value("to")) {
    request.to = slot_in(*to, "to", true, errors);
  }
  fields.reject_unknown();
  if (errors.first()) return std::unexpected(*errors.first());
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
  FieldErrors errors;
  Fields fields(document, "", "a plan", errors);
  DefragPlan plan;
  fields.require("steps");
  plan.frag_cost_before = fields.decimal("frag_cost_before").value_or(0);
  plan.frag_cost_after = fields.decimal("frag_cost_after").value_or(0);
  fields.each("steps", [&](const json::value& value, const std::string& path) {
    plan.steps.push_back(step_in(value, path, errors));
  });
  if (errors.first()) return std::unexpected(*errors.first());
  return plan;
}

}  // namespace tangram::api
