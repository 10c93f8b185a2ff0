// `tangram decide`: what the scheduler would do in a given state, and why. Reads one state and
// explains the decision, or with --jsonl many states and prints only the decisions.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/command/json_rows.hpp"
#include "cli/command/verbs.hpp"
#include "cli/mig/decide_explain.hpp"
#include "cli/mig/decide_state.hpp"
#include "core/candidates.hpp"
#include "policies/registry.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct DecideOptions {
  std::string policy = "paper";
  std::string migration = "both";
  bool rows = false;
};

Result<json::value> decide_arrival(const core::Node& node, const Question& question,
                                   const core::PlacementPolicy& policy) {
  const auto name = profile_of(node, question.profile);
  if (!name) return std::unexpected(name.error());
  const auto slot = core::choose(node, policy, {.profile = *name});
  return slot ? slot_json(*slot) : json::value(nullptr);
}

json::value decide_departure(core::Node& node, const Question& question,
                             const core::MigrationPolicy& migration) {
  json::array moves;
  while (const auto move = migration.next_move(node, question.gpu).move) {
    moves.push_back(move_json(*move));
    core::apply_at_once(node, *move);
  }
  return moves;
}

Result<json::value> decide(core::Node& node, const Question& question,
                           const core::Policies& policies) {
  if (question.departure()) return decide_departure(node, question, *policies.migration);
  return decide_arrival(node, question, *policies.placement);
}

Result<void> answer_row(std::string_view row, const core::Policies& policies, ModelCache& models,
                        Output& out) {
  const auto object = parse_object(row, kStateForm);
  if (!object) return std::unexpected(object.error());
  const auto question = read_question(*object, models);
  if (!question) return std::unexpected(question.error());
  auto node = core::build(question->snapshot);
  if (!node) return std::unexpected(node.error());
  const auto answer = decide(*node, *question, policies);
  if (!answer) return std::unexpected(answer.error());
  text::append_json(out.buffer(), *answer);
  out.line();
  return {};
}

Result<void> run(const DecideOptions& options, bool as_json, Output& out) {
  core::Tuning tuning;
  tuning.placement = options.policy;
  tuning.migration = options.migration;
  const auto policies = policies::find_policies(tuning);
  if (!policies) return std::unexpected(policies.error());
  const auto input = read_standard_input();
  if (!input) return std::unexpected(input.error());
  ModelCache models;
  if (options.rows) {
    return for_each_row(*input, "standard input", [&](std::string_view row) {
      return answer_row(row, *policies, models, out);
    });
  }
  const auto at_input = [](const Error& error) {
    return std::unexpected(Error{error.code, cat("standard input: ", error.message)});
  };
  if (is_blank(*input)) return at_input({ErrorCode::kInvalid, cat("is empty; ", kStateForm)});
  const auto object = parse_object(*input, kStateForm);
  if (!object) return at_input(object.error());
  const auto question = read_question(*object, models);
  if (!question) return at_input(question.error());
  auto node = core::build(question->snapshot);
  if (!node) return at_input(node.error());
  const auto explained = question->departure()
                             ? explain_departure(*node, *question, *policies, as_json, out)
                             : explain_arrival(*node, *question, *policies, as_json, out);
  if (!explained) return at_input(explained.error());
  return {};
}

}  // namespace

void add_decide(Verb& app, Command& command) {
  const auto options = std::make_shared<DecideOptions>();
  Verb verb =
      app.add_subcommand("decide", "Explain a scheduling decision for a state read from stdin");
  verb->add_option("--policy", options->policy,
                   "Placement policy (default: paper); see `tangram policies`")
      ->option_text("NAME");
  verb->add_option("--migration", options->migration,
                   "Migration policy: off, intra, inter or both (default)")
      ->option_text("NAME");
  verb->add_flag("--jsonl", options->rows,
                 "Read one state per line and print one decision per line");
  add_output_options(*verb, command);
  verb->footer(
      "Example:\n"
      "  echo '{\"kind\": \"arrival\", \"gpus\": [{\"model\": \"A100-40GB\", \"jobs\": [{\"id\": "
      "1,\n"
      "    \"profile\": \"3g.20gb\", \"start\": 0}]}], \"profile\": \"4g.20gb\"}' | tangram "
      "decide");
  verb->callback([&command, options] {
    command.run = [&command, options](Output& out) { return run(*options, command.json, out); };
  });
}

}  // namespace tangram::cli
