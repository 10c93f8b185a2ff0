// See visitors.hpp.
#include "visitors.hpp"

#include <optional>
#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>

#include "base/text.hpp"

namespace tangram::tests {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// One connection to the service, blocking.
class Call {
 public:
  explicit Call(std::uint16_t port) : stream_(loop_) {
    stream_.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), error_);
    if (!error_) stream_.socket().set_option(tcp::no_delay(true), error_);
    // Whoever gets no byte for so long was not served: the blocking calls fail with it.
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      if (error_) break;
      ::setsockopt(stream_.socket().native_handle(), SOL_SOCKET, option, &patience,
                   sizeof patience);
    }
  }

  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] std::string why() const { return error_.message(); }

  // By GET with the number in the query, or by POST with it in a body, as clients of models do.
  struct Question {
    std::string path;
    std::string name;
    std::uint64_t number = 0;
    bool posts = false;
  };
  bool ask(const Question& what, bool keep_alive) {
    http::request<http::string_body> request(what.posts ? http::verb::post : http::verb::get,
                                             what.path, 11);
    request.set(http::field::host, "visitors");
    request.keep_alive(keep_alive);
    if (what.posts) {
      request.set(http::field::content_type, "application/json");
      request.body() = cat("{\"", what.name, "\": ", what.number, "}");
      request.prepare_payload();
    } else {
      request.target(cat(what.path, "?", what.name, "=", what.number));
    }
    http::write(stream_, request, error_);
    return ok();
  }
  // The whole answer.
  std::optional<http::response<http::string_body>> answer() {
    http::response<http::string_body> response;
    http::read(stream_, buffer_, response, error_);
    if (error_) return std::nullopt;
    return response;
  }
  [[nodiscard]] std::size_t too_much() const { return buffer_.size(); }

 private:
  asio::io_context loop_{1};
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  error_code error_;
};

// The run that answered; none if it was not the answer to this question.
std::optional<std::uint64_t> run_in(const http::response<http::string_body>& answer,
                                    std::uint64_t n) {
  if (answer.result() != http::status::ok) return std::nullopt;
  error_code bad;
  const auto said = boost::json::parse(answer.body(), bad);
  if (bad || !said.is_object() || said.at("n") != n) return std::nullopt;
  return said.at("run").to_number<std::uint64_t>();
}

}  // namespace

Visitors::Visitors(const VisitorsOptions& options) : options_(options) {
  for (int i = 0; i < options.keeping; ++i) threads_.emplace_back([this, i] { keep(i); });
  for (int i = 0; i < options.passing; ++i) threads_.emplace_back([this, i] { pass(i); });
  for (int i = 0; i < options.listening; ++i) threads_.emplace_back([this, i] { listen(i); });
}

Visitors::~Visitors() { stop(); }

void Visitors::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Visitors::complain(const std::string& what) {
  ++failures_;
  const std::lock_guard lock(mutex_);
  if (complaints_.size() < 20) complaints_.push_back(what);
}

std::vector<std::string> Visitors::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

// Each at an even pace, as far as the answers allow.
void Visitors::keep(int number) {
  const std::chrono::duration<double> pause((options_.keeping + options_.passing) /
                                            options_.requests_per_second);
  auto due = Clock::now();
  std::uint64_t n = static_cast<std::uint64_t>(number) << 32U;
  std::optional<Call> call;
  while (!stopping_) {
    due = std::max(due, Clock::now() - std::chrono::seconds(1));
    std::this_thread::sleep_until(due += std::chrono::duration_cast<Clock::duration>(pause));
    if (!call) call.emplace(options_.port);
    ++n;
    if (!call->ok() || !call->ask({"/whoami", "n", n, number % 2 == 1}, true)) {
      complain(cat("a kept connection: ", call->why()));
      call.reset();
      continue;
    }
    const auto answer = call->answer();
    const auto run = answer ? run_in(*answer, n) : std::nullopt;
    if (!run || call->too_much() != 0) {
      complain(cat("a kept connection was answered: ",
                   answer ? cat(answer->result_int(), " ", answer->body()) : call->why(),
                   call->too_much() != 0 ? ", and more than that" : ""));
      call.reset();
      continue;
    }
    ++requests;
    if (last_run_.exchange(*run) != *run) ++places;
    if (!answer->keep_alive()) call.reset();  // it may say so
  }
}

void Visitors::pass(int number) {
  const std::chrono::duration<double> pause((options_.keeping + options_.passing) /
                                            options_.requests_per_second);
  auto due = Clock::now();
  std::uint64_t n = static_cast<std::uint64_t>(number + 1'000) << 32U;
  while (!stopping_) {
    due = std::max(due, Clock::now() - std::chrono::seconds(1));
    std::this_thread::sleep_until(due += std::chrono::duration_cast<Clock::duration>(pause));
    ++n;
    Call call(options_.port);
    if (!call.ok() || !call.ask({"/whoami", "n", n, number % 2 == 1}, false)) {
      complain(cat("a new connection: ", call.why()));
      continue;
    }
    const auto answer = call.answer();
    const auto run = answer ? run_in(*answer, n) : std::nullopt;
    if (!run || call.too_much() != 0) {
      complain(cat("a new connection was answered: ",
                   answer ? cat(answer->result_int(), " ", answer->body()) : call.why()));
      continue;
    }
    ++requests;
  }
}

// Every token in its order, and the end.
void Visitors::listen(int number) {
  std::uint64_t draw = static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15ULL + 7;
  while (!stopping_) {
    draw ^= draw << 13U;
    draw ^= draw >> 7U;
    draw ^= draw << 17U;
    const auto span = static_cast<std::uint64_t>((options_.longest - options_.shortest).count());
    const double length = static_cast<double>(options_.shortest.count()) / 1000 +
                          static_cast<double>(draw % (span + 1)) / 1000;
    const int count = std::max(1, static_cast<int>(length * options_.tokens_per_second));
    Call call(options_.port);
    if (!call.ok() ||
        !call.ask({"/generate", "tokens", static_cast<std::uint64_t>(count), number % 2 == 1},
                  false)) {
      complain(cat("a stream could not begin: ", call.why()));
      continue;
    }
    ++listening;
    const auto answer = call.answer();
    --listening;
    if (!answer) {
      complain(cat("a stream broke off: ", call.why()));
      continue;
    }
    std::string expected;
    for (int i = 0; i < count; ++i) {
      expected += cat("data: {\"index\": ", i, ", \"token\": \"t", i, "\"}\n\n");
    }
    if (answer->body() != expected + "data: [DONE]\n\n") {
      complain(cat("a stream of ", count, " tokens was answered ", answer->result_int(), " with ",
                   answer->body().size(), " bytes: ", answer->body().substr(0, 200)));
      continue;
    }
    ++streams;
    tokens += static_cast<std::uint64_t>(count);
  }
}

}  // namespace tangram::tests
