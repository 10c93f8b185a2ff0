// TestDaemon: for tests of the server, the client and the command line. A real HTTP server, with an
// event loop in a thread of its own, and fake handlers; the test sets the state of jobs. As in the
// real daemon, all state is used on the loop only: use on_loop().
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <stdlib.h>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "api/run_spec.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "http/routes/exchange.hpp"
#include "http/server/server.hpp"
#include "tests/support/http/fake_handlers.hpp"
#include "tests/support/http/temp_folder.hpp"

namespace tangram::http::testing {

// Polls `condition` until it holds; false if it does not within a minute.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class TestDaemon {
 public:
  struct Waiting {
    WaitFor what;
    std::weak_ptr<int> handle;
    Reply<api::JobView> reply;
  };
  struct Job {
    api::JobView view;
    LogSource logs;
    std::vector<Waiting> waiting;
    std::vector<int> signals;
  };

  explicit TestDaemon(const ServerOptions& options = {}) : options_(options) {
    std::signal(SIGPIPE, SIG_IGN);  // as in the daemon and its clients
    options_.socket = (folder_.path() / "socket").string();
    thread_ = std::thread([this] { loop_.run(); });
    open();
  }
  ~TestDaemon() {
    close();
    work_.reset();
    thread_.join();
  }
  TestDaemon(const TestDaemon&) = delete;
  TestDaemon& operator=(const TestDaemon&) = delete;
  TestDaemon(TestDaemon&&) = delete;
  TestDaemon& operator=(TestDaemon&&) = delete;

  [[nodiscard]] std::string socket() const { return options_.socket; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  Server& server() { return *server_; }

  template <class F>
  auto on_loop(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto result = task.get_future();
    boost::asio::post(loop_, [&task] { task(); });
    return result.get();
  }

  [[nodiscard]] std::string url(std::string_view host = "localhost") {
    return on_loop([&] { return cat("https://", host, ':', server_->tcp_port()); });
  }

  void open() {
    on_loop([this] {
      auto server = Server::open(loop_, options_, make_handlers());
      CHECK(server.has_value());
      server_ = std::move(*server);
    });
  }
  void close() {
    on_loop([this] { server_.reset(); });
  }

  std::uint64_t add(api::JobView view) {
    return on_loop([&] { return insert(std::move(view)); });
  }
  void change(std::uint64_t id, const std::function<void(Job&)>& edit) {
    on_loop([&] {
      edit(jobs_.at(id));
      notify_waiting(jobs_.at(id));
    });
  }
  // Adds a run to the job and returns its empty folder.
  std::filesystem::path add_run(std::uint64_t id) {
    return on_loop([&] {
      LogSource& logs = jobs_.at(id).logs;
      const auto run =
          folder_.path() / "jobs" / std::to_string(id) / std::to_string(logs.folders.size());
      std::filesystem::create_directories(run);
      logs.folders.push_back(run.string());
      return run;
    });
  }
  void finish(std::uint64_t id, api::JobState state, std::optional<int> code) {
    change(id, [&](Job& job) {
      job.view.state = state;
      job.view.exit_code = code;
      job.view.ended = api::WallTime(std::chrono::hours(1));
      job.logs.is_complete = true;
    });
  }
  std::size_t size() {
    return on_loop([&] { return jobs_.size(); });
  }
  Job job(std::uint64_t id) {
    return on_loop([&] { return jobs_.at(id); });
  }
  std::size_t waiting(std::uint64_t id) {
    return on_loop([&] {
      std::size_t alive = 0;
      for (const Waiting& w : jobs_.at(id).waiting) alive += w.handle.expired() ? 0 : 1;
      return alive;
    });
  }
  // Called on the loop with each submitted job.
  std::function<void(Job&)> on_submit;
  FakeEvents events;
  FakeLeases leases;
  FakeTokens tokens;
  FakeMoves moves;
  std::vector<std::string> audit;  // "POST /v1/jobs 201 by 1000"
  api::TuningView tuning;
  bool ready = true;
  std::vector<std::string> troubles;
  std::vector<std::uint32_t> unresolved_uids;  // users whose lookup has not finished
  std::uint64_t unsynced_job = 0;  // the job with changes that are not durable yet; 0: none
  std::vector<std::weak_ptr<std::function<void()>>> durability_waiters;
  std::vector<api::GpuView> gpus;
  api::StatusView status;

 private:
  std::uint64_t insert(api::JobView view) {
    view.id = ++last_;
    jobs_[view.id] = {std::move(view), {}, {}, {}};
    return last_;
  }
  static bool is_reached(const Job& job, WaitFor what) {
    const auto state = job.view.state;
    return is_terminal(state) || (what == WaitFor::kRunning && state == api::JobState::kRunning);
  }
  static void notify_waiting(Job& job) {
    std::vector<Waiting> waiting = std::move(job.waiting);
    job.waiting.clear();
    for (Waiting& w : waiting) {
      if (w.handle.expired()) continue;
      if (is_reached(job, w.what))
        w.reply(job.view);
      else
        job.waiting.push_back(std::move(w));
    }
  }
  api::Problem no_such_job(std::uint64_t id) {
    return problem(404, "no-such-job", cat("job ", id, ": not found"));
  }

  ApiHandlers make_handlers() {
    ApiHandlers handlers;
    add_submit(handlers);
    add_jobs(handlers);
    add_changes(handlers);
    add_explanations(handlers);
    add_durability(handlers);
    add_node(handlers);
    events.register_handlers(handlers);
    leases.register_handlers(handlers);
    tokens.register_handlers(handlers);
    moves.register_handlers(handlers);
    handlers.on_answered = [this](const Caller& caller, std::string_view method,
                                  std::string_view target, int code, std::string_view what) {
      audit.push_back(
          cat(method, ' ', target, ' ', code, " by ", caller.uid, what.empty() ? "" : ": ", what));
    };
    return handlers;
  }

  void add_submit(ApiHandlers& handlers) {
    handlers.submit = [this](const Caller& caller, const api::JobRequest& request,
                             const IdempotencyKey& key,
                             const Reply<ApiHandlers::Submitted>& reply) {
      if (request.profile == "9g.90gb") {
        reply(std::unexpected(problem(422, "unknown-profile", "no GPU has '9g.90gb'.")));
        return;
      }
      api::JobView view;
      view.request = request;
      view.profile = request.profile.empty() ? "1g.5gb" : request.profile;
      view.uid = caller.uid;
      view.user = "someone";
      if (const auto known = submitted_by_key_.find(key.key);
          !key.key.empty() && known != submitted_by_key_.end()) {
        if (known->second.first == key.fingerprint) {
          reply(ApiHandlers::Submitted{known->second.second, true, api::MoveMethod::kNever});
          return;
        }
        reply(std::unexpected(problem(422, "key-reused", "the key was used before.")));
        return;
      }
      const std::uint64_t id = insert(view);
      submitted_by_key_[key.key] = {key.fingerprint, id};
      if (on_submit) on_submit(jobs_.at(id));
      reply(ApiHandlers::Submitted{id, false, request.move.way.value_or(api::MoveMethod::kNever)});
    };
  }

  void add_jobs(ApiHandlers& handlers) {
    handlers.jobs = [this](const Caller&, const JobFilter& filter,
                           const Reply<std::vector<api::JobView>>& reply) {
      std::vector<api::JobView> views;
      for (const auto& [id, job] : jobs_) {
        if (!filter.all && is_terminal(job.view.state)) continue;
        if (filter.name && *filter.name != job.view.request.name) continue;
        if (filter.profile && *filter.profile != job.view.profile) continue;
        if (filter.state && *filter.state != job.view.state) continue;
        if (filter.before && id >= *filter.before) continue;
        views.push_back(job.view);
        views.back().outline = true;
      }
      if (views.size() > filter.limit) {
        views.erase(views.begin(), views.end() - static_cast<std::ptrdiff_t>(filter.limit));
      }
      reply(views);
    };
    handlers.job = [this](const Caller&, std::uint64_t id) -> Answer<api::JobView> {
      if (!jobs_.contains(id)) return std::unexpected(no_such_job(id));
      return jobs_.at(id).view;
    };
    handlers.array = [](const Caller&, std::uint64_t id) -> Answer<api::ArrayView> {
      return std::unexpected(problem(404, "not-found", cat("array ", id, ": not found.")));
    };
    handlers.logs = [this](const Caller&, std::uint64_t id) -> Answer<LogSource> {
      if (!jobs_.contains(id)) return std::unexpected(no_such_job(id));
      return jobs_.at(id).logs;
    };
  }

  void add_changes(ApiHandlers& handlers) {
    handlers.cancel = [this](const Caller&, std::uint64_t id, const Reply<api::JobView>& reply) {
      if (!jobs_.contains(id)) {
        reply(std::unexpected(no_such_job(id)));
        return;
      }
      Job& job = jobs_.at(id);
      job.view.state = api::JobState::kCancelled;
      job.logs.is_complete = true;
      reply(job.view);
      notify_waiting(job);
    };
    handlers.signal = [this](const Caller&, std::uint64_t id, int signal,
                             const Reply<void>& reply) {
      if (!jobs_.contains(id)) {
        reply(std::unexpected(no_such_job(id)));
        return;
      }
      jobs_.at(id).signals.push_back(signal);
      reply({});
    };
    handlers.wait = [this](const Caller&, std::uint64_t id, WaitFor what,
                           const Reply<api::JobView>& reply) -> std::shared_ptr<void> {
      if (!jobs_.contains(id)) {
        reply(std::unexpected(no_such_job(id)));
        return nullptr;
      }
      auto handle = std::make_shared<int>(0);
      jobs_.at(id).waiting.push_back({what, handle, reply});
      notify_waiting(jobs_.at(id));
      return handle;
    };
    handlers.hold = change_to(api::JobState::kHeld);
    handlers.release = change_to(api::JobState::kQueued);
  }

  void add_explanations(ApiHandlers& handlers) {
    handlers.explain = [this](const Caller&, std::uint64_t id,
                              const Reply<api::Explanation>& reply) {
      if (!jobs_.contains(id)) {
        reply(std::unexpected(no_such_job(id)));
        return;
      }
      api::Explanation explanation;
      explanation.job = id;
      explanation.profile = jobs_.at(id).view.profile;
      reply(explanation);
    };
    handlers.what_if = [](const Caller&,
                          const api::WhatIfQuestion& question) -> Answer<api::WhatIf> {
      api::WhatIf what_if;
      what_if.profile = question.profile;
      what_if.ahead = static_cast<std::uint32_t>(question.gpu_memory_mib.value_or(0));
      return what_if;
    };
  }

  void add_durability(ApiHandlers& handlers) {
    handlers.identity_known = [this](const Caller& caller) {
      return std::ranges::find(unresolved_uids, caller.uid) == unresolved_uids.end();
    };
    handlers.is_durable = [this](std::optional<std::uint64_t> job) {
      return !unsynced_job || (job && *job != unsynced_job);
    };
    handlers.on_durable = [this](std::function<void()> notify) -> std::shared_ptr<void> {
      auto waiter = std::make_shared<std::function<void()>>(std::move(notify));
      durability_waiters.push_back(waiter);
      return waiter;
    };
  }

  std::function<void(const Caller&, std::uint64_t, Reply<api::JobView>)> change_to(
      api::JobState state) {
    return [this, state](const Caller&, std::uint64_t id, const Reply<api::JobView>& reply) {
      if (!jobs_.contains(id)) return reply(std::unexpected(no_such_job(id)));
      jobs_.at(id).view.state = state;
      reply(jobs_.at(id).view);
    };
  }

  void add_node(ApiHandlers& handlers) {
    handlers.gpus = [this](const Caller&) { return gpus; };
    handlers.status = [this](const Caller&) { return status; };
    handlers.change_gpu = [this](const Caller&, std::uint32_t gpu, GpuAction action,
                                 const Reply<api::GpuView>& reply) {
      if (gpu >= gpus.size()) {
        reply(std::unexpected(problem(404, "no-such-gpu", "GPU not found")));
        return;
      }
      gpus[gpu].cordoned = action != GpuAction::kUncordon;
      gpus[gpu].draining = action == GpuAction::kDrain;
      reply(gpus[gpu]);
    };
    handlers.tuning = [this](const Caller&) { return tuning; };
    handlers.tune = [this](const Caller&, const api::TuningChange& change,
                           const Reply<api::TuningView>& reply) {
      tuning.threshold = change.threshold.value_or(tuning.threshold);
      reply(tuning);
    };
    handlers.history = [](const Caller&, const HistoryFilter& filter,
                          const Reply<api::HistoryPage>& reply) {
      api::HistoryPage page;
      page.jobs.resize(std::min<std::size_t>(filter.limit, 3));
      page.next = filter.before;
      reply(page);
    };
    handlers.usage = [](const Caller&, const UsageFilter& filter, const Reply<api::Usage>& reply) {
      api::Usage usage;
      usage.rows.push_back({filter.user.value_or("all"), "1g.5gb", 2, 0.5, 0.25});
      reply(usage);
    };
    handlers.metrics = [](const Caller&) { return std::string("tangram_up 1\n"); };
    handlers.ready = [this]() -> Answer<std::vector<std::string>> {
      if (ready) return troubles;
      return std::unexpected(problem(503, "not-ready", "store is loading"));
    };
  }

  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  std::thread thread_;
  TempFolder folder_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::string, std::pair<std::string, std::uint64_t>> submitted_by_key_;
  std::uint64_t last_ = 0;
};

inline void append(const std::filesystem::path& file, std::string_view text) {
  std::ofstream stream(file, std::ios::app | std::ios::binary);
  stream << text;
}

}  // namespace tangram::http::testing
