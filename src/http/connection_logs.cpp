// See connection.hpp: the output of a job, written as it comes. Every chunk says in an extension
// where in the output it stands ("at"), so that a client whose connection broke can go on from
// there. One rule: one piece is in memory at a time; a client that does not read is waited for.
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>

#include "base/text.hpp"
#include "http/session.hpp"

namespace tangram::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kPiece = std::size_t{64} << 10U;
// News come by inotify and from the daemon. These are for what neither can see: a run that is not
// there yet, a folder that cannot be watched.
constexpr auto kSoon = std::chrono::milliseconds(250);
constexpr auto kSafety = std::chrono::seconds(5);

std::string parent_of(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

}  // namespace

bool Session::prepare(LogReader& reader, const LogWish& wish) {
  Answer<LogSource> source = house_->doors.logs(wish.caller, wish.id);
  if (!source) return false;
  reader.set_source(std::move(*source));
  if (wish.tail) reader.begin_at_tail(*wish.tail);
  if (!wish.from.empty()) {
    const auto position = parse_position(wish.from);
    if (!position) return false;
    reader.begin_at(*position);
  }
  return true;
}

void Session::ask_for_news(const std::shared_ptr<Pending>& pending, const LogWish& wish,
                           WaitFor what) {
  const auto ring = [weak = std::weak_ptr(pending)](const Answer<api::JobView>&) {
    const auto waiting = weak.lock();
    if (!waiting) return;
    waiting->look = true;
    waiting->ring();
  };
  std::shared_ptr<void> token = house_->doors.wait(wish.caller, wish.id, what, ring);
  pending->tokens.push_back(std::move(token));
}

// All there is now. Chunks need HTTP/1.1; an older client reads until the connection is closed.
Task<bool> Session::write_pieces(LogReader& reader, const LogWish& wish, std::vector<char>& room,
                                 bool chunked) {
  while (may_go_on(wish.caller)) {
    const std::optional<LogReader::Piece> piece = reader.read(room);
    if (!piece) co_return true;
    const asio::const_buffer bytes(room.data(), piece->size);
    ErrorStatus status;
    std::size_t size = 0;
    if (chunked) {
      bhttp::chunk_extensions extensions;
      extensions.insert("at", to_text(piece->at));
      if (piece->gap) extensions.insert("gap");
      const auto chunk = bhttp::make_chunk(bytes, std::move(extensions));
      std::tie(status, size) = co_await asio::async_write(stream_, chunk, kTuple);
    } else {
      std::tie(status, size) = co_await asio::async_write(stream_, bytes, kTuple);
    }
    if (status) co_return false;
  }
  co_return false;
}

// Only what may have changed more than the files makes the daemon be asked again.
Task<void> Session::await_news(std::shared_ptr<Pending> pending, const LogReader& reader) {
  const std::string folder = reader.folder();
  const auto ring = [weak = std::weak_ptr(pending)] {
    if (const auto waiting = weak.lock()) waiting->ring();
  };
  const auto ring_and_look = [weak = std::weak_ptr(pending)] {
    const auto waiting = weak.lock();
    if (!waiting) return;
    waiting->look = true;
    waiting->ring();
  };
  std::shared_ptr<void> in_run;
  std::shared_ptr<void> new_runs;
  if (!folder.empty()) {
    in_run = house_->watcher.watch(folder, ring);
    new_runs = house_->watcher.watch(parent_of(folder), ring_and_look);
  }
  if (pending->rung || pending->gone) co_return;
  const bool blind = reader.waits_for_run() || !in_run || !new_runs;
  pending->bell.expires_after(blind ? std::chrono::milliseconds(kSoon) : kSafety);
  co_await pending->bell.async_wait(kTuple);
  if (!pending->rung) pending->look = true;
}

Task<bool> Session::write_logs(LogWish wish, Frame frame) {
  LogReader reader(wish.file);
  if (!prepare(reader, wish)) {
    const auto detail = cat("from ", quoted(wish.from), " is no position of a log.");
    co_return co_await write(problem_response(problem(400, "bad-request", detail)), frame);
  }
  const bool chunked = frame.version == 11;
  const bool begun = co_await write_stream_head("text/plain; charset=utf-8", frame);
  if (!begun) co_return false;
  if (frame.head) co_return frame.keep_alive&& chunked;

  const std::shared_ptr<Pending> pending = begin_waiting();
  if (wish.follow) ask_for_news(pending, wish, WaitFor::kOver);
  if (wish.follow && reader.folder().empty()) ask_for_news(pending, wish, WaitFor::kRunning);
  std::vector<char> room(kPiece);
  bool over = false;
  while (true) {
    pending->rung = false;
    if (std::exchange(pending->look, false)) {
      // What was written before the job was over is read after this was asked.
      Answer<LogSource> source = house_->doors.logs(wish.caller, wish.id);
      if (!source) break;
      over = source->over;
      reader.set_source(std::move(*source));
    }
    const bool written = co_await write_pieces(reader, wish, room, chunked);
    if (!written) co_return false;
    if (!wish.follow || over) break;
    co_await await_news(pending, reader);
    if (pending->gone || !may_go_on(wish.caller)) co_return false;
  }
  stop_waiting();
  co_return co_await write_stream_end(frame);
}

}  // namespace tangram::http
