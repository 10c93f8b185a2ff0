// Random small geometries: Model::build either rejects a specification, which the naive reference
// then finds invalid too, or it agrees with the reference on every layout. RapidCheck prints the
// seed of each run and a failure's shrunk case; RC_PARAMS="seed=…" in the environment replays it,
// RC_PARAMS="max_success=10000" runs longer.
#include <algorithm>
#include <rapidcheck.h>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "mig/model.hpp"
#include "tests/mig/agreement.hpp"
#include "tests/mig/naive.hpp"

namespace tangram::mig {
namespace {

// Now and then a number outside lowest..highest, by one.
int nearly_in(int lowest, int highest) {
  const int wild = *rc::gen::weightedElement<int>({{60, 0}, {1, -1}, {1, 1}});
  if (wild < 0) return lowest - 1;
  if (wild > 0) return highest + 1;
  return *rc::gen::inRange(lowest, highest + 1);
}

// Arbitrary sizes and starts; compute slices at most the size, or arbitrary too.
Profile random_profile(const ModelSpec& spec, std::size_t number, bool modest) {
  Profile p;
  p.name = "p" + std::to_string(number);
  p.memory_slices = nearly_in(1, spec.memory_slices);
  const int most = std::max(1, std::min(p.memory_slices, spec.compute_slices));
  p.compute_slices = nearly_in(1, modest ? most : spec.compute_slices);
  p.max_instances = nearly_in(1, kMaxMemorySlices);
  const int last = std::max(0, spec.memory_slices - p.memory_slices);
  const auto count = *rc::gen::inRange<std::size_t>(1, static_cast<std::size_t>(last) + 2);
  for (std::size_t i = 0; i < count; ++i) {
    const int start = nearly_in(0, last);
    if (std::ranges::find(p.starts, start) == p.starts.end()) p.starts.push_back(start);
  }
  return p;
}

ModelSpec random_spec() {
  ModelSpec spec;
  spec.name = "random";
  spec.memory_slices = *rc::gen::inRange(1, 8);
  const bool modest = *rc::gen::weightedElement<bool>({{3, true}, {1, false}});
  spec.compute_slices = *rc::gen::inRange(modest ? spec.memory_slices : 1, 8);
  const auto profiles = *rc::gen::inRange<std::size_t>(1, 5);
  for (std::size_t i = 0; i < profiles; ++i) {
    spec.profiles.push_back(random_profile(spec, i, modest));
  }
  return spec;
}

std::string describe(const ModelSpec& spec) {
  std::string out = std::to_string(spec.compute_slices) + " compute, " +
                    std::to_string(spec.memory_slices) + " memory slices;";
  for (const Profile& p : spec.profiles) {
    out += " " + p.name + ": compute " + std::to_string(p.compute_slices) + ", memory " +
           std::to_string(p.memory_slices) + ", at most " + std::to_string(p.max_instances) +
           ", starts";
    for (const int start : p.starts) out += " " + std::to_string(start);
    out += ";";
  }
  return out;
}

RC_GTEST_PROP(RandomModels, AreRefusedOrAgreeWithTheNaiveReference, ()) {
  const ModelSpec spec = random_spec();
  RC_LOG(describe(spec));
  const Result<Model> model = Model::build(spec);
  RC_TAG(model.has_value() ? "built" : "refused");
  RC_ASSERT(model.has_value() == naive::is_sound(spec));
  if (!model) {
    RC_ASSERT(model.error().code == ErrorCode::kInvalid);
    RC_ASSERT(model.error().message.find("random") != std::string::npos);
    return;
  }
  for (const naive::Pieces& pieces : naive::layouts(spec, naive::geometries(spec))) {
    if (const auto difference = naive::disagreement(*model, pieces)) RC_FAIL(*difference);
  }
}

// Of every two, the higher cost is the same by both; random models have unlike denominators.
RC_GTEST_PROP(RandomModels, CostsCompareAcrossModelsAsFractions, ()) {
  const auto left = Model::build(random_spec());
  const auto right = Model::build(random_spec());
  RC_PRE(left.has_value() && right.has_value());
  const auto cost_of = [](const Model& model) {
    const auto state = *rc::gen::inRange(0, model.state_count());
    return model.frag_cost(Occupancy(static_cast<std::uint16_t>(state)));
  };
  const FragCost a = cost_of(*left);
  const FragCost b = cost_of(*right);
  const auto exact = [](FragCost c) { return naive::fraction(c.units(), c.denominator()); };
  RC_ASSERT((a < b) == naive::less(exact(a), exact(b)));
  RC_ASSERT((a == b) == (exact(a) == exact(b)));
}

}  // namespace
}  // namespace tangram::mig
