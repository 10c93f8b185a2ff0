// See query.hpp.
#include "http/routes/query.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace tangram::http {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
    if (high < 0 || low < 0 || high + low == 0) {
      return invalid(
          cat("invalid query: ", quoted(text), " has a % that is not followed by two hex digits"));
    }
    const int byte = high * 16 + low;
    if (byte < ' ' || byte == '\x7f') {
      return invalid(cat("invalid query: ", quoted(text), " has a control character"));
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// Removes scheme and host from an absolute-form target ("http://host/v1/jobs?all=1").
std::string_view origin_form(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    const std::size_t path = std::min(rest.find('/'), rest.size());
    const std::string_view host = rest.substr(0, path);
    if (host.empty() || host.find_first_of("@?#") != std::string_view::npos) return target;
    return path == rest.size() ? "/" : rest.substr(path);
  }
  return target;
}

}  // namespace

Result<Query> Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals));
    if (!name) return std::unexpected(name.error());
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!value) return std::unexpected(value.error());
    if (query.text(*name))
      return invalid(cat("invalid query: parameter ", quoted(*name), " is given twice"));
    query.pairs_.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

Result<void> Query::allow_only(std::initializer_list<std::string> names) const {
  const std::vector<std::string> all(names);
  for (const auto& [name, value] : pairs_) {
    if (std::ranges::find(all, name) != all.end()) continue;
    const auto near = nearest(name, all);
    return invalid(cat("unknown parameter ", quoted(name),
                       near ? cat("; did you mean ", quoted(*near), "?")
                            : cat("; valid parameters: ", join_words(all))));
  }
  return {};
}

std::optional<std::string> Query::text(std::string_view name) const {
  const auto found = std::ranges::find_if(pairs_, [&](const auto& p) { return p.first == name; });
  if (found == pairs_.end()) return std::nullopt;
  return found->second;
}

Result<bool> Query::flag(std::string_view name) const {
  const auto value = text(name);
  if (!value || *value == "0" || *value == "false") return false;
  if (value->empty() || *value == "1" || *value == "true") return true;
  return invalid(cat("invalid ", name, ' ', quoted(*value), ": use 1 or 0"));
}

Result<std::optional<std::uint64_t>> Query::number(std::string_view name, std::uint64_t max) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, status] = std::from_chars(value->data(), end, number);
  if (status == std::errc{} && stop == end && number <= max) return number;
  return invalid(
      cat("invalid ", name, ' ', quoted(*value), ": use a whole number from 0 to ", max));
}

Result<Target> parse_target(std::string_view target) {
  constexpr std::size_t kLongest = 4096;
  if (target.size() > kLongest) {
    return invalid(cat("request target too long: ", target.size(), " bytes, at most ", kLongest));
  }
  if (std::ranges::any_of(target, [](char c) { return (c >= 0 && c <= ' ') || c == '\x7f'; })) {
    return invalid(cat("invalid request target ", quoted(target), ": it has a control character"));
  }
  target = origin_form(target);
  if (!target.starts_with('/')) {
    return invalid(cat("invalid request target ", quoted(target), ": it must begin with '/'"));
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  auto query = Query::parse(target.substr(std::min(question + 1, target.size())));
  if (!query) return std::unexpected(query.error());
  return Target{std::string(target.substr(0, question)), std::move(*query)};
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return out;
}

}  // namespace tangram::http
