// RotatingLog: one stream of a job's output on disk: NAME, with older parts in NAME.1, NAME.2 and
// so on. The job never fails because of the disk: bytes that cannot be written are dropped and
// counted, and a note of how many is written to the log as soon as writing succeeds again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "os/descriptor.hpp"

namespace tangram::shim {

class RotatingLog {
 public:
  // `folder` must stay open. At most `bytes` per file and `count` files, the current one included.
  RotatingLog(int folder, std::string name, std::uint64_t bytes, std::uint32_t count);

  void write(std::string_view text);
  // Makes a last attempt to write the note of lost bytes.
  void finish();

  // Bytes dropped and not noted yet.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  void rotate();
  void open();
  bool ensure_space();
  void count_lost(std::string_view text, int code);
  bool write_loss_note();
  bool append(std::string_view text);
  [[nodiscard]] std::string rotated_name(std::uint32_t age) const;

  int folder_;
  std::string name_;
  std::uint64_t bytes_;
  std::uint32_t count_;
  os::Descriptor file_{-1};
  std::uint64_t size_ = 0;
  bool is_at_line_start_ = true;
  std::uint64_t lost_ = 0;
  int lost_code_ = 0;
};

}  // namespace tangram::shim
