// Shared by the tests of traces: header lines, made-up rows, short ways to read them. No row is
// from a data set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "sim/traces.hpp"

namespace tangram::sim {

inline constexpr std::string_view kTimed = "arrival_s,profile,duration_s\n";
inline constexpr std::string_view kTokens =
    "arrival_s,profile,model,prompt_tokens,response_tokens\n";
inline constexpr std::string_view kBurst =
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
inline constexpr std::string_view kAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
inline Trace read(std::string_view text, const TraceOptions& options = {}) {
  const Result<Trace> trace = read_trace(text, "dir/t.csv", options);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? *trace : Trace{};
}

inline std::string message_of(std::string_view text, const TraceOptions& options = {}) {
  const Result<Trace> trace = read_trace(text, "t.csv", options);
  return trace ? "no error" : trace.error().message;
}

inline TraceOptions of_form(TraceForm form) {
  TraceOptions options;
  options.form = form;
  return options;
}

inline TraceOptions skipping() {
  TraceOptions options;
  options.skip_bad = true;
  return options;
}

inline TraceOptions queries_each(double queries) {
  TraceOptions options;
  options.queries_per_task = queries;
  return options;
}

template <class Member>
std::vector<double> all(const Trace& trace, Member member) {
  std::vector<double> out;
  for (const Task& task : trace.tasks) out.push_back(static_cast<double>(task.*member));
  return out;
}

// n queries of BurstGPT, a second apart; the i-th has i + 1 request tokens and 1 response token.
inline std::string burst_of(int n) {
  std::string text(kBurst);
  for (int i = 0; i < n; ++i) text += cat(100 + i, ",ChatGPT,", i + 1, ",1,0,API log\n");
  return text;
}

}  // namespace tangram::sim
