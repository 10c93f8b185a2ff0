// World: a random node around the scheduler. It plays driver, hardware, users and operators:
// performs actions after random delays in random order, makes any of them fail, crashes processes,
// loses GPUs, changes tuning, sends late duplicates; and after every step it checks all invariants.
// A world is a function of its seed.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/scheduler.hpp"
#include "random.hpp"
#include "truth.hpp"

namespace tangram::properties {

struct WorldOptions {
  std::uint64_t seed = 1;
  int steps = 1000;                   // of the random part, without settling
  bool record_text = false;           // hash the whole transcript, not only keep its end
  bool many_requested_moves = false;  // users request moves often, also in cooldowns
  bool full_checks = true;            // every check after every step
  bool no_backfill = false;           // a queue with backfill is replaced by fcfs
  bool only_dynamic = false;          // never static partitioning
  // For observers: the scheduler before its first step; and every step it has made.
  std::function<void(core::Scheduler&)> begun = {};
  std::function<void(Instant, const core::Event&, const core::Actions&)> stepped = {};
};

// Counts of what a world has covered.
struct Coverage {
  std::array<int, std::variant_size_v<core::Event>> events{};
  std::array<int, std::variant_size_v<core::Action>> actions{};
  std::array<int, 5> failures{};      // by ActionKind
  std::array<int, 14> job_news{};     // by JobNews
  std::array<int, 4> move_news{};     // by MoveNews
  std::array<int, 4> gpu_news{};      // by GpuNews
  std::array<int, 7> cancelled_in{};  // by MovePhase

  void add(const Coverage& other);
  void count(const core::Node& before, const core::Event& event);
  void count(const core::Actions& actions);
};

class World {
 public:
  explicit World(const WorldOptions& options);

  void run();  // steps(), settle(), finish(); throws Broken
  void steps(int count);
  void settle();  // no new trouble: everything under way must come to rest
  void finish();  // all jobs end: nothing may be left

  [[nodiscard]] core::Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }
  [[nodiscard]] std::uint64_t transcript_hash() const { return hash_; }
  [[nodiscard]] std::string story() const;  // the last steps as text

  void deliver(const core::Event& event);        // one step, with all checks
  void exit_job(core::JobId job, bool success);  // its process ends by itself
  void set_tuning(const core::Tuning& tuning);
  core::JobId submit(const std::string& profile, core::JobKind kind = core::JobKind::kService);
  [[nodiscard]] const core::Actions& actions() const { return actions_; }  // of the last step
  [[nodiscard]] core::GpuId any_gpu();
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const std::vector<core::JobId>& live_jobs() const { return live_; }
  [[nodiscard]] const Coverage& coverage() const { return coverage_; }
  [[nodiscard]] bool at_rest() const { return pending_.empty(); }

 private:
  struct Perform {
    core::Action action;
    std::uint32_t epoch = 0;
  };
  struct Ready {
    core::RunId run;
  };
  struct Exit {
    core::RunId run;
    bool success = false;
  };
  struct Pending {
    Instant due{};
    std::uint64_t number = 0;
    std::variant<Perform, core::Event, Ready, Exit> what;
  };

  // world.cpp: time and the steps
  void later(Duration delay, std::variant<Perform, core::Event, Ready, Exit> what);
  void answer(const core::Event& event);  // after a short random while
  [[nodiscard]] Duration delay(int most_ms);
  [[nodiscard]] bool trouble(unsigned per_mille) {
    return !calm_ && random_.chance(per_mille * wildness_ / 1000);
  }
  bool process_next();
  void record(const core::Event& event, const core::Actions& actions);
  void check(const core::Actions& actions);
  void check_back_off(bool failure, const core::Actions& actions);

  // world_driver.cpp: actions requested, and performed
  void take(const core::Action& action);
  void perform(const Perform& p);
  void operator()(const core::CreateInstance& a, bool is_void);
  void operator()(const core::DestroyInstance& a, bool is_void);
  void operator()(const core::StartJob& a, bool is_void);
  void operator()(const core::SwitchTraffic& a, bool is_void);
  void operator()(const core::StopJob& a, bool is_void);
  void end_run(core::RunId run, bool success);
  void deliver_pending(const core::Event& event);

  // world_trouble.cpp: users, operators and random failures
  void cause_trouble();
  void submit();
  void set_queue_fields(core::JobSpec& spec, const std::string& model);
  void user_acts();
  bool request_move();
  void operator_acts();
  void hardware_acts();
  void foreign_acts();
  void alien_acts();
  void process_acts();
  void duplicate();
  void change_tuning();
  [[nodiscard]] core::HoldCause any_cause();
  [[nodiscard]] core::JobId any_job(unsigned moving);  // per mille: one that is moving
  void add_gpu();

  Random random_;
  Random queue_random_;  // of what matters to queues only: other draws do not depend on it
  WorldOptions options_;
  Truth truth_;
  std::optional<core::Scheduler> scheduler_;
  core::Partitioning partitioning_;
  core::Tuning tuning_;
  Instant now_{};
  std::optional<Instant> wake_;
  std::vector<Pending> pending_;  // a heap, the earliest first
  std::uint64_t number_ = 0;
  std::uint64_t step_count_ = 0;
  std::uint64_t next_job_ = 1;
  std::uint64_t hash_ = 0xCBF29CE484222325U;
  bool calm_ = false;
  std::size_t crowd_ = 8;     // maximum of jobs per GPU: moves need free slices
  unsigned wildness_ = 1000;  // per mille of failures; in a wild world few moves complete
  std::vector<core::JobId> live_;
  std::deque<core::Event> answered_;  // for duplicates
  struct Line {
    Instant when{};
    core::Event event;
    core::Actions actions;
  };
  std::deque<Line> lines_;
  core::Actions actions_;
  struct Failure {
    core::JobId job;
    core::GpuId gpu;
    std::uint8_t start = 0;
    Instant when{};
  };
  std::vector<Failure> failed_moves_;  // of the last half minute
  Coverage coverage_;
};

// Runs one world. Throws Broken whose text has the seed, the step, the story's end and the command
// that replays it; a failed CHECK prints the same before the process ends.
std::uint64_t run_world(const WorldOptions& options);
// The seed and hash of a run, for the test that the same seed gives the same transcript.
[[nodiscard]] std::uint64_t transcript_hash_of(std::uint64_t seed, int steps);

}  // namespace tangram::properties
