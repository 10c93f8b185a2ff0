// See event_stream.hpp.
#include "cli/client/event_stream.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/log_copy.hpp"

namespace tangram::cli {
namespace {

Result<StreamItem> parse_item(const http::ServerSentEvent& piece) {
  boost::system::error_code status;
  const auto document = boost::json::parse({piece.data.data(), piece.data.size()}, status);
  if (status) return failed("the daemon sent an event that is not JSON.");
  StreamItem item;
  if (piece.kind == "gap") {
    const auto* object = document.if_object();
    if (object == nullptr || !object->contains("after") || !object->contains("next")) {
      return failed(R"(the daemon sent a gap without "after" and "next".)");
    }
    item.gap = {object->at("after").to_number<std::uint64_t>(),
                object->at("next").to_number<std::uint64_t>()};
    return item;
  }
  auto event = api::read_event_view(document);
  if (!event) return std::unexpected(event.error());
  item.event = std::move(*event);
  item.json = piece.data;
  return item;
}

}  // namespace

void EventStop::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (client_ != nullptr) client_->abort();
}

bool EventStop::begin(http::Client& client) {
  const std::lock_guard lock(mutex_);
  client_ = &client;
  return !stopped_;
}

void EventStop::end() {
  const std::lock_guard lock(mutex_);
  client_ = nullptr;
}

// Opens one stream after another until the events end or the daemon stays away too long.
class EventFollower {
 public:
  EventFollower(const EventQuery& query, const std::function<bool(const StreamItem&)>& on_item)
      : query_(query), on_item_(on_item), last_(query.after) {}

  Result<void> run() {
    std::chrono::milliseconds reconnect_time{0};
    while (true) {
      auto client = reconnect(query_.socket, reconnect_time);
      if (!client) return std::unexpected(client.error());
      const Result<void> done = read_stream(*client);
      if (error_) return std::unexpected(*error_);
      if (enough_) return {};
      if (done && !query_.follow) return {};
      if (!done && done.error().code != ErrorCode::kUnavailable) return done;
      reconnect_time = query_.reconnect_time;
      if (!done && reconnect_time.count() == 0) return done;
      lost_ = true;
      pause_between_attempts();  // the daemon may accept connections only to close them
    }
  }

 private:
  Result<void> read_stream(http::Client& client) {
    enough_ = query_.stop != nullptr && !query_.stop->begin(client);
    if (enough_) return {};
    const Result<void> done = client.events(
        target(), [this](const http::ServerSentEvent& piece) { return on_piece(piece); });
    if (query_.stop != nullptr) query_.stop->end();
    return done;
  }

  // After a reconnect without any event so far there is no number to continue from: all events are
  // requested, and on_piece() skips those from before this stream began.
  [[nodiscard]] std::string target() const {
    RequestTarget target("/v1/events");
    if (last_ || lost_) target.add("after", std::to_string(last_.value_or(0)));
    target.add("follow", query_.follow ? "true" : "false");
    return target.add("job", query_.job).add("kind", query_.kinds).text();
  }

  bool on_piece(const http::ServerSentEvent& piece) {
    const auto item = parse_item(piece);
    if (!item) {
      error_ = item.error();
      return false;
    }
    if (item->gap && !last_) return true;  // these events were not requested
    if (!item->gap) {
      if (last_ && item->event.id <= *last_) return true;
      const bool older = !last_ && lost_ && item->event.time < began_;
      if (older) return true;
      last_ = item->event.id;
    }
    enough_ = !on_item_(*item);
    return !enough_;
  }

  const EventQuery& query_;
  const std::function<bool(const StreamItem&)>& on_item_;
  const api::WallTime began_ = now();
  std::optional<std::uint64_t> last_;
  bool lost_ = false;
  bool enough_ = false;
  std::optional<Error> error_;
};

Result<void> follow_events(const EventQuery& query,
                           const std::function<bool(const StreamItem&)>& on_item) {
  return EventFollower(query, on_item).run();
}

}  // namespace tangram::cli
