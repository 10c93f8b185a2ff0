// See change.hpp: destroying an instance.
#include "base/text.hpp"
#include "device/change.hpp"
#include "device/removal.hpp"

namespace tangram::device {

Outcome<void> destroy(const Library& library, const Gpu& gpu, const Instance& instance,
                      OwnedInstances& owned, const RetryPolicy& retry) {
  const InstanceLocation location = location_of(instance);
  if (!owned.has(location)) {
    Failure failure =
        make_failure(Failure::Kind::kNotOurs, ErrorCode::kInvalid,
                     cat("cannot destroy ", text_of(location), " on ", gpu.uuid,
                         ": Tangram did not create it. Adopt it first to let Tangram manage it."));
    failure.leftover = Failure::Leftover::kInstance;
    failure.instance = instance;
    return std::unexpected(std::move(failure));
  }
  if (auto removed = remove(library, gpu, location, retry); !removed) return removed;
  if (const auto released = owned.release(location); !released) {
    Failure failure =
        make_failure(Failure::Kind::kFailed, released.error().code,
                     cat(text_of(location), " on ", gpu.uuid,
                         " is destroyed, but recording that failed: ", released.error().message));
    failure.leftover = Failure::Leftover::kNothing;
    return std::unexpected(std::move(failure));
  }
  return {};
}

}  // namespace tangram::device
