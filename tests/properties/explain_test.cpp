// Explanations against the outcome, in random worlds with every kind of failure: the slot that a
// placement's explanation prefers is the slot the job got, the move that a move's prefers is the
// one that was made; moves and departures that are named as unblocking a waiting job do so: they
// are made, and the job starts; and the jobs named as before a job that does not exist yet are.
#include <algorithm>
#include <optional>
#include <ranges>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "core/candidates.hpp"
#include "core/explain_job.hpp"
#include "core/explain_placement.hpp"
#include "core/transcript.hpp"
#include "policies/explain_move.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

using core::Scheduler;

bool has_place(const Scheduler& scheduler, core::JobId job) {
  const core::Node& node = scheduler.node();
  const core::JobSlot slot = node.find_job(job);
  return slot == core::kNoJob || node.job(slot).phase > core::JobPhase::kQueued;
}

// Observes a world, with the scheduler as it was before every step.
class Witness {
 public:
  [[nodiscard]] WorldOptions options(std::uint64_t seed) {
    // Under backfill fewer decisions can be rebuilt: later jobs hold reservations.
    WorldOptions of{.seed = seed, .full_checks = false, .no_backfill = true};
    of.begun = [this](Scheduler& s) {
      scheduler_ = &s;
      before_ = s;
    };
    of.stepped = [this](Instant now, const core::Event& event, const core::Actions& actions) {
      for (const core::Action& action : actions) {
        const auto* report = std::get_if<core::JobReport>(&action);
        if (report != nullptr && report->news == core::JobNews::kPlaced) {
          look(now, event, report->job);
        }
        const auto* move = std::get_if<core::MoveReport>(&action);
        if (move != nullptr && move->news == core::MoveNews::kBegun) look(now, event, *move);
      }
      before_ = *scheduler_;
    };
    return of;
  }
  [[nodiscard]] int looked() const { return looked_; }
  [[nodiscard]] int chosen() const { return chosen_; }
  [[nodiscard]] int defeated() const { return defeated_; }
  [[nodiscard]] int moves() const { return moves_; }
  [[nodiscard]] int moves_explained() const { return moves_explained_; }

 private:
  void look(Instant now, const core::Event& event, const core::MoveReport& move) {
    if (move.kind != core::MoveKind::kIntra && move.kind != core::MoveKind::kInter) return;
    ++moves_;
    const auto explained = policies::explain_move_made(*before_, now, event, move.job);
    if (!explained) return;
    ++moves_explained_;
    const core::Move& best = explained->candidates.front().move;
    EXPECT_EQ(best.job, move.job);
    EXPECT_EQ(best.from, move.from);
    EXPECT_EQ(best.to.gpu, move.to);
    EXPECT_EQ(best.to.start, move.start);
  }
  void look(Instant now, const core::Event& event, core::JobId job) {
    const core::Node& node = scheduler_->node();
    const core::Job& record = node.job(node.find_job(job));
    const core::Entry* entry = node.find(record.main.gpu, record.main.instance);
    ASSERT_NE(entry, nullptr);
    const auto explained = core::explain_placement(*before_, now, event, job);
    ++looked_;
    if (!explained) {
      // Only what the step itself took from the job may defeat it.
      EXPECT_NE(explained.error().message.find("made other changes too"), std::string::npos);
      ++defeated_;
      return;
    }
    const std::string what = core::to_text(node, event);
    ASSERT_TRUE(explained->winner()) << what;
    EXPECT_EQ(explained->winner()->gpu, record.main.gpu) << what << ", job " << job.value();
    EXPECT_EQ(explained->winner()->start, entry->placement.start) << what;
    chosen_ += explained->candidates.size() > 1 ? 1 : 0;
  }

  Scheduler* scheduler_ = nullptr;
  std::optional<Scheduler> before_;
  int looked_ = 0;
  int chosen_ = 0;
  int defeated_ = 0;
  int moves_ = 0;
  int moves_explained_ = 0;
};

TEST(ExplainPlacement, PrefersTheSlotTheJobGotAndTheMoveItMade) {
  int looked = 0;
  int chosen = 0;
  int defeated = 0;
  int moves = 0;
  int moves_explained = 0;
  for (std::uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Witness witness;
    World world(witness.options(seed));
    world.steps(400);
    looked += witness.looked();
    chosen += witness.chosen();
    defeated += witness.defeated();
    moves += witness.moves();
    moves_explained += witness.moves_explained();
  }
  EXPECT_GT(looked, 1000);
  EXPECT_GT(chosen, 500);
  EXPECT_LT(defeated * 50, looked);  // two per cent, in worlds full of failures
  EXPECT_GT(moves, 20);
  EXPECT_GT(moves_explained * 10, moves * 9);  // several of a step hide each other
  RecordProperty("moves", moves);
  RecordProperty("moves_explained", moves_explained);
  RecordProperty("placements", looked);
  RecordProperty("defeated", defeated);
}

// The jobs named as before it are, under every queue order; a job with none before it and a free
// slot starts.
TEST(ExplainAhead, IsWhereTheJobThenStands) {
  int behind = 0;
  int passed = 0;
  int started = 0;
  for (std::uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world({.seed = seed, .full_checks = false});
    world.steps(200);
    const Scheduler& now = world.scheduler();
    for (std::uint16_t i = 0; i < now.node().name_count(); ++i) {
      const core::ProfileName name(i);
      if (!now.node().servable(name)) continue;
      const auto [ahead, models, queued] = now.place_in_queue(name);
      const core::Request request{.profile = name, .models = models};
      const auto place = !models.empty()
                             ? core::choose(now.node(), *now.policies().placement, request)
                             : std::nullopt;
      Scheduler then = now;
      core::Actions actions;
      const core::JobId id(1'000'000);
      then.step(now.node().now(), core::JobSubmitted{{.id = id, .profile = now.node().name(name)}},
                actions);
      const bool starts = place.has_value();
      EXPECT_EQ(has_place(then, id), starts);
      started += starts ? 1 : 0;
      if (starts) continue;
      const auto explained = core::explain_job(then, id);
      EXPECT_EQ(explained->ahead, ahead);
      const auto queue = then.waiting();
      const auto own = std::ranges::find(queue, id);
      ASSERT_NE(own, queue.end());
      if (now.policies().queue->passing == core::Passing::kNone) {
        EXPECT_TRUE(std::ranges::equal(ahead, std::ranges::subrange(queue.begin(), own)));
      } else {
        EXPECT_TRUE(std::ranges::includes(
            std::ranges::subrange(queue.begin(), own), ahead, [&](core::JobId a, core::JobId b) {
              return std::ranges::find(queue, a) < std::ranges::find(queue, b);
            }));
      }
      behind += ahead.empty() ? 0 : 1;
      passed += ahead.size() < now.waiting_count() ? 1 : 0;
    }
  }
  EXPECT_GT(behind, 100);
  EXPECT_GT(passed, 20);
  EXPECT_GT(started, 20);
}

// A held job: which jobs would be before it if it were released now.
TEST(ExplainAhead, OfAHeldJobIsWhereItsReleasePutsIt) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world({.seed = seed, .full_checks = false});
    world.steps(200);
    const Scheduler& now = world.scheduler();
    for (const core::JobSlot slot : now.node().jobs_by_id()) {
      const core::Job& job = now.node().job(slot);
      if (job.phase != core::JobPhase::kHeld || job.holds != core::kHoldUser) continue;
      const auto ahead = core::explain_job(now, job.id)->ahead;
      Scheduler then = now;
      core::Actions actions;
      then.step(now.node().now(), core::JobReleased{job.id}, actions);
      if (has_place(then, job.id)) {
        EXPECT_TRUE(ahead.empty());
      } else {
        EXPECT_EQ(core::explain_job(then, job.id)->ahead, ahead);
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 20);
}

// Ends the job now, in any phase; what it leaves is free.
void end_now(World& world, core::JobId job) {
  world.deliver(core::JobCancelled{job});
  world.settle();
}

TEST(ExplainWaiting, TheNamedDepartureStartsTheJob) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    World world({.seed = seed, .full_checks = false, .only_dynamic = true});
    world.steps(300);
    world.settle();
    const auto waiting = world.scheduler().waiting();
    if (waiting.empty()) continue;
    const core::JobId head = waiting.front();
    const auto explained = core::explain_job(world.scheduler(), head);
    ASSERT_TRUE(explained) << explained.error().message;
    EXPECT_TRUE(explained->ahead.empty());
    if (!explained->waiting || explained->waiting->departures_that_make_room.empty()) continue;
    end_now(world, explained->waiting->departures_that_make_room.front());
    EXPECT_TRUE(has_place(world.scheduler(), head)) << world.story();
    ++tried;
  }
  EXPECT_GT(tried, 10);
}

// The job's slot, or the one it is about to get.
std::string place_of(const Scheduler& scheduler, core::JobId job) {
  const core::Node& node = scheduler.node();
  const core::JobSlot slot = node.find_job(job);
  if (slot == core::kNoJob) return "over";
  const core::Replica& main = node.job(slot).main;
  const core::Entry* entry =
      main.instance == core::kNoInstance ? nullptr : node.find(main.gpu, main.instance);
  return entry == nullptr ? "nowhere" : cat(main.gpu.value(), ":", int{entry->placement.start});
}

// Makes the moves one after another, as a user who reads the explanation would.
void make_unblocking_moves(World& world, const core::UnblockingMoves& unblocking,
                           core::JobId head) {
  for (const core::Move& move : unblocking.moves) {
    world.deliver(core::MoveRequested{
        .job = move.job, .anywhere = false, .gpu = move.to.gpu, .start = move.to.start});
    const core::Node& node = world.scheduler().node();
    ASSERT_TRUE(node.job(node.find_job(move.job)).moving()) << world.story();
    world.settle();
    ASSERT_EQ(place_of(world.scheduler(), move.job),
              cat(move.to.gpu.value(), ":", int{move.to.start}))
        << world.story();
  }
  EXPECT_TRUE(has_place(world.scheduler(), head)) << world.story();
}

TEST(ExplainWaiting, TheNamedMovesStartTheJob) {
  int tried = 0;
  int long_ones = 0;
  for (std::uint64_t seed = 1; seed <= 1'500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world({.seed = seed, .full_checks = false, .only_dynamic = true});
    world.steps(200);
    // The scheduler's own moves would come in between.
    core::Tuning tuning = world.scheduler().node().tuning();
    tuning.migration = "off";
    world.set_tuning(tuning);
    world.settle();
    const auto waiting = world.scheduler().waiting();
    if (waiting.empty()) continue;
    const auto explained = core::explain_job(world.scheduler(), waiting.front());
    ASSERT_TRUE(explained) << explained.error().message;
    if (!explained->waiting || explained->waiting->moves_that_make_room.empty()) continue;
    if (world.scheduler().node().tuning().restraint.most_moves == 0) continue;  // it says so
    const core::UnblockingMoves unblocking =
        explained->waiting
            ->moves_that_make_room[seed % explained->waiting->moves_that_make_room.size()];
    make_unblocking_moves(world, unblocking, waiting.front());
    ++tried;
    long_ones += unblocking.moves.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(tried, 50);
  EXPECT_GT(long_ones, 5);
  RecordProperty("unblocking_moves", tried);
}

}  // namespace
}  // namespace tangram::properties
