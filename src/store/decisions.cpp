// See decisions.hpp.
#include "store/decisions.hpp"

#include "core/transcript.hpp"

namespace tangram::store {

std::string decisions_text(const core::Node& node, std::span<const core::Action> actions) {
  std::string text;
  for (const core::Action& action : actions) {
    if (!text.empty()) text += '\n';
    text += core::to_text(node, action);
  }
  return text;
}

}  // namespace tangram::store
