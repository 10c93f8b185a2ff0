// See client_socket.hpp: connecting. The server's certificate must be valid for its host, unless
// the user has disabled verification.
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/text.hpp"
#include "http/client/client_socket.hpp"
#include "os/tcp_address.hpp"

namespace tangram::http {
namespace {

constexpr auto kHandshake = std::chrono::seconds(20);

std::string reason(int number) { return std::generic_category().message(number); }

std::unexpected<Error> unreachable(const std::string& where, std::string_view why) {
  return std::unexpected(Error{ErrorCode::kUnavailable,
                               cat("cannot reach tangramd at ", where, ": ", why,
                                   ". Is it running? Start it (`systemctl start tangramd`, or "
                                   "`./run` for an emulated node), or set its address with "
                                   "TANGRAM_SOCKET or --socket.")});
}

std::string openssl_reason() {
  const char* text = ::ERR_reason_error_string(::ERR_peek_last_error());
  return text == nullptr ? "unknown reason" : text;
}

bool is_number(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// A BIO of our own: OpenSSL's socket BIO uses write(), which can kill the process with SIGPIPE.
int fd_of(BIO* bio) { return *static_cast<const int*>(::BIO_get_data(bio)); }

int bio_result(BIO* bio, ssize_t count, bool reading) {
  ::BIO_clear_retry_flags(bio);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (reading)
      BIO_set_retry_read(bio);
    else
      BIO_set_retry_write(bio);
  }
  return static_cast<int>(count);
}
int bio_write(BIO* bio, const char* data, int size) {
  const auto bytes = static_cast<std::size_t>(size);
  return bio_result(bio, ::send(fd_of(bio), data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL), false);
}
int bio_read(BIO* bio, char* data, int size) {
  return bio_result(bio, ::recv(fd_of(bio), data, static_cast<std::size_t>(size), MSG_DONTWAIT),
                    true);
}
long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*data*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// `fd` must outlive the BIO.
BIO* bio_of(int& fd) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tangram");
    ::BIO_meth_set_write(made, bio_write);
    ::BIO_meth_set_read(made, bio_read);
    ::BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  BIO* bio = ::BIO_new(method);
  ::BIO_set_data(bio, &fd);
  ::BIO_set_init(bio, 1);
  return bio;
}

// Connects to the first address of the host that accepts.
Result<int> connect_tcp(const os::TcpAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  const std::string where = cat(os::kHttps, address.text());
  if (status != 0) return unreachable(where, ::gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  int why = 0;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    const int fd = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
    if (fd >= 0 && ::connect(fd, each->ai_addr, each->ai_addrlen) == 0) {
      const int one = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      return fd;
    }
    why = errno;
    if (fd >= 0) ::close(fd);
  }
  return unreachable(where, reason(why));
}

}  // namespace

Result<void> ClientSocket::connect_unix(const std::string& path) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return invalid(cat("invalid socket path ", tangram::quoted(path), ": use 1 to ",
                       sizeof address.sun_path - 1, " bytes"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  int status = 0;
  do {
    status = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (status != 0 && errno == EINTR);
  if (status != 0) return unreachable(path, reason(errno));
  return {};
}

std::string ClientSocket::tls_reason(const Status& failure) const {
  const long verdict = ::SSL_get_verify_result(ssl_.get());
  if (verdict != X509_V_OK) return ::X509_verify_cert_error_string(verdict);
  if (failure == boost::asio::error::eof || failure.value() == ECONNRESET) {
    return "closed by the server. If it is a tangramd, its limit of new connections was reached: "
           "try again in a few seconds";
  }
  return failure.value() == EPROTO ? openssl_reason() : reason(failure.value());
}

Result<void> ClientSocket::start_tls(const std::string& host, const ClientOptions& options) {
  ::ERR_clear_error();
  context_.reset(::SSL_CTX_new(::TLS_client_method()));
  SSL_CTX* const context = context_.get();
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const bool trusts = options.ca_file.empty()
                          ? ::SSL_CTX_set_default_verify_paths(context) == 1
                          : ::SSL_CTX_load_verify_file(context, options.ca_file.c_str()) == 1;
  if (!trusts) {
    return invalid(cat("cannot read CA certificates from ", tangram::quoted(options.ca_file), ": ",
                       openssl_reason()));
  }
  ssl_.reset(::SSL_new(context));
  SSL* const ssl = ssl_.get();
  BIO* const bio = bio_of(fd_);
  ::SSL_set_bio(ssl, bio, bio);
  ::SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (is_number(host)) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str());
  } else {
    ::SSL_set1_host(ssl, host.c_str());
    SSL_set_tlsext_host_name(ssl, host.c_str());
  }
  set_timeout(kHandshake);
  Status status;
  transfer_handshake(status);
  if (!status) return {};
  const std::string why = tls_reason(status);
  ssl_.reset();
  return failed(cat("TLS handshake with ", host, " failed: ", why));
}

Result<std::unique_ptr<ClientSocket>> ClientSocket::connect(const std::string& where,
                                                            const ClientOptions& options,
                                                            int stop) {
  using Made = std::unique_ptr<ClientSocket>;
  if (where.find("://") == std::string::npos) {
    Made made(new ClientSocket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), stop));
    if (auto ok = made->connect_unix(where); !ok) return std::unexpected(ok.error());
    return made;
  }
  const auto address = os::parse_url(where);
  if (!address) return std::unexpected(address.error());
  const auto fd = connect_tcp(*address);
  if (!fd) return std::unexpected(fd.error());
  Made made(new ClientSocket(*fd, stop));
  if (auto ok = made->start_tls(address->host, options); !ok) return std::unexpected(ok.error());
  return made;
}

}  // namespace tangram::http
