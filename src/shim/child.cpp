// See child.hpp.
#include "shim/child.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <map>
#include <optional>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "os/session_keyring.hpp"
#include "shim/process_attributes.hpp"
#include "shim/resource_names.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

using Outcome = std::optional<ChildFailure>;  // nullopt: success

Outcome failure_at(Step step) { return ChildFailure{.step = step, .error = errno}; }

// The job must possess neither the daemon's keys nor those of other jobs.
Outcome leave_session_keyring(const Launch& launch) {
  const int error = os::join_new_session_keyring();
  if (error == 0) return std::nullopt;
  const auto& user = launch.spec.user;
  const bool changes_user = user && ::geteuid() == 0 && user->uid != 0;
  if (!os::may_keep_session_keyring(error, changes_user)) {
    return ChildFailure{.step = Step::kKeyring, .error = error};
  }
  if (launch.logs_problems) {
    note(cat("the job keeps the daemon's session keyring: ", errno_text(error)));
  }
  return std::nullopt;
}

// After the job entered its cgroup, whose cpuset may allow other CPUs than the daemon's.
void reset_attributes(const Launch& launch) {
  const std::vector<std::string> problems = reset_process_attributes();
  if (!launch.logs_problems) return;
  for (const std::string& problem : problems) note(problem);
}

Outcome enter_cgroup(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const os::Descriptor file(::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.ok() || ::write(file.get(), "0", 1) != 1) return failure_at(Step::kCgroup);
  return std::nullopt;
}

Outcome connect_streams(int out, int err) {
  const os::Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.ok() || ::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0) {
    return failure_at(Step::kStreams);
  }
  // All other descriptors are the shim's. (Old kernels lack this call; all are close-on-exec
  // anyway.)
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  return std::nullopt;
}

Outcome become_user(const api::RunSpec::User& user) {
  if (user.uid != 0) {
    // Not for root. Without it, a program with file capabilities could regain some.
    for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
  const std::vector<gid_t> groups(user.groups.begin(), user.groups.end());
  if (::setgroups(groups.size(), groups.data()) != 0) return failure_at(Step::kUser);
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return failure_at(Step::kUser);
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return failure_at(Step::kUser);
  return std::nullopt;
}

Outcome drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) return failure_at(Step::kPrivileges);
  return std::nullopt;
}

// Jobs of root keep root's capabilities, since they can write all files of root anyway.
Outcome drop_privileges(const api::RunSpec& spec) {
  if (spec.user && ::geteuid() == 0) {
    if (auto failure = become_user(*spec.user)) return failure;
    if (spec.user->uid != 0) {
      if (auto failure = drop_capabilities()) return failure;
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure_at(Step::kPrivileges);
  return std::nullopt;
}

// Called after the change of user, which clears the setting.
void set_parent_death_signal(int shim_pid) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != shim_pid) ::_exit(126);  // the shim died before prctl()
}

Outcome enter_directory(const std::string& directory) {
  if (!directory.starts_with('/')) return ChildFailure{.step = Step::kRelativeDirectory};
  if (::chdir(directory.c_str()) != 0) return failure_at(Step::kDirectory);
  return std::nullopt;
}

// Called as the user, who may lower limits but not exceed hard ones, for the limits that the job
// requests.
Outcome set_limits(const std::map<std::string, api::ResourceLimit>& limits) {
  unsigned index = 0;
  for (const auto& [name, limit] : limits) {
    const auto resource = resources_by_name().find(name);
    if (resource == resources_by_name().end()) {
      return ChildFailure{.step = Step::kUnknownLimit, .limit = index};
    }
    const rlimit value{.rlim_cur = limit.soft.value_or(RLIM_INFINITY),
                       .rlim_max = limit.hard.value_or(RLIM_INFINITY)};
    if (::setrlimit(resource->second, &value) != 0) {
      return ChildFailure{.step = Step::kLimit, .error = errno, .limit = index};
    }
    ++index;
  }
  return std::nullopt;
}

struct ExecStrings {
  std::vector<std::string> texts;
  std::vector<char*> pointers;
  // Called when `texts` is complete: pointers into it are invalidated by later additions.
  char** list() {
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers.data();
  }
};

ExecStrings environment_of(const api::RunSpec& spec) {
  ExecStrings words;
  for (const auto& [name, value] : spec.environment) {
    if (name != api::kRunTag) words.texts.push_back(cat(name, "=", value));
  }
  words.texts.push_back(cat(api::kRunTag, "=", spec.tag));
  return words;
}

// Called with the shim's rights: the session's limits may exceed the daemon's.
Outcome apply_session(const Launch& launch) {
  if (launch.session == nullptr) return std::nullopt;
  if (const int niceness = launch.session->niceness;
      niceness != 0 && ::setpriority(PRIO_PROCESS, 0, niceness) != 0) {
    return failure_at(Step::kSessionLimits);
  }
  Outcome failure = set_limits(launch.session->limits);
  if (failure) failure->step = Step::kSessionLimits;
  return failure;
}

Outcome prepare(const Launch& launch, int shim_pid) {
  reset_signals();
  if (::setsid() < 0) return failure_at(Step::kSession);
  if (auto failure = leave_session_keyring(launch)) return failure;
  if (auto failure = enter_cgroup(launch.spec.cgroup)) return failure;
  reset_attributes(launch);  // before standard error, now shim.log, becomes the job's
  if (auto failure = apply_session(launch)) return failure;
  if (auto failure = connect_streams(launch.out, launch.err)) return failure;
  ::umask(launch.spec.umask);
  if (auto failure = drop_privileges(launch.spec)) return failure;
  set_parent_death_signal(shim_pid);
  return enter_directory(launch.spec.directory);
}

}  // namespace

void reset_signals() {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
}

std::optional<ChildFailure> become_run_user(const api::RunSpec& spec) {
  const std::vector<std::string> no_command;
  if (::setsid() < 0) return failure_at(Step::kSession);
  if (auto failure = leave_session_keyring({.spec = spec, .command = no_command})) return failure;
  ::umask(spec.umask);
  if (auto failure = drop_privileges(spec)) return failure;
  return enter_directory(spec.directory);
}

void become_job(const Launch& launch, int failures, int shim_pid) {
  // Allocated before the limits are set, which may prevent allocation.
  ExecStrings command{.texts = launch.command, .pointers = {}};
  ExecStrings environment = environment_of(launch.spec);
  char** const arguments = command.list();
  char** const variables = environment.list();
  Outcome failure = prepare(launch, shim_pid);
  if (!failure) failure = set_limits(launch.spec.resource_limits);
  if (!failure) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    environ = variables;  // execvp() reads PATH from it
    ::execvp(arguments[0], arguments);
    failure = failure_at(Step::kExecute);
  }
  [[maybe_unused]] const ssize_t written = ::write(failures, &*failure, sizeof(*failure));
  ::_exit(126);
}

}  // namespace tangram::shim
