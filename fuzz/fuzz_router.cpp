// Fuzzes the router: method, target, headers and body, one per line with the body last, are passed
// to answer() with handlers that all succeed. Every request must get exactly one response,
// successful or a problem, that is valid JSON and does not contain the secret of the token.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>

#include "http/routes/routes.hpp"

namespace {

namespace api = tangram::api;
namespace http = tangram::http;

constexpr std::string_view kSecret = "tangram_1_hidden";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Handlers that succeed with a default value, by reply or at once.
template <class T, class... Args>
std::function<void(const http::Caller&, Args..., http::Reply<T>)> replies() {
  return [](const http::Caller&, Args..., const http::Reply<T>& reply) { reply(T{}); };
}
template <class T, class... Args>
std::function<http::Answer<T>(const http::Caller&, Args...)> returns() {
  return [](const http::Caller&, Args...) -> http::Answer<T> { return T(); };
}

void add_job_handlers(http::ApiHandlers& handlers) {
  handlers.submit = [](const http::Caller&, const api::JobRequest& request,
                       const http::IdempotencyKey& key,
                       const http::Reply<http::ApiHandlers::Submitted>& reply) {
    if (request.command.empty() || key.key.size() > 255) std::abort();
    reply(http::ApiHandlers::Submitted{1, key.key.size() % 2 == 1, {}});
  };
  handlers.jobs = [](const http::Caller&, const http::JobFilter& filter,
                     const http::Reply<std::vector<api::JobView>>& reply) {
    if (filter.limit > 1'001) std::abort();
    reply(std::vector<api::JobView>(2));
  };
  handlers.job = returns<api::JobView, std::uint64_t>();
  handlers.cancel = replies<api::JobView, std::uint64_t>();
  handlers.hold = replies<api::JobView, std::uint64_t>();
  handlers.release = replies<api::JobView, std::uint64_t>();
  handlers.signal = [](const http::Caller&, std::uint64_t, int signal,
                       const http::Reply<void>& reply) {
    if (signal < 1 || signal > 64) std::abort();
    reply({});
  };
  handlers.move = replies<api::JobView, std::uint64_t, const api::MoveRequest&>();
  handlers.wait = [](const http::Caller&, std::uint64_t, http::WaitFor,
                     const http::Reply<api::JobView>& reply) -> std::shared_ptr<void> {
    reply(api::JobView{});
    return nullptr;
  };
  handlers.logs = returns<http::LogSource, std::uint64_t>();
  handlers.explain = replies<api::Explanation, std::uint64_t>();
  handlers.what_if = returns<api::WhatIf, const api::WhatIfQuestion&>();
}

void add_lease_handlers(http::ApiHandlers& handlers) {
  handlers.acquire =
      [](const http::Caller&, const api::LeaseRequest&,
         const http::Reply<http::ApiHandlers::Acquired>& reply) -> std::shared_ptr<void> {
    reply(http::ApiHandlers::Acquired{});
    return nullptr;
  };
  handlers.leases = returns<std::vector<api::LeaseView>, const http::LeaseFilter&>();
  handlers.lease = returns<api::LeaseView, std::uint64_t>();
  handlers.leases_by_key =
      [](const http::Caller&, const std::string& key,
         std::optional<std::uint32_t>) -> http::Answer<std::vector<api::LeaseView>> {
    if (key.empty()) std::abort();
    if (key.size() % 2 == 0) return std::vector<api::LeaseView>(1);
    return std::unexpected(http::problem(404, "no-such-lease", "none."));
  };
  handlers.release_by_key =
      [](const http::Caller&, const std::string& key, std::optional<std::uint32_t>,
         const http::Reply<std::optional<http::ApiHandlers::Released>>& reply) {
        if (key.empty()) std::abort();
        reply(key.size() % 2 == 0 ? std::optional(http::ApiHandlers::Released{}) : std::nullopt);
      };
  handlers.renew =
      replies<api::LeaseView, std::uint64_t, std::optional<std::chrono::milliseconds>>();
  handlers.release_lease = replies<http::ApiHandlers::Released, std::uint64_t>();
}

void add_node_handlers(http::ApiHandlers& handlers) {
  handlers.gpus = returns<std::vector<api::GpuView>>();
  handlers.change_gpu = replies<api::GpuView, std::uint32_t, http::GpuAction>();
  handlers.tuning = returns<api::TuningView>();
  handlers.tune = replies<api::TuningView, const api::TuningChange&>();
  handlers.status = returns<api::StatusView>();
  handlers.defrag = [](const http::Caller&, std::size_t most,
                       const http::Reply<api::DefragPlan>& reply) {
    if (most < 1 || most > 100) std::abort();
    reply(api::DefragPlan{.steps = std::vector<api::DefragStepView>(most)});
  };
  handlers.history = [](const http::Caller&, const http::HistoryFilter& filter,
                        const http::Reply<api::HistoryPage>& reply) {
    if (filter.limit < 1 || filter.limit > 1'000) std::abort();
    reply(api::HistoryPage{.jobs = std::vector<api::JobView>(1), .next = 1});
  };
  handlers.usage = replies<api::Usage, const http::UsageFilter&>();
  handlers.last_event = returns<std::uint64_t>();
  handlers.events = replies<http::EventPage, std::uint64_t, std::size_t>();
  handlers.metrics = returns<std::string>();
  handlers.ready = [] { return http::Answer<std::vector<std::string>>(); };
}

http::ApiHandlers make_handlers() {
  http::ApiHandlers handlers;
  handlers.authenticate = [](std::string_view secret) -> http::Answer<http::Caller> {
    if (secret != kSecret) return std::unexpected(http::problem(401, "unauthorized", "unknown."));
    return http::Caller{};
  };
  add_job_handlers(handlers);
  add_lease_handlers(handlers);
  add_node_handlers(handlers);
  handlers.create_token = replies<api::TokenView, const api::TokenRequest&>();
  handlers.tokens = returns<std::vector<api::TokenView>>();
  handlers.revoke_token = replies<api::TokenView, std::uint64_t>();
  return handlers;
}

void check(const http::Response& response, bool may_contain_secret) {
  if (response.status < 200 || response.status > 499) std::abort();  // no 501: every handler is set
  if (response.status >= 400 && response.type != http::kProblemType) std::abort();
  if (!may_contain_secret && response.body.find(kSecret) != std::string::npos) std::abort();
  if (response.type != http::kJsonType && response.type != http::kProblemType) return;
  boost::json::error_code wrong;
  static_cast<void>(boost::json::parse(response.body, wrong));
  if (wrong) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const http::ApiHandlers kHandlers = make_handlers();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  http::Request request;
  const std::string_view all = rest;
  request.method = take_line(rest);
  auto target = http::parse_target(take_line(rest));
  if (!target) return 0;
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.content_type = take_line(rest);
  const std::string_view authorization = take_line(rest);
  request.authorization = authorization;
  request.idempotency_key = take_line(rest);
  request.last_event_id = take_line(rest);
  request.body = rest;
  // A secret outside the Authorization header may be echoed in the response.
  const auto before = static_cast<std::size_t>(authorization.data() - all.data());
  const bool may_contain_secret =
      all.substr(0, before).find(kSecret) != std::string_view::npos ||
      all.substr(before + authorization.size()).find(kSecret) != std::string_view::npos;
  if (size % 2 == 0) request.caller.address = "192.0.2.7:1";
  http::Outcome outcome = http::answer(kHandlers, request);
  if (const auto* response = std::get_if<http::Response>(&outcome))
    check(*response, may_contain_secret);
  if (auto* deferred = std::get_if<http::DeferredResponse>(&outcome)) {
    int answers = 0;
    const auto handle = deferred->start([&](const http::Response& response) {
      check(response, may_contain_secret);
      ++answers;
    });
    if (answers != 1) std::abort();
  }
  return 0;
}
