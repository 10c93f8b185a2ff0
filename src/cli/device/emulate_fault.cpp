// `tangram emulate fault`: injects faults into the emulated node, to test driver failures without a
// driver.
#include <memory>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "cli/device/emulate.hpp"
#include "cli/device/emulated_library.hpp"
#include "mig/layout.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

// A verb that calls control functions of the emulator and prints one line on success.
struct FaultVerb {
  EmulatedNode node;
  std::string text;
  int gpu = -1;
  unsigned index = 0;
  unsigned times = 1;
  unsigned percent = 100;
  unsigned long long xid = 0;
  unsigned gi = nvml::kNoInstanceId;
};
using FaultOptions = std::shared_ptr<FaultVerb>;

Verb add_fault_verb(Verb& fault, Command& command, const char* name, const char* help,
                    const FaultOptions& options,
                    const std::function<Result<std::string>(const FaultVerb&)>& work) {
  Verb verb = fault.add_subcommand(name, help);
  add_emulated_node(*verb, options->node);
  add_output_options(*verb, command);
  verb->callback([&command, options, work] {
    command.run = [&command, options, work](Output& out) -> Result<void> {
      apply(options->node);
      const auto done = work(*options);
      if (!done) return std::unexpected(done.error());
      out.line(command.json ? json::serialize(json::object{{"done", *done}}) : *done);
      return {};
    };
  });
  return verb;
}

Result<std::string> inject(const FaultVerb& o) {
  const auto done = call_control<decltype(nvml::tangramEmulatorFault)>(
      "tangramEmulatorFault", o.text.c_str(), o.gpu, o.times, o.percent);
  if (!done) return std::unexpected(done.error());
  return cat(o.text, o.gpu < 0 ? " on every GPU" : cat(" on GPU ", o.gpu), ", ",
             o.times == 0 ? "until cleared" : cat(o.times, o.times == 1 ? " time" : " times"),
             o.percent == 100 ? "" : cat(", ", o.percent, " % of calls"));
}

Result<std::string> clear(const FaultVerb& /*options*/) {
  const auto done =
      call_control<decltype(nvml::tangramEmulatorClearFaults)>("tangramEmulatorClearFaults");
  if (!done) return std::unexpected(done.error());
  return "no faults";
}

Result<std::string> raise_xid(const FaultVerb& o) {
  const auto done = call_control<decltype(nvml::tangramEmulatorXid)>(
      "tangramEmulatorXid", o.index, o.xid, o.gi,
      o.gi == nvml::kNoInstanceId ? nvml::kNoInstanceId : 0U);
  if (!done) return std::unexpected(done.error());
  return cat("Xid ", o.xid, " on GPU ", o.index);
}

Result<std::string> fall_off(const FaultVerb& o) {
  const auto done =
      call_control<decltype(nvml::tangramEmulatorFallOff)>("tangramEmulatorFallOff", o.index);
  if (!done) return std::unexpected(done.error());
  return cat("GPU ", o.index, " has fallen off the bus, until `tangram emulate reboot`");
}

// Creates an instance that is not in the record of owned instances.
Result<std::string> create_foreign(const FaultVerb& o) {
  const auto text = mig::parse_placement(o.text);
  if (!text) return std::unexpected(text.error());
  const auto done = call_control<decltype(nvml::tangramEmulatorForeign)>(
      "tangramEmulatorForeign", o.index, text->profile.c_str(), static_cast<unsigned>(text->start));
  if (!done) return std::unexpected(done.error());
  return cat(o.text, " on GPU ", o.index, " created as a foreign instance");
}

Result<std::string> remove_instance(const FaultVerb& o) {
  const auto text = mig::parse_placement(o.text);
  if (!text) return std::unexpected(text.error());
  const auto done = call_control<decltype(nvml::tangramEmulatorVanish)>(
      "tangramEmulatorVanish", o.index, text->profile.c_str(), static_cast<unsigned>(text->start));
  if (!done) return std::unexpected(done.error());
  return cat(o.text, " on GPU ", o.index, " is gone, with its processes");
}

}  // namespace

void add_emulate_fault(Verb& emulate, Command& command) {
  Verb fault = emulate.add_subcommand("fault", "Inject faults into the emulated node");
  fault->require_subcommand(0, 1);
  fault->footer(
      "Example:\n"
      "  tangram emulate fault call nvmlGpuInstanceDestroy=IN_USE --times 3\n"
      "`tangram emulate status` shows the pending faults.");

  auto o = std::make_shared<FaultVerb>();
  Verb verb =
      add_fault_verb(*fault, command, "call", "Make calls of an NVML function fail", o, inject);
  verb->add_option("CALL=WHAT", o->text,
                   "Function and error name, hang:MILLISECONDS, or lie (report success)")
      ->required();
  verb->add_option("--gpu", o->gpu, "Only calls for this GPU")->option_text("INDEX");
  verb->add_option("--times", o->times, "Number of calls (default: 1; 0: until cleared)")
      ->option_text("N");
  verb->add_option("--percent", o->percent, "Probability per call (default: 100)")
      ->option_text("P");
  verb->footer(
      "Examples:\n"
      "  tangram emulate fault call nvmlGpuInstanceDestroy=IN_USE --times 3\n"
      "  tangram emulate fault call nvmlGpuInstanceCreateComputeInstance=INSUFFICIENT_RESOURCES\n"
      "  tangram emulate fault call nvmlDeviceCreateGpuInstanceWithPlacement=lie\n"
      "  tangram emulate fault call '*=GPU_IS_LOST' --gpu 1 --times 0");

  o = std::make_shared<FaultVerb>();
  verb = add_fault_verb(*fault, command, "xid", "Raise an Xid error on a GPU", o, raise_xid);
  verb->add_option("GPU", o->index, "GPU index")->required();
  verb->add_option("XID", o->xid, "Xid number, e.g. 94")->required();
  verb->add_option("--gi", o->gi, "GPU instance concerned")->option_text("ID");
  verb->footer("Example:\n  tangram emulate fault xid 0 94");

  o = std::make_shared<FaultVerb>();
  verb = add_fault_verb(*fault, command, "fall-off", "Make a GPU fall off the bus", o, fall_off);
  verb->add_option("GPU", o->index, "GPU index")->required();
  verb->footer("Example:\n  tangram emulate fault fall-off 1");

  o = std::make_shared<FaultVerb>();
  verb = add_fault_verb(*fault, command, "foreign", "Create an instance not owned by Tangram", o,
                        create_foreign);
  verb->add_option("GPU", o->index, "GPU index")->required();
  verb->add_option("PROFILE@START", o->text, "Profile and start, e.g. 3g.20gb@4")->required();
  verb->footer("Example:\n  tangram emulate fault foreign 0 3g.20gb@4");

  o = std::make_shared<FaultVerb>();
  verb = add_fault_verb(*fault, command, "vanish", "Remove an instance even if it is in use", o,
                        remove_instance);
  verb->add_option("GPU", o->index, "GPU index")->required();
  verb->add_option("PROFILE@START", o->text, "Profile and start, e.g. 3g.20gb@4")->required();
  verb->footer("Example:\n  tangram emulate fault vanish 0 3g.20gb@4");

  o = std::make_shared<FaultVerb>();
  add_fault_verb(*fault, command, "clear", "Remove all pending faults", o, clear)
      ->footer("Example:\n  tangram emulate fault clear");
}

}  // namespace tangram::cli
