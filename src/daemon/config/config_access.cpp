// See config_access.hpp.
#include "daemon/config/config_access.hpp"

#include "api/array_spec.hpp"

namespace tangram::daemon {
namespace {

// "none" is 0.
void read_time_limit(const Section& in, const char* key, std::chrono::milliseconds& value) {
  if (in.table().text_or(key, "none") == "none") return;
  in.read(key, value);
  if (value < std::chrono::seconds(1)) in.add_error(key, "must be at least 1s, or \"none\"");
}

void read_override(const Section& in, const char* key, std::optional<std::uint32_t>& value) {
  if (in.has(key)) in.read_number(key, {0, kMaxCount}, value.emplace(0));
}

void read_max_time(const Section& in, LimitOverrides& limits) {
  if (in.has("max_time_limit")) read_time_limit(in, "max_time_limit", limits.max_time.emplace(0));
}

void read_max_priority(const Section& in, LimitOverrides& limits) {
  if (!in.has("max_priority")) return;
  in.read_number("max_priority", {api::kLowestPriority, api::kHighestPriority},
                 limits.max_priority.emplace(0));
}

void read_user(const Section& in, LimitOverrides& limits) {
  in.allow({"slices", "jobs", "held_jobs", "max_time_limit", "max_priority"});
  read_override(in, "slices", limits.slices);
  read_override(in, "jobs", limits.jobs);
  read_override(in, "held_jobs", limits.held_jobs);
  read_max_time(in, limits);
  read_max_priority(in, limits);
}

void read_group(const Section& in, GroupLimits& limits) {
  in.allow({"slices", "jobs", "held_jobs", "slices_per_user", "jobs_per_user", "held_jobs_per_user",
            "max_time_limit", "max_priority"});
  in.read_number("slices", {0, kMaxCount}, limits.slices);
  in.read_number("jobs", {0, kMaxCount}, limits.jobs);
  in.read_number("held_jobs", {0, kMaxCount}, limits.held_jobs);
  read_override(in, "slices_per_user", limits.each.slices);
  read_override(in, "jobs_per_user", limits.each.jobs);
  read_override(in, "held_jobs_per_user", limits.each.held_jobs);
  read_max_time(in, limits.each);
  read_max_priority(in, limits.each);
}

}  // namespace

void read_access(const Section& in, Config& config) {
  in.allow({"admins", "submit", "connections_per_user", "slices_per_user", "jobs_per_user",
            "held_jobs_per_user", "submissions_per_second", "request_bytes_per_user",
            "log_bytes_per_user", "max_priority", "array_tasks", "users", "groups"});
  in.read("admins", config.admins);
  const std::string submit = in.table().text_or("submit", "everyone");
  if (submit != "everyone" && submit != "admins") {
    in.add_error("submit",
                 cat("invalid value ", tangram::quoted(submit), ": use everyone or admins"));
  }
  config.only_admins_submit = submit == "admins";
  in.read_number("connections_per_user", {1, 100'000}, config.connections_per_user);
  in.read_number("slices_per_user", {0, kMaxCount}, config.limits.slices);
  in.read_number("jobs_per_user", {0, kMaxCount}, config.limits.jobs);
  in.read_number("held_jobs_per_user", {0, kMaxCount}, config.limits.held_jobs);
  in.read_number("submissions_per_second", {0, kMaxCount}, config.limits.submissions_per_second);
  in.read_number("array_tasks", {0, api::kMaxArrayTasks}, config.limits.array_tasks);
  in.read_bytes("request_bytes_per_user", config.limits.request_bytes);
  in.read_bytes("log_bytes_per_user", config.limits.log_bytes);
  in.read_number("max_priority", {api::kLowestPriority, api::kHighestPriority},
                 config.limits.max_priority);
  in.each_table("users", "a user", [&](const Section& user, const std::string& name) {
    read_user(user, config.limits.users[name]);
  });
  in.each_table("groups", "a group", [&](const Section& group, const std::string& name) {
    read_group(group, config.limits.groups[name]);
  });
}

void read_time_limits(const Section& in, UserLimits& limits) {
  read_time_limit(in, "default_time_limit", limits.default_time);
  read_time_limit(in, "max_time_limit", limits.max_time);
  if (limits.max_time.count() > 0 && limits.default_time > limits.max_time) {
    in.add_error("default_time_limit",
                 cat("is ", api::duration_text(limits.default_time), ", above max_time_limit (",
                     api::duration_text(limits.max_time), ")"));
  }
}

}  // namespace tangram::daemon
