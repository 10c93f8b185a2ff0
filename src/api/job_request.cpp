// The JSON of a JobRequest; see job.hpp. read_job_request() must read back what to_json() writes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "api/enum_names.hpp"
#include "api/fields.hpp"
#include "api/job.hpp"
#include "api/job_names.hpp"
#include "api/job_request_fields.hpp"
#include "api/utf8.hpp"
#include "base/text.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

constexpr ListLimits kCommandLimits{4096, kMib};
constexpr ListLimits kLabelLimits{64, std::size_t{64} << 10U};
constexpr std::size_t kLongestArgument = (std::size_t{128} << 10U) - 1;  // MAX_ARG_STRLEN of Linux
constexpr std::size_t kLongestName = 128;
constexpr Bounds kAnySize{kMib, std::uint64_t{1} << 50U};
constexpr std::uint64_t kDay = 24 * kHour;
constexpr double kMaxCpus = 4096;
constexpr std::array<std::string_view, 16> kLimitNames = {
    "as",   "core",   "cpu",   "data", "fsize",  "locks",  "memlock",    "msgqueue",
    "nice", "nofile", "nproc", "rss",  "rtprio", "rttime", "sigpending", "stack"};

std::string octal(std::uint32_t mask) {
  std::string text = "000";
  for (std::size_t i = 0; i < 3; ++i) {
    text[2 - i] = static_cast<char>('0' + (mask >> (3 * i) & 7U));
  }
  return text;
}

std::optional<std::uint32_t> umask_in(Fields& fields) {
  if (!fields.has("umask")) return std::nullopt;
  const std::string text = fields.text("umask");
  const bool octal_digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '7'; });
  std::uint32_t mask = 0;
  for (const char c : text.substr(0, 8)) mask = mask * 8 + static_cast<std::uint32_t>(c - '0');
  if (octal_digits && !text.empty() && text.size() <= 4 && mask <= 0777) return mask;
  fields.add_error("umask", R"(must be octal digits from "000" to "777", e.g. "022")");
  return std::nullopt;
}

// Accepts a number, "unlimited", or {"soft": …, "hard": …} where null is unlimited.
ResourceLimit limit_in(const json::value& value, const std::string& path, FieldErrors& errors) {
  constexpr Bounds kAnyLimit{0, std::numeric_limits<std::int64_t>::max()};
  ResourceLimit limit;
  if (value.is_string() && value.get_string() == "unlimited") return limit;
  if (value.is_object()) {
    Fields both(value, path, "a resource limit", errors);
    limit.soft = both.number("soft", kAnyLimit);
    limit.hard = both.number("hard", kAnyLimit);
    both.reject_unknown();
  } else {
    json::error_code status;
    limit.soft = value.to_number<std::uint64_t>(status);
    limit.hard = limit.soft;
    if (status || *limit.soft > kAnyLimit.highest) {
      errors.add(path, "must be a number, \"unlimited\" or {\"soft\": …, \"hard\": …}");
    }
  }
  if (limit.hard && (!limit.soft || *limit.soft > *limit.hard)) {
    errors.add(path, "has a soft limit above the hard limit");
  }
  return limit;
}

std::map<std::string, ResourceLimit> limits_in(Fields& fields, FieldErrors& errors) {
  std::map<std::string, ResourceLimit> limits;
  fields.each_member("resource_limits",
                     [&](std::string_view name, const json::value& value, const std::string& path) {
                       if (index_of_name(name, kLimitNames)) {
                         limits.emplace(name, limit_in(value, path, errors));
                       } else {
                         errors.add(path, unknown_value(name, kLimitNames));
                       }
                     });
  return limits;
}

int priority_in(Fields& fields) {
  const std::int64_t priority = fields.signed_number("priority").value_or(0);
  if (priority >= kLowestPriority && priority <= kHighestPriority) {
    return static_cast<int>(priority);
  }
  fields.add_error("priority", cat("must be from ", kLowestPriority, " to ", kHighestPriority));
  return 0;
}

Probe probe_in(const json::value& value, const std::string& path, FieldErrors& errors) {
  Fields fields(value, path, "a probe", errors);
  Probe probe;
  probe.kind = static_cast<Probe::Kind>(fields.enum_value("kind", kProbeNames).value_or(0));
  const auto only_of = [&](std::string_view key, Probe::Kind kind, std::string_view name) {
    if (!fields.has(key) || probe.kind == kind) return;
    fields.add_error(key, cat("is for probes of kind \"", name, "\" only"));
  };
  only_of("path", Probe::Kind::kHttp, "http");
  only_of("command", Probe::Kind::kCommand, "command");
  if (fields.has("path")) probe.path = fields.text("path", kLongestPath);
  probe.command = fields.texts("command", kCommandLimits);
  probe.interval = fields.duration("interval", {10, kHour}).value_or(probe.interval);
  probe.timeout = fields.duration("timeout", {10, kHour}).value_or(probe.timeout);
  probe.deadline = fields.duration("deadline", {10, 30 * kDay}).value_or(probe.deadline);
  const bool printable_path =
      std::ranges::all_of(probe.path, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!probe.path.starts_with('/') || !printable_path) {
    fields.add_error("path", "must begin with \"/\" and contain no blanks");
  }
  if (probe.kind == Probe::Kind::kCommand && (probe.command.empty() || probe.command[0].empty())) {
    fields.add_error("command", "is missing: a probe of kind \"command\" needs one");
  }
  fields.reject_unknown();
  return probe;
}

json::value probe_json(const Probe& probe) {
  json::object object{{"kind", kProbeNames[static_cast<std::size_t>(probe.kind)]}};
  if (probe.kind == Probe::Kind::kHttp) object["path"] = probe.path;
  if (probe.kind == Probe::Kind::kCommand) {
    object["command"] = json::array(probe.command.begin(), probe.command.end());
  }
  object["interval"] = duration_text(probe.interval);
  object["timeout"] = duration_text(probe.timeout);
  object["deadline"] = duration_text(probe.deadline);
  return object;
}

void check_environment(const JobRequest& request, Fields& fields) {
  for (const auto& [name, value] : request.environment) {
    const std::string key = cat("environment.", printable(name));
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      fields.add_error(key, "is not a valid variable name: it is empty or contains '='");
    } else if (name.size() + value.size() + 1 > kLongestArgument) {
      fields.add_error(key,
                       cat("is longer than the ", kLongestArgument, " bytes that Linux allows"));
    }
  }
}

void check_texts(const JobRequest& request, Fields& fields) {
  if (request.command.empty() || request.command.front().empty()) {
    fields.add_error("command", "is missing; give a list of strings, the program first");
  }
  for (std::size_t i = 0; i < request.command.size(); ++i) {
    if (request.command[i].size() <= kLongestArgument) continue;
    fields.add_error(cat("command[", i, ']'),
                     cat("is longer than the ", kLongestArgument, " bytes that Linux allows"));
  }
  if (count_characters(request.name) > kLongestName || !is_printable_text(request.name)) {
    fields.add_error("name", "must have at most 128 printable characters");
  }
  if (!request.directory.empty() && !request.directory.starts_with('/')) {
    fields.add_error("directory", "must be an absolute path");
  }
  const auto task = request.array ? std::optional(TaskOfArray{}) : std::nullopt;
  if (auto path = output_path(request.output, 0, task); !path)
    fields.add_error("output", path.error().message);
  if (auto path = output_path(request.error, 0, task); !path)
    fields.add_error("error", path.error().message);
  check_environment(request, fields);
  check_labels(request.labels, fields);
}

}  // namespace

std::optional<std::uint64_t> gpu_memory_in(Fields& fields) {
  const auto bytes = fields.bytes("gpu_memory", kAnySize);
  if (!bytes) return std::nullopt;
  return (*bytes + kMib - 1) / kMib;
}

std::map<std::string, std::string> labels_in(Fields& fields) {
  return fields.text_map("labels", kLabelLimits);
}

std::string job_name(const JobRequest& request) {
  if (!request.name.empty()) return request.name;
  if (request.command.empty()) return "";
  const std::string& program = request.command.front();
  std::string name = program.substr(program.rfind('/') + 1);
  if (!is_printable_text(name)) name = printable(name);
  std::size_t end = 0;  // in bytes, after at most kLongestName characters
  for (std::size_t count = 0; end < name.size() && count < kLongestName; ++count) {
    ++end;
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) ++end;
  }
  name.resize(end);
  return name;
}

Result<std::string> output_path(std::string_view pattern, std::uint64_t job,
                                const std::optional<TaskOfArray>& task) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const char what = ++i < pattern.size() ? pattern[i] : '\0';
    if (what == 'j') {
      path += std::to_string(job);
    } else if (what == '%') {
      path += '%';
    } else if (what == 'a' && task) {
      path += std::to_string(task->index);
    } else if (what == 'A' && task) {
      path += std::to_string(task->array);
    } else {
      return invalid(
          "use %j for the job's ID, %% for a percent sign and, in an array, %A for its ID and %a "
          "for the task's index; nothing else may follow %");
    }
  }
  return path;
}

bool is_label_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789._/-";
  return !name.empty() && name.size() <= kLongestName &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

void check_labels(const std::map<std::string, std::string>& labels, const Fields& fields) {
  for (const auto& [name, value] : labels) {
    const std::string key = cat("labels.", printable(name));
    if (!is_label_name(name)) {
      fields.add_error(key, kLabelNameForm);
    } else if (count_characters(value) > 1024 || !is_printable_text(value)) {
      fields.add_error(key, "a label value has at most 1024 printable characters");
    }
  }
}

void check_size(const std::string& profile, bool sized, const Fields& fields) {
  if (profile.empty() && !sized) {
    fields.add_error("profile",
                     R"(is missing; give a profile, e.g. "2g.10gb", or gpu_memory, e.g. "8GiB")");
  }
  if (!profile.empty() && sized) {
    fields.add_error("gpu_memory", "cannot be combined with profile; give one of the two");
  }
}

std::string labels_text(const Labels& labels) {
  return labels.empty() ? "" : json::serialize(texts_json(labels));
}

Labels read_labels(std::string_view text) {
  Labels labels;
  if (text.empty()) return labels;
  json::error_code bad;
  const json::value parsed = json::parse({text.data(), text.size()}, bad);
  if (bad || !parsed.is_object()) return labels;
  for (const auto& [name, value] : parsed.get_object()) {
    if (value.is_string()) labels.emplace(name, value.get_string());
  }
  return labels;
}

json::object texts_json(const std::map<std::string, std::string>& texts) {
  json::object object;
  for (const auto& [key, value] : texts) object.emplace(key, value);
  return object;
}

JobRequest request_in(Fields& fields, FieldErrors& errors) {
  JobRequest r;
  r.name = fields.text("name", 4 * kLongestName);
  r.command = fields.texts("command", kCommandLimits);
  r.environment = fields.text_map("environment", kEnvironmentLimits);
  r.directory = fields.text("directory", kLongestPath);
  r.output = fields.text("output", kLongestPath);
  r.error = fields.text("error", kLongestPath);
  r.umask = umask_in(fields);
  r.resource_limits = limits_in(fields, errors);
  r.profile = fields.text("profile", kLongestName);
  r.gpu_memory_mib = gpu_memory_in(fields);
  r.gpu_model = fields.text("gpu_model", kLongestName);
  r.priority = priority_in(fields);
  r.kind = static_cast<JobKind>(fields.enum_value("kind", kKindNames).value_or(0));
  if (const auto port = fields.number("port", {1, 65'535})) {
    r.port = static_cast<std::uint16_t>(*port);
  }
  if (const json::value* probe = fields.value("probe")) {
    r.probe = probe_in(*probe, fields.path_of("probe"), errors);
  }
  if (const json::value* endpoint = fields.value("endpoint")) {
    r.endpoint = endpoint_in(*endpoint, fields.path_of("endpoint"), errors);
  }
  if (const json::value* move = fields.value("move")) {
    r.move = move_in(*move, fields.path_of("move"), errors);
  }
  r.grace = fields.duration("grace", {0, kDay});
  r.restart = static_cast<Restart>(fields.enum_value("restart", kRestartNames).value_or(0));
  r.max_restarts = static_cast<std::uint16_t>(
      fields.number("max_restarts", {0, 65'535}).value_or(r.max_restarts));
  r.time_limit = fields.duration("time_limit", {1, 3660 * kDay});
  if (const auto cpus = fields.decimal("cpus")) {
    if (*cpus < 0.01 || *cpus > kMaxCpus)
      fields.add_error("cpus", "must be from 0.01 to 4096");
    else
      r.cpu_percent = static_cast<std::uint32_t>(std::lround(*cpus * 100));
  }
  r.memory_bytes = fields.bytes("memory", kAnySize);
  r.labels = labels_in(fields);
  r.hold = fields.flag("hold").value_or(false);
  r.after = dependencies_in(fields, "after", errors);
  r.array = array_in(fields);
  return r;
}

void check_request(const JobRequest& request, Fields& fields) {
  check_texts(request, fields);
  check_size(request.profile, request.gpu_memory_mib.has_value(), fields);
  check_endpoint_and_move(request, fields);
  if (request.kind == JobKind::kLease) {
    fields.add_error("kind", "a lease cannot be submitted as a job; use /v1/leases");
  }
  if (request.kind == JobKind::kService) {
    if (request.array) fields.add_error("array", "is for batch jobs only");
    return;
  }
  constexpr std::string_view kOnly = "is for services only; set kind to \"service\"";
  if (request.port) fields.add_error("port", kOnly);
  if (request.probe.kind != Probe::Kind::kNone) fields.add_error("probe", kOnly);
}

Result<JobRequest> read_job_request(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a job", errors);
  JobRequest request = request_in(fields, errors);
  fields.reject_unknown();
  check_request(request, fields);
  if (errors.first()) return std::unexpected(*errors.first());
  return request;
}

json::value to_json(const JobRequest& r) {
  json::object o;
  const auto set = [&o](const char* key, const auto& value) {
    o.emplace(key, json::value_from(value));
  };
  if (!r.name.empty()) set("name", r.name);
  if (!r.command.empty()) set("command", json::array(r.command.begin(), r.command.end()));
  if (!r.environment.empty()) set("environment", texts_json(r.environment));
  if (!r.directory.empty()) set("directory", r.directory);
  if (!r.output.empty()) set("output", r.output);
  if (!r.error.empty()) set("error", r.error);
  if (r.umask) set("umask", octal(*r.umask));
  if (!r.resource_limits.empty()) {
    json::object limits;
    for (const auto& [name, limit] : r.resource_limits) {
      const auto end = [](std::optional<std::uint64_t> n) { return n ? json::value(*n) : nullptr; };
      limits[name] = json::object{{"soft", end(limit.soft)}, {"hard", end(limit.hard)}};
    }
    set("resource_limits", limits);
  }
  if (!r.profile.empty()) set("profile", r.profile);
  if (r.gpu_memory_mib) set("gpu_memory", *r.gpu_memory_mib * kMib);
  if (!r.gpu_model.empty()) set("gpu_model", r.gpu_model);
  if (r.priority != 0) set("priority", r.priority);
  set("kind", name_of(r.kind));
  if (r.port) set("port", *r.port);
  if (r.probe != Probe{}) set("probe", probe_json(r.probe));
  if (r.endpoint != Endpoint{}) set("endpoint", endpoint_json(r.endpoint));
  if (r.move != MoveOptions{}) set("move", move_json(r.move));
  if (r.grace) set("grace", duration_text(*r.grace));
  set("restart", name_of(r.restart));
  set("max_restarts", r.max_restarts);
  if (r.time_limit) set("time_limit", duration_text(*r.time_limit));
  if (r.cpu_percent) set("cpus", *r.cpu_percent / 100.0);
  if (r.memory_bytes) set("memory", *r.memory_bytes);
  if (!r.labels.empty()) set("labels", texts_json(r.labels));
  set("hold", r.hold);
  if (!r.after.empty()) set("after", dependencies_json(r.after));
  if (r.array) set("array", array_text(*r.array));
  return o;
}

}  // namespace tangram::api
