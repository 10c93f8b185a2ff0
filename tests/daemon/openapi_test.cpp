// docs/openapi.json against the program: it describes exactly the implemented routes, and the
// responses of a real daemon to valid and invalid requests have the documented status and body.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "http/routes/routes.hpp"
#include "node.hpp"
#include "openapi_check.hpp"
#include "tcp_node.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

TEST(OpenApi, HasEveryRouteAndNothingElse) {
  std::set<std::string> implemented;
  for (const http::Route& route : http::routes()) {
    implemented.insert(cat(lower(route.method), " ", route.pattern));
  }
  std::set<std::string> described;
  for (const auto& [path, operations] : openapi_document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      described.insert(cat(std::string_view(method), " ", std::string_view(path)));
    }
  }
  EXPECT_EQ(implemented, described);
}

// Why the value does not match the schema; empty if it does.
std::string schema_error(const json::value& value, const json::value& schema) {
  json::object root{{"allOf", json::array{schema}},
                    {"components", openapi_document().at("components")}};
  const json::value whole(std::move(root));
  valijson::Schema parsed;
  const valijson::adapters::BoostJsonAdapter adapter(whole);
  valijson::SchemaParser().populateSchema(adapter, parsed);
  valijson::ValidationResults results;
  valijson::Validator validator;
  const valijson::adapters::BoostJsonAdapter target(value);
  if (validator.validate(parsed, target, &results)) return "";
  std::string why;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const std::string& part : error.context) why += part;
    why += cat(": ", error.description, "\n");
  }
  return why;
}

// The schema of an operation's request body; nullptr if it has none.
const json::value* request_schema(const std::string& method, const std::string& pattern) {
  const json::object& operation =
      openapi_document().at("paths").at(pattern).at(lower(method)).as_object();
  const json::value* body = operation.if_contains("requestBody");
  return body == nullptr ? nullptr : &body->at("content").at("application/json").at("schema");
}

struct RawResponse {
  int status = 0;
  std::string type;
};

// Makes requests and checks them and their responses against the document.
class CheckedApi {
 public:
  explicit CheckedApi(Node& node) : node_(node) {}

  json::value call(const std::string& method, const std::string& pattern, const std::string& target,
                   int status, const std::optional<json::value>& body = std::nullopt) {
    SCOPED_TRACE(cat(method, " ", target, " ", status));
    add_tested(method, pattern, status);
    if (const json::value* schema = request_schema(method, pattern); body && status < 300) {
      EXPECT_NE(schema, nullptr) << "no request body is documented";
      EXPECT_EQ(schema == nullptr ? "" : schema_error(*body, *schema), "") << *body;
    }
    json::value answer = node_.call(method, target, status, body);
    const json::object* response = documented_response(method, pattern, status);
    EXPECT_NE(response, nullptr) << "this response is not documented";
    if (response == nullptr) return answer;
    const auto content = response->find("content");
    if (content == response->end()) {
      EXPECT_TRUE(answer.is_null()) << answer;
      return answer;
    }
    for (const auto& [type, kind] : content->value().as_object()) {
      EXPECT_EQ(schema_error(answer, kind.at("schema")), "") << answer;
    }
    return answer;
  }
  // A request as raw bytes; also checks the content type of the response.
  void call_raw(const std::string& method, const std::string& target, int status,
                const std::string& headers = "", const std::string& body = "") {
    SCOPED_TRACE(cat(method, " ", target, " ", status));
    const http::testing::RawSocket raw(node_.socket());
    const std::string length = headers.find("Content-Length") == std::string::npos
                                   ? cat("Content-Length: ", body.size(), "\r\n")
                                   : "";
    raw.send(cat(method, " ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", length,
                 headers, "\r\n", body));
    const std::string answer = raw.receive("", 30'000);
    const RawResponse read = parse_response(answer);
    EXPECT_EQ(read.status, status) << answer;
    EXPECT_EQ(undocumented_reason(method, target, read.status, read.type), "") << answer;
    add_tested(method, *pattern_of(target), status);
  }
  void add_tested(const std::string& method, const std::string& pattern, int status) {
    tested_.insert(cat(lower(method), " ", pattern, " ", status));
  }
  [[nodiscard]] const std::set<std::string>& tested() const { return tested_; }

 private:
  static RawResponse parse_response(const std::string& answer) {
    RawResponse read;
    if (answer.size() > 12) read.status = std::atoi(answer.c_str() + 9);
    const std::string key = "Content-Type: ";
    const std::size_t head = answer.find("\r\n\r\n");
    const std::size_t at = answer.find(key);
    if (at < head) {
      const std::size_t end = answer.find("\r\n", at);
      read.type = answer.substr(at + key.size(), end - at - key.size());
    }
    return read;
  }

  Node& node_;
  std::set<std::string> tested_;
};

std::uint64_t id_of(const json::value& object) {
  return object.at("id").to_number<std::uint64_t>();
}

constexpr const char* kJson = "Content-Type: application/json\r\n";

// Refused requests to every route: invalid token, missing rights, unknown object, invalid body.
void call_with_errors(CheckedApi& api, const std::string& reader) {
  for (const http::Route& route : http::routes()) {
    const std::string method(route.method);
    const std::string pattern(route.pattern);
    std::string target = pattern;
    const std::size_t at = target.find("{id}");
    if (at != std::string::npos) target.replace(at, 4, "999");
    if (pattern == "/healthz" || pattern == "/readyz") continue;
    api.call_raw(method, target, 401, "Authorization: Bearer tangram_9_x\r\n");
    const std::string authorization = cat("Authorization: Bearer ", reader, "\r\n");
    if (method != "GET") api.call_raw(method, target, 403, authorization);
    const bool has_body = request_schema(method, pattern) != nullptr;
    if (has_body) {
      api.call_raw(method, target, 415, "Content-Type: text/plain\r\n", "{}");
      api.call_raw(method, target, 400, kJson, "{");
      api.call_raw(method, target, 400, kJson, "[7]");
    }
    api.call_raw(method, target + "?quite=unknown", 400);
    if (at == std::string::npos) continue;
    std::string body = has_body ? "{}" : "";
    if (pattern.ends_with("/signal")) body = R"({"signal":15})";
    api.call_raw(method, target, 404, has_body ? kJson : "", body);
  }
  api.call_raw("POST", "/v1/jobs", 413, cat(kJson, "Content-Length: 5000000\r\n"));
}

// Every GET route, with the content type of its response.
void call_get_routes(CheckedApi& api, std::uint64_t job, std::uint64_t lease) {
  const std::string it = cat("/v1/jobs/", job);
  for (const std::string& target : {std::string("/v1/jobs"),
                                    it,
                                    it + "/logs",
                                    it + "/wait?for=running",
                                    cat("/v1/explain/", job),
                                    std::string("/v1/what-if?profile=1g.5gb"),
                                    std::string("/v1/leases"),
                                    cat("/v1/leases/", lease),
                                    std::string("/v1/gpus"),
                                    std::string("/v1/defrag"),
                                    std::string("/v1/tuning"),
                                    std::string("/v1/events?after=0&follow=false"),
                                    std::string("/v1/history"),
                                    std::string("/v1/usage"),
                                    std::string("/v1/tokens"),
                                    std::string("/v1/status"),
                                    std::string("/v1/node/orphans"),
                                    std::string("/metrics"),
                                    std::string("/healthz"),
                                    std::string("/readyz")}) {
    api.call_raw("GET", target, 200);
  }
}

// Why a documented response is not tested here; empty if it must be.
std::string untested_reason(const std::string& method, const std::string& path, int status) {
  if (status == 202 && path.starts_with("/v1/leases")) {
    return "needs a disk that fails: see lease_disk_test.cpp";
  }
  if (status == 202 && path.starts_with("/v1/node/orphans")) {
    return "needs an orphan: see orphans_test.cpp";
  }
  if (status == 503) return "needs a store that cannot be written or read";
  if (status == 422 && path.ends_with("/renew")) return "needs a limit: see limits_test.cpp";
  if (status == 429) return "needs limits of users: see limits_test.cpp";
  if (status == 403 && method == "get") return "a daemon run by root allows reads to all users";
  if (status == 409 && path == "/v1/tokens") return "needs a thousand tokens: see access_test.cpp";
  return "";
}

// Every documented response was tested.
void expect_all_tested(const CheckedApi& api) {
  for (const auto& [path, operations] : openapi_document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      for (const auto& [status, response] : operation.at("responses").as_object()) {
        const std::string answer = cat(std::string_view(method), " ", std::string_view(path), " ",
                                       std::string_view(status));
        const std::string why =
            untested_reason(std::string(method), std::string(path), std::stoi(std::string(status)));
        EXPECT_TRUE(!why.empty() || api.tested().contains(answer)) << answer;
      }
    }
  }
}

// A request with an unknown parameter is rejected with the list of valid ones.
TEST(OpenApi, ListsTheParametersOfEveryRoute) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  for (const auto& [path, operations] : openapi_document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      if (path == "/healthz" || path == "/readyz") continue;
      std::set<std::string> listed;
      if (const json::value* parameters = operation.as_object().if_contains("parameters")) {
        for (const json::value& each : parameters->as_array()) {
          if (each.at("in") == "query") listed.emplace(each.at("name").as_string());
        }
      }
      std::string target(path);
      if (const auto at = target.find("{id}"); at != std::string::npos) target.replace(at, 4, "1");
      std::string upper(method);
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      const json::value refused = node.call(upper, target + "?zzzzzzzzzzzz=1", 400);
      std::string words(refused.at("detail").as_string());
      words.erase(0, words.find("valid parameters: ") + 18);
      for (const char* sign : {",", "."}) std::erase(words, *sign);
      std::istringstream all(words);
      std::set<std::string> taken;
      for (std::string word; all >> word;) {
        if (word != "and" && word != "none") taken.insert(word);
      }
      EXPECT_EQ(taken, listed) << upper << " " << path << ": " << refused;
    }
  }
}

// A running job and one that waits behind it.
struct Jobs {
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
};

Jobs submit_jobs(Node& node, CheckedApi& api) {
  const auto forever =
      node.job_request("2g.10gb", "exec sleep 1000", {{"labels", {{"team", "a"}}}});
  EXPECT_EQ(
      schema_error(forever, openapi_document().at("components").at("schemas").at("JobRequest")),
      "");
  const std::uint64_t job = id_of(api.call("POST", "/v1/jobs", "/v1/jobs", 201, forever));
  node.await(job, "running");
  api.call("POST", "/v1/jobs", "/v1/jobs", 400, json::object{{"profil", "x"}});
  api.call("POST", "/v1/jobs", "/v1/jobs", 422, node.job_request("9g.99gb", "true"));
  const auto whole = node.job_request("7g.40gb", "true");
  const std::uint64_t waiting = id_of(api.call("POST", "/v1/jobs", "/v1/jobs", 201, whole));
  api.call("GET", "/v1/jobs", "/v1/jobs?all=true", 200);
  api.call("GET", "/v1/jobs", "/v1/jobs?state=lost", 400);
  return {.running = job, .waiting = waiting};
}

void call_jobs(Node& node, CheckedApi& api, const Jobs& jobs) {
  const auto [job, waiting] = jobs;
  const std::string it = cat("/v1/jobs/", job);
  api.call("GET", "/v1/jobs/{id}", it, 200);
  api.call("GET", "/v1/jobs/{id}", "/v1/jobs/99", 404);
  api.call("GET", "/v1/explain/{id}", cat("/v1/explain/", job), 200);
  api.call("GET", "/v1/explain/{id}", cat("/v1/explain/", waiting), 200);
  api.call("GET", "/v1/explain/{id}", "/v1/explain/99", 404);
  api.call("GET", "/v1/what-if", "/v1/what-if?profile=7g.40gb", 200);
  api.call("GET", "/v1/what-if", "/v1/what-if", 400);
  api.call("GET", "/v1/what-if", "/v1/what-if?profile=nine", 422);
  const std::string other = cat("/v1/jobs/", waiting);
  api.call("POST", "/v1/jobs/{id}/hold", other + "/hold", 202);
  api.call("POST", "/v1/jobs/{id}/release", other + "/release", 202);
  api.call("POST", "/v1/jobs/{id}/hold", it + "/hold", 409);
  api.call("POST", "/v1/jobs/{id}/release", it + "/release", 409);
  api.call("POST", "/v1/jobs/{id}/requeue", other + "/requeue", 409);
  api.call("POST", "/v1/jobs/{id}/signal", it + "/signal", 204, json::object{{"signal", "CONT"}});
  api.call("POST", "/v1/jobs/{id}/signal", it + "/signal", 400, json::object{{"signal", "LOUD"}});
  api.call("POST", "/v1/jobs/{id}/signal", other + "/signal", 409, json::object{{"signal", 15}});
  api.call("GET", "/v1/jobs/{id}/wait", it + "/wait?for=running", 200);
  api.call("GET", "/v1/jobs/{id}/wait", it + "/wait?timeout=10ms", 204);
  api.call("GET", "/v1/jobs/{id}/wait", it + "/wait?for=ever", 400);
  api.call("GET", "/v1/jobs/{id}/logs", it + "/logs?stream=both", 400);
  api.call("POST", "/v1/jobs/{id}/requeue", it + "/requeue", 202);
  node.await(job, "running");
  api.call("POST", "/v1/jobs/{id}/cancel", other + "/cancel", 202);
  node.await(waiting, "over");
  api.call("POST", "/v1/jobs/{id}/cancel", other + "/cancel", 409);
}

// An array that waits.
void call_arrays(Node& node, CheckedApi& api) {
  const auto request = node.job_request("7g.40gb", "true", {{"array", "1-3%2"}});
  const std::uint64_t array = id_of(api.call("POST", "/v1/jobs", "/v1/jobs", 201, request));
  const std::string it = cat("/v1/arrays/", array);
  api.call("GET", "/v1/arrays/{id}", it, 200);
  api.call("GET", "/v1/jobs", cat("/v1/jobs?array=", array), 200);
  const auto after =
      json::array{json::object{{"job", static_cast<std::int64_t>(array)}, {"condition", "any"}}};
  const auto waits = node.job_request("7g.40gb", "true", {{"after", after}});
  const std::uint64_t last = id_of(api.call("POST", "/v1/jobs", "/v1/jobs", 201, waits));
  api.call("GET", "/v1/explain/{id}", cat("/v1/explain/", last), 200);
  for (const char* verb : {"hold", "release", "cancel"}) {
    const std::string pattern = cat("/v1/arrays/{id}/", verb);
    const std::string target = cat(it, "/", verb);
    api.call("POST", pattern, target + "?indices=1-2", 202);
    api.call("POST", pattern, target + "?indices=1-2", 409);
    api.call("POST", pattern, target + "?indices=4", 404);
    api.call("POST", pattern, target + "?indices=2-1", 400);
  }
  api.call("POST", "/v1/arrays/{id}/cancel", it + "/cancel", 202);
  node.call("POST", cat("/v1/jobs/", last, "/cancel"), 0);
}

// A service that moves; `job` cannot.
void call_moves(Node& node, CheckedApi& api, std::uint64_t job) {
  const json::object moves{{"kind", "service"},
                           {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                           {"endpoint", {{"mode", "none"}, {"drain", "1s"}}},
                           {"move", {{"way", "replica"}}}};
  const auto service = node.job_request("1g.5gb", "exec sleep 1000", moves);
  EXPECT_EQ(
      schema_error(service, openapi_document().at("components").at("schemas").at("JobRequest")),
      "");
  const std::uint64_t moved = id_of(api.call("POST", "/v1/jobs", "/v1/jobs", 201, service));
  node.await(moved, "running");
  const auto move = [&](std::uint64_t id, int status, const json::value& request) {
    api.call("POST", "/v1/jobs/{id}/move", cat("/v1/jobs/", id, "/move"), status, request);
  };
  const auto to = [](int start) { return json::object{{"to", {{"gpu", 0}, {"start", start}}}}; };
  EXPECT_EQ(
      schema_error(to(0), openapi_document().at("components").at("schemas").at("MoveRequest")), "");
  move(moved, 400, json::object{{"to", 0}});
  move(moved, 409, to(4));  // where the first job is
  move(moved, 422, to(7));
  move(job, 422, json::object{});
  move(99, 404, json::object{});
  move(moved, 202, to(0));
  eventually("the move is done", [&] { return !node.job(moved).at("moving").as_bool(); });
  EXPECT_FALSE(api.call("GET", "/v1/defrag", "/v1/defrag", 200).at("steps").as_array().empty());
  api.call("GET", "/v1/defrag", "/v1/defrag?most=0", 400);
  api.call("GET", "/v1/jobs/{id}", cat("/v1/jobs/", moved), 200);
  api.call("POST", "/v1/jobs/{id}/cancel", cat("/v1/jobs/", moved, "/cancel"), 202);
  node.await(moved, "over");
}

void call_leases(Node& node, CheckedApi& api, std::uint64_t job) {
  const json::object lease{{"profile", "1g.5gb"}, {"key", "k/1"}, {"wait", "0s"}};
  const json::value granted = api.call("POST", "/v1/leases", "/v1/leases", 201, lease);
  api.call("POST", "/v1/leases", "/v1/leases", 200, lease);
  api.call("POST", "/v1/leases", "/v1/leases", 400, json::object{{"ttl", "soon"}});
  api.call("POST", "/v1/leases", "/v1/leases", 409, json::object{{"profile", "7g.40gb"}});
  api.call("POST", "/v1/leases", "/v1/leases", 422, json::object{{"profile", "nine"}});
  const std::string held = cat("/v1/leases/", id_of(granted));
  call_get_routes(api, job, id_of(granted));
  api.call("GET", "/v1/jobs/{id}/logs", cat("/v1/jobs/", id_of(granted), "/logs"), 409);
  api.call("GET", "/v1/leases", "/v1/leases", 200);
  api.call("GET", "/v1/leases", "/v1/leases?key=k/1", 200);
  api.call("GET", "/v1/leases", "/v1/leases?key=k/2", 404);
  api.call("DELETE", "/v1/leases", "/v1/leases?key=k/2", 204);
  api.call("DELETE", "/v1/leases", "/v1/leases", 400);
  api.call("GET", "/v1/leases/{id}", held, 200);
  api.call("GET", "/v1/leases/{id}", "/v1/leases/99", 404);
  api.call("POST", "/v1/leases/{id}/renew", held + "/renew", 200, json::object{{"ttl", "2m"}});
  api.call("DELETE", "/v1/leases", "/v1/leases?key=k/1", 200);
  node.await(id_of(granted), "over");
  api.call("DELETE", "/v1/leases/{id}", held, 200);
  api.call("POST", "/v1/leases/{id}/renew", held + "/renew", 409, json::object{});
  api.call("DELETE", "/v1/leases/{id}", "/v1/leases/99", 404);
}

void call_node(CheckedApi& api) {
  api.call("GET", "/v1/gpus", "/v1/gpus", 200);
  for (const char* verb : {"cordon", "drain", "uncordon"}) {
    api.call("POST", cat("/v1/gpus/{id}/", verb), cat("/v1/gpus/0/", verb), 202);
    api.call("POST", cat("/v1/gpus/{id}/", verb), cat("/v1/gpus/9/", verb), 404);
  }
  api.call("GET", "/v1/tuning", "/v1/tuning", 200);
  api.call("PATCH", "/v1/tuning", "/v1/tuning", 200, json::object{{"threshold", "0.5"}});
  api.call("PATCH", "/v1/tuning", "/v1/tuning", 400, json::object{});
  api.call("PATCH", "/v1/tuning", "/v1/tuning", 422, json::object{{"queue", "lifo"}});
  api.call("GET", "/v1/status", "/v1/status", 200);
  api.call("GET", "/healthz", "/healthz", 200);
  api.call("GET", "/readyz", "/readyz", 200);
  api.call("GET", "/v1/history", "/v1/history", 200);
  api.call("GET", "/v1/history", "/v1/history?since=then", 400);
  api.call("GET", "/v1/usage", "/v1/usage", 200);
  api.call("GET", "/v1/usage", "/v1/usage?until=then", 400);
  api.call("GET", "/v1/usage", "/v1/usage?since=2026-11-17T00:00:00Z&until=2026-11-16T00:00:00Z",
           422);
  api.call("GET", "/v1/events", "/v1/events?after=-1", 400);
}

void call_tokens(Node& node, CheckedApi& api) {
  const json::object token_request{{"name", "ci"}, {"scope", "read"}, {"ttl", "1h"}};
  const json::value token = api.call("POST", "/v1/tokens", "/v1/tokens", 201, token_request);
  api.call("POST", "/v1/tokens", "/v1/tokens", 400, json::object{{"scope", "all"}});
  api.call("GET", "/v1/tokens", "/v1/tokens", 200);
  api.call("DELETE", "/v1/tokens/{id}", cat("/v1/tokens/", id_of(token)), 200);
  api.call("DELETE", "/v1/tokens/{id}", "/v1/tokens/99", 404);

  const json::value reads = node.call("POST", "/v1/tokens", 201, json::object{{"scope", "read"}});
  call_with_errors(api, std::string(reads.at("secret").as_string()));
  const std::string once = cat(kJson, "Idempotency-Key: k\r\n");
  const std::string short_one =
      json::serialize(node.job_request("1g.5gb", "true", {{"hold", true}}));
  for (const int status : {201, 200}) api.call_raw("POST", "/v1/jobs", status, once, short_one);
  const json::object taken{{"kind", "service"}, {"port", int{free_port()}}, {"hold", true}};
  const auto second = node.job_request("1g.5gb", "true", taken);
  api.call("POST", "/v1/jobs", "/v1/jobs", 201, second);
  api.call("POST", "/v1/jobs", "/v1/jobs", 409, second);
}

TEST(OpenApi, DescribesEveryResponse) {
  Node node({.emulate = "1xA100-40GB", .config = "[access]\nslices_per_user = 0\n"});
  node.start();
  CheckedApi api(node);
  const Jobs jobs = submit_jobs(node, api);
  call_jobs(node, api, jobs);
  call_arrays(node, api);
  call_moves(node, api, jobs.running);
  call_leases(node, api, jobs.running);
  call_node(api);
  call_tokens(node, api);
  expect_all_tested(api);
}

}  // namespace
}  // namespace tangram::tests
