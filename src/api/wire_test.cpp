// Leases, tokens, tuning, events, explanations and history on the wire: round trips, and errors
// that name the key.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/event.hpp"
#include "api/explanation.hpp"
#include "api/history.hpp"
#include "api/lease.hpp"
#include "api/token.hpp"
#include "api/tuning.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const WallTime kWhen = *parse_wall("2026-11-16T11:42:03.123456Z");

json::value parsed(std::string_view text) { return json::parse({text.data(), text.size()}); }

// The error message for a text that must be rejected.
template <class Read>
std::string refused(Read read, std::string_view text) {
  const auto done = read(parsed(text));
  EXPECT_FALSE(done.has_value()) << text;
  return done ? "" : done.error().message;
}

// Writing, reading and writing again gives the same; unknown keys of a newer daemon are ignored.
template <class T, class Read>
void expect_round_trip(const T& value, Read read) {
  json::value document = to_json(value);
  const json::value before = document;
  document.as_object()["newer"] = 1;
  const auto back = read(document);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(to_json(*back), before);
}

TEST(LeaseJson, RequestsComeBackTheSame) {
  LeaseRequest full;
  full.gpu_memory_mib = 8192;
  full.key = "slurm/4711";
  full.name = "träin";
  full.ttl = milliseconds(90'500);
  full.wait = milliseconds(3'600'000);
  full.linger = milliseconds(5'000);
  full.uid = 1000;
  full.labels = {{"a", "b"}};
  full.cgroup = "/sys/fs/cgroup/slurm/job_4711";
  EXPECT_EQ(read_lease_request(to_json(full)), full);
  full.ttl = kNoEnd;
  EXPECT_EQ(to_json(full).at("ttl"), "none");
  EXPECT_EQ(read_lease_request(to_json(full)), full);
  LeaseRequest small;
  small.profile = "1g.5gb";
  EXPECT_EQ(read_lease_request(to_json(small)), small);
  EXPECT_EQ(read_lease_request(parsed(R"({"profile":"1g.5gb"})")), small);
}

TEST(LeaseJson, ErrorsNameTheKey) {
  const auto error_of = [](std::string_view more) {
    return refused(read_lease_request, std::string(R"({"profile":"1g.5gb",)") + std::string(more));
  };
  EXPECT_THAT(error_of(R"("ttl":"500ms"})"), StartsWith("ttl: must be a duration from 1s to 30d"));
  EXPECT_THAT(error_of(R"("ttl":"31d"})"), StartsWith("ttl: "));
  EXPECT_THAT(error_of(R"("ttl":"none"})"), StartsWith("ttl: \"none\" requires a key"));
  for (const char* path : {"slurm", "/", "/a//b", "/a/../b", "/a/.", "/a/"}) {
    EXPECT_THAT(error_of(std::string(R"("cgroup":")") + path + "\"}"),
                StartsWith("cgroup: must be an absolute path"));
  }
  EXPECT_THAT(error_of(R"("wait":"61m"})"), StartsWith("wait: must be a duration from 0s to 1h"));
  EXPECT_THAT(error_of(R"("uid":-1})"), StartsWith("uid: "));
  EXPECT_THAT(error_of(R"("uid":4294967296})"), StartsWith("uid: "));
  EXPECT_THAT(error_of(R"("key":"a\nb"})"), StartsWith("key: must have at most 255"));
  EXPECT_THAT(error_of(R"("key":")" + std::string(256, 'x') + R"("})"), StartsWith("key: "));
  EXPECT_THAT(error_of(R"("name":7})"), StartsWith("name: must be a string"));
  EXPECT_THAT(error_of(R"("labels":{"A":"b"}})"), StartsWith("labels.A: "));
  EXPECT_THAT(error_of(R"("tll":"1m"})"), HasSubstr("did you mean 'ttl'?"));
  EXPECT_THAT(error_of(R"("gpu_memory":"8GiB"})"), HasSubstr("cannot be combined with profile"));
  EXPECT_THAT(refused(read_lease_request, "{}"), StartsWith("profile: is missing"));
  EXPECT_THAT(refused(read_lease_request, R"({"profile":"1g.5gb","linger":"1m"})"),
              StartsWith("linger: requires a key"));
  EXPECT_THAT(refused(read_lease_request, "[]"), HasSubstr("a lease must be an object"));
  std::string labels;
  for (int i = 0; i < 65; ++i) {
    labels += (i > 0 ? ",\"l" : "\"l") + std::to_string(i) + R"(":"")";
  }
  EXPECT_THAT(error_of(R"("labels":{)" + labels + "}}"), HasSubstr("at most 64"));
  EXPECT_EQ(
      read_lease_request(parsed(R"({"profile":"a","key":")" + std::string(255, 'x') + R"("})"))
          ->key.size(),
      255U);
}

TEST(LeaseJson, RenewalsMayNameATtl) {
  EXPECT_EQ(read_renewal(parsed("{}")), std::nullopt);
  EXPECT_EQ(read_renewal(parsed(R"({"ttl":null})")), std::nullopt);
  EXPECT_EQ(read_renewal(parsed(R"({"ttl":90})"))->value(), milliseconds(90'000));
  EXPECT_EQ(read_renewal(parsed(R"({"ttl":"none"})"))->value(), kNoEnd);
  EXPECT_THAT(refused(read_renewal, R"({"ttl":0})"), StartsWith("ttl: "));
  EXPECT_THAT(refused(read_renewal, R"({"time":1})"), StartsWith("time: unknown key of a renewal"));
}

TEST(LeaseJson, ViewsComeBackTheSame) {
  LeaseView lease;
  const json::value empty = to_json(lease);
  EXPECT_TRUE(empty.at("gpu").is_null());
  EXPECT_TRUE(empty.at("granted").is_null());
  EXPECT_EQ(empty.at("state"), "waiting");
  expect_round_trip(lease, read_lease_view);
  lease = {.id = 7,
           .key = "k",
           .name = "n",
           .user = "ann",
           .uid = 1000,
           .taker = "root",
           .taker_uid = 1,
           .profile = "1g.5gb",
           .state = LeaseState::kReleasing,
           .reason = "released",
           .gpu = 1,
           .gpu_uuid = "GPU-1",
           .gpu_minor = 1,
           .gi = 9,
           .ci = 0,
           .start = 3,
           .mig_uuid = "MIG-1",
           .cdi = "nvidia.com/gpu=MIG-1",
           .environment = {{"CUDA_VISIBLE_DEVICES", "MIG-1"}},
           .labels = {{"team", "a"}},
           .ttl = milliseconds(1'500),
           .asked = kWhen,
           .granted = kWhen,
           .expires = kWhen,
           .ended = kWhen};
  expect_round_trip(lease, read_lease_view);
  EXPECT_EQ(to_json(lease).at("uuid"), "MIG-1");
  EXPECT_THAT(refused(read_lease_view, R"({"id":1,"state":"lost"})"), StartsWith("state: "));
  EXPECT_THAT(refused(read_lease_view, R"({"state":"over"})"), StartsWith("id: is missing"));
}

TEST(LeaseJson, AJobRequestIsNotALease) {
  const auto* text = R"({"command":["a"],"profile":"1g.5gb","kind":"lease"})";
  EXPECT_THAT(refused(read_job_request, text),
              AllOf(StartsWith("kind: "), HasSubstr("use /v1/leases")));
  JobView view;
  view.request.kind = JobKind::kLease;
  EXPECT_EQ(read_job_view(to_json(view))->request.kind, JobKind::kLease);
}

TEST(TokenJson, ComesBackTheSame) {
  TokenRequest request;
  request.name = "ci";
  request.uid = 7;
  request.scope = Scope::kRead;
  request.ttl = milliseconds(60'000);
  expect_round_trip(TokenView{}, read_token_view);
  EXPECT_EQ(to_json(*read_token_request(to_json(request))), to_json(request));
  EXPECT_EQ(read_token_request(parsed("{}"))->ttl, std::chrono::hours(24 * 30));
  EXPECT_EQ(read_token_request(parsed("{}"))->scope, Scope::kWrite);
  const TokenView token{1,    "ci", "ann",         7,        Scope::kAdmin, kWhen, kWhen,
                        true, 3,    "tangram_1_x", "no disk"};
  expect_round_trip(token, read_token_view);
  EXPECT_FALSE(to_json(TokenView{}).as_object().contains("secret"));
}

TEST(TokenJson, ErrorsNameTheKey) {
  const auto error_of = [](std::string_view text) { return refused(read_token_request, text); };
  EXPECT_THAT(error_of(R"({"ttl":"59s"})"), StartsWith("ttl: "));
  EXPECT_THAT(error_of(R"({"ttl":"4000d"})"), StartsWith("ttl: "));
  EXPECT_THAT(error_of(R"({"scope":"root"})"), StartsWith("scope: unknown value 'root'"));
  EXPECT_THAT(error_of(R"({"secret":"x"})"), StartsWith("secret: unknown key of a token"));
  EXPECT_THAT(error_of(R"({"name":"\u0007"})"), StartsWith("name: "));
}

TEST(TuningJson, ChangesNameWhatTheyChange) {
  TuningChange change;
  change.threshold = "0.4";
  change.window = "";
  change.protect_head = false;
  EXPECT_EQ(read_tuning_change(to_json(change)), change);
  change = {"0.4",
            "p",
            "m",
            "q",
            3,
            milliseconds(1'500),
            "0.05",
            "22:00-06:00",
            true,
            5,
            milliseconds(7),
            milliseconds(8)};
  EXPECT_EQ(read_tuning_change(to_json(change)), change);
  const TuningView view{
      "0.4",          "p", "m", "q", 3, milliseconds(1'500), "0.05", "", false, 5, milliseconds(7),
      milliseconds(8)};
  EXPECT_EQ(read_tuning_view(to_json(view)), view);
  EXPECT_TRUE(to_json(view).at("window").is_null());
  const auto error_of = [](std::string_view text) { return refused(read_tuning_change, text); };
  EXPECT_THAT(error_of("{}"), HasSubstr("no setting to change"));
  EXPECT_THAT(error_of(R"({"gain":null})"), HasSubstr("no setting to change"));
  EXPECT_THAT(error_of(R"({"treshold":"1"})"), HasSubstr("did you mean 'threshold'?"));
  EXPECT_THAT(error_of(R"({"threshold":0.4})"), StartsWith("threshold: must be a string"));
  EXPECT_THAT(error_of(R"({"most_moves":-1})"), StartsWith("most_moves: "));
  EXPECT_THAT(error_of(R"({"cooldown":"soon"})"), StartsWith("cooldown: "));
  EXPECT_THAT(error_of(R"({"protect_head":1})"), StartsWith("protect_head: "));
  EXPECT_THAT(error_of(R"({"queue":")" + std::string(129, 'x') + "\"}"), StartsWith("queue: "));
}

TEST(EventJson, ComesBackTheSame) {
  EventView small;
  small.kind = "gpu.added";
  expect_round_trip(small, read_event_view);
  expect_round_trip(
      EventView{1, kWhen, "lease.granted", 7, "n", "k", "ann", "1g.5gb", 2, 3, "It is."},
      read_event_view);
  EXPECT_THAT(refused(read_event_view, R"({"kind":"x"})"), StartsWith("id: is missing"));
  EXPECT_THAT(refused(read_event_view, R"({"id":1})"), StartsWith("kind: is missing"));
}

TEST(ExplanationJson, ComesBackTheSame) {
  Explanation why;
  why.job = 7;
  why.profile = "1g.5gb";
  why.state = JobState::kRunning;
  expect_round_trip(why, read_explanation);
  why.text = {"It waits.", "Two jobs are before it."};
  why.step = 9;
  why.decided = kWhen;
  why.candidates = {{1, 2, true, 0.25, 0.5}, {3, 4, false, 0, 1}};
  why.decided_by = "FragCost";
  why.ahead = {1, 2};
  why.retry = kWhen;
  why.unblocking_moves = {{{{5, 0, 1, 2, 3, "ann", true, {}},
                            {6, 1, 1, 2, 2, "bob", false, {{"window", kWhen}, {"migration", {}}}}},
                           4,
                           5}};
  why.to_come = PendingRoomView{{8, 9}, 1, 4};
  why.pinned = {8};
  why.could_move = {8};
  why.leases = {9};
  why.limit = LimitView{3, 4, 2, 6};
  why.moves = {{"asked", 0, 1, 2, 3, kWhen, kWhen, "rolled-back", "it failed", {}, {}, {}},
               {"intra-GPU", 0, 1, 0, 3, kWhen, {}, "", "", 4, 0.5, 0.25}};
  why.departures = {8, 9};
  why.fits_now = {"1g.5gb"};
  why.obstacles = {{1, "fragmented", {{"3g.20gb", 4, "foreign"}}}};
  expect_round_trip(why, read_explanation);
  json::value document = to_json(why);
  document.at("rooms").at(0).at("moves").at(1).as_object()["job"] = "x";
  EXPECT_THAT(read_explanation(document).error().message, StartsWith("rooms[0].moves[1].job: "));
  document = to_json(why);
  document.at("departures").as_array().push_back("x");
  EXPECT_THAT(read_explanation(document).error().message, StartsWith("departures[2]: "));
}

TEST(ExplanationJson, WhatIfComesBackTheSame) {
  WhatIf what;
  what.profile = "1g.5gb";
  expect_round_trip(what, read_what_if);
  what.starts_now = true;
  what.refused = "not for you.";
  what.held = "too many slices";
  what.ahead = 3;
  what.first = 9;
  what.text = {"It would start."};
  what.candidates = {{1, 2, true, 0.25, 0.5}};
  what.unblocking_moves = {{{}, 4, 5}};
  expect_round_trip(what, read_what_if);
  EXPECT_THAT(refused(read_what_if, "{}"), StartsWith("profile: is missing"));
}

TEST(HistoryJson, ComesBackTheSame) {
  HistoryPage page;
  expect_round_trip(page, read_history_page);
  page.jobs.resize(2);
  page.jobs[1].id = 7;
  page.next = 7;
  expect_round_trip(page, read_history_page);
  json::value document = to_json(page);
  document.at("jobs").at(1).as_object()["state"] = "odd";
  EXPECT_THAT(read_history_page(document).error().message, StartsWith("jobs[1].state: "));
  EXPECT_THAT(refused(read_history_page, "{}"), StartsWith("jobs: is missing"));
  const Usage usage{kWhen, kWhen, {{"ann", "1g.5gb", 2, 0.5, 0.125}}};
  expect_round_trip(usage, read_usage);
  EXPECT_THAT(refused(read_usage, R"({"rows":[{"jobs":-1}]})"), StartsWith("rows[0].jobs: "));
}

}  // namespace
}  // namespace tangram::api
