// See daemon_link.hpp.
#include "cli/daemon_link.hpp"

#include <cerrno>
#include <charconv>
#include <poll.h>
#include <unistd.h>

#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/environment.hpp"
#include "http/query.hpp"

namespace tangram::cli {
namespace {

constexpr const char* kSystemSocket = "/run/tangram/tangram.sock";

std::optional<std::uint64_t> number_in(const std::string& typed) {
  std::uint64_t id = 0;
  const char* end = typed.data() + typed.size();
  const auto [stop, status] = std::from_chars(typed.data(), end, id);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return id;
}

}  // namespace

void add_daemon_options(CLI::App& verb, DaemonOptions& options) {
  verb.add_option(
          "--socket", options.socket,
          cat("Where the daemon listens (default: $TANGRAM_SOCKET, or ", kSystemSocket, ")"))
      ->option_text("PATH");
}

std::string socket_of(const DaemonOptions& options) {
  if (!options.socket.empty()) return options.socket;
  const std::string from_environment = environment("TANGRAM_SOCKET");
  return from_environment.empty() ? kSystemSocket : from_environment;
}

Result<http::Client> connect(const DaemonOptions& options) {
  return http::Client::open(socket_of(options));
}

Result<std::uint64_t> job_named(http::Client& client, const std::string& typed) {
  if (const auto id = number_in(typed)) return *id;
  const auto reply =
      client.request("GET", cat("/v1/jobs?all=1&most=1000&name=", http::percent_encoded(typed)));
  if (!reply) return std::unexpected(reply.error());
  std::vector<std::string> ids;
  for (const auto& job : reply->body.as_array()) {
    ids.push_back(std::to_string(job.at("id").to_number<std::uint64_t>()));
  }
  const std::string what = cat(tangram::quoted(typed), " is not the number of a job");
  if (ids.empty()) {
    return not_found(cat(what, ", and no job has this name; see `tangram ps --all`."));
  }
  return invalid(cat(what, "; names are not unique. ", ids.size() == 1 ? "Job " : "Jobs ",
                     join_words(ids), ids.size() == 1 ? " has" : " have", " this name."));
}

Result<std::vector<std::uint64_t>> jobs_named(http::Client& client,
                                              const std::vector<std::string>& typed) {
  std::vector<std::uint64_t> ids;
  for (const std::string& word : typed) {
    const auto id = job_named(client, word);
    if (!id) return std::unexpected(id.error());
    ids.push_back(*id);
  }
  return ids;
}

Result<api::JobView> get_job(http::Client& client, std::uint64_t id) {
  const auto reply = client.request("GET", cat("/v1/jobs/", id));
  if (!reply) return std::unexpected(reply.error());
  return api::read_job_view(reply->body);
}

Result<std::optional<api::JobView>> wait_for(http::Client& client, std::uint64_t id,
                                             std::string_view what,
                                             std::chrono::milliseconds patience) {
  const auto reply = client.request(
      "GET", cat("/v1/jobs/", id, "/wait?for=", what, "&timeout=", api::duration_text(patience)),
      std::nullopt, patience + http::Client::kPatience);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 204) return std::nullopt;
  auto job = api::read_job_view(reply->body);
  if (!job) return std::unexpected(job.error());
  return std::move(*job);
}

int exit_code_of(const api::JobView& job) {
  if (job.exit_signal) return 128 + *job.exit_signal;
  if (job.exit_code) return *job.exit_code;
  constexpr int kNeverRan = 125;
  return job.state == api::JobState::kCompleted ? 0 : kNeverRan;
}

bool write_now(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd one{descriptor, POLLOUT, 0};  // a terminal that another program made non-blocking
      ::poll(&one, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace tangram::cli
