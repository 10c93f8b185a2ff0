// ArrayService: job arrays. Their tasks are jobs with IDs of their own; this shows an array,
// changes its tasks together, and releases tasks that are held because as many as may be are active
// ("%8" of its ArraySpec). A task is active from its release until its end, also while its user
// holds it or it waits for other jobs. Used on the loop only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/array_spec.hpp"
#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Limits;

class ArrayService {
 public:
  // Continues what an earlier daemon left.
  ArrayService(Engine& engine, const Access& access, Limits& limits);

  void register_handlers(http::ApiHandlers& handlers);
  // Called with jobs whose rows changed, once that is durable.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);

 private:
  template <class T>
  using Answer = http::Answer<T>;
  // An array with active tasks.
  struct Active {
    std::uint32_t most = 0;             // active tasks; 0: any number
    std::set<std::uint64_t> tasks;      // active ones
    std::set<std::uint64_t> releasing;  // those of them whose release is not durable yet
    std::set<std::uint64_t> waiting;
  };

  [[nodiscard]] Answer<store::ArrayRow> find(const http::Caller& caller, std::uint64_t id) const;
  [[nodiscard]] Answer<api::ArrayView> array(const http::Caller& caller, std::uint64_t id) const;
  void change(const http::Caller& caller, std::uint64_t id, http::ArrayAction action,
              const std::optional<api::ArrayIndices>& indices,
              const http::Reply<api::ArrayView>& reply);
  // The tasks of the array that the action applies to now.
  [[nodiscard]] Answer<std::vector<std::uint64_t>> affected(
      const store::ArrayRow& row, http::ArrayAction action,
      const std::optional<api::ArrayIndices>& indices) const;
  [[nodiscard]] bool applies(http::ArrayAction action, std::uint64_t job) const;
  void post(const http::Caller& caller, const std::vector<std::uint64_t>& jobs,
            http::ArrayAction action, const std::function<void(const Result<void>&)>& done);
  [[nodiscard]] std::uint8_t holds_of(std::uint64_t job) const;
  Active& entry_of(std::uint64_t array);
  void release_waiting(Active& array);

  Engine& engine_;
  const Access& access_;
  Limits& limits_;
  std::map<std::uint64_t, Active> arrays_;
};

}  // namespace tangram::daemon
