// See hook_options.hpp.
#include "daemon/config/hook_options.hpp"

#include "base/text.hpp"
#include "os/tcp_address.hpp"

namespace tangram::daemon {

Result<HookUrl> split_url(const std::string& url) {
  const auto wrong = [&] {
    return invalid(cat("invalid URL ", tangram::quoted(url), ": use https://HOST[:PORT]/PATH"));
  };
  const std::string scheme(os::kHttps);
  if (!url.starts_with(scheme)) return wrong();
  for (const char c : url) {
    if (c <= ' ' || c > '~') return wrong();
  }
  const std::size_t slash = url.find('/', scheme.size());
  std::string host = url.substr(scheme.size(), slash - scheme.size());
  HookUrl parts{.server = {}, .target = slash == std::string::npos ? "/" : url.substr(slash)};
  const bool has_port = host.rfind(':') != std::string::npos && !host.ends_with(']');
  if (!has_port) host += ":443";
  parts.server = scheme + host;
  if (!os::parse_url(parts.server)) return wrong();
  return parts;
}

}  // namespace tangram::daemon
