// Bodies: for how many bytes of requests that are being read, or of answers that are being written,
// there is room, and how many of them one guest may take. One rule: a body has its room before its
// first byte is read or written, and gives it back when its request was answered or given up.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace tangram::http {

class Bodies {
 public:
  Bodies(std::size_t most, std::size_t most_each) : most_(most), most_each_(most_each) {}

  // None: there is no room for so many bytes now. Whoever drops it gives it back; the Bodies must
  // outlive it.
  [[nodiscard]] std::shared_ptr<void> take(const std::string& guest, std::size_t bytes);

 private:
  std::size_t most_;
  std::size_t most_each_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> shares_;
};

}  // namespace tangram::http
