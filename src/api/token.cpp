// The JSON of bearer tokens; see token.hpp.
#include "api/token.hpp"

#include <array>

#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/printable_name.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kScopes = {"read", "write", "admin"};
constexpr Bounds kTokenTtl{60'000, 3652ULL * 24 * 3'600'000};

Scope scope_in(Fields& fields) {
  const auto scope = fields.enum_value("scope", kScopes);
  return scope ? static_cast<Scope>(*scope) : Scope::kWrite;
}

}  // namespace

std::string_view name_of(Scope scope) { return kScopes[static_cast<std::size_t>(scope)]; }

json::value to_json(const TokenRequest& r) {
  json::object o{{"name", r.name}, {"scope", name_of(r.scope)}, {"ttl", duration_text(r.ttl)}};
  if (r.uid) o["uid"] = *r.uid;
  return o;
}

Result<TokenRequest> read_token_request(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a token", errors);
  TokenRequest r;
  r.name = printable_name_in(fields, "name");
  r.uid = fields.number32("uid");
  r.scope = scope_in(fields);
  r.ttl = fields.duration("ttl", kTokenTtl).value_or(r.ttl);
  fields.reject_unknown();
  if (errors.first()) return std::unexpected(*errors.first());
  return r;
}

json::value to_json(const TokenView& t) {
  json::object o{{"id", t.id},
                 {"name", text_or_null(t.name)},
                 {"user", text_or_null(t.user)},
                 {"uid", t.uid},
                 {"scope", name_of(t.scope)},
                 {"created", wall_text(t.created)},
                 {"expires", wall_text(t.expires)},
                 {"revoked", t.revoked},
                 {"parent", or_null(t.parent)},
                 {"unsaved", text_or_null(t.unsaved)}};
  if (!t.secret.empty()) o["secret"] = t.secret;
  return o;
}

Result<TokenView> read_token_view(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a token", errors);
  TokenView t;
  fields.require("id");
  t.id = fields.number("id", {0, kMax}).value_or(0);
  t.name = fields.text("name");
  t.user = fields.text("user");
  t.uid = fields.number32("uid").value_or(0);
  t.scope = scope_in(fields);
  t.created = fields.wall("created").value_or(WallTime{});
  t.expires = fields.wall("expires").value_or(WallTime{});
  t.revoked = fields.flag("revoked").value_or(false);
  t.parent = fields.number("parent", {0, kMax});
  t.unsaved = fields.text("unsaved");
  t.secret = fields.text("secret");
  if (errors.first()) return std::unexpected(*errors.first());
  return t;
}

}  // namespace tangram::api
