// See identity.hpp.
#include "http/identity.hpp"

#include <algorithm>
#include <array>

#include <openssl/evp.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::http {
namespace {

constexpr std::size_t kLongestSecret = 256;

std::unexpected<api::Problem> refused(std::string detail) {
  return std::unexpected(problem(401, "unauthorized", std::move(detail)));
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// Of "Bearer <secret>"; the word in any case, as HTTP has it.
std::optional<std::string_view> secret_in(std::string_view authorization) {
  constexpr std::string_view kWord = "bearer ";
  if (authorization.size() <= kWord.size()) return std::nullopt;
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  if (!std::ranges::equal(authorization.substr(0, kWord.size()), kWord, same)) return std::nullopt;
  std::string_view secret = authorization.substr(kWord.size());
  secret.remove_prefix(std::min(secret.find_first_not_of(' '), secret.size()));
  if (secret.empty() || secret.size() > kLongestSecret || !is_visible(secret)) return std::nullopt;
  return secret;
}

bool is_enough(api::Scope scope, Needs needs) {
  if (needs == Needs::kAdmin) return scope == api::Scope::kAdmin;
  return needs != Needs::kWrite || scope != api::Scope::kRead;
}

}  // namespace

Answer<void> identify(const Doors& doors, Request& request, Needs needs) {
  if (needs == Needs::kNothing) return {};
  if (request.authorization.empty()) {
    if (request.caller.address.empty()) return {};
    return refused(
        "a token is needed here: Authorization: Bearer <token>. `tangram token create` "
        "on the node makes one.");
  }
  const auto secret = secret_in(request.authorization);
  if (!secret) return refused("the Authorization header must have the form: Bearer <token>.");
  Answer<Caller> caller = doors.authenticate(*secret);
  if (!caller) return std::unexpected(std::move(caller.error()));
  caller->address = std::move(request.caller.address);
  request.caller = std::move(*caller);
  if (is_enough(request.caller.scope, needs)) return {};
  return std::unexpected(
      problem(403, "scope",
              cat("this token has the scope ", name_of(request.caller.scope), "; needed is ",
                  needs == Needs::kAdmin ? "admin" : "write", ".")));
}

Response unsettled() {
  return problem_response(problem(
      503, "unavailable",
      "it cannot be found out now whether this token's user is still the same: the machine's user "
      "database does not answer. Try again in a moment."));
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
