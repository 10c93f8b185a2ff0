// `tangram emulate fault`: what is to go wrong on the emulated node, so that everything that can
// happen to a driver can be seen without one.
#include <memory>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "cli/emulate.hpp"
#include "cli/emulated_library.hpp"
#include "mig/layout.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

// A verb that calls doors and prints one line when that went well.
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
using Options = std::shared_ptr<FaultVerb>;

Verb add_verb(Verb& fault, Command& command, const char* name, const char* help,
              const Options& options,
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
  const auto done = call_door<decltype(nvml::tangramEmulatorFault)>(
      "tangramEmulatorFault", o.text.c_str(), o.gpu, o.times, o.percent);
  if (!done) return std::unexpected(done.error());
  return cat(o.text, o.gpu < 0 ? " on every GPU" : cat(" on GPU ", o.gpu), ", ",
             o.times == 0 ? "until cleared" : cat(o.times, o.times == 1 ? " time" : " times"),
             o.percent == 100 ? "" : cat(", ", o.percent, " % of calls"));
}

Result<std::string> clear(const FaultVerb& /*options*/) {
  const auto done =
      call_door<decltype(nvml::tangramEmulatorClearFaults)>("tangramEmulatorClearFaults");
  if (!done) return std::unexpected(done.error());
  return "no faults";
}

Result<std::string> raise_xid(const FaultVerb& o) {
  const auto done = call_door<decltype(nvml::tangramEmulatorXid)>(
      "tangramEmulatorXid", o.index, o.xid, o.gi,
      o.gi == nvml::kNoInstanceId ? nvml::kNoInstanceId : 0U);
  if (!done) return std::unexpected(done.error());
  return cat("Xid ", o.xid, " on GPU ", o.index);
}

Result<std::string> fall_off(const FaultVerb& o) {
  const auto done =
      call_door<decltype(nvml::tangramEmulatorFallOff)>("tangramEmulatorFallOff", o.index);
  if (!done) return std::unexpected(done.error());
  return cat("GPU ", o.index, " has fallen off the bus, until `tangram emulate reboot`");
}

// As if somebody else had made it: it is in no record of ours.
Result<std::string> leave_foreign(const FaultVerb& o) {
  const auto text = mig::parse_placement(o.text);
  if (!text) return std::unexpected(text.error());
  const auto done = call_door<decltype(nvml::tangramEmulatorForeign)>(
      "tangramEmulatorForeign", o.index, text->profile.c_str(), static_cast<unsigned>(text->start));
  if (!done) return std::unexpected(done.error());
  return cat(o.text, " on GPU ", o.index, " is there now, and nobody's");
}

Result<std::string> let_vanish(const FaultVerb& o) {
  const auto text = mig::parse_placement(o.text);
  if (!text) return std::unexpected(text.error());
  const auto done = call_door<decltype(nvml::tangramEmulatorVanish)>(
      "tangramEmulatorVanish", o.index, text->profile.c_str(), static_cast<unsigned>(text->start));
  if (!done) return std::unexpected(done.error());
  return cat(o.text, " on GPU ", o.index, " is gone, with whatever was in it");
}

}  // namespace

void add_emulate_fault(Verb& emulate, Command& command) {
  Verb fault = emulate.add_subcommand("fault", "Let something go wrong on the emulated node");
  fault->require_subcommand(0, 1);
  fault->footer("`tangram emulate status` shows what is still to go wrong.");

  auto o = std::make_shared<FaultVerb>();
  Verb verb = add_verb(*fault, command, "call", "Let calls of an NVML function fail", o, inject);
  verb->add_option("CALL=WHAT", o->text,
                   "The function and an error's name, hang:MILLISECONDS, or lie (say it was done)")
      ->required();
  verb->add_option("--gpu", o->gpu, "Only on this one")->option_text("INDEX");
  verb->add_option("--times", o->times, "How often (1; 0: until cleared)")->option_text("N");
  verb->add_option("--percent", o->percent, "Chance that a call is hit (100)")->option_text("P");
  verb->footer(
      "Examples:\n"
      "  tangram emulate fault call nvmlGpuInstanceDestroy=IN_USE --times 3\n"
      "  tangram emulate fault call nvmlGpuInstanceCreateComputeInstance=INSUFFICIENT_RESOURCES\n"
      "  tangram emulate fault call nvmlDeviceCreateGpuInstanceWithPlacement=lie\n"
      "  tangram emulate fault call '*=GPU_IS_LOST' --gpu 1 --times 0");

  o = std::make_shared<FaultVerb>();
  verb = add_verb(*fault, command, "xid", "Raise an Xid on a GPU", o, raise_xid);
  verb->add_option("GPU", o->index, "Its index")->required();
  verb->add_option("XID", o->xid, "The number, as in 94")->required();
  verb->add_option("--gi", o->gi, "The GPU instance it is about")->option_text("ID");

  o = std::make_shared<FaultVerb>();
  verb = add_verb(*fault, command, "fall-off", "Let a GPU fall off the bus", o, fall_off);
  verb->add_option("GPU", o->index, "Its index")->required();

  o = std::make_shared<FaultVerb>();
  verb =
      add_verb(*fault, command, "foreign", "Leave an instance that is nobody's", o, leave_foreign);
  verb->add_option("GPU", o->index, "Its index")->required();
  verb->add_option("PROFILE@START", o->text, "What and where, as in 3g.20gb@4")->required();

  o = std::make_shared<FaultVerb>();
  verb = add_verb(*fault, command, "vanish", "Remove an instance, whoever uses it", o, let_vanish);
  verb->add_option("GPU", o->index, "Its index")->required();
  verb->add_option("PROFILE@START", o->text, "What and where, as in 3g.20gb@4")->required();

  o = std::make_shared<FaultVerb>();
  add_verb(*fault, command, "clear", "Let nothing more go wrong", o, clear);
}

}  // namespace tangram::cli
