// `tangram device bench`: how long creating and destroying an instance takes on a GPU, per profile.
// One rule: it uses only what is free, and leaves the GPU as it found it.
#include <algorithm>
#include <chrono>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/device_target.hpp"
#include "device/change.hpp"
#include "device/instances.hpp"
#include "files/json_text.hpp"
#include "mig/limits.hpp"

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

// Where instances of each profile can be tried beside what is there.
Result<std::vector<mig::Placement>> places_to_try(const device::Gpu& gpu,
                                                  const std::vector<device::Instance>& present,
                                                  const std::string& only) {
  const mig::Model& model = *gpu.model;
  mig::Occupancy occupancy = mig::kEmpty;
  std::vector<mig::ProfileIndex> there;
  for (const device::Instance& i : present) {
    if (!i.placement) {
      return failed("an instance of a profile that is not known stands on this GPU.");
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

// Creates and destroys once; an error leaves nothing behind, or says what.
Result<void> once(const DeviceTarget& target, const device::Gpu& gpu, mig::Placement place,
                  device::Owned& owned, Timed& timed) {
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
      "CREATE and DESTROY are medians, of the GPU and compute instance together, with "
      "looking before and after.");
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
  const auto record = open_owned(o.device);  // what an interrupted run leaves is known as ours
  if (!record) return std::unexpected(record.error());
  device::Owned& owned = *record->owned;
  const auto present = look_at(*target, **gpu, owned);
  if (!present) return std::unexpected(present.error());
  const auto places = places_to_try(**gpu, *present, o.profile);
  if (!places) return std::unexpected(places.error());
  if (places->empty()) {
    return std::unexpected(Error{ErrorCode::kUnavailable,
                                 cat("GPU ", (*gpu)->index, " has no room to try anything.")});
  }
  std::vector<Timed> all;
  for (const mig::Placement place : *places) {
    Timed& timed = all.emplace_back();
    timed.profile = (*gpu)->model->profile(place.profile).name;
    timed.start = place.start;
    for (int i = 0; i < o.times; ++i) {
      const auto done = once(*target, **gpu, place, owned, timed);
      if (!done) return done;
    }
  }
  if (as_json) {
    out.add(files::json_text(to_json(all)));
  } else {
    print(**gpu, all, o.times, out);
  }
  return {};
}

}  // namespace

void add_device_bench(Verb& device, Command& command) {
  const auto options = std::make_shared<BenchOptions>();
  Verb verb =
      device.add_subcommand("bench", "Measure how long creating and destroying instances takes");
  add_gpu_option(*verb, options->device, "On this GPU: an index, a UUID or its beginning");
  verb->add_option("--times", options->times, "How often per profile (5)")
      ->option_text("N")
      ->between(1, 1000);
  verb->add_option("--profile", options->profile, "Only this one")->option_text("PROFILE");
  add_owned_option(*verb, options->device);
  add_device_options(*verb, options->device);
  add_output_options(*verb, command);
  verb->footer("It uses free slices only and removes what it made.");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return bench(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
