// TopScreen: the terminal of `tangram top`, through ncurses. One rule: whatever ends the program,
// the terminal is as it was before; this is the only file that knows curses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/top_view.hpp"

namespace tangram::cli {

// A key, as the rest of top knows it.
struct TopKey {
  enum class Kind { kLetter, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kErase, kEscape };
  Kind kind = Kind::kLetter;
  std::string letter;  // UTF-8
};

class TopScreen {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TopScreen>> open(const OutputOptions& options);
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;
  TopScreen(TopScreen&&) = delete;
  TopScreen& operator=(TopScreen&&) = delete;

  [[nodiscard]] TopSize size() const;
  void resize();  // after SIGWINCH
  void paint(const std::vector<TopLine>& lines);
  [[nodiscard]] std::optional<TopKey> key();  // one that was pressed already

 private:
  explicit TopScreen(bool color);
  bool color_;
};

}  // namespace tangram::cli
