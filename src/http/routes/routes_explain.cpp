// The routes for explanations and what-if questions; see routes.cpp for the table.
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

Result<api::WhatIfQuestion> question_in(const Query& query) {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  if (auto ok = query.allow_only({"profile", "gpu_memory"}); !ok) {
    return std::unexpected(ok.error());
  }
  api::WhatIfQuestion question;
  question.profile = query.text("profile").value_or("");
  if (const auto text = query.text("gpu_memory")) {
    const auto bytes = api::parse_bytes(*text);
    if (!bytes) return invalid(cat("gpu_memory: ", bytes.error().message));
    question.gpu_memory_mib = (*bytes + kMib - 1) / kMib;
  }
  if (question.profile.empty() != question.gpu_memory_mib.has_value()) {
    return invalid("use either profile (e.g. 2g.10gb) or gpu_memory (e.g. 8GiB)");
  }
  return question;
}

}  // namespace

Outcome get_explanation(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return defer([&handlers, caller = request.caller, id = request.id](Respond respond) {
    handlers.explain(caller, id, respond_with<api::Explanation>(std::move(respond)));
  });
}

Outcome get_what_if(const ApiHandlers& handlers, const Request& request) {
  const auto question = question_in(request.query);
  if (!question) return bad_request(question.error());
  return response_of(handlers.what_if(request.caller, *question));
}

}  // namespace tangram::http
