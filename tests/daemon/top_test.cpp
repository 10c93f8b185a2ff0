// `tangram top` in a real terminal: tmux runs it, sends keys and shows the screen.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "node.hpp"
#include "program.hpp"

namespace tangram::tests {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTmux = "/usr/bin/tmux";
constexpr const char* kForever = "while :; do sleep 0.05; done";

// A tmux server with one window.
class Terminal {
 public:
  Terminal(const Node& node, int columns, int rows) : socket_(node.at("tmux")) {
    tmux({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
          std::to_string(rows), "env", cat("TANGRAM_SOCKET=", node.socket()), "PS1=ready> ", "bash",
          "--norc", "--noprofile"});
    wait_for("ready>");
  }
  ~Terminal() { tmux({"kill-server"}); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  Terminal(Terminal&&) = delete;
  Terminal& operator=(Terminal&&) = delete;

  std::string tmux(std::vector<std::string> words) const {
    words.insert(words.begin(), {"-u", "-S", socket_});
    return run_program(kTmux, words, "", {"SHELL=/bin/sh"}).out;
  }
  // Keys as tmux names them: "Down", "Enter"; or letters.
  void press(const std::string& keys) const { tmux({"send-keys", keys}); }
  void type(const std::string& text) const { tmux({"send-keys", "-l", "--", text}); }
  [[nodiscard]] std::string screen() const { return tmux({"capture-pane", "-p"}); }
  [[nodiscard]] bool shows(const std::string& text) const {
    return screen().find(text) != std::string::npos;
  }
  void wait_for(const std::string& text) const {
    eventually(cat("the screen shows ", text), [&] { return shows(text); });
    if (::testing::Test::HasFailure()) ADD_FAILURE() << screen();
  }
  void wait_until_gone(const std::string& text) const {
    eventually(cat("the screen shows no more ", text), [&] { return !shows(text); });
    if (::testing::Test::HasFailure()) ADD_FAILURE() << screen();
  }

 private:
  std::string socket_;
};

class TopOnATerminal : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(kTmux, X_OK) != 0) GTEST_SKIP() << "tmux is not installed";
    node_.start();
    train_ = node_.submit("3g.20gb", kForever, {{"name", "train"}});
    serve_ = node_.submit("1g.5gb", kForever, {{"name", "serve"}});
    node_.await(train_, "running");
    node_.await(serve_, "running");
  }
  // The marks printed at the end differ from the typed text, which is on the screen too.
  static void start(const Terminal& terminal) {
    terminal.type(TANGRAM_BINARY
                  " top; code=$?; stty -a | grep -q ' echo ' && printf 'echo%s\\n' -on; "
                  "printf 'ended%s\\n' -$code");
    terminal.press("Enter");
    terminal.wait_for("? help");
  }

  Node node_;
  std::uint64_t train_ = 0;
  std::uint64_t serve_ = 0;
};

TEST_F(TopOnATerminal, ShowsFiltersExplainsAndCancels) {
  const Terminal terminal(node_, 80, 24);
  start(terminal);
  terminal.wait_for(cat("3g.20gb #", train_));
  terminal.wait_for("FragCost");
  terminal.wait_for("serve");
  terminal.type("/trai");
  terminal.wait_until_gone("serve");
  terminal.press("Enter");
  terminal.press("Down");
  terminal.type("e");
  terminal.wait_for(cat("job ", train_, "  3g.20gb  running"));
  terminal.press("Escape");
  terminal.wait_for("/ filter: trai");
  terminal.type("c");
  terminal.wait_for(cat("cancel job ", train_, "? y/n"));
  terminal.type("n");
  terminal.wait_for("is not cancelled");
  EXPECT_EQ(node_.state(train_), "running");
  terminal.type("c");
  terminal.wait_for("y/n");
  terminal.type("y");
  node_.await(train_, "cancelled");
  terminal.wait_for("no job matches");
  terminal.press("Escape");
  terminal.wait_for("serve");
  terminal.type("q");
  terminal.wait_for("ended-0");
  EXPECT_THAT(terminal.screen(), HasSubstr("echo-on"));  // the terminal is restored
}

TEST_F(TopOnATerminal, FollowsTheSizeOfItsTerminal) {
  const Terminal terminal(node_, 80, 24);
  start(terminal);
  terminal.wait_for("serve");
  terminal.tmux({"resize-window", "-x", "120", "-y", "40"});
  eventually("the key line is on the last line", [&] {
    const std::string screen = terminal.screen();
    return std::ranges::count(screen, '\n') == 40 &&
           screen.find("? help") > screen.rfind('\n', screen.size() - 2);
  });
  terminal.tmux({"resize-window", "-x", "60", "-y", "12"});
  terminal.wait_for("train");
  terminal.type("q");
  terminal.wait_for("ended-0");
}

TEST_F(TopOnATerminal, SurvivesARestartOfTheDaemon) {
  const Terminal terminal(node_, 100, 30);
  start(terminal);
  terminal.wait_for("serve");
  node_.stop();
  terminal.wait_for("reconnecting: ");
  terminal.wait_for("serve");  // the last data stays on the screen
  node_.start();
  terminal.wait_until_gone("reconnecting: ");
  const auto later = node_.submit("1g.5gb", kForever, {{"name", "added-later"}});
  terminal.wait_for("added-later");
  node_.call("POST", cat("/v1/jobs/", later, "/cancel"), 202);
  terminal.wait_until_gone("added-later");
  terminal.type("p");
  terminal.wait_for("paused");
  terminal.type("?");
  terminal.wait_for("sort by the next column");
  terminal.type("q");
  terminal.wait_for("ended-0");
}

TEST_F(TopOnATerminal, ASignalLeavesTheTerminalAsItWas) {
  const Terminal terminal(node_, 80, 24);
  start(terminal);
  const int shell = std::atoi(terminal.tmux({"display", "-p", "#{pane_pid}"}).c_str());
  ASSERT_GT(shell, 0);
  const int top =
      std::atoi(tests::read_text(cat("/proc/", shell, "/task/", shell, "/children")).c_str());
  ASSERT_GT(top, 0);
  ::kill(top, SIGTERM);
  terminal.wait_for("ended-143");
  EXPECT_THAT(terminal.screen(), HasSubstr("echo-on"));
}

// Not `top`: completion of the daemon's jobs and profiles with the tab key, in the same terminal.
TEST_F(TopOnATerminal, BashCompletesWhatTheDaemonKnows) {
  const Terminal terminal(node_, 80, 24);
  const std::string folder = std::filesystem::path(TANGRAM_BINARY).parent_path();
  terminal.type("PATH=" + folder + ":$PATH; source <(tangram completion bash); clear");
  terminal.press("Enter");
  terminal.type("tangram what-i");
  terminal.press("Tab");
  terminal.wait_for("tangram what-if");
  terminal.type("-p 3");
  terminal.press("Tab");
  terminal.wait_for("tangram what-if -p 3g.20gb");
  terminal.press("C-u");
  node_.tangram({"cancel", std::to_string(train_)});
  node_.await(train_, "over");
  terminal.type("tangram hold ");
  terminal.press("Tab");
  terminal.wait_for(cat("tangram hold ", serve_));
}

TEST_F(TopOnATerminal, NeedsNoColour) {
  const Terminal terminal(node_, 80, 24);
  terminal.type("TERM=vt100 LC_ALL=C " TANGRAM_BINARY " top; printf 'ended%s\\n' -$?");
  terminal.press("Enter");
  terminal.wait_for(cat("#", train_));
  terminal.type("q");
  terminal.wait_for("ended-0");
  terminal.type("TERM=nonsense " TANGRAM_BINARY " top");
  terminal.press("Enter");
  terminal.wait_for("the terminal 'nonsense' is unknown");
}

}  // namespace
}  // namespace tangram::tests
