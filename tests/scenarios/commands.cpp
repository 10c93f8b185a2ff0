// See commands.hpp: the table of input lines, and the lines about the node, jobs and time.
#include "commands.hpp"

#include <iterator>

#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "mig/layout.hpp"
#include "policies/registry.hpp"

namespace tangram::scenario {
namespace {

Result<std::shared_ptr<const mig::Model>> shared_model(const std::string& name) {
  const auto model = mig::find_model(name);
  if (!model) return std::unexpected(model.error());
  return std::shared_ptr<const mig::Model>(std::shared_ptr<void>(), *model);  // the catalog's own
}

Result<core::DayWindow> parse_window(const std::string& text) {
  const auto dash = text.find('-');
  const auto from = parse_time(text.substr(0, dash));
  const auto to = parse_time(dash == std::string::npos ? "" : text.substr(dash + 1));
  if (!from || !to) return invalid(cat(tangram::quoted(text), " is no window; write 22:00-06:00."));
  const auto seconds = [](Duration d) { return static_cast<std::int32_t>(d.count() / 1'000'000); };
  return core::DayWindow{seconds(*from), seconds(*to)};
}

}  // namespace

const Commands::Row Commands::kRows[] = {
    {"node", &Commands::node},
    {"static node", &Commands::static_node},
    {"gpu", &Commands::gpu},
    {"submit", &Commands::submit},
    {"cancel", &Commands::cancel},
    {"requeue", &Commands::requeue},
    {"hold", &Commands::hold},
    {"release", &Commands::release},
    {"exit", &Commands::exit},
    {"at", &Commands::at},
    {"wake", &Commands::wake},
    {"tune", &Commands::tune},
    {"cordon", &Commands::cordon},
    {"uncordon", &Commands::uncordon},
    {"drain", &Commands::drain},
    {"move", &Commands::move},
    {"lose", &Commands::lose},
    {"unresponsive", &Commands::unresponsive},
    {"recover", &Commands::recover},
    {"foreign", &Commands::foreign},
    {"unknown process in", &Commands::unknown_process},
    {"show", &Commands::show},
    {"answers", &Commands::answers},
    {"fail next", &Commands::fail_next},
    {"created", &Commands::created},
    {"destroyed", &Commands::destroyed},
    {"ready", &Commands::ready},
    {"switched", &Commands::switched},
    {"drained", &Commands::drained},
    {"exited", &Commands::exit},
    {"failed to", &Commands::failed},
    {"late", &Commands::late},
    {"removed", &Commands::removed},
    {"again", &Commands::again},
};

Result<void> Commands::run(std::string_view line) {
  Words words(line);
  for (const Row& row : kRows) {
    if (!words.take(row.words)) continue;
    const bool makes_node = row.handler == &Commands::node || row.handler == &Commands::static_node;
    if (world_.scheduler() == nullptr && !makes_node) return invalid("there is no node yet.");
    return (this->*row.handler)(words);
  }
  return invalid(cat("no input line begins like ", tangram::quoted(line), "."));
}

// "threshold 0.4", "cooldown 60s" …
Result<void> Commands::options(Words& words) {
  while (!words.done()) {
    const auto key = words.next("an option");
    const auto value = words.next("its value");
    if (!value) return std::unexpected(value.error());
    if (*key == "placement") {
      tuning_.placement = *value;
    } else if (*key == "migration") {
      tuning_.migration = *value;
    } else if (*key == "queue") {
      tuning_.queue = *value;
    } else if (*key == "protect-head") {
      tuning_.restraint.protect_head = *value == "on";
    } else if (*key == "most-moves") {
      const auto most = parse_int(*value, 0, 1000);
      if (!most) return invalid("most-moves is a number.");
      tuning_.restraint.most_moves = static_cast<std::uint32_t>(*most);
    } else if (*key == "max-passes") {
      const auto most = parse_int(*value, 0, 1000);
      if (!most) return invalid("max-passes is a number.");
      tuning_.fairness.max_passes = static_cast<std::uint32_t>(*most);
    } else if (*key == "cooldown" || *key == "ageing" || *key == "half-life") {
      const auto time = parse_time(*value);
      if (!time) return std::unexpected(time.error());
      if (*key == "cooldown") tuning_.restraint.cooldown = *time;
      if (*key == "ageing") tuning_.fairness.ageing = *time;
      if (*key == "half-life") tuning_.fairness.half_life = *time;
    } else if (*key == "window") {
      const auto window = parse_window(*value);
      if (!window) return std::unexpected(window.error());
      tuning_.restraint.window = *window;
    } else if (*key == "threshold" || *key == "gain") {  // both are exact decimals
      const auto decimal = core::Threshold::parse(*value);
      if (!decimal) return std::unexpected(decimal.error());
      if (*key == "threshold") tuning_.threshold = *decimal;
      if (*key == "gain") tuning_.restraint.smallest_gain_ppm = decimal->billionths() / 1000;
    } else {
      return invalid(cat("unknown option ", tangram::quoted(*key), "."));
    }
  }
  return {};
}

Result<void> Commands::node(Words& words) {
  const auto name = words.next("a GPU model");
  if (!name) return std::unexpected(name.error());
  const auto model = shared_model(*name);
  if (!model) return std::unexpected(model.error());
  int count = 1;
  if (words.take("x")) {
    const auto number = words.number("how many");
    if (!number) return std::unexpected(number.error());
    count = *number;
  }
  if (auto ok = options(words); !ok) return ok;
  if (auto ok = world_.set_up(tuning_, core::Partitioning::kDynamic); !ok) return ok;
  for (int i = 0; i < count; ++i) {
    if (auto ok = world_.send(core::GpuAdded{*model, {}}); !ok) return ok;
  }
  return {};
}

Result<void> Commands::static_node(Words& words) {
  if (auto ok = options(words); !ok) return ok;
  return world_.set_up(tuning_, core::Partitioning::kStatic);
}

// "gpu A30-24GB [layout 2g.12gb@0 1g.6gb@2]"
Result<void> Commands::gpu(Words& words) {
  const auto name = words.next("a GPU model");
  if (!name) return std::unexpected(name.error());
  const auto model = shared_model(*name);
  if (!model) return std::unexpected(model.error());
  std::vector<mig::PlacementText> placements;
  if (words.take("layout")) {
    while (!words.done()) {
      const auto placement = mig::parse_placement(*words.next("a placement"));
      if (!placement) return std::unexpected(placement.error());
      placements.push_back(*placement);
    }
  }
  const auto layout = mig::Layout::make(**model, placements);
  if (!layout) return std::unexpected(layout.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::GpuAdded{*model, layout->placements()});
}

// "[limit 10m] [grace 30s] [priority 2] [user 1001]"
Result<void> Commands::queue_options(Words& words, core::JobSpec& spec) {
  const auto time = [&](auto& to) -> Result<void> {
    const auto word = words.next("a time");
    if (!word) return std::unexpected(word.error());
    const auto parsed = parse_time(*word);
    if (!parsed) return std::unexpected(parsed.error());
    to = *parsed;
    return {};
  };
  if (words.take("limit")) {
    if (auto ok = time(spec.time_limit); !ok) return ok;
  }
  if (words.take("grace")) {
    if (auto ok = time(spec.stop_grace); !ok) return ok;
  }
  if (words.take("priority")) {
    const auto number = words.number("a priority");
    if (!number) return std::unexpected(number.error());
    spec.priority = static_cast<std::int16_t>(*number);
  }
  if (words.take("user")) {
    const auto number = words.number("a user");
    if (!number) return std::unexpected(number.error());
    spec.user = static_cast<std::uint32_t>(*number);
  }
  return {};
}

Result<void> Commands::submit(Words& words) {
  const auto id = job_id(words);
  if (!id) return std::unexpected(id.error());
  const auto profile = words.next("a profile");
  if (!profile) return std::unexpected(profile.error());
  core::JobSpec spec{.id = *id, .profile = *profile};
  if (words.take("batch")) spec.kind = core::JobKind::kBatch;
  if (words.take("service")) spec.kind = core::JobKind::kService;
  if (words.take("lease")) spec.kind = core::JobKind::kLease;
  if (words.take("pinned")) spec.movable = false;
  if (words.take("restart on-failure")) spec.restart = core::Restart::kOnFailure;
  if (words.take("restart on-node-fault")) spec.restart = core::Restart::kOnNodeFault;
  if (words.take("restart always")) spec.restart = core::Restart::kAlways;
  if (words.take("held")) spec.held = true;
  if (words.take("over limit")) spec.over_limit = true;
  if (words.take("dependent")) spec.dependent = true;
  if (words.take("array full")) spec.array_full = true;
  if (words.take("on")) {
    const auto model = words.next("a GPU model");
    if (!model) return std::unexpected(model.error());
    spec.gpu_model = *model;
  }
  if (auto ok = queue_options(words, spec); !ok) return ok;
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::JobSubmitted{spec});
}

Result<void> Commands::cancel(Words& words) {
  const auto id = job_id(words);
  if (!id) return std::unexpected(id.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::JobCancelled{*id});
}

Result<void> Commands::requeue(Words& words) {
  const auto id = job_id(words);
  if (!id) return std::unexpected(id.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::JobRequeued{*id});
}

// "move job 1" or "move job 1 to gpu 0 at 6", with "as owner" at the end
Result<void> Commands::move(Words& words) {
  const auto id = job_id(words);
  if (!id) return std::unexpected(id.error());
  core::MoveRequested request{.job = *id, .anywhere = !words.take("to")};
  if (!request.anywhere) {
    const auto gpu = gpu_id(words);
    if (!gpu) return std::unexpected(gpu.error());
    if (auto ok = words.expect("at"); !ok) return ok;
    const auto start = words.number("a start");
    if (!start) return std::unexpected(start.error());
    request.gpu = *gpu;
    request.start = static_cast<std::uint8_t>(*start);
  }
  request.restrained = words.take("as");
  if (request.restrained) {
    if (auto ok = words.expect("owner"); !ok) return ok;
  }
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(request);
}

// What a job is held for or released from.
core::HoldCause Commands::hold_cause(Words& words) {
  if (words.take("limit")) return core::kHoldLimit;
  if (words.take("dependency")) return core::kHoldDependency;
  return words.take("array") ? core::kHoldArray : core::kHoldUser;
}

Result<void> Commands::hold(Words& words) {
  const auto id = job_id(words);
  if (!id) return std::unexpected(id.error());
  const core::HoldCause cause = hold_cause(words);
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::JobHeld{*id, cause});
}

Result<void> Commands::release(Words& words) {
  const auto id = job_id(words);
  if (!id) return std::unexpected(id.error());
  const core::HoldCause cause = hold_cause(words);
  if (auto ok = words.end(); !ok) return ok;
  return world_.send(core::JobReleased{*id, cause});
}

Result<void> Commands::at(Words& words) {
  const auto word = words.next("a time");
  if (!word) return std::unexpected(word.error());
  const auto time = parse_time(*word);
  if (!time) return std::unexpected(time.error());
  if (auto ok = words.end(); !ok) return ok;
  return world_.pass_time_until(Instant(*time));
}

Result<void> Commands::wake(Words& words) {
  if (auto ok = words.end(); !ok) return ok;
  return world_.wake();
}

Result<void> Commands::tune(Words& words) {
  if (auto ok = options(words); !ok) return ok;
  const auto policies = policies::find_policies(tuning_);
  if (!policies) return std::unexpected(policies.error());
  return world_.send(core::TuningChanged{tuning_, *policies});
}

}  // namespace tangram::scenario
