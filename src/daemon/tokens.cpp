// See tokens.hpp.
#include "daemon/tokens.hpp"

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
#include "daemon/problems.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

// With those that let nobody in any more and are still remembered: who makes them and takes them
// back all day fills neither memory nor disk.
constexpr std::size_t kMostPerUser = 1'000;

std::optional<api::Scope> scope_named(std::string_view name) {
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

// 256 bits of chance, six to a character.
Result<std::string> chance() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed(cat("the kernel gives no random numbers: ", std::strerror(errno), "."));
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
  view.scope = scope_named(row.scope).value_or(api::Scope::kRead);
  view.created = row.created;
  view.expires = row.expires;
  view.revoked = row.revoked;
  view.parent = row.parent;
  return view;
}

bool is_alive(const store::TokenRow& row) { return !row.revoked && Clock::wall() < row.expires; }

// By now its user's number is somebody else's, or nobody's. As long as that is not found out, it is
// not said.
bool is_anothers(const store::TokenRow& row) {
  return is_user_known(row.uid) && user_name(row.uid) != row.user;
}

// "tangram_7_…": 7
std::optional<std::uint64_t> number_in(std::string_view secret) {
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
  last_ = *last;
  for (store::TokenRow& row : *rows) tokens_.insert_or_assign(row.id, std::move(row));
  forget_dead();
  for (const auto& [id, row] : tokens_) static_cast<void>(group_of(row.uid));  // will be asked for
  return {};
}

// As the store does when it is trimmed.
void Tokens::forget_dead() {
  const auto oldest = Clock::wall() - store::kDeadTokensKept;
  std::erase_if(tokens_, [oldest](const auto& each) { return each.second.expires < oldest; });
}

void Tokens::fill(http::Doors& doors) {
  doors.authenticate = [this](std::string_view secret) { return authenticate(secret); };
  doors.still_valid = [this](const Caller& caller) {
    if (!caller.token) return true;
    const auto at = tokens_.find(*caller.token);
    return at != tokens_.end() && is_alive(at->second) && !is_anothers(at->second);
  };
  doors.create_token = [this](const Caller& caller, const api::TokenRequest& request,
                              const Reply& reply) { create(caller, request, reply); };
  doors.tokens = [this](const Caller& caller) { return list(caller); };
  doors.revoke_token = [this](const Caller& caller, std::uint64_t id, const Reply& reply) {
    revoke(caller, id, reply);
  };
}

http::Answer<http::Caller> Tokens::authenticate(std::string_view secret) const {
  const std::string shown = hash_of(secret);
  const auto id = number_in(secret);
  const auto at = id ? tokens_.find(*id) : tokens_.end();
  if (at == tokens_.end()) return std::unexpected(unauthorized());
  const store::TokenRow& row = at->second;
  const auto scope = scope_named(row.scope);
  const bool same = row.hash.size() == shown.size() &&
                    CRYPTO_memcmp(row.hash.data(), shown.data(), shown.size()) == 0;
  if (!same || !scope || !is_alive(row)) return std::unexpected(unauthorized());
  const bool known = is_user_known(row.uid);
  if (known && is_anothers(row)) return std::unexpected(unauthorized());
  Caller caller;
  caller.is_unsettled = !known;
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
    constexpr auto kDeed = "create tokens for others, because whoever shows one is that user";
    if (auto may = access_.require_master(caller, kDeed); !may) return may;
  }
  if (caller.token && request.scope > caller.scope) {
    return std::unexpected(
        forbidden(cat("a token of the scope ", api::name_of(caller.scope),
                      " cannot create one of the scope ", api::name_of(request.scope), ".")));
  }
  const auto count =
      std::ranges::count_if(tokens_, [&](const auto& each) { return each.second.uid == uid; });
  if (static_cast<std::size_t>(count) < kMostPerUser) return {};
  return std::unexpected(conflict(cat(
      user_name(uid), " has ", count,
      " tokens already, which is the limit. Revoke some: they count for another day, then not.")));
}

void Tokens::create(const Caller& caller, const api::TokenRequest& request, const Reply& reply) {
  forget_dead();
  if (auto may = may_create(caller, request); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  const auto parent = caller.token ? tokens_.find(*caller.token) : tokens_.end();
  if (caller.token && (parent == tokens_.end() || !is_alive(parent->second))) {
    reply(std::unexpected(unauthorized()));
    return;
  }
  const std::uint32_t uid = request.uid.value_or(caller.uid);
  if (!is_user_known(uid)) {  // it would have the number for a name, and be nobody's later
    reply(std::unexpected(unavailable(
        cat("it cannot be found out now who the user ", uid,
            " is: the machine's user database does not answer. Try again in a moment."))));
    return;
  }
  const auto random = chance();
  if (!random) {
    reply(std::unexpected(unavailable(random.error().message)));
    return;
  }
  store::TokenRow row;
  row.id = ++last_;
  row.name = request.name;
  row.uid = uid;
  row.user = user_name(row.uid);
  row.scope = api::name_of(request.scope);
  row.created = Clock::wall();
  row.expires = row.created + request.ttl;
  // Or a token that was lent for a day could be made to last for ever.
  if (caller.token) row.expires = std::min(row.expires, parent->second.expires);
  row.parent = caller.token;
  const std::string secret = cat("tangram_", row.id, "_", *random);
  row.hash = hash_of(secret);
  put(row, reply, secret);
}

// In force once it is durable.
void Tokens::put(const store::TokenRow& row, const Reply& reply, const std::string& secret) {
  engine_.post(Input{.event = core::WakeUp{},
                     .note = [row](Records& records) { records.put(row); },
                     .done =
                         [this, row, reply, secret](const Result<void>& result) {
                           if (!result) {
                             reply(std::unexpected(unavailable(result.error().message)));
                             return;
                           }
                           tokens_.insert_or_assign(row.id, row);
                           end_latecomers();
                           api::TokenView made = view(row);
                           made.secret = secret;
                           reply(std::move(made));
                         },
                     .wish = true});
}

api::TokenView Tokens::view(const store::TokenRow& row) const {
  api::TokenView view = view_of(row);
  if (!unsaved_.contains(row.id)) return view;
  const std::string& trouble = engine_.store_trouble();
  view.unsaved = trouble.empty() ? "it is on its way to the disk." : trouble;
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

// Itself first, then what was made with it, and so on. One that was made has a higher number.
std::vector<store::TokenRow> Tokens::end_with_offspring(std::uint64_t id) {
  std::vector<store::TokenRow> family;
  std::set<std::uint64_t> ids = {id};
  for (auto& [number, row] : tokens_) {
    if (row.parent && ids.contains(*row.parent)) ids.insert(number);
    if (!ids.contains(number)) continue;
    row.revoked = true;
    row.expires = std::min(row.expires, Clock::wall());  // from here on it is dead
    unsaved_.insert(number);
    family.push_back(row);
  }
  return family;
}

// Those that were on their way to the disk while the token that made them was revoked.
void Tokens::end_latecomers() {
  for (auto& [id, row] : tokens_) {
    const auto parent = row.parent ? tokens_.find(*row.parent) : tokens_.end();
    if (row.revoked || parent == tokens_.end() || !parent->second.revoked) continue;
    row.revoked = true;
    row.expires = std::min(row.expires, Clock::wall());
    engine_.post(Input{.event = core::WakeUp{},
                       .note = [row = row](Records& records) { records.put(row); }});
  }
}

void Tokens::revoke(const Caller& caller, std::uint64_t id, const Reply& reply) {
  const auto at = tokens_.find(id);
  // Others' tokens are nobody's business: they are as unknown as those that never were.
  if (at == tokens_.end() || !access_.may_read(caller, at->second.uid)) {
    reply(std::unexpected(missing(cat("there is no token ", id, " of yours."))));
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
  save_ends(end_with_offspring(id), reply);
}

// A fact: they let nobody in any more, and the disk has to take that in whenever it can. Whoever
// asked is answered then; or, when it has trouble, at once, and is told of it.
void Tokens::save_ends(const std::vector<store::TokenRow>& rows, const Reply& reply) {
  struct Asker {
    Reply reply;
    std::shared_ptr<void> bell = {};
  };
  const auto asker = std::make_shared<Asker>(Asker{.reply = reply});
  const auto answer = [this, row = rows.front()](Asker& who) {
    who.bell.reset();
    if (const Reply told = std::exchange(who.reply, nullptr)) told(view(row));
  };
  engine_.post(Input{.event = core::WakeUp{},
                     .note =
                         [rows](Records& records) {
                           for (const store::TokenRow& row : rows) records.put(row);
                         },
                     .done =
                         [this, rows, asker, answer](const Result<void>& /*a fact*/) {
                           for (const store::TokenRow& row : rows) unsaved_.erase(row.id);
                           answer(*asker);
                         }});
  if (!engine_.store_trouble().empty()) {
    answer(*asker);
    return;
  }
  asker->bell = engine_.when_lasting([this, weak = std::weak_ptr(asker), answer] {
    const auto who = weak.lock();
    if (who && !engine_.store_trouble().empty()) answer(*who);
  });
}

}  // namespace tangram::daemon
