// The words of an enumeration on the wire, found and refused. One rule: a word that is not known is
// answered with the nearest one that is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tangram::api {

[[nodiscard]] std::optional<std::size_t> find_word(std::string_view word,
                                                   std::span<const std::string_view> words);
// "unknown word 'servce'; did you mean 'service'? (batch and service)"
[[nodiscard]] std::string unknown_word(std::string_view word,
                                       std::span<const std::string_view> words);

[[nodiscard]] bool is_utf8(std::string_view text);
// UTF-8 without anything that moves a cursor, turns the direction of text or ends a line.
[[nodiscard]] bool is_plain_text(std::string_view text);
[[nodiscard]] std::size_t characters_of(std::string_view text);

}  // namespace tangram::api
