// `tangram device list` and `tangram device instances`: the GPUs of this machine and their
// instances as the driver reports them.
#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/command/picture.hpp"
#include "cli/device/device_target.hpp"
#include "device/activity.hpp"
#include "device/instances.hpp"
#include "device/prepare.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

std::string health_text(const device::Gpu& gpu) {
  switch (gpu.health) {
    case device::Health::kOk:
      return "ok";
    case device::Health::kLost:
      return "lost";
    case device::Health::kUnreadable:
      return "unreadable";
  }
  return "";
}

json::object gpu_json(const device::Gpu& gpu) {
  return {{"index", gpu.index},
          {"uuid", gpu.uuid},
          {"minor", gpu.minor},
          {"pci", gpu.pci_bus_id},
          {"name", gpu.device_name},
          {"model", gpu.model == nullptr ? json::value(nullptr) : json::value(gpu.model->name())},
          {"memory_mib", gpu.memory_mib},
          {"mig", std::string(device::name_of(gpu.mig))},
          {"resetless", gpu.resetless},
          {"health", health_text(gpu)},
          {"differences", json::array(gpu.differences.begin(), gpu.differences.end())}};
}

void print_gpus(const DeviceTarget& target, Output& out) {
  Table table({{"GPU", Align::kRight},
               {"MODEL"},
               {"MiB", Align::kRight},
               {"MIG"},
               {"HEALTH"},
               {"PCI"},
               {"UUID"}});
  for (const device::Gpu& gpu : target.gpus) {
    const bool lost = gpu.health != device::Health::kOk;
    table.row({static_cast<int>(gpu.index),
               Cell(gpu.model == nullptr ? gpu.device_name : gpu.model->name(), Style::kBold),
               static_cast<int>(gpu.memory_mib),
               Cell(std::string(device::name_of(gpu.mig)),
                    gpu.mig == device::MigMode::kOn ? Style::kGood : Style::kYellow),
               Cell(health_text(gpu), lost ? Style::kBad : Style::kGood), gpu.pci_bus_id,
               gpu.uuid});
  }
  table.print(out);
  for (const device::Gpu& gpu : target.gpus) {
    const std::string instruction = device::mig_instruction(gpu);
    const std::string& advice = gpu.trouble.empty() ? instruction : gpu.trouble;
    if (!advice.empty()) {
      out.line();
      out.paragraph(cat("GPU ", gpu.index, ": ", advice));
    }
    for (const std::string& difference : gpu.differences) {
      out.line();
      out.paragraph(cat("GPU ", gpu.index, ": ", difference));
    }
  }
}

Result<void> list(const DeviceOptions& options, bool as_json, Output& out) {
  const auto target = open_target(options);
  if (!target) return std::unexpected(target.error());
  if (!as_json) {
    print_gpus(*target, out);
    return {};
  }
  json::array all;
  for (const device::Gpu& gpu : target->gpus) all.push_back(gpu_json(gpu));
  out.add(text::json_text(all));
  return {};
}

std::string processes_text(const device::Library& library, const device::Instance& instance) {
  const auto processes = device::processes(library, instance.gpu_uuid, instance.gi);
  if (!processes) return "?";
  std::string text;
  for (const device::Process& p : *processes) text += cat(text.empty() ? "" : " ", p.pid);
  return text.empty() ? "-" : text;
}

void print_instances(const DeviceTarget& target, const device::Gpu& gpu,
                     const std::vector<device::Instance>& instances,
                     const device::OwnedInstances& owned, Output& out) {
  out.line(cat(out.paint(cat("GPU ", gpu.index), Style::kBold), "  ",
               gpu.model == nullptr ? gpu.device_name : gpu.model->name()));
  std::vector<mig::Placement> placements;
  for (const device::Instance& i : instances) {
    if (i.placement) placements.push_back(*i.placement);
  }
  if (gpu.model != nullptr) out.add(layout_picture(out, *gpu.model, placements));
  if (instances.empty()) {
    out.line("  no instances");
    return;
  }
  Table table({{"  PROFILE"},
               {"START", Align::kRight},
               {"GI", Align::kRight},
               {"OURS"},
               {"PIDS"},
               {"UUID"}});
  for (const device::Instance& i : instances) {
    const std::string no_uuid =
        i.ci.has_value() ? "(several compute instances)" : "(no compute instance)";
    table.row({Cell("  " + i.profile, Style::kBold), static_cast<int>(i.start),
               static_cast<int>(i.gi), owned.has(location_of(i)) ? "yes" : "no",
               processes_text(*target.library, i), i.mig_uuid.empty() ? no_uuid : i.mig_uuid});
  }
  table.print(out);
}

Result<void> instances(const DeviceOptions& options, bool as_json, Output& out) {
  const auto target = open_target(options);
  if (!target) return std::unexpected(target.error());
  const auto gpus = chosen_gpus(*target, options.gpu);
  if (!gpus) return std::unexpected(gpus.error());
  const auto record = open_owned(options);
  if (!record) return std::unexpected(record.error());
  device::OwnedInstances& owned = *record->owned;
  json::array all;
  for (const device::Gpu* gpu : *gpus) {
    if (!as_json && gpu != gpus->front()) out.line();
    if (gpu->health != device::Health::kOk) {
      if (!as_json) out.line(cat("GPU ", gpu->index, "  ", gpu->trouble));
      continue;
    }
    const auto found = list_instances(*target, *gpu, owned);
    if (!found) return std::unexpected(found.error());
    if (!as_json) {
      print_instances(*target, *gpu, *found, owned, out);
      continue;
    }
    for (const device::Instance& i : *found) {
      all.push_back(instance_json(i, owned.has(location_of(i))));
    }
  }
  if (as_json) out.add(text::json_text(all));
  return {};
}

}  // namespace

void add_device_list(Verb& device, Command& command) {
  const auto options = std::make_shared<DeviceOptions>();
  Verb verb = device.add_subcommand("list", "List GPUs with model, MIG mode and health");
  add_device_options(*verb, *options);
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram device list --emulate 2xH100-80GB,2xA30");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return list(*options, command.json, out); };
  });
}

void add_device_instances(Verb& device, Command& command) {
  const auto options = std::make_shared<DeviceOptions>();
  Verb verb = device.add_subcommand("instances", "List MIG instances and the processes on them");
  add_gpu_option(*verb, *options, "Show only this GPU: index, UUID or UUID prefix");
  add_device_options(*verb, *options);
  add_owned_option(*verb, *options);
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram device instances --gpu 0 --emulate 2xA100-40GB");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) {
      return instances(*options, command.json, out);
    };
  });
}

}  // namespace tangram::cli
