// See top_feed.hpp.
#include "cli/top_feed.hpp"

#include <algorithm>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/explanation_text.hpp"
#include "cli/job_text.hpp"

namespace tangram::cli {
namespace {

constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kBetweenAttempts = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kGathering{50};  // events come in bursts

}  // namespace

std::optional<double> TopPicture::frag_cost() const {
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
    : daemon_(std::move(daemon)), every_(every), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  fetcher_ = std::thread([this] { fetch_on(); });
  listener_ = std::thread([this] { listen_on(); });
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

TopFeed::News TopFeed::take() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(news_.get(), &count, sizeof count));
  const std::lock_guard lock(mutex_);
  News news{picture_, std::move(answer_)};
  answer_.reset();
  return news;
}

void TopFeed::ask(const TopWish& wish) {
  {
    const std::lock_guard lock(mutex_);
    wishes_.push_back(wish);
  }
  wake_.notify_all();
}

void TopFeed::tell() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(news_.get(), &one, sizeof one));
}

Result<void> TopFeed::connect_again() {
  if (client_) return {};
  auto client = connect(daemon_);
  if (!client) return std::unexpected(client.error());
  client_.emplace(std::move(*client));
  return {};
}

Result<TopPicture> TopFeed::fetch() {
  if (auto ok = connect_again(); !ok) return std::unexpected(ok.error());
  TopPicture picture;
  const auto status = client_->request("GET", "/v1/status", std::nullopt, kPatience);
  if (!status) return std::unexpected(status.error());
  auto view = api::read_status_view(status->body);
  if (!view) return std::unexpected(view.error());
  picture.status = std::move(*view);
  const auto gpus = client_->request("GET", "/v1/gpus", std::nullopt, kPatience);
  if (!gpus) return std::unexpected(gpus.error());
  auto gpu_views = read_list(gpus->body, api::read_gpu_view);
  if (!gpu_views) return std::unexpected(gpu_views.error());
  picture.gpus = std::move(*gpu_views);
  if (auto ok = fetch_jobs(picture); !ok) return std::unexpected(ok.error());
  picture.taken = now();
  return picture;
}

Result<std::vector<api::JobView>> TopFeed::jobs_at(const std::string& target) {
  const auto jobs = client_->request("GET", target, std::nullopt, kPatience);
  if (!jobs) return std::unexpected(jobs.error());
  return read_list(jobs->body, api::read_job_view);
}

// Lists are the newest; where they are too long, what runs comes first.
Result<void> TopFeed::fetch_jobs(TopPicture& picture) {
  const api::StatusView& s = picture.status;
  const std::uint64_t there = std::uint64_t{s.running} + s.queued + s.held;
  auto jobs = jobs_at(cat("/v1/jobs?limit=", kMostJobs));
  if (!jobs) return std::unexpected(jobs.error());
  picture.jobs = std::move(*jobs);
  if (there <= kMostJobs || picture.jobs.size() < kMostJobs) return {};
  auto running = jobs_at(cat("/v1/jobs?state=running&limit=", kMostJobs));
  if (!running) return std::unexpected(running.error());
  const std::uint64_t oldest = picture.jobs.front().id;
  std::erase_if(*running, [&](const api::JobView& job) { return job.id >= oldest; });
  picture.jobs.insert(picture.jobs.begin(), running->begin(), running->end());
  picture.left_out = there - std::min<std::uint64_t>(there, picture.jobs.size());
  return {};
}

TopAnswer TopFeed::answer(const TopWish& wish) {
  TopAnswer answer{wish, false, ""};
  if (auto ok = connect_again(); !ok) {
    answer.text = ok.error().message;
    return answer;
  }
  const bool cancels = wish.deed == TopWish::Deed::kCancel;
  const auto reply =
      cancels
          ? client_->request("POST", cat("/v1/jobs/", wish.job, "/cancel"), std::nullopt, kPatience)
          : client_->request("GET", cat("/v1/explain/", wish.job), std::nullopt, kPatience);
  if (!reply) {
    answer.text = reply.error().message;
    return answer;
  }
  answer.ok = true;
  if (cancels) {
    answer.text = cat("job ", wish.job, " is cancelled");
    return answer;
  }
  const auto explanation = api::read_explanation(reply->body);
  if (!explanation) return {wish, false, explanation.error().message};
  Output out(false, true);
  print(*explanation, out);
  answer.text = out.text();
  return answer;
}

// True: it is to end.
bool TopFeed::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, time, [this] { return ending_; });
}

void TopFeed::fetch_on() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    std::optional<TopWish> wish;
    if (!wishes_.empty()) {
      wish = wishes_.front();
      wishes_.pop_front();
    }
    rung_ = false;
    lock.unlock();
    std::optional<TopAnswer> answered;
    if (wish) answered = answer(*wish);
    auto picture = fetch();
    if (!picture) client_.reset();
    lock.lock();
    if (answered) answer_ = std::move(answered);
    TopPicture shown = picture ? std::move(*picture) : *picture_;
    if (!picture) shown.trouble = picture.error().message;
    picture_ = std::make_shared<TopPicture>(std::move(shown));
    tell();
    const auto asked = std::chrono::steady_clock::now();
    wake_.wait_for(lock, every_, [this] { return ending_ || rung_ || !wishes_.empty(); });
    wake_.wait_until(lock, asked + kBetweenLooks, [this] { return ending_ || !wishes_.empty(); });
  }
}

void TopFeed::listen_on() {
  do {
    EventWish wish;
    wish.socket = socket_of(daemon_);
    wish.follow = true;
    wish.stop = &stop_events_;
    static_cast<void>(follow_events(wish, [this](const EventNews&) {
      {
        const std::lock_guard lock(mutex_);
        rung_ = true;
      }
      wake_.notify_all();
      return !pause(kGathering);
    }));
  } while (!pause(kBetweenAttempts));
}

}  // namespace tangram::cli
