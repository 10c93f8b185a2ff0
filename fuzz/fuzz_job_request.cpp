// Fuzzes job requests: read_job_request() returns an error with a message, or a request that is the
// same after being written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/job.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const boost::json::string_view text(reinterpret_cast<const char*>(data), size);
  boost::json::error_code status;
  const boost::json::value document = boost::json::parse(text, status);
  if (status) return 0;
  const auto request = tangram::api::read_job_request(document);
  if (!request) {
    if (request.error().message.empty()) std::abort();
    return 0;
  }
  if (request->command.empty() || request->labels.size() > 64) std::abort();
  const auto again =
      tangram::api::read_job_request(boost::json::parse(boost::json::serialize(to_json(*request))));
  if (!again || *again != *request) std::abort();
  return 0;
}
