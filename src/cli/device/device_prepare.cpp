// `tangram device prepare` (also `tangram node prepare`): enables MIG mode, and reports the
// remaining steps where a reset or reboot is needed. `tangram device doctor`: diagnoses the GPUs
// and gives advice.
#include <algorithm>

#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/device/device_target.hpp"
#include "device/doctor.hpp"
#include "device/prepare.hpp"
#include "os/boot_id.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct Prepared {
  const device::Gpu* gpu = nullptr;
  device::Preparation preparation;
};

json::object prepared_json(const Prepared& p) {
  json::array holders;
  for (const device::Process& process : p.preparation.holders) holders.emplace_back(process.pid);
  return {{"gpu", p.gpu->uuid},
          {"mig", std::string(device::name_of(p.preparation.mode))},
          {"ready", p.preparation.mode == device::MigMode::kOn},
          {"holders", std::move(holders)},
          {"next", p.preparation.next}};
}

// An error that lists all GPUs that are not ready, with what to do.
Result<void> all_ready(const std::vector<Prepared>& all) {
  std::string message;
  for (const Prepared& p : all) {
    if (p.preparation.mode == device::MigMode::kOn) continue;
    message += cat(message.empty() ? "" : " ", "GPU ", p.gpu->index, " is not ready (MIG ",
                   device::name_of(p.preparation.mode), "): ", p.preparation.next);
  }
  if (message.empty()) return {};
  return std::unexpected(Error{ErrorCode::kUnavailable, message});
}

Result<void> prepare(const DeviceOptions& options, bool as_json, Output& out) {
  const auto target = open_target(options);
  if (!target) return std::unexpected(target.error());
  const auto gpus = chosen_gpus(*target, options.gpu);
  if (!gpus) return std::unexpected(gpus.error());
  std::vector<Prepared> all;
  for (const device::Gpu* gpu : *gpus) {
    if (gpu->mig == device::MigMode::kUnsupported && options.gpu.empty()) continue;
    if (gpu->health != device::Health::kOk) {
      all.push_back({gpu, {.mode = gpu->mig, .holders = {}, .next = gpu->trouble}});
      continue;
    }
    const auto done = device::prepare(*target->library, *gpu);
    if (!done) return error_of(done);
    all.push_back({gpu, *done});
  }
  if (all.empty()) {
    return std::unexpected(Error{ErrorCode::kUnavailable, "no GPU of this machine supports MIG."});
  }
  if (const auto ready = all_ready(all); !ready && !as_json) return ready;
  json::array rows;
  for (const Prepared& p : all) {
    if (as_json) {
      rows.push_back(prepared_json(p));
    } else {
      out.line(cat("GPU ", p.gpu->index, ": MIG is on",
                   p.gpu->resetless ? " (until the driver is unloaded or the machine reboots)"
                                    : " (persistent across reboots)"));
    }
  }
  if (as_json) out.add(text::json_text(rows));
  return {};
}

struct SeverityRow {
  std::string_view name;
  std::string_view sign;
  Style style;
};

SeverityRow severity_of(device::Finding::Severity severity) {
  switch (severity) {
    case device::Finding::Severity::kOk:
      return {"ok", "ok", Style::kGood};
    case device::Finding::Severity::kNote:
      return {"note", "note", Style::kCyan};
    case device::Finding::Severity::kWarning:
      return {"warning", "warning", Style::kYellow};
    case device::Finding::Severity::kProblem:
      return {"problem", "PROBLEM", Style::kBad};
  }
  return {"", "", Style::kPlain};
}

Result<void> doctor(const DeviceOptions& options, bool as_json, Output& out) {
  apply(options.emulated);
  const auto path = library_of(options);
  if (!path) return std::unexpected(path.error());
  const auto record = owned_path(options);
  if (!record) return std::unexpected(record.error());
  const device::OwnedInstancesFile file(*record, os::boot_id());
  const auto owned = file.open();
  if (!owned) return std::unexpected(owned.error());
  const auto findings = device::diagnose(*path, **owned);
  if (as_json) {
    json::array rows;
    for (const device::Finding& f : findings) {
      rows.push_back(json::object{{"severity", std::string(severity_of(f.severity).name)},
                                  {"what", f.what},
                                  {"advice", f.advice}});
    }
    out.add(text::json_text(rows));
    return {};
  }
  Table table({{""}, {"FINDING"}});
  for (const device::Finding& f : findings) {
    const SeverityRow row = severity_of(f.severity);
    table.row({Cell(std::string(row.sign), row.style),
               f.advice.empty() ? f.what : cat(f.what, "\n", f.advice)});
  }
  table.print(out);
  return {};
}

void add_prepare_verb(Verb& parent, Command& command) {
  const auto options = std::make_shared<DeviceOptions>();
  Verb verb = parent.add_subcommand("prepare", "Enable MIG mode (as root)");
  add_gpu_option(*verb, *options, "Prepare only this GPU: index, UUID or UUID prefix");
  add_device_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer(
      "Examples:\n"
      "  sudo tangram node prepare\n"
      "  sudo tangram device prepare --gpu 0\n"
      "Ampere GPUs need a reset, so no process may use them (including monitoring);\n"
      "the mode persists across reboots. Hopper and later need no reset and lose the\n"
      "mode at every reboot.\n"
      "While a GPU is not ready the exit code is 1 and the message says what to do.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return prepare(*options, command.json, out); };
  });
}

}  // namespace

void add_device_prepare(Verb& device, Command& command) { add_prepare_verb(device, command); }

void add_node(Verb& app, Command& command) {
  Verb node = app.add_subcommand("node", "Prepare this machine as a node");
  node->require_subcommand(0, 1);
  node->footer("Example:\n  sudo tangram node prepare");
  add_prepare_verb(*node, command);
}

void add_device_doctor(Verb& device, Command& command) {
  const auto options = std::make_shared<DeviceOptions>();
  Verb verb = device.add_subcommand("doctor", "Diagnose the GPUs and give advice");
  add_owned_option(*verb, *options);
  add_device_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram device doctor\nChanges nothing.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return doctor(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
