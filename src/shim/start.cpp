// See start.hpp.
#include "shim/start.hpp"

#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

#include "base/text.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

std::string limit_name(const api::RunSpec& spec, unsigned index) {
  return index < spec.resource_limits.size()
             ? std::next(spec.resource_limits.begin(), static_cast<std::ptrdiff_t>(index))->first
             : std::string("?");
}

std::string user_text(const api::RunSpec& spec) {
  if (!spec.user) return "the job's user";
  return cat("uid ", spec.user->uid, " with gid ", spec.user->gid);
}

std::string reason_of(const ChildFailure& failure, const Launch& launch) {
  const std::string because = cat(": ", errno_text(failure.error), ". ");
  const api::RunSpec& spec = launch.spec;
  const std::string directory = quoted(spec.directory);
  const std::string limit = quoted(limit_name(spec, failure.limit));
  switch (failure.step) {
    case Step::kSession:
      return cat("cannot create a session for the job", because);
    case Step::kKeyring:
      return cat("cannot create a session keyring for the job", because,
                 "Its limits are kernel.keys.root_maxkeys and root_maxbytes, see keyrings(7).");
    case Step::kCgroup:
      return cat("cannot enter the run's cgroup ", quoted(spec.cgroup), because,
                 "The shim must be allowed to write its cgroup.procs.");
    case Step::kSessionLimits:
      return cat("cannot set the resource limits and the niceness of the PAM session", because,
                 "See the PAM service \"tangram\".");
    case Step::kStreams:
      return cat("cannot connect the job's output to its logs", because);
    case Step::kUser:
      return cat("cannot change to ", user_text(spec), because);
    case Step::kPrivileges:
      return cat("cannot drop the shim's privileges", because, "Nothing was run.");
    case Step::kRelativeDirectory:
      return cat("cannot enter the directory ", directory,
                 ": it is not absolute. Use a path that begins with '/'.");
    case Step::kDirectory:
      return cat("cannot enter the directory ", directory, because,
                 "Use one that exists and that the job's user may enter.");
    case Step::kUnknownLimit:
      return cat("cannot set the resource limit ", limit,
                 ": unknown name. Use the names of setrlimit(2) in lower case, without "
                 "RLIMIT_.");
    case Step::kLimit:
      return cat(
          "cannot set the resource limit ", limit, because,
          "It must not exceed the daemon's hard limit or that of the PAM session, nor its soft "
          "value its hard value.");
    case Step::kOutputFile:  // output_failure_text()
    case Step::kExecute:
      break;
  }
  return cat("cannot execute ", quoted(launch.command.front()), because,
             "Check the command and its PATH.");
}

}  // namespace

std::string output_failure_text(const ChildFailure& failure, const api::RunSpec& spec,
                                const std::string& path) {
  if (failure.step == Step::kOutputFile) {
    return cat("cannot open the output file ", quoted(path), ": ", errno_text(failure.error),
               ". Its directory must exist, and the job's user must be allowed to write the file.");
  }
  const std::vector<std::string> command = {path};
  return cat("cannot open the output file ", quoted(path), ": ",
             reason_of(failure, {.spec = spec, .command = command}));
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed(cat("cannot create a pipe: ", errno_text(errno), "."));
  Pipe pipe{os::Descriptor(ends[0]), os::Descriptor(ends[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);  // only this end; the job's end may block
  return pipe;
}

Result<Pipe> make_output_pipe(const api::RunSpec& spec) {
  Result<Pipe> pipe = make_pipe();
  if (pipe && spec.user && ::geteuid() == 0) {
    // Best effort: without it only "> /dev/stderr" in the job fails.
    [[maybe_unused]] const int given = ::fchown(pipe->write.get(), spec.user->uid, spec.user->gid);
  }
  return pipe;
}

std::expected<Child, StartFailure> start_child(const Launch& launch) {
  Result<Pipe> failures = make_pipe();
  if (!failures) return std::unexpected(StartFailure{126, failures.error().message});
  const pid_t shim_pid = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_job(launch, failures->write.get(), shim_pid);
  if (pid < 0) {
    return std::unexpected(StartFailure{126, cat("cannot fork: ", errno_text(errno), ".")});
  }
  return Child{pid, std::move(failures->read)};
}

std::optional<StartFailure> read_failure(const Child& child, const Launch& launch) {
  ChildFailure failure;
  const ssize_t size = ::read(child.failures.get(), &failure, sizeof(failure));
  if (size != static_cast<ssize_t>(sizeof(failure))) return std::nullopt;
  const bool is_missing =
      failure.step == Step::kExecute && (failure.error == ENOENT || failure.error == ENOTDIR);
  return StartFailure{is_missing ? 127 : 126, reason_of(failure, launch)};
}

}  // namespace tangram::shim
