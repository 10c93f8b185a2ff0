// RowFile: writes rows of named columns to a file, as CSV or, if the name ends in .jsonl, as JSON
// Lines. A failed write is reported by close().
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::cli {

struct Field {
  std::string text;      // without commas or quotes
  bool is_text = false;  // else a number
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
