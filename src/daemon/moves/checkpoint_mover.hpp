// CheckpointMover: moves a batch job that can save its state. A signal requests a checkpoint; it is
// sent only if the job has a handler for it, because it would kill the job otherwise. The original
// announces the checkpoint with the file "saved" in its checkpoint folder and is frozen. Then the
// successor is started, which announces with the file "resumed" that it continues from there. Then
// the original is killed or, if the successor failed before, thawed. The two never both run: the
// original is frozen before the successor starts, and the successor is gone before the original is
// thawed. A successor that has resumed is never followed by its original, which would repeat work.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "daemon/engine/engine.hpp"
#include "daemon/runs/mover.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Supervisor;

class CheckpointMover : public Mover {
 public:
  CheckpointMover(boost::asio::io_context& loop, Engine& engine, Supervisor& supervisor);
  ~CheckpointMover() override;
  CheckpointMover(const CheckpointMover&) = delete;
  CheckpointMover& operator=(const CheckpointMover&) = delete;
  CheckpointMover(CheckpointMover&&) = delete;
  CheckpointMover& operator=(CheckpointMover&&) = delete;

  void prepare(const core::StartJob& replica, core::RunId original, Prepared prepared) override;
  void switch_traffic(const core::SwitchTraffic& action) override;
  void roll_back(core::JobId job, core::RunId original) override;

 private:
  struct Request;
  using RequestPtr = std::shared_ptr<Request>;

  [[nodiscard]] bool is_current(const RequestPtr& request) const;
  void request_checkpoint(const RequestPtr& request);
  void on_signal_sent(const RequestPtr& request, const Result<void>& sent);
  void remove_marker(const RequestPtr& request, const char* file,
                     std::function<void(const Result<void>&)> then);
  void poll_saved(const RequestPtr& request);
  void on_looked_for_saved(const RequestPtr& request, const Result<bool>& found);
  void freeze(const RequestPtr& request);
  void finish(const RequestPtr& request, const Result<void>& result);

  boost::asio::io_context& loop_;
  Engine& engine_;
  Supervisor& supervisor_;
  std::map<core::JobId, RequestPtr> requests_;  // in progress
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
