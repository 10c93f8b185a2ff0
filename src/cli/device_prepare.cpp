// `tangram device prepare` (also `tangram node prepare`): gets MIG mode on, and says what is left
// to do where that takes more than a call. `tangram device doctor`: what is wrong here and what to
// do.
#include <algorithm>

#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/device_target.hpp"
#include "device/doctor.hpp"
#include "device/prepare.hpp"
#include "files/boot_id.hpp"
#include "files/json_text.hpp"

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

// Not ready is a failure, with everything that was found out in its message.
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
    return std::unexpected(Error{ErrorCode::kUnavailable, "no GPU of this machine has MIG."});
  }
  if (const auto ready = all_ready(all); !ready && !as_json) return ready;
  json::array rows;
  for (const Prepared& p : all) {
    if (as_json) {
      rows.push_back(prepared_json(p));
    } else {
      out.line(cat("GPU ", p.gpu->index, ": MIG is on",
                   p.gpu->resetless ? " (until the driver is unloaded or the machine reboots)"
                                    : " (and stays so over reboots)"));
    }
  }
  if (as_json) out.add(files::json_text(rows));
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
  const device::OwnedFile file(*record, files::boot_id());
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
    out.add(files::json_text(rows));
    return {};
  }
  Table table({{""}, {"WHAT"}});
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
  Verb verb = parent.add_subcommand("prepare", "Switch MIG mode on, as root");
  add_gpu_option(*verb, *options, "Only of this GPU: an index, a UUID or its beginning");
  add_device_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer(
      "Ampere GPUs are reset for it, so no process may be on them (monitoring\n"
      "included); the mode survives reboots. Hopper and later need no reset, and lose\n"
      "the mode at every reboot.\n"
      "Exits with 1, and says what to do, as long as a GPU is not ready.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return prepare(*options, command.json, out); };
  });
}

}  // namespace

void add_device_prepare(Verb& device, Command& command) { add_prepare_verb(device, command); }

void add_node(Verb& app, Command& command) {
  Verb node = app.add_subcommand("node", "This machine as a node of Tangram's");
  node->require_subcommand(0, 1);
  add_prepare_verb(*node, command);
}

void add_device_doctor(Verb& device, Command& command) {
  const auto options = std::make_shared<DeviceOptions>();
  Verb verb =
      device.add_subcommand("doctor", "Say what is wrong with the GPUs here, and what to do");
  add_owned_option(*verb, *options);
  add_device_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer("It only looks, and changes nothing.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return doctor(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
