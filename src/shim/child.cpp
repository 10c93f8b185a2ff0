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
#include "files/descriptor.hpp"

namespace tangram::shim {
namespace {

using Outcome = std::optional<ChildFailure>;  // none: done

Outcome fails(Step step) { return ChildFailure{.step = step, .error = errno}; }

// The shim's own handling of signals is not the job's business.
void reset_signals() {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
}

Outcome enter_cgroup(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const files::Descriptor file(::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.ok() || ::write(file.get(), "0", 1) != 1) return fails(Step::kCgroup);
  return std::nullopt;
}

Outcome connect_streams(int out, int err) {
  const files::Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.ok() || ::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0) {
    return fails(Step::kStreams);
  }
  // Whatever else is open belongs to the shim. (A kernel without it: all is close-on-exec anyway.)
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  return std::nullopt;
}

Outcome become_user(const api::RunSpec::User& user) {
  if (user.uid != 0) {
    // Not root: it could then regain nothing even by a program with capabilities of its own.
    for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
      ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
  const std::vector<gid_t> groups(user.groups.begin(), user.groups.end());
  if (::setgroups(groups.size(), groups.data()) != 0) return fails(Step::kUser);
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return fails(Step::kUser);
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return fails(Step::kUser);
  return std::nullopt;
}

Outcome drop_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) return fails(Step::kPrivileges);
  return std::nullopt;
}

// Root's own jobs keep root's capabilities: who owns the files of root owns the machine anyway.
Outcome give_up_rights(const api::RunSpec& spec) {
  if (spec.user && ::geteuid() == 0) {
    if (auto failure = become_user(*spec.user)) return failure;
    if (spec.user->uid != 0) {
      if (auto failure = drop_capabilities()) return failure;
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fails(Step::kPrivileges);
  return std::nullopt;
}

// After the change of user, which would have cleared it.
void die_with(int shim_pid) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != shim_pid) ::_exit(126);  // it died before we asked to be told
}

Outcome enter_directory(const std::string& directory) {
  if (!directory.starts_with('/')) return ChildFailure{.step = Step::kRelativeDirectory};
  if (::chdir(directory.c_str()) != 0) return fails(Step::kDirectory);
  return std::nullopt;
}

std::optional<__rlimit_resource> find_resource(std::string_view name) {
  static const std::map<std::string_view, __rlimit_resource> resources{
      {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
      {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"locks", RLIMIT_LOCKS},
      {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
      {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
      {"rtprio", RLIMIT_RTPRIO},   {"rttime", RLIMIT_RTTIME},     {"sigpending", RLIMIT_SIGPENDING},
      {"stack", RLIMIT_STACK},
  };
  const auto found = resources.find(name);
  if (found == resources.end()) return std::nullopt;
  return found->second;
}

// As the user, who may lower them or keep them, but not take more than the shim itself has.
Outcome set_limits(const std::map<std::string, api::ResourceLimit>& limits) {
  unsigned index = 0;
  for (const auto& [name, limit] : limits) {
    const auto resource = find_resource(name);
    if (!resource) return ChildFailure{.step = Step::kUnknownLimit, .limit = index};
    const rlimit value{.rlim_cur = limit.soft.value_or(RLIM_INFINITY),
                       .rlim_max = limit.hard.value_or(RLIM_INFINITY)};
    if (::setrlimit(*resource, &value) != 0) {
      return ChildFailure{.step = Step::kLimit, .error = errno, .limit = index};
    }
    ++index;
  }
  return std::nullopt;
}

struct Words {
  std::vector<std::string> texts;
  std::vector<char*> pointers;
  // Once all texts are there: they may move until then.
  char** list() {
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers.data();
  }
};

Words environment_of(const api::RunSpec& spec) {
  Words words;
  for (const auto& [name, value] : spec.environment) {
    if (name != api::kRunTag) words.texts.push_back(cat(name, "=", value));
  }
  words.texts.push_back(cat(api::kRunTag, "=", spec.tag));
  return words;
}

Outcome prepare(const Launch& launch, int shim_pid) {
  reset_signals();
  if (::setsid() < 0) return fails(Step::kSession);
  if (auto failure = enter_cgroup(launch.spec.cgroup)) return failure;
  if (auto failure = connect_streams(launch.out, launch.err)) return failure;
  ::umask(launch.spec.umask);
  if (auto failure = give_up_rights(launch.spec)) return failure;
  die_with(shim_pid);
  return enter_directory(launch.spec.directory);
}

}  // namespace

void become_job(const Launch& launch, int failures, int shim_pid) {
  // Memory is taken before the limits, which may leave none.
  Words command{.texts = launch.command, .pointers = {}};
  Words environment = environment_of(launch.spec);
  char** const arguments = command.list();
  char** const variables = environment.list();
  Outcome failure = prepare(launch, shim_pid);
  if (!failure) failure = set_limits(launch.spec.resource_limits);
  if (!failure) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    environ = variables;  // execvp() looks for PATH here
    ::execvp(arguments[0], arguments);
    failure = fails(Step::kExecute);
  }
  [[maybe_unused]] const ssize_t written = ::write(failures, &*failure, sizeof(*failure));
  ::_exit(126);
}

}  // namespace tangram::shim
