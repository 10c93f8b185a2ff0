// See move_load.hpp.
#include "move_load.hpp"

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

// A blocking connection to the service.
class Connection {
 public:
  explicit Connection(std::uint16_t port) : stream_(loop_) {
    stream_.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), error_);
    if (!error_) stream_.socket().set_option(tcp::no_delay(true), error_);
    // Reads and writes fail if no byte is transferred for this long.
    const timeval timeout{.tv_sec = 30, .tv_usec = 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      if (error_) break;
      ::setsockopt(stream_.socket().native_handle(), SOL_SOCKET, option, &timeout, sizeof timeout);
    }
  }

  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] std::string error() const { return error_.message(); }

  // A GET with the number in the query, or a POST with it in the body, as clients of models send.
  struct Query {
    std::string path;
    std::string name;
    std::uint64_t number = 0;
    bool is_post = false;
  };
  bool send(const Query& query, bool keep_alive) {
    http::request<http::string_body> request(query.is_post ? http::verb::post : http::verb::get,
                                             query.path, 11);
    request.set(http::field::host, "move-load");
    request.keep_alive(keep_alive);
    if (query.is_post) {
      request.set(http::field::content_type, "application/json");
      request.body() = cat("{\"", query.name, "\": ", query.number, "}");
      request.prepare_payload();
    } else {
      request.target(cat(query.path, "?", query.name, "=", query.number));
    }
    http::write(stream_, request, error_);
    return ok();
  }
  std::optional<http::response<http::string_body>> read_response() {
    http::response<http::string_body> response;
    http::read(stream_, buffer_, response, error_);
    if (error_) return std::nullopt;
    return response;
  }
  // Bytes received after the response.
  [[nodiscard]] std::size_t excess() const { return buffer_.size(); }

 private:
  asio::io_context loop_{1};
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  error_code error_;
};

// The run that sent the response; nullopt if it does not answer the request with number n.
std::optional<std::uint64_t> run_in(const http::response<http::string_body>& response,
                                    std::uint64_t n) {
  if (response.result() != http::status::ok) return std::nullopt;
  error_code bad;
  const auto body = boost::json::parse(response.body(), bad);
  if (bad || !body.is_object() || body.at("n") != n) return std::nullopt;
  return body.at("run").to_number<std::uint64_t>();
}

}  // namespace

MoveLoad::MoveLoad(const MoveLoadOptions& options) : options_(options) {
  for (int i = 0; i < options.keep_alive_clients; ++i) {
    threads_.emplace_back([this, i] { run_keep_alive(i); });
  }
  for (int i = 0; i < options.one_shot_clients; ++i) {
    threads_.emplace_back([this, i] { run_one_shot(i); });
  }
  for (int i = 0; i < options.stream_clients; ++i) {
    threads_.emplace_back([this, i] { run_streams(i); });
  }
}

MoveLoad::~MoveLoad() { stop(); }

void MoveLoad::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void MoveLoad::add_failure(const std::string& message) {
  ++failures_;
  const std::lock_guard lock(mutex_);
  if (failure_messages_.size() < 20) failure_messages_.push_back(message);
}

std::vector<std::string> MoveLoad::failure_messages() const {
  const std::lock_guard lock(mutex_);
  return failure_messages_;
}

// Requests are sent at a constant rate unless answers take longer.
void MoveLoad::run_keep_alive(int number) {
  const std::chrono::duration<double> pause(
      (options_.keep_alive_clients + options_.one_shot_clients) / options_.requests_per_second);
  auto due = Clock::now();
  std::uint64_t n = static_cast<std::uint64_t>(number) << 32U;
  std::optional<Connection> connection;
  while (!stopping_) {
    due = std::max(due, Clock::now() - std::chrono::seconds(1));
    std::this_thread::sleep_until(due += std::chrono::duration_cast<Clock::duration>(pause));
    if (!connection) connection.emplace(options_.port);
    ++n;
    if (!connection->ok() || !connection->send({"/whoami", "n", n, number % 2 == 1}, true)) {
      add_failure(cat("keep-alive connection: ", connection->error()));
      connection.reset();
      continue;
    }
    const auto response = connection->read_response();
    const auto run = response ? run_in(*response, n) : std::nullopt;
    if (!run || connection->excess() != 0) {
      add_failure(
          cat("keep-alive connection received: ",
              response ? cat(response->result_int(), " ", response->body()) : connection->error(),
              connection->excess() != 0 ? " and excess bytes" : ""));
      connection.reset();
      continue;
    }
    ++requests;
    if (last_run_.exchange(*run) != *run) ++run_changes;
    if (!response->keep_alive()) connection.reset();  // which the service may ask for
  }
}

void MoveLoad::run_one_shot(int number) {
  const std::chrono::duration<double> pause(
      (options_.keep_alive_clients + options_.one_shot_clients) / options_.requests_per_second);
  auto due = Clock::now();
  std::uint64_t n = static_cast<std::uint64_t>(number + 1'000) << 32U;
  while (!stopping_) {
    due = std::max(due, Clock::now() - std::chrono::seconds(1));
    std::this_thread::sleep_until(due += std::chrono::duration_cast<Clock::duration>(pause));
    ++n;
    Connection connection(options_.port);
    if (!connection.ok() || !connection.send({"/whoami", "n", n, number % 2 == 1}, false)) {
      add_failure(cat("new connection: ", connection.error()));
      continue;
    }
    const auto response = connection.read_response();
    const auto run = response ? run_in(*response, n) : std::nullopt;
    if (!run || connection.excess() != 0) {
      add_failure(
          cat("new connection received: ",
              response ? cat(response->result_int(), " ", response->body()) : connection.error()));
      continue;
    }
    ++requests;
  }
}

void MoveLoad::run_streams(int number) {
  std::uint64_t draw = static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15ULL + 7;
  while (!stopping_) {
    draw ^= draw << 13U;
    draw ^= draw >> 7U;
    draw ^= draw << 17U;
    const auto span =
        static_cast<std::uint64_t>((options_.longest_stream - options_.shortest_stream).count());
    const double length = static_cast<double>(options_.shortest_stream.count()) / 1000 +
                          static_cast<double>(draw % (span + 1)) / 1000;
    const int count = std::max(1, static_cast<int>(length * options_.tokens_per_second));
    Connection connection(options_.port);
    if (!connection.ok() ||
        !connection.send(
            {"/generate", "tokens", static_cast<std::uint64_t>(count), number % 2 == 1}, false)) {
      add_failure(cat("stream did not start: ", connection.error()));
      continue;
    }
    ++open_streams;
    const auto response = connection.read_response();
    --open_streams;
    if (!response) {
      add_failure(cat("stream was cut: ", connection.error()));
      continue;
    }
    std::string expected;
    for (int i = 0; i < count; ++i) {
      expected += cat("data: {\"index\": ", i, R"(, "token": "t)", i, "\"}\n\n");
    }
    if (response->body() != expected + "data: [DONE]\n\n") {
      add_failure(cat("stream of ", count, " tokens: received ", response->result_int(), " with ",
                      response->body().size(), " bytes: ", response->body().substr(0, 200)));
      continue;
    }
    ++streams;
    tokens += static_cast<std::uint64_t>(count);
  }
}

}  // namespace tangram::tests
