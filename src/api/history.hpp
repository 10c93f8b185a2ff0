// History on the wire: finished jobs, page by page, and usage by user. Each page contains the
// cursor of the next one; reading all pages gives every job exactly once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::api {

struct HistoryPage {
  std::vector<JobView> jobs;          // outlines, newest first
  std::optional<std::uint64_t> next;  // `before` of the next page; nullopt: this is the last
};

// A user's usage of a profile: slices multiplied by the time held, for runs in the interval.
struct UsageRow {
  std::string user;
  std::string profile;
  std::uint64_t jobs = 0;
  double slice_hours = 0;  // compute slices
  double gpu_hours = 0;    // the same as fractions of whole GPUs
};

struct Usage {
  WallTime from{};
  WallTime to{};
  std::vector<UsageRow> rows;  // by user, then by profile
};

[[nodiscard]] boost::json::value to_json(const HistoryPage& page);
[[nodiscard]] Result<HistoryPage> read_history_page(const boost::json::value& document);
[[nodiscard]] boost::json::value to_json(const Usage& usage);
[[nodiscard]] Result<Usage> read_usage(const boost::json::value& document);

}  // namespace tangram::api
