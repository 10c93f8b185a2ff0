// RotatingLog: one stream of a job's output on disk: NAME, then NAME.1, NAME.2 … for what is
// older. One rule: the job never waits for the disk and never fails by it; what cannot be written
// is dropped, counted, and said in the log as soon as it takes bytes again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"

namespace tangram::shim {

class RotatingLog {
 public:
  // `folder` must stay open. At most `bytes` per file and `count` files, the current one included.
  RotatingLog(int folder, std::string name, std::uint64_t bytes, std::uint32_t count);

  void write(std::string_view text);
  // A last attempt to say what was lost.
  void finish();

  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  void rotate();
  void open();
  bool room();
  void lose(std::string_view text, int code);
  bool confess();
  bool append(std::string_view text);
  [[nodiscard]] std::string older(std::uint32_t age) const;

  int folder_;
  std::string name_;
  std::uint64_t bytes_;
  std::uint32_t count_;
  files::Descriptor file_{-1};
  std::uint64_t size_ = 0;
  bool is_at_line_start_ = true;
  std::uint64_t lost_ = 0;
  int lost_code_ = 0;
};

}  // namespace tangram::shim
