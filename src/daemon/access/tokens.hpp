// Tokens: bearer tokens: creation, authentication and revocation. Revoking a token also revokes all
// tokens that were created with it. A new token is valid once it is durable; a revocation takes
// effect at once, even if it cannot be written yet. A secret is returned once, at creation; only
// its hash is kept. Used on the loop only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "api/token.hpp"
#include "daemon/access/access.hpp"
#include "daemon/engine/engine.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

class Tokens {
 public:
  Tokens(Engine& engine, const Access& access) : engine_(engine), access_(access) {}

  // Loads all tokens from the store; must be called first.
  [[nodiscard]] Result<void> load();
  void register_handlers(http::ApiHandlers& handlers);
  // The uids that have tokens.
  [[nodiscard]] std::set<std::uint32_t> users() const;

 private:
  using Caller = http::Caller;
  using Reply = http::Reply<api::TokenView>;

  void drop_expired();
  [[nodiscard]] http::Answer<Caller> authenticate(std::string_view secret) const;
  void create(const Caller& caller, const api::TokenRequest& request, const Reply& reply);
  [[nodiscard]] http::Answer<void> may_create(const Caller& caller,
                                              const api::TokenRequest& request) const;
  [[nodiscard]] http::Answer<std::vector<api::TokenView>> list(const Caller& caller) const;
  void revoke(const Caller& caller, std::uint64_t id, const Reply& reply);
  void put(const store::TokenRow& row, const Reply& reply, const std::string& secret);
  [[nodiscard]] std::vector<store::TokenRow> revoke_tree(std::uint64_t id);
  void save_revocations(const std::vector<store::TokenRow>& rows, const Reply& reply);
  [[nodiscard]] api::TokenView view(const store::TokenRow& row) const;
  void revoke_new_children();

  Engine& engine_;
  const Access& access_;
  std::map<std::uint64_t, store::TokenRow> tokens_;  // with recently expired ones
  std::set<std::uint64_t> unsaved_;                  // whose revocation is not durable yet
  std::uint64_t last_id_ = 0;                        // highest id ever allocated
};

}  // namespace tangram::daemon
