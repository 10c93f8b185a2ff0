// What a question about a GPU's state costs, next to the naive reference that the tests use.
// Every benchmark walks the same shuffled stream of layouts of all built-in models, so that it is
// not one cached line that answers. Each question waits for the answer to the one before (its
// place in the stream depends on it), as in a scheduler that acts on answers: the figures are
// latencies, not throughput. The loop alone is measured too and taken off.
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

struct Question {
  const mig::Model* model = nullptr;
  mig::Occupancy occupancy;
  mig::ProfileIndex profile;  // one to ask about
  mig::Placement held;        // one that stands there
};

struct NaiveQuestion {
  const mig::ModelSpec* spec = nullptr;
  naive::Pieces pieces;
  int profile = 0;
};

struct Stream {
  std::vector<Question> questions;
  std::vector<NaiveQuestion> naive_questions;
};

constexpr std::size_t kLength = 4096;  // a power of two, so that the place wraps with a mask
constexpr unsigned kSeed = 20240817;

// The profiles that still have a free start.
std::vector<mig::ProfileIndex> fitting(const mig::Model& model, mig::Occupancy o) {
  std::vector<mig::ProfileIndex> out;
  for (const mig::ProfileIndex p : model.representatives()) {
    if (model.feasible(o, p) > 0) out.push_back(p);
  }
  return out;
}

// Every layout with something on it and room for more, each with one profile that fits, in turn.
// Profiles that do not fit are left out: "none" is a constant behind a branch that the processor
// predicts, so the next question would not wait for it and the figure would be no latency.
Stream all_layouts() {
  Stream all;
  for (const mig::Model& model : mig::catalog()) {
    std::size_t turn = 0;
    const auto take = [&](std::span<const mig::Placement> placements, mig::Occupancy o) {
      const std::vector<mig::ProfileIndex> profiles = fitting(model, o);
      if (placements.empty() || profiles.empty()) return;
      const mig::ProfileIndex asked = profiles[turn++ % profiles.size()];
      all.questions.push_back({&model, o, asked, placements.front()});
      NaiveQuestion same{&model.spec(), {}, asked.value()};
      for (const mig::Placement& p : placements) {
        same.pieces.push_back({p.profile.value(), p.start});
      }
      all.naive_questions.push_back(std::move(same));
    };
    mig::for_each_layout(model, model.representatives(), take);
  }
  return all;
}

const Stream& stream() {
  static const Stream shuffled = [] {
    const Stream all = all_layouts();
    std::mt19937 random(kSeed);  // the same stream in every run
    std::uniform_int_distribution<std::size_t> any(0, all.questions.size() - 1);
    Stream out;
    for (std::size_t i = 0; i < kLength; ++i) {
      const std::size_t drawn = any(random);
      out.questions.push_back(all.questions[drawn]);
      out.naive_questions.push_back(all.naive_questions[drawn]);
    }
    return out;
  }();
  return shuffled;
}

// Walks a stream. No answer is that large, but the compiler does not know: the next place waits.
template <class Questions, class Ask>
void walk(benchmark::State& state, const Questions& questions, Ask ask) {
  std::uint32_t place = 0;
  for (auto _ : state) {
    std::uint32_t answer = ask(questions[place & (kLength - 1)]);
    benchmark::DoNotOptimize(answer);
    place += 1 + (answer >> 30U);
  }
}

template <class Ask>
void ask_tables(benchmark::State& state, Ask ask) {
  walk(state, stream().questions, ask);
}
template <class Ask>
void ask_naive(benchmark::State& state, Ask ask) {
  walk(state, stream().naive_questions, ask);
}

std::uint32_t number(std::optional<int> start) {
  return static_cast<std::uint32_t>(start.value_or(99));
}

void loop(benchmark::State& state) {
  ask_tables(state, [](const Question& q) { return std::uint32_t{q.occupancy.value()}; });
}
void frag_cost(benchmark::State& state) {
  ask_tables(state, [](const Question& q) {
    return static_cast<std::uint32_t>(q.model->frag_units(q.occupancy));
  });
}
void best_start(benchmark::State& state) {
  ask_tables(state,
             [](const Question& q) { return number(q.model->best_start(q.occupancy, q.profile)); });
}
void without_and_with(benchmark::State& state) {
  ask_tables(state, [](const Question& q) {
    const mig::Occupancy without = q.model->without(q.occupancy, q.held);
    return std::uint32_t{q.model->with(without, q.held).value()};
  });
}
void driver_start(benchmark::State& state) {
  ask_tables(state, [](const Question& q) {
    return number(mig::driver_start(*q.model, q.occupancy, q.profile));
  });
}

void naive_loop(benchmark::State& state) {
  ask_naive(state,
            [](const NaiveQuestion& q) { return static_cast<std::uint32_t>(q.pieces[0].start); });
}
void naive_frag_cost(benchmark::State& state) {
  ask_naive(state, [](const NaiveQuestion& q) {
    return static_cast<std::uint32_t>(naive::frag_cost(*q.spec, q.pieces).numerator);
  });
}
void naive_best_start(benchmark::State& state) {
  ask_naive(state, [](const NaiveQuestion& q) {
    return number(naive::best_start(*q.spec, q.pieces, q.profile));
  });
}
void naive_without_and_with(benchmark::State& state) {
  ask_naive(state, [](const NaiveQuestion& q) {
    naive::Pieces pieces(q.pieces.begin() + 1, q.pieces.end());
    pieces.push_back(q.pieces.front());
    return static_cast<std::uint32_t>(naive::compute_used(*q.spec, pieces));
  });
}
void naive_driver_start(benchmark::State& state) {
  ask_naive(state, [](const NaiveQuestion& q) {
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
