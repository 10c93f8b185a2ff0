// Planner: which moves would make the node less fragmented, for whoever asks. To plan takes longer
// the more GPUs there are, so it is done by the Reader, with a copy of the node. One rule: it only
// looks; whoever wants a move of a plan asks for it.
#pragma once

#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Reader;

class Planner {
 public:
  Planner(const Engine& engine, Reader& reader, const Access& access)
      : engine_(engine), reader_(reader), access_(access) {}

  void fill(http::Doors& doors);

 private:
  void defrag(const http::Caller& caller, std::size_t most,
              const http::Reply<api::DefragPlan>& reply);
  void add_people(api::DefragPlan& plan) const;

  const Engine& engine_;
  Reader& reader_;
  const Access& access_;
};

}  // namespace tangram::daemon
