// Metrics: the node in numbers, in the text format of Prometheus. What is so now is read when
// somebody asks; what happened is counted as the engine tells it. One rule: names and labels are a
// contract (docs/metrics.md, held to the program by a test); nothing of a user's job is a label.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/access.hpp"
#include "daemon/measures.hpp"
#include "http/doors.hpp"

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

  void fill(http::Doors& doors);
  [[nodiscard]] Measures measures();
  [[nodiscard]] std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::daemon
