// See operator.hpp.
#include "daemon/operator.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/problems.hpp"
#include "daemon/tuning_text.hpp"
#include "daemon/users.hpp"
#include "policies/registry.hpp"

namespace tangram::daemon {
namespace {

core::Event event_of(http::GpuDeed deed, core::GpuId gpu) {
  switch (deed) {
    case http::GpuDeed::kCordon:
      return core::GpuCordoned{gpu};
    case http::GpuDeed::kUncordon:
      return core::GpuUncordoned{gpu};
    case http::GpuDeed::kDrain:
      return core::GpuDrained{gpu};
  }
  return core::WakeUp{};
}

}  // namespace

void Operator::fill(http::Doors& doors) {
  using http::Caller;
  const auto looked = [this](const Caller& caller, auto look) {
    using View = decltype(look());
    const auto admitted = access_.admit(caller);
    return admitted ? http::Answer<View>(look())
                    : http::Answer<View>(std::unexpected(admitted.error()));
  };
  doors.gpus = [this, looked](const Caller& caller) {
    return looked(caller, [this] { return views_.gpus(); });
  };
  doors.status = [this, looked](const Caller& caller) {
    return looked(caller, [this] { return views_.status(); });
  };
  doors.tuning = [this, looked](const Caller& caller) {
    return looked(caller, [this] { return view_of(engine_.scheduler().node().tuning()); });
  };
  doors.change_gpu = [this](const Caller& caller, std::uint32_t index, http::GpuDeed deed,
                            const http::Reply<api::GpuView>& reply) {
    change_gpu(caller, index, deed, reply);
  };
  doors.tune = [this](const Caller& caller, const api::TuningChange& change,
                      const http::Reply<api::TuningView>& reply) { tune(caller, change, reply); };
  doors.ready = [this]() -> http::Answer<void> {
    if (engine_.store_trouble().empty()) return {};
    return std::unexpected(unavailable(engine_.store_trouble()));
  };
}

http::Answer<api::GpuView> Operator::gpu(std::uint32_t index) const {
  std::vector<api::GpuView> gpus = views_.gpus();
  const auto at = std::ranges::find_if(gpus, [&](const api::GpuView& gpu) {
    return gpu.index == index && !gpu.model.empty();  // what cannot be used is no GPU of ours
  });
  if (at != gpus.end()) return std::move(*at);
  return std::unexpected(missing(
      cat("there is no GPU ", index, " that Tangram uses; `tangram gpus` lists those there are.")));
}

void Operator::change_gpu(const http::Caller& caller, std::uint32_t index, http::GpuDeed deed,
                          const http::Reply<api::GpuView>& reply) {
  if (const auto may = access_.require_admin(caller, "take GPUs out of service or back"); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  if (const auto known = gpu(index); !known) {
    reply(std::unexpected(known.error()));
    return;
  }
  engine_.post(Input{.event = event_of(deed, core::GpuId(index)),
                     .note =
                         [index](Records& records) {  // whoever was it before: now it is a person
                           records.set_fact(xid_cordon(core::GpuId(index)), "no");
                         },
                     .done =
                         [this, index, reply](const Result<void>& result) {
                           if (result) {
                             reply(gpu(index));
                           } else {
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .wish = true,
                     .by = user_name(caller.uid)});
}

void Operator::tune(const http::Caller& caller, const api::TuningChange& change,
                    const http::Reply<api::TuningView>& reply) {
  if (const auto may = access_.require_admin(caller, "change the tuning"); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  // Into what was asked for last, though it may not be on the disk yet: two changes at once are
  // both made.
  const core::Tuning& base =
      tunings_under_way_ > 0 ? last_tuning_ : engine_.scheduler().node().tuning();
  const auto tuning = changed(base, change);
  const auto policies = tuning ? policies::find_policies(*tuning) : std::unexpected(tuning.error());
  if (!policies) {
    const std::string& why = policies.error().message;
    reply(std::unexpected(unserved(why.ends_with('.') ? why : why + ".")));
    return;
  }
  last_tuning_ = *tuning;
  ++tunings_under_way_;
  engine_.post(Input{.event = core::TuningChanged{*tuning, *policies},
                     .done =
                         [this, tuning = *tuning, reply](const Result<void>& result) {
                           --tunings_under_way_;
                           if (result) {
                             reply(view_of(tuning));
                           } else {
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .wish = true,
                     .by = user_name(caller.uid)});
}

}  // namespace tangram::daemon
