// TLS for TCP clients. The bridge terminates TLS in the TlsThread and forwards the bytes to an
// ordinary connection on the event loop through a socket pair, so that there is only one
// implementation of HTTP connections. It does not interpret the bytes; clients are authenticated by
// token in the connection behind it.
#pragma once

#include <functional>
#include <memory>

#include "http/server/connection.hpp"
#include "http/server/tls_keys.hpp"

namespace tangram::http {

class TlsThread;

// Serves HTTP over TLS on a connected TCP socket. Takes ownership of the descriptor.
[[nodiscard]] std::shared_ptr<Connection> serve_tls(int descriptor, const Caller& caller,
                                                    TlsKeys keys,
                                                    std::shared_ptr<ServerContext> context,
                                                    std::shared_ptr<TlsThread> thread,
                                                    ConnectionHooks hooks);

}  // namespace tangram::http
