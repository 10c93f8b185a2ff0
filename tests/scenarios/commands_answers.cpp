// See commands.hpp: the input lines about how actions are answered.
#include "base/text.hpp"
#include "commands.hpp"

namespace tangram::scenario {
namespace {

Result<core::ActionKind> parse_kind(Words& words) {
  using core::ActionKind;
  if (words.take("create")) return ActionKind::kCreateInstance;
  if (words.take("destroy")) return ActionKind::kDestroyInstance;
  if (words.take("start")) return ActionKind::kStartJob;
  if (words.take("switch")) return ActionKind::kSwitchTraffic;
  if (words.take("stop")) return ActionKind::kStopJob;
  return invalid("expected create, destroy, start, switch or stop.");
}

// "i3" or "r3"
Result<std::uint32_t> numbered(Words& words, char letter) {
  const auto word = words.next("a number");
  if (!word) return std::unexpected(word.error());
  const auto number = word->empty() ? std::nullopt : parse_int(word->substr(1), 0, 1'000'000);
  if (!number || word->front() != letter) {
    return invalid(
        cat("expected ", letter, "1, ", letter, "2 …, not ", tangram::quoted(*word), "."));
  }
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

Result<core::JobId> Commands::job_id(Words& words) {
  if (auto ok = words.expect("job"); !ok) return std::unexpected(ok.error());
  const auto number = words.number("the number of a job");
  if (!number) return std::unexpected(number.error());
  return core::JobId(static_cast<std::uint64_t>(*number));
}

Result<void> Commands::answers(Words& words) {
  const bool by_itself = words.take("by itself");
  if (!by_itself) {
    if (auto ok = words.expect("by hand"); !ok) return ok;
  }
  if (auto ok = words.end(); !ok) return ok;
  return world_.answer_by_itself(by_itself);
}

Result<void> Commands::fail_next(Words& words) {
  const auto kind = parse_kind(words);
  if (!kind) return std::unexpected(kind.error());
  int times = 1;
  if (!words.done()) {
    const auto number = words.number("how many times");
    if (!number) return std::unexpected(number.error());
    times = *number;
    if (auto ok = words.expect("times"); !ok) return ok;
  }
  world_.fail_next(*kind, times);
  return words.end();
}

// "gpu 0 start 4" for instances, "job 1 [replica]" for runs.
Result<void> Commands::answer(core::ActionKind kind, Words& words, bool fail) {
  using core::ActionKind;
  if (kind == ActionKind::kCreateInstance || kind == ActionKind::kDestroyInstance) {
    const auto gpu = gpu_id(words);
    if (!gpu) return std::unexpected(gpu.error());
    if (auto ok = words.expect("start"); !ok) return ok;
    const auto start = words.number("a start");
    if (!start) return std::unexpected(start.error());
    if (auto ok = words.end(); !ok) return ok;
    const auto wanted = [&](const core::Action& action) {
      if (const auto* a = std::get_if<core::CreateInstance>(&action)) {
        return kind == ActionKind::kCreateInstance && a->gpu == *gpu &&
               a->placement.start == *start;
      }
      const auto* a = std::get_if<core::DestroyInstance>(&action);
      if (a == nullptr || kind != ActionKind::kDestroyInstance || a->gpu != *gpu) return false;
      const auto placement = world_.placement_of(a->instance);
      return placement && placement->start == *start;
    };
    return world_.answer(wanted, fail);
  }
  const auto job = job_id(words);
  if (!job) return std::unexpected(job.error());
  const core::JobSlot s = world_.node().find_job(*job);
  if (s == core::kNoJob) return invalid("there is no such job.");
  const bool replica = words.take("replica");
  if (auto ok = words.end(); !ok) return ok;
  const core::Job& record = world_.node().job(s);
  const core::RunId run = replica ? record.replica.run : record.main.run;
  const auto wanted = [&](const core::Action& action) {
    if (const auto* a = std::get_if<core::StartJob>(&action)) {
      return kind == ActionKind::kStartJob && a->run == run;
    }
    if (const auto* a = std::get_if<core::StopJob>(&action)) {
      return kind == ActionKind::kStopJob && a->run == run;
    }
    const auto* a = std::get_if<core::SwitchTraffic>(&action);
    return a != nullptr && kind == ActionKind::kSwitchTraffic && a->job == *job;
  };
  return world_.answer(wanted, fail);
}

Result<void> Commands::created(Words& words) {
  return answer(core::ActionKind::kCreateInstance, words, false);
}
Result<void> Commands::destroyed(Words& words) {
  return answer(core::ActionKind::kDestroyInstance, words, false);
}
Result<void> Commands::ready(Words& words) {
  return answer(core::ActionKind::kStartJob, words, false);
}
// The second answer to a switch is that the old run has drained.
Result<void> Commands::switched(Words& words) {
  return answer(core::ActionKind::kSwitchTraffic, words, false);
}
Result<void> Commands::drained(Words& words) {
  return answer(core::ActionKind::kSwitchTraffic, words, false);
}
Result<void> Commands::failed(Words& words) {
  const auto kind = parse_kind(words);
  if (!kind) return std::unexpected(kind.error());
  return answer(*kind, words, true);
}

// "exit job 1 [replica] success|failure": requested or not.
Result<void> Commands::exit(Words& words) {
  const auto job = job_id(words);
  if (!job) return std::unexpected(job.error());
  const core::JobSlot s = world_.node().find_job(*job);
  if (s == core::kNoJob) return invalid("there is no such job.");
  const core::Job& record = world_.node().job(s);
  const core::RunId run = words.take("replica") ? record.replica.run : record.main.run;
  if (run == core::kNoRun) return invalid("it has no such run.");
  const bool success = words.take("success");
  if (!success) {
    if (auto ok = words.expect("failure"); !ok) return ok;
  }
  if (auto ok = words.end(); !ok) return ok;
  return world_.exit(*job, run, success);
}

// An unexpected event: "late created i1 on gpu 0", "late ready r1 of job 1".
Result<void> Commands::late(Words& words) {
  const auto what = words.next("what is late");
  if (!what) return std::unexpected(what.error());
  const bool failed = *what == "failed";
  const auto kind = failed ? parse_kind(words) : Result<core::ActionKind>();
  if (!kind) return std::unexpected(kind.error());
  core::ActionFailed e{.kind = *kind, .gpu = {}, .instance = {}, .job = {}, .run = {}};
  const bool of_instance = *what == "created" || *what == "destroyed" ||
                           (failed && *kind <= core::ActionKind::kDestroyInstance);
  const auto number = numbered(words, of_instance ? 'i' : 'r');
  if (!number) return std::unexpected(number.error());
  if (of_instance) {
    if (auto ok = words.expect("on"); !ok) return ok;
    const auto gpu = gpu_id(words);
    if (!gpu) return std::unexpected(gpu.error());
    e.gpu = *gpu;
    e.instance = core::InstanceId(*number);
  } else {
    if (auto ok = words.expect("of"); !ok) return ok;
    const auto job = job_id(words);
    if (!job) return std::unexpected(job.error());
    e.job = *job;
    e.run = core::RunId(*number);
  }
  if (auto ok = words.end(); !ok) return ok;
  if (failed) return world_.send(e);
  if (*what == "created") return world_.send(core::InstanceCreated{e.gpu, e.instance});
  if (*what == "destroyed") return world_.send(core::InstanceDestroyed{e.gpu, e.instance});
  if (*what == "ready") return world_.send(core::JobReady{e.job, e.run});
  if (*what == "exited") return world_.send(core::JobExited{e.job, e.run, false});
  if (*what == "switched") return world_.send(core::TrafficSwitched{e.job, e.run});
  if (*what == "drained") return world_.send(core::TrafficDrained{e.job, e.run, {}});
  return invalid(cat("nothing called ", tangram::quoted(*what), " can be late."));
}

// "removed i1 on gpu 0": by another program, even if in use.
Result<void> Commands::removed(Words& words) {
  const auto number = numbered(words, 'i');
  if (!number) return std::unexpected(number.error());
  if (auto ok = words.expect("on"); !ok) return ok;
  const auto gpu = gpu_id(words);
  if (!gpu) return std::unexpected(gpu.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.remove(*gpu, core::InstanceId(*number));
}

Result<void> Commands::again(Words& words) {
  if (auto ok = words.end(); !ok) return ok;
  return world_.send_again();
}

}  // namespace tangram::scenario
