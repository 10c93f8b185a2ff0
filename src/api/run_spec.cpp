// See run_spec.hpp. Times are whole microseconds since the epoch ("started_us"), durations whole
// milliseconds ("grace_ms"), because these documents are exchanged between Tangram's own programs
// only.
#include "api/run_spec.hpp"

#include <concepts>
#include <limits>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/signals.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::uint64_t kMaxMilliseconds = std::numeric_limits<std::int64_t>::max() / 1'000'000;

// An integer in the range of T, whether the parser stored it as signed or unsigned.
template <std::integral T>
std::optional<T> whole(const json::value& value) {
  if (const auto* number = value.if_int64()) {
    if (std::in_range<T>(*number)) return static_cast<T>(*number);
  } else if (const auto* large = value.if_uint64()) {
    if (std::in_range<T>(*large)) return static_cast<T>(*large);
  }
  return std::nullopt;
}

// A string without NUL, because it is passed to the kernel as a C string.
std::optional<std::string> text_of(const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr || text->find('\0') != json::string::npos) return std::nullopt;
  return std::string(*text);
}

// Reads an object key by key and keeps the first error; callers check error() once, at the end.
class Keys {
 public:
  Keys(const json::value& document, std::string_view what)
      : object_(document.if_object()), what_(what) {
    if (object_ == nullptr) add_error("not a JSON object");
  }

  template <std::integral T>
  void number(std::string_view key, T& out, T lowest = 0, T highest = kMax<T>) {
    const json::value* value = find(key, true);
    if (value == nullptr) return;
    const auto number = whole<T>(*value);
    if (!number || *number < lowest || *number > highest) {
      must_be(key, cat("a whole number from ", lowest, " to ", highest));
      return;
    }
    out = *number;
  }
  template <std::integral T>
  void number_or_none(std::string_view key, std::optional<T>& out) {
    if (find(key, false) == nullptr) return;
    T number{};
    this->number(key, number, std::numeric_limits<T>::min());
    out = number;
  }
  void duration(std::string_view key, milliseconds& out) {
    std::uint64_t count = 0;
    number(key, count, std::uint64_t{0}, kMaxMilliseconds);
    out = milliseconds(count);
  }
  void flag(std::string_view key, bool& out) {
    const json::value* value = find(key, true);
    if (value == nullptr) return;
    if (!value->is_bool()) {
      must_be(key, "true or false");
      return;
    }
    out = value->get_bool();
  }
  void text(std::string_view key, std::string& out) {
    const json::value* value = find(key, true);
    if (value == nullptr) return;
    const auto text = text_of(*value);
    if (!text) {
      must_be(key, "a string without NUL");
      return;
    }
    out = *text;
  }
  void texts(std::string_view key, std::vector<std::string>& out) {
    const json::value* value = find(key, true);
    if (value == nullptr) return;
    if (!value->is_array()) {
      must_be(key, "a list of strings");
      return;
    }
    for (const json::value& element : value->get_array()) {
      const auto text = text_of(element);
      if (!text) {
        must_be(key, "a list of strings without NUL");
        return;
      }
      out.push_back(*text);
    }
  }

  // The value, or null if it is absent or null; that is an error if it is `required`.
  [[nodiscard]] const json::value* find(std::string_view key, bool required) {
    if (object_ == nullptr) return nullptr;
    const json::value* value = object_->if_contains(key);
    if (value != nullptr && !value->is_null()) return value;
    if (required) add_error(cat("\"", key, "\" is missing"));
    return nullptr;
  }
  void must_be(std::string_view key, std::string_view expected) {
    add_error(cat("\"", key, "\" must be ", expected));
  }
  void add_error(std::string_view message) {
    if (!error_) error_ = cat("cannot read the ", what_, ": ", message);
  }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  template <class T>
  static constexpr T kMax = std::numeric_limits<T>::max();

  const json::object* object_;
  std::string_view what_;
  std::optional<std::string> error_;
};

json::value to_json(const std::optional<std::uint64_t>& limit) {
  return limit ? json::value(*limit) : json::value(nullptr);
}

json::object to_json(const ResourceLimit& limit) {
  return {{"soft", to_json(limit.soft)}, {"hard", to_json(limit.hard)}};
}

template <class T>
json::array to_array(const std::vector<T>& values) {
  return json::array(values.begin(), values.end());
}

json::object to_json(const RunSpec::User& user) {
  return {{"uid", user.uid}, {"gid", user.gid}, {"groups", to_array(user.groups)}};
}

json::object to_json(const RunSpec::Pam& pam) {
  json::object out{{"user", pam.user}, {"folder", pam.folder}};
  if (pam.nofile) out["nofile"] = to_json(*pam.nofile);
  return out;
}

void read_environment(Keys& keys, std::map<std::string, std::string>& out) {
  const json::value* value = keys.find("environment", true);
  if (value == nullptr) return;
  if (!value->is_object()) {
    keys.must_be("environment", "an object of strings");
    return;
  }
  for (const auto& [name, content] : value->get_object()) {
    const auto text = text_of(content);
    const std::string_view key = name;
    if (!text || key.empty() ||
        key.find_first_of(std::string_view("=\0", 2)) != std::string_view::npos) {
      keys.must_be("environment", "an object of strings without NUL, its names without '='");
      return;
    }
    out.emplace(key, *text);
  }
}

void read_user(Keys& keys, std::optional<RunSpec::User>& out) {
  const json::value* value = keys.find("user", false);
  if (value == nullptr) return;
  Keys user(*value, "user of a run");
  out = RunSpec::User{};
  user.number("uid", out->uid);
  user.number("gid", out->gid);
  const json::value* groups = user.find("groups", true);
  if (groups != nullptr && !groups->is_array()) user.must_be("groups", "a list of numbers");
  if (groups != nullptr && groups->is_array()) {
    for (const json::value& element : groups->get_array()) {
      const auto group = whole<std::uint32_t>(element);
      if (!group) user.must_be("groups", "a list of group IDs");
      out->groups.push_back(group.value_or(0));
    }
  }
  if (user.error()) keys.add_error(*user.error());
}

ResourceLimit read_limit(const json::value& value, Keys& keys) {
  Keys pair(value, "resource limit");
  ResourceLimit limit;
  pair.number_or_none("soft", limit.soft);
  pair.number_or_none("hard", limit.hard);
  if (pair.error()) keys.add_error(*pair.error());
  return limit;
}

void read_pam(Keys& keys, std::optional<RunSpec::Pam>& out) {
  const json::value* value = keys.find("pam", false);
  if (value == nullptr) return;
  Keys pam(*value, "PAM session of a run");
  out = RunSpec::Pam{};
  pam.text("user", out->user);
  pam.text("folder", out->folder);
  if (const json::value* nofile = pam.find("nofile", false); nofile != nullptr) {
    out->nofile = read_limit(*nofile, pam);
  }
  if (pam.error()) keys.add_error(*pam.error());
}

void read_limits(Keys& keys, std::map<std::string, ResourceLimit>& out) {
  const json::value* value = keys.find("resource_limits", true);
  if (value == nullptr) return;
  if (!value->is_object()) {
    keys.must_be("resource_limits", "an object");
    return;
  }
  for (const auto& [name, content] : value->get_object()) {
    out.emplace(name, read_limit(content, keys));
  }
}

void read_time(Keys& keys, std::string_view key, WallTime& out) {
  std::int64_t count = 0;
  keys.number(key, count, std::numeric_limits<std::int64_t>::min());
  out = WallTime(std::chrono::microseconds(count));
}

// In another version, the same key may have another meaning.
void check_version(Keys& keys, std::string_view what) {
  int version = 0;
  keys.number("version", version);
  if (version == kShimVersion || keys.error()) return;
  keys.add_error(cat("it has version ", version, ", but this program knows ", what, " of version ",
                     kShimVersion, " only: use programs of the same installation"));
}

}  // namespace

json::value to_json(const RunSpec& spec) {
  json::object limits;
  for (const auto& [name, limit] : spec.resource_limits) {
    limits[name] = to_json(limit);
  }
  json::object environment;
  for (const auto& [name, value] : spec.environment) environment[name] = value;
  json::object out{{"version", kShimVersion},
                   {"job", spec.job},
                   {"run", spec.run},
                   {"tag", spec.tag},
                   {"command", to_array(spec.command)},
                   {"environment", std::move(environment)},
                   {"directory", spec.directory},
                   {"umask", spec.umask},
                   {"resource_limits", std::move(limits)},
                   {"grace_ms", spec.grace.count()},
                   {"probe_command", to_array(spec.probe_command)},
                   {"probe_timeout_ms", spec.probe_timeout.count()},
                   {"log_bytes", spec.log_bytes},
                   {"log_files", spec.log_files},
                   {"cgroup", spec.cgroup}};
  if (!spec.output.empty()) out["output"] = spec.output;
  if (!spec.error.empty()) out["error"] = spec.error;
  if (spec.user) out["user"] = to_json(*spec.user);
  if (spec.pam) out["pam"] = to_json(*spec.pam);
  if (spec.time_limit) out["time_limit_ms"] = spec.time_limit->count();
  if (spec.time_spent.count() != 0) out["time_spent_ms"] = spec.time_spent.count();
  if (spec.cpu_percent) out["cpu_percent"] = *spec.cpu_percent;
  if (spec.memory_bytes) out["memory_bytes"] = *spec.memory_bytes;
  if (spec.pids_limit) out["pids_limit"] = *spec.pids_limit;
  return out;
}

Result<RunSpec> read_run_spec(const json::value& document) {
  Keys keys(document, "specification of a run");
  check_version(keys, "specifications");
  RunSpec spec;
  keys.number("job", spec.job);
  keys.number("run", spec.run);
  keys.text("tag", spec.tag);
  keys.texts("command", spec.command);
  read_environment(keys, spec.environment);
  keys.text("directory", spec.directory);
  read_user(keys, spec.user);
  read_pam(keys, spec.pam);
  keys.number("umask", spec.umask, 0U, 0777U);
  read_limits(keys, spec.resource_limits);
  keys.duration("grace_ms", spec.grace);
  if (keys.find("time_limit_ms", false) != nullptr) {
    keys.duration("time_limit_ms", spec.time_limit.emplace());
  }
  if (keys.find("time_spent_ms", false) != nullptr) {
    keys.duration("time_spent_ms", spec.time_spent);
  }
  keys.texts("probe_command", spec.probe_command);
  keys.duration("probe_timeout_ms", spec.probe_timeout);
  keys.number("log_bytes", spec.log_bytes);
  keys.number("log_files", spec.log_files);
  if (keys.find("output", false) != nullptr) keys.text("output", spec.output);
  if (keys.find("error", false) != nullptr) keys.text("error", spec.error);
  keys.text("cgroup", spec.cgroup);
  keys.number_or_none("cpu_percent", spec.cpu_percent);
  keys.number_or_none("memory_bytes", spec.memory_bytes);
  keys.number_or_none("pids_limit", spec.pids_limit);
  if (spec.command.empty()) keys.must_be("command", "a program and its arguments");
  if (spec.tag.empty()) keys.must_be("tag", "a non-empty string");
  if (keys.error()) return invalid(*keys.error());
  return spec;
}

json::value to_json(const ExitRecord& record) {
  json::object out{{"version", kShimVersion},
                   {"code", record.code ? json::value(*record.code) : json::value(nullptr)},
                   {"signal", record.signal ? json::value(*record.signal) : json::value(nullptr)},
                   {"reason", record.reason},
                   {"time_limit", record.time_limit},
                   {"stopped", record.stopped},
                   {"started_us", record.started.time_since_epoch().count()},
                   {"ended_us", record.ended.time_since_epoch().count()}};
  if (record.lost_output != 0) out["lost_output_bytes"] = record.lost_output;
  return out;
}

Result<ExitRecord> read_exit_record(const json::value& document) {
  Keys keys(document, "record of a run's end");
  check_version(keys, "records");
  ExitRecord record;
  keys.number_or_none("code", record.code);
  keys.number_or_none("signal", record.signal);
  keys.text("reason", record.reason);
  keys.flag("time_limit", record.time_limit);
  keys.flag("stopped", record.stopped);
  read_time(keys, "started_us", record.started);
  read_time(keys, "ended_us", record.ended);
  if (keys.find("lost_output_bytes", false) != nullptr) {
    keys.number("lost_output_bytes", record.lost_output);
  }
  if (keys.error()) return invalid(*keys.error());
  return record;
}

std::string no_handler_text(int signal) {
  return cat("not ready to be moved: it has no handler for ", signal_name(signal), " yet.");
}

}  // namespace tangram::api
