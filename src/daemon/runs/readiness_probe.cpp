// See readiness_probe.hpp.
#include "daemon/runs/readiness_probe.hpp"

#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

struct ReadinessProbe : std::enable_shared_from_this<ReadinessProbe> {
  ReadinessProbe(boost::asio::io_context& loop, ProbeCallback a)
      : stream(loop), callback(std::move(a)) {}

  void connect(std::uint16_t port, std::chrono::milliseconds timeout, std::function<void()> then) {
    stream.expires_after(timeout);
    const boost::asio::ip::tcp::endpoint where(boost::asio::ip::address_v4::loopback(), port);
    stream.async_connect(
        where, [self = shared_from_this(), port, then = std::move(then)](const error_code& error) {
          if (error) {
            self->callback(false, cat("port ", port, ": ", error.message()));
          } else {
            then();
          }
        });
  }

  void get(const std::string& path) {
    request.method(http::verb::get);
    request.target(path);
    request.version(11);
    request.set(http::field::host, "localhost");
    request.set(http::field::connection, "close");
    http::async_write(stream, request,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) {
                          self->callback(false, error.message());
                        } else {
                          self->read();
                        }
                      });
  }

  void read() {
    parser.header_limit(64U << 10U);
    http::async_read_header(
        stream, buffer, parser, [self = shared_from_this()](const error_code& error, std::size_t) {
          const unsigned status = self->parser.get().result_int();
          if (error) {
            self->callback(false, error.message());
          } else {
            self->callback(status >= 200 && status < 400, cat("HTTP status ", status));
          }
        });
  }

  beast::tcp_stream stream;
  beast::flat_buffer buffer{64U << 10U};
  http::request<http::empty_body> request;
  http::response_parser<http::empty_body> parser;
  ProbeCallback callback;
};

}  // namespace

void probe_tcp(boost::asio::io_context& loop, std::uint16_t port, std::chrono::milliseconds timeout,
               ProbeCallback callback) {
  const auto probe = std::make_shared<ReadinessProbe>(loop, std::move(callback));
  probe->connect(port, timeout, [probe] { probe->callback(true, "connected"); });
}

void probe_http(boost::asio::io_context& loop, std::uint16_t port, const std::string& path,
                std::chrono::milliseconds timeout, ProbeCallback callback) {
  const auto probe = std::make_shared<ReadinessProbe>(loop, std::move(callback));
  probe->connect(port, timeout, [probe, path] { probe->get(path); });
}

}  // namespace tangram::daemon
