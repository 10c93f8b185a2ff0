// See boot_id.hpp.
#include "os/boot_id.hpp"

#include <fstream>

namespace tangram::os {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return file >> id ? id : "unknown";
}

}  // namespace tangram::os
