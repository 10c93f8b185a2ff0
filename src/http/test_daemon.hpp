// For tests of the server, the client and the command line: a daemon that is nothing but doors,
// with a real socket and a real loop in a thread of its own. Jobs are what the test says they are.
// One rule: everything about jobs happens on the loop, as in the real daemon.
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
#include "http/exchange.hpp"
#include "http/server.hpp"
#include "http/test_doors.hpp"
#include "http/test_place.hpp"

namespace tangram::http::testing {

// Looks again and again until it is so; false if it is not within a minute.
template <class So>
[[nodiscard]] bool eventually(So so) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!so()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // between looks
  }
  return true;
}

class TestDaemon {
 public:
  struct Waiting {
    WaitFor what;
    std::weak_ptr<int> token;
    Reply<api::JobView> reply;
  };
  struct Job {
    api::JobView view;
    LogSource logs;
    std::vector<Waiting> waiting;
    std::vector<int> signals;
  };

  explicit TestDaemon(const ServerOptions& options = {}) : options_(options) {
    std::signal(SIGPIPE, SIG_IGN);  // as the daemon and its clients have it
    options_.socket = (place_.path() / "socket").string();
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
  [[nodiscard]] std::filesystem::path folder() const { return place_.path(); }
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
      auto server = Server::open(loop_, options_, doors());
      CHECK(server.has_value());
      server_ = std::move(*server);
    });
  }
  void close() {
    on_loop([this] { server_.reset(); });
  }

  std::uint64_t add(api::JobView view) {
    return on_loop([&] { return take(std::move(view)); });
  }
  void change(std::uint64_t id, const std::function<void(Job&)>& edit) {
    on_loop([&] {
      edit(jobs_.at(id));
      tell(jobs_.at(id));
    });
  }
  // A further run of the job, with an empty folder of its own.
  std::filesystem::path add_run(std::uint64_t id) {
    return on_loop([&] {
      LogSource& logs = jobs_.at(id).logs;
      const auto run =
          place_.path() / "jobs" / std::to_string(id) / std::to_string(logs.folders.size());
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
      job.logs.over = true;
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
      for (const Waiting& w : jobs_.at(id).waiting) alive += w.token.expired() ? 0 : 1;
      return alive;
    });
  }
  // What happens to a job right after it was submitted; on the loop.
  std::function<void(Job&)> on_submit;
  TestEvents events;
  TestLeases leases;
  TestTokens tokens;
  TestMoves moves;
  std::vector<std::string> audit;  // "POST /v1/jobs 201 by 1000"
  api::TuningView tuning;
  bool ready = true;
  std::vector<std::uint32_t> unknown;  // users of whom nobody knows yet who they are
  // The job whose news are not on the disk yet; 0: none. And who was told to wait.
  std::uint64_t on_its_way = 0;
  std::vector<std::weak_ptr<std::function<void()>>> disk_waiters;
  std::vector<api::GpuView> gpus;
  api::StatusView status;

 private:
  std::uint64_t take(api::JobView view) {
    view.id = ++last_;
    jobs_[view.id] = {std::move(view), {}, {}, {}};
    return last_;
  }
  static bool is_so(const Job& job, WaitFor what) {
    const auto state = job.view.state;
    return is_over(state) || (what == WaitFor::kRunning && state == api::JobState::kRunning);
  }
  static void tell(Job& job) {
    std::vector<Waiting> waiting = std::move(job.waiting);
    job.waiting.clear();
    for (Waiting& w : waiting) {
      if (w.token.expired()) continue;
      if (is_so(job, w.what))
        w.reply(job.view);
      else
        job.waiting.push_back(std::move(w));
    }
  }
  api::Problem none(std::uint64_t id) {
    return problem(404, "no-such-job", cat("there is no job ", id, "."));
  }

  Doors doors() {
    Doors d;
    d.submit = [this](const Caller& caller, const api::JobRequest& request, const Once& once,
                      const Reply<Doors::Submitted>& reply) {
      if (request.profile == "9g.90gb") {
        return reply(std::unexpected(problem(422, "unknown-profile", "no GPU has '9g.90gb'.")));
      }
      api::JobView view;
      view.request = request;
      view.profile = request.profile.empty() ? "1g.5gb" : request.profile;
      view.uid = caller.uid;
      view.user = "someone";
      if (const auto known = once_.find(once.key); !once.key.empty() && known != once_.end()) {
        if (known->second.first == once.fingerprint) {
          return reply(Doors::Submitted{known->second.second, true});
        }
        return reply(std::unexpected(problem(422, "key-reused", "the key was used before.")));
      }
      const std::uint64_t id = take(view);
      once_[once.key] = {once.fingerprint, id};
      if (on_submit) on_submit(jobs_.at(id));
      reply(Doors::Submitted{id, false});
    };
    d.jobs = [this](const Caller&, const JobFilter& filter,
                    const Reply<std::vector<api::JobView>>& reply) {
      std::vector<api::JobView> views;
      for (const auto& [id, job] : jobs_) {
        if (!filter.all && is_over(job.view.state)) continue;
        if (filter.name && *filter.name != job.view.request.name) continue;
        if (filter.profile && *filter.profile != job.view.profile) continue;
        if (filter.state && *filter.state != job.view.state) continue;
        if (filter.before && id >= *filter.before) continue;
        views.push_back(job.view);
        views.back().outline = true;
      }
      if (views.size() > filter.most) {
        views.erase(views.begin(), views.end() - static_cast<std::ptrdiff_t>(filter.most));
      }
      reply(views);
    };
    d.job = [this](const Caller&, std::uint64_t id) -> Answer<api::JobView> {
      if (!jobs_.contains(id)) return std::unexpected(none(id));
      return jobs_.at(id).view;
    };
    d.cancel = [this](const Caller&, std::uint64_t id, const Reply<api::JobView>& reply) {
      if (!jobs_.contains(id)) return reply(std::unexpected(none(id)));
      Job& job = jobs_.at(id);
      job.view.state = api::JobState::kCancelled;
      job.logs.over = true;
      reply(job.view);
      tell(job);
    };
    d.signal = [this](const Caller&, std::uint64_t id, int signal, const Reply<void>& reply) {
      if (!jobs_.contains(id)) return reply(std::unexpected(none(id)));
      jobs_.at(id).signals.push_back(signal);
      reply({});
    };
    d.wait = [this](const Caller&, std::uint64_t id, WaitFor what,
                    const Reply<api::JobView>& reply) -> std::shared_ptr<void> {
      if (!jobs_.contains(id)) {
        reply(std::unexpected(none(id)));
        return nullptr;
      }
      auto token = std::make_shared<int>(0);
      jobs_.at(id).waiting.push_back({what, token, reply});
      tell(jobs_.at(id));
      return token;
    };
    d.logs = [this](const Caller&, std::uint64_t id) -> Answer<LogSource> {
      if (!jobs_.contains(id)) return std::unexpected(none(id));
      return jobs_.at(id).logs;
    };
    d.hold = change_to(api::JobState::kHeld);
    d.release = change_to(api::JobState::kQueued);
    d.explain = [this](const Caller&, std::uint64_t id, const Reply<api::Explanation>& reply) {
      if (!jobs_.contains(id)) return reply(std::unexpected(none(id)));
      api::Explanation explanation;
      explanation.job = id;
      explanation.profile = jobs_.at(id).view.profile;
      reply(explanation);
    };
    d.what_if = [](const Caller&, const api::WhatIfQuestion& question) -> Answer<api::WhatIf> {
      api::WhatIf what_if;
      what_if.profile = question.profile;
      what_if.ahead = static_cast<std::uint32_t>(question.gpu_memory_mib.value_or(0));
      return what_if;
    };
    d.is_settled = [this](const Caller& caller) {
      return std::ranges::find(unknown, caller.uid) == unknown.end();
    };
    d.is_lasting = [this](std::optional<std::uint64_t> job) {
      return !on_its_way || (job && *job != on_its_way);
    };
    d.when_lasting = [this](std::function<void()> ring) -> std::shared_ptr<void> {
      auto waits = std::make_shared<std::function<void()>>(std::move(ring));
      disk_waiters.push_back(waits);
      return waits;
    };
    add_node(d);
    events.fill(d);
    leases.fill(d);
    tokens.fill(d);
    moves.fill(d);
    d.answered = [this](const Caller& caller, std::string_view method, std::string_view target,
                        int code, std::string_view what) {
      audit.push_back(
          cat(method, ' ', target, ' ', code, " by ", caller.uid, what.empty() ? "" : ": ", what));
    };
    return d;
  }

  std::function<void(const Caller&, std::uint64_t, Reply<api::JobView>)> change_to(
      api::JobState state) {
    return [this, state](const Caller&, std::uint64_t id, const Reply<api::JobView>& reply) {
      if (!jobs_.contains(id)) return reply(std::unexpected(none(id)));
      jobs_.at(id).view.state = state;
      reply(jobs_.at(id).view);
    };
  }

  void add_node(Doors& d) {
    d.gpus = [this](const Caller&) { return gpus; };
    d.status = [this](const Caller&) { return status; };
    d.change_gpu = [this](const Caller&, std::uint32_t gpu, GpuDeed deed,
                          const Reply<api::GpuView>& reply) {
      if (gpu >= gpus.size()) {
        return reply(std::unexpected(problem(404, "no-such-gpu", "there is no such GPU.")));
      }
      gpus[gpu].cordoned = deed != GpuDeed::kUncordon;
      gpus[gpu].draining = deed == GpuDeed::kDrain;
      reply(gpus[gpu]);
    };
    d.tuning = [this](const Caller&) { return tuning; };
    d.tune = [this](const Caller&, const api::TuningChange& change,
                    const Reply<api::TuningView>& reply) {
      tuning.threshold = change.threshold.value_or(tuning.threshold);
      reply(tuning);
    };
    d.history = [](const Caller&, const HistoryFilter& filter,
                   const Reply<api::HistoryPage>& reply) {
      api::HistoryPage page;
      page.jobs.resize(std::min<std::size_t>(filter.most, 3));
      page.next = filter.before;
      reply(page);
    };
    d.usage = [](const Caller&, const UsageFilter& filter, const Reply<api::Usage>& reply) {
      api::Usage usage;
      usage.rows.push_back({filter.user.value_or("all"), "1g.5gb", 2, 0.5, 0.25});
      reply(usage);
    };
    d.metrics = [](const Caller&) { return std::string("tangram_up 1\n"); };
    d.ready = [this]() -> Answer<void> {
      if (ready) return {};
      return std::unexpected(problem(503, "not-ready", "the store is being read."));
    };
  }

  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  std::thread thread_;
  TestPlace place_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::string, std::pair<std::string, std::uint64_t>> once_;
  std::uint64_t last_ = 0;
};

inline void append(const std::filesystem::path& file, std::string_view text) {
  std::ofstream stream(file, std::ios::app | std::ios::binary);
  stream << text;
}

}  // namespace tangram::http::testing
