// Path traversal: dots, encoded dots and slashes, NUL bytes and absolute paths wherever a request
// names something, sent as raw bytes to the real daemon; and jobs, leases and tokens whose names
// look like paths. Only files that Tangram names itself may be read, created or changed.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/routes/routes.hpp"
#include "node.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kBait = "content-of-the-bait-file";

// Path segments of a request target; none is a valid number.
const std::vector<std::string>& traversals() {
  static const std::vector<std::string> kTraversals = {
      "..",
      ".",
      "../..",
      "../../bait",
      "1/../../../bait",
      "%2e%2e",
      "%2e%2e%2f%2e%2e%2fbait",
      "..%2f..%2fbait",
      "..%2F..%2Fbait",
      "%2e%2e/%2e%2e/bait",
      "%252e%252e%252fbait",
      "..%5c..%5cbait",
      "..\\..\\bait",
      "%c0%ae%c0%ae%c0%afbait",
      "1%00",
      "%00",
      "1%00/../bait",
      "1%2f..%2f..%2fbait",
      "1;/../../bait",
      "1%20",
      "%31",
      "+1",
      "-1",
      "0x1",
      "1.",
      "//etc/passwd",
      "/etc/passwd",
      "%2fetc%2fpasswd",
      "file:///etc/passwd",
      "~root",
      "18446744073709551616",
  };
  return kTraversals;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
  return text;
}

class PathTraversal : public ::testing::Test {
 protected:
  PathTraversal() : node_({.emulate = "1xA100-40GB"}) {
    node_.folder().write("bait", kBait);
    node_.start();
    fs::create_directory(node_.state_dir() + "/runs/bait");
    std::ofstream(node_.state_dir() + "/runs/bait/stdout.log") << kBait;
  }

  // Sends a request without changing its target and returns the whole response.
  std::string raw(const std::string& method, const std::string& target,
                  const std::string& body = "") const {
    const http::testing::RawSocket raw(node_.socket());
    raw.send(cat(method, " ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                 body.empty() ? "" : "Content-Type: application/json\r\n",
                 "Content-Length: ", body.size(), "\r\n\r\n", body));
    return raw.receive("", 30'000);
  }
  // The request is refused, and the response contains nothing of a file.
  void expect_refused(const std::string& method, const std::string& target) const {
    SCOPED_TRACE(cat(method, " ", target));
    const std::string answer = raw(method, target);
    EXPECT_THAT(answer, ::testing::MatchesRegex("HTTP/1.1 4(.|\n|\r)*"));
    expect_no_file(answer);
  }
  static void expect_no_file(const std::string& answer) {
    EXPECT_THAT(answer, Not(HasSubstr(kBait)));
    EXPECT_THAT(answer, Not(HasSubstr("root:")));
  }
  // The names in the node's folder, the state folder and the folder of the bait.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const std::string& folder :
         {node_.at("."), node_.state_dir(), node_.state_dir() + "/runs/bait"}) {
      for (const auto& entry : fs::directory_iterator(folder)) found.insert(entry.path().string());
    }
    return found;
  }

  Node node_;
};

TEST_F(PathTraversal, IsRefusedInPathParameters) {
  const auto job = node_.submit("1g.5gb", "echo mine; exec sleep 1000");
  node_.await(job, "running");
  std::size_t requests = 0;
  for (const http::Route& route : http::routes()) {
    if (route.pattern.find("{id}") == std::string_view::npos) continue;
    for (const std::string& segment : traversals()) {
      expect_refused(std::string(route.method),
                     replaced(std::string(route.pattern), "{id}", segment));
      ++requests;
    }
  }
  EXPECT_GT(requests, 400U);
  for (const std::string& segment : traversals()) {
    expect_refused("GET", cat("/", segment));
    expect_refused("GET", cat("/v1/", segment));
    expect_refused("GET", cat("/v1/jobs/", job, "/", segment));
    expect_refused("GET", cat("/v1/jobs/", job, "/logs/", segment));
    expect_refused("GET", cat("/metrics/", segment));
  }
  expect_refused("GET", "http://localhost/etc/passwd");
  expect_refused("GET", "*");
  expect_refused("GET", "etc/passwd");
  expect_refused("GET", std::string("/v1/jobs/1\0/logs", 16));
  EXPECT_EQ(node_.state(job), "running");  // no request has cancelled it
}

TEST_F(PathTraversal, HasNoEffectInQueries) {
  const auto job = node_.submit("1g.5gb", "echo mine; exec sleep 1000");
  node_.await(job, "running");
  eventually("it has written its output", [&] { return node_.output(job) == "mine\n"; });
  std::ifstream file(TANGRAM_SOURCE_DIR "/docs/openapi.json");
  std::stringstream text;
  text << file.rdbuf();
  const json::value document = json::parse(text.str());
  std::size_t requests = 0;
  for (const auto& [path, operations] : document.at("paths").as_object()) {
    const json::object* get = operations.as_object().if_contains("get") == nullptr
                                  ? nullptr
                                  : &operations.at("get").as_object();
    if (get == nullptr || !get->contains("parameters")) continue;
    const std::string target = replaced(std::string(path), "{id}", std::to_string(job));
    for (const json::value& parameter : get->at("parameters").as_array()) {
      if (parameter.at("in") != "query") continue;
      for (const std::string& segment : traversals()) {
        const std::string name(parameter.at("name").as_string());
        const std::string also = target == "/v1/events" && name != "follow" ? "&follow=false" : "";
        if (name == "follow" && segment == "%31") continue;  // true: the stream would not end
        SCOPED_TRACE(cat(target, "?", name, "=", segment));
        const std::string answer = raw("GET", cat(target, "?", name, "=", segment, also));
        EXPECT_THAT(answer, ::testing::MatchesRegex("HTTP/1.1 (2|4)(.|\n|\r)*"));
        expect_no_file(answer);
        ++requests;
      }
    }
  }
  EXPECT_GT(requests, 500U);
  for (const std::string& segment : traversals()) {
    expect_refused("GET", cat("/v1/jobs/", job, "/logs?stream=", segment));
    expect_refused("GET", cat("/v1/jobs/", job, "/logs?from=", segment));
  }
}

// Files are named by numbers, never by the names of jobs, leases and tokens.
TEST_F(PathTraversal, HasNoEffectInNames) {
  node_.await(node_.submit("1g.5gb", "true"), "completed");  // creates the files of the first job
  const auto before = names();
  const std::vector<std::string> odd = {"../../x", "/etc/tangram-x", "..",
                                        ".",       "runs/bait",      "../runs/bait",
                                        "bait",    "x/../../y",      "%2e%2e%2fbait"};
  const json::object service_options{{"kind", "service"}, {"probe", {{"kind", "none"}}}};
  for (const std::string& name : odd) {
    SCOPED_TRACE(name);
    const json::object more{{"name", name}, {"labels", {{"../x", "../../x"}}}};
    const auto job = node_.submit("1g.5gb", "echo \"$TANGRAM_JOB_NAME\"; exec sleep 1000", more);
    json::object service_request = more;
    service_request.insert(service_options.begin(), service_options.end());
    const auto service = node_.submit("1g.5gb", "exec sleep 1000", service_request);
    node_.await(job, "running");
    node_.await(service, "running");
    eventually("it has written its output", [&] { return node_.output(job) == name + "\n"; });
    const auto lease =
        node_.call("POST", "/v1/leases", 201,
                   json::object{{"profile", "1g.5gb"}, {"key", name}, {"name", name}});
    node_.call("DELETE", cat("/v1/leases/", lease.at("id").to_number<std::uint64_t>()));
    node_.call("POST", "/v1/tokens", 201, json::object{{"name", name}});
    for (const auto id : {job, service}) node_.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
    for (const auto id : {job, service}) node_.await(id, "over");
  }
  EXPECT_EQ(names(), before);
  for (const auto& entry : fs::directory_iterator(node_.state_dir() + "/runs")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "bait" || name.find_first_not_of("0123456789-") == std::string::npos)
        << name;
  }
  EXPECT_FALSE(fs::exists("/etc/tangram-x"));
  EXPECT_EQ(node_.folder().read("bait"), kBait);
}

// A relative folder would be resolved by the daemon; a NUL would truncate a path.
TEST_F(PathTraversal, FoldersOfJobsMustBeAbsolute) {
  for (const std::string& folder : {std::string("../.."), std::string("tmp"), std::string("."),
                                    std::string("/tmp\0/x", 7), std::string("~")}) {
    node_.call("POST", "/v1/jobs", 400,
               node_.job_request("1g.5gb", "true", {{"directory", folder}}));
  }
  const std::string nul("a\0b", 3);
  for (const json::object& more :
       {json::object{{"name", nul}}, json::object{{"command", {"true", nul}}},
        json::object{{"environment", {{"A", nul}}}},
        json::object{{"environment", {{"A=B", "c"}}}}}) {
    node_.call("POST", "/v1/jobs", 400, node_.job_request("1g.5gb", "true", more));
  }
  // Dots within an absolute path are allowed: the job has only its user's rights.
  const auto job = node_.submit("1g.5gb", "pwd", {{"directory", cat(node_.state_dir(), "/..")}});
  node_.await(job, "completed");
  EXPECT_EQ(node_.output(job), fs::canonical(node_.at(".")).string() + "\n");
}

// A job may replace its log by a symbolic link; the daemon does not follow it.
TEST_F(PathTraversal, LogsThatAreSymbolicLinksAreNotRead) {
  const auto job = node_.submit("1g.5gb", "echo mine");
  node_.await(job, "completed");
  for (const auto& entry : fs::directory_iterator(node_.state_dir() + "/runs")) {
    if (entry.path().filename() == "bait") continue;
    fs::remove(entry.path() / "stdout.log");
    fs::create_symlink(node_.at("bait"), entry.path() / "stdout.log");
    fs::create_symlink(node_.at("bait"), entry.path() / "stdout.log.1");
  }
  expect_no_file(raw("GET", cat("/v1/jobs/", job, "/logs")));
}

}  // namespace
}  // namespace tangram::tests
