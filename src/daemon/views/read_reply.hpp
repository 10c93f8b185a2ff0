// Replies with the result of a HistoryReader query: a query that failed is a 503 with its reason.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "daemon/access/problems.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

[[nodiscard]] inline api::Problem too_busy() {
  return unavailable("too many queries in progress: retry in a moment.");
}

template <class T>
[[nodiscard]] std::function<void(Result<T>)> reply_with(http::Reply<T> reply) {
  return [reply = std::move(reply)](Result<T> found) {
    if (found) {
      reply(*std::move(found));
    } else {
      reply(std::unexpected(unavailable(found.error().message)));
    }
  };
}

}  // namespace tangram::daemon
