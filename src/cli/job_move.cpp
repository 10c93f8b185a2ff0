// `tangram move`: a running job to another place of the node. One rule: where it can go is the
// daemon's to say; here is only read what was typed.
#include <csignal>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/move_follow.hpp"
#include "files/json_text.hpp"

namespace tangram::cli {
namespace {

struct Options {
  DaemonOptions daemon;
  std::string job;
  std::string to;
  bool no_wait = false;
};

// "1:4": a GPU as everywhere, and a start.
Result<api::MoveRequest> wish_in(http::Client& client, const std::string& typed) {
  if (typed.empty()) return api::MoveRequest{};
  constexpr int kHighestStart = 255;
  const std::size_t colon = typed.rfind(':');
  const auto start = colon == std::string::npos
                         ? std::nullopt
                         : parse_int(typed.substr(colon + 1), 0, kHighestStart);
  if (!start) {
    return invalid(cat("--to ", tangram::quoted(typed),
                       ": write it as GPU:START, as 1:4; `tangram gpus` shows the places."));
  }
  const auto gpus = get_gpus(client);
  if (!gpus) return std::unexpected(gpus.error());
  const auto gpu = gpu_named(*gpus, typed.substr(0, colon));
  if (!gpu) return std::unexpected(gpu.error());
  return api::MoveRequest{api::SlotView{*gpu, static_cast<std::uint32_t>(*start)}};
}

std::string done_text(const BegunMove& begun, const EndedMove& end) {
  const std::string took_over =
      end.result == "taken-over" ? "; its replica took over from one that had ended" : "";
  return cat("job ", begun.job.id, " moved from ", place_text(begun.job), " to ", slot_text(end.to),
             " in ", took_text(end.took), took_over);
}

Result<void> follow(const Options& options, const BegunMove& begun, const SignalWatch& signals,
                    Command& command, Output& out) {
  const auto end = await_end(options.daemon, begun, signals);
  if (!end) return std::unexpected(end.error());
  const std::uint64_t id = begun.job.id;
  if (!*end) {
    say_it_goes_on(id);
    command.exit_code = 128 + SIGINT;
    return {};
  }
  if ((*end)->rolled_back()) {
    return failed(cat(harmless((*end)->text), ". See `tangram show ", id, "`."));
  }
  if (!command.json) {
    out.line(done_text(begun, **end));
    return {};
  }
  const auto job = ask(options.daemon, "GET", cat("/v1/jobs/", id));
  if (!job) return std::unexpected(job.error());
  out.add(files::json_text(*job));
  return {};
}

Result<void> move(const Options& options, Command& command, Output& out) {
  const SignalWatch signals({SIGINT, SIGTERM});
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  const auto id = job_named(*client, options.job);
  if (!id) return std::unexpected(id.error());
  const auto wish = wish_in(*client, options.to);
  if (!wish) return std::unexpected(wish.error());
  const auto begun = begin_move(options.daemon, *id, *wish);
  if (!begun) return std::unexpected(begun.error());
  if (!options.no_wait) return follow(options, *begun, signals, command, out);
  if (command.json) {
    out.add(files::json_text(begun->answer));
  } else {
    out.line(cat("job ", *id, " is being moved"));
  }
  return {};
}

}  // namespace

void add_move(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb =
      add_daemon_verb(app, command, "move", "Move a running job to another place", options, move);
  verb->add_option("JOB", options->job, "The number of the job")->required();
  verb->add_option("--to", options->to,
                   "To this GPU at this start, as 1:4 (default: where the policy would place it)")
      ->option_text("GPU:START");
  verb->add_flag("--no-wait", options->no_wait, "Return once it is begun");
  verb->footer(
      "Examples:\n"
      "  tangram move 17\n"
      "  tangram move 17 --to 1:4\n"
      "A job that moves is in both places until the new one has taken over. If that\n"
      "fails, it stays where it was, and the exit code is 1. Interrupting it ends the\n"
      "waiting, not the move.");
}

}  // namespace tangram::cli
