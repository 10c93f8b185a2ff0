// docs/openapi.json against the program: every route is in it and nothing else is; and the answers
// of a real daemon, to questions that go right and wrong, are as it says, status and body. One
// rule: an answer that the document does not describe is a mistake of one of the two.
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
#include "contract.hpp"
#include "http/client.hpp"
#include "http/raw_socket.hpp"
#include "http/routes.hpp"
#include "node.hpp"
#include "tcp_node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

TEST(OpenApi, HasEveryRouteAndNothingElse) {
  std::set<std::string> served;
  for (const http::Route& route : http::routes()) {
    served.insert(cat(lower(route.method), " ", route.pattern));
  }
  std::set<std::string> described;
  for (const auto& [path, operations] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      described.insert(cat(std::string_view(method), " ", std::string_view(path)));
    }
  }
  EXPECT_EQ(served, described);
}

// Why the value is not as the schema says; empty if it is.
std::string differs(const json::value& value, const json::value& schema) {
  json::object root{{"allOf", json::array{schema}}, {"components", document().at("components")}};
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

// What a request must be, if the document asks for one.
const json::value* request_of(const std::string& method, const std::string& pattern) {
  const json::object& operation = document().at("paths").at(pattern).at(lower(method)).as_object();
  const json::value* body = operation.if_contains("requestBody");
  return body == nullptr ? nullptr : &body->at("content").at("application/json").at("schema");
}

struct RawAnswer {
  int status = 0;
  std::string type;
};

// Asks, and holds question and answer against the document.
class Contract {
 public:
  explicit Contract(Node& node) : node_(node) {}

  json::value ask(const std::string& method, const std::string& pattern, const std::string& target,
                  int status, const std::optional<json::value>& body = std::nullopt) {
    SCOPED_TRACE(cat(method, " ", target, " ", status));
    saw(method, pattern, status);
    if (const json::value* wanted = request_of(method, pattern); body && status < 300) {
      EXPECT_NE(wanted, nullptr) << "the document has no body there";
      EXPECT_EQ(wanted == nullptr ? "" : differs(*body, *wanted), "") << *body;
    }
    json::value answer = node_.ask(method, target, status, body);
    const json::object* response = described(method, pattern, status);
    EXPECT_NE(response, nullptr) << "the document has no such answer";
    if (response == nullptr) return answer;
    const auto content = response->find("content");
    if (content == response->end()) {
      EXPECT_TRUE(answer.is_null()) << answer;
      return answer;
    }
    for (const auto& [type, kind] : content->value().as_object()) {
      EXPECT_EQ(differs(answer, kind.at("schema")), "") << answer;
    }
    return answer;
  }
  // Byte by byte, with the content type.
  void ask_raw(const std::string& method, const std::string& target, int status,
               const std::string& headers = "", const std::string& body = "") {
    SCOPED_TRACE(cat(method, " ", target, " ", status));
    const http::testing::Raw raw(node_.socket());
    const std::string length = headers.find("Content-Length") == std::string::npos
                                   ? cat("Content-Length: ", body.size(), "\r\n")
                                   : "";
    raw.say(cat(method, " ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", length,
                headers, "\r\n", body));
    const std::string answer = raw.hear("", 30'000);
    const RawAnswer read = read_answer(answer);
    EXPECT_EQ(read.status, status) << answer;
    EXPECT_EQ(undocumented(method, target, read.status, read.type), "") << answer;
    saw(method, *pattern_of(target), status);
  }
  void saw(const std::string& method, const std::string& pattern, int status) {
    seen_.insert(cat(lower(method), " ", pattern, " ", status));
  }
  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

 private:
  static RawAnswer read_answer(const std::string& answer) {
    RawAnswer read;
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
  std::set<std::string> seen_;
};

std::uint64_t id_of(const json::value& object) {
  return object.at("id").to_number<std::uint64_t>();
}

constexpr const char* kJson = "Content-Type: application/json\r\n";

// Whoever is not known, may only look, names what there is not, or sends what is no JSON, at every
// route.
void refusals(Contract& api, const std::string& reader) {
  for (const http::Route& route : http::routes()) {
    const std::string method(route.method);
    const std::string pattern(route.pattern);
    std::string target = pattern;
    const std::size_t at = target.find("{id}");
    if (at != std::string::npos) target.replace(at, 4, "999");
    if (pattern == "/healthz" || pattern == "/readyz") continue;
    api.ask_raw(method, target, 401, "Authorization: Bearer tangram_9_x\r\n");
    const std::string shown = cat("Authorization: Bearer ", reader, "\r\n");
    if (method != "GET") api.ask_raw(method, target, 403, shown);
    const bool has_body = request_of(method, pattern) != nullptr;
    if (has_body) {
      api.ask_raw(method, target, 415, "Content-Type: text/plain\r\n", "{}");
      api.ask_raw(method, target, 400, kJson, "{");
      api.ask_raw(method, target, 400, kJson, "[7]");
    }
    api.ask_raw(method, target + "?quite=unknown", 400);
    if (at == std::string::npos) continue;
    api.ask_raw(method, target, 404, has_body ? kJson : "",
                pattern.ends_with("/signal") ? R"({"signal":15})"
                : has_body                   ? "{}"
                                             : "");
  }
  api.ask_raw("POST", "/v1/jobs", 413, cat(kJson, "Content-Length: 5000000\r\n"));
}

// Each look, with the type of what comes.
void looks(Contract& api, std::uint64_t job, std::uint64_t lease) {
  const std::string it = cat("/v1/jobs/", job);
  for (const std::string& target :
       {std::string("/v1/jobs"), it, it + "/logs", it + "/wait?for=running",
        cat("/v1/explain/", job), std::string("/v1/what-if?profile=1g.5gb"),
        std::string("/v1/leases"), cat("/v1/leases/", lease), std::string("/v1/gpus"),
        std::string("/v1/defrag"), std::string("/v1/tuning"),
        std::string("/v1/events?after=0&follow=false"), std::string("/v1/history"),
        std::string("/v1/usage"), std::string("/v1/tokens"), std::string("/v1/status"),
        std::string("/metrics"), std::string("/healthz"), std::string("/readyz")}) {
    api.ask_raw("GET", target, 200);
  }
}

// Answers that are not asked for here, and why; empty: it must be.
std::string elsewhere(const std::string& method, const std::string& path, int status) {
  if (status == 202 && path.starts_with("/v1/leases")) {
    return "needs a disk that fails: see lease_disk_test.cpp";
  }
  if (status == 503) return "needs a store that cannot be written or read";
  if (status == 429) return "needs limits of users: see limits_test.cpp";
  if (status == 403 && method == "get") return "a daemon of root's lets everybody look";
  if (status == 409 && path == "/v1/tokens") return "needs a thousand tokens: see access_test.cpp";
  return "";
}

// What the document promises was asked for, each of it.
void expect_all_seen(const Contract& api) {
  for (const auto& [path, operations] : document().at("paths").as_object()) {
    for (const auto& [method, operation] : operations.as_object()) {
      for (const auto& [status, response] : operation.at("responses").as_object()) {
        const std::string answer = cat(std::string_view(method), " ", std::string_view(path), " ",
                                       std::string_view(status));
        const std::string why =
            elsewhere(std::string(method), std::string(path), std::stoi(std::string(status)));
        EXPECT_TRUE(!why.empty() || api.seen().contains(answer)) << answer;
      }
    }
  }
}

// The names that a route takes are told to whoever gives another.
TEST(OpenApi, ParametersAreThoseItLists) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  for (const auto& [path, operations] : document().at("paths").as_object()) {
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
      const json::value refused = node.ask(upper, target + "?zzzzzzzzzzzz=1", 400);
      std::string words(refused.at("detail").as_string());
      words.erase(0, words.find("there are: ") + 11);
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

TEST(OpenApi, AnswersAreAsItSays) {
  Node node({.emulate = "1xA100-40GB", .config = "[access]\nslices_per_user = 0\n"});
  node.start();
  Contract api(node);
  const auto forever = node.request("2g.10gb", "exec sleep 1000", {{"labels", {{"team", "a"}}}});
  EXPECT_EQ(differs(forever, document().at("components").at("schemas").at("JobRequest")), "");
  const std::uint64_t job = id_of(api.ask("POST", "/v1/jobs", "/v1/jobs", 201, forever));
  node.await(job, "running");
  api.ask("POST", "/v1/jobs", "/v1/jobs", 400, json::object{{"profil", "x"}});
  api.ask("POST", "/v1/jobs", "/v1/jobs", 422, node.request("9g.99gb", "true"));
  const auto whole = node.request("7g.40gb", "true");
  const std::uint64_t waiting = id_of(api.ask("POST", "/v1/jobs", "/v1/jobs", 201, whole));
  api.ask("GET", "/v1/jobs", "/v1/jobs?all=true", 200);
  api.ask("GET", "/v1/jobs", "/v1/jobs?state=lost", 400);
  const std::string it = cat("/v1/jobs/", job);
  api.ask("GET", "/v1/jobs/{id}", it, 200);
  api.ask("GET", "/v1/jobs/{id}", "/v1/jobs/99", 404);
  api.ask("GET", "/v1/explain/{id}", cat("/v1/explain/", job), 200);
  api.ask("GET", "/v1/explain/{id}", cat("/v1/explain/", waiting), 200);
  api.ask("GET", "/v1/explain/{id}", "/v1/explain/99", 404);
  api.ask("GET", "/v1/what-if", "/v1/what-if?profile=7g.40gb", 200);
  api.ask("GET", "/v1/what-if", "/v1/what-if", 400);
  api.ask("GET", "/v1/what-if", "/v1/what-if?profile=nine", 422);
  const std::string other = cat("/v1/jobs/", waiting);
  api.ask("POST", "/v1/jobs/{id}/hold", other + "/hold", 202);
  api.ask("POST", "/v1/jobs/{id}/release", other + "/release", 202);
  api.ask("POST", "/v1/jobs/{id}/hold", it + "/hold", 409);
  api.ask("POST", "/v1/jobs/{id}/release", it + "/release", 409);
  api.ask("POST", "/v1/jobs/{id}/signal", it + "/signal", 204, json::object{{"signal", "CONT"}});
  api.ask("POST", "/v1/jobs/{id}/signal", it + "/signal", 400, json::object{{"signal", "LOUD"}});
  api.ask("POST", "/v1/jobs/{id}/signal", other + "/signal", 409, json::object{{"signal", 15}});
  api.ask("GET", "/v1/jobs/{id}/wait", it + "/wait?for=running", 200);
  api.ask("GET", "/v1/jobs/{id}/wait", it + "/wait?timeout=10ms", 204);
  api.ask("GET", "/v1/jobs/{id}/wait", it + "/wait?for=ever", 400);
  api.ask("GET", "/v1/jobs/{id}/logs", it + "/logs?stream=both", 400);

  const json::object lease{{"profile", "1g.5gb"}, {"key", "k/1"}, {"wait", "0s"}};
  api.ask("POST", "/v1/jobs/{id}/cancel", other + "/cancel", 202);
  node.await(waiting, "over");
  api.ask("POST", "/v1/jobs/{id}/cancel", other + "/cancel", 409);

  const json::object moves{{"kind", "service"},
                           {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                           {"endpoint", {{"mode", "none"}, {"drain", "1s"}}},
                           {"move", {{"way", "replica"}}}};
  const auto service = node.request("1g.5gb", "exec sleep 1000", moves);
  EXPECT_EQ(differs(service, document().at("components").at("schemas").at("JobRequest")), "");
  const std::uint64_t moved = id_of(api.ask("POST", "/v1/jobs", "/v1/jobs", 201, service));
  node.await(moved, "running");
  const auto move = [&](std::uint64_t id, int status, const json::value& wish) {
    api.ask("POST", "/v1/jobs/{id}/move", cat("/v1/jobs/", id, "/move"), status, wish);
  };
  const auto to = [](int start) { return json::object{{"to", {{"gpu", 0}, {"start", start}}}}; };
  EXPECT_EQ(differs(to(0), document().at("components").at("schemas").at("MoveRequest")), "");
  move(moved, 400, json::object{{"to", 0}});
  move(moved, 409, to(4));  // where the first job is
  move(moved, 422, to(7));
  move(job, 422, json::object{});
  move(99, 404, json::object{});
  move(moved, 202, to(0));
  eventually("it is there", [&] { return !node.job(moved).at("moving").as_bool(); });
  EXPECT_FALSE(api.ask("GET", "/v1/defrag", "/v1/defrag", 200).at("steps").as_array().empty());
  api.ask("GET", "/v1/defrag", "/v1/defrag?most=0", 400);
  api.ask("GET", "/v1/jobs/{id}", cat("/v1/jobs/", moved), 200);
  api.ask("POST", "/v1/jobs/{id}/cancel", cat("/v1/jobs/", moved, "/cancel"), 202);
  node.await(moved, "over");

  const json::value granted = api.ask("POST", "/v1/leases", "/v1/leases", 201, lease);
  api.ask("POST", "/v1/leases", "/v1/leases", 200, lease);
  api.ask("POST", "/v1/leases", "/v1/leases", 400, json::object{{"ttl", "soon"}});
  api.ask("POST", "/v1/leases", "/v1/leases", 409, json::object{{"profile", "7g.40gb"}});
  api.ask("POST", "/v1/leases", "/v1/leases", 422, json::object{{"profile", "nine"}});
  const std::string held = cat("/v1/leases/", id_of(granted));
  looks(api, job, id_of(granted));
  api.ask("GET", "/v1/jobs/{id}/logs", cat("/v1/jobs/", id_of(granted), "/logs"), 409);
  api.ask("GET", "/v1/leases", "/v1/leases", 200);
  api.ask("GET", "/v1/leases", "/v1/leases?key=k/1", 200);
  api.ask("GET", "/v1/leases", "/v1/leases?key=k/2", 404);
  api.ask("DELETE", "/v1/leases", "/v1/leases?key=k/2", 204);
  api.ask("DELETE", "/v1/leases", "/v1/leases", 400);
  api.ask("GET", "/v1/leases/{id}", held, 200);
  api.ask("GET", "/v1/leases/{id}", "/v1/leases/99", 404);
  api.ask("POST", "/v1/leases/{id}/renew", held + "/renew", 200, json::object{{"ttl", "2m"}});
  api.ask("DELETE", "/v1/leases", "/v1/leases?key=k/1", 200);
  node.await(id_of(granted), "over");
  api.ask("DELETE", "/v1/leases/{id}", held, 200);
  api.ask("POST", "/v1/leases/{id}/renew", held + "/renew", 409, json::object{});
  api.ask("DELETE", "/v1/leases/{id}", "/v1/leases/99", 404);

  api.ask("GET", "/v1/gpus", "/v1/gpus", 200);
  for (const char* deed : {"cordon", "drain", "uncordon"}) {
    api.ask("POST", cat("/v1/gpus/{id}/", deed), cat("/v1/gpus/0/", deed), 202);
    api.ask("POST", cat("/v1/gpus/{id}/", deed), cat("/v1/gpus/9/", deed), 404);
  }
  api.ask("GET", "/v1/tuning", "/v1/tuning", 200);
  api.ask("PATCH", "/v1/tuning", "/v1/tuning", 200, json::object{{"threshold", "0.5"}});
  api.ask("PATCH", "/v1/tuning", "/v1/tuning", 400, json::object{});
  api.ask("PATCH", "/v1/tuning", "/v1/tuning", 422, json::object{{"queue", "lifo"}});
  api.ask("GET", "/v1/status", "/v1/status", 200);
  api.ask("GET", "/healthz", "/healthz", 200);
  api.ask("GET", "/readyz", "/readyz", 200);
  api.ask("GET", "/v1/history", "/v1/history", 200);
  api.ask("GET", "/v1/history", "/v1/history?since=then", 400);
  api.ask("GET", "/v1/usage", "/v1/usage", 200);
  api.ask("GET", "/v1/usage", "/v1/usage?until=then", 400);
  api.ask("GET", "/v1/usage", "/v1/usage?since=2026-11-17T00:00:00Z&until=2026-11-16T00:00:00Z",
          422);
  api.ask("GET", "/v1/events", "/v1/events?after=-1", 400);

  const json::object wish{{"name", "ci"}, {"scope", "read"}, {"ttl", "1h"}};
  const json::value token = api.ask("POST", "/v1/tokens", "/v1/tokens", 201, wish);
  api.ask("POST", "/v1/tokens", "/v1/tokens", 400, json::object{{"scope", "all"}});
  api.ask("GET", "/v1/tokens", "/v1/tokens", 200);
  api.ask("DELETE", "/v1/tokens/{id}", cat("/v1/tokens/", id_of(token)), 200);
  api.ask("DELETE", "/v1/tokens/{id}", "/v1/tokens/99", 404);

  const json::value reads = node.ask("POST", "/v1/tokens", 201, json::object{{"scope", "read"}});
  refusals(api, std::string(reads.at("secret").as_string()));
  const std::string once = cat(kJson, "Idempotency-Key: k\r\n");
  const std::string short_one = json::serialize(node.request("1g.5gb", "true", {{"hold", true}}));
  for (const int status : {201, 200}) api.ask_raw("POST", "/v1/jobs", status, once, short_one);
  const json::object taken{{"kind", "service"}, {"port", int{free_port()}}, {"hold", true}};
  const auto second = node.request("1g.5gb", "true", taken);
  api.ask("POST", "/v1/jobs", "/v1/jobs", 201, second);
  api.ask("POST", "/v1/jobs", "/v1/jobs", 409, second);
  expect_all_seen(api);
}

}  // namespace
}  // namespace tangram::tests
