// See probe.hpp.
#include "shim/probe.hpp"

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

void Probe::ask(ClientId client, std::int64_t id) {
  asked_.push_back({client, id});
  if (!child_) begin();
}

void Probe::refuse(ClientId client, std::int64_t id, const std::string& why_not) const {
  answer_(client, id, false, why_not);
}

void Probe::begin() {
  if (spec_.probe_command.empty()) {
    conclude(false, "the run has no probe command.");
    return;
  }
  Result<Pipe> pipe = make_output_pipe(spec_);
  if (!pipe) {
    conclude(false, pipe.error().message);
    return;
  }
  auto child = start(launch(pipe->write.get()));
  if (!child) {
    conclude(false, child.error().reason);
    return;
  }
  child_ = *std::move(child);
  output_ = std::move(pipe->read);
  tail_.clear();
  is_late_ = false;
  deadline_ = boot_now() + spec_.probe_timeout;
}

Launch Probe::launch(int out) const {
  return {.spec = spec_, .command = spec_.probe_command, .out = out, .err = out};
}

void Probe::watch(PollSet& polls) {
  if (output_.ok()) polls.watch(output_.get(), POLLIN, [this] { read_output(); });
}

std::optional<Moment> Probe::deadline() const {
  if (!child_ || is_late_) return std::nullopt;
  return deadline_;
}

void Probe::on_time(Moment now) {
  if (!child_ || is_late_ || now < deadline_) return;
  is_late_ = true;
  // Not reaped yet, so the numbers are still its own; before its setsid() it has no group.
  if (::kill(-child_->pid, SIGKILL) != 0) ::kill(child_->pid, SIGKILL);
}

// A bounded part per turn, of which the end is kept.
void Probe::read_output() {
  std::array<char, 16'384> buffer{};
  for (int turn = 0; turn < 8 && output_.ok(); ++turn) {
    const ssize_t count = ::read(output_.get(), buffer.data(), buffer.size());
    if (count < 0) return;
    if (count == 0) output_ = files::Descriptor(-1);
    tail_.append(buffer.data(), static_cast<std::size_t>(count));
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
}

std::string Probe::last_line() const {
  const std::size_t end = tail_.find_last_not_of("\r\n");
  if (end == std::string::npos) return {};
  const std::size_t newline = tail_.rfind('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return printable(tail_.substr(begin, end - begin + 1)).substr(0, kLongestDetail);
}

void Probe::ended(int status) {
  const Child child = *std::exchange(child_, std::nullopt);
  read_output();
  output_ = files::Descriptor(-1);
  if (const auto failure = read_failure(child, launch(-1))) {
    conclude(false, failure->reason);
    return;
  }
  const std::string line = last_line();
  const bool ok = !is_late_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (ok) {
    conclude(true, line.empty() ? "exit status 0" : line);
    return;
  }
  const std::string how = is_late_ ? cat("no answer within ", spec_.probe_timeout.count(), " ms")
                          : WIFSIGNALED(status) ? cat("ended by signal ", WTERMSIG(status))
                                                : cat("exit status ", WEXITSTATUS(status));
  conclude(false, line.empty() ? how : cat(how, ": ", line));
}

void Probe::conclude(bool ok, const std::string& detail) {
  for (const Asked& asked : std::exchange(asked_, {})) {
    answer_(asked.client, asked.id, ok, detail);
  }
}

}  // namespace tangram::shim
