// The JSON of an event; see event.hpp.
#include "api/event.hpp"

#include <boost/json/object.hpp>

#include "api/fields.hpp"

namespace tangram::api {

boost::json::value to_json(const EventView& event) {
  return boost::json::object{{"id", event.id},
                             {"time", wall_text(event.time)},
                             {"kind", event.kind},
                             {"job", or_null(event.job)},
                             {"name", text_or_null(event.name)},
                             {"key", text_or_null(event.key)},
                             {"user", text_or_null(event.user)},
                             {"profile", text_or_null(event.profile)},
                             {"gpu", or_null(event.gpu)},
                             {"start", or_null(event.start)},
                             {"text", text_or_null(event.text)}};
}

Result<EventView> read_event_view(const boost::json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "an event", errors);
  EventView event;
  fields.require("id");
  fields.require("kind");
  event.id = fields.number("id", {0, kMax}).value_or(0);
  event.time = fields.wall("time").value_or(WallTime{});
  event.kind = fields.text("kind");
  event.job = fields.number("job", {0, kMax});
  event.name = fields.text("name");
  event.key = fields.text("key");
  event.user = fields.text("user");
  event.profile = fields.text("profile");
  event.gpu = fields.number32("gpu");
  event.start = fields.number32("start");
  event.text = fields.text("text");
  if (errors.first()) return std::unexpected(*errors.first());
  return event;
}

}  // namespace tangram::api
