// TopScreen: the terminal of `tangram top`. The only module that uses ncurses. The destructor
// restores the terminal, so it must run on every way out of the program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/top/top_view.hpp"

namespace tangram::cli {

// A key press, independent of curses.
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
  [[nodiscard]] std::optional<TopKey> key();  // nullopt if none is pending

 private:
  explicit TopScreen(bool color);
  bool color_;
};

}  // namespace tangram::cli
