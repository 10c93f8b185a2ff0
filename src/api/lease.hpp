// A lease on the wire: an instance for a process that Tangram does not start (a Slurm prolog, a
// device plugin, a script). The holder must renew it, or it expires. Requesting twice with the same
// key returns the same lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

inline constexpr std::chrono::milliseconds kLeaseTtl{60'000};
// The TTL of a lease that ends only when it is released; JSON: "none".
inline constexpr std::chrono::milliseconds kNoEnd{0};

struct LeaseRequest {
  std::string profile;                          // "2g.10gb"; or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile with at least this much
  // An idempotency key chosen by the taker ("slurm/4711"); empty: none. There is at most one open
  // lease per taker, owner and key; requesting it again returns that one.
  std::string key;
  std::string name;  // for people; empty: the key, else "lease"
  // Time from the last renewal to expiry, 1 s to 30 days, or kNoEnd, which needs a key and admin
  // rights. Unset: kLeaseTtl; for a lease that exists already, its current TTL.
  std::optional<std::chrono::milliseconds> ttl;
  std::chrono::milliseconds wait{0};  // how long this request waits for capacity; 0 to 1 hour
  // How long a waiting lease keeps its place in the queue without a pending request, 0 to 1 hour;
  // needs a key, to request it again. Unset: the node's configuration.
  std::optional<std::chrono::milliseconds> linger;
  std::optional<std::uint32_t> uid;  // the owner; only admins may name another user
  // The cgroup of the processes that will use the instance, below /sys/fs/cgroup; admins only. The
  // instance is reused only after this cgroup is empty, too. Empty: none.
  std::string cgroup;
  std::map<std::string, std::string> labels;

  friend bool operator==(const LeaseRequest&, const LeaseRequest&) = default;
};

enum class LeaseState : std::uint8_t {
  kWaiting,    // for capacity, or for its instance to be created
  kGranted,    // the holder may use the instance
  kReleasing,  // ended for the holder; the instance is free once no process uses it
  kEnded,      // JSON: "over"
};

struct LeaseView {
  std::uint64_t id = 0;  // from the same sequence as job IDs
  std::string key;
  std::string name;
  std::string user;
  std::uint32_t uid = 0;
  std::string taker;  // the user who requested it and may change it: the owner or an admin
  std::uint32_t taker_uid = 0;
  std::string profile;
  LeaseState state = LeaseState::kWaiting;
  std::string reason;  // why it waits or has ended
  std::optional<std::uint32_t> gpu;
  std::string gpu_uuid;
  std::optional<std::uint32_t> gpu_minor;  // N of /dev/nvidiaN
  std::optional<std::uint32_t> gi;         // the driver's ID of the GPU instance
  std::optional<std::uint32_t> ci;         // the driver's ID of the compute instance
  std::optional<std::uint32_t> start;
  std::string mig_uuid;  // JSON: "uuid"
  std::string cdi;       // its Container Device Interface name, "nvidia.com/gpu=MIG-…"
  // Variables for the holder's process: CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES, TANGRAM_…;
  // only while granted, and only for the owner and admins.
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> labels;  // only for the owner and admins
  std::chrono::milliseconds ttl{0};           // kNoEnd: until it is released
  WallTime asked{};
  std::optional<WallTime> granted;
  std::optional<WallTime> expires;  // set while granted, unless ttl is kNoEnd
  std::optional<WallTime> ended;
};

[[nodiscard]] std::string_view name_of(LeaseState state);
[[nodiscard]] boost::json::value to_json(const LeaseRequest& request);
[[nodiscard]] Result<LeaseRequest> read_lease_request(const boost::json::value& document);
// "90s", or "none" for kNoEnd; as in JSON.
[[nodiscard]] std::string ttl_text(std::chrono::milliseconds ttl);
[[nodiscard]] Result<std::chrono::milliseconds> parse_ttl(std::string_view text);
// Reads {"ttl": "10m"}, or {} to keep the current TTL.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> read_renewal(
    const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const LeaseView& lease);
[[nodiscard]] Result<LeaseView> read_lease_view(const boost::json::value& document);

}  // namespace tangram::api
