// See lease_wait.hpp.
#include "cli/lease_wait.hpp"

#include <fmt/format.h>

#include "api/problem.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"

namespace tangram::cli {
namespace {

std::string target_of(const api::LeaseRequest& request) {
  RequestTarget target("/v1/leases");
  target.add("key", request.key);
  if (request.uid) target.add("uid", std::to_string(*request.uid));
  return target.text();
}

}  // namespace

bool is_for_now(const Result<http::ClientReply>& reply) {
  if (!reply || reply->status != 409) return false;
  const auto problem = api::read_problem(reply->body);
  return problem &&
         (problem->type == "urn:tangram:no-room" || problem->type == "urn:tangram:not-ready");
}

LeaseTeller::LeaseTeller(std::string socket, const api::LeaseRequest& request)
    : socket_(std::move(socket)), target_(target_of(request)), thread_([this] { watch(); }) {}

LeaseTeller::~LeaseTeller() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LeaseTeller::watch() {
  std::chrono::seconds pause{1};
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return ending_; })) {
    lock.unlock();
    look();
    lock.lock();
    pause = std::chrono::seconds(10);
  }
}

// A daemon that does not answer is somebody else's to complain about.
void LeaseTeller::look() {
  auto client = connect_to(socket_);
  const auto reply = client ? client->request("GET", target_, std::nullopt, std::chrono::seconds(5))
                            : std::unexpected(client.error());
  const auto leases =
      reply ? read_list(reply->body, api::read_lease_view) : std::unexpected(reply.error());
  if (!leases || leases->empty() || leases->front().state != api::LeaseState::kWaiting) return;
  const api::LeaseView& lease = leases->front();
  const std::string text =
      cat("lease ", lease.id, " is waiting", lease.reason.empty() ? "" : ": ", lease.reason);
  if (std::exchange(said_, text) != text) {
    fmt::print(stderr, "tangram: {}\n", harmless(text));
  }
}

}  // namespace tangram::cli
