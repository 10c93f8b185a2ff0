// Fuzzes the router: method, target, headers and body, one per line and the body last, through
// answer() with doors that all say yes. Whatever comes, there is one answer: what was asked for or
// a refusal of it, JSON that can be read again, and no secret is in any of them.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>

#include "http/routes.hpp"

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

// What is asked for, and said yes to: answers are written as JSON like those of the daemon.
template <class T, class... Asked>
std::function<void(const http::Caller&, Asked..., http::Reply<T>)> yes() {
  return [](const http::Caller&, Asked..., const http::Reply<T>& reply) { reply(T{}); };
}
template <class T, class... Asked>
std::function<http::Answer<T>(const http::Caller&, Asked...)> at_once() {
  return [](const http::Caller&, Asked...) -> http::Answer<T> { return T(); };
}

void open_doors_of_jobs(http::Doors& d) {
  d.submit = [](const http::Caller&, const api::JobRequest& request, const http::Once& once,
                const http::Reply<http::Doors::Submitted>& reply) {
    if (request.command.empty() || once.key.size() > 255) std::abort();
    reply(http::Doors::Submitted{1, once.key.size() % 2 == 1});
  };
  d.jobs = [](const http::Caller&, const http::JobFilter& filter,
              const http::Reply<std::vector<api::JobView>>& reply) {
    if (filter.most > 1'001) std::abort();
    reply(std::vector<api::JobView>(2));
  };
  d.job = at_once<api::JobView, std::uint64_t>();
  d.cancel = yes<api::JobView, std::uint64_t>();
  d.hold = yes<api::JobView, std::uint64_t>();
  d.release = yes<api::JobView, std::uint64_t>();
  d.signal = [](const http::Caller&, std::uint64_t, int signal, const http::Reply<void>& reply) {
    if (signal < 1 || signal > 64) std::abort();
    reply({});
  };
  d.move = yes<api::JobView, std::uint64_t, const api::MoveRequest&>();
  d.wait = [](const http::Caller&, std::uint64_t, http::WaitFor,
              const http::Reply<api::JobView>& reply) -> std::shared_ptr<void> {
    reply(api::JobView{});
    return nullptr;
  };
  d.logs = at_once<http::LogSource, std::uint64_t>();
  d.explain = yes<api::Explanation, std::uint64_t>();
  d.what_if = at_once<api::WhatIf, const api::WhatIfQuestion&>();
}

void open_doors_of_leases(http::Doors& d) {
  d.acquire = [](const http::Caller&, const api::LeaseRequest&,
                 const http::Reply<http::Doors::Acquired>& reply) -> std::shared_ptr<void> {
    reply(http::Doors::Acquired{});
    return nullptr;
  };
  d.leases = at_once<std::vector<api::LeaseView>, const http::LeaseFilter&>();
  d.lease = at_once<api::LeaseView, std::uint64_t>();
  d.leases_by_key = [](const http::Caller&, const std::string& key,
                       std::optional<std::uint32_t>) -> http::Answer<std::vector<api::LeaseView>> {
    if (key.empty()) std::abort();
    if (key.size() % 2 == 0) return std::vector<api::LeaseView>(1);
    return std::unexpected(http::problem(404, "no-such-lease", "none."));
  };
  d.release_by_key = [](const http::Caller&, const std::string& key, std::optional<std::uint32_t>,
                        const http::Reply<std::optional<http::Doors::Released>>& reply) {
    if (key.empty()) std::abort();
    reply(key.size() % 2 == 0 ? std::optional(http::Doors::Released{}) : std::nullopt);
  };
  d.renew = yes<api::LeaseView, std::uint64_t, std::optional<std::chrono::milliseconds>>();
  d.release_lease = yes<http::Doors::Released, std::uint64_t>();
}

void open_doors_of_the_node(http::Doors& d) {
  d.gpus = at_once<std::vector<api::GpuView>>();
  d.change_gpu = yes<api::GpuView, std::uint32_t, http::GpuDeed>();
  d.tuning = at_once<api::TuningView>();
  d.tune = yes<api::TuningView, const api::TuningChange&>();
  d.status = at_once<api::StatusView>();
  d.defrag = [](const http::Caller&, std::size_t most, const http::Reply<api::DefragPlan>& reply) {
    if (most < 1 || most > 100) std::abort();
    reply(api::DefragPlan{.steps = std::vector<api::DefragStepView>(most)});
  };
  d.history = [](const http::Caller&, const http::HistoryFilter& filter,
                 const http::Reply<api::HistoryPage>& reply) {
    if (filter.most < 1 || filter.most > 1'000) std::abort();
    reply(api::HistoryPage{.jobs = std::vector<api::JobView>(1), .next = 1});
  };
  d.usage = yes<api::Usage, const http::UsageFilter&>();
  d.last_event = at_once<std::uint64_t>();
  d.events = yes<http::EventPage, std::uint64_t, std::size_t>();
  d.metrics = at_once<std::string>();
  d.ready = [] { return http::Answer<void>(); };
}

http::Doors doors() {
  http::Doors d;
  d.authenticate = [](std::string_view secret) -> http::Answer<http::Caller> {
    if (secret != kSecret) return std::unexpected(http::problem(401, "unauthorized", "unknown."));
    return http::Caller{};
  };
  open_doors_of_jobs(d);
  open_doors_of_leases(d);
  open_doors_of_the_node(d);
  d.create_token = yes<api::TokenView, const api::TokenRequest&>();
  d.tokens = at_once<std::vector<api::TokenView>>();
  d.revoke_token = yes<api::TokenView, std::uint64_t>();
  return d;
}

void check(const http::Response& response, bool shown) {
  if (response.status < 200 || response.status > 499) std::abort();  // every door is there
  if (response.status >= 400 && response.type != http::kProblemType) std::abort();
  if (!shown && response.body.find(kSecret) != std::string::npos) std::abort();
  if (response.type != http::kJsonType && response.type != http::kProblemType) return;
  boost::json::error_code wrong;
  static_cast<void>(boost::json::parse(response.body, wrong));
  if (wrong) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const http::Doors kDoors = doors();
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
  request.once = take_line(rest);
  request.last_event = take_line(rest);
  request.body = rest;
  // Who writes his secret elsewhere than where it belongs may read it again.
  const auto before = static_cast<std::size_t>(authorization.data() - all.data());
  const bool shown =
      all.substr(0, before).find(kSecret) != std::string_view::npos ||
      all.substr(before + authorization.size()).find(kSecret) != std::string_view::npos;
  if (size % 2 == 0) request.caller.address = "192.0.2.7:1";
  http::Outcome outcome = http::answer(kDoors, request);
  if (const auto* response = std::get_if<http::Response>(&outcome)) check(*response, shown);
  if (auto* later = std::get_if<http::Later>(&outcome)) {
    int answers = 0;
    const auto token = later->ask([&](const http::Response& response) {
      check(response, shown);
      ++answers;
    });
    if (answers != 1) std::abort();
  }
  return 0;
}
