// ConnectionFlood: opens thousands of connections to the daemon that send nothing, or half a
// request, and keeps them open. Child processes hold the connections, so that the test's own limit
// on open files does not matter; the test itself talks to the daemon as any client does.
#pragma once

#include <string>
#include <sys/socket.h>
#include <sys/types.h>
#include <vector>

namespace tangram::tests {

struct FloodOptions {
  sockaddr_storage address = {};
  socklen_t address_size = 0;
  uid_t uid = 0;             // the user that connects; another than our own needs root
  std::string half_request;  // sent on every second connection
  int processes = 5;
  int connections_each = 2'000;
};
[[nodiscard]] FloodOptions flood_of_socket(const std::string& path, std::string half_request);
// A port of 127.0.0.1.
[[nodiscard]] FloodOptions flood_of_port(std::uint16_t port, std::string half_request);

// Empty, or why the flood is not possible here: the limit on open files of a process is too low.
[[nodiscard]] std::string unsupported_reason(const FloodOptions& options);

class ConnectionFlood {
 public:
  explicit ConnectionFlood(const FloodOptions& options);
  ~ConnectionFlood();
  ConnectionFlood(const ConnectionFlood&) = delete;
  ConnectionFlood& operator=(const ConnectionFlood&) = delete;
  ConnectionFlood(ConnectionFlood&&) = delete;
  ConnectionFlood& operator=(ConnectionFlood&&) = delete;

  // Whether every process has tried to open all of its connections. Does not wait.
  [[nodiscard]] bool is_complete();
  // The number of connections that the daemon has neither refused nor closed; once complete.
  [[nodiscard]] int count_open();
  void end();  // closes all connections

 private:
  struct Process {
    pid_t pid = -1;
    int requests = -1;  // a byte written to it asks for a count
    int counts = -1;
    bool ready = false;
  };
  int connections_each_;
  std::vector<Process> processes_;
};

}  // namespace tangram::tests
