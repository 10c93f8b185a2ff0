// See connection.hpp: the output of a job, written as it comes. Every chunk says in an extension
// where in the output it stands ("at"), so that a client whose connection broke can go on from
// there. One rule: one piece is in memory at a time; a client that does not read is waited for. The
// files are read in a thread of their own.
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

// What is done in the thread.
void find_beginning(LogDesk& desk) {
  if (desk.tail) desk.reader.begin_at_tail(*desk.tail);
  if (desk.from) desk.reader.begin_at(*desk.from);
}

void read_piece(LogDesk& desk) {
  desk.piece = desk.reader.read(desk.room);
  if (!desk.piece) desk.waits_for_run = desk.reader.waits_for_run();
}

}  // namespace

Task<bool> Session::await_reading(std::shared_ptr<Pending> pending, std::shared_ptr<LogDesk> desk,
                                  void (*read)(LogDesk&)) {
  const auto done = std::make_shared<bool>(false);
  const auto then = [done, weak = std::weak_ptr(pending)] {
    *done = true;
    if (const auto waiting = weak.lock()) waiting->bell.cancel();
  };
  house_->logs.ask([desk, read] { read(*desk); }, then);
  while (!*done && !pending->gone) {
    pending->bell.expires_at(Timer::time_point::max());
    co_await pending->bell.async_wait(kTuple);
  }
  co_return !pending->gone;
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
Task<bool> Session::write_pieces(std::shared_ptr<Pending> pending, const LogWish& wish,
                                 std::shared_ptr<LogDesk> desk, bool chunked) {
  while (may_go_on(wish.caller)) {
    const bool read = co_await await_reading(pending, desk, read_piece);
    if (!read) co_return false;
    const std::optional<LogReader::Piece>& piece = desk->piece;
    if (!piece) co_return true;
    const asio::const_buffer bytes(desk->room.data(), piece->size);
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

// Only what may have changed more than the files makes the daemon be asked again. What is written
// between the last look and the first bell is seen by looking again.
Task<void> Session::await_news(std::shared_ptr<Pending> pending, std::shared_ptr<LogDesk> desk,
                               LogBells& bells) {
  const auto ring = [weak = std::weak_ptr(pending)] {
    if (const auto waiting = weak.lock()) waiting->ring();
  };
  const auto ring_and_look = [weak = std::weak_ptr(pending)] {
    const auto waiting = weak.lock();
    if (!waiting) return;
    waiting->look = true;
    waiting->ring();
  };
  const std::string folder = desk->reader.folder();
  const bool is_new = folder != bells.folder;
  if (is_new || !bells.in_run || !bells.new_runs) {
    bells = {folder, nullptr, nullptr};
    if (!folder.empty()) bells.in_run = house_->watcher.watch(folder, ring);
    if (!folder.empty()) bells.new_runs = house_->watcher.watch(parent_of(folder), ring_and_look);
  }
  if (is_new || pending->rung || pending->gone) co_return;
  const bool blind = desk->waits_for_run || !bells.in_run || !bells.new_runs;
  pending->bell.expires_after(blind ? std::chrono::milliseconds(kSoon) : kSafety);
  co_await pending->bell.async_wait(kTuple);
  if (!pending->rung) pending->look = true;
}

Task<bool> Session::follow_logs(std::shared_ptr<Pending> pending, const LogWish& wish,
                                std::shared_ptr<LogDesk> desk, bool chunked) {
  LogBells bells;
  bool over = false;
  while (true) {
    pending->rung = false;
    if (std::exchange(pending->look, false)) {
      // What was written before the job was over is read after this was asked.
      Answer<LogSource> source = house_->doors.logs(wish.caller, wish.id);
      if (!source) co_return true;
      over = source->over;
      desk->reader.set_source(std::move(*source));
    }
    const bool written = co_await write_pieces(pending, wish, desk, chunked);
    if (!written) co_return false;
    if (!wish.follow || over) co_return true;
    co_await await_news(pending, desk, bells);
    if (pending->gone || !may_go_on(wish.caller)) co_return false;
  }
}

Task<bool> Session::write_logs(LogWish wish, Frame frame) {
  const auto desk = std::make_shared<LogDesk>(wish.file, kPiece);
  desk->tail = wish.tail;
  desk->from = parse_position(wish.from);
  if (!desk->from && !wish.from.empty()) {
    const auto detail = cat("from ", quoted(wish.from), " is no position of a log.");
    co_return co_await write(problem_response(problem(400, "bad-request", detail)), frame);
  }
  Answer<LogSource> source = house_->doors.logs(wish.caller, wish.id);
  if (!source) co_return co_await write(problem_response(source.error()), frame);
  desk->reader.set_source(std::move(*source));

  const bool chunked = frame.version == 11;
  const std::shared_ptr<Pending> pending = begin_waiting();
  if (!frame.head && (desk->tail || desk->from)) {
    const bool found = co_await await_reading(pending, desk, find_beginning);
    if (!found) co_return false;
  }
  const bool begun = co_await write_stream_head("text/plain; charset=utf-8", frame, wish.caller);
  if (!begun) co_return false;
  if (!frame.head) {
    if (wish.follow) ask_for_news(pending, wish, WaitFor::kOver);
    if (wish.follow && desk->reader.folder().empty())
      ask_for_news(pending, wish, WaitFor::kRunning);
    const bool written = co_await follow_logs(pending, wish, desk, chunked);
    if (!written) co_return false;
  }
  stop_waiting();
  if (frame.head) co_return frame.keep_alive&& chunked;
  co_return co_await write_stream_end(frame);
}

}  // namespace tangram::http
