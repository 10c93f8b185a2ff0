// See error_response.hpp.
#include "endpoint/http/error_response.hpp"

#include <boost/json/serialize.hpp>

#include "api/problem.hpp"
#include "base/text.hpp"

namespace tangram::endpoint {
namespace {

std::string_view title_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Bad Gateway";
  }
}

}  // namespace

std::string error_response(int status, std::string_view kind, std::string_view detail,
                           bool to_head) {
  const std::string_view title = title_of(status);
  const api::Problem problem{.status = status,
                             .type = cat("urn:tangram:", kind),
                             .title = std::string(title),
                             .detail = std::string(detail)};
  const std::string body = boost::json::serialize(api::to_json(problem)) + "\n";
  return cat("HTTP/1.1 ", status, " ", title,
             "\r\nContent-Type: application/problem+json\r\nContent-Length: ", body.size(),
             "\r\nCache-Control: no-store\r\n", status == 503 ? "Retry-After: 1\r\n" : "",
             "Connection: close\r\n\r\n", to_head ? "" : body);
}

}  // namespace tangram::endpoint
