// The sentences of explanations, made from wire values.
#include "daemon/explain/explanation_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "core/explain.hpp"
#include "core/job.hpp"

namespace tangram::daemon {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const api::WallTime kWhen{std::chrono::hours(24)};  // 1970-01-02T00:00:00Z

api::Explanation waiting() {
  api::Explanation e;
  e.job = 7;
  e.profile = "4g.20gb";
  e.state = api::JobState::kQueued;
  return e;
}

api::ProposedMoveView move_of(std::uint64_t job, bool may, std::vector<api::RestraintView> by) {
  api::ProposedMoveView move{
      .job = job, .from_gpu = 0, .from_start = 0, .to_gpu = 1, .to_start = 6};
  move.user = "ann";
  move.may = may;
  move.restrained_by = std::move(by);
  return move;
}

std::string sentence_of(std::vector<api::ProposedMoveView> moves) {
  api::Explanation e = waiting();
  e.unblocking_moves = {{.moves = std::move(moves), .gpu = 0, .start = 0}};
  describe_waiting(0, e);
  return e.text.at(1);
}

TEST(ExplanationText, AMoveIsOfferedToThoseWhoMayRequestIt) {
  EXPECT_THAT(sentence_of({move_of(3, true, {})}),
              HasSubstr("You may request it: `tangram move 3 --to 1:6`."));
  EXPECT_THAT(
      sentence_of({move_of(3, true, {}), move_of(4, true, {})}),
      HasSubstr("You may request them: `tangram move 3 --to 1:6`, and when that has finished "
                "`tangram move 4 --to 1:6`."));
  EXPECT_THAT(sentence_of({move_of(3, false, {})}),
              HasSubstr("Only ann and admins may request it."));
  EXPECT_THAT(sentence_of({move_of(3, true, {}), move_of(4, false, {})}),
              Not(HasSubstr("`tangram move")));
}

TEST(ExplanationText, RestraintsOfAMoveAreNamedWithTheirEnd) {
  EXPECT_THAT(sentence_of({move_of(3, false, {{"window", kWhen}})}),
              HasSubstr("Only an admin may request it now: the window for moves opens at "
                        "1970-01-02T00:00:00"));
  EXPECT_THAT(sentence_of({move_of(3, true, {{"cooldown", kWhen}, {"protect_head", {}}})}),
              HasSubstr("as an admin you may request it nevertheless: `tangram move 3"));
  EXPECT_THAT(sentence_of({move_of(3, false, {{"most_moves", {}}})}),
              HasSubstr("It cannot be requested now: the limit most_moves is reached"));
}

TEST(ExplanationText, JobsBehindOthersAreNotPromisedTheirPlacement) {
  api::Explanation e = waiting();
  e.ahead = {5, 6};
  e.departures = {1, 2};
  e.leases = {2, 5};
  e.pinned = {1, 2};
  describe_waiting(0, e);
  EXPECT_THAT(e.text,
              Contains("Job 7 is queued behind lease 5 and job 6; the queue is strict: they "
                       "start first."));
  EXPECT_THAT(e.text, Contains("The end of any one of these would make room for it, if those ahead "
                               "of it start elsewhere: job 1 and lease 2."));
  EXPECT_THAT(e.text, Contains("Job 1 is never moved: submitted without --move."));
  EXPECT_THAT(e.text, Contains("For the first of them see `tangram explain 5`."));
}

TEST(ExplanationText, OfAQueuePerModelTheJobsAheadAreForTheSameModel) {
  api::Explanation e = waiting();
  e.ahead = {5};
  describe_waiting(0, e, core::Passing::kPools);
  EXPECT_THAT(e.text, Contains("Job 7 is queued behind 1 job (5) for the same GPU model: it starts "
                               "first."));
}

TEST(ExplanationText, TheExpectedStartIsNamedAndAfterWhichJob) {
  api::Explanation e = waiting();
  e.expected_start = kWhen;
  e.expected_after = 12;
  describe_start({.reserved = kWhen, .gpu = 1, .start = 4}, e);
  EXPECT_THAT(e.text,
              Contains(AllOf(HasSubstr("Expected start: "),
                             HasSubstr("when job 12 reaches its time limit, or earlier."))));
  EXPECT_THAT(e.text, Contains(HasSubstr("GPU 1 start 4 is reserved for it from ")));
}

TEST(ExplanationText, WithoutAReservationThePassesAreCounted) {
  api::Explanation e = waiting();
  describe_start({.lost = kWhen, .passed = 2, .max_passes = 8}, e);
  EXPECT_THAT(e.text, Contains(HasSubstr("2 of at most 8 later jobs have started before it")));
  EXPECT_THAT(e.text, Contains(HasSubstr("was lost: that placement is out of service")));
}

TEST(ExplanationText, ServicesThatCouldMakeRoomAreNamed) {
  api::Explanation e = waiting();
  e.could_move = {3, 4};
  describe_waiting(0, e);
  EXPECT_THAT(e.text, Contains(HasSubstr("Jobs 3 and 4 could make room by moving, but do not")));
}

TEST(ExplanationText, AGpuWithoutMigModeHasARemedy) {
  api::Explanation e = waiting();
  e.obstacles = {{.gpu = 0, .why = std::string(kMigIsOff)}};
  describe_waiting(0, e);
  EXPECT_THAT(e.text, Contains(AllOf(HasSubstr("GPU 0: MIG mode is off"),
                                     HasSubstr("`tangram node prepare` as root"))));
}

TEST(ExplanationText, APlacementThatBecomesFreeNeedsNoOtherJobToEnd) {
  api::Explanation e = waiting();
  e.departures = {3};
  e.to_come = api::PendingRoomView{{3}, 0, 4};
  describe_waiting(0, e);
  EXPECT_THAT(e.text,
              Contains("GPU 0 start 4 becomes free once job 3 has left: it is being stopped "
                       "or moved away."));
  EXPECT_THAT(e.text, Not(Contains(HasSubstr("The end of"))));
}

TEST(ExplanationText, FailedPlacementsAreNotReportedAsOccupied) {
  api::Explanation e = waiting();
  e.obstacles = {{0, std::string(core::name_of(core::NoCandidate::kBackOff)), {}}};
  e.retry = kWhen;
  describe_waiting(0, e);
  EXPECT_EQ(e.text.front(), "Job 7 is next in queue; it failed recently at the free placements.");
}

TEST(ExplanationText, GpusAreNamedWithTheRemedy) {
  api::Explanation e = waiting();
  e.obstacles = {{0, std::string(core::name_of(core::NoCandidate::kCordoned)), {}},
                 {2, std::string(core::name_of(core::NoCandidate::kCordoned)), {}},
                 {1,
                  std::string(core::name_of(core::NoCandidate::kSlicesShort)),
                  {{"3g.20gb", 4, "foreign"}, {"1g.5gb", 0, "quarantined"}}}};
  describe_waiting(0, e);
  EXPECT_THAT(e.text,
              Contains("GPUs 0 and 2: cordoned; `tangram uncordon 0 2` returns them to service."));
  EXPECT_THAT(e.text, Contains("GPU 1: too few free slices; occupied by a foreign 3g.20gb@4 and a "
                               "quarantined 1g.5gb@0."));
}

TEST(ExplanationText, ALimitIsNamedWithItsFiguresAndJobs) {
  api::Explanation e = waiting();
  e.state = api::JobState::kHeld;
  e.limit = api::LimitView{.has = 3, .most = 4, .needs = 2};
  describe_waiting(core::kHoldLimit, e);
  EXPECT_EQ(e.text.front(), "Job 7 is held: its user has 3 of 4 compute slices, and it needs 2.");
  EXPECT_EQ(e.text.back(), "Several jobs of its user must end before it is released.");
  e.text.clear();
  e.departures = {1, 2};
  describe_waiting(core::kHoldLimit, e);
  EXPECT_EQ(e.text.back(), "The end of any one of jobs 1 and 2 (same user) would release it.");
}

TEST(ExplanationText, TheLastMoveSinceThePlacementIsNamed) {
  api::Explanation e = waiting();
  e.state = api::JobState::kRunning;
  e.decided = kWhen;
  const auto moved = [](api::WallTime when, std::string result) {
    return api::MoveRecordView{.kind = "drain",
                               .from_gpu = 0,
                               .from_start = 4,
                               .to_gpu = 1,
                               .to_start = 2,
                               .begun = when,
                               .ended = when,
                               .result = std::move(result)};
  };
  e.moves = {moved(kWhen - std::chrono::hours(1), "done"),
             moved(kWhen + std::chrono::hours(1), "rolled-back")};
  describe_moves(e);
  EXPECT_TRUE(e.text.empty());  // before the last placement; rolled back
  e.moves.push_back(moved(kWhen + std::chrono::hours(2), "taken-over"));
  describe_moves(e);
  EXPECT_THAT(e.text.at(0), HasSubstr("It was moved since then on 1970-01-02T02:00:00"));
  EXPECT_EQ(e.text.at(1), "GPU 0 was being drained.");
}

}  // namespace
}  // namespace tangram::daemon
