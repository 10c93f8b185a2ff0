// FragCost against tests/data/frag.jsonl: every reachable layout of four GPU models with its exact
// cost, from an independent implementation. Rows are compared as written, "n/d" in lowest terms,
// and all of them must exist.
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "mig/catalog.hpp"
#include "mig/layout.hpp"

namespace tangram::mig {
namespace {

struct Row {
  std::string model;
  std::vector<PlacementText> placements;
  std::string cost;
};

Row read_row(const std::string& line) {
  const boost::json::object row = boost::json::parse(line).as_object();
  Row out{.model = std::string(row.at("model").as_string()),
          .placements = {},
          .cost = std::string(row.at("cost").as_string())};
  for (const boost::json::value& p : row.at("placements").as_array()) {
    out.placements.push_back(
        {std::string(p.at("profile").as_string()), static_cast<int>(p.at("start").as_int64())});
  }
  return out;
}

std::vector<Row> read_rows() {
  std::ifstream in(TANGRAM_TESTS_DIR "/data/frag.jsonl");
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(read_row(line));
  return rows;
}

TEST(FragVectors, EveryRowMatchesExactly) {
  std::map<std::string, int> rows_of;
  for (const Row& row : read_rows()) {
    SCOPED_TRACE(row.model + " row " + std::to_string(++rows_of[row.model]));
    const Result<const Model*> model = find_model(row.model);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const Result<Layout> layout = Layout::make(**model, row.placements);
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    EXPECT_EQ((*model)->frag_cost(layout->occupancy()).fraction(), row.cost);
  }
  const std::map<std::string, int> expected = {
      {"A100-40GB", 723}, {"A100-80GB", 723}, {"H100-80GB", 723}, {"A30-24GB", 26}};
  EXPECT_EQ(rows_of, expected);  // 2,195 together
}

// The rows are the reachable layouts, each once: as many as for_each_layout gives.
TEST(FragVectors, RowsAreAllReachableLayouts) {
  for (const char* name : {"A100-40GB", "A100-80GB", "H100-80GB", "A30-24GB"}) {
    const Model& model = **find_model(name);
    int layouts = 0;
    for_each_layout(model, model.representatives(),
                    [&](std::span<const Placement>, Occupancy) { ++layouts; });
    EXPECT_EQ(layouts, std::string(name) == "A30-24GB" ? 26 : 723) << name;
  }
}

}  // namespace
}  // namespace tangram::mig
