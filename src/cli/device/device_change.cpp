// `tangram device create` and `tangram device destroy`: one instance, manually.
#include <algorithm>

#include "base/text.hpp"
#include "cli/device/device_target.hpp"
#include "device/change.hpp"
#include "device/instances.hpp"
#include "mig/layout.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct ChangeOptions {
  DeviceOptions device;
  std::string what;
  bool adopt = false;
  int wait_s = 10;
};

device::RetryPolicy retry_of(const ChangeOptions& o) {
  device::RetryPolicy retry;
  retry.retry_for = std::chrono::seconds(o.wait_s);
  return retry;
}

// Parses "2g.10gb@4", or chooses the start with the lowest FragCost for "2g.10gb".
Result<mig::Placement> wanted_placement(const mig::Model& model, const std::string& what,
                                        const std::vector<device::Instance>& present) {
  if (what.find('@') != std::string::npos) {
    const auto text = mig::parse_placement(what);
    if (!text) return std::unexpected(text.error());
    const auto profile = model.find_profile(text->profile);
    if (!profile) return std::unexpected(profile.error());
    return model.placement(*profile, text->start);
  }
  const auto profile = model.find_profile(what);
  if (!profile) return std::unexpected(profile.error());
  mig::Occupancy occupancy = mig::kEmpty;
  for (const device::Instance& i : present) {
    if (!i.placement || !model.fits(occupancy, *i.placement)) {
      return failed(
          cat("this GPU has an instance of an unknown profile; give a start, e.g. ", what, "@0."));
    }
    occupancy = model.with(occupancy, *i.placement);
  }
  const auto start = model.best_start(occupancy, *profile);
  if (!start) {
    return std::unexpected(Error{ErrorCode::kUnavailable, cat("no room for ", what,
                                                              " on this GPU; see "
                                                              "`tangram device instances`.")});
  }
  return model.placement(*profile, *start);
}

Result<void> create(const ChangeOptions& o, bool as_json, Output& out) {
  const auto target = open_target(o.device);
  if (!target) return std::unexpected(target.error());
  const auto gpu = find_gpu(*target, o.device.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  if (const auto ready = device::check_ready(**gpu); !ready) return error_of(ready);
  const auto record = open_owned(o.device);
  if (!record) return std::unexpected(record.error());
  device::OwnedInstances& owned = *record->owned;
  const auto present = list_instances(*target, **gpu, owned);
  if (!present) return std::unexpected(present.error());
  const auto placement = wanted_placement(*(*gpu)->model, o.what, *present);
  if (!placement) return std::unexpected(placement.error());
  const auto made = device::create(*target->library, **gpu, *placement, owned, retry_of(o));
  if (!made) return error_of(made);
  if (as_json) {
    out.add(text::json_text(instance_json(*made, true)));
  } else {
    out.line(cat("created ", made->profile, "@", made->start, " on GPU ", (*gpu)->index, ": ",
                 made->mig_uuid));
  }
  return {};
}

// An instance found by MIG UUID on any GPU, or by PROFILE@START on one.
struct Found {
  const device::Gpu* gpu = nullptr;
  device::Instance instance;
};

Result<Found> find_instance(const DeviceTarget& target, const ChangeOptions& o,
                            device::OwnedInstances& owned) {
  const bool by_uuid = o.what.starts_with("MIG-");
  const auto gpus = chosen_gpus(target, o.device.gpu);
  if (!gpus) return std::unexpected(gpus.error());
  if (!by_uuid) {
    const auto text = mig::parse_placement(o.what);
    if (!text) return std::unexpected(text.error());
    if (const auto one = find_gpu(target, o.device.gpu); !one) {
      return std::unexpected(one.error());
    }
  }
  for (const device::Gpu* gpu : *gpus) {
    if (gpu->health != device::Health::kOk) continue;
    const auto present = list_instances(target, *gpu, owned);
    if (!present) return std::unexpected(present.error());
    const auto at = std::ranges::find_if(*present, [&](const device::Instance& i) {
      return o.what == (by_uuid ? i.mig_uuid : cat(i.profile, "@", i.start));
    });
    if (at != present->end()) return Found{gpu, *at};
  }
  return not_found(
      cat("instance ", tangram::quoted(o.what), ": not found; see `tangram device instances`."));
}

Result<void> destroy(const ChangeOptions& o, bool as_json, Output& out) {
  const auto target = open_target(o.device);
  if (!target) return std::unexpected(target.error());
  const auto record = open_owned(o.device);
  if (!record) return std::unexpected(record.error());
  device::OwnedInstances& owned = *record->owned;
  const auto found = find_instance(*target, o, owned);
  if (!found) return std::unexpected(found.error());
  const device::InstanceLocation place = location_of(found->instance);
  const bool adopted = o.adopt && !owned.has(place);
  if (adopted) {
    if (const auto claimed = owned.claim(place); !claimed) return claimed;
  }
  const auto gone =
      device::destroy(*target->library, *found->gpu, found->instance, owned, retry_of(o));
  if (!gone && adopted) {  // undo the adoption
    if (const auto released = owned.release(place); !released) return released;
  }
  if (!gone && gone.error().kind == device::Failure::Kind::kNotOurs) {
    return invalid(cat(gone.error().error.message, " Use --adopt to destroy it anyway."));
  }
  if (!gone) return error_of(gone);
  if (as_json) {
    out.add(text::json_text(instance_json(found->instance, true)));
  } else {
    out.line(cat("destroyed ", found->instance.profile, "@", found->instance.start, " on GPU ",
                 found->gpu->index));
  }
  return {};
}

void add_change_options(Verb& verb, Command& command, ChangeOptions& o) {
  add_gpu_option(verb, o.device, "GPU index, UUID or UUID prefix");
  verb.add_option("--wait", o.wait_s, "Seconds to retry while the instance is in use (default: 10)")
      ->option_text("S")
      ->between(0, 3600);
  add_owned_option(verb, o.device);
  add_device_options(verb, o.device);
  add_output_options(verb, command);
}

}  // namespace

void add_device_create(Verb& device, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb = device.add_subcommand("create", "Create a MIG instance");
  verb->add_option("PROFILE[@START]", options->what,
                   "Profile and start (default: the start with the lowest FragCost)")
      ->required();
  add_change_options(*verb, command, *options);
  verb->footer("Example:\n  tangram device create 2g.10gb@4 --gpu 0");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return create(*options, command.json, out); };
  });
}

void add_device_destroy(Verb& device, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb = device.add_subcommand("destroy", "Destroy a MIG instance");
  verb->add_option("INSTANCE", options->what, "UUID (MIG-…), or PROFILE@START with --gpu")
      ->required();
  verb->add_flag("--adopt", options->adopt, "Destroy it even if Tangram did not create it");
  add_change_options(*verb, command, *options);
  verb->footer("Example:\n  tangram device destroy 2g.10gb@4 --gpu 0");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return destroy(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
