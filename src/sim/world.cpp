// See world.hpp: the loop, and the effect of each action.
#include "sim/world.hpp"

#include <cmath>
#include <variant>

#include "base/check.hpp"
#include "base/text.hpp"
#include "policies/registry.hpp"
#include "sim/llm.hpp"
#include "sim/seconds.hpp"

namespace tangram::sim {

World::World(const Setting& setting, const Workload& workload, const Observer& observer,
             const core::Policies& policies)
    : workload_(workload),
      observer_(observer),
      knobs_(setting.knobs),
      limit_factor_(setting.limit_factor),
      scheduler_(setting.tuning, policies, setting.partitioning),
      random_(~workload.seed),  // independent of the workload's draws
      desired_(workload.profiles.size()),
      actual_(workload.profiles.size()) {
  add_gpus(setting);
}

// Adds the GPUs; static layouts exist when virtual time begins.
void World::add_gpus(const Setting& setting) {
  std::uint32_t count = 0;
  for (const GpuSetting& group : setting.gpus) count += group.count;
  scheduler_.reserve_gpus(count);
  gpus_.resize(count);
  for (const GpuSetting& group : setting.gpus) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      step(core::GpuAdded{group.model, group.layout});
      all_compute_ += group.model->compute_slices();
    }
  }
  const core::Node& node = scheduler_.node();
  for (std::size_t m = 0; m < node.model_count(); ++m) {
    add_speeds(node.model(core::ModelId(static_cast<std::uint8_t>(m))));
  }
  while (!replies_.empty()) deliver(replies_.pop());  // the layouts
  for (GpuState& gpu : gpus_) gpu.busy_until = Instant{};
  summary_.created = 0;
}

// Computes the speed of each language model on each profile of a GPU model, and maps its profiles
// to the workload's.
void World::add_speeds(const mig::Model& model) {
  std::vector<int> names(model.profiles().size(), -1);
  std::vector<Speed> speeds(workload_.profiles.size() * kLanguageModels);
  for (std::size_t w = 0; w < workload_.profiles.size(); ++w) {
    const auto profile = model.find_profile(workload_.profiles[w]);
    if (!profile) continue;  // its tasks run on other models, or are refused
    names[profile->value()] = static_cast<int>(w);
    for (std::size_t l = 0; l < kLanguageModels; ++l) {
      const Pass pass = pass_of(language_models()[l], model, *profile, knobs_);
      speeds[w * kLanguageModels + l] = {
          {pass.transfer_gb, pass.decode_s}, pass.prefill_s_per_token, pass.load_s};
    }
  }
  profile_of_.push_back(std::move(names));
  speeds_.push_back(std::move(speeds));
}

Summary World::run() {
  begun_ = true;
  more_tasks_ = workload_.next(next_task_);
  while (process_next()) {
  }
  CHECK(live_count_ == 0);  // every task ends
  const double span = to_seconds(now_);
  summary_.end_s = to_seconds(last_finish_);
  if (span > 0) {
    const double denominator = static_cast<double>(scheduler_.node().cost_denominator()) *
                               static_cast<double>(gpus_.size());
    summary_.fragmentation = fragmentation_seconds_ / denominator / span;
    summary_.compute_used = used_seconds_ / static_cast<double>(all_compute_) / span;
    summary_.waiting = waiting_seconds_ / span;
  }
  return summary_;
}

// Order at equal times: replies, milestones, wake-ups, arrivals.
bool World::process_next() {
  constexpr Instant kNever = Instant::max();
  if (!more_tasks_ && live_count_ == 0) return false;
  const Instant reply = replies_.empty() ? kNever : replies_.top().when;
  const Instant milestone = milestones_.empty() ? kNever : milestones_.when();
  const Instant wake = wake_.value_or(kNever);
  const Instant arrival = more_tasks_ ? at_seconds(next_task_.arrival_s) : kNever;
  const Instant next = std::min(std::min(reply, milestone), std::min(wake, arrival));
  if (next == kNever) return false;
  advance(next);
  if (next == reply) {
    deliver(replies_.pop());
  } else if (next == milestone) {
    reach_milestone();
  } else if (next == wake) {
    wake_.reset();
    step(core::WakeUp{});
  } else {
    arrive();
  }
  return true;
}

void World::arrive() {
  const Task task = next_task_;
  more_tasks_ = workload_.next(next_task_);
  if (free_.empty()) {
    free_.push_back(static_cast<Slot>(lives_.size()));
    lives_.emplace_back();
  }
  const Slot slot = free_.back();
  free_.pop_back();
  Live& live = lives_[slot];
  live = Live();
  live.id = core::JobId(next_id_++ << kSlotBits | slot);
  live.arrival = now_;
  live.passes = task.model < 0 ? task.duration_s : task.response_tokens;
  live.left = live.passes;
  live.prompt_tokens = task.prompt_tokens;
  live.transfer_share = task.transfer_share;
  live.queries = task.queries;
  live.model = task.model;
  live.profile = task.profile;
  ++live_count_;
  ++unfinished_;
  ++summary_.submitted;
  summary_.work_submitted += live.passes;
  summary_.max_live = std::max(summary_.max_live, live_count_);
  ++desired_[task.profile];
  changed_ = true;
  core::JobSpec spec;
  spec.id = live.id;
  spec.profile = workload_.profiles[task.profile];
  spec.movable = task.movable;
  if (limit_factor_ > 0) spec.time_limit = duration_of(limit_factor_ * seconds_alone(live));
  step(core::JobSubmitted{spec});
}

void World::step(const core::Event& event) {
  actions_.clear();
  scheduler_.step(now_, event, actions_);
  ++summary_.steps;
  for (const core::Action& action : actions_) {
    std::visit([this](const auto& a) { perform(a); }, action);
  }
  account();
}

void World::reply(Duration delay, Reply reply) {
  reply.when = now_ + delay;
  replies_.push(reply);
}

// Returns when the GPU's queue has finished a change that can begin at `from`.
Instant World::worker_time(core::GpuId gpu, Instant from, Duration takes) {
  Instant& busy_until = gpus_[gpu.value()].busy_until;
  busy_until = std::max(busy_until, from) + takes;
  return busy_until;
}

void World::perform(const core::CreateInstance& a) {
  const Instant done = worker_time(a.gpu, now_, duration_of(knobs_.create_s));
  reply(done - now_, {.gpu = a.gpu, .instance = a.instance, .kind = ReplyKind::kCreated});
  touch(a.gpu);
}

void World::perform(const core::DestroyInstance& a) {
  Instant from = now_;
  const auto use_release_time = [&](const Released& released) {
    if (released.instance == a.instance) from = std::max(from, released.free_from);
  };
  for (const Released& released : gpus_[a.gpu.value()].released) use_release_time(released);
  for (const Released& released : more_released_) use_release_time(released);
  if (from > now_) ++summary_.in_use_waits;
  const Instant done = worker_time(a.gpu, from, duration_of(knobs_.destroy_s));
  reply(done - now_, {.gpu = a.gpu, .instance = a.instance, .kind = ReplyKind::kDestroyed});
  touch(a.gpu);
}

void World::perform(const core::StartJob& a) {
  Live& live = lives_[find(a.job)];
  ++summary_.starts;
  const int free = live.runs[0].run == core::kNoRun ? 0 : 1;
  CHECK(live.runs[free].run == core::kNoRun);
  live.runs[free] = {.run = a.run, .gpu = a.gpu, .instance = a.instance};
  reply(duration_of(start_seconds(a.gpu, live)),
        {.job = a.job, .gpu = a.gpu, .run = a.run, .kind = ReplyKind::kReady});
  touch(a.gpu);
}

void World::perform(const core::SwitchTraffic& a) {
  const Slot slot = find(a.job);
  Live& live = lives_[slot];
  live.next = static_cast<std::int16_t>(run_index(live, a.to));
  reply({}, {.job = a.job, .run = a.to, .kind = ReplyKind::kSwitched});
  update_progress(live);
  if (live.queries == 0 || knobs_.drain_query < 0.5) {
    switch_stream(slot);
    reply(duration_of(knobs_.drain_s),
          {.job = a.job, .run = a.from, .to = a.to, .kind = ReplyKind::kDrained});
    return;
  }
  constexpr double kSlack = 1e-6;  // a query that ends just now
  const double query = live.passes / live.queries;
  live.goal = std::floor(live.left / query + kSlack) * query;
  live.goal = std::min(live.goal, live.left);
  set_milestone(slot);  // goal 0: the last query ends on the original
}

void World::perform(const core::StopJob& a) {
  const Slot slot = find(a.job);
  Live& live = lives_[slot];
  const int run = run_index(live, a.run);
  CHECK(run >= 0 && live.serving != run);  // jobs are not cancelled here
  live.runs[run].stopping = true;
  reply(duration_of(knobs_.stop_s), {.job = a.job, .run = a.run, .kind = ReplyKind::kExited});
}

void World::perform(const core::JobReport& a) {
  const Slot slot = find(a.job);
  switch (a.news) {
    case core::JobNews::kPlaced:
      lives_[slot].placed = now_;
      touch(scheduler_.node().job(scheduler_.node().find_job(a.job)).main.gpu);
      break;
    case core::JobNews::kRefusedProfile:
      ++summary_.refused;
      summary_.work_submitted -= lives_[slot].passes;
      mark_done(lives_[slot]);
      free_slot(slot);
      break;
    case core::JobNews::kFinished:
      record(lives_[slot]);
      free_slot(slot);
      break;
    case core::JobNews::kQueued:
    case core::JobNews::kRunning:
      break;
    default:
      CHECK(false);  // jobs do not fail here
  }
}

void World::perform(const core::MoveReport& a) {
  switch (a.news) {
    case core::MoveNews::kBegun:
      ++(a.kind == core::MoveKind::kIntra ? summary_.intra_moves : summary_.inter_moves);
      break;
    case core::MoveNews::kDone:
      ++summary_.moves_done;
      ++lives_[find(a.job)].moves;
      break;
    default:
      ++summary_.moves_ended_early;
  }
  if (observer_.move) observer_.move({to_seconds(now_), a.job.value() >> kSlotBits, a});
}

int World::run_index(const Live& live, core::RunId run) {
  if (run == core::kNoRun) return -1;
  for (int i = 0; i < 2; ++i) {
    if (live.runs[i].run == run) return i;
  }
  return -1;
}

void World::deliver(const Reply& r) {
  switch (r.kind) {
    case ReplyKind::kCreated:
      ++summary_.created;
      touch(r.gpu);
      count_instance(r.gpu, r.instance, 1);
      step(core::InstanceCreated{r.gpu, r.instance});
      return;
    case ReplyKind::kDestroyed:
      ++summary_.destroyed;
      touch(r.gpu);
      count_instance(r.gpu, r.instance, -1);
      step(core::InstanceDestroyed{r.gpu, r.instance});
      return;
    case ReplyKind::kSwitched:
      step(core::TrafficSwitched{r.job, r.run});
      return;
    case ReplyKind::kDrained:
      step(core::TrafficDrained{r.job, r.run, r.to});
      return;
    case ReplyKind::kReady:
    case ReplyKind::kExited:
      break;
  }
  const Slot slot = find(r.job);
  const int run = slot == kNoSlot ? -1 : run_index(lives_[slot], r.run);
  if (run < 0) return;
  Live& live = lives_[slot];
  if (r.kind == ReplyKind::kExited) {
    release(live, run);
    step(core::JobExited{r.job, r.run, false});
  } else if (!live.runs[run].stopping) {
    if (live.serving < 0) {
      live.ready = now_;
      serve(slot, run);
    }
    step(core::JobReady{r.job, r.run});
  }
}

Result<Summary> simulate(const Setting& setting, const Workload& workload,
                         const Observer& observer) {
  const auto policies = policies::find_policies(setting.tuning);
  if (!policies) return std::unexpected(policies.error());
  if (setting.gpus.empty()) return invalid("a node without GPUs cannot be simulated.");
  if (policies->placement->only_idle && setting.partitioning != core::Partitioning::kStatic) {
    return invalid(cat("the placement policy ", policies->placement->name,
                       " creates no instances, so no task could start under dynamic ",
                       "partitioning. Give the GPUs a static layout or choose another policy."));
  }
  return World(setting, workload, observer, *policies).run();
}

core::Restraint no_restraint() {
  core::Restraint none;
  none.most_moves = 1'000'000;
  none.cooldown = Duration::zero();
  none.protect_head = false;
  return none;
}

}  // namespace tangram::sim
