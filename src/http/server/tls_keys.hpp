// The server's TLS certificate and private key. Files that cannot be used are rejected when they
// are loaded, with file and reason, not when a client connects.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "base/error.hpp"

namespace tangram::http {

using TlsKeys = std::shared_ptr<boost::asio::ssl::context>;

// Loads PEM files: the certificate chain and its private key.
[[nodiscard]] Result<TlsKeys> load_keys(const std::string& certificate, const std::string& key);

}  // namespace tangram::http
