// The view and the keys of `tangram top`, without a terminal.
#include "cli/top/top_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli/top/top_keys.hpp"

namespace tangram::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = TopKey::Kind;

api::JobView job(std::uint64_t id, const std::string& name, api::JobState state) {
  api::JobView view;
  view.id = id;
  view.request.name = name;
  view.user = id % 2 == 0 ? "ann" : "bob";
  view.profile = "1g.5gb";
  view.state = state;
  view.submitted = api::WallTime(std::chrono::hours(490'000) + std::chrono::seconds(id));
  return view;
}

class Top : public ::testing::Test {
 protected:
  Top() {
    snapshot_.taken = api::WallTime(std::chrono::hours(490'001));
    snapshot_.status.version = "9.9";
    for (std::uint64_t id = 1; id <= 40; ++id) {
      snapshot_.jobs.push_back(
          job(id, cat("job", id), id < 20 ? api::JobState::kRunning : api::JobState::kQueued));
    }
    api::GpuView gpu;
    gpu.model = "A100-40GB";
    gpu.health = "ok";
    gpu.memory_slices = 8;
    gpu.frag_cost = 0.5;
    gpu.instances = {{"3g.20gb", 0, 4, "held", 17, "train", ""}};
    snapshot_.gpus = {gpu, gpu};
    snapshot_.gpus[1].index = 1;
    snapshot_.gpus[1].draining = true;
  }
  std::vector<std::string> lines(TopSize size = {}) {
    std::vector<std::string> texts;
    for (const TopLine& line : draw(snapshot_, state_, size, Output(false, true))) {
      std::string text;
      for (const StyledText& piece : line.pieces) text += piece.text;
      texts.push_back(line.selected ? "> " + text : text);
    }
    return texts;
  }
  std::string all(TopSize size = {}) {
    std::string text;
    for (const std::string& line : lines(size)) text += line + "\n";
    return text;
  }
  TopOutcome press(const std::string& letter) {
    return cli::press(state_, snapshot_, {Kind::kLetter, letter});
  }
  TopOutcome press(Kind kind) { return cli::press(state_, snapshot_, {kind, ""}); }
  void type(const std::string& text) {
    for (const char c : text) press(std::string(1, c));
  }

  TopSnapshot snapshot_;
  TopState state_;
};

TEST_F(Top, FillsTheScreenAndNoMore) {
  for (const TopSize size : {TopSize{24, 80}, TopSize{60, 200}, TopSize{5, 20}, TopSize{1, 1}}) {
    for (const char* key : {"", "?", "/"}) {
      state_ = {};
      if (*key != '\0') press(key);
      const auto drawn = lines(size);
      EXPECT_EQ(drawn.size(), static_cast<std::size_t>(size.rows)) << key;
    }
  }
}

TEST_F(Top, ShowsTheNodeItsStripsAndItsJobs) {
  const std::string text = all();
  EXPECT_THAT(text, HasSubstr("tangramd 9.9"));
  EXPECT_THAT(text, HasSubstr("FragCost 0.500"));
  EXPECT_THAT(text, HasSubstr("  0 Lazy  ┃"));
  EXPECT_THAT(text, HasSubstr("  1 drain ┃"));
  EXPECT_THAT(text, HasSubstr("3g.20gb #17"));
  EXPECT_THAT(text, HasSubstr("job1 "));
}

TEST_F(Top, ReportsALostDaemonAndKeepsTheSnapshot) {
  snapshot_.trouble = "cannot reach tangramd at /x: Connection refused.";
  EXPECT_THAT(all(), HasSubstr("reconnecting: cannot reach tangramd"));
  EXPECT_THAT(all(), HasSubstr("job1 "));
}

TEST_F(Top, ManyGpusLeaveRoomForJobs) {
  snapshot_.gpus.resize(40, snapshot_.gpus[0]);
  EXPECT_THAT(all(), HasSubstr("more GPUs; see `tangram gpus`"));
  EXPECT_THAT(all(), HasSubstr("job1 "));
}

TEST_F(Top, TheSelectedJobIsAlwaysVisible) {
  press(Kind::kEnd);
  EXPECT_EQ(state_.selected, 40U);
  EXPECT_THAT(all(), HasSubstr(">     40 job40"));
  press(Kind::kUp);
  EXPECT_EQ(state_.selected, 39U);
  press(Kind::kHome);
  EXPECT_EQ(state_.selected, 1U);
  press(Kind::kUp);
  EXPECT_EQ(state_.selected, 1U);
}

TEST_F(Top, FiltersAndSorts) {
  press("/");
  type("job4q");
  EXPECT_TRUE(listed_jobs(snapshot_, state_).empty());
  press(Kind::kErase);
  press(Kind::kEnter);
  std::vector<std::uint64_t> ids;
  for (const api::JobView* each : listed_jobs(snapshot_, state_)) ids.push_back(each->id);
  EXPECT_THAT(ids, ElementsAre(4, 40));
  EXPECT_THAT(all(), HasSubstr("/ filter: job4"));
  press(Kind::kEscape);
  EXPECT_EQ(listed_jobs(snapshot_, state_).size(), 40U);
  press("s");
  EXPECT_EQ(listed_jobs(snapshot_, state_).front()->user, "ann");
  for (int i = 1; i < kTopSorts; ++i) press("s");
  EXPECT_EQ(state_.sort, TopSort::kId);
}

TEST_F(Top, CancelsOnlyAfterAYes) {
  EXPECT_FALSE(press("c").request);
  EXPECT_THAT(all(), HasSubstr("select a job first"));
  press(Kind::kDown);
  EXPECT_FALSE(press("c").request);
  EXPECT_THAT(all(), HasSubstr("cancel job 1? y/n"));
  EXPECT_FALSE(press("x").request);
  EXPECT_THAT(all(), HasSubstr("job 1 is not cancelled"));
  press("c");
  const auto request = press("y").request;
  ASSERT_TRUE(request);
  EXPECT_EQ(request->action, TopRequest::Action::kCancel);
  EXPECT_EQ(request->job, 1U);
}

TEST_F(Top, ExplainsInAPanelThatScrolls) {
  press(Kind::kDown);
  const auto request = press("e").request;
  ASSERT_TRUE(request);
  EXPECT_EQ(request->action, TopRequest::Action::kExplain);
  for (int i = 0; i < 50; ++i) state_.panel += cat("sentence ", i, "\n");
  EXPECT_THAT(all(), HasSubstr("sentence 0\n"));
  press(Kind::kPageDown);
  EXPECT_THAT(all(), Not(HasSubstr("sentence 0\n")));
  press(Kind::kEnd);
  EXPECT_THAT(all(), HasSubstr("sentence 49\n"));
  press(Kind::kEscape);
  EXPECT_THAT(all(), HasSubstr("job1 "));
}

TEST_F(Top, WhenTheSelectedJobEndsTheNextRowIsSelected) {
  press(Kind::kDown);
  press(Kind::kDown);
  TopSnapshot later = snapshot_;
  later.jobs.erase(later.jobs.begin() + 1);
  keep_selection(state_, snapshot_, later);
  EXPECT_EQ(state_.selected, 3U);
  later.jobs.clear();
  keep_selection(state_, snapshot_, later);
  EXPECT_EQ(state_.selected, 0U);
}

TEST_F(Top, HelpClosesWithAnyKeyAndQuits) {
  press("?");
  EXPECT_THAT(all(), HasSubstr("sort by the next column"));
  press("x");
  EXPECT_FALSE(state_.help);
  EXPECT_TRUE(press("q").quit);
}

TEST(FragHistory, FillsTheGivenWidth) {
  FragHistory history;
  api::WallTime when{};
  for (int i = 0; i < 200; ++i)
    history.add(when += std::chrono::seconds(5), i % 2 == 0 ? 0.0 : 1.0);
  EXPECT_EQ(width_of(history.line(10, true)), 10);
  EXPECT_EQ(history.line(4, false), "_#_#");
  history.add(when + std::chrono::seconds(1), 0.0);  // the same span: the highest counts
  EXPECT_EQ(history.line(4, false), "_#_#");
}

}  // namespace
}  // namespace tangram::cli
