// See world.hpp: time, steps, and the check after each of them.
#include "world.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "base/text.hpp"
#include "core/transcript.hpp"
#include "invariants.hpp"
#include "policies/registry.hpp"

namespace tangram::properties {
namespace {

constexpr std::size_t kStoryLines = 30;
constexpr int kMaxStepsToRest = 50'000;

World* current = nullptr;
std::uint64_t current_seed = 0;

std::string how_to_replay(std::uint64_t seed, const World& world, const std::string& what) {
  return cat(world.story(), what, "\nseed ", seed, ", step ", world.step_count(),
             "\nreplay: soak --seed ", seed, "\n");
}

// An action failed, and was not part of a move that was being rolled back anyway (its job had
// ended).
bool fails_move(const core::Node& before, const core::Event& event) {
  const auto* failed = std::get_if<core::ActionFailed>(&event);
  if (failed == nullptr) return false;
  const core::JobSlot s = before.find_job(failed->job);
  return s == core::kNoJob || before.job(s).move != core::MovePhase::kRollingBack;
}

extern "C" void print_story(int) {
  if (current == nullptr) return;
  std::fputs(how_to_replay(current_seed, *current, "CHECK failed").c_str(), stderr);
  current = nullptr;
}

}  // namespace

World::World(const WorldOptions& options)
    : random_(options.seed), queue_random_(options.seed ^ 0x90E0EU), options_(options) {
  partitioning_ = random_.chance(150) && !options.only_dynamic ? core::Partitioning::kStatic
                                                               : core::Partitioning::kDynamic;
  scheduler_.emplace(tuning_, *policies::find_policies(tuning_), partitioning_);
  if (options_.begun) options_.begun(*scheduler_);
  const std::size_t gpus = 1 + random_.below(5);
  for (std::size_t i = 0; i < gpus; ++i) add_gpu();
  if (random_.chance(700)) change_tuning();
  static constexpr std::array<unsigned, 4> kWildness{1000, 300, 100, 30};
  wildness_ = random_.pick(kWildness);
  static constexpr std::array<std::size_t, 5> kCrowds{2, 3, 4, 6, 11};
  crowd_ = random_.pick(kCrowds);
}

void World::run() {
  steps(options_.steps);
  settle();
  if (random_.chance(300)) {
    calm_ = false;
    steps(options_.steps / 4);
    settle();
  }
  finish();
}

void World::steps(int count) {
  const std::uint64_t end = step_count_ + static_cast<std::uint64_t>(count);
  while (step_count_ < end) {
    if (random_.chance(350) || !process_next()) cause_trouble();
  }
}

Duration World::delay(int most_ms) {
  return std::chrono::milliseconds(random_.below(static_cast<std::size_t>(most_ms)));
}

void World::later(Duration wait, std::variant<Perform, core::Event, Ready, Exit> what) {
  pending_.push_back({now_ + wait, number_++, std::move(what)});
  std::ranges::push_heap(pending_, std::greater{},
                         [](const Pending& p) { return std::pair(p.due, p.number); });
}

void World::answer(const core::Event& event) {
  later(random_.chance(500) ? Duration::zero() : delay(2000), event);
}

// The next due event: a wake-up, or the earliest pending one.
bool World::process_next() {
  const bool wake_first = wake_ && (pending_.empty() || *wake_ <= pending_.front().due);
  if (wake_first) {
    now_ = std::max(now_, *wake_);
    wake_.reset();
    deliver(core::WakeUp{});
    return true;
  }
  if (pending_.empty()) return false;
  std::ranges::pop_heap(pending_, std::greater{},
                        [](const Pending& p) { return std::pair(p.due, p.number); });
  const Pending next = std::move(pending_.back());
  pending_.pop_back();
  now_ = std::max(now_, next.due);
  if (const auto* p = std::get_if<Perform>(&next.what)) perform(*p);
  if (const auto* e = std::get_if<core::Event>(&next.what)) deliver_pending(*e);
  if (const auto* x = std::get_if<Exit>(&next.what)) end_run(x->run, x->success);
  if (const auto* r = std::get_if<Ready>(&next.what)) {
    if (const Run* run = truth_.find(r->run)) answer(core::JobReady{run->job, run->run});
  }
  return true;
}

void World::deliver(const core::Event& event) {
  actions_.clear();
  ++step_count_;
  if (const auto* e = std::get_if<core::JobSubmitted>(&event)) {
    if (std::ranges::find(live_, e->spec.id) == live_.end()) live_.push_back(e->spec.id);
  }
  lines_.push_back({now_, event, {}});
  if (lines_.size() > kStoryLines) lines_.pop_front();
  coverage_.count(scheduler_->node(), event);
  const bool fails_a_move = fails_move(scheduler_->node(), event);
  scheduler_->step(now_, event, actions_);
  if (options_.stepped) options_.stepped(now_, event, actions_);
  coverage_.count(actions_);
  record(event, actions_);
  for (const core::Action& action : core::Actions(actions_)) take(action);
  check(actions_);
  check_back_off(fails_a_move, actions_);
}

// A move that failed is not chosen again within half a minute.
void World::check_back_off(bool failure, const core::Actions& actions) {
  constexpr Duration kHalfMinute = std::chrono::seconds(30);
  std::erase_if(failed_moves_, [&](const Failure& f) { return now_ - f.when >= kHalfMinute; });
  for (const core::Action& action : actions) {
    const auto* move = std::get_if<core::MoveReport>(&action);
    if (move == nullptr) continue;
    if (move->news == core::MoveNews::kRolledBack && failure) {
      failed_moves_.push_back({move->job, move->to, move->start, now_});
    }
    if (move->news != core::MoveNews::kBegun) continue;
    for (const Failure& f : failed_moves_) {
      require(f.job != move->job || f.gpu != move->to || f.start != move->start,
              "a failed move is chosen again at once");
    }
  }
}

void World::record(const core::Event& event, const core::Actions& actions) {
  lines_.back().actions = actions;
  if (!options_.record_text) return;
  const auto mix = [&](const std::string& text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  };
  mix(core::instant_text(now_));
  mix(core::to_text(scheduler_->node(), event));
  for (const core::Action& action : actions) mix(core::to_text(scheduler_->node(), action));
}

std::string World::story() const {
  std::string text;
  for (const Line& line : lines_) {
    text += cat(core::instant_text(line.when), " ", core::to_text(scheduler_->node(), line.event),
                "\n");
    for (const core::Action& action : line.actions) {
      text += cat("    ", core::to_text(scheduler_->node(), action), "\n");
    }
  }
  for (std::uint32_t g = 0; g < scheduler_->node().gpu_count(); ++g) {
    text += core::gpu_line(scheduler_->node(), core::GpuId(g)) + "\n";
  }
  return text;
}

void World::check(const core::Actions& actions) {
  const core::Node& node = scheduler_->node();
  require(node.job_count() == live_.size(), "a job has ended without a report, or the reverse");
  check_gpus(node);
  check_jobs(node);
  check_queue(*scheduler_);
  check_fcfs(*scheduler_, actions);
  check_destroyed(node, actions);
  check_truth(node, truth_);
  if (options_.full_checks || step_count_ % 8 == 0) {
    check_index(node, core::GpuId(static_cast<std::uint32_t>(step_count_ % node.gpu_count())));
  }
}

std::uint64_t run_world(const WorldOptions& options) {
  World world(options);
  current = &world;
  current_seed = options.seed;
  std::signal(SIGABRT, print_story);
  try {
    world.run();
  } catch (const Broken& broken) {
    current = nullptr;
    throw Broken(how_to_replay(options.seed, world, broken.what()));
  }
  current = nullptr;
  return world.step_count();
}

std::uint64_t transcript_hash_of(std::uint64_t seed, int steps) {
  World world({.seed = seed, .steps = steps, .record_text = true, .full_checks = false});
  world.run();
  return world.transcript_hash();
}

// No new events and no failures: everything under way must end.
void World::settle() {
  calm_ = true;
  for (std::uint32_t g = 0; g < truth_.gpus.size(); ++g) {
    const core::GpuId gpu(g);
    if (truth_.gpu(gpu).health == core::Health::kOk) continue;
    truth_.gpu(gpu).health = core::Health::kOk;
    deliver(core::GpuHealth{gpu, core::Health::kOk});
  }
  for (std::uint32_t g = 0; g < truth_.gpus.size(); ++g) {
    for (const Instance& i : std::vector(truth_.gpus[g].instances)) {
      if (!i.alien) continue;
      truth_.find(core::GpuId(g), i.id)->alien = false;
      deliver(core::QuarantineEnded{core::GpuId(g), i.id});
    }
  }
  int left = kMaxStepsToRest;
  while (process_next()) require(--left > 0, "the world does not come to rest");
  const core::Node& node = scheduler_->node();
  require(node.moves_under_way() == 0, "a move never ends");
  for (const core::JobSlot s : node.jobs_by_id()) {
    const core::JobPhase phase = node.job(s).phase;
    require(phase != core::JobPhase::kPlaced && phase != core::JobPhase::kStarting &&
                phase != core::JobPhase::kStopping,
            "a job neither waits nor runs");
    if (phase == core::JobPhase::kHeld) continue;
  }
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    for (const core::Entry& e : node.entries(core::GpuId(g))) {
      require(e.state == core::EntryState::kIdle || e.state == core::EntryState::kHeld ||
                  e.state == core::EntryState::kForeign,
              "an instance is neither idle nor held");
    }
  }
}

void World::finish() {
  calm_ = true;
  for (const core::JobId job : std::vector(live_)) deliver(core::JobCancelled{job});
  int left = kMaxStepsToRest;
  while (process_next()) require(--left > 0, "the world does not come to its end");
  const core::Node& node = scheduler_->node();
  require(node.job_count() == 0 && scheduler_->waiting_count() == 0, "a job is left");
  require(truth_.runs.empty(), "a process is left");
  require(node.moves_under_way() == 0, "a move is left");
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    for (const core::Entry& e : node.entries(core::GpuId(g))) {
      require(!e.occupies() || e.state == core::EntryState::kForeign, "slices are left reserved");
    }
  }
}

}  // namespace tangram::properties
