// See status.hpp.
#include "emulator/status.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "emulator/faults.hpp"
#include "emulator/identity.hpp"
#include "emulator/processes.hpp"
#include "text/json_text.hpp"

namespace tangram::emulator {
namespace {

namespace json = boost::json;

json::array instances_of(const GpuState& gpu) {
  const Board& board = board_of(gpu);
  json::array all;
  for (unsigned gi = 0; gi < kGiIds; ++gi) {
    const GiState& state = gpu.gis[gi];
    if (state.used == 0) continue;
    json::array uuids;
    for (const MigDevice mig : mig_devices(gpu)) {
      if (mig.gi == gi) uuids.emplace_back(uuid_of(gpu, mig));
    }
    all.push_back(
        json::object{{"gi", gi},
                     {"profile", board.model->profile(mig::ProfileIndex(state.profile)).name},
                     {"start", state.start},
                     {"mig_devices", std::move(uuids)}});
  }
  return all;
}

json::array processes_of(const GpuState& gpu) {
  json::array all;
  for (const ProcessState& p : live_processes(gpu)) {
    json::object process{{"pid", p.pid}, {"memory_bytes", p.memory_bytes}};
    if (p.gi != kWholeGpu) process["gi"] = p.gi;
    all.push_back(std::move(process));
  }
  return all;
}

json::object link_of(const GpuState& gpu) {
  json::array flows;
  for (const FlowState& f : live_flows(gpu)) {
    flows.push_back(json::object{
        {"pid", f.pid}, {"to_gpu_kbps", f.to_gpu_kbps}, {"from_gpu_kbps", f.from_gpu_kbps}});
  }
  return {{"capacity_kbps", gpu.link_kbps}, {"flow_kbps", gpu.flow_kbps}, {"demands", flows}};
}

json::array faults_of(const FaultsState& faults) {
  json::array all;
  for (const FaultState& f : faults.faults) {
    if (f.kind == FaultKind::kNone) continue;
    json::object fault{{"fault", fault_text(f)}, {"percent", f.percent}};
    if (f.gpu >= 0) fault["gpu"] = f.gpu;
    if (f.times > 0) fault["times_left"] = f.times;
    all.push_back(std::move(fault));
  }
  return all;
}

}  // namespace

std::string status_json(const StateFile& state) {
  const NodeState node = state.node();
  json::array gpus;
  for (unsigned i = 0; i < node.gpu_count; ++i) {
    const GpuState gpu = state.gpu(i);
    gpus.push_back(json::object{{"index", i},
                                {"uuid", uuid_of(gpu)},
                                {"model", gpu.model},
                                {"name", board_of(gpu).device_name},
                                {"mig", gpu.mig_current != 0},
                                {"mig_pending", gpu.mig_pending != 0},
                                {"lost", gpu.lost != 0},
                                {"instances", instances_of(gpu)},
                                {"processes", processes_of(gpu)},
                                {"link", link_of(gpu)}});
  }
  return text::json_text(json::object{{"state", state.path()},
                                      {"description", state.description()},
                                      {"driver", node.driver},
                                      {"gpus", std::move(gpus)},
                                      {"faults", faults_of(state.faults())}});
}

}  // namespace tangram::emulator
