// Log: what a person wants to know of an endpoint later: its start, routes, drains and end. It is
// opened before the endpoint gives up its rights. One rule: it is never larger than kMostBytes; the
// older half goes when it is full.
#pragma once

#include <cstddef>
#include <string_view>

#include "files/descriptor.hpp"

namespace tangram::endpoint {

class Log {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} * 1'024;

  // `folder` is an open one. A log that cannot be opened is silent: it is no reason not to serve.
  explicit Log(int folder);

  void note(std::string_view text);

 private:
  void make_room();

  files::Descriptor file_;
  std::size_t size_ = 0;
};

}  // namespace tangram::endpoint
