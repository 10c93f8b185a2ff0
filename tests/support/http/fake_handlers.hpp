// For tests: the handlers of a TestDaemon for events, leases, moves and tokens. Used on its loop
// only.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "http/routes/exchange.hpp"

namespace tangram::http::testing {

class FakeEvents {
 public:
  void add(std::string kind, std::optional<std::uint64_t> job = std::nullopt) {
    const std::uint64_t id = ++last_;
    auto json = std::make_shared<const std::string>(
        cat(R"({"id":)", id, R"(,"kind":")", kind, R"(","job":)", job.value_or(0), '}'));
    const std::size_t at = json->find(kind, 7);
    const std::string_view view = std::string_view(*json).substr(at, kind.size());
    events_.push_back({id, view, job, std::move(json)});
    for (const auto& [key, notify] : listeners_) notify();
  }
  // Deletes the events up to this one.
  void forget(std::uint64_t id) {
    std::erase_if(events_, [id](const StoredEvent& event) { return event.id <= id; });
  }
  [[nodiscard]] std::size_t listeners() const { return listeners_.size(); }
  // If set, pages are kept back until send_kept_pages().
  bool keep_pages = false;
  [[nodiscard]] std::size_t kept_pages() const { return kept_.size(); }
  void send_kept_pages() {
    for (const auto& send : std::exchange(kept_, {})) send();
  }
  int busy_replies = 0;  // this many requests for a page get a 503 first

  void register_handlers(ApiHandlers& handlers) {
    handlers.last_event = [this](const Caller&) { return last_; };
    handlers.events = [this](const Caller&, std::uint64_t after, std::size_t limit,
                             const Reply<EventPage>& reply) {
      if (busy_replies > 0) {
        --busy_replies;
        reply(std::unexpected(problem(503, "unavailable", "too many requests")));
        return;
      }
      EventPage page;
      page.last = last_;
      const std::uint64_t first = events_.empty() ? last_ + 1 : events_.front().id;
      page.gap = after + 1 < first;
      for (std::size_t i = after + 1 > first ? after + 1 - first : 0; i < events_.size(); ++i) {
        if (page.events.size() == limit) break;
        page.events.push_back(events_[i]);
      }
      if (!keep_pages) {
        reply(std::move(page));
        return;
      }
      kept_.push_back([reply, page = std::move(page)] { reply(page); });
    };
    handlers.subscribe_events = [this](std::function<void()> notify) -> std::shared_ptr<void> {
      const std::uint64_t key = ++last_listener_;
      listeners_[key] = std::move(notify);
      return {this, [this, key](void*) { listeners_.erase(key); }};
    };
  }

 private:
  std::vector<StoredEvent> events_;
  std::vector<std::function<void()>> kept_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::function<void()>> listeners_;
  std::uint64_t last_listener_ = 0;
};

// Leases of "1g.5gb" are granted at once, others by grant().
class FakeLeases {
 public:
  struct Lease {
    api::LeaseView view;
    std::weak_ptr<int> token;
    Reply<ApiHandlers::Acquired> reply;
  };
  void grant(std::uint64_t id) {
    Lease& lease = leases_.at(id);
    lease.view.state = api::LeaseState::kGranted;
    if (!lease.token.expired() && lease.reply) {
      std::exchange(lease.reply,
                    nullptr)(ApiHandlers::Acquired{.lease = lease.view, .existing = false});
    }
  }
  // The number of clients that requested a lease and are still connected.
  [[nodiscard]] std::size_t waiting() const {
    std::size_t count = 0;
    for (const auto& [id, lease] : leases_) count += lease.token.expired() ? 0 : 1;
    return count;
  }

  void register_handlers(ApiHandlers& handlers) {
    add_acquire(handlers);
    add_lists(handlers);
    add_changes(handlers);
  }

  bool store_fails = false;

 private:
  void add_acquire(ApiHandlers& handlers) {
    handlers.acquire = [this](const Caller& caller, const api::LeaseRequest& request,
                              Reply<ApiHandlers::Acquired> reply) -> std::shared_ptr<void> {
      const std::uint32_t owner = request.uid.value_or(caller.uid);
      if (Lease* known = find(request.key, owner)) {
        reply(ApiHandlers::Acquired{.lease = known->view, .existing = true});
        return nullptr;
      }
      const std::uint64_t id = 100 + leases_.size();
      auto token = std::make_shared<int>(0);
      Lease& lease = leases_[id];
      lease.view.id = id;
      lease.view.uid = owner;
      lease.view.taker_uid = caller.uid;
      lease.view.key = request.key;
      lease.view.profile = request.profile;
      lease.view.ttl = request.ttl.value_or(api::kLeaseTtl);
      lease.token = token;
      lease.reply = std::move(reply);
      if (request.profile == "9g.90gb") {
        lease.view.state = api::LeaseState::kEnded;
        lease.reply(std::unexpected(problem(409, "no-room", "there is no room for 9g.90gb.")));
      } else if (request.profile == "1g.5gb") {
        grant(id);
      }
      return token;
    };
  }

  void add_lists(ApiHandlers& handlers) {
    handlers.leases = [this](const Caller&,
                             const LeaseFilter& filter) -> Answer<std::vector<api::LeaseView>> {
      std::vector<api::LeaseView> open;
      for (const auto& [id, lease] : leases_) {
        if (filter.before && id >= *filter.before) continue;
        if (lease.view.state != api::LeaseState::kEnded) open.push_back(lease.view);
      }
      if (open.size() > filter.limit) {
        open.erase(open.begin(), open.end() - static_cast<std::ptrdiff_t>(filter.limit));
      }
      return open;
    };
    handlers.lease = [this](const Caller&, std::uint64_t id) -> Answer<api::LeaseView> {
      if (!leases_.contains(id)) return std::unexpected(none());
      return leases_.at(id).view;
    };
    handlers.leases_by_key =
        [this](const Caller& caller, const std::string& key,
               std::optional<std::uint32_t> uid) -> Answer<std::vector<api::LeaseView>> {
      const Lease* found = find(key, uid.value_or(caller.uid));
      if (found == nullptr) return std::unexpected(none());
      return std::vector{found->view};
    };
  }

  void add_changes(ApiHandlers& handlers) {
    handlers.release_by_key = [this](const Caller& caller, const std::string& key,
                                     std::optional<std::uint32_t> uid,
                                     const Reply<std::optional<ApiHandlers::Released>>& reply) {
      Lease* found = find(key, uid.value_or(caller.uid));
      if (found == nullptr) {
        reply(std::nullopt);
        return;
      }
      found->view.state = api::LeaseState::kEnded;
      reply(ApiHandlers::Released{.lease = found->view, .deferred = store_fails});
    };
    handlers.renew = [this](const Caller&, std::uint64_t id,
                            std::optional<std::chrono::milliseconds> ttl,
                            const Reply<api::LeaseView>& reply) {
      if (!leases_.contains(id)) {
        reply(std::unexpected(none()));
        return;
      }
      api::LeaseView& view = leases_.at(id).view;
      if (view.state == api::LeaseState::kEnded) {
        reply(std::unexpected(problem(409, "lease-over", "the lease has ended")));
        return;
      }
      view.ttl = ttl.value_or(view.ttl);
      reply(view);
    };
    handlers.release_lease = [this](const Caller&, std::uint64_t id,
                                    const Reply<ApiHandlers::Released>& reply) {
      if (!leases_.contains(id)) {
        reply(std::unexpected(none()));
        return;
      }
      leases_.at(id).view.state = api::LeaseState::kEnded;
      reply(ApiHandlers::Released{.lease = leases_.at(id).view, .deferred = store_fails});
    };
  }

  static api::Problem none() { return problem(404, "no-such-lease", "there is no such lease."); }
  Lease* find(const std::string& key, std::uint32_t owner) {
    for (auto& [id, lease] : leases_) {
      const bool open = lease.view.state != api::LeaseState::kEnded;
      if (!key.empty() && lease.view.key == key && lease.view.uid == owner && open) {
        return &lease;
      }
    }
    return nullptr;
  }

  std::map<std::uint64_t, Lease> leases_;
};

// A node of one GPU. Job 1 can be moved to any start but 4, which is occupied. A defragmentation
// plan has `steps` moves.
class FakeMoves {
 public:
  std::size_t steps = 0;
  std::optional<api::SlotView> last;  // destination of the last move; nullopt: anywhere

  void register_handlers(ApiHandlers& handlers) {
    handlers.move = [this](const Caller&, std::uint64_t id, const api::MoveRequest& move,
                           const Reply<api::JobView>& reply) {
      if (id != 1) {
        reply(std::unexpected(problem(404, "no-such-job", "no such job")));
        return;
      }
      if (move.to && move.to->gpu != 0) {
        reply(std::unexpected(problem(404, "not-found", "GPU not found")));
        return;
      }
      if (move.to && move.to->start == 4) {
        reply(std::unexpected(problem(409, "conflict", "gpu 0:4 is not free.")));
        return;
      }
      last = move.to;
      api::JobView view;
      view.id = id;
      view.moving = true;
      reply(view);
    };
    handlers.defrag = [this](const Caller&, std::size_t most, const Reply<api::DefragPlan>& reply) {
      api::DefragPlan plan;
      plan.frag_cost_before = 0.5;
      plan.steps.resize(std::min(most, steps));
      reply(plan);
    };
  }
};

// Three tokens, one of each scope: "tangram_1_read", "tangram_2_write", "tangram_3_admin".
class FakeTokens {
 public:
  bool revoked = false;           // all of them
  bool identity_pending = false;  // the lookups of their users have not finished

  void register_handlers(ApiHandlers& handlers) {
    handlers.still_valid = [this](const Caller&) { return !revoked; };
    handlers.authenticate = [this](std::string_view secret) -> Answer<Caller> {
      constexpr std::string_view kSecrets[] = {"tangram_1_read", "tangram_2_write",
                                               "tangram_3_admin"};
      for (std::uint32_t i = 0; i < 3; ++i) {
        if (secret != kSecrets[i]) continue;
        return Caller{.uid = 1000 + i,
                      .gid = 1000,
                      .scope = static_cast<api::Scope>(i),
                      .token = i + 1,
                      .identity_pending = identity_pending};
      }
      return std::unexpected(problem(401, "unauthorized", "the token is not known."));
    };
    handlers.create_token = [](const Caller& caller, const api::TokenRequest& request,
                               const Reply<api::TokenView>& reply) {
      api::TokenView token;
      token.id = 7;
      token.name = request.name;
      token.uid = request.uid.value_or(caller.uid);
      token.scope = request.scope;
      token.secret = "tangram_7_secret";
      reply(token);
    };
    handlers.tokens = [](const Caller&) { return std::vector<api::TokenView>(3); };
    handlers.revoke_token = [](const Caller&, std::uint64_t id,
                               const Reply<api::TokenView>& reply) {
      api::TokenView token;
      token.id = id;
      token.revoked = true;
      reply(token);
    };
  }
};

}  // namespace tangram::http::testing
