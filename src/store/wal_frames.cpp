// See wal_frames.hpp; the format is at sqlite.org/fileformat2.html#the_write_ahead_log.
#include "store/wal_frames.hpp"

#include <array>
#include <cstring>
#include <span>
#include <unistd.h>
#include <vector>

namespace tangram::store {
namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // last bit set: checksums of big-endian words
constexpr std::uint32_t kLargestPage = 65'536;

using Bytes = std::span<const unsigned char>;

std::uint32_t big(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24U | std::uint32_t{bytes[at + 1]} << 16U |
         std::uint32_t{bytes[at + 2]} << 8U | std::uint32_t{bytes[at + 3]};
}
std::uint32_t little(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at + 3]} << 24U | std::uint32_t{bytes[at + 2]} << 16U |
         std::uint32_t{bytes[at + 1]} << 8U | std::uint32_t{bytes[at]};
}

struct Sum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void add(Bytes bytes, bool big_endian) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += (big_endian ? big(bytes, at) : little(bytes, at)) + second;
      second += (big_endian ? big(bytes, at + 4) : little(bytes, at + 4)) + first;
    }
  }
  [[nodiscard]] bool matches(Bytes bytes, std::size_t at) const {
    return big(bytes, at) == first && big(bytes, at + 4) == second;
  }
};

bool read_all(int file, std::span<unsigned char> to, std::size_t at) {
  while (!to.empty()) {
    const ssize_t count = ::pread(file, to.data(), to.size(), static_cast<off_t>(at));
    if (count <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(count));
    at += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

std::uint32_t count_valid_frames(int log) {
  std::array<unsigned char, kHeader> header{};
  if (!read_all(log, header, 0) || (big(header, 0) & ~1U) != kMagic) return 0;
  const bool big_endian = (big(header, 0) & 1U) != 0;
  const std::uint32_t page = big(header, 8);
  Sum sum;
  sum.add(Bytes(header).first(24), big_endian);
  if (!sum.matches(header, 24) || page == 0 || page > kLargestPage) return 0;
  std::vector<unsigned char> frame(kFrameHeader + page);
  std::uint32_t count = 0;
  for (std::size_t at = kHeader; read_all(log, frame, at); at += frame.size()) {
    sum.add(Bytes(frame).first(8), big_endian);
    sum.add(Bytes(frame).subspan(kFrameHeader), big_endian);
    const bool of_this_log = std::memcmp(frame.data() + 8, header.data() + 16, 8) == 0;
    if (!of_this_log || !sum.matches(frame, 16)) break;
    ++count;
  }
  return count;
}

}  // namespace tangram::store
