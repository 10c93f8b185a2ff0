// See picture.hpp.
#include "cli/command/picture.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"

namespace tangram::cli {
namespace {

constexpr int kMargin = 2;
constexpr int kWidestSlice = 10;

// A line of characters that can be overwritten until text() renders it.
class Line {
 public:
  Line(const Output& out, int width)
      : out_(out), signs_(static_cast<std::size_t>(width), " "), styles_(signs_.size()) {}

  void put(int column, std::string_view sign, Style style = Style::kPlain) {
    const auto at = static_cast<std::size_t>(column);
    if (column < 0 || at >= signs_.size()) return;
    signs_[at] = sign;
    styles_[at] = style;
  }
  // Plain ASCII text.
  void write(int column, std::string_view text, Style style = Style::kPlain) {
    for (const char& c : text) put(column++, std::string_view(&c, 1), style);
  }
  void fill(int from, int to, std::string_view sign, Style style) {
    for (int column = from; column < to; ++column) put(column, sign, style);
  }
  [[nodiscard]] std::string text() const {
    std::size_t end = signs_.size();
    while (end > 0 && signs_[end - 1] == " ") --end;
    std::string out;
    for (std::size_t i = 0; i < end;) {
      std::string run;
      const Style style = styles_[i];
      for (; i < end && styles_[i] == style; ++i) run += signs_[i];
      out += out_.paint(run, style);
    }
    return out + '\n';
  }

 private:
  const Output& out_;
  std::vector<std::string> signs_;
  std::vector<Style> styles_;
};

Style style_of(const mig::Model& model, mig::ProfileIndex profile) {
  constexpr std::array kStyles = {Style::kCyan, Style::kGreen, Style::kYellow, Style::kMagenta,
                                  Style::kBlue};
  return kStyles[static_cast<std::size_t>(model.geometry_of(profile)) % kStyles.size()];
}

void write_centred(Line& line, int from, int to, std::string_view text, Style style) {
  line.write(from + (to - from - static_cast<int>(text.size())) / 2, text, style);
}

// The line of slice numbers. `overhang`: 1 if neighbouring slices share a border, else 0.
std::string ruler(const Output& out, int slices, int left, int slice_width, int overhang,
                  std::string_view label) {
  Line line(out, left + slices * slice_width + 1);
  line.write(kMargin, label, Style::kDim);
  for (int slice = 0; slice < slices; ++slice) {
    const int from = left + slice * slice_width;
    write_centred(line, from, from + slice_width + overhang, std::to_string(slice), Style::kDim);
  }
  return line.text();
}

// The longest form of a profile name that fits: "1g.10gb+me", "1g+me" or "1g".
std::string short_name(const std::string& name, int width) {
  const auto fits = [&](const std::string& text) { return static_cast<int>(text.size()) <= width; };
  const std::size_t dot = name.find('.');
  if (fits(name) || dot == std::string::npos)
    return name.substr(0, static_cast<std::size_t>(width));
  const std::size_t suffix = name.find_first_of("+-", dot);
  const std::string shorter =
      name.substr(0, dot) + (suffix == std::string::npos ? "" : name.substr(suffix));
  return fits(shorter) ? shorter : name.substr(0, std::min(dot, static_cast<std::size_t>(width)));
}

// A part of the row of slices: a placement, or one free slice.
struct Segment {
  int first;
  int size;
  std::optional<mig::ProfileIndex> profile;
};

std::vector<Segment> segments_of(const mig::Model& model,
                                 std::span<const mig::Placement> placements) {
  std::vector<Segment> segments;
  for (int slice = 0; slice < model.memory_slices();) {
    const auto here = std::ranges::find(placements, slice, &mig::Placement::start);
    if (here == placements.end()) {
      segments.push_back({slice, 1, std::nullopt});
    } else {
      segments.push_back({slice, model.profile(here->profile).memory_slices, here->profile});
    }
    slice += segments.back().size;
  }
  return segments;
}

// The characters of a horizontal border, by what is left and right of a corner.
struct Border {
  std::string_view free, taken;
  std::string_view left_free, left_taken, right_free, right_taken;
  std::string_view free_free, free_taken, taken_taken, taken_free;

  [[nodiscard]] std::string_view corner(std::optional<bool> left, std::optional<bool> right) const {
    if (!left) return *right ? left_taken : left_free;
    if (!right) return *left ? right_taken : right_free;
    if (*left) return *right ? taken_taken : taken_free;
    return *right ? free_taken : free_free;
  }
};
constexpr Border kTop = {"┄", "━", "┌", "┏", "┐", "┓", "┬", "┲", "┳", "┱"};
constexpr Border kBottom = {"┄", "━", "└", "┗", "┘", "┛", "┴", "┺", "┻", "┹"};
constexpr Border kAscii = {".", "=", "+", "+", "+", "+", "+", "+", "+", "+"};
constexpr Border kUpright = {"", "", "┊", "┃", "┊", "┃", "┊", "┃", "┃", "┃"};
constexpr Border kAsciiUpright = {"", "", ":", "|", ":", "|", ":", "|", "|", "|"};

// The segments of a row and their columns on the screen.
struct Row {
  const Output& out;
  const mig::Model& model;
  std::vector<Segment> segments;
  int slice_width;

  [[nodiscard]] int column(int slice) const { return kMargin + slice * slice_width; }
  [[nodiscard]] Style style(const Segment& s) const {
    return s.profile ? style_of(model, *s.profile) : Style::kDim;
  }
  void corners(Line& line, const Border& border) const {
    for (std::size_t i = 0; i <= segments.size(); ++i) {
      const Segment* left = i == 0 ? nullptr : &segments[i - 1];
      const Segment* right = i == segments.size() ? nullptr : &segments[i];
      const auto taken = [](const Segment* s) {
        return s == nullptr ? std::nullopt : std::optional<bool>(s->profile.has_value());
      };
      const bool by_left =
          right == nullptr || (left != nullptr && left->profile && !right->profile);
      const int at = right == nullptr ? left->first + left->size : right->first;
      line.put(column(at), border.corner(taken(left), taken(right)),
               style(by_left ? *left : *right));
    }
  }
  [[nodiscard]] std::string edge(const Border& border) const {
    Line line(out, column(model.memory_slices()) + 1);
    for (const Segment& s : segments) {
      line.fill(column(s.first) + 1, column(s.first + s.size),
                s.profile ? border.taken : border.free, style(s));
    }
    corners(line, border);
    return line.text();
  }
  [[nodiscard]] std::string names() const {
    Line line(out, column(model.memory_slices()) + 1);
    for (const Segment& s : segments) {
      if (!s.profile) continue;
      const int from = column(s.first) + 1;
      const int to = column(s.first + s.size);
      write_centred(line, from, to, short_name(model.profile(*s.profile).name, to - from),
                    Style::kBold);
    }
    corners(line, out.utf8() ? kUpright : kAsciiUpright);
    return line.text();
  }
};

// Overlapping placements of one profile are drawn on separate lines.
std::vector<std::vector<int>> lanes_of(const mig::Profile& profile) {
  std::vector<int> starts = profile.starts;
  std::ranges::sort(starts);
  std::vector<std::vector<int>> lanes;
  for (const int start : starts) {
    const auto free = std::ranges::find_if(lanes, [&](const std::vector<int>& lane) {
      return lane.back() + profile.memory_slices <= start;
    });
    if (free == lanes.end()) {
      lanes.push_back({start});
    } else {
      free->push_back(start);
    }
  }
  return lanes;
}

void draw_bar(Line& line, const Output& out, int from, int to, int start, Style style) {
  const std::string label = std::to_string(start);
  const bool roomy = to - from >= static_cast<int>(label.size()) + 4;
  line.fill(from, to, out.sign("━", "="), style);
  line.put(from, out.sign("┣", "["), style);
  line.put(to - 1, out.sign("┫", "]"), style);
  write_centred(line, from, to, roomy ? cat(' ', label, ' ') : label, Style::kBold);
}

}  // namespace

std::string layout_picture(const Output& out, const mig::Model& model,
                           std::span<const mig::Placement> placements) {
  const int width = std::min(kWidestSlice, (kScreenColumns - 1 - kMargin) / model.memory_slices());
  const Row row{out, model, segments_of(model, placements), width};
  return ruler(out, model.memory_slices(), kMargin, width, 1, "") +
         row.edge(out.utf8() ? kTop : kAscii) + row.names() +
         row.edge(out.utf8() ? kBottom : kAscii);
}

std::string placements_picture(const Output& out, const mig::Model& model) {
  constexpr std::size_t kLongestLabel = 24;
  std::size_t label = std::string_view("memory slice").size();
  for (const mig::Profile& p : model.profiles()) label = std::max(label, p.name.size());
  const int left = kMargin + static_cast<int>(std::min(label, kLongestLabel)) + 2;
  const int width = std::min(kWidestSlice, (kScreenColumns - 1 - left) / model.memory_slices());
  std::string text = ruler(out, model.memory_slices(), left, width, 0, "memory slice");
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    const mig::ProfileIndex index(static_cast<std::uint8_t>(i));
    const mig::Profile& profile = model.profile(index);
    std::string_view name = profile.name;
    for (const std::vector<int>& lane : lanes_of(profile)) {
      Line line(out, left + model.memory_slices() * width + 1);
      line.write(kMargin, name.substr(0, kLongestLabel));
      for (const int start : lane) {
        const int from = left + start * width;
        draw_bar(line, out, from, from + profile.memory_slices * width, start,
                 style_of(model, index));
      }
      text += line.text();
      name = "";
    }
  }
  return text;
}

std::string strip_picture(const Output& out, const mig::Model& model,
                          std::span<const mig::Placement> placements) {
  constexpr std::string_view kDigits = "0123456789abcdefg";
  std::string text;
  for (const Segment& s : segments_of(model, placements)) {
    if (!s.profile) {
      text += out.sign("·", ".");
      continue;
    }
    const auto compute = static_cast<std::size_t>(model.profile(*s.profile).compute_slices);
    text.append(static_cast<std::size_t>(s.size), kDigits[compute]);
  }
  return text;
}

}  // namespace tangram::cli
