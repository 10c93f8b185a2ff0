// Store: the daemon's persistent state in one SQLite file (WAL mode). Each batch is one
// transaction: the scheduler's input events, its resulting state, and the rows shown to users. A
// commit survives the death of the process; WalSync makes it survive a crash of the machine.
// Recovery reads the tables; the journal is for replay and explanations.
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
#include "store/history_rows.hpp"

namespace tangram::core {
class Scheduler;
}

namespace tangram::store {

// One line of the journal.
struct Step {
  std::uint64_t sequence = 0;  // assigned by commit(), from 1, without gaps
  Instant at{};                // the scheduler's time
  WallTime wall{};
  core::Event event;
  std::string decisions;  // the scheduler's answer: one line of transcript per action
};

// A job as shown to users; kept after its end until retention deletes it.
struct JobRow {
  std::uint64_t id = 0;
  std::uint32_t uid = 0;
  std::string user;
  std::string kind = "batch";  // or service, lease
  // JSON of api::JobRequest or, for a lease, of api::LeaseRequest. Empty in Changes: unchanged.
  // Empty in lists, because it is large. Of a finished job at most kMaxFinishedRequest bytes are
  // stored: larger ones lose their environment, and if that does not suffice, their command.
  std::string request;
  std::string name;
  std::string profile;
  std::string state;  // name of api::JobState
  bool over = false;
  std::string reason;
  std::optional<std::uint32_t> gpu;
  std::optional<std::uint32_t> start;
  std::string mig_uuid;
  std::optional<std::uint16_t> port;
  std::optional<std::uint32_t> run;  // the current or last one
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::uint32_t restarts = 0;
  WallTime submitted{};
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  std::optional<std::uint64_t> placed = {};  // the step that made its current or last placement
  std::string address = {};                  // of its endpoint, e.g. "127.0.0.1:8000"
  std::string labels = {};                   // a JSON object; empty: none
  // The jobs that must end before it may start: a JSON object, "ok" or "any" by ID; empty: none.
  // They are not deleted meanwhile.
  std::string waits_for = {};
  std::uint64_t array = 0;        // whose task it is; 0: none. Its request is the array's.
  std::uint32_t array_index = 0;  // of the task
};

// A job array: what its tasks share. Deleted with the last of them.
struct ArrayRow {
  std::uint64_t id = 0;  // of no job; those of the tasks follow it
  std::uint32_t uid = 0;
  std::string user = {};
  std::string name = {};
  std::string profile = {};
  std::string spec = {};  // api::array_text()
  std::uint64_t tasks = 0;
  std::uint64_t first = 0;   // the job of the first task
  std::string request = {};  // as JobRow::request
};

// One run of a job: one replica, one shim, one instance.
struct RunRow {
  std::uint32_t run = 0;
  std::uint64_t job = 0;
  std::uint32_t gpu = 0;
  std::uint32_t instance = 0;
  std::uint32_t start = 0;
  std::string profile;
  std::string mig_uuid;
  std::optional<std::uint16_t> port;
  bool direct = true;  // clients connect to `port` directly: the job has no endpoint
  std::string boot;    // boot ID of the machine when it was started
  bool over = false;
  bool stop_asked = false;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::string reason;
  WallTime asked{};  // when the scheduler requested it
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  // Like `asked`, by the clock that cannot be set. nullopt: by an older version.
  std::optional<std::chrono::microseconds> asked_since_boot = {};
  // How long it held its instance, by that clock. nullopt: it has not ended, or that is not known
  // (an older version, a reboot); then it is from `asked` to `ended`.
  std::optional<std::chrono::microseconds> held = {};
};

// A run whose folder is kept. The number alone does not identify it: a store that was restored from
// a backup assigns numbers again.
struct KeptRun {
  std::uint32_t run = 0;
  WallTime asked{};
};

// A GPU of the node. The scheduler's number for it never changes.
struct GpuRow {
  std::uint32_t gpu = 0;
  std::string uuid;
  std::string name;
};

// An instance that exists, or is being created or destroyed.
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
  std::string result;                     // empty: in progress
  std::optional<std::uint32_t> run = {};  // of the replica
  // When its phases ended: the target instance existed, the replica was ready, traffic was
  // switched, the original was drained.
  std::optional<WallTime> started = {};
  std::optional<WallTime> ready = {};
  std::optional<WallTime> switched = {};
  std::optional<WallTime> drained = {};
  std::uint64_t finished = 0;  // exchanges of the original that finished while draining
  std::uint64_t cut = 0;       // exchanges that did not finish in time
  std::string reason = {};     // why it was rolled back; contains no output of the job
};

// Runs and moves kept per job: active ones, and this many of the newest others.
inline constexpr std::size_t kMaxRunsKept = 100;
inline constexpr std::size_t kMaxFinishedRequest = std::size_t{64} << 10U;

// An event for the API's event stream. Numbered without gaps; numbers are never reused.
struct EventRow {
  std::uint64_t id = 0;    // in Changes: consecutive, starting at last_event() + 1
  std::uint64_t step = 0;  // of the journal
  WallTime wall{};
  std::string kind;
  std::optional<std::uint64_t> job;
  std::string event;  // JSON of api::EventView
};

// The data of a lease beyond its job row. Times are of the monotonic clock since boot: leases do
// not survive a reboot, and that clock cannot be set.
struct LeaseRow {
  std::uint64_t job = 0;
  std::uint32_t taker = 0;  // the user who requested it: the owner, or an admin on their behalf
  std::string key = {};
  std::chrono::microseconds ttl{0};
  std::chrono::microseconds linger{0};      // how long it keeps its place without a request
  std::chrono::microseconds wait_until{0};  // cancelled then unless it is requested again
  std::optional<std::chrono::microseconds> deadline = {};  // once granted
  std::optional<WallTime> granted = {};
};

// An idempotent submission: repeating it with the same key returns the same job.
struct SubmissionRow {
  std::uint32_t uid = 0;
  std::string key;
  std::string fingerprint;
  std::uint64_t job = 0;
  WallTime wall{};
};
inline constexpr std::chrono::hours kSubmissionsKept{24};

struct TokenRow {
  std::uint64_t id = 0;
  std::string hash;  // SHA-256 of the secret, hexadecimal
  std::string name;
  std::uint32_t uid = 0;
  std::string user;
  std::string scope;  // name of api::Scope
  WallTime created{};
  WallTime expires{};  // of a revoked token: when it was revoked
  bool revoked = false;
  std::optional<std::uint64_t> parent = {};  // the token that created it
};
inline constexpr std::chrono::hours kExpiredTokensKept{24};

// The contents of one batch. Rows replace those of the same key (job, run, gpu, instance; a move:
// job and begun; a submission: uid and key). A lease row is deleted with its job.
struct Changes {
  std::vector<Step> steps;
  core::SavedChanges scheduler;
  std::vector<ArrayRow> arrays;  // new ones
  std::vector<JobRow> jobs;
  std::vector<RunRow> runs;
  std::vector<GpuRow> gpus;
  std::vector<InstanceRow> instances;
  std::vector<std::uint32_t> instances_gone;
  std::vector<MoveRow> moves;
  std::vector<EventRow> events;
  std::vector<LeaseRow> leases;
  std::vector<SubmissionRow> submissions;
  std::vector<TokenRow> tokens;
  std::map<std::string, std::string> facts;  // small values by name: boot ID, node name
  // In the first batch: the tuning the scheduler was created with, for replay. Needed only if that
  // batch contains a TuningChanged.
  std::optional<core::Tuning> first_tuning = {};
};

// What a daemon needs to resume: everything active, and the newest finished jobs, up to the
// requested number.
struct Contents {
  bool fresh = false;  // nothing was ever committed
  core::Saved scheduler;
  std::vector<JobRow> jobs;  // by id
  std::vector<RunRow> runs;  // by run; of the jobs above: active ones and the newest others
  std::vector<GpuRow> gpus;
  std::vector<InstanceRow> instances;
  std::vector<MoveRow> moves;    // of the jobs above, by begun
  std::vector<LeaseRow> leases;  // open ones, by job
  std::map<std::string, std::string> facts;
  std::uint64_t jobs_over = 0;  // finished jobs, including deleted ones
  std::uint64_t last_job = 0;   // the highest ID ever assigned
};

// A snapshot of the scheduler, as it was after step `sequence`.
struct SavedState {
  std::uint64_t sequence = 0;
  core::Saved scheduler;
};

// Row counts of a store.
struct Counts {
  int version = 0;  // of the schema
  std::uint64_t jobs = 0;
  std::uint64_t jobs_over = 0;  // those that are finished
  std::uint64_t runs = 0;
  std::uint64_t gpus = 0;
  std::uint64_t instances = 0;
  std::uint64_t moves = 0;
  std::uint64_t first_step = 0;  // oldest in the journal; 0: it is empty
  std::uint64_t last_step = 0;   // newest ever
  std::uint64_t snapshots = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
};

struct PlacementStep {
  std::uint64_t sequence = 0;
  WallTime wall{};
};

struct ReplayResult;  // replay.hpp

struct Retention {
  std::chrono::hours jobs{24 * 30};  // how long finished jobs are kept
  std::size_t most_jobs = 100'000;   // limit of finished jobs
  std::size_t most_steps = 200'000;  // limit of the journal's steps, and of events
};

// What one call of apply_retention() deleted.
struct RetentionResult {
  std::vector<std::uint64_t> jobs;
  // Runs whose folders can be deleted: they were deleted, or their job has had more than
  // kMaxRunsKept runs since.
  std::vector<std::uint32_t> runs;
  bool more = false;  // there is more to delete: call it again
};

[[nodiscard]] inline WallTime wall_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

struct OpenOptions {
  bool read_only = false;  // takes no lock
  bool create = true;      // if it does not exist
  // Check all pages. Must be false in a process that has the store open already, because the check
  // would release that process's locks.
  bool check = true;
};

// Not thread-safe.
class Store {
 public:
  // Opens or creates the store. Fails if the file is not a store, is damaged, was written by a
  // newer Tangram, is in use by another daemon or cannot be written; the message says how to
  // recover. A store of an older version is backed up beside itself and migrated.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const std::string& path,
                                                           const OpenOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) = delete;
  Store& operator=(Store&&) = delete;

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t last_step() const;  // as of open() or the last commit()

  [[nodiscard]] Result<Contents> load(std::size_t most_over_jobs);
  // Loads only the scheduler.
  [[nodiscard]] Result<core::Saved> scheduler();
  [[nodiscard]] Result<Counts> counts();

  // Commits a batch atomically; it is durable after the next WalSync::sync(). A failure (full disk,
  // read-only, I/O error) leaves the store unchanged, and the commit can be retried.
  [[nodiscard]] Result<void> commit(const Changes& changes);

  // Finished jobs with IDs below `before_id`, newest first.
  [[nodiscard]] Result<std::vector<JobRow>> finished_jobs(std::uint64_t before_id, std::size_t most,
                                                          const FinishedJobFilter& filter = {});
  [[nodiscard]] Result<std::optional<JobRow>> job(std::uint64_t id);
  [[nodiscard]] Result<std::optional<ArrayRow>> array(std::uint64_t id);
  // The number of its tasks by state, without deleted ones.
  [[nodiscard]] Result<std::map<std::string, std::uint64_t>> array_states(std::uint64_t id);
  // The active ones and the newest of the others, ordered by run and by begun.
  [[nodiscard]] Result<std::vector<RunRow>> runs(std::uint64_t job,
                                                 std::size_t most = kMaxRunsKept);
  [[nodiscard]] Result<std::vector<MoveRow>> moves(std::uint64_t job,
                                                   std::size_t most = kMaxRunsKept);
  [[nodiscard]] Result<std::optional<LeaseRow>> lease(std::uint64_t job);
  // Usage in the interval: of runs, clipped to it (active ones until its end), and of deleted jobs.
  // How long a run held its instance does not follow the wall clock: if that was set while it ran,
  // the run counts for that time before its end or, if it was set back, from its beginning. `user`:
  // nullopt for all users. `now`: for active runs; without it, they count from the wall time at
  // which they were requested.
  [[nodiscard]] Result<Usage> usage(WallTime from, WallTime to,
                                    const std::optional<std::string>& user,
                                    const std::optional<ClockReading>& now = std::nullopt);
  // The step that placed the job, if the journal still has it. Moves do not change it.
  [[nodiscard]] Result<std::optional<PlacementStep>> placement_step(std::uint64_t job);

  // At most `most` events with IDs above `after`, by ID. Events before first_event() were deleted.
  [[nodiscard]] Result<std::vector<EventRow>> events(std::uint64_t after, std::size_t most);
  [[nodiscard]] Result<std::uint64_t> first_event();  // last_event() + 1 if there is none
  [[nodiscard]] std::uint64_t last_event() const;     // newest ever; 0: none

  // The submission with this idempotency key, unless it is older than kSubmissionsKept.
  [[nodiscard]] Result<std::optional<SubmissionRow>> submission(std::uint32_t uid,
                                                                const std::string& key);
  [[nodiscard]] Result<std::vector<KeptRun>> kept_runs();
  [[nodiscard]] Result<std::vector<EndedRun>> ended_runs();  // in no order
  // Bytes of the requests of active jobs, by job; of a task, its share of the array's.
  [[nodiscard]] Result<std::map<std::uint64_t, std::uint64_t>> request_sizes();
  [[nodiscard]] Result<std::vector<TokenRow>> tokens();  // by ID
  [[nodiscard]] Result<std::uint64_t> last_token();      // the highest ID ever assigned

  // Steps of the journal, starting at `from`; and the oldest snapshot, from which replay starts.
  [[nodiscard]] Result<std::vector<Step>> steps(std::uint64_t from, std::size_t most);
  [[nodiscard]] Result<SavedState> oldest_state();
  // The newest snapshot from before a step.
  [[nodiscard]] Result<SavedState> state_before(std::uint64_t step);

  // Deletes a batch of what exceeds the retention; call it until the result has no `more`. The
  // journal is cut only at a snapshot. `now`: nullopt if the clock cannot be trusted; then nothing
  // is deleted because of its age.
  [[nodiscard]] Result<RetentionResult> apply_retention(const Retention& retention,
                                                        std::optional<WallTime> now = wall_now());

  struct Impl;  // private to the store module
  explicit Store(std::unique_ptr<Impl> impl);

 private:
  friend class WalSync;
  friend Result<ReplayResult> replay(Store& store);
  friend Result<core::Scheduler> replay_to(Store& store, std::uint64_t sequence);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::store
