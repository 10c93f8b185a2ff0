// The JSON of explanations; see explanation.hpp.
#include "api/explanation.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job_names.hpp"
#include "api/job_request_fields.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr ListLimits kSentences{100'000, std::size_t{64} << 20U};
constexpr Bounds kAny{0, kMax};

template <class T>
json::array list_json(const std::vector<T>& values, json::value (*write)(const T&)) {
  json::array list;
  list.reserve(values.size());
  for (const T& value : values) list.push_back(write(value));
  return list;
}

template <class T>
std::vector<T> list_in(Fields& fields, std::string_view key, std::string_view what,
                       FieldErrors& errors, T (*read)(Fields&, FieldErrors&)) {
  std::vector<T> list;
  fields.each(key, [&](const json::value& value, const std::string& path) {
    Fields element(value, path, what, errors);
    list.push_back(read(element, errors));
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

CandidateView candidate_in(Fields& fields, FieldErrors& /*none of its own*/) {
  CandidateView c;
  c.gpu = fields.number32("gpu").value_or(0);
  c.start = fields.number32("start").value_or(0);
  c.busy = fields.flag("busy").value_or(false);
  c.frag_before = fields.decimal("frag_before").value_or(0);
  c.frag_after = fields.decimal("frag_after").value_or(0);
  return c;
}

json::value fixed_instance_json(const FixedInstanceView& s) {
  return json::object{{"profile", s.profile}, {"start", s.start}, {"state", s.state}};
}

FixedInstanceView fixed_instance_in(Fields& fields, FieldErrors& /*none of its own*/) {
  return {fields.text("profile"), fields.number32("start").value_or(0), fields.text("state")};
}

json::value obstacle_json(const ObstacleView& o) {
  return json::object{
      {"gpu", o.gpu}, {"why", o.why}, {"standing", list_json(o.standing, fixed_instance_json)}};
}

ObstacleView obstacle_in(Fields& fields, FieldErrors& errors) {
  return {fields.number32("gpu").value_or(0), fields.text("why"),
          list_in(fields, "standing", "an instance", errors, fixed_instance_in)};
}

json::value restraint_json(const RestraintView& r) {
  return json::object{{"by", r.by}, {"until", or_null(r.until)}};
}

RestraintView restraint_in(Fields& fields, FieldErrors& /*none of its own*/) {
  return {fields.text("by"), fields.wall("until")};
}

// Source and target of a proposed or past move.
template <class Move>
json::object route_json(const Move& m) {
  return {{"from_gpu", m.from_gpu},
          {"from_start", m.from_start},
          {"to_gpu", m.to_gpu},
          {"to_start", m.to_start}};
}

template <class Move>
Move route_in(Fields& fields) {
  Move m;
  m.from_gpu = fields.number32("from_gpu").value_or(0);
  m.from_start = fields.number32("from_start").value_or(0);
  m.to_gpu = fields.number32("to_gpu").value_or(0);
  m.to_start = fields.number32("to_start").value_or(0);
  return m;
}

json::value move_json(const ProposedMoveView& m) {
  json::object o = route_json(m);
  o["job"] = m.job;
  o["user"] = text_or_null(m.user);
  o["may"] = m.may;
  o["restrained_by"] = list_json(m.restrained_by, restraint_json);
  return o;
}

ProposedMoveView move_in(Fields& fields, FieldErrors& errors) {
  auto m = route_in<ProposedMoveView>(fields);
  m.job = fields.number("job", kAny).value_or(0);
  m.user = fields.text("user");
  m.may = fields.flag("may").value_or(false);
  m.restrained_by = list_in(fields, "restrained_by", "a restraint", errors, restraint_in);
  return m;
}

json::value move_record_json(const MoveRecordView& m) {
  json::object o = route_json(m);
  o["kind"] = m.kind;
  o["begun"] = wall_text(m.begun);
  o["ended"] = or_null(m.ended);
  o["result"] = text_or_null(m.result);
  o["reason"] = text_or_null(m.reason);
  o["weighed"] = or_null(m.weighed);
  o["frag_before"] = or_null(m.frag_before);
  o["frag_after"] = or_null(m.frag_after);
  return o;
}

MoveRecordView move_record_in(Fields& fields, FieldErrors& /*none of its own*/) {
  auto m = route_in<MoveRecordView>(fields);
  m.kind = fields.text("kind");
  m.begun = fields.wall("begun").value_or(WallTime{});
  m.ended = fields.wall("ended");
  m.result = fields.text("result");
  m.reason = fields.text("reason");
  m.weighed = fields.number("weighed", kAny);
  m.frag_before = fields.decimal("frag_before");
  m.frag_after = fields.decimal("frag_after");
  return m;
}

json::value unblocking_moves_json(const UnblockingMoves& r) {
  return json::object{{"moves", list_json(r.moves, move_json)}, {"gpu", r.gpu}, {"start", r.start}};
}

UnblockingMoves unblocking_moves_in(Fields& fields, FieldErrors& errors) {
  UnblockingMoves r;
  r.moves = list_in(fields, "moves", "a move", errors, move_in);
  r.gpu = fields.number32("gpu").value_or(0);
  r.start = fields.number32("start").value_or(0);
  return r;
}

json::array numbers_json(const std::vector<std::uint64_t>& numbers) {
  json::array out(numbers.begin(), numbers.end());
  return out;
}

json::value pending_room_json(const std::optional<PendingRoomView>& r) {
  if (!r) return nullptr;
  return json::object{{"jobs", numbers_json(r->jobs)}, {"gpu", r->gpu}, {"start", r->start}};
}

std::optional<PendingRoomView> pending_room_in(Fields& outer, FieldErrors& errors) {
  if (!outer.has("to_come")) return std::nullopt;
  Fields fields(*outer.value("to_come"), outer.path_of("to_come"), "room to come", errors);
  PendingRoomView r;
  r.jobs = fields.numbers("jobs");
  r.gpu = fields.number32("gpu").value_or(0);
  r.start = fields.number32("start").value_or(0);
  return r;
}

json::value limit_json(const std::optional<LimitView>& l) {
  if (!l) return nullptr;
  return json::object{{"has", l->has},
                      {"most", l->most},
                      {"needs", l->needs},
                      {"behind", or_null(l->behind)},
                      {"group", text_or_null(l->group)}};
}

std::optional<LimitView> limit_in(Fields& outer, FieldErrors& errors) {
  if (!outer.has("limit")) return std::nullopt;
  Fields fields(*outer.value("limit"), outer.path_of("limit"), "a limit", errors);
  return LimitView{fields.number32("has").value_or(0), fields.number32("most").value_or(0),
                   fields.number32("needs").value_or(0), fields.number("behind", kAny),
                   fields.text("group")};
}

void write_base(json::object& o, const ExplanationBase& why) {
  o["text"] = json::array(why.text.begin(), why.text.end());
  o["candidates"] = list_json(why.candidates, candidate_json);
  o["decided_by"] = text_or_null(why.decided_by);
  o["rooms"] = list_json(why.unblocking_moves, unblocking_moves_json);
  o["departures"] = numbers_json(why.departures);
  o["to_come"] = pending_room_json(why.to_come);
  o["pinned"] = numbers_json(why.pinned);
  o["could_move"] = numbers_json(why.could_move);
  o["leases"] = numbers_json(why.leases);
  o["fits_now"] = json::array(why.fits_now.begin(), why.fits_now.end());
  o["obstacles"] = list_json(why.obstacles, obstacle_json);
}

void read_base(Fields& fields, FieldErrors& errors, ExplanationBase& why) {
  fields.require("profile");
  why.profile = fields.text("profile");
  why.text = fields.texts("text", kSentences);
  why.candidates = list_in(fields, "candidates", "a candidate", errors, candidate_in);
  why.decided_by = fields.text("decided_by");
  why.unblocking_moves =
      list_in(fields, "rooms", "a way to make room", errors, unblocking_moves_in);
  why.departures = fields.numbers("departures");
  why.to_come = pending_room_in(fields, errors);
  why.pinned = fields.numbers("pinned");
  why.could_move = fields.numbers("could_move");
  why.leases = fields.numbers("leases");
  why.fits_now = fields.texts("fits_now", kSentences);
  why.obstacles = list_in(fields, "obstacles", "an obstacle", errors, obstacle_in);
}

}  // namespace

json::value to_json(const Explanation& e) {
  json::object o{{"job", e.job},
                 {"profile", e.profile},
                 {"state", name_of(e.state)},
                 {"step", or_null(e.step)},
                 {"decided", or_null(e.decided)},
                 {"retry", or_null(e.retry)},
                 {"expected_start", or_null(e.expected_start)},
                 {"expected_after", or_null(e.expected_after)}};
  o["ahead"] = numbers_json(e.ahead);
  o["limit"] = limit_json(e.limit);
  o["waits_for"] = dependencies_json(e.waits_for);
  o["moves"] = list_json(e.moves, move_record_json);
  write_base(o, e);
  return o;
}

Result<Explanation> read_explanation(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "an explanation", errors);
  Explanation e;
  fields.require("job");
  e.job = fields.number("job", kAny).value_or(0);
  e.state = static_cast<JobState>(fields.enum_value("state", kStateNames).value_or(1));
  e.step = fields.number("step", kAny);
  e.decided = fields.wall("decided");
  e.ahead = fields.numbers("ahead");
  e.retry = fields.wall("retry");
  e.expected_start = fields.wall("expected_start");
  e.expected_after = fields.number("expected_after", kAny);
  e.limit = limit_in(fields, errors);
  e.waits_for = dependencies_in(fields, "waits_for", errors);
  e.moves = list_in(fields, "moves", "a move", errors, move_record_in);
  read_base(fields, errors, e);
  if (errors.first()) return std::unexpected(*errors.first());
  return e;
}

json::value to_json(const WhatIf& w) {
  json::object o{{"profile", w.profile},
                 {"starts_now", w.starts_now},
                 {"refused", text_or_null(w.refused)},
                 {"held", text_or_null(w.held)},
                 {"ahead", w.ahead},
                 {"first", or_null(w.first)}};
  write_base(o, w);
  return o;
}

Result<WhatIf> read_what_if(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a what-if", errors);
  WhatIf w;
  w.starts_now = fields.flag("starts_now").value_or(false);
  w.refused = fields.text("refused");
  w.held = fields.text("held");
  w.ahead = fields.number32("ahead").value_or(0);
  w.first = fields.number("first", kAny);
  read_base(fields, errors, w);
  if (errors.first()) return std::unexpected(*errors.first());
  return w;
}

}  // namespace tangram::api
