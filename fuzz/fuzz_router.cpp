// Fuzzes the router: method, target, headers and body, one per line and the body last, through
// answer() with doors that lead nowhere or say yes. Whatever comes, there is one answer with a
// status that HTTP knows, refusals are problems, and no secret is in any of them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/routes.hpp"

namespace {

namespace http = tangram::http;

constexpr std::string_view kSecret = "tangram_1_hidden";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

http::Doors doors() {
  http::Doors d;
  d.authenticate = [](std::string_view secret) -> http::Answer<http::Caller> {
    if (secret != kSecret) return std::unexpected(http::problem(401, "unauthorized", "unknown."));
    return http::Caller{};
  };
  d.submit = [](const http::Caller&, const tangram::api::JobRequest& request,
                const http::Once& once, const http::Reply<http::Doors::Submitted>& reply) {
    if (request.command.empty() || once.key.size() > 255) std::abort();
    reply(http::Doors::Submitted{1, false});
  };
  d.jobs = [](const http::Caller&, const http::JobFilter& filter) {
    if (filter.most > 10'001) std::abort();
    return std::vector<tangram::api::JobView>(2);
  };
  d.lease_by_key = [](const http::Caller&,
                      const std::string& key) -> http::Answer<tangram::api::LeaseView> {
    if (key.empty()) std::abort();
    return std::unexpected(http::problem(404, "no-such-lease", "none."));
  };
  d.events = [](const http::Caller&, std::uint64_t, std::size_t) { return http::EventPage{}; };
  d.tune = [](const http::Caller&, const tangram::api::TuningChange&,
              const http::Reply<tangram::api::TuningView>& reply) { reply({}); };
  return d;
}

void check(const http::Response& response, bool shown) {
  if (response.status < 200 || response.status > 599) std::abort();
  if (response.status >= 400 && response.type != http::kProblemType) std::abort();
  if (!shown && response.body.find(kSecret) != std::string::npos) std::abort();
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
    if (answers > 1) std::abort();
  }
  return 0;
}
