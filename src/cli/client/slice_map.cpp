// See slice_map.hpp.
#include "cli/client/slice_map.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr int kMargin = 2;
constexpr int kWidestSlice = 9;

std::string label_of(const api::InstanceView& i) {
  if (i.job) return cat('#', *i.job);
  return i.state;
}

Style style_of(const api::InstanceView& i) {
  constexpr std::array kJobs = {Style::kCyan, Style::kGreen, Style::kYellow, Style::kMagenta,
                                Style::kBlue};
  if (i.state == "quarantined") return Style::kBad;
  if (!i.job) return Style::kDim;
  return kJobs[*i.job % kJobs.size()];
}

// Centres text in `width` columns; truncates it if it does not fit.
std::string centred(std::string text, std::size_t width) {
  if (text.size() > width) text.resize(width);
  const std::size_t left = (width - text.size()) / 2;
  return std::string(left, ' ') + text + std::string(width - text.size() - left, ' ');
}

// The longest of "2g.10gb #17", "2g #17" and "#17" that fits.
std::string inside(const api::InstanceView& i, std::size_t width) {
  const std::string label = printable(label_of(i));
  const std::string profile = printable(i.profile);
  const std::string both = cat(profile, ' ', label);
  if (both.size() <= width) return centred(both, width);
  const std::string compute = cat(profile.substr(0, profile.find('.')), ' ', label);
  return centred(compute.size() <= width ? compute : label, width);
}

}  // namespace

std::vector<StyledText> slice_pieces(const Output& out, const api::GpuView& gpu, int columns) {
  const auto slices = static_cast<int>(std::clamp(gpu.memory_slices, 1U, 64U));
  const int width = std::clamp((columns - 1) / slices, 1, kWidestSlice);
  const StyledText heavy{std::string(out.sign("┃", "|"))};
  const StyledText light{std::string(out.sign("┊", ":")), Style::kDim};
  std::vector<StyledText> pieces;
  bool after_instance = false;
  for (int slice = 0; slice < slices;) {
    const auto here = std::ranges::find(gpu.instances, static_cast<std::uint32_t>(slice),
                                        &api::InstanceView::start);
    if (here == gpu.instances.end()) {
      pieces.push_back(after_instance ? heavy : light);
      pieces.push_back({centred(".", static_cast<std::size_t>(width - 1)), Style::kDim});
      after_instance = false;
      ++slice;
      continue;
    }
    const int size = std::clamp(static_cast<int>(std::min(here->size, 64U)), 1, slices - slice);
    pieces.push_back(heavy);
    pieces.push_back({inside(*here, static_cast<std::size_t>(size * width - 1)), style_of(*here)});
    after_instance = true;
    slice += size;
  }
  pieces.push_back(after_instance ? heavy : light);
  return pieces;
}

std::string slice_map(const Output& out, const api::GpuView& gpu) {
  std::string line(kMargin, ' ');
  for (const StyledText& piece : slice_pieces(out, gpu, kScreenColumns - kMargin)) {
    line += out.paint(piece.text, piece.style);
  }
  return line + "\n";
}

}  // namespace tangram::cli
