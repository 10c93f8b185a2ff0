// `tangram` over TLS with a token, against the real daemon: verbs work as over the unix socket;
// wrong tokens and untrusted certificates are reported. The program finds the daemon by its
// environment, as docs/cli.md describes.
#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "node.hpp"
#include "program.hpp"
#include "store/store.hpp"
#include "tcp_node.hpp"
#include "tests/support/http/keys.hpp"

namespace tangram::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class TcpCli : public ::testing::Test {
 protected:
  TcpCli() { node_.start(); }

  // Creates a token on the node and returns the path of a file with it.
  std::string token_file(Words options = {}) {
    Words words = {"token", "create", "--quiet"};
    words.insert(words.end(), options.begin(), options.end());
    const std::string file = node_.folder().write(cat("token.", ++tokens_), node_.tangram(words));
    std::filesystem::permissions(file, std::filesystem::perms(0600));
    return file;
  }
  [[nodiscard]] Words environment(const std::string& token, const std::string& ca) const {
    return {cat("TANGRAM_SOCKET=https://127.0.0.1:", tcp_.port()),
            cat("TANGRAM_TOKEN_FILE=", token), cat("TANGRAM_CA_FILE=", ca),
            cat("NODE_UNDER_TEST=", node_.socket())};
  }
  [[nodiscard]] Ended run(const Words& words, const std::string& token) const {
    return run_program(TANGRAM_BINARY, words, "", environment(token, tcp_.ca()));
  }
  // Expects a failure with one line on standard error and nothing on standard output; returns it.
  [[nodiscard]] std::string refused(const Words& words, int code, const Words& variables) const {
    const Ended ended = run_program(TANGRAM_BINARY, words, "", variables);
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("tangram: "));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    return ended.err;
  }
  // All verbs fail for the same reason; `wait`, `run` and `lease` with their own exit code.
  void expect_all_refused(const Words& variables, const std::string& why) const {
    for (const Words& words :
         {Words{"ps"}, Words{"show", "1"}, Words{"logs", "1"}, Words{"cancel", "1"},
          Words{"events"}, Words{"submit", "-p", "1g.5gb", "true"}}) {
      EXPECT_THAT(refused(words, 1, variables), HasSubstr(why)) << words[0];
    }
    EXPECT_THAT(refused({"wait", "1"}, 125, variables), HasSubstr(why));
    for (const char* verb : {"run", "lease"}) {
      EXPECT_THAT(refused({verb, "-p", "1g.5gb", "--", "true"}, 125, variables), HasSubstr(why));
    }
  }

  TcpNode tcp_;
  Node& node_ = tcp_.node();
  int tokens_ = 0;
};

TEST_F(TcpCli, JobsAreSubmittedFollowedAndEnded) {
  const std::string token = token_file({"--name", "ci"});
  Ended done =
      run({"submit", "-p", "1g.5gb", "--", "sh", "-c", "echo hello; exec sleep 1000"}, token);
  EXPECT_EQ(done.out, "job 1 submitted\n") << done.err;
  EXPECT_EQ(run({"wait", "--running", "1"}, token).code, 0);
  EXPECT_THAT(run({"ps"}, token).out, AllOf(HasSubstr("1g.5gb"), HasSubstr("running")));
  EXPECT_THAT(run({"show", "1"}, token).out, HasSubstr("echo hello"));
  Words variables = environment(token, tcp_.ca());
  BackgroundProcess events({TANGRAM_BINARY, "events", "-f", "--after", "0", "--job", "1"},
                           variables);
  BackgroundProcess logs({TANGRAM_BINARY, "logs", "-f", "1"}, variables);
  BackgroundProcess waits({TANGRAM_BINARY, "wait", "1"}, variables);
  eventually("the log is read", [&] { return logs.out() == "hello\n"; });
  EXPECT_EQ(run({"wait", "1", "--timeout", "100ms"}, token).code, 124);
  EXPECT_THAT(run({"cancel", "1"}, token).out, StartsWith("job 1 is "));
  EXPECT_EQ(waits.wait(), 128 + SIGTERM);
  EXPECT_EQ(logs.wait(), 0) << logs.err();
  eventually("the event is printed",
             [&] { return events.out().find("job.cancelled") != std::string::npos; });
  EXPECT_THAT(events.out(), AllOf(HasSubstr("job.submitted"), HasSubstr("job.running")));
  EXPECT_THAT(run({"events", "--job", "1"}, token).out, HasSubstr("job.cancelled"));
  EXPECT_THAT(run({"history"}, token).out, HasSubstr("cancelled"));
}

TEST_F(TcpCli, RunAndLeaseEndAsTheirCommands) {
  const std::string token = token_file();
  const std::string script = "echo on $CUDA_VISIBLE_DEVICES \"[$TANGRAM_TOKEN_FILE]\"; exit 3";
  const Ended ran = run({"run", "-p", "1g.5gb", "--", "sh", "-c", script}, token);
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(StartsWith("on MIG-"), HasSubstr("[]")));  // the token is not passed to the job
  const Ended leased = run({"lease", "--quiet", "-p", "1g.5gb", "--", "sh", "-c",
                            "echo on $CUDA_VISIBLE_DEVICES; exit 7"},
                           token);
  EXPECT_EQ(leased.code, 7) << leased.err;
  EXPECT_THAT(leased.out, StartsWith("on MIG-"));
  const Ended kept = run({"lease", "--keep", "-p", "2g.10gb", "--key", "remote", "--json"}, token);
  EXPECT_THAT(kept.out, AllOf(HasSubstr("\"granted\""), HasSubstr("\"remote\""))) << kept.err;
  EXPECT_THAT(run({"lease", "list"}, token).out, HasSubstr("remote"));
  EXPECT_EQ(run({"lease", "release", "3"}, token).out, "lease 3 is releasing\n");
  EXPECT_EQ(run({"wait", "3"}, token).code, 0);
}

TEST_F(TcpCli, TheOptionAndTheVariableMeanTheSame) {
  const std::string token = token_file();
  const std::string secret = node_.folder().read(std::filesystem::path(token).filename().string());
  const Words variables = {cat("TANGRAM_TOKEN=", secret.substr(0, secret.find('\n'))),
                           cat("TANGRAM_CA_FILE=", tcp_.ca())};
  const Ended ended =
      run_program(TANGRAM_BINARY, {"ps", "-q", "--socket", tcp_.url()}, "", variables);
  EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST_F(TcpCli, AnUntrustedCertificateIsRefused) {
  const http::testing::TestKeys other_authority;
  expect_all_refused(environment(token_file(), other_authority.ca()), "certificate");
  EXPECT_THAT(node_.log(), Not(HasSubstr("error")));
}

TEST_F(TcpCli, WrongTokensAreRefused) {
  const std::string wrong = node_.folder().write("wrong", "tangram_1_wrong\n");
  expect_all_refused(environment(wrong, tcp_.ca()), "token");
  Words none = environment("", tcp_.ca());
  none[1] = "TANGRAM_TOKEN=";
  expect_all_refused(none, "Create one on the node with `tangram token create`");
  const std::string missing = node_.at("no-such-file");
  EXPECT_THAT(refused({"ps"}, 2, environment(missing, tcp_.ca())), HasSubstr("TANGRAM_TOKEN_FILE"));
}

// The token expires while the daemon does not run.
TEST_F(TcpCli, ExpiredTokensAreRefused) {
  const std::string token = token_file({"--ttl", "1h"});
  EXPECT_EQ(run({"ps"}, token).code, 0);
  node_.stop();
  {
    auto store = store::Store::open(node_.state_dir() + "/tangram.db", {});
    ASSERT_TRUE(store) << store.error().message;
    store::Changes changes;
    changes.tokens = (*store)->tokens().value();
    ASSERT_EQ(changes.tokens.size(), 1U);
    changes.tokens[0].expires = changes.tokens[0].created;
    ASSERT_TRUE((*store)->commit(changes));
  }
  node_.start();
  expect_all_refused(environment(token, tcp_.ca()), "token");
  EXPECT_THAT(node_.tangram({"token", "list"}), HasSubstr("expired"));
}

TEST_F(TcpCli, AReadTokenCannotWrite) {
  const auto job = node_.submit("1g.5gb", "echo mine; exec sleep 1000");
  node_.await(job, "running");
  const std::string token = token_file({"--scope", "read"});
  const std::string id = std::to_string(job);
  EXPECT_THAT(run({"ps"}, token).out, HasSubstr("running"));
  EXPECT_EQ(run({"logs", id}, token).out, "mine\n");
  EXPECT_EQ(run({"wait", "--running", id}, token).code, 0);
  EXPECT_THAT(run({"explain", id}, token).out, HasSubstr("running"));
  const Words variables = environment(token, tcp_.ca());
  const std::string why = "the token has scope read, and this needs scope write";
  for (const Words& words : {Words{"cancel", id}, Words{"hold", id},
                             Words{"submit", "-p", "1g.5gb", "true"}, Words{"token", "create"}}) {
    EXPECT_THAT(refused(words, 1, variables), HasSubstr(why)) << words[0];
  }
  EXPECT_THAT(refused({"cordon", "0"}, 1, variables), HasSubstr("this needs scope admin"));
  EXPECT_THAT(refused({"lease", "-p", "1g.5gb", "--", "true"}, 125, variables), HasSubstr(why));
  EXPECT_EQ(node_.state(job), "running");
  EXPECT_EQ(node_.call("GET", "/v1/jobs?all=true").as_array().size(), 1U);
}

}  // namespace
}  // namespace tangram::tests
