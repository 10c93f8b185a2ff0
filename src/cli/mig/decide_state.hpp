// Parses the input of `tangram decide` (format: docs/cli.md): the state of a node (GPUs with jobs
// and idle instances, threshold) and the question, a profile that arrives or a GPU that a job has
// left. Errors name the path of the bad value.
#pragma once

#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "base/error.hpp"
#include "cli/mig/mig_terms.hpp"
#include "core/snapshot.hpp"

namespace tangram::cli {

struct Question {
  core::Snapshot snapshot;
  std::string profile;  // the arriving profile; empty for a departure
  core::GpuId gpu;      // departure: the GPU that the job left

  [[nodiscard]] bool departure() const { return profile.empty(); }
};

// Caches models by name over many rows.
using ModelCache = std::map<std::string, ModelPointer, std::less<>>;

[[nodiscard]] Result<Question> read_question(const boost::json::object& row, ModelCache& models);

inline constexpr std::string_view kStateForm =
    R"(a state is {"kind": "arrival", "threshold": 0.4, "gpus": [{"model": "A100-40GB", )"
    R"("jobs": [{"id": 1, "profile": "2g.10gb", "start": 4}], "idle": []}], )"
    R"("profile": "3g.20gb"}, or "kind": "departure" with "gpu": 0.)";

}  // namespace tangram::cli
