// Commands: executes the input lines of a scenario. Invalid or ambiguous lines are errors.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/tuning.hpp"
#include "words.hpp"
#include "world.hpp"

namespace tangram::scenario {

class Commands {
 public:
  Commands(World& world, std::string& out) : world_(world), out_(out) {}

  Result<void> run(std::string_view line);

 private:
  // commands.cpp: the node, jobs, time
  Result<void> node(Words& words);
  Result<void> static_node(Words& words);
  Result<void> gpu(Words& words);
  void show_starts();
  Result<void> submit(Words& words);
  static Result<void> queue_options(Words& words, core::JobSpec& spec);
  Result<void> exit(Words& words);
  Result<void> at(Words& words);
  Result<void> wake(Words& words);
  Result<void> tune(Words& words);
  Result<void> cancel(Words& words);
  Result<void> requeue(Words& words);
  static core::HoldCause hold_cause(Words& words);
  Result<void> hold(Words& words);
  Result<void> release(Words& words);
  Result<void> options(Words& words);  // key value … into tuning_

  // commands_gpus.cpp: GPUs and their observations
  Result<void> cordon(Words& words);
  Result<void> uncordon(Words& words);
  Result<void> drain(Words& words);
  Result<void> move(Words& words);
  Result<void> lose(Words& words);
  Result<void> unresponsive(Words& words);
  Result<void> recover(Words& words);
  Result<void> foreign(Words& words);
  Result<void> unknown_process(Words& words);
  Result<void> show(Words& words);
  Result<core::GpuId> gpu_id(Words& words);  // "gpu 0"

  // commands_answers.cpp: how actions are answered
  Result<void> answers(Words& words);
  Result<void> fail_next(Words& words);
  Result<void> created(Words& words);
  Result<void> destroyed(Words& words);
  Result<void> ready(Words& words);
  Result<void> switched(Words& words);
  Result<void> drained(Words& words);
  Result<void> failed(Words& words);
  Result<void> late(Words& words);
  Result<void> removed(Words& words);
  Result<void> again(Words& words);
  Result<void> answer(core::ActionKind kind, Words& words, bool fail);
  Result<core::JobId> job_id(Words& words);  // "job 1"

  using Handler = Result<void> (Commands::*)(Words&);
  struct Row {
    std::string_view words;
    Handler handler;
  };
  static const Row kRows[];

  World& world_;
  std::string& out_;
  core::Tuning tuning_;
};

}  // namespace tangram::scenario
