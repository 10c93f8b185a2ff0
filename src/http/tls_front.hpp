// The front for callers from afar: it speaks TLS with them and passes the bytes on to an ordinary
// connection through a pair of sockets, so that there is one kind of connection behind it. TLS is
// spoken in a thread of its own, the TlsHall. One rule: it understands nothing of what it passes
// on; who a caller is, his token says.
#pragma once

#include <functional>
#include <memory>

#include "http/connection.hpp"
#include "http/tls_keys.hpp"

namespace tangram::http {

class TlsHall;

// Takes the descriptor, of a TCP connection.
[[nodiscard]] std::shared_ptr<Connection> serve_tls(int descriptor, const Caller& caller,
                                                    TlsKeys keys, std::shared_ptr<House> house,
                                                    std::shared_ptr<TlsHall> hall, Hooks hooks);

}  // namespace tangram::http
