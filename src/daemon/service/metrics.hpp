// Metrics: the /metrics endpoint, in the Prometheus text format. Counters and histograms are fed by
// the engine's hooks; gauges are computed per request (node_metrics.hpp). Names and labels are a
// contract (docs/metrics.md, checked by a test); nothing of a user's job is a label.
// Used on the loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/access/access.hpp"
#include "daemon/engine/engine_hooks.hpp"
#include "http/routes/api_handlers.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Endpoints;
class Engine;
class Hardware;
class Views;

class Metrics {
 public:
  Metrics(boost::asio::io_context& loop, const Engine& engine, const Hardware& hardware,
          const Endpoints& endpoints, const Views& views, const Access& access);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  Metrics(Metrics&&) = delete;
  Metrics& operator=(Metrics&&) = delete;

  void register_handlers(http::ApiHandlers& handlers);
  // To be installed with Engine::set_hooks(); valid as long as this object.
  [[nodiscard]] EngineHooks engine_hooks();
  // Counts a result of a hook; see Hooks::OnResult.
  void count_hook(std::string_view hook, std::string_view result);
  [[nodiscard]] std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
