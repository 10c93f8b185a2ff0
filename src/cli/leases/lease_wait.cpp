// See lease_wait.hpp.
#include "cli/leases/lease_wait.hpp"

#include <fmt/format.h>

#include "api/problem.hpp"
#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"

namespace tangram::cli {
namespace {

std::string target_of(const api::LeaseRequest& request) {
  RequestTarget target("/v1/leases");
  target.add("key", request.key);
  if (request.uid) target.add("uid", std::to_string(*request.uid));
  return target.text();
}

}  // namespace

bool is_temporary_refusal(const Result<http::ClientReply>& reply) {
  if (!reply || reply->status != 409) return false;
  const auto problem = api::read_problem(reply->body);
  return problem &&
         (problem->type == "urn:tangram:no-room" || problem->type == "urn:tangram:not-ready");
}

LeaseStatusPrinter::LeaseStatusPrinter(std::string socket, const api::LeaseRequest& request)
    : socket_(std::move(socket)), target_(target_of(request)), thread_([this] { run(); }) {}

LeaseStatusPrinter::~LeaseStatusPrinter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LeaseStatusPrinter::run() {
  std::chrono::seconds pause{1};
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return ending_; })) {
    lock.unlock();
    print_state();
    lock.lock();
    pause = std::chrono::seconds(10);
  }
}

// Ignores a daemon that does not answer: the request for the lease itself reports it.
void LeaseStatusPrinter::print_state() {
  auto client = connect_to(socket_);
  const auto reply = client ? client->request("GET", target_, std::nullopt, std::chrono::seconds(5))
                            : std::unexpected(client.error());
  const auto leases =
      reply ? read_list(reply->body, api::read_lease_view) : std::unexpected(reply.error());
  if (!leases || leases->empty() || leases->front().state != api::LeaseState::kWaiting) return;
  const api::LeaseView& lease = leases->front();
  const std::string text =
      cat("lease ", lease.id, " is waiting", lease.reason.empty() ? "" : ": ", lease.reason);
  if (std::exchange(printed_, text) != text) {
    fmt::print(stderr, "tangram: {}\n", terminal_safe(text));
  }
}

}  // namespace tangram::cli
