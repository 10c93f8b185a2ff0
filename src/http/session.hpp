// Session: how a Connection is made, with Beast and C++20 coroutines. Private to the
// connection*.cpp, because these headers take long to compile. One rule: co_await stands in a
// statement of its own, never in a condition: g++ 12 loses the coroutine's `this` there.
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

#include "http/connection.hpp"
#include "http/exchange.hpp"
#include "http/log_reader.hpp"

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
inline constexpr std::uint32_t kLargestHeader = 8 * 1024;

// What a request waits for: an answer, news of a log, or the client's departure.
struct Pending {
  explicit Pending(const Executor& executor) : bell(executor) {}
  void ring() {
    rung = true;
    bell.cancel();
  }

  Timer bell;
  bool rung = false;
  bool look = true;   // at the daemon, not only at the files
  bool gone = false;  // the client, or the server
  std::optional<Response> response;
  std::vector<std::shared_ptr<void>> tokens;
};

// A log that is being read. The loop and the thread that reads have it in turns.
struct LogDesk {
  LogDesk(std::string file, std::size_t piece_size) : reader(std::move(file)), room(piece_size) {}

  LogReader reader;
  std::vector<char> room;
  std::optional<std::uint64_t> tail;           // where to begin: so many lines before the end,
  std::optional<LogPosition> from;             // there, or at the beginning
  std::optional<LogReader::Piece> piece = {};  // what was read last; none: there is no more now
  bool waits_for_run = false;                  // and only a further run brings more
};

// What rings while a log is followed: changes in the folder of a run, and beside it.
struct LogBells {
  std::string folder;
  std::shared_ptr<void> in_run;
  std::shared_ptr<void> new_runs;
};

class Session : public Connection, public std::enable_shared_from_this<Session> {
 public:
  Session(int descriptor, const Caller& caller, std::shared_ptr<House> house,
          std::function<std::string()> welcome);
  ~Session() override = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  void end() override;
  Task<void> run();

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  // How the answers to a request must be framed.
  struct Frame {
    unsigned version = 11;
    bool keep_alive = true;
    bool head = false;
  };

  // false: the connection is to be closed.
  Task<bool> serve_one();
  Task<bool> await_request();
  Task<bool> read_header(Parser& parser);
  Task<bool> read_body(Parser& parser, const Request& request);
  // Why he may not ask this, said before any of his body is read; none: he may.
  Task<std::optional<Response>> await_admission(Request& request);
  Task<void> await_introduction(const Caller& caller);
  Task<void> await_disk(const Request& request);
  // He has shown a good token, and is a guest from now on; or there is no place for one more.
  [[nodiscard]] std::optional<Response> welcome();
  // What cannot be read: answers it, and the connection is to be closed.
  Task<bool> refuse(const Parser& parser, const Caller& caller, ErrorStatus status);
  Task<bool> refuse(const Parser& parser, const Caller& caller, api::Problem why);
  // The audit log, of what never got to a route and would have changed something.
  void tell(const Parser& parser, const Caller& caller, int status) const;
  Task<bool> carry_out(Outcome outcome, Frame frame);
  Task<bool> write(Response response, Frame frame);
  Task<std::optional<Response>> await_answer(Later later);
  Task<bool> await_bell(std::shared_ptr<Pending> pending, const Later& later);
  Task<bool> write_stream_head(const char* type, Frame frame, const Caller& caller);
  Task<bool> write_stream_end(Frame frame);
  Task<bool> write_text(std::string text, bool chunked);
  Task<bool> write_logs(LogWish wish, Frame frame);
  Task<bool> follow_logs(std::shared_ptr<Pending> pending, const LogWish& wish,
                         std::shared_ptr<LogDesk> desk, bool chunked);
  Task<bool> write_pieces(std::shared_ptr<Pending> pending, const LogWish& wish,
                          std::shared_ptr<LogDesk> desk, bool chunked);
  // In the thread; false: he has left, or the server ends, and the desk is not to be looked at.
  Task<bool> await_reading(std::shared_ptr<Pending> pending, std::shared_ptr<LogDesk> desk,
                           void (*read)(LogDesk&));
  Task<void> await_news(std::shared_ptr<Pending> pending, std::shared_ptr<LogDesk> desk,
                        LogBells& bells);
  Task<bool> write_events(EventWish wish, Frame frame);
  Task<bool> write_pages(std::shared_ptr<Pending> pending, EventWish& wish, bool chunked);
  Task<std::optional<Answer<EventPage>>> await_page(std::shared_ptr<Pending> pending,
                                                    const EventWish& wish);
  Task<void> rest(std::shared_ptr<Pending> pending, Timer::time_point until);
  Task<bool> await_ring(std::shared_ptr<Pending> pending);

  std::shared_ptr<Pending> begin_waiting();
  void stop_waiting();
  // false: the server ends, or the caller's token has expired or was revoked meanwhile.
  [[nodiscard]] bool may_go_on(const Caller& caller) const;
  // From now on, until the answer is over, he is cut off when that is so, also if he does not read.
  void watch_over(const Caller& caller);
  void look_after(const Caller& caller);
  // How long he may do nothing: a caller from afar not for long until he has shown a good token.
  [[nodiscard]] std::chrono::milliseconds patience() const;
  // How long he may stay without one, whatever he does; and whether he has, or has asked often
  // enough.
  [[nodiscard]] std::chrono::milliseconds time_left() const;
  [[nodiscard]] bool is_to_leave() const;
  // From now on until take_time() there is a limit: what is being read is broken off, is_late_ set.
  void hurry();
  void take_time();
  [[nodiscard]] Result<Request> request_of(const Parser& parser) const;
  void ask_for_news(const std::shared_ptr<Pending>& pending, const LogWish& wish, WaitFor what);

  Stream stream_;
  beast::flat_buffer buffer_;
  Caller caller_;
  bool is_stranger_;                      // came over TCP and has not shown a good token yet
  std::function<std::string()> welcome_;  // may be unset
  std::shared_ptr<House> house_;
  Timer::time_point came_ = Timer::clock_type::now();
  std::size_t requests_ = 0;
  Timer clock_;        // of a request that is being read
  unsigned turn_ = 0;  // of the clock
  bool is_late_ = false;
  std::string guest_ = "strangers";  // on whose account bodies and answers are
  std::shared_ptr<void> room_;       // of the body that is being read or answered
  std::shared_ptr<Pending> pending_;
  asio::cancellation_signal departure_;
  std::optional<Timer> guard_;  // of an answer that may last long
  unsigned number_;             // of the connection
};

}  // namespace tangram::http
