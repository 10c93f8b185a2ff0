// See board.hpp.
#include "emulator/board.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.hpp"
#include "mig/catalog.hpp"
#include "nvml/abi.hpp"

namespace tangram::emulator {
namespace {

// Facts that the catalog does not have; 0: unknown, derived from the architecture.
struct BoardRow {
  std::string_view model;
  unsigned architecture;
  int compute_major;
  int compute_minor;
  unsigned pci_device_id;
  unsigned memory_mib;
  unsigned reserved_mib;
  unsigned bar1_mib;
  unsigned pcie_generation;
  unsigned power_limit_w;
};

// clang-format off
constexpr std::array<BoardRow, 15> kBoards = {{
    {"A30-24GB",          nvml::kArchAmpere,     8, 0, 0x20B710DE,  24576,   0,      0, 4,  165},
    {"A100-40GB",         nvml::kArchAmpere,     8, 0, 0x20B010DE,  40960, 518,  65536, 4,  400},
    {"A100-80GB",         nvml::kArchAmpere,     8, 0, 0x20B210DE,  81920,   0, 131072, 4,  400},
    {"H100-80GB",         nvml::kArchHopper,     9, 0, 0x233010DE,  81559, 480, 131072, 5,  700},
    {"H100-PCIe-80GB",    nvml::kArchHopper,     9, 0, 0,           81559,   0,      0, 5,  350},
    {"H100-NVL-94GB",     nvml::kArchHopper,     9, 0, 0x232110DE,      0,   0,      0, 5,  400},
    {"GH200-96GB",        nvml::kArchHopper,     9, 0, 0,               0,   0,      0, 5,  900},
    {"H200-141GB",        nvml::kArchHopper,     9, 0, 0x233510DE,      0,   0,      0, 5,  700},
    {"GH200-144GB",       nvml::kArchHopper,     9, 0, 0x234810DE,      0,   0,      0, 5,  900},
    {"H20-96GB",          nvml::kArchHopper,     9, 0, 0,               0,   0,      0, 5,  500},
    {"B200-180GB",        nvml::kArchBlackwell, 10, 0, 0x290110DE, 183359, 728, 262144, 5, 1000},
    {"GB200-186GB",       nvml::kArchBlackwell, 10, 0, 0x294110DE, 189471, 742, 262144, 5, 1200},
    {"B300-269GB",        nvml::kArchBlackwell, 10, 3, 0x318210DE,      0,   0,      0, 6, 1100},
    {"GB300-278GB",       nvml::kArchBlackwell, 10, 3, 0x31C210DE, 284208, 947, 524288, 6, 1400},
    {"RTX-PRO-6000-96GB", nvml::kArchBlackwell, 12, 0, 0x2BB510DE,  97887,   0,      0, 5,  600},
}};
// clang-format on
constexpr unsigned kUnknownDevice = 0x000010DE;

// The number before "gb" in a profile's name.
int gigabytes(const mig::Profile& p) {
  const std::size_t dot = p.name.find('.');
  return std::stoi(p.name.substr(dot + 1));
}

const mig::Profile& whole_gpu(const mig::Model& model) {
  const auto whole = std::ranges::find_if(model.profiles(), [&](const mig::Profile& p) {
    return p.memory_slices == model.memory_slices();
  });
  CHECK(whole != model.profiles().end());
  return *whole;
}

// NVML's number of a profile, from its name; the double-memory 1g is recognised by its size.
int enum_of(const mig::Model& model, const mig::Profile& p) {
  const mig::Profile& smallest = model.profiles().front();
  switch (p.compute_slices) {
    case 1:
      if (p.name.ends_with("+me")) return 7;
      return p.memory_slices > smallest.memory_slices ? 9 : 0;
    case 2:
      return p.name.ends_with("+me") ? 8 : 1;
    case 3:
      return 2;
    case 4:
      return 3;
    default:
      return 4;
  }
}

// The ids that all known 7-slice GPUs use.
int usual_id(int nvml_enum) {
  switch (nvml_enum) {
    case 0:
      return 19;
    case 7:
      return 20;
    case 9:
      return 15;
    case 1:
      return 14;
    case 2:
      return 9;
    case 3:
      return 5;
    default:
      return 0;
  }
}

void fill_in(int& fact, int plausible) {
  if (fact == mig::kUnknown) fact = plausible;
}

mig::ProfileFacts complete(const Board& board, const mig::Profile& p) {
  constexpr int kStep = 64;  // MiB; reported sizes are multiples of it
  const mig::Model& model = *board.model;
  mig::ProfileFacts f = p.facts;
  const int share =
      static_cast<int>(board.memory_mib) * p.memory_slices / model.memory_slices() - 2 * kStep;
  fill_in(f.memory_mib, share / kStep * kStep);
  fill_in(f.nvml_enum, enum_of(model, p));
  fill_in(f.nvml_id, usual_id(f.nvml_enum));
  fill_in(f.multiprocessors, p.compute_slices * 16 + (p.compute_slices == 7 ? 20 : 0));
  fill_in(f.copy_engines, p.compute_slices);
  fill_in(f.decoders, p.compute_slices);
  fill_in(f.encoders, 0);
  fill_in(f.jpeg, p.compute_slices);
  fill_in(f.ofa, p.compute_slices == model.compute_slices() || p.name.ends_with("+me") ? 1 : 0);
  return f;
}

std::uint8_t ci_number(int slices) {
  switch (slices) {
    case 1:
      return 0;
    case 2:
      return 1;
    case 3:
      return 2;
    case 4:
      return 3;
    case 7:
      return 4;
    default:
      return 5;
  }
}

// Where compute instances of a size may start: pairs and fours are aligned, threes go to 0 and 4.
std::vector<std::uint8_t> ci_starts(int slices, int of) {
  const int step = slices == 3 ? 4 : slices;
  std::vector<std::uint8_t> starts;
  for (int s = 0; s + slices <= of; s += step) starts.push_back(static_cast<std::uint8_t>(s));
  return starts;
}

std::vector<CiProfile> ci_profiles_for(const Board& board, const mig::Profile& p,
                                       const mig::ProfileFacts& facts) {
  std::vector<CiProfile> all;
  const int one = board.facts.empty() ? facts.multiprocessors : board.facts.front().multiprocessors;
  const int whole = p.compute_slices;
  for (const int slices : {1, 2, 3, 4, 7}) {
    if (slices >= whole || (whole == 4 && slices == 3)) continue;
    auto starts = ci_starts(slices, whole);
    all.push_back({ci_number(slices), static_cast<std::uint8_t>(slices),
                   static_cast<std::uint8_t>(starts.size()),
                   static_cast<std::uint16_t>(one * slices), std::move(starts)});
  }
  const bool rev1 = board.resetless && board.model->memory_slices() == 8 &&
                    facts.nvml_enum == static_cast<int>(nvml::kGiProfile1SliceRev2);
  all.push_back({rev1 ? static_cast<std::uint8_t>(nvml::kCiProfile1SliceRev1) : ci_number(whole),
                 static_cast<std::uint8_t>(whole),
                 1,
                 static_cast<std::uint16_t>(facts.multiprocessors),
                 {0}});
  return all;
}

Board make_board(const BoardRow& row) {
  constexpr unsigned kMib = 1024;
  Board board;
  board.model = *mig::find_model(row.model);
  const mig::ModelSpec& spec = board.model->spec();
  board.device_name = spec.device_names.empty() ? "NVIDIA " + spec.name : spec.device_names.front();
  board.architecture = row.architecture;
  board.compute_major = row.compute_major;
  board.compute_minor = row.compute_minor;
  board.pci_device_id = row.pci_device_id != 0 ? row.pci_device_id : kUnknownDevice;
  // Slightly less than the name says, as on real boards, but not less than any profile.
  const auto named = static_cast<unsigned>(gigabytes(whole_gpu(*board.model)));
  board.memory_mib = row.memory_mib != 0 ? row.memory_mib : named * kMib - 256;
  for (const mig::Profile& p : spec.profiles) {
    board.memory_mib =
        std::max(board.memory_mib, static_cast<unsigned>(std::max(p.facts.memory_mib, 0)));
  }
  board.reserved_mib = row.reserved_mib != 0 ? row.reserved_mib : 512;
  board.bar1_mib = row.bar1_mib != 0 ? row.bar1_mib : 131072;
  board.pcie_generation = row.pcie_generation;
  board.power_limit_w = row.power_limit_w;
  board.max_mig_devices = static_cast<unsigned>(spec.compute_slices);
  board.resetless = row.architecture != nvml::kArchAmpere;
  for (const mig::Profile& p : spec.profiles) {
    const mig::ProfileFacts facts = complete(board, p);
    board.ci_profiles.push_back(ci_profiles_for(board, p, facts));
    board.facts.push_back(facts);
  }
  return board;
}

}  // namespace

const Board* find_board(std::string_view model) {
  static const std::map<std::string_view, Board> boards = [] {
    std::map<std::string_view, Board> all;
    for (const BoardRow& row : kBoards) all.emplace(row.model, make_board(row));
    return all;
  }();
  const auto found = boards.find(model);
  return found == boards.end() ? nullptr : &found->second;
}

const Board& board_of(std::string_view model) {
  const Board* board = find_board(model);
  CHECK(board != nullptr);
  return *board;
}

unsigned gi_id_of(const mig::Model& model, mig::Placement placement, bool swapped) {
  const int total = model.memory_slices();
  const int size = model.profile(placement.profile).memory_slices;
  const int start = swapped ? (placement.start + total / 2) % total : placement.start;
  if (size == total) return 0;
  const int parts = total / size;  // 2, 4 or 8: ids 1-2, 3-6, 7-14
  return static_cast<unsigned>(parts - 1 + start / size);
}

}  // namespace tangram::emulator
