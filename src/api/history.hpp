// The past on the wire: jobs that are over, page by page, and what users have used. One rule: a
// page says where the next one begins; reading them all gives every job once.
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
  std::vector<JobView> jobs;          // outlines, the newest first
  std::optional<std::uint64_t> next;  // `before` of the next page; none: that was all
};

// What a user used of a profile: slices times the time they were held, of runs within the span.
struct UsageRow {
  std::string user;
  std::string profile;
  std::uint64_t jobs = 0;
  double slice_hours = 0;  // compute slices
  double gpu_hours = 0;    // the same as parts of whole GPUs
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
