// Tokens: bearer tokens, made, shown and taken back, with all that were made with them. One rule: a
// secret is told once and kept by nobody; what is kept is its hash, and who shows a wrong one
// learns only that.
#pragma once

#include <cstdint>
#include <map>
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
  void put(const std::vector<store::TokenRow>& rows, const Reply& reply, const std::string& secret);
  [[nodiscard]] std::vector<store::TokenRow> with_offspring(std::uint64_t id) const;
  void end_latecomers();

  Engine& engine_;
  const Access& access_;
  std::map<std::uint64_t, store::TokenRow> tokens_;  // and those not long dead
  std::uint64_t last_ = 0;                           // the highest number ever given
};

}  // namespace tangram::daemon
