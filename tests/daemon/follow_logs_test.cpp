// `tangram logs -f` of a service while it is moved: the original and its replica write at the same
// time, and every line of both is followed exactly once.
#include <algorithm>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

// Serves, and writes a line every 10 ms, with 20 more of them after SIGTERM.
constexpr const char* kTalk =
    "LOAD_MS=50 " TANGRAM_LLM_SERVER
    " > /dev/null 2>&1 & "
    "trap 'for i in $(seq 20); do echo \"$$ last $i\"; sleep 0.01; done; exit 0' TERM; "
    "i=0; while :; do i=$((i+1)); echo \"$$ line $i\"; sleep 0.01; done";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(FollowLogs, EveryLineOnceWhileAServiceIsMoved) {
  Node node({.config = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n"});
  node.start();
  const auto id =
      node.submit("1g.5gb", kTalk,
                  {{"kind", "service"},
                   {"probe", {{"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}}},
                   {"move", {{"way", "replica"}}}});
  node.await(id, "running");
  BackgroundProcess follower({TANGRAM_BINARY, "logs", "-f", std::to_string(id)},
                             {"TANGRAM_SOCKET=" + node.socket()});
  eventually("output is followed", [&] { return !follower.out().empty(); });
  for (int move = 0; move < 3; ++move) {
    node.call("POST", cat("/v1/jobs/", id, "/move"), 202,
              json::object{{"to", {{"gpu", (move + 1) % 2}, {"start", move}}}});
    eventually("no move is under way", [&] { return node.job(id).at("moving") == false; });
    ASSERT_EQ(node.job(id).at("gpu").to_number<int>(), (move + 1) % 2) << node.log();
  }
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  node.await(id, "over");
  EXPECT_EQ(follower.wait(), 0) << follower.err();
  const std::vector<std::string> followed = lines_of(follower.out());
  EXPECT_EQ(followed, lines_of(node.output(id)));
  EXPECT_EQ(std::set<std::string>(followed.begin(), followed.end()).size(), followed.size());
  EXPECT_EQ(std::ranges::count_if(followed, [](const auto& l) { return l.contains(" last "); }),
            4 * 20);
}

}  // namespace
}  // namespace tangram::tests
