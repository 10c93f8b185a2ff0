// Fields: reads a JSON object key by key. An invalid value is returned as empty and recorded in
// FieldErrors, which keeps the first error; callers check it once, after reading everything. Every
// message begins with the path of the key ("probe.interval: …") and says what is allowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

// The first error in a document, if any.
class FieldErrors {
 public:
  void add(std::string_view key, std::string_view message);
  [[nodiscard]] const std::optional<Error>& first() const { return first_; }

 private:
  std::optional<Error> first_;
};

struct Bounds {
  std::uint64_t lowest;
  std::uint64_t highest;
};

inline constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::size_t kLongestHost = 64;  // the address of an endpoint

// For views: missing values are written as null, so that every key is always present.
[[nodiscard]] inline boost::json::value text_or_null(const std::string& text) {
  return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
}
template <class T>
[[nodiscard]] boost::json::value or_null(const std::optional<T>& value) {
  return value ? boost::json::value(*value) : boost::json::value(nullptr);
}
[[nodiscard]] inline boost::json::value or_null(const std::optional<WallTime>& when) {
  return when ? boost::json::value(wall_text(*when)) : boost::json::value(nullptr);
}

struct ListLimits {
  std::size_t entries;
  std::size_t bytes;  // of all entries together
};

// A null value is treated like an absent key. Strings with a NUL are rejected.
class Fields {
 public:
  // `path`: prefix of the keys in messages. `what`: what the object is, e.g. "a job". `errors` must
  // outlive this object.
  Fields(const boost::json::value& document, std::string path, std::string_view what,
         FieldErrors& errors);

  [[nodiscard]] bool has(std::string_view key);
  // Adds an error if the key is absent.
  void require(std::string_view key);
  void add_error(std::string_view key, std::string_view message) const;

  [[nodiscard]] std::optional<bool> flag(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key, Bounds bounds);
  [[nodiscard]] std::optional<std::uint32_t> number32(std::string_view key);
  [[nodiscard]] std::vector<std::uint64_t> numbers(std::string_view key);
  [[nodiscard]] std::optional<std::int64_t> signed_number(std::string_view key);
  [[nodiscard]] std::optional<double> decimal(std::string_view key);
  [[nodiscard]] std::optional<std::chrono::milliseconds> duration(std::string_view key,
                                                                  Bounds milliseconds);
  [[nodiscard]] std::optional<std::uint64_t> bytes(std::string_view key, Bounds bounds);
  [[nodiscard]] std::optional<WallTime> wall(std::string_view key);
  [[nodiscard]] std::string text(std::string_view key, std::size_t longest = kLongestText);
  // The value must be one of `names`; returns its position among them.
  [[nodiscard]] std::optional<std::size_t> enum_value(std::string_view key,
                                                      std::span<const std::string_view> names);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key, ListLimits limits);
  [[nodiscard]] std::map<std::string, std::string> text_map(std::string_view key,
                                                            ListLimits limits);
  // Calls `read` for every element of a list or member of an object, with its path.
  void each(std::string_view key,
            const std::function<void(const boost::json::value&, const std::string& path)>& read);
  void each_member(std::string_view key,
                   const std::function<void(std::string_view name, const boost::json::value&,
                                            const std::string& path)>& read);
  [[nodiscard]] const boost::json::value* value(std::string_view key);

  // Adds an error if the object has a key that was not read before. Requests are checked so; views
  // are not, because a newer daemon may send more keys.
  void reject_unknown() const;

  [[nodiscard]] std::string path_of(std::string_view key) const;

  static constexpr std::size_t kLongestText = std::size_t{1} << 20U;

 private:
  [[nodiscard]] std::optional<std::string> text_in(const boost::json::value& value,
                                                   std::string_view key, std::size_t longest) const;

  const boost::json::object* object_;
  std::string path_;
  std::string what_;
  FieldErrors* errors_;
  std::vector<std::string> known_keys_;
};

}  // namespace tangram::api
