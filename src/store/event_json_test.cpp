// Events as JSON: round trips of every kind and field; anything else is rejected.
#include "store/event_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/transcript.hpp"
#include "policies/registry.hpp"
#include "tests/support/store/scheduler_driver.hpp"

namespace tangram::store {
namespace {

using core::Event;
using core::GpuId;
using core::InstanceId;
using core::JobId;
using core::RunId;
using ::testing::HasSubstr;

// One event of every kind, in the variant's order, with non-default values in all fields.
std::vector<Event> one_of_each() {
  const mig::Placement placement{mig::ProfileIndex(3), 4};
  core::Tuning tuning;
  tuning.threshold = core::Threshold::from_billionths(571'428'572);
  tuning.placement = "best-fit";
  tuning.migration = "intra";
  tuning.queue = "largest-memory";
  tuning.restraint = {.most_moves = 7,
                      .cooldown = std::chrono::microseconds(1'234'567),
                      .smallest_gain_ppm = -5,
                      .window = {.from_s = 3600, .to_s = 7200},
                      .protect_head = false};
  tuning.fairness = {.max_passes = 9, .ageing = Duration(1), .half_life = Duration(2)};
  return {core::JobSubmitted{{.id = JobId(0xFFFF'FFFF'FFFF'FFFFU),
                              .profile = "1g.\"5\x01\xFFgb",
                              .kind = core::JobKind::kLease,
                              .movable = false,
                              .restart = core::Restart::kAlways,
                              .max_restarts = 65'535,
                              .held = true,
                              .over_limit = true,
                              .dependent = true,
                              .array_full = true,
                              .priority = -32'768,
                              .user = 0xFFFF'FFFFU,
                              .time_limit = Duration(1),
                              .stop_grace = Duration(2),
                              .gpu_model = "A100 \"x\""}},
          core::JobCancelled{JobId(2)},
          core::JobHeld{JobId(3), core::kHoldLimit},
          core::JobReleased{JobId(4), core::kHoldArray},
          core::JobReady{JobId(5), RunId(6)},
          core::JobExited{JobId(7), RunId(8), true, true},
          core::TrafficSwitched{JobId(9), RunId(10)},
          core::TrafficDrained{JobId(11), RunId(12), RunId(13)},
          core::InstanceCreated{GpuId(14), InstanceId(15)},
          core::InstanceDestroyed{GpuId(16), InstanceId(0xFFFF'FFFFU)},
          core::ActionFailed{core::ActionKind::kStopJob, GpuId(17), InstanceId(18), JobId(19),
                             RunId(20)},
          core::GpuAdded{testing::model_named("A100-40GB"), {{mig::ProfileIndex(0), 6}}},
          core::GpuHealth{GpuId(21), core::Health::kLost},
          core::ForeignSeen{GpuId(22), placement},
          core::ForeignGone{GpuId(23), placement},
          core::InstanceQuarantined{GpuId(24), InstanceId(25)},
          core::QuarantineEnded{GpuId(26), InstanceId(27)},
          core::GpuCordoned{GpuId(28)},
          core::GpuUncordoned{GpuId(29)},
          core::GpuDrained{GpuId(30)},
          core::MoveRequested{
              .job = JobId(32), .anywhere = false, .gpu = GpuId(3), .start = 6, .restrained = true},
          core::TuningChanged{tuning, *policies::find_policies(tuning)},
          core::WakeUp{},
          core::JobRequeued{JobId(45)}};
}

TEST(EventJson, EveryKindComesBackAsItWas) {
  const std::vector<Event> events = one_of_each();
  ASSERT_EQ(events.size(), std::variant_size_v<Event>);
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].index(), i);
    const std::string text = event_json(events[i]);
    const auto read = read_event(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->index(), i);
    EXPECT_EQ(event_json(*read), text);
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

// Checks the text itself, so that a field missing in both directions is noticed.
TEST(EventJson, ContainsEveryField) {
  const std::vector<Event> events = one_of_each();
  EXPECT_EQ(event_json(events[5]),
            R"({"v":1,"kind":"job-exited","job":7,"run":8,"success":true,"node_fault":true})");
  EXPECT_EQ(event_json(events[7]), R"({"v":1,"kind":"traffic-drained","job":11,"run":12,"to":13})");
  EXPECT_EQ(event_json(events[10]),
            R"({"v":1,"kind":"action-failed","action":"stop-job","gpu":17,"instance":18,)"
            R"("job":19,"run":20})");
  EXPECT_EQ(event_json(events[13]), R"({"v":1,"kind":"foreign-seen","gpu":22,"placement":[3,4]})");
  EXPECT_EQ(
      event_json(events[21]),
      R"({"v":1,"kind":"tuning-changed","tuning":{"threshold":571428572,"placement":"best-fit",)"
      R"("migration":"intra","queue":"largest-memory","restraint":{"most_moves":7,)"
      R"("cooldown_us":1234567,"smallest_gain_ppm":-5,"window":{"from_s":3600,"to_s":7200}},)"
      R"("fairness":{"max_passes":9,"ageing_us":1,"half_life_us":2}}})");
}

TEST(EventJson, KeepsTheSpecOfAJob) {
  const auto read = read_event(event_json(one_of_each()[0]));
  ASSERT_TRUE(read);
  const core::JobSpec& spec = std::get<core::JobSubmitted>(*read).spec;
  EXPECT_EQ(spec.id, JobId(0xFFFF'FFFF'FFFF'FFFFU));
  EXPECT_EQ(spec.profile, "1g.\"5\x01\xFFgb");
  EXPECT_EQ(spec.kind, core::JobKind::kLease);
  EXPECT_FALSE(spec.movable);
  EXPECT_EQ(spec.restart, core::Restart::kAlways);
  EXPECT_EQ(spec.max_restarts, 65'535);
  EXPECT_TRUE(spec.held);
}

// Zeros are left out of the text and must not be read as defaults.
TEST(EventJson, KeepsWhatIsZero) {
  core::JobSubmitted submitted{{.id = JobId(0), .profile = "", .kind = core::JobKind::kBatch}};
  submitted.spec.movable = false;
  submitted.spec.max_restarts = 0;
  const auto read = read_event(event_json(submitted));
  ASSERT_TRUE(read);
  const core::JobSpec& spec = std::get<core::JobSubmitted>(*read).spec;
  EXPECT_FALSE(spec.movable);
  EXPECT_EQ(spec.max_restarts, 0);
  EXPECT_EQ(spec.kind, core::JobKind::kBatch);

  core::TuningChanged changed{{}, *policies::find_policies({})};
  changed.tuning.threshold = core::Threshold::from_billionths(0);
  changed.tuning.restraint = {.most_moves = 0, .cooldown = {}, .window = {}, .protect_head = false};
  const auto tuned = read_event(event_json(changed));
  ASSERT_TRUE(tuned);
  EXPECT_EQ(std::get<core::TuningChanged>(*tuned).tuning, changed.tuning);
}

TEST(EventJson, KeepsModelAndPolicies) {
  const std::vector<Event> events = one_of_each();
  const auto added = read_event(event_json(events[11]));
  ASSERT_TRUE(added);
  EXPECT_EQ(std::get<core::GpuAdded>(*added).model->spec(),
            std::get<core::GpuAdded>(events[11]).model->spec());
  EXPECT_EQ(std::get<core::GpuAdded>(*added).layout, std::get<core::GpuAdded>(events[11]).layout);
  const auto tuned = read_event(event_json(events[21]));
  ASSERT_TRUE(tuned);
  EXPECT_EQ(std::get<core::TuningChanged>(*tuned).tuning,
            std::get<core::TuningChanged>(events[21]).tuning);
  EXPECT_EQ(std::get<core::TuningChanged>(*tuned).policies.queue->name, "largest-memory");
}

TEST(EventJson, RejectsInvalidEvents) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{", "not a JSON object"},
      {"{}", "version 0"},
      {R"({"v":2,"kind":"wake-up"})", "version 2"},
      {R"({"v":1})", "unknown kind"},
      {R"({"v":1,"kind":"dance"})", "'dance'"},
      {R"({"v":1,"kind":"wake-up","job":1})", "fields"},
      {R"({"v":1,"kind":"job-held","job":-1})", "fields"},
      {R"({"v":1,"kind":"job-held","job":1.5})", "fields"},
      {R"({"v":1,"kind":"job-held","job":"1"})", "fields"},
      {R"({"v":1,"kind":"gpu-drained","gpu":4294967296})", "fields"},
      {R"({"v":1,"kind":"gpu-health","gpu":1,"health":"tired"})", "fields"},
      {R"({"v":1,"kind":"foreign-seen","gpu":1,"placement":[1]})", "fields"},
      {R"({"v":1,"kind":"gpu-added","model":"name = 1"})", "model"},
      {R"({"v":1,"kind":"tuning-changed"})", "policy"},
  };
  for (const auto& [text, why] : cases) {
    const auto read = read_event(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(why)) << text;
  }
}

TEST(EventJson, RejectsAnImpossibleLayout) {
  Event event = one_of_each()[11];
  std::get<core::GpuAdded>(event).layout = {{mig::ProfileIndex(200), 0}};
  EXPECT_FALSE(read_event(event_json(event)));
  std::get<core::GpuAdded>(event).layout = {{mig::ProfileIndex(0), 9}};
  EXPECT_FALSE(read_event(event_json(event)));
}

}  // namespace
}  // namespace tangram::store
