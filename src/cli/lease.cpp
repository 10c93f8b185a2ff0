// `tangram lease`: an instance for a command that runs here, or for whoever keeps it, and the
// leases there are. One rule: what was acquired for a command is released when the command ends.
#include "api/lease.hpp"

#include <csignal>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/lease_run.hpp"
#include "cli/lease_verbs.hpp"
#include "cli/lease_wait.hpp"
#include "cli/log_copy.hpp"
#include "cli/user_number.hpp"
#include "files/json_text.hpp"

namespace tangram::cli {
namespace {

constexpr int kOwnFailure = 125;  // as `tangram run`
constexpr auto kPatience = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(1);
// Of a key that nobody else knows: it needs to outlast only a restart of the daemon.
constexpr std::chrono::milliseconds kOwnLinger = std::chrono::seconds(5);

struct Options {
  DaemonOptions daemon;
  std::string profile, gpu_memory, wait, ttl, linger, key, name, user, cgroup;
  std::vector<std::string> labels;
  bool keep = false;
  bool quiet = false;
};

// A time that was typed, if one was, into `time`.
template <class Time>
Result<void> set_time(std::string_view option, const std::string& typed, Time& time,
                      Result<std::chrono::milliseconds> (*parse)(std::string_view)) {
  if (typed.empty()) return {};
  const auto parsed = parse(typed);
  if (!parsed) return invalid(cat(option, ": ", parsed.error().message));
  time = *parsed;
  return {};
}

Result<void> set_times(const Options& o, api::LeaseRequest& request) {
  if (auto ok = set_time("--ttl", o.ttl, request.ttl, api::parse_ttl); !ok) return ok;
  if (request.ttl == api::kNoEnd && !o.keep) {
    return invalid("--ttl none goes with --keep: with a command, the lease ends with it.");
  }
  request.wait = kLongestWait;
  if (auto ok = set_time("--wait", o.wait, request.wait, api::parse_duration); !ok) return ok;
  if (!o.linger.empty() && o.key.empty()) {
    return invalid("--linger goes with --key, by which the lease is asked for again.");
  }
  if (o.key.empty()) request.linger = kOwnLinger;
  return set_time("--linger", o.linger, request.linger, api::parse_duration);
}

Result<void> set_need(const Options& o, api::LeaseRequest& request) {
  if (o.profile.empty() == o.gpu_memory.empty()) {
    return invalid("say what is needed: --profile, as 2g.10gb, or --gpu-memory, as 8GiB.");
  }
  request.profile = o.profile;
  if (o.gpu_memory.empty()) return {};
  const auto bytes = api::parse_bytes(o.gpu_memory);
  if (!bytes) return invalid(cat("--gpu-memory: ", bytes.error().message));
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  request.gpu_memory_mib = (*bytes + kMib - 1) / kMib;
  return {};
}

// A key makes asking again harmless, so there always is one.
std::string own_key() {
  return cat("tangram-lease/", ::getpid(), "/", now().time_since_epoch().count());
}

Result<api::LeaseRequest> request_of(const Options& o, const std::vector<std::string>& command) {
  api::LeaseRequest request;
  if (auto ok = set_need(o, request); !ok) return std::unexpected(ok.error());
  if (auto ok = set_times(o, request); !ok) return std::unexpected(ok.error());
  if (request.ttl == api::kNoEnd && o.key.empty()) {
    return invalid("--ttl none goes with --key, by which the lease is released.");
  }
  request.key = o.key.empty() ? own_key() : o.key;
  request.cgroup = o.cgroup;
  if (!o.user.empty()) {
    const auto uid = uid_of(o.user);
    if (!uid) return std::unexpected(uid.error());
    request.uid = *uid;
  }
  request.name = o.name;
  if (request.name.empty() && !command.empty()) {
    request.name = command.front().substr(command.front().rfind('/') + 1);
  }
  for (const std::string& label : o.labels) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return invalid(cat("--label ", tangram::quoted(label), ": write it as NAME=VALUE."));
    }
    request.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return request;
}

// Waits for the grant, across restarts of the daemon: the key leads back to the same lease. One
// that refuses at once and again is not one that went away.
Result<boost::json::value> acquire(const Options& options, const api::LeaseRequest& request,
                                   Command& command) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMostRefusals = 3;
  const std::string socket = socket_of(options.daemon);
  std::optional<LeaseTeller> teller;
  if (!options.quiet) teller.emplace(socket, request);
  std::chrono::milliseconds patience{0};
  for (int refusals = 0;;) {
    auto client = reconnect(socket, patience);
    if (!client) return std::unexpected(client.error());
    const auto begin = Clock::now();
    auto came = client->exchange("POST", "/v1/leases", to_json(request),
                                 request.wait + http::Client::kPatience);
    if (is_for_now(came)) command.failure_code = kTryLater;
    auto reply = http::meaning_of(std::move(came));
    if (reply) return std::move(reply->body);
    if (reply.error().code != ErrorCode::kUnavailable) return std::unexpected(reply.error());
    refusals = Clock::now() - begin < std::chrono::seconds(1) ? refusals + 1 : 0;
    if (refusals == kMostRefusals) return std::unexpected(reply.error());
    patience = kPatience;
    pause_between_attempts();
  }
}

void release(const Options& options, const api::LeaseView& lease) {
  auto client = reconnect(socket_of(options.daemon), std::chrono::seconds(5));
  const auto done = client ? client->request("DELETE", cat("/v1/leases/", lease.id))
                           : std::unexpected(client.error());
  if (done || options.quiet) return;
  fmt::print(stderr, "tangram: lease {} is not released and ends by itself in {}: {}\n", lease.id,
             api::ttl_text(lease.ttl), done.error().message);
}

// It would keep its place for somebody who does not come back. If that cannot be said now, it ends
// by itself soon.
void give_up(const Options& options, const api::LeaseRequest& request) {
  auto client = connect_to(socket_of(options.daemon));
  if (!client) return;
  RequestTarget target("/v1/leases");
  target.add("key", request.key);
  if (request.uid) target.add("uid", std::to_string(*request.uid));
  static_cast<void>(client->request("DELETE", target.text()));
}

Result<void> keep(const api::LeaseView& lease, const boost::json::value& document, Command& command,
                  Output& out) {
  if (command.json) {
    out.add(files::json_text(document));
  } else {
    print(lease, out);
  }
  return {};
}

Result<void> lease_and_run(const Options& options, Command& command, Output& out) {
  if (options.keep != command.trailing.empty()) {
    return invalid(options.keep
                       ? "--keep leaves the lease to you; it does not go with a command."
                       : "no command is given; write it after --, or --keep to acquire the lease "
                         "and leave it.");
  }
  const auto request = request_of(options, command.trailing);
  if (!request) return std::unexpected(request.error());
  const auto answer = acquire(options, *request, command);
  if (!answer) {
    if (options.key.empty()) give_up(options, *request);
    return std::unexpected(answer.error());
  }
  const auto lease = api::read_lease_view(*answer);
  if (!lease) return std::unexpected(lease.error());
  if (options.keep) return keep(*lease, *answer, command, out);
  const auto code = run_on_lease(socket_of(options.daemon), *lease, command.trailing);
  release(options, *lease);
  if (!code) return std::unexpected(code.error());
  command.exit_code = *code;
  return {};
}

}  // namespace

void add_lease(Verb& app, Command& command) {
  const auto options = std::make_shared<Options>();
  Verb verb = app.add_subcommand("lease", "Run a command here on an instance that is leased");
  verb->require_subcommand(0, 1);
  const auto text = [&verb](const char* name, std::string& value, const char* help,
                            const char* form) {
    verb->add_option(name, value, help)->option_text(form);
  };
  text("-p,--profile", options->profile, "The MIG profile that is needed, as 2g.10gb; or",
       "PROFILE");
  text("--gpu-memory", options->gpu_memory, "the smallest profile with so much memory, as 8GiB",
       "SIZE");
  text("--wait", options->wait, "How long to wait for room (default: 1h, the longest)", "TIME");
  text("--ttl", options->ttl,
       "It ends so long after the last renewal (default: 60s, or as it is); none: never", "TIME");
  text("--linger", options->linger,
       "With --key: it keeps its place so long when nobody asks (default: the node's)", "TIME");
  text("--key", options->key, "Your own name for it: asking again gives the same lease", "KEY");
  text("--user", options->user, "For whom it is; only admins may name another (default: you)",
       "USER");
  text("--cgroup", options->cgroup,
       "Of admins: a control group that must be empty, too, before it is over", "FOLDER");
  text("--name", options->name, "A name for people (default: the command's)", "NAME");
  verb->add_option("--label", options->labels, "A label, NAME=VALUE; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_flag("--keep", options->keep, "Run nothing: acquire it, print it and leave it");
  verb->add_flag("-q,--quiet", options->quiet, "Say nothing about waiting, nor about the release");
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  add_lease_list(*verb, command);
  add_lease_show(*verb, command);
  add_lease_renew(*verb, command);
  add_lease_release(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram lease -p 1g.5gb --wait 10m -- python train.py\n"
      "  tangram lease --keep -p 2g.10gb --ttl 1h --key nightly --json\n"
      "The lease is renewed while the command runs and released when it ends. The exit\n"
      "code is the command's: 128 and the signal if one ended it, 126 or 127 if it\n"
      "cannot be started; 125 if Tangram has no lease for it, 75 if only for now: there\n"
      "is no room, or the instance is not there yet.");
  verb->callback([&command, options, verb] {
    if (verb.has_chosen()) return;
    command.failure_code = kOwnFailure;
    command.run = [&command, options](Output& out) {
      return lease_and_run(*options, command, out);
    };
  });
}

}  // namespace tangram::cli
