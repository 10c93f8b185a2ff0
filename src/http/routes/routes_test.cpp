// Every route over a real socket: status, headers and body, and how bad requests are rejected.
#include "http/routes/routes.hpp"

#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/client.hpp"
#include "http/routes/identity.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;

class Routes : public ::testing::Test {
 protected:
  ClientReply done(std::string_view method, std::string_view target,
                   const std::optional<json::value>& body = std::nullopt,
                   std::string_view idempotency_key = {}) {
    auto reply = client_.request(method, target, body, Client::kDefaultTimeout, idempotency_key);
    EXPECT_TRUE(reply.has_value()) << target << ": " << (reply ? "" : reply.error().message);
    return reply ? std::move(*reply) : ClientReply{};
  }
  // Returns header and body of the response as they were sent.
  std::string raw(std::string_view method, std::string_view target, std::string_view body = "",
                  std::string_view header = "") {
    const RawSocket socket(daemon_.socket());
    socket.send(cat(method, ' ', target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", header,
                    "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n",
                    body));
    return socket.receive();
  }

  TestDaemon daemon_;
  Client client_ = std::move(*Client::open(daemon_.socket()));
};

const json::value kJob = json::object{{"command", {"sleep", "1"}}, {"profile", "1g.5gb"}};

TEST_F(Routes, ASubmissionCanBeRepeated) {
  EXPECT_EQ(done("POST", "/v1/jobs", kJob, "k1").status, 201);
  const ClientReply again = done("POST", "/v1/jobs", kJob, "k1");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body.at("id"), 1);
  EXPECT_EQ(done("POST", "/v1/jobs", kJob, "k2").body.at("id"), 2);
  const std::string body = R"({"command": ["sleep", "1"], "profile": "1g.5gb"})";
  EXPECT_THAT(raw("POST", "/v1/jobs", body, "Idempotency-Key: k3\r\n"),
              AllOf(StartsWith("HTTP/1.1 201"), HasSubstr("Location: /v1/jobs/3")));
  EXPECT_THAT(raw("POST", "/v1/jobs", body, "Idempotency-Key: k3\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Idempotency-Replayed: true")));
  EXPECT_THAT(raw("POST", "/v1/jobs", body + " ", "Idempotency-Key: k3\r\n"),
              AllOf(StartsWith("HTTP/1.1 422"), HasSubstr("urn:tangram:key-reused")));
  EXPECT_THAT(
      raw("POST", "/v1/jobs", body, cat("Idempotency-Key: ", std::string(256, 'x'), "\r\n")),
      AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("at most 255")));
  EXPECT_THAT(raw("POST", "/v1/jobs", body, "Idempotency-Key: a b\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(daemon_.size(), 3U);
}

TEST_F(Routes, JobsComeInPages) {
  for (int i = 0; i < 7; ++i) daemon_.add({});
  std::vector<std::int64_t> ids;
  std::string target = "/v1/jobs?all=1&limit=3&name=";
  int pages = 0;
  while (!target.empty()) {
    const ClientReply page = done("GET", target);
    std::vector<std::int64_t> these;
    const json::array& jobs = page.body.as_array();
    for (const json::value& job : jobs) these.push_back(job.at("id").as_int64());
    ids.insert(ids.begin(), these.begin(), these.end());
    target = page.next;
    ++pages;
  }
  EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(done("GET", "/v1/jobs?limit=7").next, "");
  EXPECT_EQ(done("GET", "/v1/jobs").next, "");
  for (int i = 7; i < 1001; ++i) daemon_.add({});
  const ClientReply cut = done("GET", "/v1/jobs");  // a full page always has a link to the next
  EXPECT_EQ(cut.body.as_array().size(), 1000U);
  EXPECT_EQ(cut.next, "/v1/jobs?before=2");
  EXPECT_EQ(done("GET", cut.next).body.as_array().size(), 1U);
  EXPECT_THAT(raw("GET", "/v1/jobs?limit=3"),
              HasSubstr("Link: </v1/jobs?limit=3&before=999>; rel=\"next\"\r\n"));
  for (const auto* wrong : {"limit=0", "limit=1001", "limit=x", "before=-1", "label=", "label==x",
                            "label=Big", "label=%22"}) {
    EXPECT_THAT(raw("GET", cat("/v1/jobs?", wrong)), StartsWith("HTTP/1.1 400")) << wrong;
  }
}

TEST_F(Routes, JobsAreHeldReleasedAndExplained) {
  daemon_.add({});
  EXPECT_EQ(done("POST", "/v1/jobs/1/hold").status, 202);
  EXPECT_EQ(done("GET", "/v1/jobs/1").body.at("state"), "held");
  EXPECT_EQ(done("POST", "/v1/jobs/1/release").body.at("state"), "queued");
  EXPECT_EQ(done("GET", "/v1/explain/1").body.at("job"), 1);
  EXPECT_THAT(raw("GET", "/v1/explain/9"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(raw("POST", "/v1/jobs/9/hold"), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(done("GET", "/v1/what-if?profile=2g.10gb").body.at("profile"), "2g.10gb");
  EXPECT_EQ(done("GET", "/v1/what-if?gpu_memory=8GiB").body.at("ahead"), 8192);
  for (const auto* wrong : {"", "?profile=", "?profile=a&gpu_memory=1GiB", "?gpu_memory=lots"}) {
    EXPECT_THAT(raw("GET", cat("/v1/what-if", wrong)), StartsWith("HTTP/1.1 400")) << wrong;
  }
}

TEST_F(Routes, LeasesAreAcquiredRenewedAndReleased) {
  const json::value request = json::object{{"profile", "1g.5gb"}, {"key", "slurm/1"}};
  EXPECT_EQ(done("POST", "/v1/leases", request).status, 201);
  const ClientReply again = done("POST", "/v1/leases", request);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body.at("id"), 100);
  EXPECT_EQ(again.body.at("state"), "granted");
  EXPECT_THAT(raw("POST", "/v1/leases", R"({"profile":"1g.5gb"})"),
              AllOf(StartsWith("HTTP/1.1 201"), HasSubstr("Location: /v1/leases/101")));
  EXPECT_EQ(done("GET", "/v1/leases").body.as_array().size(), 2U);
  EXPECT_THAT(raw("GET", "/v1/leases?limit=1"),
              HasSubstr("Link: </v1/leases?limit=1&before=101>; rel=\"next\""));
  const ClientReply second = done("GET", "/v1/leases?limit=1&before=101");
  EXPECT_EQ(second.body.at(0).at("id"), 100);
  EXPECT_EQ(second.next, "");
  EXPECT_THAT(raw("GET", "/v1/leases?limit=0"), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(done("GET", "/v1/leases?key=slurm%2F1").body.at(0).at("id"), 100);
  EXPECT_THAT(raw("GET", "/v1/leases?key=other"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(raw("GET", "/v1/leases?key="), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("GET", "/v1/leases?key=slurm%2F1&uid=7"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(raw("GET", "/v1/leases?key=slurm%2F1&uid=-1"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("GET", "/v1/leases?uid=7"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("DELETE", "/v1/leases"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("DELETE", "/v1/leases?key=slurm%2F1&uid=7"), StartsWith("HTTP/1.1 204"));
  EXPECT_EQ(done("GET", "/v1/leases/100").body.at("key"), "slurm/1");
  EXPECT_EQ(done("POST", "/v1/leases/100/renew", json::object{{"ttl", "10m"}}).body.at("ttl"),
            "10m");
  EXPECT_EQ(done("POST", "/v1/leases/100/renew").body.at("ttl"), "10m");
  EXPECT_THAT(raw("POST", "/v1/leases/100/renew", R"({"ttl":"1ms"})"), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(done("DELETE", "/v1/leases/100").body.at("state"), "over");
  EXPECT_EQ(done("DELETE", "/v1/leases/100").status, 200);
  daemon_.on_loop([&] { daemon_.leases.store_fails = true; });
  EXPECT_EQ(done("DELETE", "/v1/leases/100").status, 202);
  daemon_.on_loop([&] { daemon_.leases.store_fails = false; });
  EXPECT_THAT(raw("POST", "/v1/leases/100/renew"), StartsWith("HTTP/1.1 409"));
  EXPECT_THAT(raw("DELETE", "/v1/leases/9"), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(done("POST", "/v1/leases", request).status, 201);
  EXPECT_EQ(done("DELETE", "/v1/leases?key=slurm%2F1").body.at("state"), "over");
  EXPECT_THAT(raw("DELETE", "/v1/leases?key=slurm%2F1"), StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(raw("POST", "/v1/leases", R"({"profile":"9g.90gb"})"),
              AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("urn:tangram:no-room")));
  EXPECT_THAT(raw("POST", "/v1/leases", R"({"profil":"1g.5gb"})"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("did you mean 'profile'?")));
}

TEST_F(Routes, ALeaseIsWaitedForAndGivenUp) {
  const json::value request = json::object{{"profile", "2g.10gb"}, {"wait", "1h"}};
  const auto waiting = [&] { return daemon_.on_loop([&] { return daemon_.leases.waiting(); }); };
  std::thread granter([&] {
    EXPECT_TRUE(testing::eventually([&] { return waiting() == 1; }));
    daemon_.on_loop([&] { daemon_.leases.grant(100); });
  });
  EXPECT_EQ(done("POST", "/v1/leases", request).status, 201);
  granter.join();
  RawSocket disconnects(daemon_.socket());
  disconnects.send(
      "POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 34\r\n\r\n{\"profile\":\"2g.10gb\",\"wait\":\"1h\"}  ");
  EXPECT_TRUE(testing::eventually([&] { return waiting() == 1; }));
  disconnects.close();
  EXPECT_TRUE(testing::eventually([&] { return waiting() == 0; }));
}

TEST_F(Routes, GpusAndTuningAreChanged) {
  daemon_.on_loop([&] { daemon_.gpus.resize(2); });
  EXPECT_EQ(done("POST", "/v1/gpus/1/cordon").status, 202);
  EXPECT_TRUE(done("GET", "/v1/gpus").body.at(1).at("cordoned").as_bool());
  EXPECT_TRUE(done("POST", "/v1/gpus/1/drain").body.at("draining").as_bool());
  EXPECT_FALSE(done("POST", "/v1/gpus/1/uncordon").body.at("cordoned").as_bool());
  EXPECT_THAT(raw("POST", "/v1/gpus/2/drain"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(raw("POST", "/v1/gpus/4294967296/drain"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("urn:tangram:no-such-gpu")));
  EXPECT_THAT(raw("POST", "/v1/gpus/all/drain"), HasSubstr("urn:tangram:no-such-gpu"));
  EXPECT_EQ(done("PATCH", "/v1/tuning", json::object{{"threshold", "0.5"}}).status, 200);
  EXPECT_EQ(done("GET", "/v1/tuning").body.at("threshold"), "0.5");
  EXPECT_THAT(raw("PATCH", "/v1/tuning", "{}"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("PATCH", "/v1/tuning", R"({"thresold":"1"})"), HasSubstr("threshold"));
}

TEST_F(Routes, JobsAreMoved) {
  const ClientReply begun =
      done("POST", "/v1/jobs/1/move", json::object{{"to", {{"gpu", 0}, {"start", 6}}}});
  EXPECT_EQ(begun.status, 202);
  EXPECT_TRUE(begun.body.at("moving").as_bool());
  const auto last = [&] { return daemon_.on_loop([&] { return daemon_.moves.last; }); };
  EXPECT_EQ(last(), (api::SlotView{0, 6}));
  for (const std::optional<json::value>& anywhere :
       {std::optional<json::value>(json::object{}), std::optional<json::value>()}) {
    daemon_.on_loop([&] { daemon_.moves.last = api::SlotView{}; });
    EXPECT_EQ(done("POST", "/v1/jobs/1/move", anywhere).status, 202);
    EXPECT_EQ(last(), std::nullopt);
  }
  EXPECT_THAT(raw("POST", "/v1/jobs/9/move", "{}"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(raw("POST", "/v1/jobs/1/move", R"({"to":{"gpu":0,"start":4}})"),
              AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("gpu 0:4 is not free.")));
  for (const auto* wrong : {"[]", "{", R"({"gpu":0})", R"({"to":{"gpu":0}})", R"({"to":4})",
                            R"({"to":{"gpu":0,"start":-1}})", R"({"to":{"gpu":0,"start":300}})"}) {
    EXPECT_THAT(raw("POST", "/v1/jobs/1/move", wrong), StartsWith("HTTP/1.1 400")) << wrong;
  }
  EXPECT_THAT(raw("POST", "/v1/jobs/1/move", R"({"too":{}})"),
              AllOf(HasSubstr("urn:tangram:bad-move"), HasSubstr("did you mean 'to'?")));
  EXPECT_THAT(raw("POST", "/v1/jobs/1/move?to=4", "{}"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("GET", "/v1/jobs/1/move"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(raw("POST", "/v1/jobs/1/move", "{}", "Authorization: Bearer tangram_1_read\r\n"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("urn:tangram:scope")));
}

TEST_F(Routes, ADefragPlanIsReturned) {
  daemon_.on_loop([&] { daemon_.moves.steps = 1'000; });
  const auto steps = [&](const char* query) {
    return done("GET", cat("/v1/defrag", query)).body.at("steps").as_array().size();
  };
  EXPECT_EQ(steps(""), 20U);
  EXPECT_EQ(steps("?most=1"), 1U);
  EXPECT_EQ(steps("?most=100"), 100U);
  EXPECT_EQ(done("GET", "/v1/defrag").body.at("frag_cost_before"), 0.5);
  for (const auto* wrong : {"most=0", "most=101", "most=-1", "most=x", "least=1"}) {
    EXPECT_THAT(raw("GET", cat("/v1/defrag?", wrong)), StartsWith("HTTP/1.1 400")) << wrong;
  }
  EXPECT_THAT(raw("GET", "/v1/defrag", "", "Authorization: Bearer tangram_1_read\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(raw("POST", "/v1/defrag"), StartsWith("HTTP/1.1 405"));
}

TEST_F(Routes, HistoryAndUsageAreReturned) {
  EXPECT_EQ(
      done("GET", "/v1/history?state=failed&limit=2&before=9").body.at("jobs").as_array().size(),
      2U);
  EXPECT_EQ(
      done("GET", "/v1/usage?user=ann&since=2026-11-16T00:00:00Z").body.at("rows").at(0).at("user"),
      "ann");
  for (const auto* wrong : {"history?state=running", "history?since=yesterday", "history?limit=0",
                            "history?limit=1001", "usage?until=x", "usage?state=failed"}) {
    EXPECT_THAT(raw("GET", cat("/v1/", wrong)), StartsWith("HTTP/1.1 400")) << wrong;
  }
}

TEST_F(Routes, HealthReadinessAndMetrics) {
  EXPECT_EQ(done("GET", "/readyz").body.at("status"), "ok");
  daemon_.on_loop([&] { daemon_.troubles = {"GPU 0: MIG is off"}; });
  EXPECT_EQ(done("GET", "/readyz").status, 200);
  EXPECT_EQ(done("GET", "/readyz").body,
            (json::value{{"status", "degraded"}, {"troubles", {"GPU 0: MIG is off"}}}));
  daemon_.on_loop([&] { daemon_.ready = false; });
  EXPECT_THAT(raw("GET", "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("not-ready")));
  EXPECT_EQ(done("GET", "/healthz").status, 200);
  EXPECT_EQ(done("GET", "/metrics").body, "tangram_up 1\n");
  EXPECT_THAT(raw("GET", "/metrics"), HasSubstr("Content-Type: text/plain; version=0.0.4\r\n"));
}

TEST_F(Routes, TokensAreMadeListedAndRevoked) {
  const ClientReply made = done("POST", "/v1/tokens", json::object{{"name", "ci"}});
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.body.at("secret"), "tangram_7_secret");
  EXPECT_EQ(done("GET", "/v1/tokens").body.as_array().size(), 3U);
  EXPECT_TRUE(done("DELETE", "/v1/tokens/7").body.at("revoked").as_bool());
  EXPECT_THAT(raw("POST", "/v1/tokens", R"({"ttl":"1s"})"), StartsWith("HTTP/1.1 400"));
}

// On the unix socket a token is optional. If there is one, its user and scope apply.
TEST_F(Routes, ATokenAuthenticatesAlsoOnTheUnixSocket) {
  const auto as = [](std::string_view token) {
    return cat("Authorization: Bearer ", token, "\r\n");
  };
  const std::string body = R"({"command": ["a"], "profile": "1g.5gb"})";
  EXPECT_THAT(raw("POST", "/v1/jobs", body, as("tangram_2_write")), StartsWith("HTTP/1.1 201"));
  EXPECT_EQ(daemon_.job(1).view.uid, 1001U);
  EXPECT_THAT(raw("POST", "/v1/jobs", body, as("tangram_1_read")),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("urn:tangram:scope")));
  EXPECT_THAT(raw("GET", "/v1/jobs", "", as("tangram_1_read")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(raw("PATCH", "/v1/tuning", R"({"gain":"1"})", as("tangram_2_write")),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(raw("PATCH", "/v1/tuning", R"({"gain":"1"})", as("tangram_3_admin")),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(raw("POST", "/v1/tokens", R"({"scope":"admin"})", as("tangram_2_write")),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("urn:tangram:scope")));
  const std::string unknown = raw("GET", "/v1/jobs", "", as("tangram_9_hidden"));
  EXPECT_THAT(unknown, AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("urn:tangram:unauthorized"),
                             HasSubstr("WWW-Authenticate: Bearer\r\n")));
  EXPECT_THAT(unknown, Not(HasSubstr("hidden")));
  for (const auto* odd : {"Basic YWJj", "Bearer", "Bearer ", "Bearer a b", "tangram_2_write"}) {
    EXPECT_THAT(raw("GET", "/v1/jobs", "", cat("Authorization: ", odd, "\r\n")),
                StartsWith("HTTP/1.1 401"))
        << odd;
  }
  EXPECT_THAT(raw("GET", "/v1/jobs", "", as("a") + as("b")), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(raw("GET", "/v1/jobs", "", "Authorization: bearer tangram_1_read\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(Routes, ChangesAreReportedToTheAuditLog) {
  daemon_.add({});
  EXPECT_EQ(done("GET", "/v1/jobs?all=1").status, 200);
  EXPECT_EQ(done("HEAD", "/v1/jobs").status, 200);
  EXPECT_EQ(done("POST", "/v1/jobs/1/cancel").status, 202);
  EXPECT_THAT(raw("POST", "/v1/jobs/9/cancel"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(raw("DELETE", "/v1/status?x=1"), StartsWith("HTTP/1.1 405"));
  const auto uid = ::getuid();
  EXPECT_THAT(daemon_.on_loop([&] { return daemon_.audit; }),
              ElementsAre(cat("POST /v1/jobs/1/cancel 202 by ", uid),
                          cat("POST /v1/jobs/9/cancel 404 by ", uid),
                          cat("DELETE /v1/status 405 by ", uid)));
}

TEST(Router, AHandlerThatIsNotSetAnswers501) {
  const ApiHandlers none;
  std::size_t count = 0;
  for (const Route& route : routes()) {
    Request request;
    request.method = route.method;
    request.path = route.pattern;
    if (const auto at = request.path.find("{id}"); at != std::string::npos) {
      request.path.replace(at, 4, "1");
    }
    if (route.pattern == "/v1/leases" && route.method == "DELETE") {
      request.query = *Query::parse("key=a");
    }
    if (route.pattern == "/v1/what-if") request.query = *Query::parse("profile=a");
    request.content_type = kJsonType;
    request.body = R"({"command":["a"],"profile":"1g.5gb"})";
    if (route.pattern.ends_with("signal")) request.body = R"({"signal":1})";
    if (route.pattern.ends_with("tuning")) request.body = R"({"gain":"1"})";
    if (route.pattern.starts_with("/v1/leases")) request.body = R"({"profile":"1g.5gb"})";
    if (route.pattern.ends_with("renew") || route.pattern.ends_with("tokens")) request.body = "{}";
    if (route.pattern.ends_with("/move")) request.body = "{}";
    Outcome outcome = answer(none, request);
    Response response;
    if (DeferredResponse* deferred = std::get_if<DeferredResponse>(&outcome)) {
      static_cast<void>(deferred->start([&](Response r) { response = std::move(r); }));
    } else {
      ASSERT_TRUE(std::holds_alternative<Response>(outcome));
      response = std::get<Response>(outcome);
    }
    EXPECT_EQ(response.status, route.pattern == "/healthz" ? 200 : 501) << route.pattern;
    ++count;
  }
  EXPECT_GT(count, 30U);
}

TEST(Router, FingerprintsAreThoseOfSha256) {
  EXPECT_EQ(fingerprint_of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace tangram::http
