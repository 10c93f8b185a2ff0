// Conversion of plain structs to JSON and back from one description: a function fields(v, x) that
// names each field of x once, as in v("order", x.order), so that writer and reader cannot disagree.
// A zero value (0, false, "", an empty list, the first value of an enumeration, a struct of zeros)
// is left out, and a missing key is read as zero. An unknown key or value is an error, because
// ignoring it would lose it at the next write.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "base/id.hpp"
#include "base/instant.hpp"
#include "base/text.hpp"
#include "core/threshold.hpp"
#include "mig/model.hpp"
#include "store/stored_names.hpp"

namespace tangram::store {

namespace json = boost::json;

class FieldWriter;
class FieldReader;

// For fields(): x is a T, const for the writer.
template <class X, class T>
concept Of = std::same_as<std::remove_const_t<X>, T>;

// Types that to_json() and from_json() convert as single values, not by fields().
template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Enumeration = std::is_enum_v<T>;

inline json::value to_json(bool x) { return x; }
inline json::value to_json(const std::string& x) { return json::string(x); }
template <Number T>
json::value to_json(T x) {
  if constexpr (std::is_signed_v<T>) return json::value(static_cast<std::int64_t>(x));
  return json::value(static_cast<std::uint64_t>(x));
}
template <Enumeration T>
json::value to_json(T x) {
  return json::value(stored_name(x));
}
template <class Tag, class Rep>
json::value to_json(Id<Tag, Rep> x) {
  return to_json(x.value());
}
inline json::value to_json(Instant x) { return x.time_since_epoch().count(); }
inline json::value to_json(Duration x) { return x.count(); }
inline json::value to_json(core::Threshold x) { return x.billionths(); }
inline json::value to_json(mig::Placement x) {
  return json::array{x.profile.value(), x.start};  // indices into the GPU's model
}
template <class T>
json::value to_json(const std::vector<T>& xs);
template <class T>
  requires requires(FieldWriter& v, const T& x) { fields(v, x); }
json::value to_json(const T& x);

class FieldWriter {
 public:
  explicit FieldWriter(json::object& out) : out_(out) {}

  template <class T>
  void operator()(std::string_view key, const T& x) {
    if (!(x == T{})) out_.emplace(key, to_json(x));
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& x) {
    if (x) out_.emplace(key, to_json(*x));
  }
  // Does not compare with T{}: defaults may change between versions, zero does not.
  template <class T>
    requires requires(FieldWriter& v, const T& x) { fields(v, x); }
  void operator()(std::string_view key, const T& x) {
    json::value all = to_json(x);
    if (!all.get_object().empty()) out_.emplace(key, std::move(all));
  }
  void operator()(std::string_view key, const core::Threshold& x) {
    if (x.billionths() != 0) out_.emplace(key, to_json(x));
  }

 private:
  json::object& out_;
};

template <class T>
json::value to_json(const std::vector<T>& xs) {
  json::array out;
  out.reserve(xs.size());
  for (const T& x : xs) out.push_back(to_json(x));
  return out;
}
template <class T>
  requires requires(FieldWriter& v, const T& x) { fields(v, x); }
json::value to_json(const T& x) {
  json::object out;
  FieldWriter writer(out);
  fields(writer, x);
  return out;
}

// from_json() returns whether the value had the right type and range.
inline bool from_json(const json::value& v, bool& x) {
  if (v.is_bool()) x = v.get_bool();
  return v.is_bool();
}
inline bool from_json(const json::value& v, std::string& x) {
  if (v.is_string()) x = std::string_view(v.get_string());
  return v.is_string();
}
template <Number T>
bool from_json(const json::value& v, T& x) {
  if (v.is_double()) return false;
  boost::system::error_code wrong;
  x = v.to_number<T>(wrong);
  return !wrong;
}
template <Enumeration T>
bool from_json(const json::value& v, T& x) {
  const auto value =
      v.is_string() ? from_stored_name<T>(std::string_view(v.get_string())) : std::optional<T>();
  if (value) x = *value;
  return value.has_value();
}
template <class Tag, class Rep>
bool from_json(const json::value& v, Id<Tag, Rep>& x) {
  Rep number{};
  const bool ok = from_json(v, number);
  x = Id<Tag, Rep>(number);
  return ok;
}
inline bool from_json(const json::value& v, Duration& x) {
  std::int64_t us = 0;
  const bool ok = from_json(v, us);
  x = Duration(us);
  return ok;
}
inline bool from_json(const json::value& v, Instant& x) {
  Duration since{};
  const bool ok = from_json(v, since);
  x = Instant(since);
  return ok;
}
inline bool from_json(const json::value& v, core::Threshold& x) {
  std::int64_t billionths = 0;
  const bool ok =
      from_json(v, billionths) && billionths >= 0 && billionths <= core::Threshold::kOne;
  x = core::Threshold::from_billionths(billionths);
  return ok;
}
inline bool from_json(const json::value& v, mig::Placement& x) {
  if (!v.is_array() || v.get_array().size() != 2) return false;
  return from_json(v.get_array()[0], x.profile) && from_json(v.get_array()[1], x.start);
}
template <class T>
bool from_json(const json::value& v, std::vector<T>& xs);
template <class T>
  requires requires(FieldReader& v, T& x) { fields(v, x); }
bool from_json(const json::value& v, T& x);

class FieldReader {
 public:
  explicit FieldReader(const json::object& in) : in_(in) {}

  template <class T>
  void operator()(std::string_view key, T& x) {
    x = T{};
    if (const json::value* v = take(key)) is_valid_ = from_json(*v, x) && is_valid_;
  }
  template <class T>
    requires requires(FieldReader& v, T& x) { fields(v, x); }
  void operator()(std::string_view key, T& x) {
    const json::value nothing = json::object();
    const json::value* v = take(key);
    is_valid_ = from_json(v != nullptr ? *v : nothing, x) && is_valid_;
  }
  void operator()(std::string_view key, core::Threshold& x) {
    x = core::Threshold::from_billionths(0);
    if (const json::value* v = take(key)) is_valid_ = from_json(*v, x) && is_valid_;
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& x) {
    x.reset();
    if (const json::value* v = take(key)) is_valid_ = from_json(*v, x.emplace()) && is_valid_;
  }
  // Whether all values were valid and all keys were read.
  [[nodiscard]] bool done() const { return is_valid_ && taken_ == in_.size(); }

 private:
  const json::value* take(std::string_view key) {
    const json::value* found = in_.if_contains(key);
    if (found != nullptr) ++taken_;
    return found;
  }

  const json::object& in_;
  std::size_t taken_ = 0;
  bool is_valid_ = true;
};

template <class T>
bool from_json(const json::value& v, std::vector<T>& xs) {
  if (!v.is_array()) return false;
  xs.clear();
  for (const json::value& each : v.get_array()) {
    if (!from_json(each, xs.emplace_back())) return false;
  }
  return true;
}
template <class T>
  requires requires(FieldReader& v, T& x) { fields(v, x); }
bool from_json(const json::value& v, T& x) {
  if (!v.is_object()) return false;
  FieldReader reader(v.get_object());
  fields(reader, x);
  return reader.done();
}

}  // namespace tangram::store
