// CheckpointMover: moves a batch job that can save its state. The original is asked for a
// checkpoint by a signal, announces it with the file "saved" in its checkpoint folder, and is
// frozen; only then is its successor started, which announces with "resumed" that it goes on from
// there. Then the original is killed where it stands, or, if the successor failed, thawed. One
// rule: never do both run: what freezes comes before what starts, and what ends before what thaws.
#pragma once

#include <map>
#include <memory>

#include "daemon/engine.hpp"
#include "daemon/mover.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Supervisor;

class CheckpointMover : public Mover {
 public:
  CheckpointMover(boost::asio::io_context& loop, Engine& engine, Supervisor& supervisor);
  ~CheckpointMover() override;

  void prepare(const core::StartJob& replica, core::RunId original, Prepared prepared) override;
  void switch_over(const core::SwitchTraffic& wanted) override;
  void take_back(core::JobId job, core::RunId original) override;

 private:
  struct Saving;
  using SavingPtr = std::shared_ptr<Saving>;

  [[nodiscard]] bool is_wanted(const SavingPtr& saving) const;
  void ask(const SavingPtr& saving);
  void await(const SavingPtr& saving);
  void freeze(const SavingPtr& saving);
  void conclude(const SavingPtr& saving, const Result<void>& result);

  boost::asio::io_context& loop_;
  Engine& engine_;
  Supervisor& supervisor_;
  std::map<core::JobId, SavingPtr> savings_;  // under way
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
