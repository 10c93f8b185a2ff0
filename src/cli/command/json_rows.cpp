// See json_rows.hpp.
#include "cli/command/json_rows.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include "base/text.hpp"

namespace tangram::cli {

Result<std::string> read_standard_input() {
  constexpr std::size_t kChunk = std::size_t{64} * 1024;
  std::string text;
  std::size_t size = 0;
  while (true) {
    if (text.size() - size < kChunk) text.resize(text.size() * 2 + 4 * kChunk);
    const ssize_t count = ::read(STDIN_FILENO, text.data() + size, text.size() - size);
    if (count == 0) break;
    if (count > 0) size += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) {
      return failed(
          cat("cannot read standard input: ", std::generic_category().message(errno), "."));
    }
  }
  text.resize(size);
  return text;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Result<void> for_each_row(std::string_view rows, std::string_view source,
                          const std::function<Result<void>(std::string_view row)>& answer) {
  for (int line = 1; !rows.empty(); ++line) {
    const std::size_t end = std::min(rows.find('\n'), rows.size());
    const std::string_view row = rows.substr(0, end);
    rows.remove_prefix(std::min(end + 1, rows.size()));
    if (is_blank(row)) continue;
    if (auto ok = answer(row); !ok) {
      return std::unexpected(
          Error{ok.error().code, cat(source, ':', line, ": ", ok.error().message)});
    }
  }
  return {};
}

Result<boost::json::object> parse_object(std::string_view text, std::string_view form) {
  boost::json::error_code status;
  boost::json::value value = boost::json::parse({text.data(), text.size()}, status);
  if (status) return invalid(cat("not valid JSON: ", status.message(), "; ", form));
  if (!value.is_object()) return invalid(cat("not a JSON object; ", form));
  return std::move(value.get_object());
}

}  // namespace tangram::cli
