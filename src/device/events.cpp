// See events.hpp.
#include "device/events.hpp"

#include <utility>

#include "device/event_watch.hpp"

namespace tangram::device {
namespace {

std::shared_ptr<EventWatch> opened(std::shared_ptr<EventWatch> watch) {
  watch->open();  // on failure the thread retries
  return watch;
}

}  // namespace

Events::Events(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus,
               OnEvent on_event)
    : watch_(opened(std::make_shared<EventWatch>(std::move(library), gpus, std::move(on_event)))),
      thread_([watch = watch_](const std::stop_token& stop) { watch->run(stop); }) {}

void Events::set_gpus(const std::vector<Gpu>& gpus) { watch_->set_gpus(gpus); }

void Events::stop() {
  thread_.stop();
  watch_->stop_callbacks();  // in case the thread was detached
}

}  // namespace tangram::device
