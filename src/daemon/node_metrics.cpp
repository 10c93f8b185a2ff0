// See node_metrics.hpp.
#include "daemon/node_metrics.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "core/transcript.hpp"
#include "daemon/endpoints.hpp"
#include "daemon/engine.hpp"
#include "daemon/hardware.hpp"
#include "daemon/process_figures.hpp"
#include "daemon/views.hpp"

namespace tangram::daemon {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

MetricFamily family(std::string name, std::string help, MetricType type = MetricType::Gauge) {
  MetricFamily made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.type = type;
  return made;
}

void add(MetricFamily& to, const Labels& labels, double value) {
  ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  metric.gauge.value = value;
  metric.counter.value = value;  // whichever the family's type wants
  to.metric.push_back(std::move(metric));
}

MetricFamily single(std::string name, std::string help, double value,
                    MetricType type = MetricType::Gauge) {
  MetricFamily made = family(std::move(name), std::move(help), type);
  add(made, {}, value);
  return made;
}

Labels labels_of(const api::GpuView& gpu) {
  return {{"gpu", std::to_string(gpu.index)}, {"uuid", gpu.uuid}, {"model", gpu.model}};
}

}  // namespace

void NodeMetrics::add_jobs(std::vector<MetricFamily>& to) const {
  std::map<std::string, int> jobs;
  std::map<std::string, int> leases;
  for (const char* state : {"held", "queued", "placed", "starting", "running", "stopping"}) {
    jobs[state] = leases[state] = 0;
  }
  for (const auto& [id, row] : engine_.records().jobs()) {
    if (!row.over) ++(row.kind == "lease" ? leases : jobs)[row.state];
  }
  MetricFamily by_state = family("tangram_jobs", "Jobs that are not over, by state.");
  for (const auto& [state, count] : jobs) add(by_state, {{"state", state}}, count);
  to.push_back(std::move(by_state));
  MetricFamily leases_by_state = family("tangram_leases", "Leases that are not over, by state.");
  for (const auto& [state, count] : leases) add(leases_by_state, {{"state", state}}, count);
  to.push_back(std::move(leases_by_state));
  to.push_back(single("tangram_queue_length", "Jobs and leases that wait for a place.",
                      static_cast<double>(engine_.scheduler().waiting_count())));
  to.push_back(single("tangram_moves_under_way", "Moves that have begun and are not over.",
                      engine_.scheduler().node().moves_under_way()));
}

void NodeMetrics::add_gpus(std::vector<MetricFamily>& to) const {
  MetricFamily frag = family("tangram_gpu_frag_cost", "FragCost of a GPU, 0 to 1.");
  MetricFamily load = family("tangram_gpu_load", "Part of a GPU's compute slices in use.");
  MetricFamily busy = family("tangram_gpu_busy", "1: Busy, 0: Lazy.");
  MetricFamily service = family("tangram_gpu_in_service", "1: the GPU takes jobs.");
  double sum = 0;
  int count = 0;
  for (const api::GpuView& gpu : views_.gpus()) {
    const Labels labels = labels_of(gpu);
    const bool takes = !gpu.model.empty() && gpu.health == "ok" && !gpu.cordoned && !gpu.draining;
    add(service, labels, takes ? 1 : 0);
    if (gpu.model.empty()) continue;
    add(frag, labels, gpu.frag_cost);
    add(load, labels, gpu.load);
    add(busy, labels, gpu.busy ? 1 : 0);
    sum += gpu.frag_cost;
    ++count;
  }
  for (MetricFamily* each : {&frag, &load, &busy, &service}) to.push_back(std::move(*each));
  to.push_back(single("tangram_frag_cost", "Mean FragCost of the node's GPUs, 0 to 1.",
                      count == 0 ? 0 : sum / count));
  MetricFamily fits = family("tangram_profile_fits",
                             "How many instances of a profile could still be made, one by one.");
  for (const api::ProfileView& profile : views_.profiles()) {
    add(fits, {{"profile", profile.name}}, profile.fits_now);
  }
  to.push_back(std::move(fits));
}

// Wanted: that the scheduler counts on; actual: that stand. They differ while one is being made or
// removed, and when somebody else's is there.
void NodeMetrics::add_instances(std::vector<MetricFamily>& to) const {
  std::map<std::string, std::pair<int, int>> by_profile;
  std::map<std::string, int> by_state;
  for (const api::GpuView& gpu : views_.gpus()) {
    for (const api::InstanceView& instance : gpu.instances) {
      auto& [wanted, actual] = by_profile[instance.profile];
      if (instance.state != "destroying" && instance.state != "foreign") ++wanted;
      if (instance.state != "reserved" && instance.state != "creating") ++actual;
      ++by_state[instance.state];
    }
  }
  MetricFamily wanted = family("tangram_instances_wanted", "Instances that should be there.");
  MetricFamily actual = family("tangram_instances_actual", "Instances that are there.");
  for (const auto& [profile, counts] : by_profile) {
    add(wanted, {{"profile", profile}}, counts.first);
    add(actual, {{"profile", profile}}, counts.second);
  }
  MetricFamily states = family("tangram_instances", "Instances by state.");
  for (const char* state :
       {"reserved", "creating", "idle", "held", "destroying", "quarantined", "foreign"}) {
    add(states, {{"state", state}}, by_state[state]);
  }
  for (MetricFamily* each : {&wanted, &actual, &states}) to.push_back(std::move(*each));
}

void NodeMetrics::add_endpoints(std::vector<MetricFamily>& to) const {
  const api::EndpointCounts counts = endpoints_.counts();
  MetricFamily requests = family("tangram_endpoint_requests_total",
                                 "Requests (http) and connections (tcp) at endpoints of services, "
                                 "by who answered or what became of them.",
                                 MetricType::Counter);
  const auto add_result = [&](const char* result, std::uint64_t count) {
    add(requests, {{"result", result}}, static_cast<double>(count));
  };
  add_result("relayed", counts.requests);
  add_result("refused", counts.refused);
  add_result("retried", counts.retried);
  add_result("cut", counts.cut);
  add_result("broken", counts.broken);
  to.push_back(std::move(requests));
  MetricFamily bytes = family("tangram_endpoint_bytes_total",
                              "Bytes that passed endpoints of services.", MetricType::Counter);
  add(bytes, {{"direction", "in"}}, static_cast<double>(counts.bytes_in));
  add(bytes, {{"direction", "out"}}, static_cast<double>(counts.bytes_out));
  to.push_back(std::move(bytes));
  MetricFamily displaced =
      family("tangram_endpoint_connections_displaced_total",
             "Idle connections of clients that were ended for others.", MetricType::Counter);
  add(displaced, {}, static_cast<double>(counts.displaced));
  to.push_back(std::move(displaced));
  to.push_back(single("tangram_endpoint_connections", "Open connections of clients to endpoints.",
                      counts.open));
  to.push_back(
      single("tangram_endpoint_active", "Requests and connections in flight.", counts.active));
}

void NodeMetrics::add_driver(std::vector<MetricFamily>& to) const {
  MetricFamily errors =
      family("tangram_nvml_errors_total", "Calls of NVML that failed.", MetricType::Counter);
  for (const device::ErrorCount& each : hardware_.errors()) {
    add(errors, {{"call", each.call}, {"code", device::code_name(each.code)}},
        static_cast<double>(each.count));
  }
  to.push_back(std::move(errors));
  MetricFamily pcie = family("tangram_pcie_throughput_bytes_per_second",
                             "PCIe throughput of a GPU as the driver last measured it.");
  for (const api::GpuView& gpu : views_.gpus()) {
    const auto sample = hardware_.throughput(gpu.uuid);
    if (!sample) continue;
    for (const auto& [direction, kbps] :
         {std::pair("to_gpu", sample->to_gpu_kbps), std::pair("from_gpu", sample->from_gpu_kbps)}) {
      Labels labels = labels_of(gpu);
      labels.emplace_back("direction", direction);
      add(pcie, labels, static_cast<double>(kbps) * 1000);
    }
  }
  to.push_back(std::move(pcie));
}

std::vector<MetricFamily> NodeMetrics::collect() const {
  std::vector<MetricFamily> families;
  MetricFamily build = family("tangram_build_info", "The version of this daemon.");
  add(build, {{"version", TANGRAM_VERSION}, {"driver", hardware_.driver()}}, 1);
  families.push_back(std::move(build));
  add_jobs(families);
  add_gpus(families);
  add_instances(families);
  add_endpoints(families);
  add_driver(families);
  families.push_back(single("tangram_store_ok", "1: the store can be written.",
                            engine_.store_trouble().empty() ? 1 : 0));
  const ProcessFigures own = process_figures();
  families.push_back(single("process_resident_memory_bytes", "Resident memory of the daemon.",
                            static_cast<double>(own.resident_bytes)));
  families.push_back(single("process_cpu_seconds_total", "CPU time of the daemon.", own.cpu_seconds,
                            MetricType::Counter));
  families.push_back(single("process_open_fds", "Open file descriptors of the daemon.",
                            static_cast<double>(own.open_fds)));
  return families;
}

}  // namespace tangram::daemon
