// Doors: what callers may ask of the daemon, as plain functions. The HTTP routes know nothing else
// of it, so they are tested with functions of a test, and the daemon knows nothing of HTTP. One
// rule: every function is called on the daemon's loop and returns at once; what takes longer
// answers through its Reply, once, on the same loop.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

// Who calls: as the kernel says (peer credentials of the unix socket), or as a token says.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;                     // 0: not known
  api::Scope scope = api::Scope::kAdmin;    // of the token; without one, all that the user may do
  std::optional<std::uint64_t> token = {};  // its id, if one was shown
  std::string address = {};                 // of a caller on TCP: "192.0.2.7:51234"
  // His token is good if its user is still the same; who that is could not be found out yet.
  bool is_unsettled = false;
};

template <class T>
using Answer = std::expected<T, api::Problem>;
template <class T>
using Reply = std::function<void(Answer<T>)>;

// A label that jobs must have, with this value or with any. Labels are their owner's and the
// admins' to see, so nobody finds others' jobs by them.
struct LabelFilter {
  std::string name;
  std::optional<std::string> value = {};
};

struct JobFilter {
  bool all = false;  // those that are over too
  std::optional<std::string> user;
  std::optional<api::JobState> state;
  std::optional<std::string> name;
  std::optional<std::string> profile = {};
  std::optional<LabelFilter> label = {};
  std::optional<std::uint64_t> before = {};  // only ids below this one: the next page
  std::size_t most = 1'000;                  // the newest
};

// Of leases that are open.
struct LeaseFilter {
  std::optional<std::uint64_t> before = {};  // only ids below this one: the next page
  std::size_t most = 1'000;                  // the newest
};

struct HistoryFilter {
  std::optional<std::string> user;
  std::optional<std::string> profile;
  std::optional<api::JobState> state;
  std::optional<api::WallTime> since;   // ended at or after it
  std::optional<api::WallTime> until;   // ended before it
  std::optional<std::uint64_t> before;  // only ids below this one
  std::size_t most = 100;               // at most 1000
};

struct UsageFilter {
  std::optional<std::string> user;
  std::optional<api::WallTime> since;  // none: as long as history goes back
  std::optional<api::WallTime> until;  // none: now
};

// Events as they are kept: JSON of api::EventView, ready to be sent.
struct StoredEvent {
  std::uint64_t id = 0;
  std::string_view kind;  // of `json`'s own text
  std::optional<std::uint64_t> job;
  std::shared_ptr<const std::string> json;
};
struct EventPage {
  std::vector<StoredEvent> events;  // by id, without gaps from after + 1 on unless `gap`
  bool gap = false;                 // events between `after` and the first of these are forgotten
  std::uint64_t last = 0;           // the newest there is, also if it is not among them
};

// A request that a client may repeat without it being done twice (header Idempotency-Key).
struct Once {
  std::string key;          // empty: none was given; at most 255 visible characters
  std::string fingerprint;  // of the body: the same key with another body is a mistake
};

// Where the output of a job lies: a folder per run, oldest first (api/run_spec.hpp names the
// files).
struct LogSource {
  std::vector<std::string> folders;
  bool over = false;  // no more will come
};

enum class WaitFor : std::uint8_t { kRunning, kOver };  // running: or over already

enum class GpuDeed : std::uint8_t { kCordon, kUncordon, kDrain };

struct Doors {
  // Whom a bearer token stands for; 401 if it is unknown, expired or revoked. One whose user is not
  // known yet waits until he is settled, and is asked for again; who is unsettled then is refused.
  std::function<Answer<Caller>(std::string_view secret)> authenticate;
  // Whether a caller who showed a token would still be let in with it; asked again and again while
  // he is told what happens. Unset: he would.
  std::function<bool(const Caller&)> still_valid;
  // Whether it is known who this user is, or would take too long to find out; asked again and again
  // until it is so, before his request is handed on. Unset: it is.
  std::function<bool(const Caller&)> is_settled;
  // Whether all that is known of a job (none: of anything) is on the disk; and who wants to be rung
  // when that may have changed, until he drops what it gives. A request waits for it, a while, so
  // that nobody is told what a crash could undo. Unset: it is.
  std::function<bool(std::optional<std::uint64_t> job)> is_lasting;
  std::function<std::shared_ptr<void>(std::function<void()> ring)> when_lasting;

  // Answered once the job is durable. Asked again with the same key: the same job, `again` set.
  struct Submitted {
    std::uint64_t id = 0;
    bool again = false;
  };
  std::function<void(const Caller&, const api::JobRequest&, const Once&, Reply<Submitted>)> submit;
  // The newest of those that are wanted, by id.
  std::function<void(const Caller&, const JobFilter&, Reply<std::vector<api::JobView>>)> jobs;
  std::function<Answer<api::JobView>(const Caller&, std::uint64_t id)> job;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> cancel;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> hold;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::JobView>)> release;
  std::function<void(const Caller&, std::uint64_t id, int signal, Reply<void>)> signal;
  // Answered once the move is begun and durable; how it ends, events tell.
  std::function<void(const Caller&, std::uint64_t id, const api::MoveRequest&, Reply<api::JobView>)>
      move;
  // The reply comes when it is so; whoever drops the token is not told any more.
  std::function<std::shared_ptr<void>(const Caller&, std::uint64_t id, WaitFor,
                                      Reply<api::JobView>)>
      wait;
  std::function<Answer<LogSource>(const Caller&, std::uint64_t id)> logs;
  std::function<void(const Caller&, std::uint64_t id, Reply<api::Explanation>)> explain;
  std::function<Answer<api::WhatIf>(const Caller&, const api::WhatIfQuestion&)> what_if;

  // The reply comes when the lease is granted, or says why it was not (409 after its wait: no-room,
  // not-ready, out-of-service).
  // Whoever drops the token before that has left: a lease that still waits is given up, with a key
  // only after a while.
  struct Acquired {
    api::LeaseView lease;
    bool again = false;  // it was open already when it was asked for
  };
  std::function<std::shared_ptr<void>(const Caller&, const api::LeaseRequest&, Reply<Acquired>)>
      acquire;
  // The newest of those that are open, by id.
  std::function<Answer<std::vector<api::LeaseView>>(const Caller&, const LeaseFilter&)> leases;
  std::function<Answer<api::LeaseView>(const Caller&, std::uint64_t id)> lease;
  // Open ones of that key and owner (none: the caller), those first that the caller took; 404 if
  // there is none.
  std::function<Answer<std::vector<api::LeaseView>>(const Caller&, const std::string& key,
                                                    std::optional<std::uint32_t> uid)>
      leases_by_key;
  // With a new time to live, or the one it has.
  std::function<void(const Caller&, std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
                     Reply<api::LeaseView>)>
      renew;
  // Releasing one that is over already is no mistake.
  struct Released {
    api::LeaseView lease;
    bool noted = false;  // and no more: it is done once the store can be written
  };
  std::function<void(const Caller&, std::uint64_t id, Reply<Released>)> release_lease;
  // The one that the caller took with that key for that owner (none: himself). That there is none
  // open is no mistake either.
  std::function<void(const Caller&, const std::string& key, std::optional<std::uint32_t> uid,
                     Reply<std::optional<Released>>)>
      release_by_key;

  std::function<Answer<std::vector<api::GpuView>>(const Caller&)> gpus;
  std::function<void(const Caller&, std::uint32_t gpu, GpuDeed, Reply<api::GpuView>)> change_gpu;
  std::function<Answer<api::TuningView>(const Caller&)> tuning;
  std::function<void(const Caller&, const api::TuningChange&, Reply<api::TuningView>)> tune;
  std::function<Answer<api::StatusView>(const Caller&)> status;
  // The moves, at most so many, that would bring the node's FragCost down.
  std::function<void(const Caller&, std::size_t most, Reply<api::DefragPlan>)> defrag;

  std::function<void(const Caller&, const HistoryFilter&, Reply<api::HistoryPage>)> history;
  std::function<void(const Caller&, const UsageFilter&, Reply<api::Usage>)> usage;

  // The number of the newest event, for who may be told of them.
  std::function<Answer<std::uint64_t>(const Caller&)> last_event;
  // At most `most` events after that one; and a ring for whoever waits for more, until what it
  // gives is dropped.
  std::function<void(const Caller&, std::uint64_t after, std::size_t most, Reply<EventPage>)>
      events;
  std::function<std::shared_ptr<void>(std::function<void()> ring)> listen;

  std::function<void(const Caller&, const api::TokenRequest&, Reply<api::TokenView>)> create_token;
  std::function<Answer<std::vector<api::TokenView>>(const Caller&)> tokens;  // own; admins: all
  std::function<void(const Caller&, std::uint64_t id, Reply<api::TokenView>)> revoke_token;

  std::function<Answer<std::string>(const Caller&)> metrics;  // Prometheus text
  std::function<Answer<void>()> ready;                        // 503 while it could not serve
  // Told of every answered request but plain looks (GET), for the audit log. Who came over TCP and
  // showed no token that is good has an address and no token; his words are as long as he likes.
  // `what` says in a few words what came of it, empty if method and target say it all.
  std::function<void(const Caller&, std::string_view method, std::string_view target, int status,
                     std::string_view what)>
      answered;
};

}  // namespace tangram::http
