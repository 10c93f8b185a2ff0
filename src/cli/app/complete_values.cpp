// See complete.hpp: values from the daemon, the catalog and the policies.
#include <algorithm>
#include <array>
#include <optional>
#include <pwd.h>
#include <set>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/node.hpp"
#include "base/text.hpp"
#include "cli/app/complete.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/node/tuning_change.hpp"
#include "mig/catalog.hpp"
#include "policies/registry.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kTimeout{300};

std::optional<json::value> get_quickly(const std::string& target) {
  auto client = connect(DaemonOptions{});
  if (!client) return std::nullopt;
  auto reply = client->request("GET", target, std::nullopt, kTimeout);
  if (!reply) return std::nullopt;
  return std::move(reply->body);
}

std::string text_at(const json::value& value, std::string_view key) {
  const auto* object = value.if_object();
  const json::value* member = object == nullptr ? nullptr : object->if_contains(key);
  if (member == nullptr) return "";
  if (member->is_string()) return std::string(member->get_string());
  return member->is_number() ? std::to_string(member->to_number<std::int64_t>()) : "";
}

// Suggests `key` of each object in the list at `target`, with the members `more` as help.
std::vector<Suggestion> listed(const std::string& target, std::string_view key,
                               std::span<const std::string_view> more) {
  std::vector<Suggestion> found;
  const auto document = get_quickly(target);
  if (!document || !document->is_array()) return found;
  for (const json::value& each : document->get_array()) {
    std::string help;
    for (const std::string_view name : more) {
      help += cat(help.empty() ? "" : " ", text_at(each, name));
    }
    found.push_back({text_at(each, key), help});
  }
  return found;
}

std::vector<Suggestion> catalog_profiles() {
  std::set<std::string> names;
  for (const auto& model : mig::catalog()) {
    for (const mig::Profile& profile : model.profiles()) names.insert(profile.name);
  }
  std::vector<Suggestion> found;
  for (const std::string& name : names) found.push_back({name, ""});
  return found;
}

std::vector<Suggestion> profiles() {
  const auto document = get_quickly("/v1/status");
  const auto status = document ? api::read_status_view(*document) : Result<api::StatusView>({});
  if (!status || status->profiles.empty()) return catalog_profiles();
  std::vector<Suggestion> found;
  for (const api::ProfileView& profile : status->profiles) {
    found.push_back({profile.name, cat(profile.memory_mib, " MiB, ", profile.fits_now, " free")});
  }
  return found;
}

std::vector<Suggestion> models() {
  std::vector<Suggestion> found;
  for (const auto& model : mig::catalog()) found.push_back({std::string(model.name()), ""});
  return found;
}

// The caller's jobs; finished ones only for verbs that accept them.
std::vector<Suggestion> jobs(std::string_view verb) {
  constexpr std::array<std::string_view, 4> kAcceptFinished = {"show", "logs", "explain", "events"};
  constexpr std::array<std::string_view, 3> kMore = {"name", "profile", "state"};
  RequestTarget target("/v1/jobs");
  const passwd* user = ::getpwuid(::geteuid());
  if (user != nullptr) target.add("user", user->pw_name);
  if (std::ranges::find(kAcceptFinished, verb) != kAcceptFinished.end()) target.add("all", "1");
  return listed(target.add("limit", "100").text(), "id", kMore);
}

// Slices that no job or other process occupies, as GPU:START.
std::vector<Suggestion> free_slots() {
  std::vector<Suggestion> found;
  const auto document = get_quickly("/v1/gpus");
  if (!document || !document->is_array()) return found;
  for (const json::value& each : document->get_array()) {
    const auto gpu = api::read_gpu_view(each);
    if (!gpu) continue;
    const auto taken = [&](std::uint32_t slice) {
      return std::ranges::any_of(gpu->instances, [&](const api::InstanceView& i) {
        return i.state != "idle" && slice >= i.start && slice < i.start + i.size;
      });
    };
    for (std::uint32_t slice = 0; slice < gpu->memory_slices; ++slice) {
      if (!taken(slice)) found.push_back({cat(gpu->index, ':', slice), gpu->model});
    }
  }
  return found;
}

template <class Policies>
void add_policy_suggestions(std::string_view key, const Policies& policies,
                            std::vector<Suggestion>& found) {
  for (const auto& policy : policies) {
    found.push_back({cat(key, '=', policy.name), std::string(policy.summary)});
  }
}

std::vector<Suggestion> tuning_changes() {
  std::vector<Suggestion> found;
  for (const std::string& key : tuning_keys()) found.push_back({key + "=", ""});
  add_policy_suggestions("placement", policies::placement_policies(), found);
  add_policy_suggestions("migration", policies::migration_policies(), found);
  add_policy_suggestions("queue", policies::queue_policies(), found);
  for (const char* change : {"protect_head=true", "protect_head=false", "window=always"}) {
    found.push_back({change, ""});
  }
  return found;
}

}  // namespace

std::vector<Suggestion> known_values(std::string_view what, std::string_view verb) {
  constexpr std::array<std::string_view, 2> kGpu = {"model", "uuid"};
  constexpr std::array<std::string_view, 3> kLease = {"name", "profile", "state"};
  constexpr std::array<std::string_view, 3> kToken = {"name", "user", "scope"};
  constexpr std::array<std::string_view, 2> kOrphan = {"user", "instance"};
  if (what == "PROFILE" || what == "[PROFILE]") return profiles();
  if (what == "MODEL") return models();
  if (what == "JOB" || what == "JOB[:any]") return jobs(verb);
  if (what == "GPU") return listed("/v1/gpus", "index", kGpu);
  if (what == "GPU:START") return free_slots();
  if (what == "LEASE") return listed("/v1/leases", "id", kLease);
  if (what == "ORPHAN") return listed("/v1/node/orphans", "run", kOrphan);
  if (what == "TOKEN") return listed("/v1/tokens", "id", kToken);
  if (what == "KEY=VALUE") return tuning_changes();
  return {};
}

}  // namespace tangram::cli
