// A siege: thousands of connections that say nothing, or half of something, and stay. Several
// processes hold them, so that no limit of open files is in the way. One rule: the test itself has
// none of them, and asks the daemon as anybody does meanwhile.
#pragma once

#include <string>
#include <sys/socket.h>
#include <sys/types.h>
#include <vector>

namespace tangram::tests {

struct SiegePlan {
  sockaddr_storage where = {};
  socklen_t where_size = 0;
  uid_t uid = 0;     // who lays it; only root can be somebody else
  std::string half;  // what every second connection says
  int processes = 5;
  int each = 2'000;  // connections of one process
};
[[nodiscard]] SiegePlan siege_of_socket(const std::string& path, std::string half);
[[nodiscard]] SiegePlan siege_of_port(std::uint16_t port, std::string half);  // on 127.0.0.1

// Why it cannot be laid here: one process may not open as many files; empty if it can.
[[nodiscard]] std::string obstacle_to(const SiegePlan& plan);

class Siege {
 public:
  explicit Siege(const SiegePlan& plan);
  ~Siege();
  Siege(const Siege&) = delete;
  Siege& operator=(const Siege&) = delete;
  Siege(Siege&&) = delete;
  Siege& operator=(Siege&&) = delete;

  // Whether all connections were opened by now; without waiting.
  [[nodiscard]] bool complete();
  // How many of them the daemon has neither refused nor closed.
  [[nodiscard]] int standing();
  void end();  // all leave

 private:
  struct Besieger {
    pid_t pid = -1;
    int orders = -1;
    int reports = -1;
    bool ready = false;
  };
  int each_;
  std::vector<Besieger> besiegers_;
};

}  // namespace tangram::tests
