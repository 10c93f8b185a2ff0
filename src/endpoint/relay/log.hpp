// Log: the endpoint's log file: its start, routes, drains and end. It is opened before the endpoint
// drops its privileges and never exceeds kMaxBytes: when full, the older half is discarded.
#pragma once

#include <cstddef>
#include <string_view>

#include "os/descriptor.hpp"

namespace tangram::endpoint {

class Log {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} * 1'024;

  // `folder`: an open directory; borrowed. If the file cannot be opened, write() does nothing:
  // a missing log must not keep the endpoint from serving.
  explicit Log(int folder);

  void write(std::string_view text);

 private:
  void discard_older_half();

  os::Descriptor file_;
  std::size_t size_ = 0;
};

}  // namespace tangram::endpoint
