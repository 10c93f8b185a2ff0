// See job_service.hpp: show and list.
#include <map>
#include <utility>

#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/service/job_service.hpp"
#include "daemon/views/history_reader.hpp"
#include "daemon/views/job_locations.hpp"
#include "daemon/views/read_reply.hpp"
#include "daemon/views/views.hpp"

namespace tangram::daemon {
namespace {

using JobsById = std::map<std::uint64_t, store::JobRow>;

bool has(const store::JobRow& row, const http::LabelFilter& wanted) {
  const api::Labels labels = api::read_labels(row.labels);
  const auto at = labels.find(wanted.name);
  return at != labels.end() && (!wanted.value || *wanted.value == at->second);
}

bool is_wanted(const store::JobRow& row, const http::JobFilter& filter) {
  return (filter.all || !row.over || (filter.state && api::is_terminal(*filter.state))) &&
         (!filter.user || *filter.user == row.user) &&
         (!filter.state || api::name_of(*filter.state) == row.state) &&
         (!filter.name || *filter.name == row.name) &&
         (!filter.profile || *filter.profile == row.profile) &&
         (!filter.array || *filter.array == row.array) &&
         (!filter.before || row.id < *filter.before) && (!filter.label || has(row, *filter.label));
}

// The newest matching jobs; of user `only`, if given.
JobsById wanted_of(const JobsById& rows, const http::JobFilter& filter,
                   std::optional<std::uint32_t> only) {
  JobsById found;
  for (auto at = rows.rbegin(); at != rows.rend() && found.size() < filter.limit; ++at) {
    if (only && at->second.uid != *only) continue;
    if (is_wanted(at->second, filter)) found.insert(found.begin(), *at);
  }
  return found;
}

}  // namespace

http::Answer<api::JobView> JobService::job(const Caller& caller, std::uint64_t id) {
  const auto row = find(caller, id);
  if (!row) return std::unexpected(row.error());
  const bool may_read = access_.may_read(caller, row->uid);
  api::JobView view = views_.outline(*row, may_read);
  add_reason_to_wait(*row, may_read, views_.queue(), view);
  const auto runs = engine_.store().runs(id);
  const auto moves = engine_.store().moves(id);
  if (runs && moves) view.places = locations_of(*runs, *moves, may_read);
  if (!may_read) return view;
  const auto stored = engine_.store().job(id);
  if (!stored || !*stored) return view;
  boost::system::error_code bad;
  auto request = api::read_job_request(boost::json::parse((*stored)->request, bad));
  if (bad || !request) return view;
  view.request = *std::move(request);
  view.request.name = row->name;
  view.outline = false;
  return view;
}

// Active jobs are in memory; of finished ones only those that ended last, whatever their ids. So
// finished jobs are always read from the store too, or a page would have gaps.
void JobService::jobs(const Caller& caller, const http::JobFilter& filter,
                      const Reply<std::vector<api::JobView>>& reply) {
  if (const auto admitted = access_.admit(caller); !admitted) {
    reply(std::unexpected(admitted.error()));
    return;
  }
  std::optional<std::uint32_t> only;  // non-admins can match labels of their own jobs only
  if (filter.label && !access_.is_admin(caller)) only = caller.uid;
  JobsById found = wanted_of(engine_.records().jobs(), filter, only);
  const bool past = filter.state ? api::is_terminal(*filter.state) : filter.all;
  if (!past) {
    reply(outlines(caller, found));
    return;
  }
  store::FinishedJobFilter wanted{.user = filter.user,
                                  .profile = filter.profile,
                                  .name = filter.name,
                                  .uid = only,
                                  .array = filter.array};
  if (filter.label) {
    wanted.label = filter.label->name;
    wanted.label_value = filter.label->value;
  }
  if (filter.state) wanted.state = std::string(api::name_of(*filter.state));
  const std::uint64_t before = filter.before.value_or(~std::uint64_t{0} >> 1U);
  using Rows = std::vector<store::JobRow>;
  const auto read = [=, most = filter.limit](store::Store& store) {
    return store.finished_jobs(before, most, wanted);
  };
  const auto on_result = [this, caller, found = std::move(found), most = filter.limit,
                          reply](Result<Rows> rows) mutable {
    if (!rows) {
      reply(std::unexpected(unavailable(rows.error().message)));
      return;
    }
    // The store was read later than `found`, so its rows are newer.
    for (store::JobRow& row : *rows) found.insert_or_assign(row.id, std::move(row));
    while (found.size() > most) found.erase(found.begin());
    reply(outlines(caller, found));
  };
  if (!reader_.query<Rows>(caller.uid, read, on_result)) reply(std::unexpected(too_busy()));
}

std::vector<api::JobView> JobService::outlines(const Caller& caller, const JobsById& rows) const {
  std::vector<api::JobView> views;
  views.reserve(rows.size());
  const Views::Queue queue = views_.queue();
  for (const auto& [id, row] : rows) {
    const bool may_read = access_.may_read(caller, row.uid);
    views.push_back(views_.outline(row, may_read));
    add_reason_to_wait(row, may_read, queue, views.back());
  }
  return views;
}

void JobService::add_reason_to_wait(const store::JobRow& row, bool may_read,
                                    const Views::Queue& queue, api::JobView& view) const {
  const bool is_queued = view.state == api::JobState::kQueued;
  if (is_queued) view.reason = views_.why_waiting(row, may_read, queue);
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(row.id));
  const bool needs_gpu =
      slot != core::kNoJob && (is_queued || (node.job(slot).holds & core::kHoldUnservable) != 0);
  if (!needs_gpu) return;
  if (const std::string note = views_.mig_note(row.profile); !note.empty()) {
    view.reason += cat(view.reason.empty() ? "" : "; ", note);
  }
}

}  // namespace tangram::daemon
