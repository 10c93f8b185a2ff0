// See change.hpp: the destruction of an instance of ours.
#include "base/text.hpp"
#include "device/change.hpp"
#include "device/removal.hpp"

namespace tangram::device {

Outcome<void> destroy(const Library& library, const Gpu& gpu, const Instance& instance,
                      Owned& owned, const Patience& patience) {
  const Place place = place_of(instance);
  if (!owned.has(place)) {
    Failure failure =
        make_failure(Failure::Kind::kNotOurs, ErrorCode::kInvalid,
                     cat("will not destroy ", text_of(place), " on ", gpu.uuid,
                         ": Tangram did not create it. Adopt it first if it is to be Tangram's."));
    failure.left = Failure::Left::kInstance;
    failure.instance = instance;
    return std::unexpected(std::move(failure));
  }
  if (auto removed = remove(library, gpu, place, patience); !removed) return removed;
  if (const auto released = owned.release(place); !released) {
    Failure failure = make_failure(
        Failure::Kind::kFailed, released.error().code,
        cat(text_of(place), " on ", gpu.uuid,
            " is destroyed, but that could not be recorded: ", released.error().message));
    failure.left = Failure::Left::kNothing;
    return std::unexpected(std::move(failure));
  }
  return {};
}

}  // namespace tangram::device
