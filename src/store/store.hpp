// Store: everything the daemon must not forget, in one SQLite file (WAL). One transaction holds the
// events of a batch, the state of the scheduler that they produced, and what people see of it.
// What is committed outlives the process; the Syncer makes it outlive the machine. Recovery reads
// the tables; the journal serves replay and explanation. One rule: all of a batch or nothing of it.
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

namespace tangram::core {
class Scheduler;
}

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
  std::string kind = "batch";  // or service, lease
  // JSON of api::JobRequest or, of a lease, of api::LeaseRequest. Empty in a change: as it was;
  // empty in lists, because it is large.
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
  std::optional<std::uint32_t> run;  // the present or last one
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  std::uint32_t restarts = 0;
  WallTime submitted{};
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  std::optional<std::uint64_t> placed = {};  // the step that gave it its present or last place
  std::string address = {};                  // "127.0.0.1:8000", of its endpoint
  std::string labels = {};                   // a JSON object; empty: none
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
  bool direct = true;  // its clients ask there: it has no endpoint
  std::string boot;    // the boot of the machine it was started in
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
  std::string result;                     // empty: under way
  std::optional<std::uint32_t> run = {};  // of the replica
  // When its steps were over: the target instance was there, the replica was ready, traffic was
  // switched, the original had nothing left.
  std::optional<WallTime> started = {};
  std::optional<WallTime> ready = {};
  std::optional<WallTime> switched = {};
  std::optional<WallTime> drained = {};
  std::uint64_t finished = 0;  // what the original had in flight and ended by itself
  std::uint64_t cut = 0;       // what did not end within the time for it
  std::string reason = {};     // why it was taken back; nothing of the job's own
};

// Of each job: what is not over, and the newest of what is.
inline constexpr std::size_t kMostPlacesKept = 100;

// Something that happened, for whoever follows along. Numbered without gaps, for ever.
struct EventRow {
  std::uint64_t id = 0;    // in a batch: last_event() + 1 and so on
  std::uint64_t step = 0;  // of the journal
  WallTime wall{};
  std::string kind;
  std::optional<std::uint64_t> job;
  std::string event;  // JSON of api::EventView
};

// What a lease has beyond its job. Times are of the machine's own clock since its boot: leases do
// not outlive that, and nobody can set it.
struct LeaseRow {
  std::uint64_t job = 0;
  std::uint32_t taker = 0;  // who asked for it: perhaps an admin, for the job's user
  std::string key = {};
  std::chrono::microseconds ttl{0};
  std::chrono::microseconds linger{0};      // how long it keeps its place when nobody asks for it
  std::chrono::microseconds wait_until{0};  // then it is given up if nobody asks for it
  std::optional<std::chrono::microseconds> deadline = {};  // once granted
  std::optional<WallTime> granted = {};
};

// A submission that its caller may repeat without a second job coming of it.
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
  WallTime expires{};  // of one that was revoked: when
  bool revoked = false;
  std::optional<std::uint64_t> parent = {};  // the token with which it was made
};
inline constexpr std::chrono::hours kDeadTokensKept{24};

// Everything of one batch. Rows replace those of the same key (job, run, gpu, instance; a move: job
// and begun; a submission: uid and key). A lease goes with its job.
struct Changes {
  std::vector<Step> steps;
  core::SavedChanges scheduler;
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
  std::vector<RunRow> runs;  // by run; of the jobs above, the newest of each and all not over
  std::vector<GpuRow> gpus;
  std::vector<InstanceRow> instances;
  std::vector<MoveRow> moves;    // of the jobs above, by begun
  std::vector<LeaseRow> leases;  // that are not over, by job
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
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
};

// Which of the jobs that are over; what is not said does not matter.
struct PastFilter {
  std::optional<std::string> user = {};
  std::optional<std::string> profile = {};
  std::optional<std::string> state = {};
  std::optional<std::string> name = {};
  std::optional<WallTime> since = {};           // ended at or after it
  std::optional<WallTime> until = {};           // ended before it
  std::optional<std::string> label = {};        // has a label of this name,
  std::optional<std::string> label_value = {};  // with this value
  std::optional<std::uint32_t> uid = {};        // is this user's
};

// What a user held of a profile within a span.
struct UsageRow {
  std::string user;
  std::string profile;
  std::uint64_t jobs = 0;
  std::chrono::microseconds held{0};  // of all runs together
};

struct Usage {
  WallTime from{};  // what can be told of: not more than is known, and whole days where jobs of
  WallTime to{};    // the day are forgotten
  std::vector<UsageRow> rows = {};  // by user, then by profile
};

struct PlacementStep {
  std::uint64_t sequence = 0;
  WallTime wall{};
};

struct Replayed;  // replay.hpp

struct Retention {
  std::chrono::hours jobs{24 * 30};  // after their end
  std::size_t most_jobs = 100'000;   // that are over
  std::size_t most_steps = 200'000;  // of the journal; and so many events
};

// What a bite of trimming took.
struct Trimmed {
  std::vector<std::uint64_t> jobs;  // forgotten
  // Whose folders can go: they are forgotten, or their job has had more than kMostPlacesKept since.
  std::vector<std::uint32_t> runs;
  bool more = false;  // than a bite
};

[[nodiscard]] inline WallTime wall_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

struct OpenOptions {
  bool read_only = false;  // for looking; takes no lock
  bool create = true;
  // All of it, page by page. Not within a process that has it open: that would end its locks.
  bool check = true;
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

  // All of it or nothing; on the disk once a Syncer has said so. A failure (full disk, read-only,
  // I/O error) leaves the store as it was and usable for another attempt.
  [[nodiscard]] Result<void> commit(const Changes& changes);

  // Jobs that are over, for histories; the newest first.
  [[nodiscard]] Result<std::vector<JobRow>> past_jobs(std::uint64_t before_id, std::size_t most,
                                                      const PastFilter& filter = {});
  [[nodiscard]] Result<std::optional<JobRow>> job(std::uint64_t id);
  // What is not over, and the newest of the rest: by number, and by begun.
  [[nodiscard]] Result<std::vector<RunRow>> runs(std::uint64_t job,
                                                 std::size_t most = kMostPlacesKept);
  [[nodiscard]] Result<std::vector<MoveRow>> moves(std::uint64_t job,
                                                   std::size_t most = kMostPlacesKept);
  [[nodiscard]] Result<std::optional<LeaseRow>> lease(std::uint64_t job);
  // Runs clipped to the span, those still going count to its end; and what was added up of jobs
  // that are forgotten. Nothing for `user`: all of them.
  [[nodiscard]] Result<Usage> usage(WallTime from, WallTime to,
                                    const std::optional<std::string>& user);
  // The step that gave the job its present or last place, if the journal still has it. A move gives
  // no other one: that is explained by the move.
  [[nodiscard]] Result<std::optional<PlacementStep>> placement_step(std::uint64_t job);

  // At most so many events after that one, by id. Those before first_event() are forgotten.
  [[nodiscard]] Result<std::vector<EventRow>> events(std::uint64_t after, std::size_t most);
  [[nodiscard]] Result<std::uint64_t> first_event();  // that is kept; last_event() + 1 if none is
  [[nodiscard]] std::uint64_t last_event() const;     // ever, as this Store knows it; 0: none

  // What a caller asked before under this key, if that is not too long ago.
  [[nodiscard]] Result<std::optional<SubmissionRow>> submission(std::uint32_t uid,
                                                                const std::string& key);
  [[nodiscard]] Result<std::vector<std::uint32_t>> kept_runs();  // whose folders are still there
  [[nodiscard]] Result<std::vector<TokenRow>> tokens();          // by id
  [[nodiscard]] Result<std::uint64_t> last_token();              // the highest id ever given

  // The journal from a step on, and the state before its first one.
  [[nodiscard]] Result<std::vector<Step>> steps(std::uint64_t from, std::size_t most);
  [[nodiscard]] Result<Beginning> beginning();
  // The newest state that is kept from before a step.
  [[nodiscard]] Result<Beginning> state_before(std::uint64_t step);

  // Removes what is older than retention says, or too much, in small bites; the journal is cut only
  // behind a snapshot. Without `now` nothing is too old.
  [[nodiscard]] Result<Trimmed> trim(const Retention& retention,
                                     std::optional<WallTime> now = wall_now());

  struct Parts;  // private to the room
  explicit Store(std::unique_ptr<Parts> parts);

 private:
  friend class Syncer;
  friend Result<Replayed> replay(Store& store);
  friend Result<core::Scheduler> replay_to(Store& store, std::uint64_t sequence);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tangram::store
