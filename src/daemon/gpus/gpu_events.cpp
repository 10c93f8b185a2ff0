// See hardware.hpp: what the driver reports on its own (Xids, lost GPUs, changes by other programs)
// and the PCIe counters.
#include <chrono>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/gpus/poll_state.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::seconds kCounterInterval{10};  // a reading takes the driver 20 ms

}  // namespace

void Hardware::start_polling() {
  const auto on_event = [this](const device::DeviceEvent& event) {
    boost::asio::post(loop_, [this, alive = alive_, event] {
      if (*alive) on_driver_event(event);
    });
  };
  events_ = std::make_unique<device::Events>(library_, gpus_, on_event);
  counters_ =
      std::make_unique<device::ThroughputSampler>(library_, gpus_, kCounterInterval, nullptr);
  poll_all();
}

std::optional<device::PcieThroughput> Hardware::throughput(const std::string& uuid) const {
  const auto sample = counters_ ? counters_->last(uuid) : std::nullopt;
  if (!sample || std::chrono::steady_clock::now() - sample->at > 3 * kCounterInterval) {
    return std::nullopt;
  }
  return sample->throughput;
}

void Hardware::on_driver_event(const device::DeviceEvent& event) {
  const auto id = id_of(event.gpu_uuid);
  if (!id) return;
  switch (event.kind) {
    case device::DeviceEvent::Kind::kUnavailable:
      set_health(*id, core::Health::kLost, cat("GPU ", event.gpu_uuid, " fell off the bus"));
      break;
    case device::DeviceEvent::Kind::kMigConfigChange:
      if (!is_changing(*id)) poll(event.gpu_uuid);  // another program's change
      break;
    case device::DeviceEvent::Kind::kXid:
      spdlog::warn("GPU {} reports Xid {}", id->value(), event.xid);
      if (options_.fatal_xids.contains(event.xid)) {
        spdlog::error(
            "GPU {} cordoned: Xid {} is fatal. Reboot the node or run `tangram uncordon {}` to "
            "return it to service.",
            id->value(), event.xid, id->value());
        engine_.post(
            Input{.event = core::GpuCordoned{*id}, .edit_rows = [gpu = *id](JobTable& records) {
                    records.set_fact(xid_cordon_key(gpu), "yes");
                  }});
      }
      poll(event.gpu_uuid);
      break;
  }
}

}  // namespace tangram::daemon
