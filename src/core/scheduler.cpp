// See scheduler.hpp: one step from beginning to end.
#include "core/scheduler.hpp"

#include "base/check.hpp"

namespace tangram::core {

Scheduler::Scheduler(const Tuning& tuning, const Policies& policies, Partitioning partitioning)
    : node_(partitioning), policies_(policies) {
  CHECK(policies.placement != nullptr && policies.queue != nullptr &&
        policies.migration != nullptr);
  node_.set_tuning(tuning);
}

void Scheduler::step(Instant now, const Event& event, Actions& out) {
  CHECK(now >= node_.now());
  node_.set_now(now);
  out_ = &out;
  if (woken_at_ && *woken_at_ <= now) woken_at_.reset();
  std::visit([this](const auto& e) { on(e); }, event);
  run_timers();  // after the event, which may say that a GPU is lost
  settle();
  request_wake_up();
  out_ = nullptr;
}

void Scheduler::run_timers() {
  while (const auto timer = timers_.pop_due(node_.now())) {
    switch (timer->kind) {
      case TimerKind::kCooldown: {
        const JobSlot s = node_.find_job(timer->job);
        if (s == kNoJob || look(s).cooldown_until > node_.now()) break;
        node_.drop_cooling(s);
        update_flags(s);
        break;
      }
      case TimerKind::kPlan:
        if (!restrained_.contains(timer->gpu.value())) break;
        restrained_.erase(timer->gpu.value());
        to_plan_.insert(timer->gpu.value(), node_.gpu_count());
        break;
      case TimerKind::kQueue:
        try_queue_ = true;
        break;
      case TimerKind::kQuarantine:
        retry_destroy(*timer);
        break;
      case TimerKind::kStop:
        stop_again(timer->job, timer->run);
        break;
      case TimerKind::kLayout:
        repair_layout(timer->gpu);
        break;
      case TimerKind::kWindow:
        break;  // plan() looks at the window itself
    }
  }
}

// The queue before the moves: a waiting job has the first claim to freed slices (§IV-D comes after
// §IV-C).
void Scheduler::settle() {
  if (backfills() && queue_length_ > 0) try_queue_ = true;  // any event may make one start sooner
  if (try_queue_) try_queue();
  const JobSlot head = node_.queue_head();
  const std::uint64_t head_order = head == kNoJob ? kNoHead : look(head).order;
  if (head_order != head_order_) replan_restrained();  // protect_head protects another one now
  head_order_ = head_order;
  if (pools_changed_) find_pool_heads();
  plan();
}

void Scheduler::request_wake_up() {
  const auto next = timers_.next();
  if (!next || (woken_at_ && *woken_at_ <= *next)) return;
  woken_at_ = next;
  out_->emplace_back(WakeAt{*next});
}

}  // namespace tangram::core
