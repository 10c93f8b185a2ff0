// See event_stream.hpp.
#include "cli/event_stream.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/log_copy.hpp"

namespace tangram::cli {
namespace {

Result<EventNews> news_of(const http::EventPiece& piece) {
  boost::system::error_code wrong;
  const auto document = boost::json::parse({piece.data.data(), piece.data.size()}, wrong);
  if (wrong) return failed("the daemon sent an event that is not JSON.");
  EventNews news;
  if (piece.kind == "gap") {
    const auto* object = document.if_object();
    if (object == nullptr || !object->contains("after") || !object->contains("next")) {
      return failed("the daemon sent a gap without its ends.");
    }
    news.gap = {object->at("after").to_number<std::uint64_t>(),
                object->at("next").to_number<std::uint64_t>()};
    return news;
  }
  auto event = api::read_event_view(document);
  if (!event) return std::unexpected(event.error());
  news.event = std::move(*event);
  news.json = piece.data;
  return news;
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

// One stream after the other, as long as there is a daemon that continues it.
class Following {
 public:
  Following(const EventWish& wish, const std::function<bool(const EventNews&)>& take)
      : wish_(wish), take_(take), last_(wish.after) {}

  Result<void> go() {
    std::chrono::milliseconds patience{0};
    while (true) {
      auto client = reconnect(wish_.socket, patience);
      if (!client) return std::unexpected(client.error());
      const Result<void> done = listen(*client);
      if (wrong_) return std::unexpected(*wrong_);
      if (enough_) return {};
      if (done && !wish_.follow) return {};
      if (!done && done.error().code != ErrorCode::kUnavailable) return done;
      patience = wish_.patience;
      if (!done && patience.count() == 0) return done;
      lost_ = true;
      pause_between_attempts();  // one that takes connections only to drop them
    }
  }

 private:
  Result<void> listen(http::Client& client) {
    enough_ = wish_.stop != nullptr && !wish_.stop->begin(client);
    if (enough_) return {};
    const Result<void> done =
        client.events(target(), [this](const http::EventPiece& piece) { return take(piece); });
    if (wish_.stop != nullptr) wish_.stop->end();
    return done;
  }

  // Without an event so far there is no number to go on from: then the events since the beginning
  // of this stream are those that are not older.
  [[nodiscard]] std::string target() const {
    RequestTarget target("/v1/events");
    if (last_ || lost_) target.add("after", std::to_string(last_.value_or(0)));
    target.add("follow", wish_.follow ? "true" : "false");
    return target.add("job", wish_.job).add("kind", wish_.kinds).text();
  }

  bool take(const http::EventPiece& piece) {
    const auto news = news_of(piece);
    if (!news) {
      wrong_ = news.error();
      return false;
    }
    if (news->gap && !last_) return true;  // nobody asked for those
    if (!news->gap) {
      if (last_ && news->event.id <= *last_) return true;
      const bool older = !last_ && lost_ && news->event.time < begun_;
      if (older) return true;
      last_ = news->event.id;
    }
    enough_ = !take_(*news);
    return !enough_;
  }

  const EventWish& wish_;
  const std::function<bool(const EventNews&)>& take_;
  const api::WallTime begun_ = now();
  std::optional<std::uint64_t> last_;
  bool lost_ = false;
  bool enough_ = false;
  std::optional<Error> wrong_;
};

Result<void> follow_events(const EventWish& wish,
                           const std::function<bool(const EventNews&)>& take) {
  return Following(wish, take).go();
}

}  // namespace tangram::cli
