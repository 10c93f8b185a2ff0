// Store: everything the daemon must not forget, in one SQLite file (WAL). One transaction holds the
// events of a batch, the state of the scheduler that they produced, and what people see of it; it
// is durable when commit() returns. Recovery reads the tables; the journal serves replay and
// explanation. One rule: nothing is acted on and nobody is answered before commit() has returned.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/event.hpp"
#include "core/saved.hpp"

namespace tangram::store {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// One line of the journal.
struct Step {
  std::uint64_t sequence = 0;  // given by commit(), from 1, without gaps
  Instant at{};                // the scheduler's time
  WallTime wall{};
  core::Event event;
  std::string decisions;  // what the scheduler answered: one line of transcript per action
};

// A job as people see it; kept after it is over, until retention removes it.
struct JobRow {
  std::uint64_t id = 0;
  std::uint32_t uid = 0;
  std::string user;
  std::string request;  // JSON of api::JobRequest; in a change, empty: as it was
  std::string name;
  std::string profile;
  std::string state;  // name of api::JobState
  bool over = false;
  std::string reason;
  std::optional<std::uint32_t> gpu;
  std::optional<std::uint32_t> start;
  std::string mig_uuid;
  std::optional<std::uint16_t> port;
  std::optional<std::uint32_t> run;  // the present or last one
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::uint32_t restarts = 0;
  WallTime submitted{};
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
};

// One run: one replica of a job, one shim, one place.
struct RunRow {
  std::uint32_t run = 0;
  std::uint64_t job = 0;
  std::uint32_t gpu = 0;
  std::uint32_t instance = 0;
  std::uint32_t start = 0;
  std::string profile;
  std::string mig_uuid;
  std::optional<std::uint16_t> port;
  std::string boot;  // the boot of the machine it was started in
  bool over = false;
  bool stop_asked = false;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::string reason;
  WallTime asked{};  // when the scheduler wanted it
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
};

// A GPU of the node: the scheduler's number for it is for ever.
struct GpuRow {
  std::uint32_t gpu = 0;
  std::string uuid;
  std::string name;
};

// An instance that stands, or is being made or removed.
struct InstanceRow {
  std::uint32_t instance = 0;
  std::uint32_t gpu = 0;
  std::string profile;
  std::uint32_t start = 0;
  std::string mig_uuid;
  WallTime created{};
};

struct MoveRow {
  std::uint64_t job = 0;
  std::string kind;
  std::uint32_t from_gpu = 0;
  std::uint32_t from_start = 0;
  std::uint32_t to_gpu = 0;
  std::uint32_t to_start = 0;
  WallTime begun{};
  std::optional<WallTime> ended;
  std::string result;  // empty: under way
};

// Everything of one batch. Rows replace those of the same key (job, run, gpu, instance; a move: job
// and begun).
struct Changes {
  std::vector<Step> steps;
  core::SavedChanges scheduler;
  std::vector<JobRow> jobs;
  std::vector<RunRow> runs;
  std::vector<GpuRow> gpus;
  std::vector<InstanceRow> instances;
  std::vector<std::uint32_t> instances_gone;
  std::vector<MoveRow> moves;
  std::map<std::string, std::string> facts;  // small things by name: the boot, the node's name
  // With the first batch: what the scheduler was made with, for replay. Needed only if a
  // TuningChanged is in that batch.
  std::optional<core::Tuning> first_tuning = {};
};

// What a daemon needs to go on. Jobs and runs that are over are not among them, except that `jobs`
// has the newest of those too, up to the number asked for.
struct Contents {
  bool fresh = false;  // a store that never had a batch
  core::Saved scheduler;
  std::vector<JobRow> jobs;  // by id
  std::vector<RunRow> runs;  // by run; all runs of the jobs above
  std::vector<GpuRow> gpus;
  std::vector<InstanceRow> instances;
  std::vector<MoveRow> moves;  // of the jobs above, by begun
  std::map<std::string, std::string> facts;
  std::uint64_t jobs_over = 0;  // ever
  std::uint64_t last_job = 0;   // the highest id ever given
};

// Where the journal begins: the scheduler as it was after that step.
struct Beginning {
  std::uint64_t sequence = 0;
  core::Saved scheduler;
};

// What is in a store, counted.
struct Counts {
  int version = 0;  // of the schema
  std::uint64_t jobs = 0;
  std::uint64_t jobs_over = 0;  // of them
  std::uint64_t runs = 0;
  std::uint64_t gpus = 0;
  std::uint64_t instances = 0;
  std::uint64_t moves = 0;
  std::uint64_t first_step = 0;  // of the journal; 0: it is empty
  std::uint64_t last_step = 0;   // ever
  std::uint64_t snapshots = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
};

struct Replayed;  // replay.hpp

struct Retention {
  std::chrono::hours jobs{24 * 30};  // after their end
  std::size_t most_jobs = 100'000;   // that are over
  std::size_t most_steps = 200'000;  // of the journal
};

struct OpenOptions {
  bool read_only = false;  // for looking; takes no lock
  bool create = true;
};

// Not safe to use from several threads at once.
class Store {
 public:
  // Opens or makes it. Fails, and says how to recover: not a database, damaged, made by a newer
  // Tangram, in use by another daemon, cannot be written. An older one is backed up beside itself
  // and migrated.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const std::string& path,
                                                           const OpenOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) = delete;
  Store& operator=(Store&&) = delete;

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t last_step() const;  // as this Store knows it

  [[nodiscard]] Result<Contents> load(std::size_t most_over_jobs);
  // The scheduler alone.
  [[nodiscard]] Result<core::Saved> scheduler();
  [[nodiscard]] Result<Counts> counts();

  // All of it or nothing; durable on return. A failure (full disk, read-only, I/O error) leaves the
  // store as it was and usable for another attempt.
  [[nodiscard]] Result<void> commit(const Changes& changes);

  // Jobs that are over, for histories; the newest first.
  [[nodiscard]] Result<std::vector<JobRow>> past_jobs(std::uint64_t before_id, std::size_t most);
  [[nodiscard]] Result<std::optional<JobRow>> job(std::uint64_t id);
  [[nodiscard]] Result<std::vector<RunRow>> runs(std::uint64_t job);

  // The journal from a step on, and the state before its first one.
  [[nodiscard]] Result<std::vector<Step>> steps(std::uint64_t from, std::size_t most);
  [[nodiscard]] Result<Beginning> beginning();

  // Removes what is older than retention says, in small bites (true: there is more); the journal is
  // cut only behind a snapshot. Tells which runs are forgotten, so that their folders can go too.
  [[nodiscard]] Result<bool> trim(const Retention& retention,
                                  std::vector<std::uint32_t>& runs_gone);

  struct Parts;  // private to the room
  explicit Store(std::unique_ptr<Parts> parts);

 private:
  friend Result<Replayed> replay(Store& store);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::store
