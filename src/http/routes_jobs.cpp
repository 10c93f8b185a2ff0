// The routes of jobs; see routes.cpp for the table.
#include <algorithm>
#include <array>
#include <csignal>
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/job_words.hpp"
#include "api/run_spec.hpp"
#include "api/signals.hpp"
#include "api/words.hpp"
#include "base/text.hpp"
#include "http/handlers.hpp"
#include "http/identity.hpp"

namespace tangram::http {
namespace {

namespace json = boost::json;

constexpr auto kLongestWait = std::chrono::hours(24);

Result<LabelFilter> label_in(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  LabelFilter label{.name = text.substr(0, equals)};
  if (!api::is_label_name(label.name)) {
    return invalid(cat("label must be NAME or NAME=VALUE, and ", quoted(label.name),
                       " is no name: ", api::kLabelNameForm, "."));
  }
  if (equals < text.size()) label.value = text.substr(equals + 1);
  return label;
}

Result<JobFilter> filter_in(const Query& query) {
  if (auto ok =
          query.allow_only({"all", "user", "state", "name", "profile", "label", "limit", "before"});
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
      return invalid(cat("state: ", api::unknown_word(*word, api::kStateWords)));
    }
    filter.all = filter.all || is_over(*filter.state);
  }
  const auto before = query.number("before", std::numeric_limits<std::uint64_t>::max());
  if (!before) return std::unexpected(before.error());
  filter.before = *before;
  return filter;
}

std::string next_page(const Query& query, std::uint64_t before) {
  std::string target = "/v1/jobs?";
  for (const char* name : {"all", "user", "state", "name", "profile", "label", "limit"}) {
    if (const auto value = query.text(name)) {
      target += cat(name, '=', percent_encoded(*value), '&');
    }
  }
  return cat(target, "before=", before);
}

// The newest of them, and where the others are.
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

Result<Once> once_in(const Request& request) {
  constexpr std::size_t kLongest = 255;
  const std::string& key = request.once;
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (key.size() > kLongest || !std::ranges::all_of(key, visible)) {
    return invalid(cat("Idempotency-Key must have at most ", kLongest, " visible characters."));
  }
  if (key.empty()) return Once{};
  return Once{key, fingerprint_of(request.body)};
}

struct WaitWish {
  WaitFor what = WaitFor::kOver;
  std::chrono::milliseconds patience = std::chrono::seconds(30);
};

Result<WaitWish> wait_in(const Query& query) {
  if (auto ok = query.allow_only({"for", "timeout"}); !ok) return std::unexpected(ok.error());
  WaitWish wish;
  const std::string word = query.text("for").value_or("over");
  if (word != "over" && word != "running") {
    return invalid(cat("for must be running or over, not ", quoted(word), "."));
  }
  wish.what = word == "running" ? WaitFor::kRunning : WaitFor::kOver;
  if (const auto text = query.text("timeout")) {
    const auto patience = api::parse_duration(*text);
    if (!patience) return invalid(cat("timeout: ", patience.error().message));
    wish.patience = std::min<std::chrono::milliseconds>(*patience, kLongestWait);
  }
  return wish;
}

Result<int> signal_in(const json::value& document) {
  const json::object* object = document.if_object();
  const json::value* signal = object == nullptr ? nullptr : object->if_contains("signal");
  if (signal == nullptr || object->size() != 1) {
    return invalid("signal is missing; send {\"signal\": \"TERM\"} or {\"signal\": 15}.");
  }
  if (signal->is_string()) {
    return api::parse_signal({signal->get_string().data(), signal->get_string().size()});
  }
  json::error_code status;
  const auto number = signal->to_number<int>(status);
  return api::parse_signal(status ? "?" : std::to_string(number));
}

using JobDeed = std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)>;

Outcome change(const JobDeed& deed, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return later([&deed, caller = request.caller, id = request.id](Respond respond) {
    deed(caller, id, respond_with<api::JobView>(std::move(respond), 202));
  });
}

}  // namespace

Response bad_request(const Error& error) {
  return problem_response(problem(400, "bad-request", error.message));
}

Result<std::size_t> limit_in(const Query& query) {
  constexpr std::size_t kMost = 1'000;
  const auto limit = query.number("limit", kMost);
  if (!limit) return std::unexpected(limit.error());
  if (*limit == 0U) return invalid(cat("limit must be a whole number from 1 to ", kMost, "."));
  return static_cast<std::size_t>(limit->value_or(JobFilter{}.most));
}

Outcome post_job(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto job = api::read_job_request(*document);
  if (!job) {
    return problem_response(problem(400, "bad-job", cat("the job: ", job.error().message)));
  }
  auto once = once_in(request);
  if (!once) return bad_request(once.error());
  return later([&doors, caller = request.caller, job = *job,
                once = std::move(*once)](const Respond& respond) {
    doors.submit(caller, job, once, [respond](const Answer<Doors::Submitted>& made) {
      if (!made) return respond(problem_response(made.error()));
      Response response = json_response(json::object{{"id", made->id}}, made->again ? 200 : 201);
      response.headers.emplace_back("Location", cat("/v1/jobs/", made->id));
      response.what = cat("job=", made->id);
      if (made->again) response.headers.emplace_back("Idempotency-Replayed", "true");
      respond(std::move(response));
    });
  });
}

Outcome get_jobs(const Doors& doors, const Request& request) {
  auto filter = filter_in(request.query);
  if (!filter) return bad_request(filter.error());
  const auto limit = limit_in(request.query);
  if (!limit) return bad_request(limit.error());
  filter->most = *limit + 1;  // one more says whether there are more
  return later([&doors, caller = request.caller, wanted = *std::move(filter), limit = *limit,
                query = request.query](const Respond& respond) {
    doors.jobs(caller, wanted, [=](const Answer<std::vector<api::JobView>>& jobs) {
      respond(jobs ? page_of(*jobs, limit, query) : problem_response(jobs.error()));
    });
  });
}

Outcome get_job(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  return response_of(doors.job(request.caller, request.id));
}

Outcome post_cancel(const Doors& doors, const Request& request) {
  return change(doors.cancel, request);
}

Outcome post_hold(const Doors& doors, const Request& request) {
  return change(doors.hold, request);
}

Outcome post_release(const Doors& doors, const Request& request) {
  return change(doors.release, request);
}

Outcome post_signal(const Doors& doors, const Request& request) {
  if (auto ok = request.query.allow_only({}); !ok) return bad_request(ok.error());
  const auto document = json_body(request);
  if (!document) return problem_response(document.error());
  const auto signal = signal_in(*document);
  if (!signal) return bad_request(signal.error());
  return later(
      [&doors, caller = request.caller, id = request.id, number = *signal](const Respond& respond) {
        doors.signal(caller, id, number, [respond, number](const Answer<void>& done) {
          Response response = done ? Response{204, "", "", {}} : problem_response(done.error());
          response.what = cat("signal=", number);
          respond(std::move(response));
        });
      });
}

Outcome get_wait(const Doors& doors, const Request& request) {
  const auto wish = wait_in(request.query);
  if (!wish) return bad_request(wish.error());
  return Later{
      [&doors, caller = request.caller, id = request.id, what = wish->what](Respond respond) {
        return doors.wait(caller, id, what, respond_with<api::JobView>(std::move(respond)));
      },
      wish->patience, Response{204, "", "", {}}, request.caller};
}

Outcome get_logs(const Doors& doors, const Request& request) {
  const Query& query = request.query;
  if (auto ok = query.allow_only({"stream", "follow", "tail", "from"}); !ok) {
    return bad_request(ok.error());
  }
  const std::string stream = query.text("stream").value_or("stdout");
  if (stream != "stdout" && stream != "stderr") {
    return bad_request(
        {ErrorCode::kInvalid, cat("stream must be stdout or stderr, not ", quoted(stream), ".")});
  }
  const auto follow = query.flag("follow");
  if (!follow) return bad_request(follow.error());
  const auto tail = query.number("tail", 1'000'000'000);
  if (!tail) return bad_request(tail.error());
  const std::string from = query.text("from").value_or("");
  if (tail->has_value() && !from.empty()) {
    return bad_request({ErrorCode::kInvalid, "tail and from contradict each other."});
  }
  if (const auto source = doors.logs(request.caller, request.id); !source) {
    return problem_response(source.error());
  }
  return LogWish{request.caller, request.id, stream == "stdout" ? api::kStdoutLog : api::kStderrLog,
                 *follow,        *tail,      from};
}

}  // namespace tangram::http
