// `tangram lease list`, `show`, `renew` and `release`. Leases are identified by number or by key.
#include "cli/leases/lease_verbs.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/user_number.hpp"
#include "cli/client/watch.hpp"
#include "cli/command/failures.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct ListOptions {
  DaemonOptions daemon;
};

Cell state_cell(const api::LeaseView& lease) {
  const std::string text(name_of(lease.state));
  switch (lease.state) {
    case api::LeaseState::kGranted:
      return {text, Style::kGood};
    case api::LeaseState::kWaiting:
      return {text, Style::kYellow};
    case api::LeaseState::kReleasing:
    case api::LeaseState::kEnded:
      return {text, Style::kDim};
  }
  return text;
}

std::string place_of(const api::LeaseView& lease) {
  if (!lease.gpu) return "-";
  return lease.start ? cat(*lease.gpu, '@', *lease.start) : std::to_string(*lease.gpu);
}

std::string remaining_time(const api::LeaseView& lease) {
  if (lease.expires) return age_text(*lease.expires - now());
  return lease.state == api::LeaseState::kGranted ? "never" : "-";
}

Result<void> list(const ListOptions& options, Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  auto documents = get_all_pages(*client, "/v1/leases");
  if (!documents) return std::unexpected(documents.error());
  const boost::json::value all = *std::move(documents);
  if (command.json) {
    out.add(text::json_text(all));
    return {};
  }
  const auto leases = read_list(all, api::read_lease_view);
  if (!leases) return std::unexpected(leases.error());
  if (leases->empty()) {
    out.line("No active leases.");
    return {};
  }
  Table table({{"LEASE", Align::kRight, 0},
               {"NAME"},
               {"USER"},
               {"PROFILE"},
               {"STATE"},
               {"EXPIRES IN", Align::kRight},
               {"GPU@START"},
               {"KEY"}});
  for (const api::LeaseView& lease : *leases) {
    table.row({Cell(std::to_string(lease.id), Style::kBold), terminal_safe(lease.name),
               terminal_safe(lease.user), lease.profile, state_cell(lease), remaining_time(lease),
               place_of(lease), Cell(terminal_safe(lease.key), Style::kDim)});
  }
  table.print(out);
  return {};
}

struct ChangeOptions {
  DaemonOptions daemon;
  std::vector<std::uint64_t> leases;
  std::string ttl, key, user;
};

// "/v1/leases?key=…&uid=…"
Result<std::string> target_by_key(const ChangeOptions& options) {
  RequestTarget target("/v1/leases");
  target.add("key", options.key);
  if (options.user.empty()) return target.text();
  const auto uid = uid_of(options.user);
  if (!uid) return std::unexpected(uid.error());
  target.add("uid", std::to_string(*uid));
  return target.text();
}

// Leases are given by number, or one by its key and optionally its owner.
Result<void> check_selection(const ChangeOptions& options) {
  if (options.leases.empty() == options.key.empty()) {
    return invalid("no lease given: use lease IDs or --key KEY.");
  }
  if (options.key.empty() && !options.user.empty()) return invalid("--user requires --key.");
  return {};
}

// Sends the same request for each lease and prints one line per result.
Result<void> change(const ChangeOptions& options, std::string_view method, std::string_view tail,
                    const std::optional<boost::json::value>& body, Command& command, Output& out) {
  boost::json::array documents;
  for (const std::uint64_t id : options.leases) {
    auto answer = request_json(options.daemon, method, cat("/v1/leases/", id, tail), body);
    if (!answer) {
      report_failure(command, answer.error());
      continue;
    }
    const auto lease = api::read_lease_view(*answer);
    if (!lease) return std::unexpected(lease.error());
    if (!command.json) {
      out.line(cat("lease ", id, " is ", name_of(lease->state),
                   lease->expires ? cat(" until ", local_text(*lease->expires)) : ""));
    }
    documents.push_back(std::move(*answer));
  }
  if (command.json && !documents.empty()) out.add(text::json_text(documents));
  return {};
}

// Returns the number of the active lease with this key.
Result<std::uint64_t> find_by_key(const ChangeOptions& options) {
  const auto target = target_by_key(options);
  if (!target) return std::unexpected(target.error());
  const auto answer = request_json(options.daemon, "GET", *target);
  if (!answer) return std::unexpected(answer.error());
  const auto leases = read_list(*answer, api::read_lease_view);
  if (!leases) return std::unexpected(leases.error());
  if (leases->empty())
    return not_found(cat("no active lease has the key ", tangram::quoted(options.key), "."));
  return leases->front().id;
}

Result<void> renew(const ChangeOptions& options, Command& command, Output& out) {
  if (auto ok = check_selection(options); !ok) return ok;
  boost::json::object body;
  if (!options.ttl.empty()) {
    const auto ttl = api::parse_ttl(options.ttl);
    if (!ttl) return invalid(cat("--ttl: ", ttl.error().message));
    body["ttl"] = api::ttl_text(*ttl);
  }
  if (options.key.empty()) return change(options, "POST", "/renew", body, command, out);
  const auto id = find_by_key(options);
  if (!id) return std::unexpected(id.error());
  ChangeOptions by_number = options;
  by_number.leases = {*id};
  return change(by_number, "POST", "/renew", body, command, out);
}

// Releases the lease with this key. No such lease is a success.
Result<void> release_by_key(const ChangeOptions& options, Command& command, Output& out) {
  const auto target = target_by_key(options);
  if (!target) return std::unexpected(target.error());
  const auto answer = request_json(options.daemon, "DELETE", *target);
  if (!answer) return std::unexpected(answer.error());
  boost::json::array documents;
  if (answer->is_null()) {
    if (!command.json) out.line(cat("no active lease has the key ", tangram::quoted(options.key)));
  } else {
    const auto lease = api::read_lease_view(*answer);
    if (!lease) return std::unexpected(lease.error());
    if (!command.json) out.line(cat("lease ", lease->id, " is ", name_of(lease->state)));
    documents.push_back(*answer);
  }
  if (command.json) out.add(text::json_text(documents));
  return {};
}

Result<void> release(const ChangeOptions& options, Command& command, Output& out) {
  if (auto ok = check_selection(options); !ok) return ok;
  if (!options.key.empty()) return release_by_key(options, command, out);
  return change(options, "DELETE", "", std::nullopt, command, out);
}

Result<void> show(const ChangeOptions& options, Command& command, Output& out) {
  if (auto ok = check_selection(options); !ok) return ok;
  boost::json::array documents;
  if (!options.key.empty()) {
    const auto target = target_by_key(options);
    if (!target) return std::unexpected(target.error());
    const auto answer = request_json(options.daemon, "GET", *target);
    if (!answer) return std::unexpected(answer.error());
    documents = answer->as_array();
  }
  for (const std::uint64_t id : options.leases) {
    auto answer = request_json(options.daemon, "GET", cat("/v1/leases/", id));
    if (!answer) {
      report_failure(command, answer.error());
      continue;
    }
    documents.push_back(*std::move(answer));
  }
  if (command.json && documents.empty()) return {};
  if (command.json) {
    out.add(text::json_text(documents));
    return {};
  }
  const auto leases = read_list(boost::json::value(documents), api::read_lease_view);
  if (!leases) return std::unexpected(leases.error());
  for (const api::LeaseView& lease : *leases) print(lease, out);
  return {};
}

void add_selection(Verb& verb, ChangeOptions& options) {
  verb.add_option("LEASE", options.leases, "Lease IDs; or");
  verb.add_option("--key", options.key, "Key of the lease")->option_text("KEY");
  verb.add_option("--user", options.user, "With --key: owner of the lease (default: you)")
      ->option_text("USER");
}

}  // namespace

void print(const api::LeaseView& lease, Output& out) {
  const Cell state = state_cell(lease);
  out.line(cat(out.paint(cat("lease ", lease.id), Style::kBold), "  ", terminal_safe(lease.name),
               "  ", out.paint(state.text, state.style)));
  Table facts({{"", Align::kLeft, 0}, {""}});
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) facts.row({Cell(cat("  ", name), Style::kDim), terminal_safe(value)});
  };
  add("reason", lease.reason);
  add("key", lease.key);
  if (lease.taker_uid != lease.uid) {
    add("user", lease.user);
    add("taken by", lease.taker);
  }
  for (const auto& [name, value] : lease.labels) add("label", cat(name, '=', value));
  add("profile", lease.profile);
  if (lease.gpu) {
    add("place", cat("GPU ", *lease.gpu, lease.start ? cat(", slice ", *lease.start) : ""));
  }
  add("instance", lease.mig_uuid);
  add("CDI", lease.cdi);
  const bool endless = lease.state == api::LeaseState::kGranted && lease.ttl == api::kNoEnd;
  const std::string no_time = endless ? "never" : "";
  add("expires", lease.expires ? local_text(*lease.expires) : no_time);
  for (const auto& [name, value] : lease.environment) add("environment", cat(name, '=', value));
  facts.print(out);
}

void add_lease_list(Verb& lease, Command& command) {
  Verb verb = add_daemon_verb(lease, command, "list", "List active leases",
                              std::make_shared<ListOptions>(), list);
  add_watch_option(*verb, command);
  verb->footer("Example:\n  tangram lease list --watch");
}

void add_lease_renew(Verb& lease, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb = add_daemon_verb(lease, command, "renew", "Renew leases from now on", options, renew);
  add_selection(*verb, *options);
  verb->add_option("--ttl", options->ttl,
                   "New time to live, e.g. 1h; none: no end (default: unchanged)")
      ->option_text("TIME");
  verb->footer("Example:\n  tangram lease renew --key nightly --ttl 2h");
}

void add_lease_release(Verb& lease, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb = add_daemon_verb(lease, command, "release",
                              "Release leases; an instance is free once no process uses it",
                              options, release);
  add_selection(*verb, *options);
  verb->footer("Examples:\n  tangram lease release 5\n  tangram lease release --key nightly");
}

void add_lease_show(Verb& lease, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb = add_daemon_verb(lease, command, "show",
                              "Show details of leases, with their environment", options, show);
  add_selection(*verb, *options);
  verb->footer("Examples:\n  tangram lease show 5\n  tangram lease show --key nightly --json");
}

}  // namespace tangram::cli
