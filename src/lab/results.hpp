// Results: the findings of an experiment as data: tables, figures, the paper's claims beside ours,
// and every number as JSON; independent of how they are shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "lab/experiment.hpp"
#include "sim/statistics.hpp"

namespace tangram::lab {

struct ResultTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // the first cell is the row's name
};

struct Series {      // for the figure: a CSV file
  std::string name;  // ablation.csv
  std::string csv;
};

// One claim of the paper and whether it was reproduced.
struct Verdict {
  enum class Holds {
    kYes,        // on every workload, beyond the interval
    kPartly,     // on some
    kNo,         // on none, beyond the interval
    kUndecided,  // the intervals are too wide
    kNothing,    // nothing to compare: near zero everywhere
  };

  std::string says;
  std::string ours;
  Holds holds = Holds::kNo;
};

// A measure on one workload, to compare claims with.
struct Measure {
  std::string name;
  std::string on;
  sim::Estimate value;     // a share: 0.13 is 13 %
  bool meaningful = true;  // false: both sides are near zero, no percentage is given
  std::string note;        // shown instead of the share, if not empty
};

struct Findings {
  std::vector<ResultTable> tables;
  std::vector<Series> series;
  std::vector<Measure> measures;
  std::vector<std::string> remarks;  // sentences for the reader
  boost::json::object numbers;
};

// A share as "12.3 % ± 0.4"; without ± if there is no interval.
[[nodiscard]] std::string percent(const sim::Estimate& share);
[[nodiscard]] std::string with_interval(const sim::Estimate& value, int digits);
[[nodiscard]] boost::json::object to_json(const sim::Estimate& value);

// The text of a verdict: "reproduced", "in part", …
[[nodiscard]] std::string_view word_of(Verdict::Holds holds);

[[nodiscard]] std::vector<Verdict> judge(const Experiment& experiment, const Findings& findings);

}  // namespace tangram::lab
