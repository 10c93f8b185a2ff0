// docs/cli.md as a reference: where it describes a verb, and what it says there. It exists so that
// a verb or an option counts as documented only at its own place. One rule: a verb is described
// under a heading that names it, in a row of a table that begins with it, or in the text below the
// heading of its family.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tangram::tests {

class CliReference {
 public:
  explicit CliReference(const std::string& text);

  // All that is said where the verb ("mig show") is described; empty: nowhere.
  [[nodiscard]] std::string about(const std::string& verb) const;

  // Rows of tables that begin with a verb: what is said in it of that verb alone.
  struct Row {
    std::string heading;             // of its section
    std::vector<std::string> names;  // what stands in backquotes in its first cell
    std::string text;
  };
  [[nodiscard]] std::vector<Row> rows() const;

 private:
  struct Section {
    std::string heading;
    std::string prose;  // and tables of options
    std::vector<Row> rows;
  };
  std::vector<Section> sections_;
};

// "--json" and the like.
[[nodiscard]] std::set<std::string> options_in(const std::string& text);

}  // namespace tangram::tests
