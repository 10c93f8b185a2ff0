// HookOptions: [hooks] of the configuration.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tangram::daemon {

struct HookOptions {
  std::vector<std::string> command;  // argv, the program by absolute path; empty: none
  std::string url;                   // https; empty: none
  std::string ca_file;               // PEM, to verify the URL's server; empty: the system's CAs

  [[nodiscard]] bool any() const { return !command.empty() || !url.empty(); }
  friend bool operator==(const HookOptions&, const HookOptions&) = default;
};

// A URL as https://HOST[:PORT][/PATH].
struct HookUrl {
  std::string server;  // https://HOST:PORT
  std::string target;  // /PATH
};
[[nodiscard]] Result<HookUrl> split_url(const std::string& url);

}  // namespace tangram::daemon
