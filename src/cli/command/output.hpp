// Output: buffers what a verb prints until the verb has succeeded, so that an error never leaves
// partial output on standard output. Colours are used only on a terminal and if NO_COLOR is unset;
// the text must be readable without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::cli {

inline constexpr int kScreenColumns = 80;

enum class Style { kPlain, kBold, kDim, kGood, kBad, kCyan, kGreen, kYellow, kMagenta, kBlue };

// Values of --color and --ascii.
struct OutputOptions {
  std::string color = "auto";  // auto, always, never
  bool ascii = false;
};

class Output {
 public:
  Output() = default;
  Output(bool color, bool utf8) : color_(color), utf8_(utf8) {}
  // Decides about colour and UTF-8 from the options, the terminal, the environment and the locale.
  [[nodiscard]] static Output for_stdout(const OutputOptions& options);

  [[nodiscard]] bool utf8() const { return utf8_; }
  // Returns the form of a symbol that the output can show.
  [[nodiscard]] std::string_view sign(std::string_view utf8, std::string_view ascii) const {
    return utf8_ ? utf8 : ascii;
  }
  [[nodiscard]] std::string paint(std::string_view text, Style style) const;

  void add(std::string_view text) { text_ += text; }
  void line(std::string_view text = "") { (text_ += text) += '\n'; }
  // Prose, indented by two and wrapped at 80 columns.
  void paragraph(std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string& buffer() { return text_; }

  // Writes the buffer to standard output and clears it. A closed pipe (`| head`) is not an error.
  [[nodiscard]] Result<void> flush();

 private:
  bool color_ = false;
  bool utf8_ = false;
  std::string text_;
};

// The width of text in terminal columns (UTF-8; no wide or combining characters).
[[nodiscard]] int width_of(std::string_view text);

struct Cell {
  Cell(std::string t, Style s = Style::kPlain) : text(std::move(t)), style(s) {}
  Cell(const char* t) : text(t) {}
  Cell(int number) : text(std::to_string(number)) {}

  std::string text;
  Style style = Style::kPlain;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string heading;
  Align align = Align::kLeft;
  int gap = 2;  // blanks before it
};

// Aligned columns under headings. The last column is wrapped to keep lines within 80 columns; a
// newline in it starts a new line.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  void print(Output& out) const;

 private:
  [[nodiscard]] std::vector<int> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tangram::cli
