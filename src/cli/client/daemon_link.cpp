// See daemon_link.hpp.
#include "cli/client/daemon_link.hpp"

#include <cerrno>
#include <charconv>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <boost/json/array.hpp>

#include "base/text.hpp"
#include "cli/client/job_words.hpp"
#include "cli/command/environment.hpp"
#include "http/routes/query.hpp"
#include "os/read_file.hpp"

namespace tangram::cli {
namespace {

constexpr const char* kSystemSocket = "/run/tangram/tangram.sock";

// A file is preferable to TANGRAM_TOKEN, because child processes inherit the environment.
Result<std::string> own_token() {
  const std::string token = environment("TANGRAM_TOKEN");
  const std::string path = environment("TANGRAM_TOKEN_FILE");
  if (!token.empty() || path.empty()) return token;
  constexpr std::size_t kLongest = 4'096;
  auto text = os::read_file(path, "token file (TANGRAM_TOKEN_FILE)", kLongest);
  if (!text) return text;
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return text;
}

}  // namespace

std::optional<std::uint64_t> parse_job_id(const std::string& typed) {
  std::uint64_t id = 0;
  const char* end = typed.data() + typed.size();
  const auto [stop, status] = std::from_chars(typed.data(), end, id);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return id;
}

void add_daemon_options(Verb& verb, DaemonOptions& options) {
  verb.add_option(
          "--socket", options.socket,
          cat("Address of the daemon: a path or an https:// URL (default: $TANGRAM_SOCKET or ",
              kSystemSocket, ")"))
      ->option_text("WHERE");
}

std::string socket_of(const DaemonOptions& options) {
  if (!options.socket.empty()) return options.socket;
  const std::string from_environment = environment("TANGRAM_SOCKET");
  return from_environment.empty() ? kSystemSocket : from_environment;
}

Result<http::Client> connect(const DaemonOptions& options) {
  return connect_to(socket_of(options));
}

Result<http::Client> connect_to(const std::string& address) {
  http::ClientOptions options;
  options.ca_file = environment("TANGRAM_CA_FILE");
  const auto token = own_token();
  if (!token) return std::unexpected(token.error());
  options.token = *token;
  return http::Client::open(address, options);
}

Result<boost::json::value> request_json(const DaemonOptions& options, std::string_view method,
                                        std::string_view target,
                                        const std::optional<boost::json::value>& body) {
  auto client = connect(options);
  if (!client) return std::unexpected(client.error());
  auto reply = client->request(method, target, body);
  if (!reply) return std::unexpected(reply.error());
  return std::move(reply->body);
}

Result<boost::json::array> get_all_pages(http::Client& client, std::string target,
                                         std::chrono::milliseconds timeout) {
  std::vector<boost::json::array> pages;
  std::size_t size = 0;
  while (!target.empty()) {
    auto reply = client.request("GET", target, std::nullopt, timeout);
    if (!reply) return std::unexpected(reply.error());
    if (!reply->body.is_array()) return failed("the daemon's answer is not a list.");
    pages.push_back(std::move(reply->body.get_array()));
    size += pages.back().size();
    target = std::move(reply->next);
  }
  boost::json::array all;
  all.reserve(size);
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    for (boost::json::value& each : *page) all.push_back(std::move(each));
  }
  return all;
}

RequestTarget& RequestTarget::add(std::string_view key, std::string_view value) {
  if (value.empty()) return *this;
  text_ += cat(std::exchange(next_, '&'), key, '=', http::percent_encoded(value));
  return *this;
}

Result<std::uint64_t> resolve_job(http::Client& client, const std::string& typed) {
  if (const auto id = parse_job_id(typed)) return *id;
  if (names_task(typed)) return job_of_task_word(client, typed);
  constexpr int kMaxCandidates = 100;  // the newest with this name
  const auto reply = client.request(
      "GET", cat("/v1/jobs?all=1&limit=", kMaxCandidates, "&name=", http::percent_encoded(typed)));
  if (!reply) return std::unexpected(reply.error());
  std::vector<std::string> ids;
  for (const auto& job : reply->body.as_array()) {
    ids.push_back(std::to_string(job.at("id").to_number<std::uint64_t>()));
  }
  const std::string what = cat(tangram::quoted(typed), " is not a job ID");
  if (ids.empty()) {
    return not_found(cat(what, ", and no job has this name; see `tangram ps --all`."));
  }
  return invalid(cat(what, "; names are not unique. This name belongs to ",
                     ids.size() == 1 ? "job " : "jobs ", join_words(ids), "."));
}

Result<std::vector<std::uint64_t>> resolve_jobs(http::Client& client,
                                                const std::vector<std::string>& typed) {
  std::vector<std::uint64_t> ids;
  for (const std::string& word : typed) {
    const auto id = resolve_job(client, word);
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
                                             std::chrono::milliseconds timeout) {
  const auto reply = client.request(
      "GET", cat("/v1/jobs/", id, "/wait?for=", what, "&timeout=", api::duration_text(timeout)),
      std::nullopt, timeout + http::Client::kDefaultTimeout);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 204) return std::nullopt;
  auto job = api::read_job_view(reply->body);
  if (!job) return std::unexpected(job.error());
  return std::move(*job);
}

Result<std::vector<api::GpuView>> get_gpus(http::Client& client) {
  const auto reply = client.request("GET", "/v1/gpus");
  if (!reply) return std::unexpected(reply.error());
  return read_list(reply->body, api::read_gpu_view);
}

Result<std::uint32_t> resolve_gpu(const std::vector<api::GpuView>& gpus, const std::string& typed) {
  std::vector<std::uint32_t> found;
  for (const api::GpuView& gpu : gpus) {
    if (std::to_string(gpu.index) == typed || gpu.uuid == typed) return gpu.index;
    constexpr std::string_view kForm = "GPU-";
    if (typed.size() > kForm.size() && gpu.uuid.starts_with(typed)) found.push_back(gpu.index);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return invalid(cat(tangram::quoted(typed), " matches the UUIDs of ", found.size(),
                       " GPUs; use a longer prefix."));
  }
  std::vector<std::string> indices;
  for (const api::GpuView& gpu : gpus) indices.push_back(std::to_string(gpu.index));
  return not_found(cat("GPU ", tangram::quoted(typed), ": not found; this node has ",
                       indices.size() == 1 ? "GPU " : "GPUs ", join_words(indices),
                       ". See `tangram gpus`."));
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
