// See gpus.hpp.
#include "device/gpus.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "device/differences.hpp"
#include "device/report.hpp"
#include "mig/catalog.hpp"

namespace tangram::device {
namespace {

constexpr unsigned long long kMib = 1'048'576;

// GPUs of the same specification share a model: it has thousands of states.
using Models = std::vector<std::shared_ptr<const mig::Model>>;

// Fills in one Gpu field by field, until the driver reports the GPU as lost.
class GpuReader {
 public:
  GpuReader(const Library& library, nvml::Device device, Gpu& gpu)
      : library_(library), calls_(library.calls()), device_(device), gpu_(gpu) {}

  void read(Models& models) {
    if (read_identity() && read_mig() && gpu_.mig != MigMode::kUnsupported) read_model(models);
  }

 private:
  // Returns whether to go on reading. Only the loss of the GPU ends it; a value that a driver or
  // user cannot read keeps its default.
  bool keep_reading(nvml::Return code, std::string_view tried) {
    if (code != nvml::kGpuIsLost) return true;
    gpu_.health = Health::kLost;
    gpu_.trouble = failure_of(code, tried, name()).error.message;
    return false;
  }
  [[nodiscard]] std::string name() const {
    return gpu_.uuid.empty() ? cat("GPU ", gpu_.index) : gpu_.uuid;
  }
  bool read_identity();
  bool read_pci();
  bool read_mig();
  void read_model(Models& models);
  void use(const mig::ReportedGpu& report, Models& models);

  const Library& library_;
  const Calls& calls_;
  nvml::Device device_;
  Gpu& gpu_;
  nvml::Return memory_code_ = nvml::kSuccess;
};

bool GpuReader::read_identity() {
  std::array<char, nvml::kUuidBuffer> uuid{};
  const nvml::Return code = calls_.device_uuid(device_, uuid.data(), nvml::kUuidBuffer);
  if (code == nvml::kSuccess) gpu_.uuid = uuid.data();
  if (code != nvml::kSuccess && code != nvml::kGpuIsLost) {
    gpu_.health = Health::kUnreadable;
    gpu_.trouble = failure_of(code, "read the UUID", name()).error.message;
    return false;
  }
  std::array<char, nvml::kNameBuffer> text{};
  if (!keep_reading(code, "read the UUID") ||
      !keep_reading(calls_.device_name(device_, text.data(), nvml::kNameBuffer), "read the name")) {
    return false;
  }
  gpu_.device_name = text.data();
  return keep_reading(calls_.device_minor(device_, &gpu_.minor), "read the minor number") &&
         read_pci();
}

bool GpuReader::read_pci() {
  nvml::PciInfo pci{};
  nvml::Memory memory{};
  memory_code_ = calls_.device_memory(device_, &memory);
  if (!keep_reading(calls_.device_pci(device_, &pci), "read the PCI address") ||
      !keep_reading(memory_code_, "read the memory") ||
      !keep_reading(calls_.device_architecture(device_, &gpu_.architecture),
                    "read the architecture")) {
    return false;
  }
  gpu_.pci_bus_id = pci.bus_id;
  gpu_.memory_mib = static_cast<unsigned>(memory.total / kMib);
  nvml::FieldValue field{};
  field.field_id = nvml::kFieldResetlessMig;
  const nvml::Return code = calls_.device_fields(device_, 1, &field);
  const bool is_known = code == nvml::kSuccess && field.nvml_return == nvml::kSuccess;
  gpu_.resetless = is_known ? field.value.ui != 0 : gpu_.architecture >= nvml::kArchHopper;
  return keep_reading(code, "read how MIG is switched");
}

bool GpuReader::read_mig() {
  const Outcome<MigMode> mode = read_mig_mode(library_, device_, name());
  if (mode) {
    gpu_.mig = *mode;
    if (gpu_.mig == MigMode::kUnsupported) gpu_.trouble = cat(name(), " does not support MIG.");
    return true;
  }
  gpu_.health = mode.error().kind == Failure::Kind::kLost ? Health::kLost : Health::kUnreadable;
  gpu_.trouble = mode.error().error.message;
  return false;
}

void GpuReader::read_model(Models& models) {
  if (memory_code_ != nvml::kSuccess) {  // profile names need it
    gpu_.trouble = failure_of(memory_code_, "read the size of the memory", name()).error.message;
    return;
  }
  const Outcome<mig::ReportedGpu> report = read_report(library_, device_, gpu_);
  if (report) {
    use(*report, models);
    return;
  }
  if (report.error().kind == Failure::Kind::kLost) gpu_.health = Health::kLost;
  gpu_.trouble = report.error().error.message;
}

void GpuReader::use(const mig::ReportedGpu& report, Models& models) {
  const Result<const mig::Model*> known = mig::find_model(gpu_.device_name);
  Result<mig::ModelSpec> spec = mig::spec_of(known ? (*known)->name() : gpu_.device_name, report);
  if (!spec) {
    gpu_.trouble = spec.error().message;
    return;
  }
  gpu_.differences = known ? differences((*known)->spec(), *spec)
                           : std::vector{cat(quoted(gpu_.device_name),
                                             " is not in the built-in table; its profiles and "
                                             "placements are those the driver reports.")};
  const auto same = std::ranges::find_if(models, [&](const auto& m) { return m->spec() == *spec; });
  if (same != models.end()) {
    gpu_.model = *same;
    return;
  }
  Result<mig::Model> model = mig::Model::build(*std::move(spec));
  if (!model) {
    gpu_.trouble = model.error().message;
    return;
  }
  gpu_.model = models.emplace_back(std::make_shared<const mig::Model>(*std::move(model)));
}

Gpu read_at(const Library& library, unsigned index, Models& models) {
  Gpu gpu;
  gpu.index = index;
  nvml::Device device = nullptr;
  const nvml::Return code = library.calls().device_by_index(index, &device);
  if (code == nvml::kSuccess) {
    GpuReader(library, device, gpu).read(models);
  } else {
    gpu.health = code == nvml::kGpuIsLost ? Health::kLost : Health::kUnreadable;
    gpu.trouble = failure_of(code, "open the GPU", cat("GPU ", index)).error.message;
  }
  return gpu;
}

}  // namespace

Outcome<std::vector<Gpu>> list_gpus(const Library& library) {
  unsigned count = 0;
  nvml::Return code = library.calls().device_count(&count);
  if (code == nvml::kSuccess && count == 0) code = nvml::kGpuNotFound;
  if (code != nvml::kSuccess) {
    return std::unexpected(failure_of(code, "list the GPUs", "this machine"));
  }
  std::vector<Gpu> gpus;
  Models models;
  for (unsigned i = 0; i < count; ++i) gpus.push_back(read_at(library, i, models));
  return gpus;
}

Outcome<Gpu> read_gpu(const Library& library, const std::string& gpu_uuid) {
  const Outcome<nvml::Device> device = library.device(gpu_uuid);
  if (!device) return std::unexpected(device.error());
  Gpu gpu;
  gpu.uuid = gpu_uuid;
  const nvml::Return code = library.calls().device_index(*device, &gpu.index);
  if (code == nvml::kGpuIsLost) {
    return std::unexpected(failure_of(code, "read its index", gpu_uuid));
  }
  Models models;
  GpuReader(library, *device, gpu).read(models);
  return gpu;
}

Outcome<MigMode> read_mig_mode(const Library& library, nvml::Device device,
                               const std::string& gpu_uuid) {
  unsigned current = nvml::kMigOff;
  unsigned pending = nvml::kMigOff;
  const nvml::Return code = library.calls().mig_mode(device, &current, &pending);
  if (code == nvml::kNotSupported || code == nvml::kFunctionNotFound) return MigMode::kUnsupported;
  if (code != nvml::kSuccess) {
    return std::unexpected(failure_of(code, "read the MIG mode", gpu_uuid));
  }
  if (current == nvml::kMigOn) {
    return pending == nvml::kMigOn ? MigMode::kOn : MigMode::kPendingOff;
  }
  return pending == nvml::kMigOn ? MigMode::kPendingOn : MigMode::kOff;
}

std::string_view name_of(MigMode mode) {
  switch (mode) {
    case MigMode::kUnknown:
      return "unknown";
    case MigMode::kUnsupported:
      return "unsupported";
    case MigMode::kOff:
      return "off";
    case MigMode::kOn:
      return "on";
    case MigMode::kPendingOn:
      return "pending-on";
    case MigMode::kPendingOff:
      return "pending-off";
  }
  return "";
}

}  // namespace tangram::device
