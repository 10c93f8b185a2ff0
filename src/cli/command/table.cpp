// See output.hpp: tables and paragraphs.
#include <algorithm>

#include "cli/command/output.hpp"

namespace tangram::cli {
namespace {

constexpr int kNarrowest = 16;  // the last column is never narrower

std::string padded(const Output& out, const Cell& cell, int width, Align align) {
  const auto blanks = static_cast<std::size_t>(std::max(0, width - width_of(cell.text)));
  const std::string painted = out.paint(cell.text, cell.style);
  return align == Align::kRight ? std::string(blanks, ' ') + painted
                                : painted + std::string(blanks, ' ');
}

std::vector<std::string> folded(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool fits = lines.back().empty() || width_of(lines.back()) + 1 + width_of(word) <= width;
    if (!fits) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    if (end < text.size() && text[end] == '\n') lines.emplace_back();
    at = end + 1;
  }
  return lines;
}

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

void Output::paragraph(std::string_view text) {
  constexpr int kIndent = 2;
  for (const std::string& part : folded(text, kScreenColumns - kIndent)) {
    line(std::string(kIndent, ' ') + part);
  }
}

std::vector<int> Table::widths() const {
  std::vector<int> widths;
  widths.reserve(columns_.size());
  for (const Column& column : columns_) widths.push_back(width_of(column.heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  int used = 0;
  for (std::size_t i = 0; i + 1 < columns_.size(); ++i) used += columns_[i].gap + widths[i];
  const int left = kScreenColumns - used - columns_.back().gap;
  int widest = widths.back();
  for (const auto& row : rows_) widest = std::max(widest, width_of(row.back().text));
  widths.back() = std::min(widest, std::max(left, kNarrowest));
  return widths;
}

void Table::print(Output& out) const {
  const std::vector<int> width = widths();
  const auto print_row = [&](const std::vector<Cell>& cells) {
    std::string line;
    int used = 0;
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
      line += std::string(static_cast<std::size_t>(columns_[i].gap), ' ');
      line += padded(out, cells[i], width[i], columns_[i].align);
      used += columns_[i].gap + width[i];
    }
    used += columns_.back().gap;
    line += std::string(static_cast<std::size_t>(columns_.back().gap), ' ');
    const Cell& last = cells.back();
    for (const std::string& part : folded(last.text, width.back())) {
      line += padded(out, Cell(part, last.style), width.back(), columns_.back().align);
      trim_end(line);
      out.line(line);
      line = std::string(static_cast<std::size_t>(used), ' ');
    }
  };
  std::vector<Cell> headings;
  headings.reserve(columns_.size());
  for (const Column& column : columns_) headings.emplace_back(column.heading, Style::kDim);
  const auto unnamed = [](const Column& column) { return column.heading.empty(); };
  if (!std::ranges::all_of(columns_, unnamed)) print_row(headings);
  for (const auto& row : rows_) print_row(row);
}

}  // namespace tangram::cli
