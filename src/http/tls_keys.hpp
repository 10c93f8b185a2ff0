// The certificate and the key with which the daemon shows over TLS who it is. One rule: what cannot
// be used is refused when it is loaded, with the file and the reason, not when someone connects.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"

namespace boost::asio::ssl {
class context;
}

namespace tangram::http {

using TlsKeys = std::shared_ptr<boost::asio::ssl::context>;

// Of PEM files: the certificate with those that vouch for it, and its key.
[[nodiscard]] Result<TlsKeys> load_keys(const std::string& certificate, const std::string& key);

}  // namespace tangram::http
