// ExplainService: explains why a job is placed where it is, why another one waits and what would
// unblock it, and what would happen to a job that is not submitted yet. The current state is read
// from the scheduler; past decisions are replayed from the journal on the HistoryReader's thread.
// Explanations call the functions that make the decisions, so they cannot disagree with them. Each
// is returned as data and as sentences. Used on the loop only.
#pragma once

#include <string>

#include "api/explanation.hpp"
#include "base/instant.hpp"
#include "core/explain_job.hpp"
#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/explain/explanation_data.hpp"
#include "daemon/explain/explanation_text.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Limits;
class HistoryReader;
class Views;

class ExplainService {
 public:
  ExplainService(Engine& engine, HistoryReader& reader, const Views& views, const Access& access,
                 const Limits& limits)
      : engine_(engine), reader_(reader), views_(views), access_(access), limits_(limits) {}

  void register_handlers(http::ApiHandlers& handlers);

 private:
  void explain(const http::Caller& caller, std::uint64_t id,
               const http::Reply<api::Explanation>& reply);
  [[nodiscard]] http::Answer<api::WhatIf> what_if(const http::Caller& caller,
                                                  const api::WhatIfQuestion& question);
  [[nodiscard]] api::Explanation why_waiting(const http::Caller& caller,
                                             const store::JobRow& row) const;
  void why_here(const http::Caller& caller, const store::JobRow& row,
                const http::Reply<api::Explanation>& reply);
  void add_admission(const http::Caller& caller, api::WhatIf& to) const;
  // The scheduler knows GPUs without MIG mode as lost only.
  void name_mig_off(api::ExplanationBase& to) const;
  [[nodiscard]] StartFacts start_facts(const core::JobExplanation& of) const;
  [[nodiscard]] CallerRights rights_of(const http::Caller& caller) const;
  [[nodiscard]] api::WallTime wall_of(Instant when) const;

  Engine& engine_;
  HistoryReader& reader_;
  const Views& views_;
  const Access& access_;
  const Limits& limits_;
};

}  // namespace tangram::daemon
