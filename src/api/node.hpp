// The node on the wire: its GPUs, their instances, and the status of the daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "api/tuning.hpp"
#include "base/error.hpp"

namespace tangram::api {

struct InstanceView {
  std::string profile;
  std::uint32_t start = 0;
  std::uint32_t size = 0;  // memory slices
  std::string state;       // reserved creating idle held destroying quarantined foreign
  std::optional<std::uint64_t> job;
  std::string job_name;
  std::string uuid;  // "MIG-…"; empty if the instance does not exist yet
};

struct GpuView {
  std::uint32_t index = 0;
  std::string uuid;
  std::string name;     // "NVIDIA A100-SXM4-40GB"
  std::string model;    // "A100-40GB"; empty: not usable, see trouble
  std::string mig;      // on, off, …
  std::string health;   // ok, unresponsive, lost
  std::string trouble;  // why no jobs are placed on it; empty if it is usable
  bool cordoned = false;
  bool draining = false;
  bool busy = false;  // Busy, not Lazy
  std::uint32_t compute_slices = 0;
  std::uint32_t memory_slices = 0;
  double load = 0;
  double frag_cost = 0;
  std::vector<InstanceView> instances;  // by start
};

// A profile on one GPU model; the same name may have other slices on another model.
struct ProfileGeometry {
  std::string model;
  std::uint32_t compute_slices = 0;
  std::uint32_t memory_slices = 0;
  std::uint32_t memory_mib = 0;
  std::uint32_t max_instances = 0;  // on one GPU
};

struct ProfileView {
  std::string name;
  std::uint32_t memory_mib = 0;              // of the first model that has it
  std::uint32_t fits_now = 0;                // how many would fit if no job waited
  std::vector<ProfileGeometry> models = {};  // the node's GPU models that have it
  std::uint32_t starts_now = 0;              // fits_now, but 0 while another job is ahead
};

struct LimitUse {
  std::uint64_t used = 0;
  std::optional<std::uint64_t> limit;  // nullopt: none
};

// What the calling user uses, and its limits.
struct UserUse {
  LimitUse jobs;           // active ones
  LimitUse slices;         // compute slices of queued and running jobs
  LimitUse held_jobs;      // by the user or at a limit
  LimitUse request_bytes;  // of active jobs
  LimitUse log_bytes;      // of ended runs
};

// The time limits of the calling user's new jobs; nullopt: none.
struct TimeLimits {
  std::optional<std::chrono::milliseconds>
      standard;                                      // of batch jobs that set none; JSON: "default"
  std::optional<std::chrono::milliseconds> longest;  // that may be requested; JSON: "max"
};

struct StatusView {
  std::string version;
  std::uint64_t pid = 0;
  WallTime since{};  // start of the daemon
  bool emulated = false;
  std::string driver;                 // version
  std::string store;                  // "ok", or the error
  std::vector<std::string> troubles;  // problems for the operator, one sentence each
  std::uint32_t gpus = 0;
  std::uint32_t held = 0;
  std::uint32_t queued = 0;
  std::uint32_t running = 0;  // placed, starting, running and stopping
  std::uint64_t over = 0;     // jobs in a terminal state
  std::uint32_t orphans = 0;  // live runs without a job in the store
  std::string placement;      // policies in force
  std::string migration;
  std::string queue;
  std::string threshold;
  std::vector<TuningDifference> tuning_differences;
  std::vector<ProfileView> profiles;
  UserUse user = {};
  TimeLimits time_limits = {};
};

// A live run without a job in the store; see GET /v1/node/orphans.
struct OrphanView {
  std::uint64_t run = 0;
  std::uint64_t job = 0;  // its number in the store that knew it
  std::uint32_t uid = 0;
  std::string user;
  std::string gpu;       // UUID
  std::string instance;  // "MIG-…"
  std::optional<std::uint64_t> pid;
  std::string folder;
  bool ending = false;  // it was requested to stop
};

[[nodiscard]] boost::json::value to_json(const OrphanView& orphan);
[[nodiscard]] Result<OrphanView> read_orphan_view(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const GpuView& gpu);
[[nodiscard]] Result<GpuView> read_gpu_view(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const StatusView& status);
[[nodiscard]] Result<StatusView> read_status_view(const boost::json::value& document);

}  // namespace tangram::api
