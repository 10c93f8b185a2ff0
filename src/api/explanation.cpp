// The JSON of explanations; see explanation.hpp.
#include "api/explanation.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job_words.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr ListLimits kSentences{100'000, std::size_t{64} << 20U};
constexpr Bounds kAny{0, kMost};

template <class T>
json::array list_json(const std::vector<T>& values, json::value (*write)(const T&)) {
  json::array list;
  list.reserve(values.size());
  for (const T& value : values) list.push_back(write(value));
  return list;
}

template <class T>
std::vector<T> list_in(Fields& fields, std::string_view key, std::string_view what,
                       Mistakes& mistakes, T (*read)(Fields&, Mistakes&)) {
  std::vector<T> list;
  fields.each(key, [&](const json::value& value, const std::string& path) {
    Fields element(value, path, what, mistakes);
    list.push_back(read(element, mistakes));
  });
  return list;
}

json::value candidate_json(const CandidateView& c) {
  return json::object{{"gpu", c.gpu},
                      {"start", c.start},
                      {"busy", c.busy},
                      {"frag_before", c.frag_before},
                      {"frag_after", c.frag_after}};
}

CandidateView candidate_in(Fields& fields, Mistakes& /*none of its own*/) {
  CandidateView c;
  c.gpu = fields.number32("gpu").value_or(0);
  c.start = fields.number32("start").value_or(0);
  c.busy = fields.flag("busy").value_or(false);
  c.frag_before = fields.decimal("frag_before").value_or(0);
  c.frag_after = fields.decimal("frag_after").value_or(0);
  return c;
}

json::value obstacle_json(const ObstacleView& o) {
  return json::object{{"gpu", o.gpu}, {"why", o.why}};
}

ObstacleView obstacle_in(Fields& fields, Mistakes& /*none of its own*/) {
  return {fields.number32("gpu").value_or(0), fields.text("why")};
}

json::value move_json(const MoveView& m) {
  return json::object{{"job", m.job},
                      {"from_gpu", m.from_gpu},
                      {"from_start", m.from_start},
                      {"to_gpu", m.to_gpu},
                      {"to_start", m.to_start}};
}

MoveView move_in(Fields& fields, Mistakes& /*none of its own*/) {
  MoveView m;
  m.job = fields.number("job", kAny).value_or(0);
  m.from_gpu = fields.number32("from_gpu").value_or(0);
  m.from_start = fields.number32("from_start").value_or(0);
  m.to_gpu = fields.number32("to_gpu").value_or(0);
  m.to_start = fields.number32("to_start").value_or(0);
  return m;
}

json::value room_json(const RoomView& r) {
  return json::object{{"moves", list_json(r.moves, move_json)}, {"gpu", r.gpu}, {"start", r.start}};
}

RoomView room_in(Fields& fields, Mistakes& mistakes) {
  RoomView r;
  r.moves = list_in(fields, "moves", "a move", mistakes, move_in);
  r.gpu = fields.number32("gpu").value_or(0);
  r.start = fields.number32("start").value_or(0);
  return r;
}

// What an explanation and the answer to a what-if have in common.
template <class Why>
void write_why(json::object& o, const Why& why) {
  o["text"] = json::array(why.text.begin(), why.text.end());
  o["candidates"] = list_json(why.candidates, candidate_json);
  o["decided_by"] = text_or_null(why.decided_by);
  o["rooms"] = list_json(why.rooms, room_json);
  o["departures"] = json::array(why.departures.begin(), why.departures.end());
  o["fits_now"] = json::array(why.fits_now.begin(), why.fits_now.end());
  o["obstacles"] = list_json(why.obstacles, obstacle_json);
}

template <class Why>
void read_why(Fields& fields, Mistakes& mistakes, Why& why) {
  fields.require("profile");
  why.profile = fields.text("profile");
  why.text = fields.texts("text", kSentences);
  why.candidates = list_in(fields, "candidates", "a candidate", mistakes, candidate_in);
  why.decided_by = fields.text("decided_by");
  why.rooms = list_in(fields, "rooms", "a way to make room", mistakes, room_in);
  why.departures = fields.numbers("departures");
  why.fits_now = fields.texts("fits_now", kSentences);
  why.obstacles = list_in(fields, "obstacles", "an obstacle", mistakes, obstacle_in);
}

}  // namespace

json::value to_json(const Explanation& e) {
  json::object o{{"job", e.job},
                 {"profile", e.profile},
                 {"state", name_of(e.state)},
                 {"step", or_null(e.step)},
                 {"decided", or_null(e.decided)},
                 {"retry", or_null(e.retry)}};
  o["ahead"] = json::array(e.ahead.begin(), e.ahead.end());
  write_why(o, e);
  return o;
}

Result<Explanation> read_explanation(const json::value& document) {
  Mistakes mistakes;
  Fields fields(document, "", "an explanation", mistakes);
  Explanation e;
  fields.require("job");
  e.job = fields.number("job", kAny).value_or(0);
  e.state = static_cast<JobState>(fields.word("state", kStateWords).value_or(1));
  e.step = fields.number("step", kAny);
  e.decided = fields.wall("decided");
  e.ahead = fields.numbers("ahead");
  e.retry = fields.wall("retry");
  read_why(fields, mistakes, e);
  if (mistakes.first()) return std::unexpected(*mistakes.first());
  return e;
}

json::value to_json(const WhatIf& w) {
  json::object o{{"profile", w.profile}, {"starts_now", w.starts_now}, {"ahead", w.ahead}};
  write_why(o, w);
  return o;
}

Result<WhatIf> read_what_if(const json::value& document) {
  Mistakes mistakes;
  Fields fields(document, "", "a what-if", mistakes);
  WhatIf w;
  w.starts_now = fields.flag("starts_now").value_or(false);
  w.ahead = fields.number32("ahead").value_or(0);
  read_why(fields, mistakes, w);
  if (mistakes.first()) return std::unexpected(*mistakes.first());
  return w;
}

}  // namespace tangram::api
