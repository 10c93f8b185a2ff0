// `tangram move`: moves a running job to another slot. The daemon decides whether the slot is
// possible; this file only parses it.
#include <csignal>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/move_follow.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct JobMoveOptions {
  DaemonOptions daemon;
  std::string job;
  std::string to;
  bool no_wait = false;
};

// Parses GPU:START, e.g. "1:4". The GPU is an index, a UUID or a UUID prefix.
Result<api::MoveRequest> parse_target(http::Client& client, const std::string& typed) {
  if (typed.empty()) return api::MoveRequest{};
  constexpr int kHighestStart = 255;
  const std::size_t colon = typed.rfind(':');
  const auto start = colon == std::string::npos
                         ? std::nullopt
                         : parse_int(typed.substr(colon + 1), 0, kHighestStart);
  if (!start) {
    return invalid(cat("--to: invalid slot ", tangram::quoted(typed),
                       ": use GPU:START, e.g. 1:4. See `tangram gpus`."));
  }
  const auto gpus = get_gpus(client);
  if (!gpus) return std::unexpected(gpus.error());
  const auto gpu = resolve_gpu(*gpus, typed.substr(0, colon));
  if (!gpu) return std::unexpected(gpu.error());
  return api::MoveRequest{api::SlotView{*gpu, static_cast<std::uint32_t>(*start)}};
}

std::string done_text(const StartedMove& started, const FinishedMove& end) {
  const std::string took_over =
      end.result == "taken-over" ? "; the original had ended, its replica took over" : "";
  return cat("job ", started.job.id, " moved from ", place_text(started.job), " to ",
             slot_text(end.to), " in ", elapsed_text(end.took), took_over);
}

Result<void> follow(const JobMoveOptions& options, const StartedMove& started,
                    const SignalWatch& signals, Command& command, Output& out) {
  const auto end = wait_for_move(options.daemon, started, signals);
  if (!end) return std::unexpected(end.error());
  const std::uint64_t id = started.job.id;
  if (!*end) {
    report_move_continues(id);
    command.exit_code = 128 + SIGINT;
    return {};
  }
  if ((*end)->rolled_back()) {
    return failed(cat(terminal_safe((*end)->text), ". See `tangram show ", id, "`."));
  }
  if (!command.json) {
    out.line(done_text(started, **end));
    return {};
  }
  const auto job = request_json(options.daemon, "GET", cat("/v1/jobs/", id));
  if (!job) return std::unexpected(job.error());
  out.add(text::json_text(*job));
  return {};
}

Result<void> move(const JobMoveOptions& options, Command& command, Output& out) {
  const SignalWatch signals({SIGINT, SIGTERM});
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = resolve_job(*client, options.job);
  if (!id) return std::unexpected(id.error());
  const auto request = parse_target(*client, options.to);
  if (!request) return std::unexpected(request.error());
  const auto started = start_move(options.daemon, *id, *request);
  if (!started) return std::unexpected(started.error());
  if (!options.no_wait) return follow(options, *started, signals, command, out);
  if (command.json) {
    out.add(text::json_text(started->reply));
  } else {
    out.line(cat("job ", *id, " is moving"));
  }
  return {};
}

}  // namespace

void add_move(Verb& app, Command& command) {
  const auto options = std::make_shared<JobMoveOptions>();
  Verb verb =
      add_daemon_verb(app, command, "move", "Move a running job to another slot", options, move);
  verb->add_option("JOB", options->job, "Job number")->required();
  verb->add_option("--to", options->to,
                   "Target GPU and start, e.g. 1:4 (default: chosen by the placement policy)")
      ->option_text("GPU:START");
  verb->add_flag("--no-wait", options->no_wait, "Return once the move has started");
  verb->footer(
      "Examples:\n"
      "  tangram move 17\n"
      "  tangram move 17 --to 1:4\n"
      "A job occupies both slots until the new one has taken over. If that fails, it\n"
      "stays where it was and the exit code is 1. Interrupting the command ends the\n"
      "waiting, not the move.");
}

}  // namespace tangram::cli
