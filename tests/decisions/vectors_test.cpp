// Arrivals and departures against tests/data/decisions.jsonl: 4,000 states with the decisions of an
// independent implementation. Each row goes through the indexed and the plain policies. Thresholds
// are read as text, not as doubles.
#include <fstream>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/candidates.hpp"
#include "core/snapshot.hpp"
#include "mig/catalog.hpp"
#include "policies/migration.hpp"
#include "policies/registry.hpp"

namespace tangram::decisions {
namespace {

namespace json = boost::json;

// The text of "threshold" in the line.
std::string threshold_text(const std::string& line) {
  const std::string key = "\"threshold\": ";
  const std::size_t from = line.find(key) + key.size();
  return line.substr(from, line.find_first_of(",}", from) - from);
}

int number(const json::value& v) { return static_cast<int>(v.as_int64()); }
std::string text(const json::value& v) { return std::string(v.as_string()); }

core::Snapshot read_state(const std::string& line, const json::object& row) {
  core::Snapshot state;
  state.tuning.threshold = *core::Threshold::parse(threshold_text(line));
  state.tuning.restraint.protect_head = false;
  for (const json::value& g : row.at("gpus").as_array()) {
    core::SnapshotGpu gpu;
    gpu.model = {std::shared_ptr<void>(), *mig::find_model(text(g.at("model")))};
    for (const json::value& j : g.at("jobs").as_array()) {
      gpu.jobs.push_back({core::JobId(static_cast<std::uint64_t>(number(j.at("id")))),
                          text(j.at("profile")), number(j.at("start"))});
    }
    for (const json::value& i : g.at("idle").as_array()) {
      gpu.idle.push_back({text(i.at("profile")), number(i.at("start"))});
    }
    state.gpus.push_back(std::move(gpu));
  }
  return state;
}

void check_arrival(const core::Node& node, const json::object& row, const char* policy) {
  const auto slot =
      core::choose(node, **policies::find_placement(policy),
                   {.profile = *node.find_name(text(row.at("profile"))), .avoid = {}});
  const json::value& expect = row.at("expect");
  ASSERT_EQ(slot.has_value(), !expect.is_null());
  if (!slot) return;
  EXPECT_EQ(static_cast<int>(slot->gpu.value()), number(expect.at("gpu")));
  EXPECT_EQ(int{slot->start}, number(expect.at("start")));
  EXPECT_EQ(slot->reuse, expect.at("reuse").as_bool());
}

// Makes each move at once before calling the policy again.
void check_departure(core::Node node, const json::object& row, const char* policy) {
  const core::MigrationPolicy& migration = **policies::find_migration(policy);
  const core::GpuId left(static_cast<std::uint32_t>(number(row.at("gpu"))));
  for (const json::value& expect : row.at("expect").as_array()) {
    const core::Answer answer = migration.next_move(node, left);
    ASSERT_TRUE(answer.move.has_value());
    EXPECT_EQ(static_cast<int>(answer.move->job.value()), number(expect.at("job")));
    EXPECT_EQ(static_cast<int>(answer.move->from.value()), number(expect.at("source")));
    EXPECT_EQ(static_cast<int>(answer.move->to.gpu.value()), number(expect.at("gpu")));
    EXPECT_EQ(int{answer.move->to.start}, number(expect.at("start")));
    if (testing::Test::HasFailure()) return;
    core::apply_at_once(node, *answer.move);
  }
  EXPECT_FALSE(migration.next_move(node, left).move.has_value());
}

TEST(Vectors, EveryRowMatchesIndexedAndPlain) {
  std::ifstream in(TANGRAM_TESTS_DIR "/data/decisions.jsonl");
  int arrivals = 0;
  int departures = 0;
  for (std::string line; std::getline(in, line);) {
    const json::object row = json::parse(line).as_object();
    SCOPED_TRACE("row " + std::to_string(arrivals + departures + 1));
    const auto node = core::build(read_state(line, row));
    ASSERT_TRUE(node.has_value()) << node.error().message;
    if (row.at("kind").as_string() == "arrival") {
      ++arrivals;
      check_arrival(*node, row, "paper");
      check_arrival(*node, row, "paper-plain");
    } else {
      ++departures;
      check_departure(*node, row, "both");
      check_departure(*node, row, "both-plain");
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(arrivals + departures, 4000);
  EXPECT_GT(arrivals, 1000);
  EXPECT_GT(departures, 1000);
}

}  // namespace
}  // namespace tangram::decisions
