// See hooks.hpp.
#include "daemon/hooks/hooks.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <mutex>
#include <optional>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/hooks/hook_program.hpp"
#include "daemon/views/views.hpp"
#include "http/client/client.hpp"

namespace tangram::daemon {
namespace {

// The last event up to which everything was delivered; empty while there are no hooks.
constexpr const char* kProgress = "hooks";
constexpr std::size_t kEventsAtOnce = 1'000;

bool is_end_of_job(const store::EventRow& event) {
  return event.job && (event.kind == "job.completed" || event.kind == "job.failed" ||
                       event.kind == "job.cancelled" || event.kind == "job.refused");
}

std::vector<std::string> environment_of(const api::JobView& job) {
  std::vector<std::string> variables = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      cat("TANGRAM_JOB_ID=", job.id), cat("TANGRAM_JOB_STATE=", api::name_of(job.state)),
      cat("TANGRAM_JOB_USER=", job.user)};
  if (job.exit_code) variables.push_back(cat("TANGRAM_EXIT_CODE=", *job.exit_code));
  return variables;
}

std::string error_of_status(int status) {
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status) == 0 ? "" : cat("exited with ", WEXITSTATUS(status));
  }
  return cat("ended by signal ", WTERMSIG(status));
}

// Blocks.
std::string post(const HookOptions& options, const boost::json::value& body) {
  const auto url = split_url(options.url);
  if (!url) return url.error().message;
  auto client = http::Client::open(url->server, {.ca_file = options.ca_file});
  if (!client) return client.error().message;
  const auto reply = client->exchange("POST", url->target, body, Hooks::kTimeout);
  if (!reply) return reply.error().message;
  return reply->status / 100 == 2 ? "" : cat("answered with status ", reply->status);
}

}  // namespace

struct Hooks::Delivery {
  explicit Delivery(boost::asio::io_context& loop) : timer(loop) {}
  std::uint64_t event = 0;
  std::uint64_t job = 0;
  Kind kind = Kind::kCommand;
  std::vector<std::string> environment;
  boost::json::value body;
  pid_t pid = 0;  // of a command that runs
  bool is_timed_out = false;
  boost::asio::steady_timer timer;

  [[nodiscard]] const char* name() const { return kind == Kind::kCommand ? "command" : "url"; }
};

struct Hooks::LoopHandle {
  std::mutex mutex;
  Hooks* owner = nullptr;  // null once it was destroyed

  // Calls `then` on the loop, unless the owner is gone by then.
  void post(const std::shared_ptr<LoopHandle>& self, std::function<void(Hooks&)> then) {
    const std::scoped_lock lock(mutex);
    if (owner == nullptr) return;
    boost::asio::post(owner->loop_, [self, then = std::move(then)] {
      if (self->owner != nullptr) then(*self->owner);
    });
  }
};

Hooks::Hooks(boost::asio::io_context& loop, Engine& engine, const Views& views, HookOptions options,
             OnResult on_result)
    : loop_(loop),
      engine_(engine),
      views_(views),
      options_(std::move(options)),
      on_result_(std::move(on_result)),
      handle_(std::make_shared<LoopHandle>()) {
  handle_->owner = this;
}

Hooks::~Hooks() {
  const std::scoped_lock lock(handle_->mutex);
  handle_->owner = nullptr;
}

void Hooks::start() {
  last_event_ = engine_.store().last_event();
  const auto stored = engine_.facts().find(kProgress);
  const bool was_on = stored != engine_.facts().end() && !stored->second.empty();
  if (!options_.any() || !was_on) {
    store_progress();
    return;
  }
  const std::string& text = stored->second;
  std::uint64_t after = 0;
  std::from_chars(text.data(), text.data() + text.size(), after);
  while (true) {
    const auto events = engine_.store().events(after, kEventsAtOnce);
    if (!events) spdlog::error("hooks: ends of jobs are not reported: {}", events.error().message);
    if (!events || events->empty()) break;
    for (const store::EventRow& event : *events) add(event);
    after = events->back().id;
  }
  start_waiting();
  store_progress();
}

void Hooks::set(HookOptions options) {
  const bool was_on = options_.any();
  options_ = std::move(options);
  if (was_on == options_.any()) return;
  for (const store::EventRow& event : std::exchange(waiting_, {})) unfinished_.erase(event.id);
  store_progress();
}

void Hooks::on_events(const std::vector<store::EventRow>& events) {
  for (const store::EventRow& event : events) {
    last_event_ = std::max(last_event_, event.id);
    if (options_.any()) add(event);
  }
  start_waiting();
}

void Hooks::add(const store::EventRow& event) {
  if (!is_end_of_job(event)) return;
  if (waiting_.size() >= kMaxWaiting) {
    spdlog::error("hooks: the end of job {} is not reported: {} are waiting", *event.job,
                  waiting_.size());
    if (!options_.command.empty()) on_result_("command", "dropped");
    if (!options_.url.empty()) on_result_("url", "dropped");
    return;
  }
  unfinished_[event.id] = 0;
  waiting_.push_back(event);
}

void Hooks::start_waiting() {
  const std::size_t needed =
      (options_.command.empty() ? 0U : 1U) + (options_.url.empty() ? 0U : 1U);
  while (!waiting_.empty() && running_ + needed <= kMaxRunning) {
    const store::EventRow event = std::move(waiting_.front());
    waiting_.pop_front();
    int& deliveries = unfinished_[event.id];
    deliveries = 1;  // until both are started
    for (const Kind kind : {Kind::kCommand, Kind::kUrl}) {
      const bool is_on = kind == Kind::kCommand ? !options_.command.empty() : !options_.url.empty();
      if (!is_on) continue;
      ++deliveries;
      start_delivery(event, kind);
    }
    end_event(event.id);
  }
}

void Hooks::start_delivery(const store::EventRow& event, Kind kind) {
  const auto delivery = std::make_shared<Delivery>(loop_);
  delivery->event = event.id;
  delivery->job = *event.job;
  delivery->kind = kind;
  ++running_;
  const store::JobRow* recent = engine_.records().job(*event.job);
  const auto stored = recent == nullptr ? engine_.store().job(*event.job)
                                        : Result<std::optional<store::JobRow>>(*recent);
  if (!stored || !*stored) {
    finish(delivery, stored ? "the job is not in the store any more" : stored.error().message);
    return;
  }
  const api::JobView view = views_.outline(**stored, true);
  delivery->environment = environment_of(view);
  delivery->body = api::to_json(view);
  delivery->timer.expires_after(kTimeout);
  delivery->timer.async_wait(
      [handle = handle_, delivery](const boost::system::error_code& stopped) {
        if (!stopped && handle->owner != nullptr) handle->owner->on_timeout(delivery);
      });
  if (kind == Kind::kCommand) {
    run_command(delivery);
  } else {
    post_to_url(delivery);
  }
}

bool Hooks::run_thread(std::function<void()> work) {
  try {
    std::thread(std::move(work)).detach();  // it may hang, also at the end of the daemon
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Hooks::run_command(const std::shared_ptr<Delivery>& delivery) {
  HookProgram program{.command = options_.command,
                      .environment = delivery->environment,
                      .input = cat(boost::json::serialize(delivery->body), "\n")};
  ++spawning_;
  const bool is_started = run_thread([handle = handle_, delivery, program = std::move(program)] {
    const Result<pid_t> pid = spawn_hook(program);
    handle->post(handle, [delivery, pid](Hooks& hooks) { hooks.on_spawned(delivery, pid); });
  });
  if (!is_started) on_spawned(delivery, failed("no thread is available"));
}

void Hooks::on_spawned(const std::shared_ptr<Delivery>& delivery, const Result<pid_t>& pid) {
  --spawning_;
  std::optional<int> status;
  if (const auto at = pid ? ended_early_.find(*pid) : ended_early_.end();
      at != ended_early_.end()) {
    status = at->second;
    ended_early_.erase(at);
  }
  if (spawning_ == 0) ended_early_.clear();
  if (!pid || status) {
    finish(delivery, pid ? error_of_status(*status) : pid.error().message);
    return;
  }
  delivery->pid = *pid;
  children_[*pid] = delivery;
  if (delivery->is_timed_out) ::kill(-*pid, SIGKILL);
}

void Hooks::on_child_ended(pid_t pid, int status) {
  const auto at = children_.find(pid);
  if (at == children_.end()) {
    if (spawning_ > 0) ended_early_[pid] = status;
    return;
  }
  const auto delivery = at->second;
  children_.erase(at);
  ::kill(-pid, SIGKILL);  // what it has left behind in its session
  finish(delivery, error_of_status(status));
}

void Hooks::post_to_url(const std::shared_ptr<Delivery>& delivery) {
  const bool is_started = run_thread([handle = handle_, delivery, options = options_] {
    const std::string error = post(options, delivery->body);
    handle->post(handle, [delivery, error](Hooks& hooks) { hooks.finish(delivery, error); });
  });
  if (!is_started) finish(delivery, "no thread is available");
}

// The place of the delivery is free when its process or thread has ended.
void Hooks::on_timeout(const std::shared_ptr<Delivery>& delivery) {
  delivery->is_timed_out = true;
  if (delivery->pid > 0 && children_.contains(delivery->pid)) ::kill(-delivery->pid, SIGKILL);
}

void Hooks::finish(const std::shared_ptr<Delivery>& delivery, const std::string& error) {
  delivery->timer.cancel();
  const char* result = "ok";
  if (delivery->is_timed_out) {
    result = "timeout";
    spdlog::error("hooks: {} for job {}: did not end within {} s", delivery->name(), delivery->job,
                  kTimeout.count());
  } else if (!error.empty()) {
    result = "failed";
    spdlog::error("hooks: {} for job {}: {}", delivery->name(), delivery->job, error);
  }
  on_result_(delivery->name(), result);
  --running_;
  end_event(delivery->event);
  // Posted: this may be within start_waiting().
  boost::asio::post(loop_, [handle = handle_] {
    if (handle->owner != nullptr) handle->owner->start_waiting();
  });
}

void Hooks::end_event(std::uint64_t event) {
  const auto at = unfinished_.find(event);
  if (at == unfinished_.end() || --at->second > 0) return;
  unfinished_.erase(at);
  store_progress();
}

void Hooks::store_progress() {
  const std::uint64_t done = unfinished_.empty() ? last_event_ : unfinished_.begin()->first - 1;
  const auto at = engine_.facts().find(kProgress);
  const std::string stored = at == engine_.facts().end() ? "" : at->second;
  const std::string text = options_.any() ? std::to_string(done) : "";
  if (text == stored) return;
  engine_.post(Input{.event = core::WakeUp{}, .edit_rows = [text](JobTable& records) {
                       records.set_fact(kProgress, text);
                     }});
}

}  // namespace tangram::daemon
