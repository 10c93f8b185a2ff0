// See report.hpp.
#include "device/report.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace tangram::device {
namespace {

constexpr unsigned kMaxPlacements = 64;

mig::ReportedProfile reported(const nvml::GiProfileInfo& info, unsigned number) {
  const auto fact = [](auto value) { return static_cast<int>(value); };
  return {.facts = {.memory_mib = fact(info.memory_size_mb),
                    .nvml_enum = fact(number),
                    .nvml_id = fact(info.id),
                    .multiprocessors = fact(info.multiprocessor_count),
                    .copy_engines = fact(info.copy_engine_count),
                    .decoders = fact(info.decoder_count),
                    .encoders = fact(info.encoder_count),
                    .jpeg = fact(info.jpeg_count),
                    .ofa = fact(info.ofa_count)},
          .slice_count = fact(info.slice_count),
          .instance_count = fact(info.instance_count),
          .placements = {}};
}

Outcome<std::vector<mig::ReportedPlacement>> read_placements(const Library& library,
                                                             nvml::Device device, unsigned id,
                                                             const std::string& gpu_uuid) {
  const Calls& calls = library.calls();
  unsigned count = 0;
  nvml::Return code = calls.gi_placements(device, id, nullptr, &count);
  std::vector<nvml::Placement> placements(std::max(count, kMaxPlacements));
  if (code == nvml::kSuccess) code = calls.gi_placements(device, id, placements.data(), &count);
  if (code == nvml::kNotSupported) count = 0;  // before R550, when MIG is off
  if (code != nvml::kSuccess && code != nvml::kNotSupported) {
    return std::unexpected(failure_of(code, cat("read the placements of profile ", id), gpu_uuid));
  }
  placements.resize(std::min<std::size_t>(count, placements.size()));
  std::vector<mig::ReportedPlacement> found;
  for (const nvml::Placement& p : placements) {
    found.push_back({.start = static_cast<int>(p.start), .size = static_cast<int>(p.size)});
  }
  return found;
}

}  // namespace

Outcome<mig::ReportedGpu> read_report(const Library& library, nvml::Device device, const Gpu& gpu) {
  mig::ReportedGpu report{.device_name = gpu.device_name,
                          .memory_total_mib = static_cast<int>(gpu.memory_mib),
                          .profiles = {}};
  for (unsigned number = 0; number < nvml::kGiProfileCount; ++number) {
    nvml::GiProfileInfo info{};
    const nvml::Return code = library.calls().gi_profile(device, number, &info);
    if (code == nvml::kNotSupported || code == nvml::kInvalidArgument) continue;
    if (code != nvml::kSuccess) {
      return std::unexpected(failure_of(code, cat("read MIG profile ", number), gpu.uuid));
    }
    mig::ReportedProfile profile = reported(info, number);
    auto placements = read_placements(library, device, info.id, gpu.uuid);
    if (!placements) return std::unexpected(std::move(placements.error()));
    profile.placements = *std::move(placements);
    report.profiles.push_back(std::move(profile));
  }
  if (report.profiles.empty() && gpu.mig != MigMode::kOn && gpu.mig != MigMode::kPendingOff) {
    return std::unexpected(
        make_failure(Failure::Kind::kNotReady, ErrorCode::kUnavailable,
                     cat("cannot read the MIG profiles of ", gpu.uuid,
                         ": its driver reports them only when MIG is on. Switch MIG on first.")));
  }
  return report;
}

}  // namespace tangram::device
