// See expected_start.hpp.
#include "core/expected_start.hpp"

#include <tuple>

#include "base/check.hpp"

namespace tangram::core {
namespace {

// Performs every action at once; jobs end when their time is over.
class Future {
 public:
  Future(const Scheduler& scheduler, int most_steps) : then_(scheduler), left_(most_steps) {
    answer_outstanding();
  }

  // The next end of a job or wake-up. False: there is none, or the steps are used up.
  bool advance() {
    const auto end = next_end();
    const auto wake = then_.woken_at();
    if (left_ <= 0 || (!end && !wake)) return false;
    if (end && (!wake || end->time <= *wake)) {
      const Job& job = node().job(node().find_job(end->job));
      ended_ = end->job;
      step(std::max(node().now(), end->time), JobExited{job.id, job.main.run, false});
    } else {
      step(std::max(node().now(), *wake), WakeUp{});
    }
    return true;
  }

  [[nodiscard]] const Node& node() const { return then_.node(); }
  [[nodiscard]] std::optional<JobId> ended() const { return ended_; }

 private:
  struct End {
    Instant time{};
    JobId job;
  };

  // Of running jobs; the earliest, then the lowest ID.
  [[nodiscard]] std::optional<End> next_end() const {
    std::optional<End> next;
    for (std::uint32_t g = 0; g < node().gpu_count(); ++g) {
      for (const Entry& e : node().entries(GpuId(g))) {
        if (e.job == kNoJob) continue;
        const Job& job = node().job(e.job);
        if (!job.ends || job.main.run == kNoRun || job.main.instance != e.id) continue;
        if (!next || std::tuple(*job.ends, job.id) < std::tuple(next->time, next->job)) {
          next = End{*job.ends, job.id};
        }
      }
    }
    return next;
  }

  void step(Instant now, const Event& event) {
    --left_;
    actions_.clear();
    then_.step(now, event, actions_);
    for (const Action& action : Actions(actions_)) {
      std::visit([&](const auto& a) { answer(a); }, action);
    }
  }
  void step(const Event& event) { step(node().now(), event); }

  void answer(const CreateInstance& a) { step(InstanceCreated{a.gpu, a.instance}); }
  void answer(const DestroyInstance& a) { step(InstanceDestroyed{a.gpu, a.instance}); }
  void answer(const StartJob& a) { step(JobReady{a.job, a.run}); }
  void answer(const StopJob& a) { step(JobExited{a.job, a.run, true}); }
  void answer(const SwitchTraffic& a) {
    step(TrafficSwitched{a.job, a.to});
    step(TrafficDrained{a.job, a.from, a.to});
  }
  template <class Report>
  void answer(const Report&) {}

  // What was requested already, and not answered.
  void answer_outstanding() {
    for (std::uint32_t g = 0; g < node().gpu_count(); ++g) {
      const auto entries = node().entries(GpuId(g));
      for (const Entry& e : std::vector(entries.begin(), entries.end())) {
        if (e.state == EntryState::kCreating) step(InstanceCreated{GpuId(g), e.id});
        if (e.state == EntryState::kDestroying) step(InstanceDestroyed{GpuId(g), e.id});
      }
    }
    for (const JobSlot s : node().jobs_by_id()) answer_outstanding(Job(node().job(s)));
  }
  void answer_outstanding(const Job& job) {
    if (job.phase == JobPhase::kStarting) step(JobReady{job.id, job.main.run});
    switch (job.move) {
      case MovePhase::kStarting:
        step(JobReady{job.id, job.replica.run});
        break;
      case MovePhase::kSwitching:
        step(TrafficSwitched{job.id, job.replica.run});
        [[fallthrough]];
      case MovePhase::kDraining:
        step(TrafficDrained{job.id, job.main.run, job.replica.run});
        break;
      case MovePhase::kStopping:
        step(JobExited{job.id, job.main.run, true});
        break;
      case MovePhase::kRollingBack:
        step(JobExited{job.id, job.replica.run, true});
        break;
      case MovePhase::kNone:
      case MovePhase::kCreating:
        break;
    }
  }

  Scheduler then_;
  Actions actions_;
  int left_;
  std::optional<JobId> ended_;
};

}  // namespace

std::optional<ExpectedStart> expected_start(const Scheduler& scheduler, JobId id, int most_steps) {
  const JobSlot s = scheduler.node().find_job(id);
  if (s == kNoJob || scheduler.node().job(s).phase != JobPhase::kQueued) return std::nullopt;
  if (scheduler.policies().queue->passing != Passing::kBackfill) return std::nullopt;
  Future future(scheduler, most_steps);
  while (true) {
    const JobSlot then = future.node().find_job(id);
    if (then == kNoJob) return std::nullopt;
    const Job& job = future.node().job(then);
    if (job.main.instance != kNoInstance) {
      const Entry* entry = future.node().find(job.main.gpu, job.main.instance);
      CHECK(entry != nullptr);
      return ExpectedStart{future.node().now(), future.ended(), job.main.gpu,
                           entry->placement.start};
    }
    if (!future.advance()) return std::nullopt;
  }
}

}  // namespace tangram::core
