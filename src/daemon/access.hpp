// Access: who may do what, said in one place. Everybody whom the daemon serves may look at all
// jobs' outlines; output, environment and control of a job are its owner's and the admins'. Admins
// are root, the daemon's own user and the members of one group. One rule: nobody but root and the
// daemon's own user becomes somebody else, and a token never gives its holder more than its user
// has, and less where its scope says so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Access {
 public:
  struct Group {
    std::uint32_t gid = 0;
    std::set<std::uint32_t> members;  // listed in it
  };
  // No group: there is none of that name; an error: it could not be asked.
  using Lookup = std::function<Result<std::optional<Group>>(const std::string& name)>;

  // The name of the admins' group; empty: there is none. `lookup`: none, to ask the system. Waits a
  // few seconds for its members; if they come later, nobody is one until then.
  explicit Access(std::string admins_group, Lookup lookup = nullptr);

  // Has the group's members read again, in a thread: nobody waits for that. Until it is done, or if
  // it fails, they stay who they were.
  void reload();
  // The same, if the last time it failed; asked now and then.
  void try_again();
  // Waits until what is being read has been; false: it took longer. For the start.
  bool settle(std::chrono::milliseconds patience);
  // Of another group, nobody is a member until it could be read.
  void set_group(std::string admins_group);
  // Whether only admins may submit and lease, as where another scheduler does so for all others.
  void set_submitters(bool only_admins) { only_admins_submit_ = only_admins; }

  [[nodiscard]] bool is_admin(const http::Caller& caller) const;
  // Of things that belong to `owner`: their output and environment; what happens to them.
  [[nodiscard]] bool may_read(const http::Caller& caller, std::uint32_t owner) const;
  [[nodiscard]] bool may_control(const http::Caller& caller, std::uint32_t owner) const;

  // Whether the daemon serves this caller at all; for looks.
  [[nodiscard]] http::Answer<void> admit(const http::Caller& caller) const;
  // The same for what changes something.
  [[nodiscard]] http::Answer<void> admit_change(const http::Caller& caller) const;
  // The same for jobs and leases that he asks for.
  [[nodiscard]] http::Answer<void> admit_submission(const http::Caller& caller) const;
  // "cordon GPUs": what only admins may.
  [[nodiscard]] http::Answer<void> require_admin(const http::Caller& caller,
                                                 std::string_view deed) const;
  // "create tokens for others": what makes somebody else of a caller, and so is not the group's.
  [[nodiscard]] http::Answer<void> require_master(const http::Caller& caller,
                                                  std::string_view deed) const;
  [[nodiscard]] static bool is_master(const http::Caller& caller);
  // `what` is "job 7", `deed` "cancel": what only the owner and admins may.
  [[nodiscard]] http::Answer<void> require_control(const http::Caller& caller, std::uint32_t owner,
                                                   std::string_view what,
                                                   std::string_view deed) const;
  // Of what `taker` took for `owner`: the owner may look at it, no more.
  [[nodiscard]] http::Answer<void> require_taker(const http::Caller& caller, std::uint32_t taker,
                                                 std::uint32_t owner, std::string_view what,
                                                 std::string_view deed) const;
  [[nodiscard]] http::Answer<void> require_read(const http::Caller& caller, std::uint32_t owner,
                                                std::string_view what, std::string_view deed) const;

 private:
  struct Question;
  void ask() const;
  void take_answer() const;
  void report(std::string trouble) const;

  Lookup lookup_;
  std::string group_name_;
  bool only_admins_submit_ = false;
  mutable std::optional<Group> group_;          // if there is such a group
  mutable std::shared_ptr<Question> question_;  // that has no answer yet, or one not taken yet
  mutable bool asks_again_ = false;             // once it has
  mutable std::string trouble_;                 // why the last one had no answer; empty: it had
};

}  // namespace tangram::daemon
