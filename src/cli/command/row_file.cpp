// See row_file.hpp.
#include "cli/command/row_file.hpp"

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::cli {

Result<void> RowFile::open(const std::string& path, std::vector<std::string> columns) {
  path_ = path;
  json_ = path.ends_with(".jsonl");
  columns_ = std::move(columns);
  file_.open(path, std::ios::binary | std::ios::trunc);
  if (!json_ && file_) {
    std::string head;
    for (const std::string& column : columns_) head += (head.empty() ? "" : ",") + column;
    file_ << head << '\n';
  }
  return check();
}

void RowFile::row(const std::vector<Field>& fields) {
  CHECK(fields.size() == columns_.size());
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += json_ ? ", " : ",";
    if (json_) line += cat('"', columns_[i], "\": ");
    const bool quotes = json_ && fields[i].is_text;
    line += quotes ? cat('"', fields[i].text, '"') : fields[i].text;
  }
  file_ << (json_ ? "{" : "") << line << (json_ ? "}\n" : "\n");
}

Result<void> RowFile::close() {
  if (!is_open()) return {};
  file_.close();
  return check();
}

Result<void> RowFile::check() const {
  if (file_) return {};
  return failed(cat("cannot write ", path_, "; check free space and permissions."));
}

}  // namespace tangram::cli
