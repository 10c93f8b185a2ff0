// `tangram emulate`: shows and resets the emulated node. Faults are in emulate_fault.cpp.
#include "cli/device/emulate.hpp"

#include <filesystem>
#include <memory>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/text.hpp"
#include "cli/command/verbs.hpp"
#include "cli/device/emulated_library.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

std::string instances_text(const json::object& gpu) {
  std::string text;
  for (const json::value& instance : gpu.at("instances").get_array()) {
    const json::object& o = instance.get_object();
    text += cat(text.empty() ? "" : " ", text_of(o.at("profile")), "@", text_of(o.at("start")));
    if (o.at("mig_devices").get_array().empty()) text += "(no compute instance)";
  }
  return text.empty() ? "-" : text;
}

std::string mig_text(const json::object& gpu) {
  if (gpu.at("lost").get_bool()) return "lost";
  const bool on = gpu.at("mig").get_bool();
  if (on == gpu.at("mig_pending").get_bool()) return on ? "on" : "off";
  return on ? "on, off after a reset" : "off, on after a reset";
}

void print_status(const json::object& status, Output& out) {
  out.line(cat(out.paint(text_of(status.at("state")), Style::kBold), "  driver ",
               text_of(status.at("driver")), ", emulated"));
  out.line();
  Table table({{"GPU", Align::kRight}, {"MODEL"}, {"MIG"}, {"PROC", Align::kRight}, {"INSTANCES"}});
  for (const json::value& value : status.at("gpus").get_array()) {
    const json::object& gpu = value.get_object();
    table.row({text_of(gpu.at("index")), Cell(text_of(gpu.at("model")), Style::kBold),
               mig_text(gpu), std::to_string(gpu.at("processes").get_array().size()),
               instances_text(gpu)});
  }
  table.print(out);
  const json::array& faults = status.at("faults").get_array();
  if (faults.empty()) return;
  out.line();
  out.line(out.paint("Faults:", Style::kYellow));
  for (const json::value& value : faults) {
    const json::object& f = value.get_object();
    std::string line = cat("  ", text_of(f.at("fault")));
    if (f.contains("gpu")) line += cat(" on GPU ", text_of(f.at("gpu")));
    if (f.contains("times_left")) line += cat(", ", text_of(f.at("times_left")), " times");
    if (text_of(f.at("percent")) != "100") line += cat(", ", text_of(f.at("percent")), " %");
    out.line(line);
  }
}

Result<void> status(bool as_json, Output& out) {
  const auto text = emulated_status();
  if (!text) return std::unexpected(text.error());
  if (as_json) {
    out.add(*text);
    return {};
  }
  print_status(json::parse(*text).get_object(), out);
  return {};
}

// Prints the status after a reset or reboot, and deletes the record of owned instances: none is
// left.
Result<void> status_without_instances(bool as_json, Output& out) {
  const auto path = emulated_state_path();
  if (!path) return std::unexpected(path.error());
  const std::string record = *path + ".owned";
  std::error_code error;
  std::filesystem::remove(record, error);
  if (error) {
    return failed(cat("the instances are gone, but the record of owned instances ",
                      tangram::quoted(record), " could not be removed: ", error.message(),
                      ". Remove it, or later instances at the same place count as owned."));
  }
  return status(as_json, out);
}

void add_path(Verb& app, Command& command) {
  Verb verb = app.add_subcommand("path", "Print the directory of the emulated libnvidia-ml.so.1");
  add_output_options(*verb, command);
  verb->footer(
      "Example: run an NVML program on the emulated node\n"
      "  LD_LIBRARY_PATH=$(tangram emulate path) TANGRAM_EMULATE=4xA100-40GB "
      "TANGRAM_EMULATOR_STATE=/tmp/node nvtop");
  verb->callback([&command] {
    command.run = [&command](Output& out) -> Result<void> {
      const auto folder = emulated_library_folder();
      if (!folder) return std::unexpected(folder.error());
      out.line(command.json ? json::serialize(json::value(*folder)) : *folder);
      return {};
    };
  });
}

void add_emulated_status(Verb& app, Command& command) {
  const auto node = std::make_shared<EmulatedNode>();
  Verb verb = app.add_subcommand("status", "Show GPUs, instances and faults of the node");
  add_emulated_node(*verb, *node);
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram emulate status --node 4xA100-40GB --state /tmp/node");
  verb->callback([&command, node] {
    command.run = [&command, node](Output& out) {
      apply(*node);
      return status(command.json, out);
    };
  });
}

void add_reset(Verb& app, Command& command) {
  const auto node = std::make_shared<EmulatedNode>();
  const auto description = std::make_shared<std::string>();
  Verb verb = app.add_subcommand("reset", "Reset the node: no instances, processes or faults");
  verb->add_option("NODE", *description,
                   "New node: e.g. 4xA100-40GB, 2xH100-80GB,2xA30 or a node file");
  verb->add_option("--state", node->state, "State file (default: $TANGRAM_EMULATOR_STATE)")
      ->option_text("FILE");
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram emulate reset 2xH100-80GB --state /tmp/node");
  verb->callback([&command, node, description] {
    command.run = [&command, node, description](Output& out) -> Result<void> {
      apply(*node);
      if (!description->empty()) apply({.node = *description, .state = {}});
      const auto done = call_control<decltype(nvml::tangramEmulatorReset)>(
          "tangramEmulatorReset", description->empty() ? nullptr : description->c_str());
      return done ? status_without_instances(command.json, out) : done;
    };
  });
}

void add_reboot(Verb& app, Command& command) {
  const auto node = std::make_shared<EmulatedNode>();
  Verb verb = app.add_subcommand(
      "reboot", "Emulate a reboot: instances are lost; Hopper and later lose MIG mode");
  add_emulated_node(*verb, *node);
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram emulate reboot --node 4xA100-40GB --state /tmp/node");
  verb->callback([&command, node] {
    command.run = [&command, node](Output& out) -> Result<void> {
      apply(*node);
      const auto done =
          call_control<decltype(nvml::tangramEmulatorReboot)>("tangramEmulatorReboot");
      return done ? status_without_instances(command.json, out) : done;
    };
  });
}

void add_reset_gpu(Verb& app, Command& command) {
  const auto node = std::make_shared<EmulatedNode>();
  const auto gpu = std::make_shared<unsigned>(0);
  Verb verb = app.add_subcommand(
      "reset-gpu", "Reset one GPU: instances are lost, a pending MIG mode takes effect");
  verb->add_option("GPU", *gpu, "GPU index")->required();
  add_emulated_node(*verb, *node);
  add_output_options(*verb, command);
  verb->footer("Example:\n  tangram emulate reset-gpu 0 --node 4xA100-40GB --state /tmp/node");
  verb->callback([&command, node, gpu] {
    command.run = [&command, node, gpu](Output& out) -> Result<void> {
      apply(*node);
      const auto done =
          call_control<decltype(nvml::tangramEmulatorResetGpu)>("tangramEmulatorResetGpu", *gpu);
      return done ? status(command.json, out) : done;
    };
  });
}

}  // namespace

void add_emulated_node(Verb& verb, EmulatedNode& node) {
  verb.add_option("--node,--emulate", node.node,
                  "Node to emulate, e.g. 4xA100-40GB (default: $TANGRAM_EMULATE)")
      ->option_text("NODE");
  verb.add_option("--state", node.state, "State file (default: $TANGRAM_EMULATOR_STATE)")
      ->option_text("FILE");
}

void add_emulate(Verb& app, Command& command) {
  Verb emulate = app.add_subcommand("emulate", "Control the emulated node (no GPU needed)");
  emulate->require_subcommand(0, 1);
  emulate->footer(
      "Examples:\n"
      "  tangram emulate status --node 4xA100-40GB --state /tmp/node\n"
      "  tangram device list --emulate 4xA100-40GB\n"
      "All programs that use the node share its state file. TANGRAM_EMULATE describes\n"
      "the node, TANGRAM_EMULATOR_STATE is the path of the state file.");
  add_path(*emulate, command);
  add_emulated_status(*emulate, command);
  add_reset(*emulate, command);
  add_reboot(*emulate, command);
  add_reset_gpu(*emulate, command);
  add_emulate_fault(*emulate, command);
}

}  // namespace tangram::cli
