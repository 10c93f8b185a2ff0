// See history_service.hpp.
#include "daemon/service/history_service.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/engine/run_end.hpp"
#include "daemon/views/history_reader.hpp"
#include "daemon/views/read_reply.hpp"

namespace tangram::daemon {
namespace {

// Compute slices of a profile, and of a whole GPU that has it.
struct Slices {
  int of_profile = 0;
  int of_gpu = 1;
};

Slices slices_of(const core::Node& node, const std::string& profile) {
  const auto name = node.find_name(profile);
  for (std::size_t m = 0; name && m < node.model_count(); ++m) {
    const core::ModelId id(static_cast<std::uint8_t>(m));
    if (const auto index = node.profile_on(id, *name)) {
      const mig::Model& model = node.model(id);
      return {model.profile(*index).compute_slices, model.compute_slices()};
    }
  }
  return {};  // no GPU of the node has it any more
}

}  // namespace

void HistoryService::register_handlers(http::ApiHandlers& handlers) {
  handlers.history = [this](const http::Caller& caller, const http::HistoryFilter& filter,
                            const http::Reply<api::HistoryPage>& reply) {
    history(caller, filter, reply);
  };
  handlers.usage = [this](const http::Caller& caller, const http::UsageFilter& filter,
                          const http::Reply<api::Usage>& reply) { usage(caller, filter, reply); };
}

void HistoryService::history(const http::Caller& caller, const http::HistoryFilter& filter,
                             const http::Reply<api::HistoryPage>& reply) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  store::FinishedJobFilter wanted{
      .user = filter.user, .profile = filter.profile, .since = filter.since, .until = filter.until};
  if (filter.state) wanted.state = std::string(api::name_of(*filter.state));
  const std::size_t most = std::clamp<std::size_t>(filter.limit, 1, http::kMaxPageSize);
  const std::uint64_t before = filter.before.value_or(~std::uint64_t{0} >> 1U);
  using Rows = std::vector<store::JobRow>;
  const auto read = [=](store::Store& store) {
    return store.finished_jobs(before, most + 1, wanted);
  };
  const auto on_result = [this, caller, most, reply](const Result<Rows>& rows) {
    if (rows) {
      reply(page_of(caller, *rows, most));
    } else {
      reply(std::unexpected(unavailable(rows.error().message)));
    }
  };
  if (!reader_.query<Rows>(caller.uid, read, on_result)) reply(std::unexpected(too_busy()));
}

api::HistoryPage HistoryService::page_of(const http::Caller& caller,
                                         const std::vector<store::JobRow>& rows,
                                         std::size_t most) const {
  api::HistoryPage page;
  for (const store::JobRow& row : rows) {
    if (page.jobs.size() == most) {
      page.next = page.jobs.back().id;
      break;
    }
    page.jobs.push_back(views_.outline(row, access_.may_read(caller, row.uid)));
  }
  return page;
}

void HistoryService::usage(const http::Caller& caller, const http::UsageFilter& filter,
                           const http::Reply<api::Usage>& reply) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  const api::WallTime from = filter.since.value_or(api::WallTime{});
  const api::WallTime to = filter.until.value_or(Clock::wall());
  if (to < from) {
    reply(std::unexpected(unservable("`until` must not be before `since`.")));
    return;
  }
  const auto read = [from, to, user = filter.user, now = read_clocks()](store::Store& store) {
    return store.usage(from, to, user, now);
  };
  const auto on_result = [this, reply](const Result<store::Usage>& usage) {
    if (usage) {
      reply(usage_of(*usage));
    } else {
      reply(std::unexpected(unavailable(usage.error().message)));
    }
  };
  if (!reader_.query<store::Usage>(caller.uid, read, on_result)) reply(std::unexpected(too_busy()));
}

api::Usage HistoryService::usage_of(const store::Usage& found) const {
  api::Usage usage{.from = found.from, .to = found.to, .rows = {}};
  for (const store::UsageRow& row : found.rows) {
    const Slices slices = slices_of(engine_.scheduler().node(), row.profile);
    const double hours = std::chrono::duration<double, std::ratio<3600>>(row.held).count();
    const double slice_hours = hours * slices.of_profile;
    usage.rows.push_back({.user = row.user,
                          .profile = row.profile,
                          .jobs = row.jobs,
                          .slice_hours = slice_hours,
                          .gpu_hours = slice_hours / slices.of_gpu});
  }
  return usage;
}

}  // namespace tangram::daemon
