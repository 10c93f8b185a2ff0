// See tls_keys.hpp.
#include "http/server/tls_keys.hpp"

#include <tuple>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/text.hpp"

namespace tangram::http {
namespace {

namespace ssl = boost::asio::ssl;

std::unexpected<Error> unusable(std::string_view what, const std::string& file,
                                std::string_view why) {
  return failed(cat("cannot load TLS ", what, file.empty() ? "" : cat(" ", tangram::quoted(file)),
                    ": ", why));
}

}  // namespace

Result<TlsKeys> load_keys(const std::string& certificate, const std::string& key) {
  constexpr std::string_view kNone = "no file is configured";
  if (certificate.empty()) return unusable("certificate", certificate, kNone);
  if (key.empty()) return unusable("key", key, kNone);
  auto keys = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const context = keys->native_handle();
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  ::SSL_CTX_set_num_tickets(context, 0);
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // an idle connection is small
  boost::system::error_code status;
  // Without a callback, OpenSSL prompts for the password of an encrypted key on the terminal.
  std::ignore = keys->set_password_callback(
      [](std::size_t, ssl::context::password_purpose) { return ""; }, status);
  if (keys->use_certificate_chain_file(certificate, status)) {
    return unusable("certificate", certificate, status.message());
  }
  if (keys->use_private_key_file(key, ssl::context::pem, status)) {
    return unusable("key", key, status.message());
  }
  if (::SSL_CTX_check_private_key(context) != 1) {
    return unusable("key", key, cat("it does not match the certificate ", certificate));
  }
  ::ERR_clear_error();
  return keys;
}

}  // namespace tangram::http
