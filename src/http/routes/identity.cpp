// See identity.hpp.
#include "http/routes/identity.hpp"

#include <algorithm>
#include <array>

#include <openssl/evp.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::http {
namespace {

constexpr std::size_t kLongestSecret = 256;

std::unexpected<api::Problem> unauthenticated(std::string detail) {
  return std::unexpected(problem(401, "unauthorized", std::move(detail)));
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// Returns the secret of "Bearer <secret>". The scheme is case-insensitive (RFC 9110).
std::optional<std::string_view> parse_bearer(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return std::nullopt;
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  if (!std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, same))
    return std::nullopt;
  std::string_view secret = authorization.substr(kScheme.size());
  secret.remove_prefix(std::min(secret.find_first_not_of(' '), secret.size()));
  if (secret.empty() || secret.size() > kLongestSecret || !is_visible(secret)) return std::nullopt;
  return secret;
}

bool is_sufficient(api::Scope scope, Needs needs) {
  if (needs == Needs::kAdmin) return scope == api::Scope::kAdmin;
  return needs != Needs::kWrite || scope != api::Scope::kRead;
}

}  // namespace

Answer<void> authenticate(const ApiHandlers& handlers, Request& request, Needs needs) {
  if (needs == Needs::kNothing) return {};
  if (request.authorization.empty()) {
    if (request.caller.address.empty()) return {};
    return unauthenticated(
        "token required: send Authorization: Bearer <token>. Create one on the node with "
        "`tangram token create`.");
  }
  const auto secret = parse_bearer(request.authorization);
  if (!secret) return unauthenticated("invalid Authorization header: use Bearer <token>");
  Answer<Caller> caller = handlers.authenticate(*secret);
  if (!caller) return std::unexpected(std::move(caller.error()));
  caller->address = std::move(request.caller.address);
  request.caller = std::move(*caller);
  if (is_sufficient(request.caller.scope, needs)) return {};
  return std::unexpected(
      problem(403, "scope",
              cat("permission denied: the token has scope ", name_of(request.caller.scope),
                  ", and this needs scope ", needs == Needs::kAdmin ? "admin" : "write")));
}

Response identity_unavailable() {
  return problem_response(
      problem(503, "unavailable",
              "cannot verify the user of this token: the system's user database does not respond. "
              "Try again in a moment."));
}

Response unauthorized(const api::Problem& problem) {
  Response response = problem_response(problem);
  if (problem.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::string fingerprint_of(const std::string& body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(::EVP_Digest(body.data(), body.size(), digest.data(), &size, ::EVP_sha256(), nullptr) == 1);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kHex[digest[i] >> 4U];
    text += kHex[digest[i] & 15U];
  }
  return text;
}

}  // namespace tangram::http
