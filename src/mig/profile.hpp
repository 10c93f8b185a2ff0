// Profile: one kind of GPU instance that a model offers, and where it may be created. The words are
// NVIDIA's and the paper's (§II-A, Table I): a profile takes compute slices and a range of memory
// slices; a placement is that range, given by its start. A placement's size is the profile's memory
// slices, never derived from its compute slices (3g has size 4).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::mig {

// Bit i stands for memory slice i (or for start i).
using SliceMask = std::uint16_t;
inline constexpr int kMaxMemorySlices = 16;
inline constexpr int kMaxComputeSlices = 16;
inline constexpr int kMaxProfiles = 32;

// What a profile takes of the GPU's media engines, as the suffix of its name says. Profiles that
// differ only here (or in graphics) have the same geometry and count once in FragCost.
enum class Media : std::uint8_t {
  kStandard,  // no suffix, or +gfx
  kExtended,  // +me: the one that has the shared engines (JPEG, OFA)
  kAll,       // +me.all: every media engine of the GPU
  kNone,      // -me: no media engine
};

// The media kind of a profile name ("1g.24gb+me.all" → kAll).
[[nodiscard]] Media media_of(std::string_view profile_name);

// The profile of `names` that a user who typed `typed` most likely meant: for a well-formed name,
// as another GPU's 3g.40gb, the one with as many compute slices whose memory is nearest; else the
// most similar spelling.
[[nodiscard]] std::optional<std::string_view> nearest_profile(std::string_view typed,
                                                              std::span<const std::string> names);

inline constexpr int kUnknown = -1;

// What the driver reports of a profile besides its geometry; kUnknown if unconfirmed.
struct ProfileFacts {
  int memory_mib = kUnknown;
  int nvml_enum = kUnknown;  // argument of nvmlDeviceGetGpuInstanceProfileInfo
  int nvml_id = kUnknown;    // what nvmlDeviceCreateGpuInstance takes: a different number
  int multiprocessors = kUnknown;
  int copy_engines = kUnknown;
  int decoders = kUnknown;
  int encoders = kUnknown;
  int jpeg = kUnknown;
  int ofa = kUnknown;

  friend bool operator==(const ProfileFacts&, const ProfileFacts&) = default;
};

struct Profile {
  std::string name;  // as nvidia-smi prints it, without "MIG "
  int compute_slices = 0;
  int memory_slices = 0;    // the size of its placements
  std::vector<int> starts;  // in the driver's order
  int max_instances = 0;    // on one GPU
  ProfileFacts facts;

  friend bool operator==(const Profile&, const Profile&) = default;
};

}  // namespace tangram::mig
