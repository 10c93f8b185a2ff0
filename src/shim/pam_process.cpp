// See pam_process.hpp.
#include "shim/pam_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <grp.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "os/session_keyring.hpp"
#include "shim/child.hpp"
#include "shim/pam_library.hpp"
#include "shim/process_attributes.hpp"
#include "shim/resource_names.hpp"

namespace tangram::shim {
namespace {

namespace json = boost::json;

void report(const json::object& line) {
  const std::string text = json::serialize(line) + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t count = ::write(kHelperStatus, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
}

void refuse(const std::string& why) { report({{"error", why}}); }

// Nobody can be asked anything. Keeps what modules say, for the reason of a refusal.
int converse(int count, const pam_message** messages, pam_response** responses, void* said) {
  for (int i = 0; i < count; ++i) {
    const pam_message& message = *messages[i];
    if (message.msg_style != PAM_ERROR_MSG && message.msg_style != PAM_TEXT_INFO) {
      return PAM_CONV_ERR;
    }
    auto& text = *static_cast<std::string*>(said);
    if (text.size() < 1'000) text += cat(text.empty() ? "" : " ", printable(message.msg));
  }
  // Freed by the module.
  *responses = static_cast<pam_response*>(
      std::calloc(static_cast<std::size_t>(count), sizeof(pam_response)));
  return *responses == nullptr ? PAM_BUF_ERR : PAM_SUCCESS;
}

class Session {
 public:
  Session(const PamLibrary& library, const api::RunSpec::Pam& options)
      : library_(library), options_(options) {}

  // nullopt: it is open. Else the reason; the session needs no close().
  std::optional<std::string> open();
  // Returns a problem, or "".
  std::string close();
  [[nodiscard]] json::object environment() const;

 private:
  std::string error(std::string_view step, int code) const {
    const std::string said = said_.empty() ? "" : cat(" (", said_, ")");
    return cat("PAM does not permit the job: ", step, ": ", library_.strerror(handle_, code), said,
               ". See the PAM service \"", kPamService, "\".");
  }
  void end(int code) {
    if (handle_ != nullptr) library_.end(handle_, code);
    handle_ = nullptr;
  }

  const PamLibrary& library_;
  const api::RunSpec::Pam& options_;
  std::string said_;
  pam_conv conversation_{.conv = converse, .appdata_ptr = &said_};
  pam_handle_t* handle_ = nullptr;
};

std::optional<std::string> Session::open() {
  const char* folder = options_.folder.empty() ? nullptr : options_.folder.c_str();
  int code = library_.start(kPamService, options_.user.c_str(), &conversation_, folder, &handle_);
  const char* step = "pam_start";
  bool has_credentials = false;
  if (code == PAM_SUCCESS) code = library_.set_item(handle_, PAM_TTY, kPamService);
  if (code == PAM_SUCCESS) {
    step = "pam_acct_mgmt";
    code = library_.acct_mgmt(handle_, 0);
  }
  if (code == PAM_SUCCESS) {
    step = "pam_setcred";
    code = library_.setcred(handle_, PAM_ESTABLISH_CRED);
    has_credentials = code == PAM_SUCCESS;
  }
  if (code == PAM_SUCCESS) {
    step = "pam_open_session";
    code = library_.open_session(handle_, 0);
  }
  if (code == PAM_SUCCESS) return std::nullopt;
  std::string why = error(step, code);
  if (has_credentials) library_.setcred(handle_, PAM_DELETE_CRED);
  end(code);
  return why;
}

std::string Session::close() {
  const int closed = library_.close_session(handle_, 0);
  const int deleted = library_.setcred(handle_, PAM_DELETE_CRED);
  const int code = closed != PAM_SUCCESS ? closed : deleted;
  std::string problem = code == PAM_SUCCESS ? "" : library_.strerror(handle_, code);
  end(code);
  return problem;
}

json::object Session::environment() const {
  json::object variables;
  char** const list = library_.getenvlist(handle_);
  for (char** at = list; at != nullptr && *at != nullptr; ++at) {
    const std::string_view each = *at;
    const auto equals = each.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      variables[each.substr(0, equals)] = each.substr(equals + 1);
    }
    std::free(*at);
  }
  std::free(static_cast<void*>(list));
  return variables;
}

json::object limits() {
  const auto number = [](rlim_t value) {
    return value == RLIM_INFINITY ? json::value(nullptr) : json::value(value);
  };
  json::object all;
  for (const auto& [name, resource] : resources_by_name()) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    all[name] = json::array{number(limit.rlim_cur), number(limit.rlim_max)};
  }
  return all;
}

json::array groups() {
  std::vector<gid_t> found(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(found.size()), found.data());
  found.resize(static_cast<std::size_t>(std::max(count, 0)));
  json::array list;
  for (const gid_t each : found) list.emplace_back(each);
  return list;
}

void wait_for_end_of_input() {
  std::array<char, 64> ignored{};
  ssize_t count = 0;
  do {
    count = ::read(kHelperInput, ignored.data(), ignored.size());
  } while (count > 0 || (count < 0 && errno == EINTR));
}

// Like a process that is about to become a job, but for its user.
void prepare_process(const api::RunSpec& spec) {
  reset_signals();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  (void)os::join_new_session_keyring();  // the daemon's is not for modules
  (void)reset_process_attributes();
  if (const auto& nofile = spec.pam->nofile) {
    const rlimit limit{.rlim_cur = nofile->soft.value_or(RLIM_INFINITY),
                       .rlim_max = nofile->hard.value_or(RLIM_INFINITY)};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (!spec.user) return;
  const std::vector<gid_t> list(spec.user->groups.begin(), spec.user->groups.end());
  ::setgroups(list.size(), list.data());
}

void run_pam_process(const api::RunSpec& spec) {
  prepare_process(spec);
  const auto library = load_pam();
  if (!library) {
    refuse(cat("cannot open a PAM session: ", library.error().message, "."));
    return;
  }
  Session session(*library, *spec.pam);
  if (const auto why = session.open()) {
    refuse(*why);
    return;
  }
  errno = 0;
  const int niceness = ::getpriority(PRIO_PROCESS, 0);
  report({{"environment", session.environment()},
          {"groups", groups()},
          {"limits", limits()},
          {"niceness", errno == 0 ? niceness : 0}});
  wait_for_end_of_input();
  report({{"closed", session.close()}});
}

}  // namespace

Result<HelperProcess> start_pam_process(const api::RunSpec& spec) {
  return start_helper_process([&] { run_pam_process(spec); });
}

}  // namespace tangram::shim
