// See job_options.hpp.
#include "cli/job_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "api/words.hpp"
#include "base/text.hpp"
#include "cli/environment.hpp"
#include "files/read_file.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct Pair {
  std::string name;
  std::string value;
};

Result<Pair> pair_in(const std::string& text, std::string_view option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid(cat(option, " ", tangram::quoted(text), ": write it as NAME=VALUE."));
  }
  return Pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<void> add_file(json::object& variables, const std::string& path) {
  const auto text = files::read_file(path, "environment file", std::size_t{1} << 20U);
  if (!text) return std::unexpected(text.error());
  std::string_view rest = *text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string row(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (row.empty() || row.starts_with('#')) continue;
    const auto pair = pair_in(row, cat(path, ':', line, ':'));
    if (!pair) return std::unexpected(pair.error());
    variables[pair->name] = pair->value;
  }
  return {};
}

// How this program reaches the daemon is no affair of the job's, least of all the token.
bool is_ours(std::string_view name) {
  constexpr std::string_view kOurs[] = {"TANGRAM_SOCKET", "TANGRAM_TOKEN", "TANGRAM_TOKEN_FILE",
                                        "TANGRAM_CA_FILE"};
  return std::ranges::find(kOurs, name) != std::end(kOurs);
}

// JSON is UTF-8; a variable that is not cannot be sent. It is left out and said so, because most
// are there by accident.
void add_own_environment(json::object& variables) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = text.substr(0, equals);
    if (is_ours(name) || name == "_") continue;
    if (!api::is_utf8(text)) {
      fmt::print(stderr, "tangram: the variable {} is not UTF-8 and is not passed on.\n",
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
        return invalid(cat("--env ", text, ": there is no such variable here; write ", text,
                           "=VALUE to set one."));
      }
      variables[text] = value;
      continue;
    }
    const auto pair = pair_in(text, "--env");
    if (!pair) return std::unexpected(pair.error());
    variables[pair->name] = pair->value;
  }
  return variables;
}

// "http:/path", "tcp" or "command:…" (run by sh).
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
    return invalid(
        cat("--probe ", tangram::quoted(o.probe), ": write tcp, http:/PATH or command:'COMMAND'."));
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
    const auto pair = pair_in(text, "--rlimit");
    if (!pair) return std::unexpected(pair.error());
    const auto number = parse_int(pair->value, 0, INT32_MAX);
    const auto size = api::parse_bytes(pair->value);
    limits[pair->name] = number ? json::value(*number)
                         : size ? json::value(*size)
                                : json::value(pair->value);
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
  if (status) return failed(cat("cannot tell the current folder: ", status.message(), "."));
  return path.lexically_normal().string();
}

void set_texts(const JobOptions& o, json::object& job) {
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) job[key] = value;
  };
  set("name", o.name);
  set("profile", o.profile);
  set("gpu_memory", o.gpu_memory);
  set("kind", o.service ? "service" : o.kind);
  set("grace", o.grace);
  set("restart", o.restart);
  set("time_limit", o.time_limit);
  set("memory", o.memory);
  job["umask"] = o.umask.empty() ? own_umask() : o.umask;
}

// Options of the endpoint that few services need, as one option with many names.
Result<void> set_endpoint_options(const JobOptions& o, json::object& endpoint) {
  constexpr std::array<std::string_view, 5> kNames = {"wait", "connect", "keep_alive", "idle",
                                                      "most_connections"};
  for (const std::string& text : o.endpoint_options) {
    const auto pair = pair_in(text, "--endpoint-option");
    if (!pair) return std::unexpected(pair.error());
    if (std::ranges::find(kNames, pair->name) == kNames.end()) {
      return invalid(cat("--endpoint-option ", tangram::quoted(text), ": there are ",
                         "wait, connect, keep_alive, idle and most_connections."));
    }
    const auto number = parse_int(pair->value, 0, INT32_MAX);
    const bool is_count = pair->name == "most_connections" && number;
    endpoint[pair->name] = is_count ? json::value(*number) : json::value(pair->value);
  }
  return {};
}

Result<void> set_moving(const JobOptions& o, json::object& job) {
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
  set(move, "way", o.pin ? "never" : o.move);
  set(move, "signal", o.move_signal);
  set(move, "deadline", o.move_deadline);
  if (!endpoint.empty()) job["endpoint"] = std::move(endpoint);
  if (!move.empty()) job["move"] = std::move(move);
  return {};
}

// A mistake is named by its key in JSON, "time_limit: …"; whoever typed it knows the option.
std::string as_typed(const std::string& message) {
  struct Name {
    std::string_view key, option;
  };
  constexpr std::array<Name, 22> kNames = {{{"resource_limits.", "--rlimit "},
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
                                            {"time_limit:", "--time-limit:"},
                                            {"max_restarts:", "--max-restarts:"},
                                            {"name:", "--name:"},
                                            {"port:", "--port:"},
                                            {"grace:", "--grace:"},
                                            {"cpus:", "--cpus:"},
                                            {"memory:", "--memory:"},
                                            {"umask:", "--umask:"}}};
  for (const Name& name : kNames) {
    if (!message.starts_with(name.key)) continue;
    return cat(name.option, message.substr(name.key.size()));
  }
  return message;
}

}  // namespace

void add_job_options(Verb& verb, JobOptions& o) {
  const auto text = [&verb](const char* name, std::string& value, const char* help,
                            const char* form) {
    verb.add_option(name, value, help)->option_text(form);
  };
  text("-p,--profile", o.profile, "The MIG profile it needs, as 2g.10gb; or", "PROFILE");
  text("--gpu-memory", o.gpu_memory, "the smallest profile with so much memory, as 8GiB", "SIZE");
  text("--name", o.name, "A name for people (default: the command's)", "NAME");
  verb.add_option("--kind", o.kind, "batch (runs to its end, the default) or service")
      ->one_of({"batch", "service"})
      ->option_text("KIND");
  verb.add_flag("--service", o.service, "The same as --kind service")->excludes("--kind");
  verb.add_option("--port", o.port, "The port at which clients find a service (default: chosen)")
      ->option_text("PORT");
  verb.add_option("--endpoint", o.endpoint,
                  "How they reach it wherever it is: http, tcp or none (default: as its probe)")
      ->one_of({"http", "tcp", "none"})
      ->option_text("MODE");
  text("--host", o.host, "The address its endpoint listens on, as 0.0.0.0", "ADDRESS");
  verb.add_flag("--forwarded", o.forwarded, "Its endpoint adds X-Forwarded-For, -Host and -Proto");
  text("--drain", o.drain, "What is in flight when it moves may last so long, as 30s", "TIME");
  verb.add_option("--endpoint-option", o.endpoint_options,
                  "A limit of its endpoint: wait, connect, keep_alive, idle=TIME (or idle=none), "
                  "most_connections=N; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  text("--probe", o.probe, "When a service is ready: tcp, http:/PATH or command:'COMMAND'",
       "PROBE");
  text("--probe-interval", o.probe_interval, "Between two probes, as 500ms", "TIME");
  text("--probe-timeout", o.probe_timeout, "Of one probe, as 2s", "TIME");
  text("--probe-deadline", o.probe_deadline, "A service not ready by then has failed, as 10m",
       "TIME");
  verb.add_option(
          "--move", o.move,
          "How it may be moved while it runs: replica (services), checkpoint (batch) or never")
      ->one_of({"replica", "checkpoint", "never"})
      ->option_text("WAY");
  verb.add_flag("--pin", o.pin, "The same as --move never")->excludes("--move");
  text("--move-signal", o.move_signal, "Asks it for a checkpoint (default: USR1)", "SIGNAL");
  text("--move-deadline", o.move_deadline, "To save a checkpoint, and to resume from it, as 60s",
       "TIME");
  text("--grace", o.grace, "Between SIGTERM and SIGKILL when it is stopped, as 30s", "TIME");
  verb.add_option("--restart", o.restart, "Run it again: never (the default), on-failure or always")
      ->one_of({"never", "on-failure", "always"})
      ->option_text("WHEN");
  verb.add_option("--max-restarts", o.max_restarts, "At most so often (default: 3)")
      ->option_text("N");
  text("--time-limit", o.time_limit, "It is stopped after so long, as 1h30m", "TIME");
  verb.add_option("--cpus", o.cpus, "CPU cores it may use, as 1.5 (needs cgroup v2)")
      ->option_text("N");
  text("--memory", o.memory, "Host memory it may use, as 4GiB (needs cgroup v2)", "SIZE");
  verb.add_option("--label", o.labels, "A label, NAME=VALUE; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  verb.add_option("--env", o.env,
                  "A variable, NAME=VALUE, or NAME for its value here; may be repeated")
      ->option_text("NAME[=VALUE]")
      ->allow_extra_args(false);
  text("--env-file", o.env_file, "Variables from a file, NAME=VALUE lines", "FILE");
  verb.add_flag("--clean-env", o.clean_env, "Pass on none of the variables here");
  text("--directory", o.directory, "Where it runs (default: the current folder)", "FOLDER");
  verb.add_option("--rlimit", o.rlimits, "A resource limit, as nofile=1024; may be repeated")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  text("--umask", o.umask, "Its file mode mask, octal (default: the one here)", "MASK");
  verb.add_flag("--hold", o.hold, "Do not start it until it is released");
  verb.add_option("COMMAND", o.command, "What to run; after -- it may have options of its own");
}

Result<api::JobRequest> job_request(const JobOptions& o, const std::vector<std::string>& trailing) {
  std::vector<std::string> words = o.command;
  words.insert(words.end(), trailing.begin(), trailing.end());
  if (words.empty()) return invalid("no command is given; write it after --.");
  for (const std::string& word : words) {
    if (!api::is_utf8(word))
      return invalid(cat(tangram::quoted(word), " is not UTF-8 and cannot be sent."));
  }
  if (o.profile.empty() && o.gpu_memory.empty()) {
    return invalid("say what the job needs: --profile, as 2g.10gb, or --gpu-memory, as 8GiB.");
  }
  auto variables = environment_of(o);
  if (!variables) return std::unexpected(variables.error());
  const auto probe = probe_of(o);
  if (!probe) return std::unexpected(probe.error());
  auto limits = limits_of(o);
  if (!limits) return std::unexpected(limits.error());
  const auto directory = directory_of(o);
  if (!directory) return std::unexpected(directory.error());
  json::object job{{"command", json::array(words.begin(), words.end())},
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
  if (!o.labels.empty()) {
    json::object labels;
    for (const std::string& text : o.labels) {
      const auto pair = pair_in(text, "--label");
      if (!pair) return std::unexpected(pair.error());
      labels[pair->name] = pair->value;
    }
    job["labels"] = std::move(labels);
  }
  auto request = api::read_job_request(job);
  if (!request) request.error().message = as_typed(request.error().message);
  return request;
}

}  // namespace tangram::cli
