// DefragService: plans moves that would reduce the node's fragmentation. Planning time grows with
// the number of GPUs, so it runs on the HistoryReader's thread, on a copy of the node. Nothing is
// moved; callers request the moves they want. Used on the loop only.
#pragma once

#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class HistoryReader;

class DefragService {
 public:
  DefragService(const Engine& engine, HistoryReader& reader, const Access& access)
      : engine_(engine), reader_(reader), access_(access) {}

  void register_handlers(http::ApiHandlers& handlers);

 private:
  void defrag(const http::Caller& caller, std::size_t most,
              const http::Reply<api::DefragPlan>& reply);
  void add_owners(api::DefragPlan& plan) const;

  const Engine& engine_;
  HistoryReader& reader_;
  const Access& access_;
};

}  // namespace tangram::daemon
