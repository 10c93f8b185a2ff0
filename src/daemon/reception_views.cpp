// See reception.hpp: jobs looked at.
#include <algorithm>

#include <boost/json/parse.hpp>

#include "daemon/places.hpp"
#include "daemon/problems.hpp"
#include "daemon/reception.hpp"
#include "daemon/views.hpp"

namespace tangram::daemon {

http::Answer<api::JobView> Reception::job(const Caller& caller, std::uint64_t id) {
  const auto row = find(caller, id);
  if (!row) return std::unexpected(row.error());
  const bool may_read = access_.may_read(caller, row->uid);
  api::JobView view = views_.outline(*row, may_read);
  if (view.state == api::JobState::kQueued) view.reason = views_.why_waiting(*row, may_read);
  const auto runs = engine_.store().runs(id);
  const auto moves = engine_.store().moves(id);
  if (runs && moves) view.places = places_of(*runs, *moves);
  if (!may_read) return view;
  const auto stored = engine_.store().job(id);
  if (!stored || !*stored) return view;
  auto request = api::read_job_request(boost::json::parse((*stored)->request));
  if (!request) return view;
  view.request = *std::move(request);
  view.request.name = row->name;
  view.outline = false;
  return view;
}

http::Answer<std::vector<api::JobView>> Reception::jobs(const Caller& caller,
                                                        const http::JobFilter& filter) {
  if (const auto admitted = access_.admit(caller); !admitted)
    return std::unexpected(admitted.error());
  const auto wanted = [&](const store::JobRow& row) {
    return (filter.all || !row.over || (filter.state && api::is_over(*filter.state))) &&
           (!filter.user || *filter.user == row.user) &&
           (!filter.state || api::name_of(*filter.state) == row.state) &&
           (!filter.name || *filter.name == row.name) &&
           (!filter.before || row.id < *filter.before);
  };
  std::vector<api::JobView> found;  // the newest first
  const auto& recent = engine_.records().jobs();
  for (auto at = recent.rbegin(); at != recent.rend() && found.size() < filter.most; ++at) {
    if (wanted(at->second))
      found.push_back(views_.outline(at->second, access_.may_read(caller, at->second.uid)));
  }
  const bool past = filter.all || (filter.state && api::is_over(*filter.state));
  std::uint64_t before = filter.before.value_or(~std::uint64_t{0} >> 1U);
  store::PastFilter past_filter;
  past_filter.user = filter.user;
  if (filter.state) past_filter.state = std::string(api::name_of(*filter.state));
  past_filter.name = filter.name;
  constexpr int kMostPages = 20;  // the loop has others to serve
  for (int page = 0; past && found.size() < filter.most && page < kMostPages; ++page) {
    const auto rows = engine_.store().past_jobs(before, 1000, past_filter);
    if (!rows) return std::unexpected(unavailable(rows.error().message));
    if (rows->empty()) break;
    for (const store::JobRow& row : *rows) {
      before = row.id;
      if (found.size() >= filter.most || recent.contains(row.id)) continue;
      if (wanted(row)) found.push_back(views_.outline(row, access_.may_read(caller, row.uid)));
    }
  }
  std::ranges::sort(found, {}, &api::JobView::id);
  return found;
}

}  // namespace tangram::daemon
