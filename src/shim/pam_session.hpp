// PamSession: the PAM session of a run, which a process of its own has (pam_process.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "shim/helper_process.hpp"
#include "shim/poll_set.hpp"
#include "shim/session_attributes.hpp"
#include "shim/start.hpp"

namespace tangram::shim {

class PamSession {
 public:
  // `on_opened`: called once, when the session is open or cannot be opened.
  explicit PamSession(std::function<void()> on_opened) : on_opened_(std::move(on_opened)) {}

  // Starts to open it. Called before the shim becomes a subreaper.
  [[nodiscard]] Result<void> start(const api::RunSpec& spec);
  [[nodiscard]] bool is_opening() const { return phase_ == Phase::kOpening; }
  // Why it could not be opened.
  [[nodiscard]] const std::optional<StartFailure>& failure() const { return failure_; }
  [[nodiscard]] const SessionAttributes& attributes() const { return attributes_; }
  // Adds the session's variables and groups to those of the job. Its variables replace those that
  // the job was submitted with, but not those that Tangram sets.
  void apply_to(api::RunSpec& spec) const;

  void watch(PollSet& polls);
  // Closes it, and waits for that, but not for long. Called when no process of the run is left.
  void close();

 private:
  enum class Phase : std::uint8_t { kNone, kOpening, kOpen, kClosed };

  void read_status();
  void on_line(const boost::json::object& line);
  void fail(std::string why);

  std::function<void()> on_opened_;
  HelperProcess process_;
  Phase phase_ = Phase::kNone;
  std::string received_;
  std::optional<StartFailure> failure_;
  boost::json::object opened_;
  SessionAttributes attributes_;
};

}  // namespace tangram::shim
