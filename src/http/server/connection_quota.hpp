// ConnectionQuota: bounds the number of open connections of one kind (unix socket, TCP,
// unauthenticated), in total and per client. Each kind has a quota of its own, so that one cannot
// use up the connections of another. Not thread-safe: used on the event loop only.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tangram::http {

class ConnectionQuota {
 public:
  // `max`: connections in total. `max_each`: connections of one client.
  ConnectionQuota(std::size_t max, std::size_t max_each) : max_(max), max_each_(max_each) {}

  // Returns why `client_key` (uid or remote network) may not open a connection; empty if it may.
  // `reserved`: connections beyond the total limit that this client may use.
  [[nodiscard]] std::string check(const std::string& client_key, std::size_t reserved = 0) const;
  // Counts a connection, whether check() allows it or not. Each is to be released once.
  void acquire(const std::string& client_key);
  void release(const std::string& client_key);

 private:
  std::size_t max_;
  std::size_t max_each_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t> used_by_;
};

}  // namespace tangram::http
