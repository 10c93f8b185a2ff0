// The front for callers from afar: it speaks TLS with them and passes the bytes on to an ordinary
// connection through a pair of sockets, so that there is one kind of connection behind it. One
// rule: it understands nothing of what it passes on; who a caller is, his token says.
#pragma once

#include <functional>
#include <memory>

#include "http/connection.hpp"
#include "http/tls_keys.hpp"

namespace tangram::http {

// Takes the descriptor, of a TCP connection. `over` is called once, when it has ended.
[[nodiscard]] std::shared_ptr<Connection> serve_tls(int descriptor, const Caller& caller,
                                                    TlsKeys keys, std::shared_ptr<House> house,
                                                    std::function<void()> over);

}  // namespace tangram::http
