// The routes for jobs; see routes.cpp for the table.
#include <algorithm>
#include <array>
#include <csignal>
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/enum_names.hpp"
#include "api/job_names.hpp"
#include "api/run_spec.hpp"
#include "api/signals.hpp"
#include "base/text.hpp"
#include "http/routes/identity.hpp"
#include "http/routes/route_handlers.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;

constexpr auto kLongestWait = std::chrono::hours(24);

Result<LabelFilter> label_in(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  LabelFilter label{.name = text.substr(0, equals)};
  if (!api::is_label_name(label.name)) {
    return invalid(cat("invalid label ", quoted(label.name), ": ", api::kLabelNameForm));
  }
  if (equals < text.size()) label.value = text.substr(equals + 1);
  return label;
}

Result<JobFilter> filter_in(const Query& query) {
  if (auto ok = query.allow_only(
          {"all", "user", "state", "name", "profile", "label", "array", "limit", "before"});
      !ok) {
    return std::unexpected(ok.error());
  }
  JobFilter filter;
  const auto all = query.flag("all");
  if (!all) return std::unexpected(all.error());
  filter.all = *all;
  filter.user = query.text("user");
  filter.name = query.text("name");
  filter.profile = query.text("profile");
  if (const auto text = query.text("label")) {
    const auto label = label_in(*text);
    if (!label) return std::unexpected(label.error());
    filter.label = *label;
  }
  if (const auto word = query.text("state")) {
    filter.state = api::find_state(*word);
    if (!filter.state) {
      return invalid(cat("state: ", api::unknown_value(*word, api::kStateNames)));
    }
    filter.all = filter.all || is_terminal(*filter.state);
  }
  const auto array = query.number("array", std::numeric_limits<std::uint64_t>::max());
  if (!array) return std::unexpected(array.error());
  filter.array = *array;
  const auto before = query.number("before", std::numeric_limits<std::uint64_t>::max());
  if (!before) return std::unexpected(before.error());
  filter.before = *before;
  return filter;
}

std::string next_page(const Query& query, std::uint64_t before) {
  std::string target = "/v1/jobs?";
  for (const char* name : {"all", "user", "state", "name", "profile", "label", "array", "limit"}) {
    if (const auto value = query.text(name)) {
      target += cat(name, '=', percent_encoded(*value), '&');
    }
  }
  return cat(target, "before=", before);
}

// One page of jobs, with a Link header to the next page if there are more than `limit`.
Response page_of(const std::vector<api::JobView>& jobs, std::size_t limit, const Query& query) {
  const std::size_t older = jobs.size() > limit ? jobs.size() - limit : 0;
  json::array page;
  page.reserve(jobs.size() - older);
  for (std::size_t i = older; i < jobs.size(); ++i) page.push_back(to_json(jobs[i]));
  Response response = json_response(std::move(page));
  if (older > 0) {
    const std::string next = next_page(query, jobs[older].id);
    response.headers.emplace_back("Link", cat('<', next, ">; rel=\"next\""));
  }
  return response;
}

Result<IdempotencyKey> idempotency_key_in(const Request& request) {
  constexpr std::size_t kLongest = 255;
  const std::string& key = request.idempotency_key;
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (key.size() > kLongest || !std::ranges::all_of(key, visible)) {
    return invalid(cat("invalid Idempotency-Key: use at most ", kLongest, " visible characters"));
  }
  if (key.empty()) return IdempotencyKey{};
  return IdempotencyKey{key, fingerprint_of(request.body)};
}

struct WaitParameters {
  WaitFor what = WaitFor::kEnded;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

Result<WaitParameters> wait_in(const Query& query) {
  if (auto ok = query.allow_only({"for", "timeout"}); !ok) return std::unexpected(ok.error());
  WaitParameters wait;
  const std::string word = query.text("for").value_or("over");
  if (word != "over" && word != "running") {
    return invalid(cat("invalid value ", quoted(word), " of for: use running or over"));
  }
  wait.what = word == "running" ? WaitFor::kRunning : WaitFor::kEnded;
  if (const auto text = query.text("timeout")) {
    const auto timeout = api::parse_duration(*text);
    if (!timeout) return invalid(cat("timeout: ", timeout.error().message));
    wait.timeout = std::min<std::chrono::milliseconds>(*timeout, kLongestWait);
  }
  return wait;
}

Result<int> signal_in(const json::value& document) {
  const json::object* object = document.if_object();
  const json::value* signal = object == nullptr ? nullptr : object->if_contains("signal");
  if (signal == nullptr || object->size() != 1) {
    return invalid(R"(missing signal: send {"signal": "TERM"} or {"signal": 15})");
  }
  if (signal->is_string()) {
    return api::parse_signal({signal->get_string().data(), signal->get_string().size()});
  }
  json::error_code status;
  const auto number = signal->to_number<int>(status);
  return api::parse_signal(status ? "?" : std::to_string(number));
}

using JobHandler = std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)>;

Outcome change(const JobHandler& handler, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return defer([&handler, caller = request.caller, id = request.id](Respond respond) {
    handler(caller, id, respond_with<api::JobView>(std::move(respond), 202));
  });
}

}  // namespace

Response bad_request(const Error& error) {
  return problem_response(problem(400, "bad-request", error.message));
}

Result<std::size_t> page_size_in(const Query& query, std::size_t page_size) {
  const auto limit = query.number("limit", kMaxPageSize);
  if (!limit) return std::unexpected(limit.error());
  if (*limit == 0U) {
    return invalid(cat("invalid limit: use a whole number from 1 to ", kMaxPageSize));
  }
  return static_cast<std::size_t>(limit->value_or(page_size));
}

Outcome post_job(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto job = api::read_job_request(*document);
  if (!job) {
    return problem_response(problem(400, "bad-job", cat("invalid job: ", job.error().message)));
  }
  auto key = idempotency_key_in(request);
  if (!key) return bad_request(key.error());
  return defer([&handlers, caller = request.caller, job = *job,
                key = std::move(*key)](const Respond& respond) {
    handlers.submit(caller, job, key, [respond](const Answer<ApiHandlers::Submitted>& made) {
      if (!made) {
        respond(problem_response(made.error()));
        return;
      }
      json::value move;
      if (made->move) move = api::name_of(*made->move);
      json::object body{{"id", made->id}, {"move", std::move(move)}, {"array", nullptr}};
      if (made->array) {
        body["array"] = {{"first", made->array->first}, {"tasks", made->array->count}};
      }
      Response response = json_response(std::move(body), made->replayed ? 200 : 201);
      response.headers.emplace_back("Location",
                                    cat(made->array ? "/v1/arrays/" : "/v1/jobs/", made->id));
      response.what = cat(made->array ? "array=" : "job=", made->id);
      if (made->replayed) response.headers.emplace_back("Idempotency-Replayed", "true");
      respond(std::move(response));
    });
  });
}

Outcome get_jobs(const ApiHandlers& handlers, const Request& request) {
  auto filter = filter_in(request.query);
  if (!filter) return bad_request(filter.error());
  const auto limit = page_size_in(request.query);
  if (!limit) return bad_request(limit.error());
  filter->limit = *limit + 1;  // one more, to see whether there is a next page
  return defer([&handlers, caller = request.caller, filter = *std::move(filter), limit = *limit,
                query = request.query](const Respond& respond) {
    handlers.jobs(caller, filter, [=](const Answer<std::vector<api::JobView>>& jobs) {
      respond(jobs ? page_of(*jobs, limit, query) : problem_response(jobs.error()));
    });
  });
}

Outcome get_job(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(handlers.job(request.caller, request.id));
}

Outcome post_cancel(const ApiHandlers& handlers, const Request& request) {
  return change(handlers.cancel, request);
}

Outcome post_hold(const ApiHandlers& handlers, const Request& request) {
  return change(handlers.hold, request);
}

Outcome post_release(const ApiHandlers& handlers, const Request& request) {
  return change(handlers.release, request);
}

Outcome post_requeue(const ApiHandlers& handlers, const Request& request) {
  return change(handlers.requeue, request);
}

Outcome post_signal(const ApiHandlers& handlers, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto signal = signal_in(*document);
  if (!signal) return bad_request(signal.error());
  return defer([&handlers, caller = request.caller, id = request.id,
                number = *signal](const Respond& respond) {
    handlers.signal(caller, id, number, [respond, number](const Answer<void>& done) {
      Response response = done ? Response{204, "", "", {}} : problem_response(done.error());
      response.what = cat("signal=", number);
      respond(std::move(response));
    });
  });
}

Outcome get_wait(const ApiHandlers& handlers, const Request& request) {
  const auto wait = wait_in(request.query);
  if (!wait) return bad_request(wait.error());
  return DeferredResponse{
      [&handlers, caller = request.caller, id = request.id, what = wait->what](Respond respond) {
        return handlers.wait(caller, id, what, respond_with<api::JobView>(std::move(respond)));
      },
      wait->timeout, Response{204, "", "", {}}, request.caller};
}

Outcome get_logs(const ApiHandlers& handlers, const Request& request) {
  const Query& query = request.query;
  if (auto ok = query.allow_only({"stream", "follow", "tail", "from"}); !ok) {
    return bad_request(ok.error());
  }
  const std::string stream = query.text("stream").value_or("stdout");
  if (stream != "stdout" && stream != "stderr") {
    return bad_request(
        {ErrorCode::kInvalid, cat("invalid stream ", quoted(stream), ": use stdout or stderr")});
  }
  const auto follow = query.flag("follow");
  if (!follow) return bad_request(follow.error());
  const auto tail = query.number("tail", 1'000'000'000);
  if (!tail) return bad_request(tail.error());
  const std::string from = query.text("from").value_or("");
  if (tail->has_value() && !from.empty()) {
    return bad_request({ErrorCode::kInvalid, "tail and from cannot be combined"});
  }
  if (const auto source = handlers.logs(request.caller, request.id); !source) {
    return problem_response(source.error());
  }
  return LogStreamRequest{
      request.caller, request.id, stream == "stdout" ? api::kStdoutLog : api::kStderrLog,
      *follow,        *tail,      from};
}

}  // namespace tangram::http
