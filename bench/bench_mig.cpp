// The cost of a query about a GPU's state, next to the naive reference that the tests use. Every
// benchmark goes through the same shuffled stream of layouts of all built-in models, so that it
// does not measure one cached line. Each query waits for the result of the one before (its index in
// the stream depends on it), as in a scheduler that acts on results: the figures are latencies, not
// throughput. The loop alone is measured too and subtracted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/comparison.hpp"
#include "mig/catalog.hpp"
#include "mig/driver.hpp"
#include "mig/layout.hpp"
#include "mig/model.hpp"
#include "tests/mig/naive.hpp"

namespace tangram::bench {
namespace {

struct Query {
  const mig::Model* model = nullptr;
  mig::Occupancy occupancy;
  mig::ProfileIndex profile;  // to query
  mig::Placement held;        // an instance of the layout
};

struct NaiveQuery {
  const mig::ModelSpec* spec = nullptr;
  naive::Pieces pieces;
  int profile = 0;
};

struct Stream {
  std::vector<Query> queries;
  std::vector<NaiveQuery> naive_queries;
};

constexpr std::size_t kLength = 4096;  // a power of two, so that the index wraps with a mask
constexpr unsigned kSeed = 20240817;

// The profiles that still have a free start.
std::vector<mig::ProfileIndex> fitting(const mig::Model& model, mig::Occupancy o) {
  std::vector<mig::ProfileIndex> out;
  for (const mig::ProfileIndex p : model.representatives()) {
    if (model.feasible(o, p) > 0) out.push_back(p);
  }
  return out;
}

// Every layout that is neither empty nor full, each with one profile that fits, in turn. Profiles
// that do not fit are left out: "none" is a constant behind a branch that the processor predicts,
// so the next query would not wait for it and the figure would not be a latency.
Stream all_layouts() {
  Stream all;
  for (const mig::Model& model : mig::catalog()) {
    std::size_t turn = 0;
    const auto take = [&](std::span<const mig::Placement> placements, mig::Occupancy o) {
      const std::vector<mig::ProfileIndex> profiles = fitting(model, o);
      if (placements.empty() || profiles.empty()) return;
      const mig::ProfileIndex profile_index = profiles[turn++ % profiles.size()];
      all.queries.push_back({&model, o, profile_index, placements.front()});
      NaiveQuery same{&model.spec(), {}, profile_index.value()};
      for (const mig::Placement& p : placements) {
        same.pieces.push_back({p.profile.value(), p.start});
      }
      all.naive_queries.push_back(std::move(same));
    };
    mig::for_each_layout(model, model.representatives(), take);
  }
  return all;
}

const Stream& stream() {
  static const Stream shuffled = [] {
    const Stream all = all_layouts();
    std::mt19937 random(kSeed);  // the same stream in every run
    std::uniform_int_distribution<std::size_t> any(0, all.queries.size() - 1);
    Stream out;
    for (std::size_t i = 0; i < kLength; ++i) {
      const std::size_t drawn = any(random);
      out.queries.push_back(all.queries[drawn]);
      out.naive_queries.push_back(all.naive_queries[drawn]);
    }
    return out;
  }();
  return shuffled;
}

// Goes through a stream. No result is that large, but the compiler does not know that: the next
// index depends on it.
template <class Queries, class Evaluate>
void walk(benchmark::State& state, const Queries& queries, Evaluate evaluate) {
  std::uint32_t place = 0;
  for (auto _ : state) {
    std::uint32_t answer = evaluate(queries[place & (kLength - 1)]);
    benchmark::DoNotOptimize(answer);
    place += 1 + (answer >> 30U);
  }
}

template <class Evaluate>
void measure_tables(benchmark::State& state, Evaluate evaluate) {
  walk(state, stream().queries, evaluate);
}
template <class Evaluate>
void measure_naive(benchmark::State& state, Evaluate evaluate) {
  walk(state, stream().naive_queries, evaluate);
}

std::uint32_t number(std::optional<int> start) {
  return static_cast<std::uint32_t>(start.value_or(99));
}

void loop(benchmark::State& state) {
  measure_tables(state, [](const Query& q) { return std::uint32_t{q.occupancy.value()}; });
}
void frag_cost(benchmark::State& state) {
  measure_tables(state, [](const Query& q) {
    return static_cast<std::uint32_t>(q.model->frag_units(q.occupancy));
  });
}
void best_start(benchmark::State& state) {
  measure_tables(
      state, [](const Query& q) { return number(q.model->best_start(q.occupancy, q.profile)); });
}
void without_and_with(benchmark::State& state) {
  measure_tables(state, [](const Query& q) {
    const mig::Occupancy without = q.model->without(q.occupancy, q.held);
    return std::uint32_t{q.model->with(without, q.held).value()};
  });
}
void driver_start(benchmark::State& state) {
  measure_tables(state, [](const Query& q) {
    return number(mig::driver_start(*q.model, q.occupancy, q.profile));
  });
}

void naive_loop(benchmark::State& state) {
  measure_naive(state,
                [](const NaiveQuery& q) { return static_cast<std::uint32_t>(q.pieces[0].start); });
}
void naive_frag_cost(benchmark::State& state) {
  measure_naive(state, [](const NaiveQuery& q) {
    return static_cast<std::uint32_t>(naive::frag_cost(*q.spec, q.pieces).numerator);
  });
}
void naive_best_start(benchmark::State& state) {
  measure_naive(state, [](const NaiveQuery& q) {
    return number(naive::best_start(*q.spec, q.pieces, q.profile));
  });
}
void naive_without_and_with(benchmark::State& state) {
  measure_naive(state, [](const NaiveQuery& q) {
    naive::Pieces pieces(q.pieces.begin() + 1, q.pieces.end());
    pieces.push_back(q.pieces.front());
    return static_cast<std::uint32_t>(naive::compute_used(*q.spec, pieces));
  });
}
void naive_driver_start(benchmark::State& state) {
  measure_naive(state, [](const NaiveQuery& q) {
    return number(naive::driver_start(*q.spec, q.pieces, q.profile));
  });
}

void build_model(benchmark::State& state) {
  const mig::ModelSpec& spec = (*mig::find_model("A100-40GB"))->spec();
  for (auto _ : state) benchmark::DoNotOptimize(mig::Model::build(spec));
}

BENCHMARK(loop);
BENCHMARK(frag_cost);
BENCHMARK(best_start);
BENCHMARK(without_and_with);
BENCHMARK(driver_start);
BENCHMARK(naive_loop);
BENCHMARK(naive_frag_cost);
BENCHMARK(naive_best_start);
BENCHMARK(naive_without_and_with);
BENCHMARK(naive_driver_start);
BENCHMARK(build_model)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  tangram::bench::ComparingReporter reporter(
      "loop", "naive_loop",
      {{"FragCost", "frag_cost", "naive_frag_cost"},
       {"Best start", "best_start", "naive_best_start"},
       {"Without and with", "without_and_with", "naive_without_and_with"},
       {"Driver's start", "driver_start", "naive_driver_start"}});
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}
