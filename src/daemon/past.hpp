// Past: what was, for callers: jobs that are over, page by page, and what users have used. One
// rule: the store is read by the Reader, because a look at all of the past takes its time.
#pragma once

#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "daemon/views.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Reader;

class Past {
 public:
  Past(const Engine& engine, Reader& reader, const Views& views, const Access& access)
      : engine_(engine), reader_(reader), views_(views), access_(access) {}

  void fill(http::Doors& doors);

 private:
  void history(const http::Caller& caller, const http::HistoryFilter& filter,
               const http::Reply<api::HistoryPage>& reply);
  void usage(const http::Caller& caller, const http::UsageFilter& filter,
             const http::Reply<api::Usage>& reply);
  [[nodiscard]] api::HistoryPage page_of(const http::Caller& caller,
                                         const std::vector<store::JobRow>& rows,
                                         std::size_t most) const;
  [[nodiscard]] api::Usage summed(const store::Usage& found) const;

  const Engine& engine_;
  Reader& reader_;
  const Views& views_;
  const Access& access_;
};

}  // namespace tangram::daemon
