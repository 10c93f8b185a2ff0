// Verbs of `tangram`, with the real program against the real daemon: what they print and what the
// node shows afterwards.
#include <csignal>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kForever = "while :; do sleep 0.05; done";

class Cli : public ::testing::Test {
 protected:
  explicit Cli(NodeOptions options = {.emulate = "1xA100-40GB"}) : node_(std::move(options)) {
    node_.start();
  }
  std::string ok(const std::vector<std::string>& words) { return node_.tangram(words); }
  json::value json_of(std::vector<std::string> words) {
    words.emplace_back("--json");
    return json::parse(ok(words));
  }
  std::string refused(const std::vector<std::string>& words, int expected = 2) {
    int code = 0;
    std::string text = node_.tangram(words, &code);
    EXPECT_EQ(code, expected) << text;
    EXPECT_THAT(text, StartsWith("tangram: "));
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    return text;
  }
  std::unique_ptr<BackgroundProcess> start(std::vector<std::string> words,
                                           std::vector<std::string> variables = {}) {
    words.insert(words.begin(), TANGRAM_BINARY);
    variables.insert(variables.end(), {cat("TANGRAM_SOCKET=", node_.socket()), "TZ=UTC"});
    return std::make_unique<BackgroundProcess>(words, variables);
  }

  Node node_;
};

TEST_F(Cli, HoldAndRelease) {
  const auto big = node_.submit("7g.40gb", kForever);
  node_.await(big, "running");
  const auto next = node_.submit("1g.5gb", "true");
  EXPECT_THAT(ok({"hold", std::to_string(next)}), StartsWith(cat("job ", next, " is held")));
  EXPECT_EQ(node_.state(next), "held");
  EXPECT_EQ(json_of({"release", std::to_string(next)}).at(0).at("state"), "queued");
  EXPECT_THAT(refused({"hold", "999"}), HasSubstr("job 999: not found"));
  ok({"cancel", std::to_string(big)});
  EXPECT_EQ(node_.await(next, "over").at("exit_code"), 0);
}

TEST_F(Cli, CordonAndUncordon) {
  EXPECT_EQ(ok({"cordon", "0"}), "GPU 0 is cordoned\n");
  EXPECT_THAT(ok({"gpus"}), HasSubstr("cordoned"));
  const auto job = node_.submit("1g.5gb", "true");
  EXPECT_THAT(node_.state(job), AnyOf("held", "queued"));
  const json::value gpus = node_.call("GET", "/v1/gpus");
  const std::string uuid(gpus.at(0).at("uuid").as_string());
  EXPECT_EQ(ok({"uncordon", uuid}), "GPU 0 is uncordoned\n");
  EXPECT_EQ(node_.await(job, "over").at("exit_code"), 0);
  EXPECT_THAT(refused({"cordon", "7"}), HasSubstr("GPU '7': not found; this node has GPU 0."));
}

TEST_F(Cli, DrainWaitsUntilTheGpuIsEmpty) {
  const auto job = node_.submit("1g.5gb", kForever);
  node_.await(job, "running");
  const auto drain = start({"drain", "0"});
  const std::string waiting = cat("tangram: waiting for job ", job, " to leave GPU 0\n");
  eventually("the job it waits for is reported", [&] { return drain->err() == waiting; });
  ok({"cancel", std::to_string(job)});
  EXPECT_EQ(drain->wait(), 0) << drain->err();
  EXPECT_EQ(drain->out(), "GPU 0 is drained\n");
  EXPECT_THAT(ok({"drain", "--no-wait", "0"}), HasSubstr("GPU 0 is draining"));
}

TEST_F(Cli, AnInterruptedDrainContinues) {
  const auto job = node_.submit("1g.5gb", kForever);
  node_.await(job, "running");
  const auto drain = start({"drain", "0"});
  eventually("it reports waiting", [&] { return !drain->err().empty(); });
  drain->signal(SIGINT);
  EXPECT_EQ(drain->wait(), 130);
  EXPECT_THAT(drain->err(),
              HasSubstr("GPU 0 continues draining; use `tangram uncordon` to stop it."));
  const json::value gpus = node_.call("GET", "/v1/gpus");
  EXPECT_TRUE(gpus.at(0).at("draining").as_bool());
}

TEST_F(Cli, Tune) {
  EXPECT_THAT(ok({"tune"}), AllOf(HasSubstr("threshold"), HasSubstr("placement     paper")));
  EXPECT_THAT(ok({"tune", "threshold=0.5", "migration=off"}), HasSubstr("0.5"));
  EXPECT_EQ(json_of({"tune"}).at("migration"), "off");
  EXPECT_THAT(refused({"tune", "treshold=0.5"}), HasSubstr("did you mean threshold?"));
  EXPECT_THAT(refused({"tune", "gain=0.1", "placement=papr"}), HasSubstr("paper"));
  EXPECT_EQ(json_of({"tune"}).at("placement"), "paper");
}

TEST_F(Cli, ExplainAndWhatIf) {
  const auto big = node_.submit("4g.20gb", kForever);
  node_.await(big, "running");
  const auto waits = node_.submit("7g.40gb", "true");
  EXPECT_THAT(ok({"explain", std::to_string(big)}),
              StartsWith(cat("job ", big, "  4g.20gb  running")));
  EXPECT_THAT(ok({"explain", std::to_string(waits)}),
              StartsWith(cat("job ", waits, "  7g.40gb  queued")));
  EXPECT_EQ(json_of({"explain", std::to_string(waits)}).at("job"), waits);
  EXPECT_THAT(ok({"what-if", "-p", "7g.40gb"}), StartsWith("7g.40gb  would wait"));
  EXPECT_EQ(json_of({"what-if", "--gpu-memory", "4GiB"}).at("profile"), "1g.5gb");
  EXPECT_THAT(refused({"what-if", "-p", "7g.50gb"}), HasSubstr("7g.40gb"));
  EXPECT_THAT(refused({"what-if"}), HasSubstr("no instance size given: use --profile"));
  EXPECT_THAT(refused({"what-if", "--gpu-memory", "big"}), HasSubstr("--gpu-memory: "));
}

TEST_F(Cli, StoredEvents) {
  const auto job = node_.submit("1g.5gb", "true");
  node_.await(job, "over");
  const std::string text = ok({"events", "--job", std::to_string(job)});
  EXPECT_THAT(text, AllOf(HasSubstr("job.submitted"), HasSubstr("job.completed")));
  EXPECT_THAT(text.substr(0, text.find('\n')),
              MatchesRegex("[0-9]{4}-[0-9-]+ [0-9:]{8} +[0-9]+  job.submitted +.*"));
  EXPECT_THAT(ok({"events", "--kind", "job.completed", "gpu"}), Not(HasSubstr("job.submitted")));
  EXPECT_THAT(refused({"events", "--kind", "jobb"}), HasSubstr("did you mean job?"));
}

TEST_F(Cli, FollowingEventsSurvivesARestart) {
  const auto events = start({"events", "-f", "--after", "0", "--json"});
  const auto seen = [&] {
    std::vector<json::value> all;
    std::istringstream lines(events->out());
    for (std::string line; std::getline(lines, line) && !lines.eof();)
      all.push_back(json::parse(line));
    return all;
  };
  const auto await_end_of = [&](std::uint64_t job) {
    eventually("the job.completed event is printed", [&] {
      const auto all = seen();
      return std::ranges::any_of(all, [&](const json::value& event) {
        return event.at("kind") == "job.completed" && event.at("job") == job;
      });
    });
  };
  await_end_of(node_.submit("1g.5gb", "true"));
  node_.kill();
  node_.start();
  await_end_of(node_.submit("1g.5gb", "true"));
  std::uint64_t last = 0;
  for (const json::value& event : seen()) EXPECT_EQ(event.at("id"), ++last);
}

TEST_F(Cli, HistoryAndUsage) {
  const auto good = node_.submit("1g.5gb", "true");
  const auto bad = node_.submit("2g.10gb", "exit 3");
  node_.await(good, "over");
  node_.await(bad, "over");
  EXPECT_EQ(json_of({"history"}).as_array().size(), 2U);
  EXPECT_EQ(json_of({"history", "--state", "failed"}).at(0).at("id"), bad);
  EXPECT_EQ(json_of({"history", "--limit", "1"}).at(0).at("id"), bad);
  EXPECT_EQ(ok({"history", "--until", "1d"}), "No finished jobs match.\n");
  EXPECT_THAT(ok({"history", "--since", "1h", "--profile", "2g.10gb"}), HasSubstr("exited with 3"));
  EXPECT_THAT(ok({"usage", "--since", "1d"}), AllOf(HasSubstr("2g.10gb"), HasSubstr("all")));
  EXPECT_EQ(json_of({"usage"}).at("rows").as_array().size(), 2U);
  EXPECT_THAT(refused({"usage", "--since", "soon"}), HasSubstr("--since: invalid time 'soon'"));
}

TEST_F(Cli, Tokens) {
  const std::string secret = ok({"token", "create", "-q", "--name", "ci", "--scope", "read"});
  EXPECT_THAT(secret, MatchesRegex("tangram_[0-9]+_[A-Za-z0-9_-]{43}\n"));
  int code = 0;
  EXPECT_THAT(node_.tangram({"token", "create", "--ttl", "1h"}, &code),
              HasSubstr("It is shown only once"));
  EXPECT_THAT(ok({"token", "list"}),
              AllOf(HasSubstr("ci"), HasSubstr("valid"), Not(HasSubstr(secret.substr(0, 20)))));
  const auto id = std::to_string(json_of({"token", "list"}).at(0).at("id").to_number<int>());
  EXPECT_EQ(ok({"token", "revoke", id}), cat("token ", id, " is revoked\n"));
  EXPECT_THAT(ok({"token", "list"}), HasSubstr("revoked"));
  EXPECT_THAT(refused({"token", "create", "--user", "nobody-here"}),
              HasSubstr("user 'nobody-here': not found"));
}

TEST_F(Cli, ATokenIsSentAndItsScopeApplies) {
  const auto job = node_.submit("1g.5gb", kForever);
  const std::string secret = ok({"token", "create", "-q", "--scope", "read"});
  const std::string file = node_.folder().write("token", secret);
  const auto reader = start({"ps", "-q"}, {"TANGRAM_TOKEN_FILE=" + file});
  EXPECT_EQ(reader->wait(), 0) << reader->err();
  EXPECT_EQ(reader->out(), cat(job, "\n"));
  const auto canceller = start({"cancel", std::to_string(job)}, {"TANGRAM_TOKEN_FILE=" + file});
  EXPECT_EQ(canceller->wait(), 1);
  EXPECT_THAT(canceller->err(), AllOf(HasSubstr("scope"), Not(HasSubstr(secret.substr(0, 20)))));
  const auto unknown = start({"ps"}, {"TANGRAM_TOKEN=tangram_1_nonsense"});
  EXPECT_EQ(unknown->wait(), 1);
  EXPECT_THAT(unknown->err(), AllOf(StartsWith("tangram: "), Not(HasSubstr("nonsense"))));
  const auto missing_file = start({"ps"}, {"TANGRAM_TOKEN_FILE=/nonexistent"});
  EXPECT_NE(missing_file->wait(), 0);
  EXPECT_THAT(missing_file->err(), HasSubstr("/nonexistent"));
  std::string writer = ok({"token", "create", "-q"});
  writer.pop_back();
  const auto run = start({"run", "-p", "1g.5gb", "--", "env"}, {"TANGRAM_TOKEN=" + writer});
  EXPECT_EQ(run->wait(), 0) << run->err();
  EXPECT_THAT(run->out(), AllOf(HasSubstr("CUDA_VISIBLE_DEVICES"), Not(HasSubstr(writer))));
}

TEST_F(Cli, WatchRepeatsUntilInterrupted) {
  const auto watch = start({"status", "-w", "0.1"});
  const auto answers = [&] {
    const std::string text = watch->out();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("tangramd ", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  eventually("it repeats", [&] { return answers() > 2; });
  node_.stop();
  eventually("it reports that the daemon is gone",
             [&] { return watch->out().find("cannot reach tangramd") != std::string::npos; });
  node_.start();
  const std::size_t before = answers();
  eventually("it continues", [&] { return answers() > before; });
  watch->signal(SIGINT);
  EXPECT_EQ(watch->wait(), 0) << watch->err();
  EXPECT_THAT(refused({"ps", "--watch", "0"}), HasSubstr("--watch"));
}

TEST_F(Cli, CommonErrors) {
  EXPECT_THAT(refused({"submit", "-p", "2g.11gb", "--", "x"}), HasSubstr("2g.10gb"));
  EXPECT_THAT(refused({"hodl", "1"}), HasSubstr("did you mean `tangram hold`?"));
  EXPECT_THAT(refused({"top"}), HasSubstr("top needs a terminal"));
  node_.stop();
  EXPECT_THAT(refused({"drain", "0"}, 1), HasSubstr("cannot reach tangramd"));
}

}  // namespace
}  // namespace tangram::tests
