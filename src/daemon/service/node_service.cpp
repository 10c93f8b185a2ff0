// See node_service.hpp.
#include "daemon/service/node_service.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/engine/tuning_text.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/runs/supervisor.hpp"
#include "policies/registry.hpp"

namespace tangram::daemon {
namespace {

core::Event event_of(http::GpuAction action, core::GpuId gpu) {
  switch (action) {
    case http::GpuAction::kCordon:
      return core::GpuCordoned{gpu};
    case http::GpuAction::kUncordon:
      return core::GpuUncordoned{gpu};
    case http::GpuAction::kDrain:
      return core::GpuDrained{gpu};
  }
  return core::WakeUp{};
}

api::OrphanView view_of(const Supervisor::Orphan& orphan) {
  api::OrphanView view;
  view.run = orphan.run;
  view.job = orphan.job;
  view.uid = orphan.uid;
  view.user = user_name(orphan.uid);
  view.gpu = orphan.gpu_uuid;
  view.instance = orphan.mig_uuid;
  if (orphan.pid) view.pid = static_cast<std::uint64_t>(*orphan.pid);
  view.folder = orphan.folder;
  view.ending = orphan.is_ending;
  return view;
}

}  // namespace

void NodeService::register_handlers(http::ApiHandlers& handlers) {
  using http::Caller;
  const auto read = [this](const Caller& caller, auto make_view) {
    using View = decltype(make_view());
    const auto admitted = access_.admit(caller);
    return admitted ? http::Answer<View>(make_view())
                    : http::Answer<View>(std::unexpected(admitted.error()));
  };
  handlers.gpus = [this, read](const Caller& caller) {
    return read(caller, [this] { return views_.gpus(); });
  };
  handlers.status = [this, read](const Caller& caller) {
    return read(caller, [this] { return views_.status(); });
  };
  handlers.tuning = [this, read](const Caller& caller) {
    return read(caller, [this] { return view_of(engine_.scheduler().node().tuning()); });
  };
  handlers.change_gpu = [this](const Caller& caller, std::uint32_t index, http::GpuAction action,
                               const http::Reply<api::GpuView>& reply) {
    change_gpu(caller, index, action, reply);
  };
  handlers.tune = [this](const Caller& caller, const api::TuningChange& change,
                         const http::Reply<api::TuningView>& reply) {
    tune(caller, change, reply);
  };
  handlers.orphans = [this](const Caller& caller) { return orphans(caller); };
  handlers.end_orphan = [this](const Caller& caller, std::uint64_t run) {
    return end_orphan(caller, run);
  };
  handlers.ready = [this] { return ready(); };
}

// A node without MIG mode still accepts jobs, which wait; it is not ready if nothing can start.
http::Answer<std::vector<std::string>> NodeService::ready() const {
  if (!engine_.store_error().empty()) return std::unexpected(unavailable(engine_.store_error()));
  std::vector<std::string> troubles = views_.mig_troubles();
  const core::Node& node = engine_.scheduler().node();
  bool any_in_service = false;
  for (std::uint32_t gpu = 0; gpu < node.gpu_count(); ++gpu) {
    any_in_service |= node.gpu(core::GpuId(gpu)).health == core::Health::kOk;
  }
  if (troubles.empty() || any_in_service) return troubles;
  return std::unexpected(unavailable(cat("no GPU is in service. ", troubles.front())));
}

http::Answer<std::vector<api::OrphanView>> NodeService::orphans(const http::Caller& caller) const {
  if (const auto may = access_.require_admin(caller, "list orphaned runs"); !may) {
    return std::unexpected(may.error());
  }
  std::vector<api::OrphanView> views;
  for (const Supervisor::Orphan& each : supervisor_.orphans()) views.push_back(view_of(each));
  return views;
}

http::Answer<api::OrphanView> NodeService::end_orphan(const http::Caller& caller,
                                                      std::uint64_t run) {
  if (const auto may = access_.require_admin(caller, "end orphaned runs"); !may) {
    return std::unexpected(may.error());
  }
  const auto orphan = supervisor_.end_orphan(run);
  if (orphan) return view_of(*orphan);
  return std::unexpected(missing(cat("orphan ", run, ": not found; see `tangram orphan list`.")));
}

http::Answer<api::GpuView> NodeService::gpu(std::uint32_t index) const {
  std::vector<api::GpuView> gpus = views_.gpus();
  const auto at = std::ranges::find_if(gpus, [&](const api::GpuView& gpu) {
    return gpu.index == index && !gpu.model.empty();  // without a model: not usable
  });
  if (at != gpus.end()) return std::move(*at);
  return std::unexpected(missing(cat("GPU ", index, ": not found; see `tangram gpus`.")));
}

void NodeService::change_gpu(const http::Caller& caller, std::uint32_t index,
                             http::GpuAction action, const http::Reply<api::GpuView>& reply) {
  if (const auto may = access_.require_admin(caller, "cordon, uncordon or drain GPUs"); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  if (const auto known = gpu(index); !known) {
    reply(std::unexpected(known.error()));
    return;
  }
  engine_.post(Input{.event = event_of(action, core::GpuId(index)),
                     .edit_rows =
                         [index](JobTable& records) {  // from now on an admin's cordon
                           records.set_fact(xid_cordon_key(core::GpuId(index)), "no");
                         },
                     .done =
                         [this, index, reply](const Result<void>& result) {
                           if (result) {
                             reply(gpu(index));
                           } else {
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .may_be_refused = true,
                     .requested_by = user_name(caller.uid)});
}

void NodeService::tune(const http::Caller& caller, const api::TuningChange& change,
                       const http::Reply<api::TuningView>& reply) {
  if (const auto may = access_.require_admin(caller, "change the tuning"); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  const auto tuning = apply_change(last_tuning(), change);
  const auto policies = tuning ? policies::find_policies(*tuning) : std::unexpected(tuning.error());
  if (!policies) {
    const std::string& why = policies.error().message;
    reply(std::unexpected(unservable(why.ends_with('.') ? why : why + ".")));
    return;
  }
  post_tuning(*tuning, Input{.event = core::TuningChanged{*tuning, *policies},
                             .done =
                                 [tuning = *tuning, reply](const Result<void>& result) {
                                   if (result) {
                                     reply(view_of(tuning));
                                   } else {
                                     reply(std::unexpected(unavailable(result.error().message)));
                                   }
                                 },
                             .may_be_refused = true,
                             .requested_by = user_name(caller.uid)});
}

void NodeService::apply_configured_tuning(const api::TuningChange& change,
                                          std::function<void(JobTable&)> edit_rows) {
  const core::Tuning& base = last_tuning();
  const auto tuning = apply_change(base, change);
  CHECK(tuning.has_value());  // checked when the configuration was read
  if (*tuning == base) {
    engine_.post(Input{.event = core::WakeUp{}, .edit_rows = std::move(edit_rows)});
    return;
  }
  const auto policies = policies::find_policies(*tuning);
  CHECK(policies.has_value());
  post_tuning(*tuning, Input{.event = core::TuningChanged{*tuning, *policies},
                             .edit_rows = std::move(edit_rows)});
}

// The tuning requested last, which may not be durable yet, so that concurrent changes are all
// applied.
const core::Tuning& NodeService::last_tuning() const {
  return pending_tunings_ > 0 ? last_tuning_ : engine_.scheduler().node().tuning();
}

void NodeService::post_tuning(const core::Tuning& tuning, Input input) {
  last_tuning_ = tuning;
  ++pending_tunings_;
  input.done = [this, done = std::move(input.done)](const Result<void>& result) {
    --pending_tunings_;
    if (done) done(result);
  };
  engine_.post(std::move(input));
}

}  // namespace tangram::daemon
