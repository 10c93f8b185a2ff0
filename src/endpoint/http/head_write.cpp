// See head.hpp: serializing.
#include <algorithm>
#include <array>
#include <charconv>

#include "endpoint/http/characters.hpp"
#include "endpoint/http/head.hpp"

namespace tangram::endpoint {
namespace {

void add(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += "\r\n";
}

bool is_named_by_connection(const Head& head, const Field& field) {
  if (head.connection_fields.empty() || field.kind == Field::Kind::kFraming ||
      field.kind == Field::Kind::kHost) {
    return false;
  }
  return std::ranges::any_of(head.connection_fields,
                             [&](std::string_view name) { return is_same(name, field.name); });
}

bool is_forwarding(Field::Kind kind) {
  return kind == Field::Kind::kForwardedFor || kind == Field::Kind::kForwardedHost ||
         kind == Field::Kind::kForwardedProto || kind == Field::Kind::kForwardedOther;
}

// Which of the fields that say for whom a message is forwarded are passed on.
enum class Forwarding : std::uint8_t { kAll, kAllButFor, kNone };

bool is_passed(Field::Kind kind, Forwarding which) {
  if (which == Forwarding::kAllButFor) return kind != Field::Kind::kForwardedFor;
  return which == Forwarding::kAll || !is_forwarding(kind);
}

// Appends the fields unchanged, except for hop-by-hop ones.
void add_fields(std::string& out, const Head& head, bool upgrades, Forwarding forwarding) {
  for (const Field& field : head.fields) {
    if (field.kind == Field::Kind::kHop || is_named_by_connection(head, field)) continue;
    if (field.kind == Field::Kind::kUpgrade && !upgrades) continue;
    if (!is_passed(field.kind, forwarding)) continue;
    add(out, field.name, field.value);
  }
  if (upgrades) out += "Connection: Upgrade\r\n";
}

bool has(const Head& head, Field::Kind kind) {
  return std::ranges::any_of(head.fields, [&](const Field& field) {
    return field.kind == kind && !is_named_by_connection(head, field);
  });
}

// Appends the client to the addresses in X-Forwarded-For, and the other X-Forwarded-* fields unless
// the request has them.
void add_forwarded(std::string& out, const RequestHead& head, const Forwarded& forwarded) {
  out += "X-Forwarded-For: ";
  for (const Field& field : head.fields) {
    if (field.kind != Field::Kind::kForwardedFor || is_named_by_connection(head, field)) continue;
    out += field.value;
    out += ", ";
  }
  out += forwarded.address;
  out += "\r\n";
  if (!has(head, Field::Kind::kForwardedHost) && !head.host.empty()) {
    add(out, "X-Forwarded-Host", head.host);
  }
  if (!has(head, Field::Kind::kForwardedProto)) add(out, "X-Forwarded-Proto", "http");
}

}  // namespace

void write_head(std::string& out, const RequestHead& head, const Forwarded* forwarded) {
  out += head.method;
  out += ' ';
  out += head.target;
  // An HTTP/1.0 client cannot read chunks, so the replica must see the client's version.
  out += head.is_http11 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\nConnection: close\r\n";
  add_fields(out, head, head.wants_upgrade,
             forwarded != nullptr ? Forwarding::kAllButFor : Forwarding::kNone);
  if (forwarded != nullptr) add_forwarded(out, head, *forwarded);
  out += "\r\n";
}

void write_head(std::string& out, const ResponseHead& head, bool keep_alive, bool is_http11) {
  const bool upgrades = head.status == 101;
  std::array<char, 8> status{};
  const auto end = std::to_chars(status.data(), status.data() + status.size(), head.status);
  out += "HTTP/1.1 ";
  out.append(status.data(), end.ptr);
  out += ' ';
  out += head.reason;
  out += "\r\n";
  add_fields(out, head, upgrades, Forwarding::kAll);
  const bool is_last = head.status >= 200;
  if (is_last && !keep_alive) out += "Connection: close\r\n";
  if (is_last && keep_alive && !is_http11) out += "Connection: keep-alive\r\n";
  out += "\r\n";
}

}  // namespace tangram::endpoint
