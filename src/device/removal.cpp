// See removal.hpp.
#include "device/removal.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.hpp"
#include "device/activity.hpp"
#include "device/instances.hpp"

namespace tangram::device {
namespace {

using Kind = Failure::Kind;

// Which of the two calls returned "in use".
enum class InUse : std::uint8_t { kNone, kCompute, kGpu };

void count_in_use(const Calls& calls, InUse what) {
  if (what == InUse::kCompute) calls.destroy_ci.count_in_use();
  if (what == InUse::kGpu) calls.destroy_gi.count_in_use();
}

// One try: destroys every compute instance, then the GPU instance. Missing ones are skipped.
Outcome<void> remove_once(const Library& library, const Gpu& gpu, const InstanceLocation& location,
                          InUse& in_use) {
  in_use = InUse::kNone;
  const auto gi = find_gpu_instance(library, gpu, location);
  if (!gi) return std::unexpected(gi.error());
  if (!*gi) return {};
  const auto computes = compute_instances(library, gpu, (*gi)->handle);
  if (!computes) return std::unexpected(computes.error());
  for (auto* ci : *computes) {
    const nvml::Return code = library.calls().destroy_ci.call_retried(ci);
    if (code == nvml::kSuccess) continue;
    if (code == nvml::kInUse) in_use = InUse::kCompute;
    return std::unexpected(
        failure_of(code, cat("destroy the compute instance of ", text_of(location)), gpu.uuid));
  }
  const nvml::Return code = library.calls().destroy_gi.call_retried((*gi)->handle);
  if (code == nvml::kSuccess) return {};
  if (code == nvml::kInUse) in_use = InUse::kGpu;
  return std::unexpected(
      failure_of(code, cat("destroy the GPU instance ", text_of(location)), gpu.uuid));
}

void add_holders(const Library& library, const Gpu& gpu, Failure& failure) {
  auto holders = processes(library, gpu.uuid, failure.instance->gi);
  if (holders) failure.holders = *std::move(holders);
  failure.error.message =
      cat("cannot destroy ", text_of(location_of(*failure.instance)), " on ", gpu.uuid,
          ": it is in use by ", names_of(failure.holders), ". Stop what runs on it and try again.");
}

Failure still_there(const Library& library, const Gpu& gpu, Outcome<void> tried,
                    Instance instance) {
  Failure failure =
      tried ? failure_of(nvml::kSuccess, cat("destroy ", text_of(location_of(instance))), gpu.uuid)
            : std::move(tried.error());
  failure.leftover = Failure::Leftover::kInstance;
  failure.instance = std::move(instance);
  if (failure.kind == Kind::kInUse) add_holders(library, gpu, failure);
  return failure;
}

}  // namespace

Outcome<void> remove(const Library& library, const Gpu& gpu, const InstanceLocation& location,
                     const RetryPolicy& retry) {
  Backoff backoff(retry);
  InUse in_use = InUse::kNone;
  for (;;) {
    Outcome<void> tried = remove_once(library, gpu, location, in_use);
    const auto seen = list_instances_with_retry(library, gpu);
    if (!seen) return std::unexpected(seen.error());
    auto instance = find_at(*seen, location);
    if (!instance) return {};  // also if a call failed
    // A false success is retried like "in use": it may take effect a moment later.
    const bool may_pass = tried || tried.error().kind == Kind::kInUse;
    if (may_pass && backoff.wait()) continue;
    count_in_use(library.calls(), in_use);
    return std::unexpected(still_there(library, gpu, std::move(tried), *std::move(instance)));
  }
}

std::string text_of(const InstanceLocation& location) {
  return cat(location.profile, "@", location.start);
}

std::optional<Instance> find_at(const std::vector<Instance>& instances,
                                const InstanceLocation& location) {
  const auto is_it = [&](const Instance& instance) { return location_of(instance) == location; };
  const auto found = std::ranges::find_if(instances, is_it);
  return found == instances.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tangram::device
