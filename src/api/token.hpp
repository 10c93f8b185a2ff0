// A bearer token on the wire: it authenticates its holder as a user, within a scope, until it
// expires or is revoked. The secret is returned only once, in the answer to its creation, and is
// not stored.
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
  kRead,   // read only, including logs and environments of the user's own jobs
  kWrite,  // everything the user may do, except what needs admin rights
  kAdmin,  // everything the user may do, including admin rights if the user has them
};

struct TokenRequest {
  std::string name;                  // for people: "ci"
  std::optional<std::uint32_t> uid;  // the user it acts as; only root may name another
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
  std::optional<std::uint64_t> parent;  // the token that created it; revoked together with it
  std::string secret;  // "tangram_<id>_<43 characters>"; only in the answer to its creation
  // Set if the revocation is not durable yet, so that a crash would make the token valid again:
  // why.
  std::string unsaved = {};
};

[[nodiscard]] std::string_view name_of(Scope scope);
[[nodiscard]] boost::json::value to_json(const TokenRequest& request);
[[nodiscard]] Result<TokenRequest> read_token_request(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const TokenView& token);
[[nodiscard]] Result<TokenView> read_token_view(const boost::json::value& document);

}  // namespace tangram::api
