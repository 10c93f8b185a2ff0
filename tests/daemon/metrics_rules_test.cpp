// The alert rules and the dashboard against a real daemon: they use only metrics and labels that it
// has, Prometheus can parse every expression, and every alert fires exactly when it should.
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

constexpr const char* kRules = "packaging/prometheus/tangram.rules.yml";
constexpr const char* kDashboard = "packaging/grafana/tangram.json";

std::string file(const std::string& name) {
  std::ifstream in(std::string(TANGRAM_SOURCE_DIR "/") + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::smatch> all(const std::string& text, const std::regex& what) {
  return {std::sregex_iterator(text.begin(), text.end(), what), std::sregex_iterator()};
}

// The values of each label of each metric.
using Labels = std::map<std::string, std::set<std::string>>;
using Known = std::map<std::string, Labels>;

Known read(const std::string& metrics) {
  Known known;
  static const std::regex series(R"((?:^|\n)([a-z_]+)(?:\{([^}]*)\})? )");
  static const std::regex label(R"re(([a-z_]+)="([^"]*)")re");
  for (const auto& each : all(metrics, series)) {
    Labels& labels = known[each[1]];
    labels["instance"];  // added by Prometheus
    const std::string inner = each[2];
    for (const auto& one : all(inner, label)) labels[one[1]].insert(one[2]);
  }
  return known;
}

// The metrics of a daemon with a running job, once every GPU has been measured.
Known known_metrics() {
  Node node;
  node.start();
  node.await(node.submit("3g.20gb", "exec sleep 1000"), "running");
  Known known;
  eventually("everything has been measured", [&] {
    known = read(std::string(node.call("GET", "/metrics").as_string()));
    return known.contains("tangram_pcie_throughput_bytes_per_second");
  });
  return known;
}

bool promtool(const std::string& arguments, std::string& output) {
  const os::testing::Folder folder;
  const std::string command = cat("promtool ", arguments, " > ", folder.at("output"), " 2>&1");
  const bool good = std::system(command.c_str()) == 0;
  output = folder.read("output");
  return good;
}
bool has_promtool() { return std::system("command -v promtool > /dev/null") == 0; }

struct Expression {
  std::string where;
  std::string text;
  std::string legend;
};

std::vector<Expression> of_dashboard() {
  std::vector<Expression> found;
  const json::value dashboard = json::parse(file(kDashboard));
  for (const json::value& panel : dashboard.at("panels").as_array()) {
    const std::string title(panel.at("title").as_string());
    for (const json::value& target : panel.at("targets").as_array()) {
      std::string text(target.at("expr").as_string());
      text = std::regex_replace(text, std::regex(R"(\$__rate_interval)"), "5m");
      text = std::regex_replace(text, std::regex(R"(\$instance)"), ".*");
      found.push_back({.where = cat(title, " ", std::string(target.at("refId").as_string())),
                       .text = text,
                       .legend = std::string(target.at("legendFormat").as_string())});
    }
  }
  return found;
}

std::vector<Expression> of_rules() {
  std::vector<Expression> found;
  const std::string text = file(kRules);
  for (const auto& each :
       all(text, std::regex(R"(- alert: (\w+)\n +expr: (?:>-\n)?((?:.*\n)+?) +(?:for|labels):)"))) {
    found.push_back({.where = each[1], .text = each[2], .legend = ""});
  }
  return found;
}

void expect_known(const Expression& expression, const Known& known) {
  static const std::regex name(R"(\b(tangram_[a-z_]+)(?:\{([^}]*)\})?)");
  static const std::regex matcher(R"re(([a-z_]+)(=|=~)"([^"]*)")re");
  std::set<std::string> labels{"instance"};
  int named = 0;
  for (const auto& each : all(expression.text, name)) {
    ++named;
    const auto metric = known.find(each[1]);
    ASSERT_NE(metric, known.end()) << expression.where << " names " << each[1];
    for (const auto& [label, values] : metric->second) labels.insert(label);
    const std::string inner = each[2];
    for (const auto& one : all(inner, matcher)) {
      const auto label = metric->second.find(one[1]);
      ASSERT_NE(label, metric->second.end()) << expression.where << ": " << each[0];
      const bool can_match = one[2] == "=~" || label->second.contains(one[3]);
      EXPECT_TRUE(can_match) << expression.where << ": " << each[0];
    }
  }
  static const std::regex grouping(R"(\b(?:by|on) \(([a-z_, ]+)\))");
  static const std::regex word("[a-z_]+");
  for (const auto& each : all(expression.text, grouping)) {
    const std::string inner = each[1];
    for (const auto& label : all(inner, word)) {
      EXPECT_TRUE(labels.contains(label[0])) << expression.where << ": " << each[0];
    }
  }
  static const std::regex shown(R"(\{\{([a-z_]+)\}\})");
  for (const auto& each : all(expression.legend, shown)) {
    EXPECT_TRUE(labels.contains(each[1])) << expression.where << ": " << expression.legend;
  }
  const bool uses_no_metric =
      expression.where == "TangramDown" || expression.where == "TangramTextFileStale";
  EXPECT_EQ(named == 0, uses_no_metric) << expression.where;
}

TEST(MetricsRules, UseOnlyExistingMetrics) {
  const Known known = known_metrics();
  const std::vector<Expression> rules = of_rules();
  EXPECT_EQ(rules.size(), all(file(kRules), std::regex("- alert: ")).size());
  for (const Expression& each : rules) expect_known(each, known);
  for (const Expression& each : of_dashboard()) expect_known(each, known);
}

TEST(MetricsRules, FireOnlyWhenTheyShould) {
  const std::string cases = file("tests/daemon/alerts.yml");
  for (const Expression& each : of_rules()) {
    const std::string tested = cat("alertname: ", each.where, "\n        exp_alerts:");
    EXPECT_NE(cases.find(tested + "\n"), std::string::npos) << each.where << " never fires";
    EXPECT_NE(cases.find(tested + " []"), std::string::npos) << each.where << " is never silent";
  }
  if (!has_promtool()) GTEST_SKIP() << "promtool is not installed";
  std::string output;
  EXPECT_TRUE(promtool(cat("check rules " TANGRAM_SOURCE_DIR "/", kRules), output)) << output;
  EXPECT_TRUE(promtool("test rules " TANGRAM_SOURCE_DIR "/tests/daemon/alerts.yml", output))
      << output;
}

// Checks the expressions of the dashboard as recording rules.
TEST(Dashboard, ExpressionsCanBeParsedByPrometheus) {
  std::string rules = "groups:\n  - name: dashboard\n    rules:\n";
  int count = 0;
  for (const Expression& each : of_dashboard()) {
    ASSERT_EQ(each.text.find('\''), std::string::npos) << each.where;
    rules += cat("      - {record: 'panel:", ++count, "', expr: '", each.text, "'}\n");
  }
  EXPECT_GT(count, 40);
  if (!has_promtool()) GTEST_SKIP() << "promtool is not installed";
  const os::testing::Folder folder;
  std::string output;
  EXPECT_TRUE(promtool(cat("check rules ", folder.write("rules.yml", rules)), output)) << output;
}

TEST(Dashboard, PanelsDoNotOverlap) {
  const json::value dashboard = json::parse(file(kDashboard));
  std::set<std::int64_t> ids;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> taken;
  for (const json::value& panel : dashboard.at("panels").as_array()) {
    const std::string title(panel.at("title").as_string());
    EXPECT_TRUE(ids.insert(panel.at("id").as_int64()).second) << title;
    const auto at = [&](const char* key) { return panel.at("gridPos").at(key).as_int64(); };
    EXPECT_GT(at("w") * at("h"), 0) << title;
    EXPECT_LE(at("x") + at("w"), 24) << title;
    for (std::int64_t x = at("x"); x < at("x") + at("w"); ++x) {
      for (std::int64_t y = at("y"); y < at("y") + at("h"); ++y) {
        const auto [other, is_free] = taken.emplace(std::pair(x, y), title);
        ASSERT_TRUE(is_free) << title << " overlaps " << other->second;
      }
    }
    std::set<std::string> targets;
    for (const json::value& target : panel.at("targets").as_array()) {
      EXPECT_TRUE(targets.emplace(target.at("refId").as_string()).second) << title;
    }
  }
  EXPECT_GT(ids.size(), 20U);
}

}  // namespace
}  // namespace tangram::tests
