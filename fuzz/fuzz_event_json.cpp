// Fuzzes events and saved state as a damaged store may contain them: a text is rejected with a
// reason, or gives a value that is the same after being written and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.hpp"
#include "store/event_json.hpp"
#include "store/saved_json.hpp"

namespace tangram {
namespace {

void check_event(const std::string& text) {
  const auto event = store::read_event(text);
  if (!event) {
    CHECK(!event.error().message.empty());
    return;
  }
  const std::string written = store::event_json(*event);
  const auto again = store::read_event(written);
  CHECK(again.has_value());
  CHECK(again->index() == event->index());
  CHECK(store::event_json(*again) == written);
}

void check_saved(const std::string& text) {
  if (const auto job = store::read_saved_job(text)) {
    CHECK(store::read_saved_job(store::saved_json(*job)) == job);
  }
  if (const auto gpu = store::read_saved_gpu(text)) {
    CHECK(store::read_saved_gpu(store::saved_json(*gpu)) == gpu);
  }
  if (const auto rest = store::read_saved_rest(text)) {
    CHECK(store::read_saved_rest(store::saved_json(*rest)) == rest);
  }
}

}  // namespace
}  // namespace tangram

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  tangram::check_event(input);
  tangram::check_saved(input);
  return 0;
}
