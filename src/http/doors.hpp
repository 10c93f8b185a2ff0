// Doors: what callers may ask of the daemon, as plain functions. The HTTP routes know nothing else
// of it, so they are tested with functions of a test, and the daemon knows nothing of HTTP. One
// rule: every function is called on the daemon's loop and returns at once; what takes longer
// answers through its Reply, once, on the same loop.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "api/node.hpp"
#include "api/problem.hpp"

namespace tangram::http {

// Who calls, as the kernel says (peer credentials of the socket).
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;
};

template <class T>
using Answer = std::expected<T, api::Problem>;
template <class T>
using Reply = std::function<void(Answer<T>)>;

struct JobFilter {
  bool all = false;  // those that are over too
  std::optional<std::string> user;
  std::optional<api::JobState> state;
  std::optional<std::string> name;
  std::size_t most = 10'000;  // the newest
};

// Where the output of a job lies: a folder per run, oldest first (api/run_spec.hpp names the
// files).
struct LogSource {
  std::vector<std::string> folders;
  bool over = false;  // no more will come
};

enum class WaitFor : std::uint8_t { kRunning, kOver };  // running: or over already

struct Doors {
  // Answered once the job is durable.
  std::function<void(const Caller&, const api::JobRequest&, Reply<std::uint64_t>)> submit;
  std::function<Answer<std::vector<api::JobView>>(const Caller&, const JobFilter&)> jobs;  // by id
  std::function<Answer<api::JobView>(const Caller&, std::uint64_t id)> job;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> cancel;
  std::function<void(const Caller&, std::uint64_t id, int signal, Reply<void>)> signal;
  // The reply comes when it is so; whoever drops the token is not told any more.
  std::function<std::shared_ptr<void>(const Caller&, std::uint64_t id, WaitFor,
                                      Reply<api::JobView>)>
      wait;
  std::function<Answer<LogSource>(const Caller&, std::uint64_t id)> logs;
  std::function<Answer<std::vector<api::GpuView>>(const Caller&)> gpus;
  std::function<Answer<api::StatusView>(const Caller&)> status;
};

}  // namespace tangram::http
