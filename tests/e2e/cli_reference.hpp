// Parses docs/cli.md to find the text that documents a verb, so that an option counts as documented
// only where its verb is. A verb is documented under a heading that names it, in a table row that
// begins with it, or in the text below the heading of its family.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tangram::tests {

class CliReference {
 public:
  explicit CliReference(const std::string& text);

  // All text that documents the verb (e.g. "mig show"); empty if there is none.
  [[nodiscard]] std::string about(const std::string& verb) const;

  // Table rows that begin with a verb.
  struct Row {
    std::string heading;             // of its section
    std::vector<std::string> names;  // the backquoted texts of its first cell
    std::string text;
  };
  [[nodiscard]] std::vector<Row> rows() const;

 private:
  struct Section {
    std::string heading;
    std::string prose;  // including tables of options
    std::vector<Row> rows;
  };
  std::vector<Section> sections_;
};

// All options in the text, e.g. "--json".
[[nodiscard]] std::set<std::string> options_in(const std::string& text);

}  // namespace tangram::tests
