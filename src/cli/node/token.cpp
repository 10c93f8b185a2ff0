// `tangram token`: bearer tokens for remote access. The secret is printed once, on standard output,
// when a token is created.
#include "api/token.hpp"

#include <unistd.h>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/user_number.hpp"
#include "cli/client/watch.hpp"
#include "cli/command/failures.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

struct CreateOptions {
  DaemonOptions daemon;
  std::string name, user, scope, ttl;
  bool quiet = false;
};

Result<api::TokenRequest> request_of(const CreateOptions& o) {
  api::TokenRequest request;
  request.name = o.name;
  for (const auto scope : {api::Scope::kRead, api::Scope::kWrite, api::Scope::kAdmin}) {
    if (name_of(scope) == o.scope) request.scope = scope;
  }
  if (!o.user.empty()) {
    const auto uid = uid_of(o.user);
    if (!uid) return std::unexpected(uid.error());
    request.uid = *uid;
  }
  if (!o.ttl.empty()) {
    const auto ttl = api::parse_duration(o.ttl);
    if (!ttl) return invalid(cat("--ttl: ", ttl.error().message));
    request.ttl = *ttl;
  }
  return request;
}

Result<void> create(const CreateOptions& options, Command& command, Output& out) {
  const auto request = request_of(options);
  if (!request) return std::unexpected(request.error());
  const auto answer = request_json(options.daemon, "POST", "/v1/tokens", to_json(*request));
  if (!answer) return std::unexpected(answer.error());
  if (command.json) {
    out.add(text::json_text(*answer));
    return {};
  }
  const auto token = api::read_token_view(*answer);
  if (!token) return std::unexpected(token.error());
  out.line(token->secret);
  if (!options.quiet) {
    fmt::print(stderr,
               "tangram: token {} of {} ({}), valid until {}. It is shown only once: store it in a "
               "file with mode 600 and set TANGRAM_TOKEN_FILE to its path.\n",
               token->id, terminal_safe(token->user), name_of(token->scope),
               local_text(token->expires));
  }
  return {};
}

struct ListOptions {
  DaemonOptions daemon;
};

Cell state_cell(const api::TokenView& token) {
  if (token.revoked) return {"revoked", Style::kDim};
  if (token.expires <= now()) return {"expired", Style::kDim};
  return {"valid", Style::kGood};
}

Result<void> list(const ListOptions& options, Command& command, Output& out) {
  const auto answer = request_json(options.daemon, "GET", "/v1/tokens");
  if (!answer) return std::unexpected(answer.error());
  if (command.json) {
    out.add(text::json_text(*answer));
    return {};
  }
  const auto tokens = read_list(*answer, api::read_token_view);
  if (!tokens) return std::unexpected(tokens.error());
  if (tokens->empty()) out.line("No tokens.");
  if (tokens->empty()) return {};
  Table table({{"TOKEN", Align::kRight, 0}, {"NAME"}, {"USER"}, {"SCOPE"}, {"EXPIRES"}, {"STATE"}});
  for (const api::TokenView& token : *tokens) {
    table.row({Cell(std::to_string(token.id), Style::kBold), terminal_safe(token.name),
               terminal_safe(token.user), std::string(name_of(token.scope)),
               local_text(token.expires), state_cell(token)});
  }
  table.print(out);
  return {};
}

struct RevokeOptions {
  DaemonOptions daemon;
  std::vector<std::uint64_t> tokens;
};

Result<void> revoke(const RevokeOptions& options, Command& command, Output& out) {
  boost::json::array documents;
  for (const std::uint64_t id : options.tokens) {
    auto answer = request_json(options.daemon, "DELETE", cat("/v1/tokens/", id));
    if (!answer) {
      report_failure(command, answer.error());
      continue;
    }
    if (!command.json) {
      const auto token = api::read_token_view(*answer);
      if (!token) return std::unexpected(token.error());
      out.line(cat("token ", id, " is revoked",
                   token->unsaved.empty()
                       ? ""
                       : cat(", but not saved yet: ", terminal_safe(token->unsaved))));
    }
    documents.push_back(std::move(*answer));
  }
  if (command.json && !documents.empty()) out.add(text::json_text(documents));
  return {};
}

void add_create(Verb& token, Command& command) {
  const auto options = std::make_shared<CreateOptions>();
  Verb verb = add_daemon_verb(token, command, "create", "Create a token and print its secret",
                              options, create);
  verb->add_option("--name", options->name, "Name of the token, e.g. ci")->option_text("NAME");
  verb->add_option("--user", options->user,
                   "User of the token; only root may name another user (default: you)")
      ->option_text("USER");
  verb->add_option("--scope", options->scope,
                   "read (view only), write (the default) or admin (all rights of the user)")
      ->one_of({"read", "write", "admin"})
      ->option_text("SCOPE");
  verb->add_option("--ttl", options->ttl, "Time until it expires (default: 30d)")
      ->option_text("TIME");
  verb->add_flag("-q,--quiet", options->quiet, "Print only the secret");
  verb->footer("Example:\n  (umask 077; tangram token create -q --name ci > token)");
}

}  // namespace

void add_token(Verb& app, Command& command) {
  Verb token = app.add_subcommand("token", "Manage tokens for remote access");
  token->require_subcommand(0, 1);
  add_create(*token, command);
  Verb tokens = add_daemon_verb(*token, command, "list", "List your tokens (admins: all)",
                                std::make_shared<ListOptions>(), list);
  add_watch_option(*tokens, command);
  tokens->footer("Example:\n  tangram token list");
  const auto options = std::make_shared<RevokeOptions>();
  Verb revoking = add_daemon_verb(*token, command, "revoke", "Revoke tokens", options, revoke);
  revoking->add_option("TOKEN", options->tokens, "Token numbers")->required();
  revoking->footer("Example:\n  tangram token revoke 1");
  token->footer("Example:\n  tangram token create --name ci --scope read --ttl 90d");
}

}  // namespace tangram::cli
