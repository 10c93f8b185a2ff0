// The JSON of history and usage; see history.hpp.
#include "api/history.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/fields.hpp"
#include "api/job_request_fields.hpp"

namespace tangram::api {
namespace {

namespace json = boost::json;

UsageRow row_in(const json::value& document, const std::string& path, FieldErrors& errors) {
  Fields fields(document, path, "a row of a usage", errors);
  UsageRow row;
  row.user = fields.text("user");
  row.profile = fields.text("profile");
  row.jobs = fields.number("jobs", {0, kMax}).value_or(0);
  row.slice_hours = fields.decimal("slice_hours").value_or(0);
  row.gpu_hours = fields.decimal("gpu_hours").value_or(0);
  return row;
}

}  // namespace

json::value to_json(const HistoryPage& page) {
  json::array jobs;
  jobs.reserve(page.jobs.size());
  for (const JobView& job : page.jobs) jobs.push_back(to_json(job));
  return json::object{{"jobs", std::move(jobs)}, {"next", or_null(page.next)}};
}

Result<HistoryPage> read_history_page(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a page of the history", errors);
  HistoryPage page;
  fields.require("jobs");
  fields.each("jobs", [&](const json::value& job, const std::string& path) {
    page.jobs.push_back(view_in(job, path, errors));
  });
  page.next = fields.number("next", {0, kMax});
  if (errors.first()) return std::unexpected(*errors.first());
  return page;
}

json::value to_json(const Usage& usage) {
  json::array rows;
  for (const UsageRow& row : usage.rows) {
    rows.push_back(json::object{{"user", row.user},
                                {"profile", row.profile},
                                {"jobs", row.jobs},
                                {"slice_hours", row.slice_hours},
                                {"gpu_hours", row.gpu_hours}});
  }
  return json::object{
      {"from", wall_text(usage.from)}, {"to", wall_text(usage.to)}, {"rows", std::move(rows)}};
}

Result<Usage> read_usage(const json::value& document) {
  FieldErrors errors;
  Fields fields(document, "", "a usage", errors);
  Usage usage;
  fields.require("rows");
  usage.from = fields.wall("from").value_or(WallTime{});
  usage.to = fields.wall("to").value_or(WallTime{});
  fields.each("rows", [&](const json::value& row, const std::string& path) {
    usage.rows.push_back(row_in(row, path, errors));
  });
  if (errors.first()) return std::unexpected(*errors.first());
  return usage;
}

}  // namespace tangram::api
