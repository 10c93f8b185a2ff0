// See command_probe.hpp.
#include "shim/command_probe.hpp"

#include <array>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr std::size_t kTailBytes = 4'096;
constexpr std::size_t kLongestDetail = 512;

}  // namespace

void CommandProbe::request(ClientId client, std::int64_t id) {
  requesters_.push_back({client, id});
  if (!child_) start_probe();
}

void CommandProbe::refuse(ClientId client, std::int64_t id, const std::string& why_not) const {
  respond_(client, id, false, why_not);
}

void CommandProbe::start_probe() {
  if (spec_.probe_command.empty()) {
    respond_all(false, "the run has no probe command.");
    return;
  }
  Result<Pipe> pipe = make_output_pipe(spec_);
  if (!pipe) {
    respond_all(false, pipe.error().message);
    return;
  }
  auto child = start_child(launch(pipe->write.get()));
  if (!child) {
    respond_all(false, child.error().reason);
    return;
  }
  child_ = *std::move(child);
  output_ = std::move(pipe->read);
  tail_.clear();
  timed_out_ = false;
  deadline_ = boot_now() + spec_.probe_timeout;
}

Launch CommandProbe::launch(int out) const {
  return {
      .spec = spec_, .command = spec_.probe_command, .out = out, .err = out, .session = session_};
}

void CommandProbe::watch(PollSet& polls) {
  if (output_.ok()) polls.watch(output_.get(), POLLIN, [this] { read_output(); });
}

std::optional<Moment> CommandProbe::deadline() const {
  if (!child_ || timed_out_) return std::nullopt;
  return deadline_;
}

void CommandProbe::on_deadline(Moment now) {
  if (!child_ || timed_out_ || now < deadline_) return;
  timed_out_ = true;
  // Not reaped yet, so its pid is not reused. Before its setsid() it has no process group.
  if (::kill(-child_->pid, SIGKILL) != 0) ::kill(child_->pid, SIGKILL);
}

// Reads a bounded amount per call; keeps the end of the output.
void CommandProbe::read_output() {
  std::array<char, 16'384> buffer{};
  for (int turn = 0; turn < 8 && output_.ok(); ++turn) {
    const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count < 0) return;
    if (count == 0) output_ = os::Descriptor(-1);
    tail_.append(buffer.data(), static_cast<std::size_t>(count));
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
}

std::string CommandProbe::last_line() const {
  const std::size_t end = tail_.find_last_not_of("\r\n");
  if (end == std::string::npos) return {};
  const std::size_t newline = tail_.rfind('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return printable(tail_.substr(begin, end - begin + 1)).substr(0, kLongestDetail);
}

void CommandProbe::on_exit(int status) {
  const Child child = *std::exchange(child_, std::nullopt);
  read_output();
  output_ = os::Descriptor(-1);
  if (const auto failure = read_failure(child, launch(-1))) {
    respond_all(false, failure->reason);
    return;
  }
  const std::string line = last_line();
  const bool ok = !timed_out_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (ok) {
    respond_all(true, line.empty() ? "exit status 0" : line);
    return;
  }
  const std::string how = timed_out_ ? cat("no answer within ", spec_.probe_timeout.count(), " ms")
                          : WIFSIGNALED(status) ? cat("ended by signal ", WTERMSIG(status))
                                                : cat("exit status ", WEXITSTATUS(status));
  respond_all(false, line.empty() ? how : cat(how, ": ", line));
}

void CommandProbe::respond_all(bool ok, const std::string& detail) {
  for (const Requester& requester : std::exchange(requesters_, {})) {
    respond_(requester.client, requester.id, ok, detail);
  }
}

}  // namespace tangram::shim
