// RowFile: rows of named columns, written while they come: as CSV, or as one JSON object per line
// if the file's name ends in .jsonl. One rule: the first failure is kept and told at the end.
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::cli {

struct Field {
  std::string text;      // without commas or quotes
  bool is_text = false;  // and not a number
};

class RowFile {
 public:
  [[nodiscard]] Result<void> open(const std::string& path, std::vector<std::string> columns);
  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  void row(const std::vector<Field>& fields);
  [[nodiscard]] Result<void> close();

 private:
  [[nodiscard]] Result<void> check() const;

  std::string path_;
  bool json_ = false;
  std::vector<std::string> columns_;
  std::ofstream file_;
};

}  // namespace tangram::cli
