// Session: the implementation of Connection with Beast and C++20 coroutines. Private to the
// connection*.cpp files, because these headers are slow to compile. co_await must be in a statement
// of its own, never in a condition: g++ 12 loses the coroutine's `this` there.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "http/logs/log_reader.hpp"
#include "http/routes/exchange.hpp"
#include "http/server/connection.hpp"

namespace tangram::http {

namespace asio = boost::asio;
namespace beast = boost::beast;

using Executor = asio::io_context::executor_type;
template <class T>
using Task = asio::awaitable<T, Executor>;
using Stream = beast::basic_stream<asio::local::stream_protocol, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;
using ErrorStatus = boost::system::error_code;
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<Executor>> kTuple{};
inline constexpr std::uint32_t kMaxHeaderSize = 8 * 1024;
inline constexpr const char* kUnauthenticatedKey = "unauthenticated";  // shared by all such clients

// PendingReply: the state of a request that waits for a response, for log output or events, or for
// the client to disconnect. Callbacks hold it weakly and wake the coroutine with notify().
struct PendingReply {
  explicit PendingReply(const Executor& executor) : wakeup(executor) {}
  void notify() {
    notified = true;
    wakeup.cancel();
  }

  Timer wakeup;
  bool notified = false;
  bool refresh_source = true;  // the job's LogSource may have changed, not only its files
  bool gone = false;           // the client has disconnected or the server is closing
  std::optional<Response> response;
  std::vector<std::shared_ptr<void>> handles;  // dropped to cancel what was started
};

// LogRead: a log that is being read. Used by the loop and the LogReadThread in turns, never by
// both.
struct LogRead {
  LogRead(std::string file, std::size_t buffer_size)
      : reader(std::move(file)), buffer(buffer_size) {}

  LogReader reader;
  std::vector<char> buffer;
  std::optional<std::uint64_t> tail;           // start this many lines before the end
  std::optional<LogPosition> from;             // or start here; neither: at the beginning
  std::optional<LogReader::Chunk> piece = {};  // last piece read; nullopt: nothing more now
  bool waits_for_run = false;                  // only a further run brings more output
};

// LogWatches: inotify watches of a followed log: the folder of the current run and its parent, in
// which folders of further runs appear. Null if a folder cannot be watched.
struct LogWatches {
  std::string folder;
  std::shared_ptr<void> run_folder;
  std::shared_ptr<void> parent_folder;
};

class Session : public Connection, public std::enable_shared_from_this<Session> {
 public:
  Session(int descriptor, const Caller& caller, std::shared_ptr<ServerContext> context,
          std::function<std::string()> promote);
  ~Session() override = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  void close() override;
  Task<void> run();

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  // How the response to a request must be framed.
  struct Frame {
    unsigned version = 11;
    bool keep_alive = true;
    bool head = false;
  };

  // The functions that return bool return false if the connection is to be closed.
  Task<bool> serve_one();
  Task<bool> await_request();
  Task<bool> read_header(Parser& parser);
  Task<bool> read_body(Parser& parser, const Request& request);
  // Authenticates the request before its body is read. Returns the response that rejects it, or
  // nullopt.
  Task<std::optional<Response>> await_authorization(Request& request);
  Task<void> await_identity(const Caller& caller);
  Task<void> await_durability(const Request& request);
  // Moves the connection to the quota of authenticated clients. Returns a 503 if that is full.
  [[nodiscard]] std::optional<Response> promote();
  // Answers a request that cannot be read; returns false.
  Task<bool> reject(const Parser& parser, const Caller& caller, ErrorStatus status);
  Task<bool> reject(const Parser& parser, const Caller& caller, api::Problem why);
  // Writes an audit record for a request, other than GET or HEAD, that did not reach a route.
  void audit(const Parser& parser, const Caller& caller, int status) const;
  Task<bool> execute(Outcome outcome, Frame frame);
  Task<bool> write(Response response, Frame frame);
  Task<std::optional<Response>> await_response(DeferredResponse deferred);
  Task<bool> await_wakeup(std::shared_ptr<PendingReply> pending, const DeferredResponse& deferred);
  Task<bool> write_stream_head(const char* type, Frame frame, const Caller& caller);
  Task<bool> write_stream_end(Frame frame);
  Task<bool> write_text(std::string text, bool chunked);
  Task<bool> write_logs(LogStreamRequest request, Frame frame);
  Task<bool> follow_logs(std::shared_ptr<PendingReply> pending, const LogStreamRequest& request,
                         std::shared_ptr<LogRead> log, bool chunked);
  Task<bool> write_pieces(std::shared_ptr<PendingReply> pending, const LogStreamRequest& request,
                          std::shared_ptr<LogRead> log, bool chunked);
  // Runs `read` in the LogReadThread. False: the client has disconnected or the server is closing,
  // and `log` may still be in use by the thread.
  Task<bool> await_read(std::shared_ptr<PendingReply> pending, std::shared_ptr<LogRead> log,
                        void (*read)(LogRead&));
  Task<void> await_log_change(std::shared_ptr<PendingReply> pending, std::shared_ptr<LogRead> log,
                              LogWatches& watches);
  Task<bool> write_events(EventStreamRequest request, Frame frame);
  Task<bool> write_pages(std::shared_ptr<PendingReply> pending, EventStreamRequest& request,
                         bool chunked);
  Task<std::optional<Answer<EventPage>>> await_page(std::shared_ptr<PendingReply> pending,
                                                    const EventStreamRequest& request);
  static Task<void> pause_until(std::shared_ptr<PendingReply> pending, Timer::time_point until);
  Task<bool> await_new_events(std::shared_ptr<PendingReply> pending);

  std::shared_ptr<PendingReply> begin_waiting();
  void stop_waiting();
  // Whether the server is open and the caller's token, if any, is still valid.
  [[nodiscard]] bool is_still_allowed(const Caller& caller) const;
  // Checks the token periodically until the response has ended and closes the connection when it is
  // no longer valid, even if the client does not read.
  void start_revalidation(const Caller& caller);
  void schedule_revalidation(const Caller& caller);
  // How long the connection may be idle; shorter for an unauthenticated client.
  [[nodiscard]] std::chrono::milliseconds idle_timeout() const;
  // The lifetime left to an unauthenticated connection; and whether its lifetime or number of
  // requests is used up.
  [[nodiscard]] std::chrono::milliseconds lifetime_left() const;
  [[nodiscard]] bool must_close() const;
  // Limits the time to read a request, header and body, until stop_request_timer(). When it is used
  // up, reading is cancelled and is_timed_out_ is set.
  void start_request_timer();
  void stop_request_timer();
  [[nodiscard]] Result<Request> request_of(const Parser& parser) const;
  void watch_job_state(const std::shared_ptr<PendingReply>& pending,
                       const LogStreamRequest& request, WaitFor what);

  Stream stream_;
  beast::flat_buffer buffer_;
  Caller caller_;
  bool is_unauthenticated_;               // over TCP, no valid token shown yet
  std::function<std::string()> promote_;  // may be unset
  std::shared_ptr<ServerContext> context_;
  Timer::time_point accepted_at_ = Timer::clock_type::now();
  std::size_t requests_ = 0;
  Timer request_timer_;
  unsigned timer_generation_ = 0;  // identifies the current use of request_timer_
  bool is_timed_out_ = false;
  std::string client_key_ = kUnauthenticatedKey;  // whose byte quota is used
  std::shared_ptr<void> body_quota_;              // of the request being read or handled
  std::shared_ptr<PendingReply> pending_;
  asio::cancellation_signal disconnect_signal_;
  std::optional<Timer> revalidation_timer_;  // set during a response that may take long
  unsigned number_;                          // of the connection
};

}  // namespace tangram::http
