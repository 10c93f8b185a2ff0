// Audit: who did what, one JSON object per line in a file of its own, apart from the daemon's log.
// Looks are not written down, changes and attempts at them are, also those that were refused, of
// one user up to a number a minute; of callers over TCP whom no token names, and of the rest, only
// how many. One rule: a line names the caller, the deed
// and what came of it, in a few words of the door's own; never a body, a header or a secret.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "daemon/refusals.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Audit {
 public:
  // Appends to the file, readable by its owner only; at a size it is rotated, a few are kept.
  [[nodiscard]] static Result<std::unique_ptr<Audit>> open(const std::string& path);
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  Audit(Audit&&) = delete;
  Audit& operator=(Audit&&) = delete;

  // Of those counted when the door is closed, the number is written then.
  void fill(http::Doors& doors);
  void write(const http::Caller& caller, std::string_view method, std::string_view target,
             int status, std::string_view what = {});

 private:
  struct File;
  explicit Audit(std::unique_ptr<File> file);
  // Whether it is one of many, of which the number is enough.
  [[nodiscard]] bool is_counted(const http::Caller& caller, int status, Refusals::Time now);
  void write(const Refusals::Report& report);

  static constexpr std::uint64_t kRefusedInFull = 30;  // of a user, a minute

  std::unique_ptr<File> file_;
  Refusals strangers_;
  Refusals users_{kRefusedInFull};
};

}  // namespace tangram::daemon
