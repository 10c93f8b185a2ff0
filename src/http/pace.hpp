// Pace: how often one guest may come. Each has a bucket of visits that fills again as time goes by.
// One rule: who is turned away pays nothing, so he gets in again as soon as others would.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace tangram::http {

class Pace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  Pace(double burst, double per_second) : burst_(burst), per_second_(per_second) {}

  // Whether he may now; if so, it counts.
  [[nodiscard]] bool take(const std::string& guest, Time now = std::chrono::steady_clock::now());

 private:
  struct Bucket {
    double visits = 0;  // that were made and not forgotten yet
    Time at{};
  };
  void forget(Time now);

  double burst_;
  double per_second_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace tangram::http
