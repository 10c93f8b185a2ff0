// See connection.hpp: the output of a job, streamed as it is written. A chunk extension gives the
// position of each chunk ("at"), so that a client whose connection broke can resume there.
// Back-pressure: one piece is in memory at a time, and the next is read once it has been sent.
// Files are read in the LogReadThread.
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>

#include "base/text.hpp"
#include "http/server/session.hpp"

namespace tangram::http {
namespace {

namespace bhttp = beast::http;

constexpr std::size_t kPieceSize = std::size_t{64} << 10U;
// Changes are reported by inotify and by the daemon. Polling covers what neither reports: quickly
// for a run that does not exist yet and a folder that cannot be watched, else as a fallback.
constexpr auto kFastPoll = std::chrono::milliseconds(250);
constexpr auto kSlowPoll = std::chrono::seconds(5);

std::string parent_of(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

// These two run in the LogReadThread.
void find_beginning(LogRead& log) {
  if (log.tail) log.reader.begin_at_tail(*log.tail);
  if (log.from) log.reader.begin_at(*log.from);
}

void read_piece(LogRead& log) {
  log.piece = log.reader.read(log.buffer);
  if (!log.piece) log.waits_for_run = log.reader.waits_for_run();
}

}  // namespace

Task<bool> Session::await_read(std::shared_ptr<PendingReply> pending, std::shared_ptr<LogRead> log,
                               void (*read)(LogRead&)) {
  const auto done = std::make_shared<bool>(false);
  const auto on_done = [done, weak = std::weak_ptr(pending)] {
    *done = true;
    if (const auto waiter = weak.lock()) waiter->wakeup.cancel();
  };
  context_->log_thread.run([log, read] { read(*log); }, on_done);
  while (!*done && !pending->gone) {
    pending->wakeup.expires_at(Timer::time_point::max());
    co_await pending->wakeup.async_wait(kTuple);
  }
  co_return !pending->gone;
}

void Session::watch_job_state(const std::shared_ptr<PendingReply>& pending,
                              const LogStreamRequest& request, WaitFor what) {
  const auto on_state = [weak = std::weak_ptr(pending)](const Answer<api::JobView>&) {
    const auto waiter = weak.lock();
    if (!waiter) return;
    waiter->refresh_source = true;
    waiter->notify();
  };
  auto handle = context_->handlers.wait(request.caller, request.id, what, on_state);
  pending->handles.push_back(std::move(handle));
}

// Writes all output that there is now. Chunks need HTTP/1.1; for an older client the end of the
// connection is the end of the output.
Task<bool> Session::write_pieces(std::shared_ptr<PendingReply> pending,
                                 const LogStreamRequest& request, std::shared_ptr<LogRead> log,
                                 bool chunked) {
  while (is_still_allowed(request.caller)) {
    const bool read = co_await await_read(pending, log, read_piece);
    if (!read) co_return false;
    const std::optional<LogReader::Chunk>& piece = log->piece;
    if (!piece) co_return true;
    const asio::const_buffer bytes(log->buffer.data(), piece->size);
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

// Waits until there may be more output. The LogSource is refreshed only if more than the files may
// have changed. After adding watches it returns at once: output that was written between the last
// read and the first watch must be read, too.
Task<void> Session::await_log_change(std::shared_ptr<PendingReply> pending,
                                     std::shared_ptr<LogRead> log, LogWatches& watches) {
  const auto on_output = [weak = std::weak_ptr(pending)] {
    if (const auto waiter = weak.lock()) waiter->notify();
  };
  const auto on_new_run = [weak = std::weak_ptr(pending)] {
    const auto waiter = weak.lock();
    if (!waiter) return;
    waiter->refresh_source = true;
    waiter->notify();
  };
  const std::string folder = log->reader.folder();
  const bool is_new = folder != watches.folder;
  if (is_new || !watches.run_folder || !watches.parent_folder) {
    watches = {folder, nullptr, nullptr};
    if (!folder.empty()) watches.run_folder = context_->watcher.watch(folder, on_output);
    if (!folder.empty())
      watches.parent_folder = context_->watcher.watch(parent_of(folder), on_new_run);
  }
  if (is_new || pending->notified || pending->gone) co_return;
  const bool must_poll = log->waits_for_run || !watches.run_folder || !watches.parent_folder;
  pending->wakeup.expires_after(must_poll ? std::chrono::milliseconds(kFastPoll) : kSlowPoll);
  co_await pending->wakeup.async_wait(kTuple);
  if (!pending->notified) pending->refresh_source = true;
}

Task<bool> Session::follow_logs(std::shared_ptr<PendingReply> pending,
                                const LogStreamRequest& request, std::shared_ptr<LogRead> log,
                                bool chunked) {
  LogWatches watches;
  bool is_complete = false;
  while (true) {
    pending->notified = false;
    if (std::exchange(pending->refresh_source, false)) {
      // First the state, then the files: all output of a finished job is read.
      Answer<LogSource> source = context_->handlers.logs(request.caller, request.id);
      if (!source) co_return true;
      is_complete = source->is_complete;
      log->reader.set_source(std::move(*source));
    }
    const bool written = co_await write_pieces(pending, request, log, chunked);
    if (!written) co_return false;
    if (!request.follow || is_complete) co_return true;
    co_await await_log_change(pending, log, watches);
    if (pending->gone || !is_still_allowed(request.caller)) co_return false;
  }
}

Task<bool> Session::write_logs(LogStreamRequest request, Frame frame) {
  const auto log = std::make_shared<LogRead>(request.file, kPieceSize);
  log->tail = request.tail;
  log->from = parse_position(request.from);
  if (!log->from && !request.from.empty()) {
    const auto detail =
        cat("invalid from ", quoted(request.from), ": use a position that a log returned");
    co_return co_await write(problem_response(problem(400, "bad-request", detail)), frame);
  }
  Answer<LogSource> source = context_->handlers.logs(request.caller, request.id);
  if (!source) co_return co_await write(problem_response(source.error()), frame);
  log->reader.set_source(std::move(*source));

  const bool chunked = frame.version == 11;
  const std::shared_ptr<PendingReply> pending = begin_waiting();
  if (!frame.head && (log->tail || log->from)) {
    const bool found = co_await await_read(pending, log, find_beginning);
    if (!found) co_return false;
  }
  const bool begun = co_await write_stream_head("text/plain; charset=utf-8", frame, request.caller);
  if (!begun) co_return false;
  if (!frame.head) {
    if (request.follow) watch_job_state(pending, request, WaitFor::kEnded);
    if (request.follow && log->reader.folder().empty())
      watch_job_state(pending, request, WaitFor::kRunning);
    const bool written = co_await follow_logs(pending, request, log, chunked);
    if (!written) co_return false;
  }
  stop_waiting();
  if (frame.head) co_return frame.keep_alive&& chunked;
  co_return co_await write_stream_end(frame);
}

}  // namespace tangram::http
