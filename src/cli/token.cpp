// `tangram token`: bearer tokens for use over the network. One rule: the secret is on standard
// output and nowhere else, and only when it is made.
#include "api/token.hpp"

#include <unistd.h>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "api/words.hpp"
#include "base/text.hpp"
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/user_number.hpp"
#include "cli/watch.hpp"
#include "files/json_text.hpp"

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
  const auto answer = ask(options.daemon, "POST", "/v1/tokens", to_json(*request));
  if (!answer) return std::unexpected(answer.error());
  if (command.json) {
    out.add(files::json_text(*answer));
    return {};
  }
  const auto token = api::read_token_view(*answer);
  if (!token) return std::unexpected(token.error());
  out.line(token->secret);
  if (!options.quiet) {
    fmt::print(stderr,
               "tangram: token {} of {} ({}) until {}; it is shown this once. Keep it in a file "
               "of mode 600 and name that in TANGRAM_TOKEN_FILE.\n",
               token->id, harmless(token->user), name_of(token->scope), local_text(token->expires));
  }
  return {};
}

struct ListOptions {
  DaemonOptions daemon;
};

Cell validity(const api::TokenView& token) {
  if (token.revoked) return {"revoked", Style::kDim};
  if (token.expires <= now()) return {"expired", Style::kDim};
  return {"valid", Style::kGood};
}

Result<void> list(const ListOptions& options, Command& command, Output& out) {
  const auto answer = ask(options.daemon, "GET", "/v1/tokens");
  if (!answer) return std::unexpected(answer.error());
  if (command.json) {
    out.add(files::json_text(*answer));
    return {};
  }
  const auto tokens = read_list(*answer, api::read_token_view);
  if (!tokens) return std::unexpected(tokens.error());
  if (tokens->empty()) out.line("no tokens");
  if (tokens->empty()) return {};
  Table table({{"TOKEN", Align::kRight, 0}, {"NAME"}, {"USER"}, {"SCOPE"}, {"EXPIRES"}, {"STATE"}});
  for (const api::TokenView& token : *tokens) {
    table.row({Cell(std::to_string(token.id), Style::kBold), harmless(token.name),
               harmless(token.user), std::string(name_of(token.scope)), local_text(token.expires),
               validity(token)});
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
    auto answer = ask(options.daemon, "DELETE", cat("/v1/tokens/", id));
    if (!answer) return std::unexpected(answer.error());
    if (!command.json) {
      const auto token = api::read_token_view(*answer);
      if (!token) return std::unexpected(token.error());
      out.line(cat("token ", id, " is revoked",
                   token->unsaved.empty()
                       ? ""
                       : cat(", but a crash could still undo that: ", harmless(token->unsaved))));
    }
    documents.push_back(std::move(*answer));
  }
  if (command.json) out.add(files::json_text(documents));
  return {};
}

void add_create(Verb& token, Command& command) {
  const auto options = std::make_shared<CreateOptions>();
  Verb verb =
      add_daemon_verb(token, command, "create", "Make a token; prints its secret", options, create);
  verb->add_option("--name", options->name, "A name for people, as ci")->option_text("NAME");
  verb->add_option("--user", options->user,
                   "Whom it stands for; only root may name another (default: you)")
      ->option_text("USER");
  verb->add_option("--scope", options->scope,
                   "read (only look), write (the default) or admin (all that the user may do)")
      ->one_of({"read", "write", "admin"})
      ->option_text("SCOPE");
  verb->add_option("--ttl", options->ttl, "It expires after so long (default: 30d)")
      ->option_text("TIME");
  verb->add_flag("-q,--quiet", options->quiet, "Print the secret and nothing else");
  verb->footer("Example:\n  (umask 077; tangram token create -q --name ci > token)");
}

}  // namespace

void add_token(Verb& app, Command& command) {
  Verb token = app.add_subcommand("token", "Tokens for the use of the daemon over a network");
  token->require_subcommand(0, 1);
  add_create(*token, command);
  Verb tokens = add_daemon_verb(*token, command, "list", "List your tokens; admins see all",
                                std::make_shared<ListOptions>(), list);
  add_watch_option(*tokens, command);
  const auto options = std::make_shared<RevokeOptions>();
  add_daemon_verb(*token, command, "revoke", "Let tokens be valid no more", options, revoke)
      ->add_option("TOKEN", options->tokens, "Their numbers")
      ->required();
  token->footer("Example:\n  tangram token create --name ci --scope read --ttl 90d");
}

}  // namespace tangram::cli
