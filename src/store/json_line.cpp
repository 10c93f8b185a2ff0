// See json_line.hpp.
#include "store/json_line.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace tangram::store {

std::string json_line(const boost::json::value& value) { return boost::json::serialize(value); }

std::optional<boost::json::value> parse_line(std::string_view text) {
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;
  options.max_depth = 8;
  boost::system::error_code wrong;
  boost::json::value value = boost::json::parse(text, wrong, {}, options);
  if (wrong) return std::nullopt;
  return value;
}

}  // namespace tangram::store
