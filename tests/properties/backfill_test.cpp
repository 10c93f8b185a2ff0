// Queues with backfill in worlds without faults, in which every job has a time limit: reservations
// are kept and only move to earlier times, nobody starves, and what explanations expect happens.
// TANGRAM_STEPS sets how many steps each test makes (default: a few thousand).
#include <cstdlib>
#include <map>
#include <queue>

#include <gtest/gtest.h>

#include "core/expected_start.hpp"
#include "core/reservation.hpp"
#include "core/transcript.hpp"
#include "mig/catalog.hpp"
#include "policies/registry.hpp"
#include "random.hpp"
#include "shadow.hpp"

namespace tangram::properties {
namespace {

using core::JobId;
using std::chrono::seconds;

std::size_t steps_to_make() {
  const char* const text = std::getenv("TANGRAM_STEPS");
  return text == nullptr ? 6'000 : std::strtoull(text, nullptr, 10);
}

struct LimitedOptions {
  std::uint64_t seed = 1;
  bool to_the_limit = false;  // else jobs mostly end before their limit
  std::string queue = "backfill";
  std::uint32_t gpus = 4;
  Shadow* shadow = nullptr;  // watches, unless null
};

// A node on which everything works at once; only jobs take time.
class LimitedWorld {
 public:
  explicit LimitedWorld(const LimitedOptions& options)
      : options_(options), random_(options.seed), scheduler_(tuning(options), policies(options)) {
    if (options.shadow != nullptr) {
      observer_ = options.shadow->options({});
      observer_.begun(scheduler_);
    }
    static constexpr std::array<const char*, 3> kModels{"A100-40GB", "A100-80GB", "H100-80GB"};
    for (std::uint32_t g = 0; g < options.gpus; ++g) {
      const auto* model = *mig::find_model(random_.pick(kModels));
      deliver(core::GpuAdded{{std::shared_ptr<void>(), model}, {}});
    }
  }

  // A random arrival, or the next end of a job.
  void advance() {
    if (scheduler_.node().job_count() < crowd_ && random_.chance(500)) {
      run_until(now_ + seconds(random_.below(10)));
      submit(random_spec());
    } else if (!run_next()) {
      submit(random_spec());
    }
  }
  void run_out() {
    while (run_next()) {
    }
  }
  bool run_next() {
    const auto wake = scheduler_.woken_at();
    if (ends_.empty() && !wake) return false;
    const bool wakes = wake && (ends_.empty() || *wake < ends_.top().when);
    run_until(wakes ? *wake : ends_.top().when);
    return true;
  }

  core::JobSpec random_spec() {
    const core::Node& node = scheduler_.node();
    const mig::Model& model =
        node.model(core::GpuId(static_cast<std::uint32_t>(random_.below(node.gpu_count()))));
    core::JobSpec spec;
    spec.profile = random_.pick(model.profiles()).name;
    spec.kind = random_.chance(300) ? core::JobKind::kService : core::JobKind::kBatch;
    spec.movable = random_.chance(500);
    if (random_.chance(200)) spec.gpu_model = model.name();
    spec.priority = static_cast<std::int16_t>(random_.below(4));
    spec.user = static_cast<std::uint32_t>(random_.below(3));
    spec.time_limit = seconds(30 + random_.below(600));
    spec.stop_grace = seconds(random_.below(3) * 10);
    return spec;
  }
  JobId submit(core::JobSpec spec) {
    spec.id = JobId(next_id_++);
    submitted_[spec.id] = now_;
    deliver(core::JobSubmitted{spec});
    return spec.id;
  }

  [[nodiscard]] const core::Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const std::map<JobId, Instant>& started() const { return started_; }
  [[nodiscard]] std::size_t passed() const { return passed_; }
  [[nodiscard]] std::size_t promises() const { return promised_.size(); }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  void set_crowd(std::size_t jobs) { crowd_ = jobs; }

 private:
  struct End {
    Instant when{};
    JobId job;
    core::RunId run;
    bool operator>(const End& other) const {
      return std::tuple(when, job) > std::tuple(other.when, other.job);
    }
  };
  static core::Tuning tuning(const LimitedOptions& options) {
    core::Tuning tuning;
    tuning.queue = options.queue;
    tuning.fairness = {.max_passes = 3, .ageing = seconds(300), .half_life = seconds(1800)};
    tuning.restraint.protect_head = options.seed % 2 == 0;
    return tuning;
  }
  static core::Policies policies(const LimitedOptions& options) {
    return *policies::find_policies(tuning(options));
  }

  void run_until(Instant until) {
    while (true) {
      const auto wake = scheduler_.woken_at();
      const bool end_due = !ends_.empty() && ends_.top().when <= until;
      if (wake && *wake <= until && (!end_due || *wake < ends_.top().when)) {
        now_ = std::max(now_, *wake);
        deliver(core::WakeUp{});
      } else if (end_due) {
        const End end = ends_.top();
        ends_.pop();
        now_ = std::max(now_, end.when);
        end_job(end);
      } else {
        break;
      }
    }
    now_ = std::max(now_, until);
  }
  // The run of the job that there is now: a move has brought it a new one.
  void end_job(const End& end) {
    const core::JobSlot s = scheduler_.node().find_job(end.job);
    if (s == core::kNoJob || scheduler_.node().job(s).main.run == core::kNoRun) return;
    deliver(core::JobExited{end.job, scheduler_.node().job(s).main.run, false});
  }

  void deliver(const core::Event& event) {
    std::vector<core::Event> events{event};
    for (std::size_t i = 0; i < events.size(); ++i) {
      const core::Event next = events[i];
      actions_.clear();
      ++steps_;
      scheduler_.step(now_, next, actions_);
      if (observer_.stepped) observer_.stepped(now_, next, actions_);
      check();
      for (const core::Action& action : actions_) {
        for (const char c : core::to_text(scheduler_.node(), action)) {
          hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
        }
        std::visit([&](const auto& a) { take(a, events); }, action);
      }
    }
  }
  using Events = std::vector<core::Event>;
  static void take(const core::CreateInstance& a, Events& to) {
    to.emplace_back(core::InstanceCreated{a.gpu, a.instance});
  }
  static void take(const core::DestroyInstance& a, Events& to) {
    to.emplace_back(core::InstanceDestroyed{a.gpu, a.instance});
  }
  void take(const core::StartJob& a, Events& to) {
    to.emplace_back(core::JobReady{a.job, a.run});
    if (a.replica) return;
    const core::Job& job = scheduler_.node().job(scheduler_.node().find_job(a.job));
    const Instant latest = *core::end_of(job, now_);
    const auto span = std::chrono::duration_cast<seconds>(latest - now_).count();
    const bool whole = options_.to_the_limit || random_.chance(200);
    const auto ran = whole ? latest - now_
                           : Duration(seconds(1 + random_.below(static_cast<std::size_t>(span))));
    ends_.push({now_ + ran, a.job, a.run});
  }
  static void take(const core::StopJob& a, Events& to) {
    to.emplace_back(core::JobExited{a.job, a.run, true});
  }
  static void take(const core::SwitchTraffic& a, Events& to) {
    to.emplace_back(core::TrafficSwitched{a.job, a.to});
    to.emplace_back(core::TrafficDrained{a.job, a.from, a.to});
  }
  void take(const core::JobReport& a, Events&) {
    if (a.news != core::JobNews::kPlaced) return;
    started_.try_emplace(a.job, now_);
    for (const auto& [waiting, since] : submitted_) {
      const core::JobSlot s = scheduler_.node().find_job(waiting);
      if (s == core::kNoJob || started_.contains(waiting)) continue;
      if (since < submitted_[a.job]) ++passed_;
    }
    const auto promise = promised_.find(a.job);
    if (promise == promised_.end()) return;
    require(now_ <= promise->second, "a head starts after its reservation");
  }
  template <class Report>
  static void take(const Report&, Events&) {}

  // By their definition: nothing in a reserved place may stay longer; they do not overlap; they
  // only move to earlier times.
  void check() {
    const core::Node& node = scheduler_.node();
    for (const core::Reserved& r : node.reserved()) {
      require(r.time >= now_, "a reservation is over, and its job waits");
      const auto [promise, first] = promised_.try_emplace(r.job, r.time);
      require(r.time <= promise->second, "a reservation moved to a later time");
      promise->second = r.time;
      for (const core::Entry& e : node.entries(r.gpu)) {
        if (!e.occupies() || !node.model(r.gpu).overlap(e.placement, r.placement)) continue;
        require(node.job(e.job).ends && *node.job(e.job).ends <= r.time,
                "a job may stay in a reserved place");
      }
      for (const core::Reserved& other : node.reserved()) {
        if (other.job == r.job || other.gpu != r.gpu) continue;
        require(!node.model(r.gpu).overlap(other.placement, r.placement), "reservations overlap");
      }
    }
    for (const core::JobSlot s : node.jobs_by_id()) {
      require(!node.job(s).lost_reservation, "a reservation was lost without a fault");
    }
  }

  LimitedOptions options_;
  Random random_;
  core::Scheduler scheduler_;
  Instant now_{};
  core::Actions actions_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::map<JobId, Instant> submitted_;
  std::map<JobId, Instant> started_;
  std::map<JobId, Instant> promised_;
  std::uint64_t next_id_ = 1;
  std::size_t steps_ = 0;
  std::size_t passed_ = 0;
  std::size_t crowd_ = 40;
  std::uint64_t hash_ = 0xCBF29CE484222325U;
  WorldOptions observer_;
};

TEST(Backfill, NoHeadStartsAfterItsReservation) {
  std::size_t steps = 0;
  std::size_t promises = 0;
  std::size_t passed = 0;
  for (std::uint64_t seed = 1; steps < steps_to_make(); ++seed) {
    LimitedWorld world({.seed = seed, .gpus = 1 + static_cast<std::uint32_t>(seed % 5)});
    try {
      while (world.steps() < 1'500) world.advance();
      world.run_out();
    } catch (const Broken& broken) {
      FAIL() << broken.what() << "\nseed " << seed << ", step " << world.steps();
    }
    EXPECT_EQ(world.scheduler().node().job_count(), 0U) << "seed " << seed;
    steps += world.steps();
    promises += world.promises();
    passed += world.passed();
  }
  EXPECT_GT(promises, steps / 100);
  EXPECT_GT(passed, steps / 100);
}

TEST(Backfill, TheExpectedStartsHappenIfAllRunToTheirLimits) {
  std::size_t steps = 0;
  int expected = 0;
  for (std::uint64_t seed = 1; steps < 5 * steps_to_make(); ++seed) {
    LimitedWorld world({.seed = seed, .to_the_limit = true});
    world.set_crowd(60);
    while (world.steps() < 300 + seed % 7 * 50) world.advance();
    std::map<JobId, Instant> promised;
    for (const JobId id : world.scheduler().waiting()) {
      const auto start = core::expected_start(world.scheduler(), id);
      ASSERT_TRUE(start) << "seed " << seed << ", job " << id.value();
      promised[id] = start->time;
    }
    world.run_out();
    for (const auto& [id, time] : promised) {
      ASSERT_TRUE(world.started().contains(id)) << "seed " << seed << ", job " << id.value();
      EXPECT_LE(world.started().at(id), time) << "seed " << seed << ", job " << id.value();
      ++expected;
    }
    steps += world.steps();
  }
  EXPECT_GT(expected, 50);
}

// A job of the lowest priority and the largest profile, under a flood of small ones of the highest:
// after the time in which its priority has grown above theirs it is a head, and then it waits for
// those that run.
TEST(Backfill, NobodyStarves) {
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; steps < steps_to_make(); ++seed) {
    LimitedWorld world({.seed = seed, .gpus = 2});
    world.set_crowd(60);
    while (world.steps() < 400) world.advance();
    core::JobSpec large = world.random_spec();
    large.gpu_model = "";
    large.profile = world.scheduler().node().model(core::GpuId(0)).profiles().back().name;
    for (const mig::Profile& p : world.scheduler().node().model(core::GpuId(0)).profiles()) {
      if (p.compute_slices == 7) large.profile = p.name;
    }
    large.priority = 0;
    const Instant since = world.now();
    const JobId id = world.submit(large);
    // Priorities 0 to 3 and one for the rest of a time span; then at most what is ahead of it by
    // then: running jobs, and heads that were promised their places.
    const Duration ageing = seconds(5 * 300);
    const Duration longest = seconds(30 + 600 + 20 + 65);
    while (!world.started().contains(id)) {
      world.advance();
      ASSERT_LE(world.now() - since, ageing + 6 * longest) << "seed " << seed;
    }
    steps += world.steps();
  }
}

TEST(Backfill, TheSameSeedGivesTheSameTranscriptAndRestoredSchedulersGoOn) {
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; steps < steps_to_make(); ++seed) {
    LimitedWorld first({.seed = seed});
    Shadow shadow(seed, 100);
    LimitedWorld again({.seed = seed, .shadow = &shadow});
    try {
      while (first.steps() < 800) first.advance();
      while (again.steps() < 800) again.advance();
    } catch (const Broken& broken) {
      FAIL() << broken.what() << "\nseed " << seed;
    }
    EXPECT_EQ(first.hash(), again.hash()) << "seed " << seed;
    EXPECT_GT(shadow.restored(), 20);
    steps += first.steps() + again.steps();
  }
}

}  // namespace
}  // namespace tangram::properties
