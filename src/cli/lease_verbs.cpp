// `tangram lease list`, `show`, `renew` and `release`: the leases there are, by their numbers or by
// the keys with which they were taken.
#include "cli/lease_verbs.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/user_number.hpp"
#include "cli/watch.hpp"
#include "files/json_text.hpp"

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
    case api::LeaseState::kOver:
      return {text, Style::kDim};
  }
  return text;
}

std::string place_of(const api::LeaseView& lease) {
  if (!lease.gpu) return "-";
  return lease.start ? cat(*lease.gpu, '@', *lease.start) : std::to_string(*lease.gpu);
}

std::string rest_of(const api::LeaseView& lease) {
  if (lease.expires) return age_text(*lease.expires - now());
  return lease.state == api::LeaseState::kGranted ? "never" : "-";
}

Result<void> list(const ListOptions& options, Command& command, Output& out) {
  auto client = connect(options.daemon);
  if (!client) return std::unexpected(client.error());
  auto documents = ask_for_all(*client, "/v1/leases");
  if (!documents) return std::unexpected(documents.error());
  const boost::json::value all = *std::move(documents);
  if (command.json) {
    out.add(files::json_text(all));
    return {};
  }
  const auto leases = read_list(all, api::read_lease_view);
  if (!leases) return std::unexpected(leases.error());
  if (leases->empty()) {
    out.line("no leases");
    return {};
  }
  Table table({{"LEASE", Align::kRight, 0},
               {"NAME"},
               {"USER"},
               {"PROFILE"},
               {"STATE"},
               {"ENDS IN", Align::kRight},
               {"GPU@START"},
               {"KEY"}});
  for (const api::LeaseView& lease : *leases) {
    table.row({Cell(std::to_string(lease.id), Style::kBold), harmless(lease.name),
               harmless(lease.user), lease.profile, state_cell(lease), rest_of(lease),
               place_of(lease), Cell(harmless(lease.key), Style::kDim)});
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

// A lease is named by its number, or by its key and whose it is.
Result<void> check_names(const ChangeOptions& options) {
  if (options.leases.empty() == options.key.empty()) {
    return invalid("say which: the numbers of leases, or --key KEY.");
  }
  if (options.key.empty() && !options.user.empty()) return invalid("--user goes with --key.");
  return {};
}

// The same question for every lease that was named, and what came of it in a line each.
Result<void> change(const ChangeOptions& options, std::string_view method, std::string_view tail,
                    const std::optional<boost::json::value>& body, Command& command, Output& out) {
  boost::json::array documents;
  for (const std::uint64_t id : options.leases) {
    auto answer = ask(options.daemon, method, cat("/v1/leases/", id, tail), body);
    if (!answer) return std::unexpected(answer.error());
    const auto lease = api::read_lease_view(*answer);
    if (!lease) return std::unexpected(lease.error());
    if (!command.json) {
      out.line(cat("lease ", id, " is ", name_of(lease->state),
                   lease->expires ? cat(" until ", local_text(*lease->expires)) : ""));
    }
    documents.push_back(std::move(*answer));
  }
  if (command.json) out.add(files::json_text(documents));
  return {};
}

// The number of the one that was taken with the key.
Result<std::uint64_t> number_by_key(const ChangeOptions& options) {
  const auto target = target_by_key(options);
  if (!target) return std::unexpected(target.error());
  const auto answer = ask(options.daemon, "GET", *target);
  if (!answer) return std::unexpected(answer.error());
  const auto leases = read_list(*answer, api::read_lease_view);
  if (!leases) return std::unexpected(leases.error());
  if (leases->empty()) return not_found("no lease with this key is open.");
  return leases->front().id;
}

Result<void> renew(const ChangeOptions& options, Command& command, Output& out) {
  if (auto ok = check_names(options); !ok) return ok;
  boost::json::object body;
  if (!options.ttl.empty()) {
    const auto ttl = api::parse_ttl(options.ttl);
    if (!ttl) return invalid(cat("--ttl: ", ttl.error().message));
    body["ttl"] = api::ttl_text(*ttl);
  }
  if (options.key.empty()) return change(options, "POST", "/renew", body, command, out);
  const auto id = number_by_key(options);
  if (!id) return std::unexpected(id.error());
  ChangeOptions named = options;
  named.leases = {*id};
  return change(named, "POST", "/renew", body, command, out);
}

// One that was taken with a key; that there is none is as good.
Result<void> release_by_key(const ChangeOptions& options, Command& command, Output& out) {
  const auto target = target_by_key(options);
  if (!target) return std::unexpected(target.error());
  const auto answer = ask(options.daemon, "DELETE", *target);
  if (!answer) return std::unexpected(answer.error());
  boost::json::array documents;
  if (answer->is_null()) {
    if (!command.json) out.line("no lease with this key is open");
  } else {
    const auto lease = api::read_lease_view(*answer);
    if (!lease) return std::unexpected(lease.error());
    if (!command.json) out.line(cat("lease ", lease->id, " is ", name_of(lease->state)));
    documents.push_back(*answer);
  }
  if (command.json) out.add(files::json_text(documents));
  return {};
}

Result<void> release(const ChangeOptions& options, Command& command, Output& out) {
  if (auto ok = check_names(options); !ok) return ok;
  if (!options.key.empty()) return release_by_key(options, command, out);
  return change(options, "DELETE", "", std::nullopt, command, out);
}

Result<void> show(const ChangeOptions& options, Command& command, Output& out) {
  if (auto ok = check_names(options); !ok) return ok;
  boost::json::array documents;
  if (!options.key.empty()) {
    const auto target = target_by_key(options);
    if (!target) return std::unexpected(target.error());
    const auto answer = ask(options.daemon, "GET", *target);
    if (!answer) return std::unexpected(answer.error());
    documents = answer->as_array();
  }
  for (const std::uint64_t id : options.leases) {
    auto answer = ask(options.daemon, "GET", cat("/v1/leases/", id));
    if (!answer) return std::unexpected(answer.error());
    documents.push_back(*std::move(answer));
  }
  if (command.json) {
    out.add(files::json_text(documents));
    return {};
  }
  const auto leases = read_list(boost::json::value(documents), api::read_lease_view);
  if (!leases) return std::unexpected(leases.error());
  for (const api::LeaseView& lease : *leases) print(lease, out);
  return {};
}

void add_names(Verb& verb, ChangeOptions& options) {
  verb.add_option("LEASE", options.leases, "Their numbers; or");
  verb.add_option("--key", options.key, "the key with which it was taken")->option_text("KEY");
  verb.add_option("--user", options.user, "With --key: for whom it was taken (default: you)")
      ->option_text("USER");
}

}  // namespace

void print(const api::LeaseView& lease, Output& out) {
  const Cell state = state_cell(lease);
  out.line(cat(out.paint(cat("lease ", lease.id), Style::kBold), "  ", harmless(lease.name), "  ",
               out.paint(state.text, state.style)));
  Table facts({{"", Align::kLeft, 0}, {""}});
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) facts.row({Cell(cat("  ", name), Style::kDim), harmless(value)});
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
  add("expires", lease.expires ? local_text(*lease.expires) : endless ? "never" : "");
  for (const auto& [name, value] : lease.environment) add("environment", cat(name, '=', value));
  facts.print(out);
}

void add_lease_list(Verb& lease, Command& command) {
  Verb verb = add_daemon_verb(lease, command, "list", "List the leases that are not over",
                              std::make_shared<ListOptions>(), list);
  add_watch_option(*verb, command);
}

void add_lease_renew(Verb& lease, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb =
      add_daemon_verb(lease, command, "renew", "Let leases live on from now", options, renew);
  add_names(*verb, *options);
  verb->add_option("--ttl", options->ttl,
                   "A new time to live, as 1h; none: no end (default: the one it has)")
      ->option_text("TIME");
}

void add_lease_release(Verb& lease, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb =
      add_daemon_verb(lease, command, "release",
                      "End leases; the instance is free once it is empty", options, release);
  add_names(*verb, *options);
}

void add_lease_show(Verb& lease, Command& command) {
  const auto options = std::make_shared<ChangeOptions>();
  Verb verb =
      add_daemon_verb(lease, command, "show", "Show leases, with their environment", options, show);
  add_names(*verb, *options);
}

}  // namespace tangram::cli
