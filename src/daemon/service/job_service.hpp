// JobService: requests about jobs: submit, list, show, wait, logs, cancel, hold, release, requeue,
// signal and move. It decides nothing about GPUs: it checks requests, posts inputs to the engine
// and reads its rows. Used on the loop only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/runs/cgroups.hpp"
#include "daemon/views/views.hpp"
#include "http/routes/api_handlers.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Hardware;
class Dependencies;
class Limits;
class HistoryReader;
class Supervisor;

class JobService {
 public:
  JobService(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
             Supervisor& supervisor, HistoryReader& reader, const Views& views,
             const Access& access, Limits& limits, Dependencies& dependencies, Cgroups cgroups);

  // The handlers of requests about jobs; the others are empty. They refer to this object.
  [[nodiscard]] http::ApiHandlers handlers();
  // How services are moved that do not say so; for submissions from now on.
  void set_move_services(api::MoveMethod way) { move_services_ = way; }
  // Called with jobs whose rows changed, once that is durable; answers requests that wait for them.
  void on_jobs_changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Caller = http::Caller;
  template <class T>
  using Answer = http::Answer<T>;
  template <class T>
  using Reply = http::Reply<T>;
  struct Waiter {
    http::WaitFor what = http::WaitFor::kEnded;
    Caller caller;
    Reply<api::JobView> reply;
  };

  // A submission with an idempotency key that is not durable yet.
  struct PendingSubmission {
    std::string fingerprint;
    std::vector<Reply<http::ApiHandlers::Submitted>>
        repeats;  // of the same request, answered with it
  };

  void submit(const Caller& caller, const api::JobRequest& requested,
              const http::IdempotencyKey& idempotency,
              const Reply<http::ApiHandlers::Submitted>& reply);
  void jobs(const Caller& caller, const http::JobFilter& filter,
            const Reply<std::vector<api::JobView>>& reply);
  [[nodiscard]] std::vector<api::JobView> outlines(
      const Caller& caller, const std::map<std::uint64_t, store::JobRow>& rows) const;
  // Sets why a queued job waits, and adds which GPUs it cannot use because MIG mode is off.
  void add_reason_to_wait(const store::JobRow& row, bool may_read, const Views::Queue& queue,
                          api::JobView& view) const;
  [[nodiscard]] Answer<api::JobView> job(const Caller& caller, std::uint64_t id);
  void cancel(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void hold(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void release(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void requeue(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void post_event(const Caller& caller, std::uint64_t id, core::Event event,
                  const Reply<api::JobView>& reply, std::function<void(JobTable&)> edit_rows = {});
  void signal(const Caller& caller, std::uint64_t id, int signal, const Reply<void>& reply);
  void move(const Caller& caller, std::uint64_t id, const api::MoveRequest& move_request,
            const Reply<api::JobView>& reply);
  [[nodiscard]] std::shared_ptr<void> wait(const Caller& caller, std::uint64_t id,
                                           http::WaitFor what, const Reply<api::JobView>& reply);
  [[nodiscard]] Answer<http::LogSource> logs(const Caller& caller, std::uint64_t id);

  // If the request repeats an earlier one, replies as that one was or will be answered. True: the
  // request needs nothing more.
  [[nodiscard]] bool answer_if_repeated(const Caller& caller,
                                        const http::IdempotencyKey& idempotency,
                                        const Reply<http::ApiHandlers::Submitted>& reply);
  // How the job may be moved: as it says, else as the node's default.
  [[nodiscard]] api::MoveMethod decide_move(const api::JobRequest& request) const;
  void submit_decided(const Caller& caller, const api::JobRequest& request,
                      const http::IdempotencyKey& idempotency,
                      const Reply<http::ApiHandlers::Submitted>& reply);
  // The answer to a repeated submission that became `job`.
  [[nodiscard]] http::ApiHandlers::Submitted replayed(std::uint64_t job) const;
  // New jobs that are submitted together: one, or the tasks of an array.
  struct NewJobs {
    std::vector<std::pair<store::JobRow, core::JobSpec>> jobs;
    std::optional<store::ArrayRow> array;
    api::MoveMethod move = api::MoveMethod::kNever;
    std::string failure;  // why they end at once: a dependency; empty: they do not
  };
  [[nodiscard]] NewJobs new_jobs(const Caller& caller, const api::JobRequest& request,
                                 store::JobRow row, bool dependent, bool over_limit);
  void post(NewJobs made, const http::IdempotencyKey& idempotency,
            const Reply<http::ApiHandlers::Submitted>& reply);
  void post_submission(NewJobs& made, std::size_t i, const store::SubmissionRow& submission,
                       std::function<void(const Result<void>&)> done);
  // The row of a job; find_controllable(): if the caller may control it; find_active(): if it has
  // also not ended. `action` is for the error message.
  [[nodiscard]] Answer<store::JobRow> find(const Caller& caller, std::uint64_t id);
  [[nodiscard]] Answer<store::JobRow> find_active(const Caller& caller, std::uint64_t id,
                                                  std::string_view action);
  [[nodiscard]] Answer<store::JobRow> find_controllable(const Caller& caller, std::uint64_t id,
                                                        std::string_view action);
  [[nodiscard]] Answer<void> check_servable(const api::JobRequest& request) const;
  [[nodiscard]] Answer<void> check_port(const Caller& caller, const api::JobRequest& request) const;

  boost::asio::io_context& loop_;
  Engine& engine_;
  Hardware& hardware_;
  Supervisor& supervisor_;
  HistoryReader& reader_;
  const Views& views_;
  const Access& access_;
  Limits& limits_;
  Dependencies& dependencies_;
  Cgroups cgroups_;
  api::MoveMethod move_services_ = api::MoveMethod::kNever;
  std::map<std::uint64_t, std::vector<std::weak_ptr<Waiter>>> waiters_;
  std::map<std::pair<std::uint32_t, std::string>, PendingSubmission>
      pending_submissions_;  // by uid and key
  std::map<std::uint16_t, std::uint64_t>
      pending_ports_;  // by port, of jobs that are not durable yet
};

}  // namespace tangram::daemon
