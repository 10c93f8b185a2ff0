// See job_options.hpp: the request.
#include <algorithm>
#include <array>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "api/utf8.hpp"
#include "base/text.hpp"
#include "cli/client/missing_size.hpp"
#include "cli/command/environment.hpp"
#include "cli/jobs/job_options.hpp"
#include "os/read_file.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct Pair {
  std::string name;
  std::string value;
};

Result<Pair> parse_pair(const std::string& text, std::string_view option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid(cat(option, " ", tangram::quoted(text), ": use NAME=VALUE."));
  }
  return Pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<void> add_file(json::object& variables, const std::string& path) {
  const auto text = os::read_file(path, "environment file", std::size_t{1} << 20U);
  if (!text) return std::unexpected(text.error());
  std::string_view rest = *text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string row(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (row.empty() || row.starts_with('#')) continue;
    const auto pair = parse_pair(row, cat(path, ':', line, ':'));
    if (!pair) return std::unexpected(pair.error());
    variables[pair->name] = pair->value;
  }
  return {};
}

// Variables that are not passed to the job: those that tell this program how to reach the daemon,
// with its token, and, within a job, the secret mark of that job's run.
bool is_client_variable(std::string_view name) {
  constexpr std::string_view kNames[] = {"TANGRAM_SOCKET", "TANGRAM_TOKEN", "TANGRAM_TOKEN_FILE",
                                         "TANGRAM_CA_FILE", "TANGRAM_RUN"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// JSON is UTF-8, so other variables cannot be sent. They are skipped with a warning rather than an
// error, because most of them are there by accident.
void add_own_environment(json::object& variables) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = text.substr(0, equals);
    if (is_client_variable(name) || name == "_") continue;
    if (!api::is_utf8(text)) {
      fmt::print(stderr, "tangram: variable {} is not UTF-8 and is not passed to the job.\n",
                 tangram::quoted(name));
      continue;
    }
    variables[name] = text.substr(equals + 1);
  }
}

Result<json::object> environment_of(const JobOptions& o) {
  json::object variables;
  if (!o.clean_env) add_own_environment(variables);
  if (!o.env_file.empty()) {
    if (auto ok = add_file(variables, o.env_file); !ok) return std::unexpected(ok.error());
  }
  for (const std::string& text : o.env) {
    if (text.find('=') == std::string::npos) {
      const char* value = std::getenv(text.c_str());
      if (value == nullptr) {
        return invalid(
            cat("--env ", text, ": variable is not set here; use ", text, "=VALUE to set it."));
      }
      variables[text] = value;
      continue;
    }
    const auto pair = parse_pair(text, "--env");
    if (!pair) return std::unexpected(pair.error());
    variables[pair->name] = pair->value;
  }
  return variables;
}

// Parses --probe: "http:/path", "tcp" or "command:…" (run by sh).
Result<json::object> probe_of(const JobOptions& o) {
  json::object probe;
  const std::string kind = o.probe.substr(0, o.probe.find(':'));
  const bool has_rest = kind.size() < o.probe.size();
  const std::string rest = has_rest ? o.probe.substr(kind.size() + 1) : "";
  if (kind == "http") {
    probe = {{"kind", "http"}, {"path", rest.empty() ? "/" : rest}};
  } else if (kind == "command" && !rest.empty()) {
    probe = {{"kind", "command"}, {"command", {"/bin/sh", "-c", rest}}};
  } else if (kind == "tcp" && !has_rest) {
    probe = {{"kind", "tcp"}};
  } else if (!o.probe.empty()) {
    return invalid(cat("--probe: invalid probe ", tangram::quoted(o.probe),
                       ": use tcp, http:/PATH or command:'COMMAND'."));
  }
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) probe[key] = value;
  };
  set("interval", o.probe_interval);
  set("timeout", o.probe_timeout);
  set("deadline", o.probe_deadline);
  return probe;
}

Result<json::object> limits_of(const JobOptions& o) {
  json::object limits;
  for (const std::string& text : o.rlimits) {
    const auto pair = parse_pair(text, "--rlimit");
    if (!pair) return std::unexpected(pair.error());
    const auto number = parse_int(pair->value, 0, INT32_MAX);
    const auto size = api::parse_bytes(pair->value);
    json::value& limit = limits[pair->name];
    if (number) {
      limit = *number;
    } else if (size) {
      limit = *size;
    } else {
      limit = pair->value;
    }
  }
  return limits;
}

std::string own_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return fmt::format("{:03o}", mask);
}

Result<std::string> directory_of(const JobOptions& o) {
  std::error_code status;
  const auto path = o.directory.empty() ? std::filesystem::current_path(status)
                                        : std::filesystem::absolute(o.directory, status);
  if (status) return failed(cat("cannot read the current directory: ", status.message(), "."));
  return path.lexically_normal().string();
}

void set_texts(const JobOptions& o, json::object& job) {
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) job[key] = value;
  };
  set("name", o.name);
  set("profile", o.profile);
  set("gpu_memory", o.gpu_memory);
  set("gpu_model", o.gpu_model);
  if (o.priority) job["priority"] = *o.priority;
  set("kind", o.service ? "service" : o.kind);
  set("grace", o.grace);
  set("restart", o.requeue ? "on-node-fault" : o.restart);
  set("time_limit", o.time_limit);
  set("memory", o.memory);
  set("array", o.array);
  set("output", o.output);
  set("error", o.error);
  job["umask"] = o.umask.empty() ? own_umask() : o.umask;
}

// --endpoint-option: limits that few services need, as NAME=VALUE pairs of one option.
Result<void> set_endpoint_options(const JobOptions& o, json::object& endpoint) {
  constexpr std::array<std::string_view, 5> kNames = {"wait", "connect", "keep_alive", "idle",
                                                      "most_connections"};
  for (const std::string& text : o.endpoint_options) {
    const auto pair = parse_pair(text, "--endpoint-option");
    if (!pair) return std::unexpected(pair.error());
    if (std::ranges::find(kNames, pair->name) == kNames.end()) {
      return invalid(cat("--endpoint-option ", tangram::quoted(text),
                         ": use one of wait, connect, ", "keep_alive, idle and most_connections."));
    }
    const auto number = parse_int(pair->value, 0, INT32_MAX);
    const bool is_count = pair->name == "most_connections" && number;
    endpoint[pair->name] = is_count ? json::value(*number) : json::value(pair->value);
  }
  return {};
}

Result<void> set_moving(const JobOptions& o, json::object& job) {
  if (o.stateless && !o.service && o.kind != "service") {
    return invalid(
        "--stateless is for services: use --service, or --move checkpoint for a batch job.");
  }
  json::object endpoint;
  json::object move;
  const auto set = [](json::object& into, const char* key, const std::string& value) {
    if (!value.empty()) into[key] = value;
  };
  set(endpoint, "mode", o.endpoint);
  set(endpoint, "host", o.host);
  set(endpoint, "drain", o.drain);
  if (o.forwarded) endpoint["forwarded"] = true;
  if (auto ok = set_endpoint_options(o, endpoint); !ok) return ok;
  set(move, "way", o.pin ? "never" : o.stateless ? "replica" : o.move);
  set(move, "signal", o.move_signal);
  set(move, "deadline", o.move_deadline);
  if (!endpoint.empty()) job["endpoint"] = std::move(endpoint);
  if (!move.empty()) job["move"] = std::move(move);
  return {};
}

Result<void> set_labels(const JobOptions& o, json::object& job) {
  if (o.labels.empty()) return {};
  json::object labels;
  for (const std::string& text : o.labels) {
    const auto pair = parse_pair(text, "--label");
    if (!pair) return std::unexpected(pair.error());
    labels[pair->name] = pair->value;
  }
  job["labels"] = std::move(labels);
  return {};
}

Result<void> set_after(const JobOptions& o, json::object& job) {
  std::string all;
  for (const std::string& text : o.after) all += cat(all.empty() ? "" : ",", text);
  if (all.empty()) return {};
  const auto dependencies = api::parse_dependencies(all);
  if (!dependencies) return invalid(cat("--after: ", dependencies.error().message, "."));
  json::array after;
  for (const api::Dependency& each : *dependencies) {
    after.push_back(json::object{{"job", each.job}, {"condition", name_of(each.condition)}});
  }
  job["after"] = std::move(after);
  return {};
}

Result<void> check_command(const std::vector<std::string>& words) {
  if (words.empty()) return invalid("no command given: put it behind the options.");
  for (const std::string& word : words) {
    if (!api::is_utf8(word)) {
      return invalid(cat(tangram::quoted(word), " is not UTF-8 and cannot be sent."));
    }
  }
  return {};
}

// Errors of read_job_request() begin with a JSON key ("time_limit: …"); replaces it by the option.
std::string name_option(const std::string& message) {
  struct Name {
    std::string_view key, option;
  };
  constexpr Name kNames[] = {{"resource_limits.", "--rlimit "},
                             {"labels.", "--label "},
                             {"environment.", "--env "},
                             {"endpoint.mode:", "--endpoint:"},
                             {"endpoint.host:", "--host:"},
                             {"endpoint.drain:", "--drain:"},
                             {"move.way:", "--move:"},
                             {"move.signal:", "--move-signal:"},
                             {"move.deadline:", "--move-deadline:"},
                             {"probe.interval:", "--probe-interval:"},
                             {"probe.timeout:", "--probe-timeout:"},
                             {"probe.deadline:", "--probe-deadline:"},
                             {"probe.path:", "--probe: the path"},
                             {"gpu_memory:", "--gpu-memory:"},
                             {"gpu_model:", "--gpu-model:"},
                             {"array:", "--array:"},
                             {"priority:", "--priority:"},
                             {"time_limit:", "--time-limit:"},
                             {"max_restarts:", "--max-restarts:"},
                             {"name:", "--name:"},
                             {"port:", "--port:"},
                             {"grace:", "--grace:"},
                             {"cpus:", "--cpus:"},
                             {"memory:", "--memory:"},
                             {"output:", "--output:"},
                             {"error:", "--error:"},
                             {"umask:", "--umask:"}};
  for (const Name& name : kNames) {
    if (!message.starts_with(name.key)) continue;
    return cat(name.option, message.substr(name.key.size()));
  }
  return message;
}

}  // namespace

Result<api::JobRequest> job_request(const JobOptions& o, const std::vector<std::string>& command) {
  if (auto ok = check_command(command); !ok) return std::unexpected(ok.error());
  if (o.profile.empty() && o.gpu_memory.empty()) {
    return std::unexpected(missing_size(command));
  }
  auto variables = environment_of(o);
  if (!variables) return std::unexpected(variables.error());
  const auto probe = probe_of(o);
  if (!probe) return std::unexpected(probe.error());
  auto limits = limits_of(o);
  if (!limits) return std::unexpected(limits.error());
  const auto directory = directory_of(o);
  if (!directory) return std::unexpected(directory.error());
  json::object job{{"command", json::array(command.begin(), command.end())},
                   {"environment", std::move(*variables)},
                   {"directory", *directory},
                   {"resource_limits", std::move(*limits)},
                   {"hold", o.hold}};
  set_texts(o, job);
  if (!probe->empty()) job["probe"] = *probe;
  if (o.port) job["port"] = *o.port;
  if (o.max_restarts) job["max_restarts"] = *o.max_restarts;
  if (o.cpus) job["cpus"] = *o.cpus;
  if (auto ok = set_moving(o, job); !ok) return std::unexpected(ok.error());
  if (auto ok = set_labels(o, job); !ok) return std::unexpected(ok.error());
  if (auto ok = set_after(o, job); !ok) return std::unexpected(ok.error());
  auto request = api::read_job_request(job);
  if (!request) request.error().message = name_option(request.error().message);
  return request;
}

}  // namespace tangram::cli
