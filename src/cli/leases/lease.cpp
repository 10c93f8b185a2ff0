// `tangram lease`: acquires an instance for a command that runs here, or (--keep) prints the lease
// and leaves it. A lease acquired for a command is released when the command ends.
#include "api/lease.hpp"

#include <csignal>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/log_copy.hpp"
#include "cli/client/missing_size.hpp"
#include "cli/client/user_number.hpp"
#include "cli/leases/lease_run.hpp"
#include "cli/leases/lease_verbs.hpp"
#include "cli/leases/lease_wait.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

constexpr int kOwnFailure = 125;  // as in `tangram run`
constexpr auto kReconnectTime = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(1);
// The linger time for a generated key, which only has to outlast a restart of the daemon.
constexpr std::chrono::milliseconds kGeneratedKeyLinger = std::chrono::seconds(5);

struct LeaseOptions {
  DaemonOptions daemon;
  std::string profile, gpu_memory, wait, ttl, linger, key, name, user, cgroup;
  std::vector<std::string> labels;
  bool keep = false;
  bool quiet = false;
};

// Parses `typed` into `time`, unless it is empty.
template <class Time>
Result<void> set_time(std::string_view option, const std::string& typed, Time& time,
                      Result<std::chrono::milliseconds> (*parse)(std::string_view)) {
  if (typed.empty()) return {};
  const auto parsed = parse(typed);
  if (!parsed) return invalid(cat(option, ": ", parsed.error().message));
  time = *parsed;
  return {};
}

Result<void> set_times(const LeaseOptions& o, api::LeaseRequest& request) {
  if (auto ok = set_time("--ttl", o.ttl, request.ttl, api::parse_ttl); !ok) return ok;
  if (request.ttl == api::kNoEnd && !o.keep) {
    return invalid("--ttl none requires --keep: with a command, the lease ends with the command.");
  }
  request.wait = kLongestWait;
  if (auto ok = set_time("--wait", o.wait, request.wait, api::parse_duration); !ok) return ok;
  if (!o.linger.empty() && o.key.empty()) {
    return invalid("--linger requires --key, with which the lease is requested again.");
  }
  if (o.key.empty()) request.linger = kGeneratedKeyLinger;
  return set_time("--linger", o.linger, request.linger, api::parse_duration);
}

Result<void> set_need(const LeaseOptions& o, const std::vector<std::string>& command,
                      api::LeaseRequest& request) {
  if (o.profile.empty() && o.gpu_memory.empty()) {
    const std::vector<std::string> verbs = {"list", "show", "renew", "release"};
    const auto near = command.size() == 1 ? nearest(command.front(), verbs) : std::nullopt;
    if (!near) return std::unexpected(missing_size(command));
    return invalid(cat(tangram::quoted(command.front()),
                       " is no verb of `tangram lease`, and no instance size is given to run it; "
                       "did you mean `tangram lease ",
                       *near, "`?"));
  }
  if (!o.profile.empty() && !o.gpu_memory.empty()) {
    return invalid("--profile and --gpu-memory exclude each other.");
  }
  request.profile = o.profile;
  if (o.gpu_memory.empty()) return {};
  const auto bytes = api::parse_bytes(o.gpu_memory);
  if (!bytes) return invalid(cat("--gpu-memory: ", bytes.error().message));
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  request.gpu_memory_mib = (*bytes + kMib - 1) / kMib;
  return {};
}

// A generated key: every request has one, so that it can be repeated after a restart of the daemon.
std::string generated_key() {
  return cat("tangram-lease/", ::getpid(), "/", now().time_since_epoch().count());
}

Result<api::LeaseRequest> request_of(const LeaseOptions& o,
                                     const std::vector<std::string>& command) {
  api::LeaseRequest request;
  if (auto ok = set_need(o, command, request); !ok) return std::unexpected(ok.error());
  if (auto ok = set_times(o, request); !ok) return std::unexpected(ok.error());
  if (request.ttl == api::kNoEnd && o.key.empty()) {
    return invalid("--ttl none requires --key, with which the lease is released.");
  }
  request.key = o.key.empty() ? generated_key() : o.key;
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
      return invalid(cat("--label ", tangram::quoted(label), ": use NAME=VALUE."));
    }
    request.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return request;
}

// Requests the lease and waits for the grant, across restarts of the daemon: the key identifies the
// same lease. Gives up on a daemon that closes the connection at once three times in a row.
Result<boost::json::value> acquire(const LeaseOptions& options, const api::LeaseRequest& request,
                                   Command& command) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMaxFailures = 3;
  const std::string socket = socket_of(options.daemon);
  std::optional<LeaseStatusPrinter> printer;
  if (!options.quiet) printer.emplace(socket, request);
  std::chrono::milliseconds reconnect_time{0};
  for (int failures = 0;;) {
    auto client = reconnect(socket, reconnect_time);
    if (!client) return std::unexpected(client.error());
    const auto begin = Clock::now();
    auto received = client->exchange("POST", "/v1/leases", to_json(request),
                                     request.wait + http::Client::kDefaultTimeout);
    if (is_temporary_refusal(received)) command.failure_code = kTryLater;
    auto reply = http::check_status(std::move(received));
    if (reply) return std::move(reply->body);
    if (reply.error().code != ErrorCode::kUnavailable) return std::unexpected(reply.error());
    failures = Clock::now() - begin < std::chrono::seconds(1) ? failures + 1 : 0;
    if (failures == kMaxFailures) return std::unexpected(reply.error());
    reconnect_time = kReconnectTime;
    pause_between_attempts();
  }
}

void release(const LeaseOptions& options, const api::LeaseView& lease) {
  auto client = reconnect(socket_of(options.daemon), std::chrono::seconds(5));
  const auto done = client ? client->request("DELETE", cat("/v1/leases/", lease.id))
                           : std::unexpected(client.error());
  if (done || options.quiet) return;
  fmt::print(stderr, "tangram: cannot release lease {} (it expires in {}): {}\n", lease.id,
             api::ttl_text(lease.ttl), done.error().message);
}

// Deletes a waiting lease, which would otherwise keep its place in the queue. Best effort: it
// expires by itself after kGeneratedKeyLinger.
void abandon(const LeaseOptions& options, const api::LeaseRequest& request) {
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
    out.add(text::json_text(document));
  } else {
    print(lease, out);
  }
  return {};
}

Result<void> lease_and_run(const LeaseOptions& options, Command& command, Output& out) {
  if (options.keep != command.trailing.empty()) {
    return invalid(
        options.keep ? "--keep cannot be used with a command."
                     : "no command given: put it behind the options, or use --keep to acquire the "
                       "lease only.");
  }
  const auto request = request_of(options, command.trailing);
  if (!request) return std::unexpected(request.error());
  const auto answer = acquire(options, *request, command);
  if (!answer) {
    if (options.key.empty()) abandon(options, *request);
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
  const auto options = std::make_shared<LeaseOptions>();
  Verb verb = app.add_subcommand("lease", "Run a command here on a leased instance");
  verb->require_subcommand(0, 1);
  const auto text = [&verb](const char* name, std::string& value, const char* help,
                            const char* form) {
    verb->add_option(name, value, help)->option_text(form);
  };
  text("-p,--profile", options->profile, "MIG profile, e.g. 2g.10gb; or", "PROFILE");
  text("--gpu-memory", options->gpu_memory,
       "Use the smallest profile with at least this much memory, e.g. 8GiB", "SIZE");
  text("--wait", options->wait, "How long to wait for a free instance (default and maximum: 1h)",
       "TIME");
  text("--ttl", options->ttl,
       "Time to live after each renewal (default: 60s, or unchanged); none: no end", "TIME");
  text("--linger", options->linger,
       "With --key: keep its place in the queue this long without a client (default: the "
       "node's)",
       "TIME");
  text("--key", options->key, "Idempotency key: a request with the same key returns the same lease",
       "KEY");
  text("--user", options->user,
       "Owner of the lease; only admins may name another user (default: you)", "USER");
  text("--cgroup", options->cgroup,
       "For admins: a cgroup that must also be empty before the lease ends", "DIR");
  text("--name", options->name, "Name of the lease (default: that of the command)", "NAME");
  verb->add_option("--label", options->labels, "Label NAME=VALUE; may be repeated")
      ->option_text("NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_flag("--keep", options->keep, "Acquire the lease and print it; run no command");
  verb->add_flag("-q,--quiet", options->quiet, "Do not report waiting or the release");
  add_daemon_options(*verb, options->daemon);
  add_output_options(*verb, command);
  add_lease_list(*verb, command);
  add_lease_show(*verb, command);
  add_lease_renew(*verb, command);
  add_lease_release(*verb, command);
  verb->footer(
      "Examples:\n"
      "  tangram lease -p 1g.5gb --wait 10m python train.py\n"
      "  tangram lease -p 1g.5gb bash\n"
      "  tangram lease --keep -p 2g.10gb --ttl 1h --key nightly --json\n"
      "Options end at the command's first word; -- may precede it.\n"
      "The lease is renewed while the command runs and released when it ends. The exit\n"
      "code is that of the command: 128 plus the signal that ended it, 126 or 127 if it\n"
      "cannot be started. 125: no lease was granted; 75: none for now, try again later.");
  verb->callback([&command, options, verb] {
    if (verb.has_chosen_subcommand()) return;
    command.failure_code = kOwnFailure;
    command.run = [&command, options](Output& out) {
      return lease_and_run(*options, command, out);
    };
  });
}

}  // namespace tangram::cli
