// ApiHandlers: the operations of the API as plain functions. They are the only interface between
// the HTTP routes and the daemon: routes are tested with fake handlers, and the daemon does not
// depend on HTTP. Every handler is called on the event loop and must not block. A handler that
// returns an Answer completes at once; one that takes a Reply calls it exactly once, on the loop,
// possibly later.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/array_spec.hpp"
#include "api/event.hpp"
#include "api/explanation.hpp"
#include "api/history.hpp"
#include "api/job.hpp"
#include "api/lease.hpp"
#include "api/move.hpp"
#include "api/node.hpp"
#include "api/problem.hpp"
#include "api/token.hpp"
#include "api/tuning.hpp"

namespace tangram::http {

// The identity behind a request: the peer credentials of the unix socket, or the user of a token.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;                     // 0: unknown
  api::Scope scope = api::Scope::kAdmin;    // scope of the token; without a token, no restriction
  std::optional<std::uint64_t> token = {};  // ID of the token that authenticated the caller
  std::string address = {};                 // TCP peer, "192.0.2.7:51234"; empty: unix socket
  // The lookup of the token's user has not finished, so it is not known whether the uid still
  // belongs to the user that the token was created for.
  bool identity_pending = false;
};

template <class T>
using Answer = std::expected<T, api::Problem>;
template <class T>
using Reply = std::function<void(Answer<T>)>;

// Selects jobs with this label, with this value or any. Labels are visible to their owner and to
// admins only, so this never matches jobs of other users.
struct LabelFilter {
  std::string name;
  std::optional<std::string> value = {};
};

// Lists come in pages, the newest entries first.
inline constexpr std::size_t kMaxPageSize = 1'000;
inline constexpr std::size_t kDefaultHistoryPageSize = 100;

struct JobFilter {
  bool all = false;  // include finished jobs
  std::optional<std::string> user;
  std::optional<api::JobState> state;
  std::optional<std::string> name;
  std::optional<std::string> profile = {};
  std::optional<LabelFilter> label = {};
  std::optional<std::uint64_t> array = {};   // only its tasks
  std::optional<std::uint64_t> before = {};  // only IDs below this one: the next page
  std::size_t limit = kMaxPageSize;
};

// Selects open leases.
struct LeaseFilter {
  std::optional<std::uint64_t> before = {};  // only IDs below this one: the next page
  std::size_t limit = kMaxPageSize;
};

struct HistoryFilter {
  std::optional<std::string> user;
  std::optional<std::string> profile;
  std::optional<api::JobState> state;
  std::optional<api::WallTime> since;   // ended at or after it
  std::optional<api::WallTime> until;   // ended before it
  std::optional<std::uint64_t> before;  // only IDs below this one: the next page
  std::size_t limit = kDefaultHistoryPageSize;
};

struct UsageFilter {
  std::optional<std::string> user;
  std::optional<api::WallTime> since;  // nullopt: the beginning of the history
  std::optional<api::WallTime> until;  // nullopt: now
};

// An event as it is stored: `json` is an api::EventView, serialized and ready to be sent.
struct StoredEvent {
  std::uint64_t id = 0;
  std::string_view kind;  // points into `json`
  std::optional<std::uint64_t> job;
  std::shared_ptr<const std::string> json;
};
struct EventPage {
  std::vector<StoredEvent> events;  // ordered by ID, consecutive; starts at after + 1 unless `gap`
  bool gap = false;                 // events between `after` and the first of these were deleted
  std::uint64_t last = 0;           // ID of the newest event of all, on this page or not
};

// The Idempotency-Key of a request: repeating a request with the same key has no further effect.
struct IdempotencyKey {
  std::string key;          // at most 255 visible characters; empty: no key was given
  std::string fingerprint;  // hash of the body: reusing the key with another body is an error
};

// The output of a job: one folder per run, oldest first. The files are named in api/run_spec.hpp.
struct LogSource {
  std::vector<std::string> folders;
  bool is_complete = false;  // the job has finished: nothing more will be written
};

// The state a wait is for. kRunning is also satisfied by a job that has finished already.
enum class WaitFor : std::uint8_t { kRunning, kEnded };

enum class ArrayAction : std::uint8_t { kCancel, kHold, kRelease };

enum class GpuAction : std::uint8_t { kCordon, kUncordon, kDrain };

struct ApiHandlers {
  // Resolves a bearer token. 401 if it is unknown, expired or revoked. Returns a Caller with
  // identity_pending set if the token's user is still being looked up; the connection then waits
  // for identity_known() and authenticates once more.
  std::function<Answer<Caller>(std::string_view secret)> authenticate;
  // Whether a caller's token is still accepted. Polled while a response is pending or streaming.
  // Unset: always.
  std::function<bool(const Caller&)> still_valid;
  // Whether the lookup of the caller's user has finished or timed out. Polled before the request is
  // handled. Unset: always.
  std::function<bool(const Caller&)> identity_known;
  // Whether everything known about `job` (nullopt: about anything) is durable. Requests wait for
  // it, up to a limit, so that no response reports what a crash could undo. Unset: always.
  std::function<bool(std::optional<std::uint64_t> job)> is_durable;
  // Calls `notify` whenever is_durable() may have changed, until the returned handle is dropped.
  std::function<std::shared_ptr<void>(std::function<void()> notify)> on_durable;

  struct Submitted {
    std::uint64_t id = 0;
    bool replayed = false;  // the job existed already: a repeated request with the same key
    std::optional<api::MoveMethod> move = {};  // how it may be moved; nullopt: not known any more
    // Of an array, whose ID `id` is: its first job and the number of tasks.
    struct Tasks {
      std::uint64_t first = 0;
      std::uint64_t count = 0;
    };
    std::optional<Tasks> array = {};
  };
  // Replies once the job is durable.
  std::function<void(const Caller&, const api::JobRequest&, const IdempotencyKey&,
                     Reply<Submitted>)>
      submit;
  // Replies with the newest jobs that match, ordered by ID.
  std::function<void(const Caller&, const JobFilter&, Reply<std::vector<api::JobView>>)> jobs;
  std::function<Answer<api::JobView>(const Caller&, std::uint64_t id)> job;
  std::function<Answer<api::ArrayView>(const Caller&, std::uint64_t id)> array;
  // Changes the tasks of an array that have these indices (nullopt: all) and to which the action
  // applies, all in one transaction; an error if there are none.
  std::function<void(const Caller&, std::uint64_t id, ArrayAction,
                     const std::optional<api::ArrayIndices>&, Reply<api::ArrayView>)>
      change_array;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> cancel;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> hold;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> release;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> requeue;
  std::function<void(const Caller&, std::uint64_t id, int signal, Reply<void>)> signal;
  // Replies once the move has begun and is durable; events report its outcome.
  std::function<void(const Caller&, std::uint64_t id, const api::MoveRequest&, Reply<api::JobView>)>
      move;
  // Replies when the job reaches the state. Dropping the returned handle cancels the wait.
  std::function<std::shared_ptr<void>(const Caller&, std::uint64_t id, WaitFor,
                                      Reply<api::JobView>)>
      wait;
  std::function<Answer<LogSource>(const Caller&, std::uint64_t id)> logs;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::Explanation>)> explain;
  std::function<Answer<api::WhatIf>(const Caller&, const api::WhatIfQuestion&)> what_if;

  struct Acquired {
    api::LeaseView lease;
    bool existing = false;  // an open lease with the same key was returned
  };
  // Replies when the lease is granted, or with 409 (no-room, not-ready, out-of-service) after the
  // requested wait. Dropping the returned handle before that means that the client has
  // disconnected: the waiting lease is given up, at once or, if it has a key, after a grace period.
  std::function<std::shared_ptr<void>(const Caller&, const api::LeaseRequest&, Reply<Acquired>)>
      acquire;
  // Returns the newest open leases, ordered by ID.
  std::function<Answer<std::vector<api::LeaseView>>(const Caller&, const LeaseFilter&)> leases;
  std::function<Answer<api::LeaseView>(const Caller&, std::uint64_t id)> lease;
  // Returns the open leases with this key and owner (nullopt: the caller), those that the caller
  // acquired first; 404 if there are none.
  std::function<Answer<std::vector<api::LeaseView>>(const Caller&, const std::string& key,
                                                    std::optional<std::uint32_t> uid)>
      leases_by_key;
  // `ttl`: the new time to live; nullopt: the current one.
  std::function<void(const Caller&, std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
                     Reply<api::LeaseView>)>
      renew;
  struct Released {
    api::LeaseView lease;
    bool deferred = false;  // recorded in memory only: done once the store can be written
  };
  // Idempotent: releasing a lease that has ended succeeds.
  std::function<void(const Caller&, std::uint64_t id, Reply<Released>)> release_lease;
  // Releases the lease that the caller acquired with this key for this owner (nullopt: the caller).
  // Replies with nullopt if no such lease is open; that is no error either.
  std::function<void(const Caller&, const std::string& key, std::optional<std::uint32_t> uid,
                     Reply<std::optional<Released>>)>
      release_by_key;

  std::function<Answer<std::vector<api::GpuView>>(const Caller&)> gpus;
  std::function<void(const Caller&, std::uint32_t gpu, GpuAction, Reply<api::GpuView>)> change_gpu;
  std::function<Answer<api::TuningView>(const Caller&)> tuning;
  std::function<void(const Caller&, const api::TuningChange&, Reply<api::TuningView>)> tune;
  std::function<Answer<api::StatusView>(const Caller&)> status;
  // For admins: the live runs without a job in the store, by run.
  std::function<Answer<std::vector<api::OrphanView>>(const Caller&)> orphans;
  // For admins: begins to stop one. Repeated calls have no further effect.
  std::function<Answer<api::OrphanView>(const Caller&, std::uint64_t run)> end_orphan;
  // Plans moves, at most `most`, that reduce the node's FragCost.
  std::function<void(const Caller&, std::size_t most, Reply<api::DefragPlan>)> defrag;

  std::function<void(const Caller&, const HistoryFilter&, Reply<api::HistoryPage>)> history;
  std::function<void(const Caller&, const UsageFilter&, Reply<api::Usage>)> usage;

  // Returns the ID of the newest event, or an error if the caller may not read events.
  std::function<Answer<std::uint64_t>(const Caller&)> last_event;
  // Replies with at most `limit` events after `after`.
  std::function<void(const Caller&, std::uint64_t after, std::size_t limit, Reply<EventPage>)>
      events;
  // Calls `notify` whenever there are new events, until the returned handle is dropped.
  std::function<std::shared_ptr<void>(std::function<void()> notify)> subscribe_events;

  std::function<void(const Caller&, const api::TokenRequest&, Reply<api::TokenView>)> create_token;
  // Returns the caller's own tokens; all tokens if the caller is an admin.
  std::function<Answer<std::vector<api::TokenView>>(const Caller&)> tokens;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::TokenView>)> revoke_token;

  std::function<Answer<std::string>(const Caller&)> metrics;  // Prometheus text
  // What limits the service of a daemon that is ready, one sentence each; an error if it is not.
  std::function<Answer<std::vector<std::string>>()> ready;  // 503 while the daemon cannot serve
  // Called with every response except those to GET and HEAD, for the audit log. An unauthenticated
  // caller has an address and no token; `method` and `target` are then untrusted and of any length.
  // `what` summarizes the effect ("job=7"); empty if method and target say it all.
  std::function<void(const Caller&, std::string_view method, std::string_view target, int status,
                     std::string_view what)>
      on_answered;
};

}  // namespace tangram::http
