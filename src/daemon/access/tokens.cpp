// See tokens.hpp.
#include "daemon/access/tokens.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <sys/random.h>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

// Includes expired and revoked tokens that are still kept, which bounds memory and disk.
constexpr std::size_t kMaxPerUser = 1'000;

std::optional<api::Scope> find_scope(std::string_view name) {
  for (const api::Scope each : {api::Scope::kRead, api::Scope::kWrite, api::Scope::kAdmin}) {
    if (api::name_of(each) == name) return each;
  }
  return std::nullopt;
}

std::string hash_of(std::string_view secret) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest.data());
  std::string text;
  for (const unsigned char byte : digest) {
    text += {"0123456789abcdef"[byte >> 4U], "0123456789abcdef"[byte & 15U]};
  }
  return text;
}

// 256 random bits, six per character.
Result<std::string> random_secret() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed(cat("getrandom failed: ", std::strerror(errno), "."));
  }
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
    unsigned six = 0;
    for (std::size_t i = bit; i < bit + 6; ++i) {
      const unsigned byte = i / 8 < bytes.size() ? bytes[i / 8] : 0U;
      six = six << 1U | (byte >> (7 - i % 8) & 1U);
    }
    text += kLetters[six];
  }
  return text;
}

api::TokenView view_of(const store::TokenRow& row) {
  api::TokenView view;
  view.id = row.id;
  view.name = row.name;
  view.user = row.user;
  view.uid = row.uid;
  view.scope = find_scope(row.scope).value_or(api::Scope::kRead);
  view.created = row.created;
  view.expires = row.expires;
  view.revoked = row.revoked;
  view.parent = row.parent;
  return view;
}

bool is_valid(const store::TokenRow& row) { return !row.revoked && Clock::wall() < row.expires; }

// True if the uid now belongs to another user or to none. False while its lookup is pending.
bool uid_was_reassigned(const store::TokenRow& row) {
  return is_user_resolved(row.uid) && user_name(row.uid) != row.user;
}

// "tangram_7_…": 7
std::optional<std::uint64_t> id_in(std::string_view secret) {
  constexpr std::string_view kBegin = "tangram_";
  if (!secret.starts_with(kBegin) || secret.size() > 128) return std::nullopt;
  secret.remove_prefix(kBegin.size());
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(secret.data(), secret.data() + secret.size(), id);
  if (error != std::errc() || end == secret.data() + secret.size() || *end != '_') {
    return std::nullopt;
  }
  return id;
}

}  // namespace

Result<void> Tokens::load() {
  auto rows = engine_.store().tokens();
  if (!rows) return std::unexpected(rows.error());
  const auto last = engine_.store().last_token();
  if (!last) return std::unexpected(last.error());
  last_id_ = *last;
  for (store::TokenRow& row : *rows) tokens_.insert_or_assign(row.id, std::move(row));
  drop_expired();
  for (const auto& [id, row] : tokens_) static_cast<void>(group_of(row.uid));  // starts the lookups
  return {};
}

// By the same rule as Store::apply_retention().
void Tokens::drop_expired() {
  const auto oldest = Clock::wall() - store::kExpiredTokensKept;
  std::erase_if(tokens_, [oldest](const auto& each) { return each.second.expires < oldest; });
}

void Tokens::register_handlers(http::ApiHandlers& handlers) {
  handlers.authenticate = [this](std::string_view secret) { return authenticate(secret); };
  handlers.still_valid = [this](const Caller& caller) {
    if (!caller.token) return true;
    const auto at = tokens_.find(*caller.token);
    return at != tokens_.end() && is_valid(at->second) && !uid_was_reassigned(at->second);
  };
  handlers.create_token = [this](const Caller& caller, const api::TokenRequest& request,
                                 const Reply& reply) { create(caller, request, reply); };
  handlers.tokens = [this](const Caller& caller) { return list(caller); };
  handlers.revoke_token = [this](const Caller& caller, std::uint64_t id, const Reply& reply) {
    revoke(caller, id, reply);
  };
}

http::Answer<http::Caller> Tokens::authenticate(std::string_view secret) const {
  const std::string shown = hash_of(secret);
  const auto id = id_in(secret);
  const auto at = id ? tokens_.find(*id) : tokens_.end();
  if (at == tokens_.end()) return std::unexpected(unauthorized());
  const store::TokenRow& row = at->second;
  const auto scope = find_scope(row.scope);
  const bool same = row.hash.size() == shown.size() &&
                    CRYPTO_memcmp(row.hash.data(), shown.data(), shown.size()) == 0;
  if (!same || !scope || !is_valid(row)) return std::unexpected(unauthorized());
  const bool known = is_user_resolved(row.uid);
  if (known && uid_was_reassigned(row)) return std::unexpected(unauthorized());
  Caller caller;
  caller.identity_pending = !known;
  caller.uid = row.uid;
  caller.gid = group_of(row.uid);
  caller.scope = *scope;
  caller.token = row.id;
  return caller;
}

http::Answer<void> Tokens::may_create(const Caller& caller,
                                      const api::TokenRequest& request) const {
  if (auto may = access_.admit_change(caller); !may) return may;
  const std::uint32_t uid = request.uid.value_or(caller.uid);
  if (uid != caller.uid) {
    constexpr auto kAction = "create tokens for other users";
    if (auto may = access_.require_superuser(caller, kAction); !may) return may;
  }
  if (caller.token && request.scope > caller.scope) {
    return std::unexpected(
        forbidden(cat("a token of scope ", api::name_of(caller.scope),
                      " cannot create one of scope ", api::name_of(request.scope), ".")));
  }
  const auto count =
      std::ranges::count_if(tokens_, [&](const auto& each) { return each.second.uid == uid; });
  if (static_cast<std::size_t>(count) < kMaxPerUser) return {};
  return std::unexpected(conflict(cat("token limit of ", user_name(uid), " reached (", count,
                                      "): revoke some; a revoked token counts for another day.")));
}

void Tokens::create(const Caller& caller, const api::TokenRequest& request, const Reply& reply) {
  drop_expired();
  if (auto may = may_create(caller, request); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  const auto parent = caller.token ? tokens_.find(*caller.token) : tokens_.end();
  if (caller.token && (parent == tokens_.end() || !is_valid(parent->second))) {
    reply(std::unexpected(unauthorized()));
    return;
  }
  const std::uint32_t uid = request.uid.value_or(caller.uid);
  if (!is_user_resolved(uid)) {  // the token would store the uid as the name and never match
    reply(std::unexpected(unavailable(cat(
        "cannot look up user ", uid, ": the user database does not respond. Retry in a moment."))));
    return;
  }
  const auto random = random_secret();
  if (!random) {
    reply(std::unexpected(unavailable(random.error().message)));
    return;
  }
  store::TokenRow row;
  row.id = ++last_id_;
  row.name = request.name;
  row.uid = uid;
  row.user = user_name(row.uid);
  row.scope = api::name_of(request.scope);
  row.created = Clock::wall();
  row.expires = row.created + request.ttl;
  // A child must not outlive the token it is created with.
  if (caller.token) row.expires = std::min(row.expires, parent->second.expires);
  row.parent = caller.token;
  const std::string secret = cat("tangram_", row.id, "_", *random);
  row.hash = hash_of(secret);
  put(row, reply, secret);
}

// The token is valid once it is durable.
void Tokens::put(const store::TokenRow& row, const Reply& reply, const std::string& secret) {
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows = [row](JobTable& records) { records.put(row); },
                     .done =
                         [this, row, reply, secret](const Result<void>& result) {
                           if (!result) {
                             reply(std::unexpected(unavailable(result.error().message)));
                             return;
                           }
                           tokens_.insert_or_assign(row.id, row);
                           revoke_new_children();
                           api::TokenView made = view(row);
                           made.secret = secret;
                           reply(std::move(made));
                         },
                     .may_be_refused = true});
}

api::TokenView Tokens::view(const store::TokenRow& row) const {
  api::TokenView view = view_of(row);
  if (!unsaved_.contains(row.id)) return view;
  const std::string& trouble = engine_.store_error();
  view.unsaved = trouble.empty() ? "the revocation is being written." : trouble;
  return view;
}

std::set<std::uint32_t> Tokens::users() const {
  std::set<std::uint32_t> uids;
  for (const auto& [id, row] : tokens_) uids.insert(row.uid);
  return uids;
}

http::Answer<std::vector<api::TokenView>> Tokens::list(const Caller& caller) const {
  if (auto admitted = access_.admit(caller); !admitted) return std::unexpected(admitted.error());
  std::vector<api::TokenView> views;
  for (const auto& [id, row] : tokens_) {
    if (access_.may_read(caller, row.uid)) views.push_back(view(row));
  }
  return views;
}

// Returns the token itself first, then its descendants. A child has a higher id than its parent.
std::vector<store::TokenRow> Tokens::revoke_tree(std::uint64_t id) {
  std::vector<store::TokenRow> revoked;
  std::set<std::uint64_t> ids = {id};
  for (auto& [number, row] : tokens_) {
    if (row.parent && ids.contains(*row.parent)) ids.insert(number);
    if (!ids.contains(number)) continue;
    row.revoked = true;
    row.expires = std::min(row.expires, Clock::wall());  // invalid from now on
    unsaved_.insert(number);
    revoked.push_back(row);
  }
  return revoked;
}

// Revokes tokens whose creation became durable only after their parent was revoked.
void Tokens::revoke_new_children() {
  for (auto& [id, row] : tokens_) {
    const auto parent = row.parent ? tokens_.find(*row.parent) : tokens_.end();
    if (row.revoked || parent == tokens_.end() || !parent->second.revoked) continue;
    row.revoked = true;
    row.expires = std::min(row.expires, Clock::wall());
    engine_.post(Input{.event = core::WakeUp{},
                       .edit_rows = [row](JobTable& records) { records.put(row); }});
  }
}

void Tokens::revoke(const Caller& caller, std::uint64_t id, const Reply& reply) {
  const auto at = tokens_.find(id);
  // Tokens of other users look like tokens that do not exist.
  if (at == tokens_.end() || !access_.may_read(caller, at->second.uid)) {
    reply(std::unexpected(missing(cat("token ", id, ": not found."))));
    return;
  }
  if (auto may = access_.require_control(caller, at->second.uid, cat("token ", id), "revoke");
      !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  if (at->second.revoked && !unsaved_.contains(id)) {
    reply(view(at->second));
    return;
  }
  save_revocations(revoke_tree(id), reply);
}

// Posted as a fact: the tokens are invalid already, so the write is retried until it succeeds. The
// caller is answered then, or at once if the store fails; TokenView::unsaved says so.
void Tokens::save_revocations(const std::vector<store::TokenRow>& rows, const Reply& reply) {
  struct PendingReply {
    Reply reply;
    std::shared_ptr<void> waiter = {};
  };
  const auto pending = std::make_shared<PendingReply>(PendingReply{.reply = reply});
  const auto answer = [this, row = rows.front()](PendingReply& to) {
    to.waiter.reset();
    if (const Reply send = std::exchange(to.reply, nullptr)) send(view(row));
  };
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows =
                         [rows](JobTable& records) {
                           for (const store::TokenRow& row : rows) records.put(row);
                         },
                     .done =
                         [this, rows, pending, answer](const Result<void>& /*a fact*/) {
                           for (const store::TokenRow& row : rows) unsaved_.erase(row.id);
                           answer(*pending);
                         }});
  if (!engine_.store_error().empty()) {
    answer(*pending);
    return;
  }
  pending->waiter = engine_.on_durable([this, weak = std::weak_ptr(pending), answer] {
    const auto locked = weak.lock();
    if (locked && !engine_.store_error().empty()) answer(*locked);
  });
}

}  // namespace tangram::daemon
