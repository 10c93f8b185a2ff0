// HistoryService: finished jobs, page by page, and usage per user. Reads the store on the
// HistoryReader's thread, because that may take long. Used on the loop only.
#pragma once

#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/views/views.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class HistoryReader;

class HistoryService {
 public:
  HistoryService(const Engine& engine, HistoryReader& reader, const Views& views,
                 const Access& access)
      : engine_(engine), reader_(reader), views_(views), access_(access) {}

  void register_handlers(http::ApiHandlers& handlers);

 private:
  void history(const http::Caller& caller, const http::HistoryFilter& filter,
               const http::Reply<api::HistoryPage>& reply);
  void usage(const http::Caller& caller, const http::UsageFilter& filter,
             const http::Reply<api::Usage>& reply);
  [[nodiscard]] api::HistoryPage page_of(const http::Caller& caller,
                                         const std::vector<store::JobRow>& rows,
                                         std::size_t most) const;
  [[nodiscard]] api::Usage usage_of(const store::Usage& found) const;

  const Engine& engine_;
  HistoryReader& reader_;
  const Views& views_;
  const Access& access_;
};

}  // namespace tangram::daemon
