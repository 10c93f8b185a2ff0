// `tangram lease` with the real program against the real daemon: commands on leased instances.
#include <csignal>
#include <unistd.h>

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
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LeaseCli : public ::testing::Test {
 protected:
  LeaseCli() : node_({.emulate = "1xA100-40GB"}) { node_.start(); }

  std::string run(const std::vector<std::string>& words, int expected) {
    int code = 0;
    std::string text = node_.tangram(words, &code);
    EXPECT_EQ(code, expected) << text;
    return text;
  }
  std::unique_ptr<BackgroundProcess> start(std::vector<std::string> words) {
    words.insert(words.begin(), TANGRAM_BINARY);
    return std::make_unique<BackgroundProcess>(
        words, std::vector<std::string>{cat("TANGRAM_SOCKET=", node_.socket())});
  }
  json::array open_leases() { return node_.call("GET", "/v1/leases").as_array(); }
  void expect_none_open() {
    eventually("no lease is open", [&] { return open_leases().empty(); });
  }
  // Waits until the only lease is granted and returns it.
  json::object granted() {
    json::object found;
    eventually("a lease is granted", [&] {
      const json::array all = open_leases();
      if (all.size() != 1 || all[0].at("state") != "granted") return false;
      found = all[0].as_object();
      return true;
    });
    return found;
  }

  Node node_;
};

TEST_F(LeaseCli, TheCommandHasTheInstanceAndGivesItsExitCode) {
  const std::string text = run(
      {"lease", "-p", "1g.5gb", "--", "/bin/sh", "-c", "echo $CUDA_VISIBLE_DEVICES; exit 7"}, 7);
  EXPECT_THAT(text, StartsWith("MIG-"));
  expect_none_open();
}

TEST_F(LeaseCli, OptionsEndAtTheCommand) {
  EXPECT_EQ(
      run({"lease", "-p", "1g.5gb", "/bin/sh", "-c", "echo $0 $1; exit 5", "--name", "-q"}, 5),
      "--name -q\n");
  EXPECT_THAT(run({"lease", "/bin/sh", "-p", "1g.5gb"}, 125), HasSubstr("before '/bin/sh'"));
  EXPECT_THAT(run({"lease", "lst"}, 125), HasSubstr("did you mean `tangram lease list`?"));
  expect_none_open();
}

TEST_F(LeaseCli, ExitCodesAreThoseOfAShell) {
  EXPECT_THAT(run({"lease", "-p", "1g.5gb", "--", "/nonexistent"}, 127),
              HasSubstr("cannot run /nonexistent: No such file"));
  EXPECT_THAT(run({"lease", "-p", "1g.5gb", "--", "/"}, 126), HasSubstr("cannot run /"));
  run({"lease", "-p", "1g.5gb", "--", "/bin/sh", "-c", "kill -KILL $$"}, 137);
  EXPECT_THAT(run({"lease", "-p", "9g.5gb", "--", "true"}, 125), StartsWith("tangram: "));
  EXPECT_THAT(run({"lease", "-p", "1g.5gb"}, 125), HasSubstr("no command given"));
  EXPECT_THAT(run({"lease", "--", "true"}, 125), HasSubstr("no instance size given"));
  EXPECT_THAT(run({"lease", "-p", "1g.5gb", "--ttl", "x", "--", "true"}, 125),
              HasSubstr("--ttl: "));
  EXPECT_THAT(run({"lease", "-p", "1g.5gb", "--ttl", "none", "--key", "k", "--", "true"}, 125),
              HasSubstr("--ttl none requires --keep"));
  EXPECT_THAT(run({"lease", "-p", "1g.5gb", "--linger", "1m", "--", "true"}, 125),
              HasSubstr("--linger requires --key"));
  expect_none_open();
}

TEST_F(LeaseCli, RenewsTheLeaseAndForwardsSignals) {
  const auto lease = start(
      {"lease", "-p", "1g.5gb", "--ttl", "1500ms", "--", "/bin/sh", "-c",
       "trap 'echo usr1' USR1; trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"});
  const std::string first(granted().at("expires").as_string());
  eventually("it is renewed", [&] { return granted().at("expires").as_string() != first; });
  eventually("the command is ready", [&] { return lease->out() == "ready\n"; });
  lease->signal(SIGUSR1);
  eventually("the signal is passed on", [&] { return lease->out() == "ready\nusr1\n"; });
  lease->signal(SIGTERM);
  EXPECT_EQ(lease->wait(), 5) << lease->err();
  expect_none_open();
}

TEST_F(LeaseCli, SurvivesARestartOfTheDaemon) {
  const auto lease =
      start({"lease", "-p", "1g.5gb", "--ttl", "10s", "--", "/bin/sh", "-c",
             cat("while [ ! -e ", node_.at("go"), " ]; do sleep 0.05; done; exit 4")});
  granted();
  node_.kill();
  node_.start();
  const std::string first(granted().at("expires").as_string());
  eventually("it is renewed", [&] { return granted().at("expires").as_string() != first; });
  node_.folder().write("go", "");
  EXPECT_EQ(lease->wait(), 4) << lease->err();
  EXPECT_EQ(lease->err(), "");
  expect_none_open();
}

TEST_F(LeaseCli, ACommandIsTerminatedWhenItsLeaseEnds) {
  const auto lease = start({"lease", "-p", "1g.5gb", "--ttl", "1s", "--", "/bin/sh", "-c",
                            "while :; do sleep 0.05; done"});
  const auto id = granted().at("id").to_number<std::uint64_t>();
  EXPECT_THAT(run({"lease", "release", std::to_string(id)}, 0),
              StartsWith(cat("lease ", id, " is ")));
  EXPECT_EQ(lease->wait(), 143);
  EXPECT_THAT(lease->err(), HasSubstr(cat("lease ", id, " has ended")));
}

TEST_F(LeaseCli, WaitsForRoomAndGivesUp) {
  const auto big = node_.submit("7g.40gb", "while :; do sleep 0.05; done");
  node_.await(big, "running");
  // EX_TEMPFAIL: trying again may help.
  EXPECT_THAT(run({"lease", "-p", "1g.5gb", "--wait", "100ms", "--", "true"}, 75),
              HasSubstr("no slot became free"));
  const auto lease =
      start({"lease", "-p", "1g.5gb", "--wait", "5m", "--", "/bin/sh", "-c", "exit 6"});
  eventually("it reports why it waits", [&] {
    return lease->err().find("is waiting: next in queue: waiting for a free") < lease->err().size();
  });
  const auto quiet = start({"lease", "-q", "-p", "1g.5gb", "--key", "q", "--linger", "1h", "--",
                            "/bin/sh", "-c", "exit 8"});
  eventually("it waits", [&] { return open_leases().size() == 2; });
  node_.tangram({"cancel", std::to_string(big)});
  EXPECT_EQ(lease->wait(), 6) << lease->err();
  EXPECT_EQ(quiet->wait(), 8);
  EXPECT_EQ(quiet->err(), "");
  expect_none_open();
}

TEST_F(LeaseCli, KeptRenewedListedReleased) {
  const auto kept = json::parse(node_.tangram(
      {"lease", "--keep", "-p", "2g.10gb", "--ttl", "10m", "--key", "night", "--json"}));
  const auto again = json::parse(node_.tangram(
      {"lease", "--keep", "-p", "2g.10gb", "--ttl", "10m", "--key", "night", "--json"}));
  EXPECT_EQ(kept.at("id"), again.at("id"));
  const std::string id = std::to_string(kept.at("id").to_number<int>());
  EXPECT_THAT(node_.tangram({"lease", "list"}), HasSubstr("night"));
  EXPECT_THAT(node_.tangram({"lease", "renew", id, "--ttl", "1h"}),
              StartsWith(cat("lease ", id, " is granted until ")));
  EXPECT_THAT(node_.tangram({"lease", "renew", "--key", "night", "--ttl", "2h"}),
              StartsWith(cat("lease ", id, " is granted until ")));
  EXPECT_THAT(run({"lease", "renew", "--key", "day"}, 2), HasSubstr("no open lease"));
  EXPECT_THAT(run({"lease", "renew"}, 2), HasSubstr("no lease given"));
  EXPECT_EQ(run({"lease", "renew", id, "--ttl", "none"}, 0), cat("lease ", id, " is granted\n"));
  EXPECT_THAT(run({"lease", "show", id}, 0), HasSubstr("never"));
  node_.tangram({"lease", "release", id});
  expect_none_open();
  EXPECT_EQ(node_.tangram({"lease", "list"}), "No active leases.\n");
  EXPECT_THAT(run({"lease", "renew", id}, 1), StartsWith("tangram: "));
  EXPECT_THAT(run({"lease", "release", "999"}, 2), StartsWith("tangram: "));
  EXPECT_THAT(run({"lease", "--keep", "-p", "1g.5gb", "--", "true"}, 125), HasSubstr("--keep"));
}

TEST_F(LeaseCli, NamedByItsKey) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  const std::string text =
      node_.tangram({"lease", "--keep", "-p", "1g.5gb", "--ttl", "10m", "--key", "slurm/7",
                     "--user", "nobody", "--label", "team=red"});
  EXPECT_THAT(text, HasSubstr("nobody"));
  EXPECT_THAT(text, HasSubstr("team=red"));
  EXPECT_THAT(run({"lease", "show", "--key", "slurm/7"}, 2), HasSubstr("no open lease"));
  const std::string shown = run({"lease", "show", "--key", "slurm/7", "--user", "nobody"}, 0);
  EXPECT_THAT(shown, HasSubstr("taken by"));
  EXPECT_THAT(shown, HasSubstr("CUDA_VISIBLE_DEVICES=MIG-"));
  EXPECT_THAT(run({"lease", "release", "--key", "slurm/7"}, 0),
              HasSubstr("no active lease has the key 'slurm/7'"));
  EXPECT_THAT(run({"lease", "release", "--key", "slurm/7", "--user", "nobody"}, 0),
              StartsWith("lease "));
  expect_none_open();
  EXPECT_EQ(run({"lease", "release", "--key", "slurm/7", "--user", "nobody"}, 0),
            "no active lease has the key 'slurm/7'\n");
  EXPECT_THAT(run({"lease", "release"}, 2), HasSubstr("no lease given"));
  EXPECT_THAT(run({"lease", "release", "1", "--user", "nobody"}, 2),
              HasSubstr("--user requires --key"));
}

}  // namespace
}  // namespace tangram::tests
