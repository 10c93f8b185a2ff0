// `tangram device bench`: measures creation and destruction of instances per profile. Uses free
// slices only and destroys what it created.
#include <algorithm>
#include <chrono>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/device/device_target.hpp"
#include "device/change.hpp"
#include "device/instances.hpp"
#include "mig/limits.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;
using Seconds = std::chrono::duration<double>;

struct BenchOptions {
  DeviceOptions device;
  int times = 5;
  std::string profile;
};

struct Timed {
  std::string profile;
  unsigned start = 0;
  std::vector<double> create_s;
  std::vector<double> destroy_s;
};

// One placement per profile that fits beside the present instances.
Result<std::vector<mig::Placement>> trial_placements(const device::Gpu& gpu,
                                                     const std::vector<device::Instance>& present,
                                                     const std::string& only) {
  const mig::Model& model = *gpu.model;
  mig::Occupancy occupancy = mig::kEmpty;
  std::vector<mig::ProfileIndex> there;
  for (const device::Instance& i : present) {
    if (!i.placement) {
      return failed("this GPU has an instance of an unknown profile.");
    }
    occupancy = model.with(occupancy, *i.placement);
    there.push_back(i.placement->profile);
  }
  std::vector<mig::Placement> places;
  for (std::size_t p = 0; p < model.profiles().size(); ++p) {
    const mig::ProfileIndex profile(static_cast<std::uint8_t>(p));
    if (!only.empty() && model.profile(profile).name != only) continue;
    const auto start = model.best_start(occupancy, profile);
    if (!start || !mig::within_limits(model, there, profile)) continue;
    places.push_back({profile, static_cast<std::uint8_t>(*start)});
  }
  return places;
}

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::steady_clock::now() - begin).count();
}

// Creates and destroys one instance. An error names what it could not remove.
Result<void> measure_once(const DeviceTarget& target, const device::Gpu& gpu, mig::Placement place,
                          device::OwnedInstances& owned, Timed& timed) {
  device::Outcome<device::Instance> made = std::unexpected(device::Failure{});
  timed.create_s.push_back(
      seconds_of([&] { made = device::create(*target.library, gpu, place, owned, {}); }));
  if (!made) return error_of(made);
  device::Outcome<void> gone;
  timed.destroy_s.push_back(
      seconds_of([&] { gone = device::destroy(*target.library, gpu, *made, owned, {}); }));
  if (!gone) return error_of(gone);
  return {};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string milliseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1000); }

void print(const device::Gpu& gpu, const std::vector<Timed>& all, int times, Output& out) {
  out.line(cat("GPU ", gpu.index, "  ", gpu.model->name(), ", ", times, " of each, milliseconds"));
  out.line();
  Table table({{"PROFILE"},
               {"START", Align::kRight},
               {"CREATE", Align::kRight},
               {"MIN", Align::kRight},
               {"MAX", Align::kRight},
               {"DESTROY", Align::kRight},
               {"MIN", Align::kRight},
               {"MAX", Align::kRight}});
  for (const Timed& t : all) {
    table.row({Cell(t.profile, Style::kBold), static_cast<int>(t.start),
               milliseconds(median(t.create_s)), milliseconds(std::ranges::min(t.create_s)),
               milliseconds(std::ranges::max(t.create_s)), milliseconds(median(t.destroy_s)),
               milliseconds(std::ranges::min(t.destroy_s)),
               milliseconds(std::ranges::max(t.destroy_s))});
  }
  table.print(out);
  out.line();
  out.paragraph(
      "CREATE and DESTROY are medians for the GPU and compute instance together, including "
      "verification before and after.");
}

json::array to_json(const std::vector<Timed>& all) {
  json::array rows;
  for (const Timed& t : all) {
    rows.push_back(
        json::object{{"profile", t.profile},
                     {"start", t.start},
                     {"create_s", json::array(t.create_s.begin(), t.create_s.end())},
                     {"destroy_s", json::array(t.destroy_s.begin(), t.destroy_s.end())}});
  }
  return rows;
}

Result<void> bench(const BenchOptions& o, bool as_json, Output& out) {
  const auto target = open_target(o.device);
  if (!target) return std::unexpected(target.error());
  const auto gpu = find_gpu(*target, o.device.gpu);
  if (!gpu) return std::unexpected(gpu.error());
  if (const auto ready = device::check_ready(**gpu); !ready) return error_of(ready);
  if (!o.profile.empty()) {
    const auto known = (*gpu)->model->find_profile(o.profile);
    if (!known) return std::unexpected(known.error());
  }
  const auto record =
      open_owned(o.device);  // instances left by an interrupted run are recorded as ours
  if (!record) return std::unexpected(record.error());
  device::OwnedInstances& owned = *record->owned;
  const auto present = list_instances(*target, **gpu, owned);
  if (!present) return std::unexpected(present.error());
  const auto places = trial_placements(**gpu, *present, o.profile);
  if (!places) return std::unexpected(places.error());
  if (places->empty()) {
    return std::unexpected(Error{ErrorCode::kUnavailable,
                                 cat("GPU ", (*gpu)->index, " has no free slices to measure on.")});
  }
  std::vector<Timed> all;
  for (const mig::Placement place : *places) {
    Timed& timed = all.emplace_back();
    timed.profile = (*gpu)->model->profile(place.profile).name;
    timed.start = place.start;
    for (int i = 0; i < o.times; ++i) {
      const auto done = measure_once(*target, **gpu, place, owned, timed);
      if (!done) return done;
    }
  }
  if (as_json) {
    out.add(text::json_text(to_json(all)));
  } else {
    print(**gpu, all, o.times, out);
  }
  return {};
}

}  // namespace

void add_device_bench(Verb& device, Command& command) {
  const auto options = std::make_shared<BenchOptions>();
  Verb verb = device.add_subcommand("bench", "Measure creation and destruction of instances");
  add_gpu_option(*verb, options->device, "GPU index, UUID or UUID prefix");
  verb->add_option("--times", options->times, "Repetitions per profile (default: 5)")
      ->option_text("N")
      ->between(1, 1000);
  verb->add_option("--profile", options->profile, "Measure only this profile")
      ->option_text("PROFILE");
  add_owned_option(*verb, options->device);
  add_device_options(*verb, options->device);
  add_output_options(*verb, command);
  verb->footer(
      "Example:\n  tangram device bench --emulate A100-40GB --times 3\n"
      "Uses free slices only and destroys the instances it created.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return bench(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
