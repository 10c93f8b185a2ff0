// See workload.hpp.
#include "sim/workload.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/check.hpp"
#include "base/text.hpp"
#include "sim/burstgpt.hpp"
#include "sim/mix.hpp"
#include "sim/random.hpp"

namespace tangram::sim {
namespace {

double draw(const Quantiles& quantiles, Random& random) {
  const double at = random.uniform() * 100;
  const auto below = static_cast<std::size_t>(at);
  const double part = at - static_cast<double>(below);
  return std::max(1.0, std::round(quantiles[below] * (1 - part) + quantiles[below + 1] * part));
}

struct DrawnQuery {
  double request;
  double response;
};

// Outliers are excluded, and Long restricted to the upper half, by rejection.
DrawnQuery draw_query(bool long_queries, Random& random) {
  while (true) {
    const DrawnQuery q{draw(kRequestTokens, random), draw(kResponseTokens, random)};
    const double total = q.request + q.response;
    if (total <= kMaxTokens && (!long_queries || total >= kLongFromTokens)) return q;
  }
}

double draw_duration(const Synthetic& s, Random& random) {
  switch (s.law) {
    case DurationLaw::kExponential:
      return random.exponential(s.mean_duration_s);
    case DurationLaw::kConstant:
      return s.mean_duration_s;
    case DurationLaw::kLogNormal:
      return s.mean_duration_s * std::exp(s.sigma * random.normal() - s.sigma * s.sigma / 2);
  }
  return s.mean_duration_s;
}

// One random stream per purpose, so that changing one option does not affect the other draws.
struct PaperDraws {
  PaperWorkload paper;
  Mix mix;
  Random arrivals;
  Random sizes;
  Random models;
  Random counts;
  Random queries;
  double now = 0;
  int left;

  PaperDraws(const PaperWorkload& p, Random root)
      : paper(p),
        mix(only(p)),
        arrivals(root.fork()),
        sizes(root.fork()),
        models(root.fork()),
        counts(root.fork()),
        queries(root.fork()),
        left(p.tasks) {}

  // The shares of the profiles that the selected model runs on.
  static std::vector<Share> only(const PaperWorkload& p) {
    std::vector<Share> shares = p.mix;
    for (std::size_t i = 0; i < shares.size() && p.only_model >= 0; ++i) {
      const bool runs = paper_model(is_small(p.mix, i), false) == p.only_model ||
                        paper_model(is_small(p.mix, i), true) == p.only_model;
      if (!runs) shares[i].count = 0;
    }
    return shares;
  }

  // The next of n uniformly distributed arrivals is the minimum of the remaining ones.
  double arrival() {
    if (paper.within_s <= 0) return now + arrivals.exponential(paper.mean_arrival_s);
    const double rest = 1 - std::pow(1 - arrivals.uniform(), 1.0 / (left + 1));
    return now + (paper.within_s - now) * rest;
  }

  bool next(Task& task) {
    if (left-- <= 0) return false;
    now = arrival();
    task = {.arrival_s = now};
    task.profile = mix.draw(sizes);
    task.model = paper_model(is_small(paper.mix, task.profile), models.below(2) == 1);
    if (paper.only_model >= 0) task.model = paper.only_model;
    task.queries = static_cast<std::uint16_t>(draw_queries(paper.queries_per_task, counts));
    Random own = queries.fork();
    for (int q = 0; q < task.queries; ++q) {
      const DrawnQuery query = draw_query(paper.long_queries, own);
      task.prompt_tokens += query.request;
      task.response_tokens += query.response;
    }
    return true;
  }
};

struct SyntheticDraws {
  Synthetic synthetic;
  Mix mix;
  Random arrivals;
  Random sizes;
  Random durations;
  Random pins;
  double now = 0;
  std::uint64_t left;

  SyntheticDraws(const Synthetic& s, Random root)
      : synthetic(s),
        mix(s.mix),
        arrivals(root.fork()),
        sizes(root.fork()),
        durations(root.fork()),
        pins(root.fork()),
        left(s.tasks) {}

  bool next(Task& task) {
    if (left == 0) return false;
    --left;
    now += arrivals.exponential(synthetic.mean_arrival_s);
    task = {.arrival_s = now,
            .duration_s = draw_duration(synthetic, durations),
            .transfer_share = static_cast<float>(synthetic.transfer_share),
            .profile = mix.draw(sizes),
            .movable = synthetic.movable_share >= 1 || pins.uniform() < synthetic.movable_share};
    return true;
  }
};

template <class Draws>
std::function<bool(Task&)> stream(Draws draws) {
  return [d = std::make_shared<Draws>(std::move(draws))](Task& task) { return d->next(task); };
}

}  // namespace

Workload workload_of(std::string name, std::vector<std::string> profiles, std::vector<Task> tasks) {
  const std::uint64_t count = tasks.size();
  const auto rows = std::make_shared<const std::vector<Task>>(std::move(tasks));
  return {std::move(name), std::move(profiles), count, [rows, i = std::size_t{0}](Task& t) mutable {
            if (i == rows->size()) return false;
            t = (*rows)[i++];
            return true;
          }};
}

Result<std::vector<Share>> parse_mix(std::string_view text) {
  std::vector<Share> mix;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, comma - at);
    const std::size_t colon = part.find(':');
    const auto count = colon == std::string_view::npos
                           ? std::optional(1)
                           : parse_int(part.substr(colon + 1), 1, 1'000'000);
    const std::string profile(part.substr(0, colon));
    if (profile.empty() || !count) {
      return invalid(cat("cannot read ", quoted(part), " in the mix; write PROFILE:COUNT with a ",
                         "count from 1 to 1000000, separated by commas, e.g. 1g.5gb:4,2g.10gb:3."));
    }
    if (std::ranges::any_of(mix, [&](const Share& s) { return s.profile == profile; })) {
      return invalid(cat("the mix names ", quoted(profile), " twice."));
    }
    mix.push_back({profile, *count});
    at = comma + 1;
  }
  if (mix.size() > 64) return invalid("the mix names more than 64 profiles.");
  return mix;
}

const std::vector<Share>& paper_mix() {
  static const std::vector<Share> mix{
      {"1g.5gb", 4}, {"2g.10gb", 3}, {"3g.20gb", 3}, {"4g.20gb", 2}};
  return mix;
}

const std::vector<std::string>& paper_workload_names() {
  static const std::vector<std::string> names{"normal25", "long25", "normal50", "long50"};
  return names;
}

Result<PaperWorkload> paper_workload(std::string_view name) {
  for (const std::string& known : paper_workload_names()) {
    if (known != name) continue;
    PaperWorkload paper{.name = known};
    paper.long_queries = known.starts_with("long");
    paper.mean_arrival_s = known.ends_with("50") ? 50 : 25;
    return paper;
  }
  const auto near = nearest(name, paper_workload_names());
  return not_found(cat("unknown workload ", quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " Known: ", join_words(paper_workload_names()), "."));
}

// The number before "gb": 10 for "2g.10gb".
bool is_small(const std::vector<Share>& mix, std::size_t profile) {
  constexpr int kLarge = 16;
  const std::string& name = mix[profile].profile;
  const std::size_t dot = name.find('.');
  const std::size_t unit = name.find("gb", dot == std::string::npos ? 0 : dot);
  if (dot == std::string::npos || unit == std::string::npos) return false;
  const auto size = parse_int(std::string_view(name).substr(dot + 1, unit - dot - 1), 1, 100'000);
  return size && *size < kLarge;
}

std::int16_t paper_model(bool small, bool second) {
  if (small) return second ? 2 : 0;
  return second ? 3 : 1;
}

MeanQuery mean_query(bool long_queries) {
  constexpr int kDraws = 200'000;
  Random random(1);
  MeanQuery mean{0, 0};
  for (int i = 0; i < kDraws; ++i) {
    const DrawnQuery q = draw_query(long_queries, random);
    mean.prompt_tokens += q.request / kDraws;
    mean.response_tokens += q.response / kDraws;
  }
  return mean;
}

Result<DurationLaw> parse_law(std::string_view name) {
  if (name == "exponential") return DurationLaw::kExponential;
  if (name == "constant") return DurationLaw::kConstant;
  if (name == "lognormal") return DurationLaw::kLogNormal;
  return invalid(cat("unknown law of durations ", quoted(name),
                     ". Known: exponential, constant and lognormal."));
}

Workload generate(const PaperWorkload& paper, std::uint64_t seed) {
  return {paper.name, names_of(paper.mix), static_cast<std::uint64_t>(paper.tasks),
          stream(PaperDraws(paper, Random(seed))), seed};
}

Workload generate(const Synthetic& synthetic, std::uint64_t seed) {
  return {"synthetic", names_of(synthetic.mix), synthetic.tasks,
          stream(SyntheticDraws(synthetic, Random(seed))), seed};
}

}  // namespace tangram::sim
