// See top_screen.hpp.
#include "cli/top/top_screen.hpp"

#include <climits>
#include <clocale>
#include <cwchar>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/command/environment.hpp"

// Included last: it defines common words as macros.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

namespace tangram::cli {
namespace {

enum Pair : short { kRed = 1, kGreen, kYellow, kBlue, kMagenta, kCyan };

void make_colors() {
  ::start_color();
  ::use_default_colors();
  const short colors[] = {COLOR_RED,  COLOR_GREEN,   COLOR_YELLOW,
                          COLOR_BLUE, COLOR_MAGENTA, COLOR_CYAN};
  short pair = kRed;
  for (const short color : colors) ::init_pair(pair++, color, -1);
}

attr_t attribute_of(Style style, bool color) {
  const auto paint = [color](Pair pair) {
    return color ? static_cast<attr_t>(COLOR_PAIR(pair)) : attr_t{A_NORMAL};
  };
  switch (style) {
    case Style::kPlain:
      return A_NORMAL;
    case Style::kBold:
      return A_BOLD;
    case Style::kDim:
      return color ? A_DIM : A_NORMAL;
    case Style::kGood:
      return A_BOLD | paint(kGreen);
    case Style::kBad:
      return A_BOLD | paint(kRed);
    case Style::kCyan:
      return paint(kCyan);
    case Style::kGreen:
      return paint(kGreen);
    case Style::kYellow:
      return paint(kYellow);
    case Style::kMagenta:
      return paint(kMagenta);
    case Style::kBlue:
      return paint(kBlue);
  }
  return A_NORMAL;
}

// Truncates text to `columns` characters.
std::string clipped(const std::string& text, int columns) {
  std::size_t end = 0;
  int width = 0;
  while (end < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && width == columns) break;
    width += begins ? 1 : 0;
    ++end;
  }
  return text.substr(0, end);
}

std::optional<TopKey::Kind> kind_of(wint_t code) {
  using enum TopKey::Kind;
  switch (code) {
    case KEY_UP:
      return kUp;
    case KEY_DOWN:
      return kDown;
    case KEY_PPAGE:
      return kPageUp;
    case KEY_NPAGE:
      return kPageDown;
    case KEY_HOME:
      return kHome;
    case KEY_END:
      return kEnd;
    case KEY_ENTER:
      return kEnter;
    case KEY_BACKSPACE:
    case KEY_DC:
      return kErase;
    default:
      return std::nullopt;
  }
}

std::string utf8_of(wint_t letter) {
  char bytes[MB_LEN_MAX + 1] = {};
  std::mbstate_t state{};
  const std::size_t size = std::wcrtomb(bytes, static_cast<wchar_t>(letter), &state);
  return size == static_cast<std::size_t>(-1) ? "" : std::string(bytes, size);
}

}  // namespace

Result<std::unique_ptr<TopScreen>> TopScreen::open(const OutputOptions& options) {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    return invalid(
        "top needs a terminal; use `tangram ps --watch` or `tangram gpus --watch` instead.");
  }
  std::setlocale(LC_ALL, "");
  if (::newterm(nullptr, stdout, stdin) == nullptr) {
    return invalid(cat("the terminal ", tangram::quoted(environment("TERM")),
                       " is unknown; set TERM, e.g. to xterm."));
  }
  const bool wanted =
      options.color == "always" || (options.color == "auto" && environment("NO_COLOR").empty());
  return std::unique_ptr<TopScreen>(new TopScreen(wanted && ::has_colors()));
}

TopScreen::TopScreen(bool color) : color_(color) {
  if (color_) make_colors();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(50);
  ::curs_set(0);
}

TopScreen::~TopScreen() { ::endwin(); }

TopSize TopScreen::size() const { return {getmaxy(stdscr), getmaxx(stdscr)}; }

void TopScreen::resize() {
  winsize now{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_row == 0 || now.ws_col == 0) return;
  ::resizeterm(now.ws_row, now.ws_col);
  ::clearok(stdscr, TRUE);
}

void TopScreen::paint(const std::vector<TopLine>& lines) {
  ::erase();
  const TopSize screen = size();
  for (int y = 0; y < screen.rows && y < static_cast<int>(lines.size()); ++y) {
    const TopLine& line = lines[static_cast<std::size_t>(y)];
    ::move(y, 0);
    int left = screen.columns;
    for (const StyledText& piece : line.pieces) {
      const std::string text = clipped(piece.text, left);
      left -= width_of(text);
      ::wattrset(stdscr, static_cast<int>(attribute_of(piece.style, color_) |
                                          (line.selected ? A_REVERSE : A_NORMAL)));
      ::addstr(text.c_str());
    }
    ::wattrset(stdscr, A_NORMAL);
  }
  ::refresh();
}

std::optional<TopKey> TopScreen::key() {
  wint_t code = 0;
  const int what = ::get_wch(&code);
  if (what == ERR) return std::nullopt;
  constexpr wint_t kEscape = 27;
  constexpr wint_t kDelete = 127;
  constexpr wint_t kBackspace = 8;
  if (what == KEY_CODE_YES) {
    const auto kind = kind_of(code);
    return TopKey{kind.value_or(TopKey::Kind::kLetter), ""};
  }
  if (code == kEscape) return TopKey{TopKey::Kind::kEscape, ""};
  if (code == '\r' || code == '\n') return TopKey{TopKey::Kind::kEnter, ""};
  if (code == kDelete || code == kBackspace) return TopKey{TopKey::Kind::kErase, ""};
  return TopKey{TopKey::Kind::kLetter, utf8_of(code)};
}

}  // namespace tangram::cli
