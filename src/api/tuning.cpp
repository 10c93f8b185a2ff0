// The JSON of the scheduler's tuning; see tuning.hpp.
#include "api/tuning.hpp"

#include <boost/json/object.hpp>

#include "api/fields.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kLongestWord = 128;
constexpr Bounds kTimeSpan{0, 3660ULL * 24 * 3'600'000};

std::optional<std::string> text_if_there(Fields& fields, std::string_view key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.text(key, kLongestWord);
}

}  // namespace

json::value to_json(const TuningView& t) {
  return json::object{{"threshold", t.threshold},
                      {"placement", t.placement},
                      {"migration", t.migration},
                      {"queue", t.queue},
                      {"most_moves", t.most_moves},
                      {"cooldown", duration_text(t.cooldown)},
                      {"gain", t.gain},
                      {"window", text_or_null(t.window)},
                      {"protect_head", t.protect_head},
                      {"max_passes", t.max_passes},
                      {"ageing", duration_text(t.ageing)},
                      {"half_life", duration_text(t.half_life)}};
}

Result<TuningView> read_tuning_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a tuning", errors);
  TuningView t;
  fields.require("threshold");
  t.threshold = fields.text("threshold");
  t.placement = fields.text("placement");
  t.migration = fields.text("migration");
  t.queue = fields.text("queue");
  t.most_moves = fields.number32("most_moves").value_or(0);
  t.cooldown = fields.duration("cooldown", kTimeSpan).value_or(t.cooldown);
  t.gain = fields.text("gain");
  t.window = fields.text("window");
  t.protect_head = fields.flag("protect_head").value_or(t.protect_head);
  t.max_passes = fields.number32("max_passes").value_or(0);
  t.ageing = fields.duration("ageing", kTimeSpan).value_or(t.ageing);
  t.half_life = fields.duration("half_life", kTimeSpan).value_or(t.half_life);
  if (errors.first()) return std::unexpected(*errors.first());
  return t;
}

json::value to_json(const TuningChange& c) {
  json::object o;
  if (c.threshold) o["threshold"] = *c.threshold;
  if (c.placement) o["placement"] = *c.placement;
  if (c.migration) o["migration"] = *c.migration;
  if (c.queue) o["queue"] = *c.queue;
  if (c.most_moves) o["most_moves"] = *c.most_moves;
  if (c.cooldown) o["cooldown"] = duration_text(*c.cooldown);
  if (c.gain) o["gain"] = *c.gain;
  if (c.window) o["window"] = *c.window;
  if (c.protect_head) o["protect_head"] = *c.protect_head;
  if (c.max_passes) o["max_passes"] = *c.max_passes;
  if (c.ageing) o["ageing"] = duration_text(*c.ageing);
  if (c.half_life) o["half_life"] = duration_text(*c.half_life);
  return o;
}

Result<TuningChange> read_tuning_change(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a change of the tuning", errors);
  TuningChange c;
  c.threshold = text_if_there(fields, "threshold");
  c.placement = text_if_there(fields, "placement");
  c.migration = text_if_there(fields, "migration");
  c.queue = text_if_there(fields, "queue");
  c.most_moves = fields.number32("most_moves");
  c.cooldown = fields.duration("cooldown", kTimeSpan);
  c.gain = text_if_there(fields, "gain");
  c.window = text_if_there(fields, "window");
  c.protect_head = fields.flag("protect_head");
  c.max_passes = fields.number32("max_passes");
  c.ageing = fields.duration("ageing", kTimeSpan);
  c.half_life = fields.duration("half_life", kTimeSpan);
  fields.reject_unknown();
  if (c == TuningChange{}) errors.add("", "no setting to change is given");
  if (errors.first()) return std::unexpected(*errors.first());
  return c;
}

}  // namespace tangram::api
