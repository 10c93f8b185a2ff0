// See node_metrics.hpp.
#include "daemon/service/node_metrics.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "api/lease.hpp"
#include "base/text.hpp"
#include "core/candidates.hpp"
#include "core/transcript.hpp"
#include "daemon/endpoints/endpoints.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/leases/lease_state.hpp"
#include "daemon/log/log.hpp"
#include "daemon/service/process_usage.hpp"
#include "daemon/views/views.hpp"

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
  metric.counter.value = value;  // the family's type selects one
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

struct HoldWord {
  core::HoldCause cause;
  const char* word;
};
constexpr std::array kHoldCauses = {
    HoldWord{core::kHoldUser, "user"}, HoldWord{core::kHoldUnservable, "no_gpu"},
    HoldWord{core::kHoldLimit, "limit"}, HoldWord{core::kHoldDependency, "dependency"},
    HoldWord{core::kHoldArray, "array"}};

}  // namespace

void NodeMetrics::add_jobs(std::vector<MetricFamily>& to) const {
  std::map<std::string, int> jobs;
  std::map<std::string, int> leases;
  for (const char* state : {"held", "queued", "placed", "starting", "running", "stopping"}) {
    jobs[state] = 0;
  }
  for (const auto state :
       {api::LeaseState::kWaiting, api::LeaseState::kGranted, api::LeaseState::kReleasing}) {
    leases[std::string(api::name_of(state))] = 0;
  }
  for (const auto& [id, row] : engine_.records().jobs()) {
    if (row.over) continue;
    if (row.kind == "lease") {
      ++leases[std::string(api::name_of(lease_state(row)))];
    } else {
      ++jobs[row.state];
    }
  }
  MetricFamily by_state = family("tangram_jobs", "Active jobs, by state.");
  for (const auto& [state, count] : jobs) add(by_state, {{"state", state}}, count);
  to.push_back(std::move(by_state));
  MetricFamily leases_by_state = family("tangram_leases", "Active leases, by state.");
  for (const auto& [state, count] : leases) add(leases_by_state, {{"state", state}}, count);
  to.push_back(std::move(leases_by_state));
  to.push_back(single("tangram_moves_under_way", "Moves in progress.",
                      engine_.scheduler().node().moves_under_way()));
}

// Placements that failed the queue head recently count as fitting: that it waits nevertheless is
// what the alert is for.
void NodeMetrics::add_queue(std::vector<MetricFamily>& to) const {
  const core::Scheduler& scheduler = engine_.scheduler();
  const core::Node& node = scheduler.node();
  to.push_back(single("tangram_queue_length", "Queued jobs and leases.",
                      static_cast<double>(scheduler.waiting_count())));
  double wait = 0;
  bool fits = false;
  for (const auto& queued : scheduler.queued_jobs()) {
    if (queued.ahead > 0) continue;
    const core::Job& head = node.job(node.find_job(queued.job));
    if (const store::JobRow* row = engine_.records().job(head.id.value())) {
      wait = std::max(wait, std::chrono::duration<double>(Clock::wall() - row->submitted).count());
    }
    core::Request request{.profile = head.profile};
    request.job = head.id;  // its own reservation does not keep it out
    request.models = scheduler.place_in_queue(head).models;
    fits = fits || core::choose(node, *scheduler.policies().placement, request).has_value();
  }
  to.push_back(single("tangram_queue_head_wait_seconds",
                      "Longest time since a queue head was submitted; 0 if the queue is empty.",
                      wait));
  to.push_back(single("tangram_queue_head_fits", "1: a queue head fits a GPU but is still waiting.",
                      fits ? 1 : 0));
  std::array<int, kHoldCauses.size()> held{};
  for (const core::JobSlot slot : node.jobs_by_id()) {
    const core::Job& job = node.job(slot);
    if (job.phase != core::JobPhase::kHeld) continue;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if ((job.holds & kHoldCauses[i].cause) != 0) ++held[i];
    }
  }
  MetricFamily by_cause = family("tangram_held", "Held jobs and leases, by cause.");
  for (std::size_t i = 0; i < held.size(); ++i) {
    add(by_cause, {{"cause", kHoldCauses[i].word}}, held[i]);
  }
  to.push_back(std::move(by_cause));
}

void NodeMetrics::add_gpus(std::vector<MetricFamily>& to) const {
  MetricFamily frag = family("tangram_gpu_frag_cost", "FragCost of a GPU, 0 to 1.");
  MetricFamily load = family("tangram_gpu_load", "Fraction of a GPU's compute slices in use.");
  MetricFamily busy = family("tangram_gpu_busy", "1: Busy, 0: Lazy.");
  MetricFamily service = family("tangram_gpu_in_service", "1: the GPU takes jobs.");
  MetricFamily mig_off =
      family("tangram_gpu_mig_off", "1: out of service because its MIG mode is off.");
  double sum = 0;
  int count = 0;
  for (const api::GpuView& gpu : views_.gpus()) {
    const Labels labels = labels_of(gpu);
    const bool takes = !gpu.model.empty() && gpu.health == "ok" && !gpu.cordoned && !gpu.draining;
    if (views_.is_retired(core::GpuId(gpu.index), gpu.uuid)) continue;
    add(service, labels, takes ? 1 : 0);
    add(mig_off, labels, gpu.health == "mig-off" ? 1 : 0);
    if (gpu.model.empty()) continue;
    add(frag, labels, gpu.frag_cost);
    add(load, labels, gpu.load);
    add(busy, labels, gpu.busy ? 1 : 0);
    if (!takes) continue;
    sum += gpu.frag_cost;
    ++count;
  }
  for (MetricFamily* each : {&frag, &load, &busy, &service, &mig_off})
    to.push_back(std::move(*each));
  to.push_back(single("tangram_frag_cost", "Mean FragCost of the node's GPUs in service, 0 to 1.",
                      count == 0 ? 0 : sum / count));
  MetricFamily fits = family("tangram_profile_fits",
                             "How many instances of a profile could still be created, one by one.");
  for (const api::ProfileView& profile : views_.profiles()) {
    add(fits, {{"profile", profile.name}}, profile.fits_now);
  }
  to.push_back(std::move(fits));
}

// Wanted: instances of the scheduler's plan; actual: instances that exist. They differ while one is
// being created or destroyed, if that fails, and for foreign instances. Every profile of the node
// has both, so that a series falls to 0 instead of ending.
void NodeMetrics::add_instances(std::vector<MetricFamily>& to) const {
  std::map<std::string, std::pair<int, int>> by_profile;
  std::map<std::string, int> by_state;
  for (const api::ProfileView& profile : views_.profiles()) by_profile[profile.name];
  for (const api::GpuView& gpu : views_.gpus()) {
    for (const api::InstanceView& instance : gpu.instances) {
      auto& [wanted, actual] = by_profile[instance.profile];
      const bool is_ours = instance.state == "held" || instance.state == "idle";
      const bool is_coming = instance.state == "reserved" || instance.state == "creating";
      if (is_ours || is_coming) ++wanted;
      if (!is_coming) ++actual;
      ++by_state[instance.state];
    }
  }
  MetricFamily wanted = family("tangram_instances_wanted", "Instances that should exist.");
  MetricFamily actual = family("tangram_instances_actual", "Instances that exist.");
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
                                 "by result.",
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
                              "Bytes relayed by endpoints of services.", MetricType::Counter);
  add(bytes, {{"direction", "in"}}, static_cast<double>(counts.bytes_in));
  add(bytes, {{"direction", "out"}}, static_cast<double>(counts.bytes_out));
  to.push_back(std::move(bytes));
  MetricFamily displaced = family("tangram_endpoint_connections_displaced_total",
                                  "Idle client connections that were closed in favour of new ones.",
                                  MetricType::Counter);
  add(displaced, {}, static_cast<double>(counts.displaced));
  to.push_back(std::move(displaced));
  to.push_back(
      single("tangram_endpoint_connections", "Open client connections to endpoints.", counts.open));
  to.push_back(
      single("tangram_endpoint_active", "Requests and connections in flight.", counts.active));
}

void NodeMetrics::add_driver(std::vector<MetricFamily>& to) const {
  // Present from the start: rate() misses the first increment of a series that appears with it.
  MetricFamily totals =
      family("tangram_nvml_call_errors_total", "Calls of NVML that failed, whatever the code.",
             MetricType::Counter);
  for (const auto& [call, count] : hardware_.error_totals()) {
    add(totals, {{"call", call}}, static_cast<double>(count));
  }
  to.push_back(std::move(totals));
  MetricFamily errors = family("tangram_nvml_errors_total", "Calls of NVML that failed, by code.",
                               MetricType::Counter);
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
  add_queue(families);
  add_gpus(families);
  add_instances(families);
  add_endpoints(families);
  add_driver(families);
  families.push_back(single("tangram_store_ok", "1: the store is writable.",
                            engine_.store_error().empty() ? 1 : 0));
  add_process(families);
  return families;
}

// Without the usual process_* names: node_exporter exports those itself and rejects a text file
// that repeats them.
void NodeMetrics::add_process(std::vector<MetricFamily>& to) {
  const ProcessUsage own = process_usage();
  to.push_back(single("tangram_process_resident_memory_bytes", "Resident memory of the daemon.",
                      static_cast<double>(own.resident_bytes)));
  to.push_back(single("tangram_process_cpu_seconds_total", "CPU time of the daemon.",
                      own.cpu_seconds, MetricType::Counter));
  to.push_back(single("tangram_process_open_fds", "Open file descriptors of the daemon.",
                      static_cast<double>(own.open_fds)));
  to.push_back(single(
      "tangram_log_dropped_total",
      "Messages of the daemon's log that were dropped because they were not read fast enough.",
      static_cast<double>(dropped_log_messages()), MetricType::Counter));
}

}  // namespace tangram::daemon
