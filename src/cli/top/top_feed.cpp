// See top_feed.hpp.
#include "cli/top/top_feed.hpp"

#include <algorithm>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/client/explanation_text.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr std::chrono::milliseconds kTimeout = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kBetweenAttempts = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kEventBatch{50};  // events arrive in bursts

}  // namespace

std::optional<double> TopSnapshot::frag_cost() const {
  double sum = 0;
  int count = 0;
  for (const api::GpuView& gpu : gpus) {
    if (gpu.model.empty() || !gpu.trouble.empty()) continue;
    sum += gpu.frag_cost;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

TopFeed::TopFeed(DaemonOptions daemon, std::chrono::milliseconds every)
    : daemon_(std::move(daemon)), every_(every), update_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  fetcher_ = std::thread([this] { run_fetcher(); });
  listener_ = std::thread([this] { run_listener(); });
}

TopFeed::~TopFeed() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  stop_events_.stop();
  fetcher_.join();
  listener_.join();
}

TopFeed::Update TopFeed::take() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(update_.get(), &count, sizeof count));
  const std::lock_guard lock(mutex_);
  Update update{snapshot_, std::move(reply_)};
  reply_.reset();
  return update;
}

void TopFeed::send(const TopRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  wake_.notify_all();
}

void TopFeed::notify() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(update_.get(), &one, sizeof one));
}

Result<void> TopFeed::ensure_connected() {
  if (client_) return {};
  auto client = connect(daemon_);
  if (!client) return std::unexpected(client.error());
  client_.emplace(std::move(*client));
  return {};
}

Result<TopSnapshot> TopFeed::fetch() {
  if (auto ok = ensure_connected(); !ok) return std::unexpected(ok.error());
  TopSnapshot snapshot;
  const auto status = client_->request("GET", "/v1/status", std::nullopt, kTimeout);
  if (!status) return std::unexpected(status.error());
  auto view = api::read_status_view(status->body);
  if (!view) return std::unexpected(view.error());
  snapshot.status = std::move(*view);
  const auto gpus = client_->request("GET", "/v1/gpus", std::nullopt, kTimeout);
  if (!gpus) return std::unexpected(gpus.error());
  auto gpu_views = read_list(gpus->body, api::read_gpu_view);
  if (!gpu_views) return std::unexpected(gpu_views.error());
  snapshot.gpus = std::move(*gpu_views);
  if (auto ok = fetch_jobs(snapshot); !ok) return std::unexpected(ok.error());
  snapshot.taken = now();
  return snapshot;
}

Result<std::vector<api::JobView>> TopFeed::get_jobs(const std::string& target) {
  const auto jobs = client_->request("GET", target, std::nullopt, kTimeout);
  if (!jobs) return std::unexpected(jobs.error());
  return read_list(jobs->body, api::read_job_view);
}

// Fetches the newest jobs, and if there are too many, all running ones before them.
Result<void> TopFeed::fetch_jobs(TopSnapshot& snapshot) {
  const api::StatusView& s = snapshot.status;
  const std::uint64_t active = std::uint64_t{s.running} + s.queued + s.held;
  auto jobs = get_jobs(cat("/v1/jobs?limit=", kMaxJobs));
  if (!jobs) return std::unexpected(jobs.error());
  snapshot.jobs = std::move(*jobs);
  if (active <= kMaxJobs || snapshot.jobs.size() < kMaxJobs) return {};
  auto running = get_jobs(cat("/v1/jobs?state=running&limit=", kMaxJobs));
  if (!running) return std::unexpected(running.error());
  const std::uint64_t oldest = snapshot.jobs.front().id;
  std::erase_if(*running, [&](const api::JobView& job) { return job.id >= oldest; });
  snapshot.jobs.insert(snapshot.jobs.begin(), running->begin(), running->end());
  snapshot.left_out = active - std::min<std::uint64_t>(active, snapshot.jobs.size());
  return {};
}

TopReply TopFeed::execute(const TopRequest& request) {
  const auto error = [&](const Error& e) { return TopReply{request, false, e.message}; };
  if (auto ok = ensure_connected(); !ok) return error(ok.error());
  const bool cancels = request.action == TopRequest::Action::kCancel;
  const std::string target =
      cancels ? cat("/v1/jobs/", request.job, "/cancel") : cat("/v1/explain/", request.job);
  const auto reply = client_->request(cancels ? "POST" : "GET", target, std::nullopt, kTimeout);
  if (!reply) return error(reply.error());
  if (cancels) return {request, true, cat("job ", request.job, " is cancelled")};
  const auto explanation = api::read_explanation(reply->body);
  if (!explanation) return error(explanation.error());
  Output out(false, true);
  print(*explanation, out);
  return {request, true, out.text()};
}

bool TopFeed::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, time, [this] { return ending_; });
}

void TopFeed::run_fetcher() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    std::optional<TopRequest> request;
    if (!requests_.empty()) {
      request = requests_.front();
      requests_.pop_front();
    }
    event_pending_ = false;
    lock.unlock();
    std::optional<TopReply> reply;
    if (request) reply = execute(*request);
    auto fetched = fetch();
    if (!fetched) client_.reset();
    lock.lock();
    if (reply) reply_ = std::move(reply);
    TopSnapshot shown = fetched ? std::move(*fetched) : *snapshot_;
    if (!fetched) shown.trouble = fetched.error().message;
    snapshot_ = std::make_shared<TopSnapshot>(std::move(shown));
    notify();
    const auto fetched_at = std::chrono::steady_clock::now();
    wake_.wait_for(lock, every_,
                   [this] { return ending_ || event_pending_ || !requests_.empty(); });
    wake_.wait_until(lock, fetched_at + kMinInterval,
                     [this] { return ending_ || !requests_.empty(); });
  }
}

void TopFeed::run_listener() {
  do {
    EventQuery query;
    query.socket = socket_of(daemon_);
    query.follow = true;
    query.stop = &stop_events_;
    static_cast<void>(follow_events(query, [this](const StreamItem&) {
      {
        const std::lock_guard lock(mutex_);
        event_pending_ = true;
      }
      wake_.notify_all();
      return !pause(kEventBatch);
    }));
  } while (!pause(kBetweenAttempts));
}

}  // namespace tangram::cli
