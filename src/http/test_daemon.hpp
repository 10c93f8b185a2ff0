// For tests of the server, the client and the command line: a daemon that is nothing but doors,
// with a real socket and a real loop in a thread of its own. Jobs are what the test says they are.
// One rule: everything about jobs happens on the loop, as in the real daemon.
#pragma once

#include <algorithm>
#include <chrono>
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
    std::string name = std::filesystem::temp_directory_path() / "tangram-http-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    options_.socket = (folder_ / "socket").string();
    thread_ = std::thread([this] { loop_.run(); });
    open();
  }
  ~TestDaemon() {
    close();
    work_.reset();
    thread_.join();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TestDaemon(const TestDaemon&) = delete;
  TestDaemon& operator=(const TestDaemon&) = delete;
  TestDaemon(TestDaemon&&) = delete;
  TestDaemon& operator=(TestDaemon&&) = delete;

  [[nodiscard]] std::string socket() const { return options_.socket; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_; }

  template <class F>
  auto on_loop(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto result = task.get_future();
    boost::asio::post(loop_, [&task] { task(); });
    return result.get();
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
      const auto run = folder_ / "jobs" / std::to_string(id) / std::to_string(logs.folders.size());
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
    d.submit = [this](const Caller& caller, const api::JobRequest& request,
                      const Reply<std::uint64_t>& reply) {
      if (request.profile == "9g.90gb") {
        return reply(std::unexpected(problem(422, "unknown-profile", "no GPU has '9g.90gb'.")));
      }
      api::JobView view;
      view.request = request;
      view.profile = request.profile.empty() ? "1g.5gb" : request.profile;
      view.uid = caller.uid;
      view.user = "someone";
      const std::uint64_t id = take(view);
      if (on_submit) on_submit(jobs_.at(id));
      reply(id);
    };
    d.jobs = [this](const Caller&, const JobFilter& filter) -> Answer<std::vector<api::JobView>> {
      std::vector<api::JobView> views;
      for (const auto& [id, job] : jobs_) {
        if (!filter.all && is_over(job.view.state)) continue;
        if (filter.name && *filter.name != job.view.request.name) continue;
        if (filter.state && *filter.state != job.view.state) continue;
        views.push_back(job.view);
        views.back().outline = true;
      }
      return views;
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
    d.gpus = [this](const Caller&) { return gpus; };
    d.status = [this](const Caller&) { return status; };
    return d;
  }

  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  std::thread thread_;
  std::filesystem::path folder_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::map<std::uint64_t, Job> jobs_;
  std::uint64_t last_ = 0;
};

inline void append(const std::filesystem::path& file, std::string_view text) {
  std::ofstream stream(file, std::ios::app | std::ios::binary);
  stream << text;
}

}  // namespace tangram::http::testing
