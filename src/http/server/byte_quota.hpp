// ByteQuota: bounds the memory for request bodies being read, or for responses being written, in
// total and per client. The bytes are reserved before the first of them is read or written, and
// released when the request is finished. Not thread-safe: used on the event loop only.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace tangram::http {

class ByteQuota {
 public:
  // `max`: bytes in total. `max_each`: bytes of one client.
  ByteQuota(std::size_t max, std::size_t max_each) : max_(max), max_each_(max_each) {}

  // Reserves `bytes` for `client_key`, until the returned handle is dropped; the quota must outlive
  // it. Null: a limit would be exceeded, answer 503.
  [[nodiscard]] std::shared_ptr<void> try_acquire(const std::string& client_key, std::size_t bytes);

 private:
  std::size_t max_;
  std::size_t max_each_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t> used_by_;
};

}  // namespace tangram::http
