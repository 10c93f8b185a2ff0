// A bearer token on the wire: it lets whoever shows it act as a user, within a scope, until it
// expires or is revoked. One rule: the secret is told once, to who created it, and is nowhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

enum class Scope : std::uint8_t {
  kRead,   // look, also at logs and environments of the user's own jobs
  kWrite,  // what the user may do, but nothing that needs an admin
  kAdmin,  // everything the user may do; worth more than kWrite only for admins
};

struct TokenRequest {
  std::string name;                  // for people: "ci"
  std::optional<std::uint32_t> uid;  // whom it stands for; only root may name another
  Scope scope = Scope::kWrite;
  std::chrono::milliseconds ttl{std::chrono::hours(24 * 30)};  // 1 minute to 10 years
};

struct TokenView {
  std::uint64_t id = 0;
  std::string name;
  std::string user;
  std::uint32_t uid = 0;
  Scope scope = Scope::kWrite;
  WallTime created{};
  WallTime expires{};
  bool revoked = false;
  std::optional<std::uint64_t> parent;  // the token with which it was made, and with which it ends
  std::string secret;  // "tangram_<id>_<43 characters>"; in the answer to its creation only
  // Why it could be good again after a crash: that it was revoked is not on the disk yet. Empty: it
  // is, or it was not revoked.
  std::string unsaved = {};
};

[[nodiscard]] std::string_view name_of(Scope scope);
[[nodiscard]] boost::json::value to_json(const TokenRequest& request);
[[nodiscard]] Result<TokenRequest> read_token_request(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const TokenView& token);
[[nodiscard]] Result<TokenView> read_token_view(const boost::json::value& document);

}  // namespace tangram::api
