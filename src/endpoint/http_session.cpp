// A session of http mode; for now by connection, as in tcp mode.
#include "endpoint/session.hpp"

namespace tangram::endpoint {

std::shared_ptr<Session> make_http_session(House& house, Arrival arrival) {
  return make_tcp_session(house, std::move(arrival));
}

}  // namespace tangram::endpoint
