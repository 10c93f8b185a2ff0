// See change.hpp: creating an instance.
#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "device/activity.hpp"
#include "device/change.hpp"
#include "device/gpus.hpp"
#include "device/instances.hpp"
#include "device/prepare.hpp"
#include "device/removal.hpp"

namespace tangram::device {
namespace {

using Kind = Failure::Kind;
using Leftover = Failure::Leftover;

// The driver refused and changed nothing. After any other error the instance may exist.
bool is_refusal(nvml::Return code) {
  return code == nvml::kInsufficientResources || code == nvml::kInUse ||
         code == nvml::kNoPermission || code == nvml::kNotSupported ||
         code == nvml::kInvalidArgument || code == nvml::kFunctionNotFound;
}

std::unexpected<Failure> not_begun(Failure failure) {
  failure.leftover = Leftover::kNothing;
  return std::unexpected(std::move(failure));
}

// The steps of one creation.
class Creation {
 public:
  Creation(const Library& library, const Gpu& gpu, mig::Placement placement, OwnedInstances& owned,
           const RetryPolicy& retry)
      : library_(library),
        gpu_(gpu),
        placement_(placement),
        profile_(gpu.model->profile(placement.profile)),
        location_{.gpu_uuid = gpu.uuid, .profile = profile_.name, .start = placement.start},
        owned_(owned),
        retry_policy_(retry) {}

  Outcome<Instance> run();

 private:
  [[nodiscard]] Outcome<void> check_free() const;
  [[nodiscard]] Outcome<void> claim() const;
  [[nodiscard]] Outcome<void> make_gpu_instance(nvml::Device device) const;
  [[nodiscard]] Outcome<void> make_compute_instance() const;
  [[nodiscard]] Outcome<Instance> fill() const;
  [[nodiscard]] Failure refused(nvml::Return code, std::string_view what) const;
  [[nodiscard]] Failure nothing_left(Failure failure) const;
  [[nodiscard]] Failure rolled_back(Failure failure) const;
  [[nodiscard]] Failure explained(Failure failure) const;

  const Library& library_;
  const Gpu& gpu_;
  mig::Placement placement_;
  const mig::Profile& profile_;
  InstanceLocation location_;
  OwnedInstances& owned_;
  const RetryPolicy& retry_policy_;
};

Outcome<Instance> Creation::run() {
  const Outcome<nvml::Device> device = library_.device(gpu_.uuid);
  if (!device) return not_begun(device.error());
  if (auto is_free = check_free(); !is_free) return not_begun(std::move(is_free.error()));
  if (auto claimed = claim(); !claimed) return not_begun(std::move(claimed.error()));
  Outcome<void> made = make_gpu_instance(*device);
  if (!made && made.error().leftover == Leftover::kNothing) {  // refused: any instance is another's
    return std::unexpected(nothing_left(explained(std::move(made.error()))));
  }
  const auto seen = list_instances_with_retry(library_, gpu_);
  if (!seen) return std::unexpected(rolled_back(seen.error()));
  if (!find_at(*seen, location_)) {
    return std::unexpected(
        nothing_left(made ? refused(nvml::kSuccess, "GPU instance") : std::move(made.error())));
  }
  return fill();
}

// Names the overlapping instance; the driver would only say "insufficient resources".
Outcome<void> Creation::check_free() const {
  const auto seen = list_instances_with_retry(library_, gpu_);
  if (!seen) return std::unexpected(seen.error());
  const unsigned end = location_.start + static_cast<unsigned>(profile_.memory_slices);
  const auto in_the_way = std::ranges::find_if(*seen, [&](const Instance& other) {
    return other.start < end && location_.start < other.start + other.size;
  });
  if (in_the_way == seen->end()) return {};
  const InstanceLocation other = location_of(*in_the_way);
  return std::unexpected(make_failure(
      Kind::kNoRoom, ErrorCode::kUnavailable,
      cat("cannot create ", text_of(location_), " on ", gpu_.uuid, ": it overlaps ", text_of(other),
          in_the_way->whole ? "" : " (not whole)", ", which is ", owned_.has(other) ? "" : "not ",
          "Tangram's. Choose another start, or destroy it first.")));
}

Outcome<void> Creation::claim() const {
  const Result<void> claimed = owned_.claim(location_);
  if (claimed) return {};
  return std::unexpected(
      make_failure(Kind::kFailed, claimed.error().code,
                   cat("cannot create ", text_of(location_), " on ", gpu_.uuid,
                       ": cannot record it as Tangram's: ", claimed.error().message)));
}

Outcome<void> Creation::make_gpu_instance(nvml::Device device) const {
  const nvml::Placement where{.start = location_.start,
                              .size = static_cast<unsigned>(profile_.memory_slices)};
  Backoff backoff(retry_policy_);
  for (;;) {
    nvml::GpuInstance ignored = nullptr;  // it is found by location: a success may be false
    const nvml::Return code = library_.calls().create_gi.call_retried(
        device, static_cast<unsigned>(profile_.facts.nvml_id), &where, &ignored);
    if (code == nvml::kSuccess) return {};
    if (code == nvml::kInUse && backoff.wait()) continue;
    if (code == nvml::kInUse) library_.calls().create_gi.count_in_use();
    Failure failure = refused(code, "GPU instance");
    failure.leftover = is_refusal(code) ? Leftover::kNothing : Leftover::kUnknown;
    return std::unexpected(std::move(failure));
  }
}

Outcome<Instance> Creation::fill() const {
  const Outcome<void> made = make_compute_instance();
  const auto seen = list_instances_with_retry(library_, gpu_);
  if (!seen) return std::unexpected(rolled_back(seen.error()));
  auto instance = find_at(*seen, location_);
  if (instance && instance->whole && !instance->mig_uuid.empty()) {
    // Claimed again: another process may have released the claim while the instance did not exist
    // yet.
    if (const auto claimed = claim(); !claimed) {
      return std::unexpected(rolled_back(claimed.error()));
    }
    return *std::move(instance);
  }
  return std::unexpected(
      rolled_back(made ? refused(nvml::kSuccess, "compute instance") : made.error()));
}

Outcome<void> Creation::make_compute_instance() const {
  Backoff backoff(retry_policy_);
  for (;;) {
    const auto gi = find_gpu_instance(library_, gpu_, location_);
    if (!gi) return std::unexpected(gi.error());
    if (!*gi) return std::unexpected(refused(nvml::kNotFound, "compute instance"));
    const auto profile = filling_profile(library_, gpu_, (*gi)->handle,
                                         static_cast<unsigned>(profile_.compute_slices));
    if (!profile) return std::unexpected(profile.error());
    nvml::ComputeInstance ignored = nullptr;
    const nvml::Return code =
        library_.calls().create_ci.call_retried((*gi)->handle, profile->id, &ignored);
    if (code == nvml::kSuccess) return {};
    if (code == nvml::kInUse && backoff.wait()) continue;
    if (code == nvml::kInUse) library_.calls().create_ci.count_in_use();
    return std::unexpected(refused(code, "compute instance"));
  }
}

Failure Creation::refused(nvml::Return code, std::string_view what) const {
  return failure_of(code, cat("create the ", what, " ", text_of(location_)), gpu_.uuid);
}

// Releases the claim: no instance of Tangram's is at the location.
Failure Creation::nothing_left(Failure failure) const {
  failure.leftover = Leftover::kNothing;
  if (const auto released = owned_.release(location_); !released) {
    failure.error.message += cat(" Its claim could not be released: ", released.error().message);
  }
  return failure;
}

Failure Creation::rolled_back(Failure failure) const {
  const Outcome<void> removed = remove(library_, gpu_, location_, retry_policy_);
  if (removed) return nothing_left(std::move(failure));
  failure.leftover = removed.error().leftover;
  failure.instance = removed.error().instance;
  failure.holders = removed.error().holders;
  failure.error.message += cat(" Rolling back failed: ", removed.error().error.message);
  if (removed.error().kind == Kind::kLost) failure.kind = Kind::kLost;
  return failure;
}

// Adds what the error code does not say: which processes hold the whole GPU (it must be free for
// the first instance), or that MIG has been switched off.
Failure Creation::explained(Failure failure) const {
  if (failure.kind == Kind::kInUse) {
    if (auto all = processes(library_, gpu_.uuid)) failure.holders = *std::move(all);
    std::erase_if(failure.holders, [](const Process& process) { return process.gi.has_value(); });
    failure.error.message =
        cat("cannot create ", text_of(location_), " on ", gpu_.uuid, ": the GPU is in use by ",
            names_of(failure.holders), ". Stop what uses the whole GPU and try again.");
  } else if (failure.kind == Kind::kUnsupported) {
    const Outcome<Gpu> now = read_gpu(library_, gpu_.uuid);
    const Outcome<void> ready = now ? check_ready(*now) : Outcome<void>{};
    if (!ready) return ready.error();
  }
  return failure;
}

}  // namespace

Outcome<void> check_ready(const Gpu& gpu) {
  const auto not_ready = [](Kind kind, std::string why) {
    return std::unexpected(make_failure(kind, ErrorCode::kUnavailable, std::move(why)));
  };
  if (gpu.health == Health::kLost) return not_ready(Kind::kLost, gpu.trouble);
  if (!is_mig_on(gpu)) {
    return not_ready(gpu.mig == MigMode::kUnsupported ? Kind::kUnsupported : Kind::kNotReady,
                     mig_instruction(gpu));
  }
  if (gpu.model == nullptr) return not_ready(Kind::kNotReady, gpu.trouble);
  return {};
}

Outcome<Instance> create(const Library& library, const Gpu& gpu, mig::Placement placement,
                         OwnedInstances& owned, const RetryPolicy& retry) {
  if (auto ready = check_ready(gpu); !ready) return not_begun(std::move(ready.error()));
  return Creation(library, gpu, placement, owned, retry).run();
}

}  // namespace tangram::device
