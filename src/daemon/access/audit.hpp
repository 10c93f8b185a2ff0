// Audit: an audit log of its own file, one JSON object per line. Written are changes and attempts
// at them, also refused ones, with the caller, the request and its outcome; never a body, a header
// or a secret. Reads are not written. Refusals beyond a number per user and minute, and all
// requests of unauthenticated TCP clients, are only counted (RefusalLog).
// Used on the loop only; write() blocks on the file.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "daemon/access/refusal_log.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Audit {
 public:
  // Appends to `path`, mode 0600; rotated by size, a few old files are kept.
  [[nodiscard]] static Result<std::unique_ptr<Audit>> open(const std::string& path);
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  Audit(Audit&&) = delete;
  Audit& operator=(Audit&&) = delete;

  // Sets `handlers.on_answered`. The remaining counts are written when that handler is destroyed.
  void register_handlers(http::ApiHandlers& handlers);
  void write(const http::Caller& caller, std::string_view method, std::string_view target,
             int status, std::string_view what = {});

 private:
  struct File;
  explicit Audit(std::unique_ptr<File> file);
  // True if the request is only counted, see RefusalLog.
  [[nodiscard]] bool is_counted(const http::Caller& caller, int status, RefusalLog::Time now);
  void write(const RefusalLog::Summary& summary);

  static constexpr std::uint64_t kRefusalsInFull = 30;  // per user and minute

  std::unique_ptr<File> file_;
  RefusalLog unauthenticated_;
  RefusalLog users_{kRefusalsInFull};
};

}  // namespace tangram::daemon
