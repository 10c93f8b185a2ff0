// The routes over a real socket, and the life cycle of the socket file.
#include "http/server/server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/client.hpp"
#include "tests/support/http/daemon.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using testing::TestDaemon;

const json::value kJob = json::object{{"command", {"sleep", "1"}}, {"profile", "1g.5gb"}};

Client connected(const TestDaemon& daemon) {
  auto client = Client::open(daemon.socket());
  EXPECT_TRUE(client.has_value());
  return std::move(*client);
}

Error refused(Client& client, std::string_view method, std::string_view target,
              const std::optional<json::value>& body = std::nullopt) {
  const auto reply = client.request(method, target, body);
  EXPECT_FALSE(reply.has_value()) << target;
  return reply ? Error{} : reply.error();
}

TEST(Server, TakesAndShowsJobs) {
  TestDaemon daemon;
  Client client = connected(daemon);
  const auto made = client.request("POST", "/v1/jobs", kJob);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->body.at("id"), 1);
  const auto job = client.request("GET", "/v1/jobs/1");
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->body.at("name"), "sleep");
  EXPECT_EQ(job->body.at("state"), "queued");
  EXPECT_TRUE(job->body.at("gpu").is_null());
  EXPECT_EQ(job->body.at("uid"), ::getuid());
  const auto jobs = client.request("GET", "/v1/jobs?all=1&limit=5");
  ASSERT_TRUE(jobs.has_value());
  ASSERT_EQ(jobs->body.as_array().size(), 1U);
  EXPECT_FALSE(jobs->body.as_array()[0].at("request").as_object().contains("command"));
}

TEST(Server, CancelsSignalsAndWaits) {
  TestDaemon daemon;
  Client client = connected(daemon);
  ASSERT_TRUE(client.request("POST", "/v1/jobs", kJob).has_value());
  EXPECT_EQ(client.request("POST", "/v1/jobs/1/signal", json::object{{"signal", "usr1"}})->status,
            204);
  EXPECT_EQ(client.request("POST", "/v1/jobs/1/signal", json::object{{"signal", 15}})->status, 204);
  EXPECT_THAT(daemon.job(1).signals, ::testing::ElementsAre(SIGUSR1, SIGTERM));
  EXPECT_EQ(client.request("GET", "/v1/jobs/1/wait?for=running&timeout=20ms")->status, 204);
  EXPECT_EQ(daemon.waiting(1), 0U);
  std::thread starter([&] {
    while (daemon.waiting(1) == 0) std::this_thread::yield();
    daemon.change(1, [](TestDaemon::Job& job) { job.view.state = api::JobState::kRunning; });
  });
  EXPECT_EQ(client.request("GET", "/v1/jobs/1/wait?for=running")->body.at("state"), "running");
  starter.join();
  EXPECT_EQ(client.request("POST", "/v1/jobs/1/cancel")->status, 202);
  EXPECT_EQ(client.request("GET", "/v1/jobs/1/wait")->body.at("state"), "cancelled");
}

TEST(Server, SaysWhatIsWrong) {
  TestDaemon daemon;
  Client client = connected(daemon);
  EXPECT_EQ(refused(client, "GET", "/v1/jobs/7"),
            (Error{ErrorCode::kNotFound, "job 7: not found"}));
  EXPECT_THAT(refused(client, "GET", "/v1/jobs/train").message,
              HasSubstr("use the number of the job"));
  EXPECT_EQ(refused(client, "GET", "/v2").code, ErrorCode::kNotFound);
  EXPECT_THAT(refused(client, "DELETE", "/v1/jobs/7").message, HasSubstr("use GET and HEAD"));
  EXPECT_THAT(refused(client, "GET", "/v1/jobs?al=1").message, HasSubstr("did you mean 'all'?"));
  EXPECT_THAT(refused(client, "GET", "/v1/jobs?state=runing").message,
              HasSubstr("did you mean 'running'?"));
  EXPECT_THAT(refused(client, "POST", "/v1/jobs").message, HasSubstr("Content-Type"));
  EXPECT_THAT(refused(client, "POST", "/v1/jobs", json::object{{"profil", "1g.5gb"}}).message,
              HasSubstr("profil: unknown key of a job; did you mean 'profile'?"));
  EXPECT_THAT(
      refused(client, "POST", "/v1/jobs", json::object{{"command", {"x"}}, {"profile", "9g.90gb"}}),
      (Error{ErrorCode::kInvalid, "no GPU has '9g.90gb'."}));
  EXPECT_THAT(refused(client, "POST", "/v1/jobs", json::value(std::string(5 << 20, 'x'))).message,
              HasSubstr("body too large"));
  EXPECT_THAT(
      refused(client, "POST", "/v1/jobs/1/signal", json::object{{"signal", "TERN"}}).message,
      HasSubstr("did you mean TERM?"));
  EXPECT_THAT(refused(client, "GET", "/v1/jobs/1/wait?timeout=soon").message, HasSubstr("timeout"));
}

TEST(Server, AnswersStatusHealthAndHead) {
  TestDaemon daemon;
  daemon.status.version = "1.2.3";
  daemon.gpus.resize(2);
  Client client = connected(daemon);
  EXPECT_EQ(client.request("GET", "/healthz")->body.at("status"), "ok");
  EXPECT_EQ(client.request("GET", "/v1/status")->body.at("version"), "1.2.3");
  EXPECT_EQ(client.request("GET", "/v1/gpus")->body.as_array().size(), 2U);
  const auto head = client.request("HEAD", "/v1/status");
  ASSERT_TRUE(head.has_value());
  EXPECT_TRUE(head->body.is_null());
  EXPECT_EQ(client.request("GET", "/healthz")->status, 200);  // the connection is still usable
}

class SocketLife : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Server>> open(const std::string& path, unsigned mode = 0666) {
    ServerOptions options;
    options.socket = path;
    options.mode = mode;
    return Server::open(loop_, options, {});
  }
  TestDaemon daemon_;
  boost::asio::io_context loop_;
};

TEST_F(SocketLife, RefusesASecondDaemon) {
  const auto second = open(daemon_.socket());
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("another tangramd listens on " + daemon_.socket()));
  EXPECT_TRUE(Client::open(daemon_.socket()).has_value());
}

TEST_F(SocketLife, ReplacesAStaleSocket) {
  const std::string path = daemon_.folder() / "stale";
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  const auto server = open(path, 0600);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(SocketLife, SetsTheModeWhateverTheMask) {
  const mode_t before = ::umask(077);
  const std::string path = daemon_.folder() / "open";
  const auto server = open(path);
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0666U);
}

TEST_F(SocketLife, LeavesOtherFilesAlone) {
  const std::string path = daemon_.folder() / "file";
  testing::append(path, "precious");
  const auto server = open(path);
  ASSERT_FALSE(server.has_value());
  EXPECT_THAT(server.error().message, HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_THAT(open(std::string(200, 'x')).error().message, HasSubstr("socket path too long"));
  EXPECT_THAT(open("/no/such/folder/socket").error().message,
              HasSubstr("No such file or directory"));
}

TEST_F(SocketLife, RemovesItsSocketAndNoOther) {
  daemon_.close();
  EXPECT_FALSE(std::filesystem::exists(daemon_.socket()));
  const auto client = Client::open(daemon_.socket());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(client.error().message,
              HasSubstr("Is it running? Start it (`systemctl start tangramd`"));
  daemon_.open();
  std::filesystem::remove(daemon_.socket());
  testing::append(daemon_.socket(), "someone else's");
  daemon_.close();
  EXPECT_TRUE(std::filesystem::exists(daemon_.socket()));
  std::filesystem::remove(daemon_.socket());
}

TEST_F(SocketLife, EndsPendingRequestsWhenItCloses) {
  Client client = connected(daemon_);
  daemon_.add({});
  std::thread closer([&] {
    while (daemon_.waiting(1) == 0) std::this_thread::yield();
    daemon_.close();
  });
  const auto reply = client.request("GET", "/v1/jobs/1/wait");
  closer.join();
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(daemon_.waiting(1), 0U);
  daemon_.open();
  EXPECT_TRUE(client.request("GET", "/healthz").has_value());  // the client reconnects
}

}  // namespace
}  // namespace tangram::http
