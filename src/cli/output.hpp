// Output: what a verb prints, and how. Everything is kept until the verb has succeeded, so that an
// error never leaves half an answer on standard output. Colours only where a person looks: on a
// terminal that has them, unless NO_COLOR is set. One rule: text looks right without colour.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tangram::cli {

inline constexpr int kScreenColumns = 80;

enum class Style { kPlain, kBold, kDim, kGood, kBad, kCyan, kGreen, kYellow, kMagenta, kBlue };

// As the user asked for it.
struct OutputOptions {
  std::string color = "auto";  // auto, always, never
  bool ascii = false;
};

class Output {
 public:
  Output() = default;
  Output(bool color, bool utf8) : color_(color), utf8_(utf8) {}
  // What suits standard output, the environment and the user's wish.
  [[nodiscard]] static Output for_stdout(const OutputOptions& options);

  [[nodiscard]] bool utf8() const { return utf8_; }
  // One of two forms of the same sign.
  [[nodiscard]] std::string_view sign(std::string_view utf8, std::string_view ascii) const {
    return utf8_ ? utf8 : ascii;
  }
  [[nodiscard]] std::string paint(std::string_view text, Style style) const;

  void add(std::string_view text) { text_ += text; }
  void line(std::string_view text = "") { (text_ += text) += '\n'; }
  // Prose, indented by two and folded at blanks to the width of the screen.
  void paragraph(std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string& buffer() { return text_; }

  // Writes it to standard output. A reader that has gone away (`| head`) is no error.
  [[nodiscard]] Result<void> flush();

 private:
  bool color_ = false;
  bool utf8_ = false;
  std::string text_;
};

// The columns that text takes on a screen (UTF-8; no wide or combining characters).
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

// Aligned columns under their headings. The last column is folded at blanks to keep lines within
// the screen; a newline in it starts a new line.
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
