// The state of a node as `tangram decide` reads it (docs/cli.md has the form): GPUs with their
// jobs and idle instances, a threshold, and a question: a profile that arrives, or the GPU that a
// job has just left. One rule: whatever is wrong is refused with the path of the value.
#pragma once

#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "base/error.hpp"
#include "cli/mig_terms.hpp"
#include "core/snapshot.hpp"

namespace tangram::cli {

struct Question {
  core::Snapshot snapshot;
  std::string profile;  // of the arrival; empty: a departure
  core::GpuId gpu;      // that a job has left

  [[nodiscard]] bool departure() const { return profile.empty(); }
};

// Models that were looked up before: many rows name the same few.
using ModelCache = std::map<std::string, ModelPointer, std::less<>>;

[[nodiscard]] Result<Question> read_question(const boost::json::object& row, ModelCache& models);

inline constexpr std::string_view kStateForm =
    R"(a state is {"kind": "arrival", "threshold": 0.4, "gpus": [{"model": "A100-40GB", )"
    R"("jobs": [{"id": 1, "profile": "2g.10gb", "start": 4}], "idle": []}], )"
    R"("profile": "3g.20gb"}, or "kind": "departure" with "gpu": 0.)";

}  // namespace tangram::cli
