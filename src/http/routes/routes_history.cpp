// The routes for history, usage and events; see routes.cpp for the table.
#include <algorithm>
#include <charconv>
#include <limits>

#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

constexpr std::uint64_t kAnyId = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMaxKinds = 32;

Result<std::optional<api::WallTime>> time_in(const Query& query, std::string_view name) {
  const auto text = query.text(name);
  if (!text) return std::nullopt;
  const auto when = api::parse_wall(*text);
  if (!when) return invalid(cat(name, ": ", when.error().message));
  return *when;
}

Result<HistoryFilter> history_in(const Query& query) {
  if (auto ok = query.allow_only({"user", "profile", "state", "since", "until", "before", "limit"});
      !ok) {
    return std::unexpected(ok.error());
  }
  HistoryFilter filter;
  filter.user = query.text("user");
  filter.profile = query.text("profile");
  if (const auto word = query.text("state")) {
    filter.state = api::find_state(*word);
    if (!filter.state || !is_terminal(*filter.state)) {
      return invalid(
          cat("invalid state ", quoted(*word), ": use completed, failed, cancelled or refused"));
    }
  }
  const auto since = time_in(query, "since");
  if (!since) return std::unexpected(since.error());
  const auto until = time_in(query, "until");
  if (!until) return std::unexpected(until.error());
  const auto before = query.number("before", kAnyId);
  if (!before) return std::unexpected(before.error());
  const auto page_size = page_size_in(query, kDefaultHistoryPageSize);
  if (!page_size) return std::unexpected(page_size.error());
  filter.since = *since;
  filter.until = *until;
  filter.before = *before;
  filter.limit = *page_size;
  return filter;
}

Result<UsageFilter> usage_in(const Query& query) {
  if (auto ok = query.allow_only({"user", "since", "until"}); !ok) {
    return std::unexpected(ok.error());
  }
  const auto since = time_in(query, "since");
  if (!since) return std::unexpected(since.error());
  const auto until = time_in(query, "until");
  if (!until) return std::unexpected(until.error());
  return UsageFilter{query.text("user"), *since, *until};
}

// "job,move.done"
Result<std::vector<std::string>> kinds_in(const Query& query) {
  std::vector<std::string> kinds;
  const auto text = query.text("kind");
  if (!text) return kinds;
  std::string_view rest = *text;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz-.";
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view kind = rest.substr(0, end);
    if (kind.empty() || kind.find_first_not_of(kAllowed) != std::string_view::npos ||
        kinds.size() == kMaxKinds) {
      return invalid(cat("invalid kind ", quoted(*text), ": use up to ", kMaxKinds,
                         " event kinds or their first words, e.g. job,move.done"));
    }
    kinds.emplace_back(kind);
    if (end == rest.size()) return kinds;
    rest.remove_prefix(end + 1);
  }
}

// The ID to resume after. A browser that reconnects repeats the target and sends Last-Event-ID.
Result<std::optional<std::uint64_t>> resume_in(const Request& request) {
  if (request.last_event_id.empty()) return request.query.number("after", kAnyId);
  std::uint64_t after = 0;
  const std::string& text = request.last_event_id;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), after);
  if (status == std::errc{} && end == text.data() + text.size()) return after;
  return invalid(
      cat("invalid Last-Event-ID ", tangram::quoted(text), ": use the number of an event"));
}

}  // namespace

Outcome get_history(const ApiHandlers& handlers, const Request& request) {
  const auto filter = history_in(request.query);
  if (!filter) return bad_request(filter.error());
  return defer([&handlers, caller = request.caller, filter = *filter](Respond respond) {
    handlers.history(caller, filter, respond_with<api::HistoryPage>(std::move(respond)));
  });
}

Outcome get_usage(const ApiHandlers& handlers, const Request& request) {
  const auto filter = usage_in(request.query);
  if (!filter) return bad_request(filter.error());
  return defer([&handlers, caller = request.caller, filter = *filter](Respond respond) {
    handlers.usage(caller, filter, respond_with<api::Usage>(std::move(respond)));
  });
}

Outcome get_events(const ApiHandlers& handlers, const Request& request) {
  const Query& query = request.query;
  if (auto ok = query.allow_only({"after", "follow", "job", "kind"}); !ok) {
    return bad_request(ok.error());
  }
  EventStreamRequest stream{.caller = request.caller};
  const auto follow = query.text("follow") ? query.flag("follow") : Result<bool>(true);
  if (!follow) return bad_request(follow.error());
  stream.follow = *follow;
  const auto job = query.number("job", kAnyId);
  if (!job) return bad_request(job.error());
  stream.job = *job;
  auto kinds = kinds_in(query);
  if (!kinds) return bad_request(kinds.error());
  stream.kinds = std::move(*kinds);
  const auto after = resume_in(request);
  if (!after) return bad_request(after.error());
  const auto last = handlers.last_event(request.caller);
  if (!last) return problem_response(last.error());
  stream.after = after->value_or(*last);
  return stream;
}

}  // namespace tangram::http
