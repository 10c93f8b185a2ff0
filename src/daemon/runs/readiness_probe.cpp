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
namespace bhttp = boost::beast::http;
using boost::system::error_code;

struct ReadinessProbe : std::enable_shared_from_this<ReadinessProbe> {
  ReadinessProbe(boost::asio::io_context& loop, ProbeCallback a)
      : stream(loop), callback(std::move(a)) {}

  void connect(const ProbeTarget& target, std::chrono::milliseconds timeout,
               std::function<void()> then) {
    stream.expires_after(timeout);
    const boost::asio::ip::tcp::endpoint where(boost::asio::ip::address_v4::loopback(),
                                               target.port);
    stream.async_connect(where, [self = shared_from_this(), target,
                                 then = std::move(then)](const error_code& error) {
      if (error) {
        self->fail(cat("port ", target.port, ": ", error.message()));
      } else if (self->is_of_user(target)) {
        self->was_answered = true;
        then();
      }
    });
  }

  // False: calls back with the reason.
  bool is_of_user(const ProbeTarget& target) {
    const auto owner = target.socket_owner->of_peer(stream.socket().native_handle());
    if (owner && *owner == target.user) return true;
    if (owner) {
      callback({.foreign_user = *owner,
                .detail = cat("port ", target.port, " is in use by uid ", *owner)});
    } else {
      fail(owner.error().message);
    }
    return false;
  }

  void succeed(std::string detail) const {
    callback({.is_ready = true, .was_answered = true, .detail = std::move(detail)});
  }
  void fail(std::string why) { callback({.was_answered = was_answered, .detail = std::move(why)}); }

  void get(const std::string& path) {
    request.method(bhttp::verb::get);
    request.target(path);
    request.version(11);
    request.set(bhttp::field::host, "localhost");
    request.set(bhttp::field::connection, "close");
    bhttp::async_write(stream, request,
                       [self = shared_from_this()](const error_code& error, std::size_t) {
                         if (error) {
                           self->fail(error.message());
                         } else {
                           self->read();
                         }
                       });
  }

  void read() {
    parser.header_limit(64U << 10U);
    bhttp::async_read_header(stream, buffer, parser,
                             [self = shared_from_this()](const error_code& error, std::size_t) {
                               const unsigned status = self->parser.get().result_int();
                               if (error) {
                                 self->fail(error.message());
                               } else if (status >= 200 && status < 400) {
                                 self->succeed(cat("HTTP status ", status));
                               } else {
                                 self->fail(cat("HTTP status ", status));
                               }
                             });
  }

  beast::tcp_stream stream;
  beast::flat_buffer buffer{64U << 10U};
  bhttp::request<bhttp::empty_body> request;
  bhttp::response_parser<bhttp::empty_body> parser;
  ProbeCallback callback;
  bool was_answered = false;
};

}  // namespace

void probe_tcp(boost::asio::io_context& loop, const ProbeTarget& target,
               std::chrono::milliseconds timeout, ProbeCallback callback) {
  const auto probe = std::make_shared<ReadinessProbe>(loop, std::move(callback));
  probe->connect(target, timeout, [probe] { probe->succeed("connected"); });
}

void probe_http(boost::asio::io_context& loop, const ProbeTarget& target, const std::string& path,
                std::chrono::milliseconds timeout, ProbeCallback callback) {
  const auto probe = std::make_shared<ReadinessProbe>(loop, std::move(callback));
  probe->connect(target, timeout, [probe, path] { probe->get(path); });
}

}  // namespace tangram::daemon
