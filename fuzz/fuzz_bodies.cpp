// Fuzzes every reader of JSON on the wire: each returns an error with a message, or a value that is
// the same after being written and read again.
#include <cstdint>
#include <cstdlib>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "api/endpoint_spec.hpp"
#include "api/event.hpp"
#include "api/explanation.hpp"
#include "api/history.hpp"
#include "api/job.hpp"
#include "api/lease.hpp"
#include "api/move.hpp"
#include "api/node.hpp"
#include "api/problem.hpp"
#include "api/token.hpp"
#include "api/tuning.hpp"

namespace {

namespace api = tangram::api;
namespace json = boost::json;

template <class Read>
void check(const json::value& document, Read read) {
  const auto value = read(document);
  if (!value) {
    if (value.error().message.empty()) std::abort();
    return;
  }
  // Writing a job without a name gives it that of its command, so compare the second round trip.
  const auto again = read(json::parse(json::serialize(to_json(*value))));
  if (!again) std::abort();
  const std::string text = json::serialize(to_json(*again));
  const auto last = read(json::parse(text));
  if (!last || json::serialize(to_json(*last)) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const json::string_view text(reinterpret_cast<const char*>(data), size);
  json::error_code status;
  const json::value document = json::parse(text, status);
  if (status) return 0;
  check(document, api::read_job_view);
  check(document, api::read_gpu_view);
  check(document, api::read_status_view);
  check(document, api::read_lease_request);
  check(document, api::read_lease_view);
  check(document, api::read_move_request);
  check(document, api::read_defrag_plan);
  check(document, api::read_endpoint_spec);
  check(document, api::read_endpoint_counts);
  check(document, api::read_event_view);
  check(document, api::read_explanation);
  check(document, api::read_what_if);
  check(document, api::read_tuning_view);
  check(document, api::read_tuning_change);
  check(document, api::read_history_page);
  check(document, api::read_usage);
  check(document, api::read_token_request);
  check(document, api::read_token_view);
  check(document, api::read_problem);
  if (const auto ttl = api::read_renewal(document); !ttl && ttl.error().message.empty()) {
    std::abort();
  }
  return 0;
}
