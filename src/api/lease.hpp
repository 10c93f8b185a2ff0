// A lease on the wire: an instance for a process that someone else starts (a Slurm prolog, a device
// plugin, a script). Whoever holds it renews it; one that is not renewed in time ends by itself.
// One rule: a lease has an owner and an end, and asking twice with the same key gives the same
// lease.
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
// Of a lease that ends only when it is released; JSON: "none".
inline constexpr std::chrono::milliseconds kNoEnd{0};

struct LeaseRequest {
  std::string profile;                          // "2g.10gb"; or
  std::optional<std::uint64_t> gpu_memory_mib;  // the smallest profile that has so much
  // The taker's own name for it ("slurm/4711"); empty: none. One open lease per taker, owner and
  // key: asking again gives that one.
  std::string key;
  std::string name;  // for people; empty: the key, else "lease"
  // It ends so long after the last renewal, 1 s to 30 days, or kNoEnd, with a key and from admins
  // only. Unset: kLeaseTtl; or, of one that is open already, as it was.
  std::optional<std::chrono::milliseconds> ttl;
  std::chrono::milliseconds wait{0};  // how long this asker waits for room; 0 to 1 hour
  // How long one that waits keeps its place when nobody asks for it any more, 0 to 1 hour; only
  // with a key, by which it is asked for again. Unset: as the node is configured.
  std::optional<std::chrono::milliseconds> linger;
  std::optional<std::uint32_t> uid;  // for whom; only admins may name another
  // The control group of what will run there, below /sys/fs/cgroup; from admins only. The instance
  // is given on only when no process is in it either. Empty: none.
  std::string cgroup;
  std::map<std::string, std::string> labels;

  friend bool operator==(const LeaseRequest&, const LeaseRequest&) = default;
};

enum class LeaseState : std::uint8_t {
  kWaiting,    // for room, or for its instance to be made
  kGranted,    // the instance is its holder's
  kReleasing,  // over for its holder; the instance is free once no process is left in it
  kOver,
};

struct LeaseView {
  std::uint64_t id = 0;  // of the same numbers as jobs
  std::string key;
  std::string name;
  std::string user;
  std::uint32_t uid = 0;
  std::string taker;  // who took it and may change it: its user, or an admin for its user
  std::uint32_t taker_uid = 0;
  std::string profile;
  LeaseState state = LeaseState::kWaiting;
  std::string reason;  // why it waits or is over
  std::optional<std::uint32_t> gpu;
  std::string gpu_uuid;
  std::optional<std::uint32_t> gpu_minor;  // N of /dev/nvidiaN
  std::optional<std::uint32_t> gi;         // the driver's ids of its GPU instance
  std::optional<std::uint32_t> ci;         // and of its compute instance
  std::optional<std::uint32_t> start;
  std::string mig_uuid;  // JSON: "uuid"
  std::string cdi;       // "nvidia.com/gpu=MIG-…", its name for the Container Device Interface
  // What the holder's process needs: CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES, TANGRAM_…; only
  // while granted, and only for its owner and admins.
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> labels;  // for its owner and admins
  std::chrono::milliseconds ttl{0};           // kNoEnd: until it is released
  WallTime asked{};
  std::optional<WallTime> granted;
  std::optional<WallTime> expires;  // while granted, if it does
  std::optional<WallTime> ended;
};

[[nodiscard]] std::string_view name_of(LeaseState state);
[[nodiscard]] boost::json::value to_json(const LeaseRequest& request);
[[nodiscard]] Result<LeaseRequest> read_lease_request(const boost::json::value& document);
// "90s", or "none" for kNoEnd; the same in JSON.
[[nodiscard]] std::string ttl_text(std::chrono::milliseconds ttl);
[[nodiscard]] Result<std::chrono::milliseconds> parse_ttl(std::string_view text);
// {"ttl": "10m"}, or {} for the one it has.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> read_renewal(
    const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const LeaseView& lease);
[[nodiscard]] Result<LeaseView> read_lease_view(const boost::json::value& document);

}  // namespace tangram::api
