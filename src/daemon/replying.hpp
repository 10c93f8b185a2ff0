// From what a Reader found to what a caller is told. One rule: a look that could not be made is a
// 503 with its reason.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "daemon/problems.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

[[nodiscard]] inline api::Problem too_busy() {
  return unavailable("too many such questions are being worked on; try again in a moment.");
}

template <class T>
[[nodiscard]] std::function<void(Result<T>)> replying(http::Reply<T> reply) {
  return [reply = std::move(reply)](Result<T> found) {
    if (found) {
      reply(*std::move(found));
    } else {
      reply(std::unexpected(unavailable(found.error().message)));
    }
  };
}

}  // namespace tangram::daemon
