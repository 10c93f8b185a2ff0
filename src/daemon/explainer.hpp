// Explainer: why a job is where it is, why another waits and what would unblock it, what would
// become of a job that is not there yet. What is so now is read from the scheduler; a decision of
// the past is made again from the journal, by the Reader. One rule: it says what the deciding
// functions say, in data and in sentences.
#pragma once

#include <string>

#include "api/explanation.hpp"
#include "base/instant.hpp"
#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "daemon/explanation_data.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Limits;
class Reader;

class Explainer {
 public:
  Explainer(Engine& engine, Reader& reader, const Access& access, const Limits& limits)
      : engine_(engine), reader_(reader), access_(access), limits_(limits) {}

  void fill(http::Doors& doors);

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
  [[nodiscard]] Asker asker(const http::Caller& caller) const;
  [[nodiscard]] api::WallTime wall_of(Instant when) const;

  Engine& engine_;
  Reader& reader_;
  const Access& access_;
  const Limits& limits_;
};

}  // namespace tangram::daemon
