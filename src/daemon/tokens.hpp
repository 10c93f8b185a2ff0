// Tokens: bearer tokens, made, shown and taken back, with all that were made with them. A new one
// is good once it is on the disk; one that is taken back is worthless at once, whatever the disk
// does. One rule: a secret is told once and kept by nobody; what is kept is its hash, and who shows
// a wrong one learns only that.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "api/token.hpp"
#include "daemon/access.hpp"
#include "daemon/engine.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

class Tokens {
 public:
  Tokens(Engine& engine, const Access& access) : engine_(engine), access_(access) {}

  // From the store; before anything else is asked.
  [[nodiscard]] Result<void> load();
  void fill(http::Doors& doors);
  // Whose tokens there are.
  [[nodiscard]] std::set<std::uint32_t> users() const;

 private:
  using Caller = http::Caller;
  using Reply = http::Reply<api::TokenView>;

  void forget_dead();
  [[nodiscard]] http::Answer<Caller> authenticate(std::string_view secret) const;
  void create(const Caller& caller, const api::TokenRequest& request, const Reply& reply);
  [[nodiscard]] http::Answer<void> may_create(const Caller& caller,
                                              const api::TokenRequest& request) const;
  [[nodiscard]] http::Answer<std::vector<api::TokenView>> list(const Caller& caller) const;
  void revoke(const Caller& caller, std::uint64_t id, const Reply& reply);
  void put(const store::TokenRow& row, const Reply& reply, const std::string& secret);
  [[nodiscard]] std::vector<store::TokenRow> end_with_offspring(std::uint64_t id);
  void save_ends(const std::vector<store::TokenRow>& rows, const Reply& reply);
  [[nodiscard]] api::TokenView view(const store::TokenRow& row) const;
  void end_latecomers();

  Engine& engine_;
  const Access& access_;
  std::map<std::uint64_t, store::TokenRow> tokens_;  // and those not long dead
  std::set<std::uint64_t> unsaved_;                  // revoked, and that is not on the disk yet
  std::uint64_t last_ = 0;                           // the highest number ever given
};

}  // namespace tangram::daemon
