// See cli_reference.hpp.
#include "cli_reference.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

namespace tangram::tests {
namespace {

std::vector<std::string> backquoted(const std::string& text) {
  static const std::regex kForm("`([^`]+)`");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), kForm), end; at != end; ++at) {
    found.push_back((*at)[1].str());
  }
  return found;
}

// True if `text` begins with the words `words`: "mig show MODEL" with "mig show".
bool begins_with(const std::string& text, const std::string& words) {
  return text.starts_with(words) &&
         (text.size() == words.size() || text[words.size()] == ' ' || text[words.size()] == '\n');
}

bool any_begins_with(const std::vector<std::string>& texts, const std::string& words) {
  return std::ranges::any_of(texts, [&](const auto& text) { return begins_with(text, words); });
}

// Splits "fault call | xid | clear" into three; each begins with the word of the first.
std::vector<std::string> alternatives(const std::string& text) {
  std::vector<std::string> found;
  const std::size_t space = text.find(' ');
  const std::string first = text.substr(0, space == std::string::npos ? 0 : space + 1);
  std::size_t begin = 0;
  for (std::size_t bar = 0; bar != std::string::npos; begin = bar + 3) {
    bar = text.find(" | ", begin);
    found.push_back((begin == 0 ? "" : first) + text.substr(begin, bar - begin));
    if (bar == std::string::npos) break;
  }
  return found;
}

// The part of "device list" that is written below a heading that names `tangram device …`.
std::string below(const std::string& heading, const std::string& verb) {
  const std::size_t space = verb.find(' ');
  if (space == std::string::npos) return verb;
  const bool family =
      any_begins_with(backquoted(heading), "tangram " + verb.substr(0, space) + " …");
  return family ? verb.substr(space + 1) : verb;
}

bool names(const std::vector<std::string>& quoted, const std::string& heading,
           const std::string& verb) {
  const std::string rest = below(heading, verb);
  for (const std::string& text : quoted) {
    if (begins_with(text, "tangram " + verb)) return true;
    if (rest == verb) continue;
    const auto each = alternatives(text);
    if (any_begins_with(each, rest)) return true;
  }
  return false;
}

}  // namespace

CliReference::CliReference(const std::string& text) : sections_(1) {
  std::istringstream lines(text);
  bool fenced = false;
  bool options = false;  // a table of options belongs to the text
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced) continue;
    if (line.starts_with("#")) sections_.push_back({line, "", {}});
    Section& section = sections_.back();
    if (line.starts_with("| option")) options = true;
    if (!line.starts_with("|")) options = false;
    const bool row = line.starts_with("| `") && !options;
    if (row) {
      const std::string cell = line.substr(0, line.find(" | ", 3));
      section.rows.push_back({section.heading, backquoted(cell), line});
    } else {
      section.prose += line + "\n";
    }
  }
}

std::string CliReference::about(const std::string& verb) const {
  std::string text;
  for (const Section& section : sections_) {
    bool here =
        names(backquoted(section.heading), section.heading, verb) ||
        (!section.heading.empty() && names(backquoted(section.prose), section.heading, verb));
    for (const Row& row : section.rows) {
      const std::string rest = below(section.heading, verb);
      const bool elsewhere = section.heading.ends_with(" …`") && rest == verb;  // of another family
      const bool named = !elsewhere && any_begins_with(row.names, rest);
      if (named) text += row.text + "\n";
      here = here || named;
    }
    if (here) text += section.prose;
  }
  // "all options of `sim run`" refers to the documentation of that verb.
  static const std::regex kSame("options\\s+of\\s+`([a-z ]+)`");
  std::smatch same;
  if (std::regex_search(text, same, kSame) && same[1].str() != verb) text += about(same[1].str());
  return text;
}

std::vector<CliReference::Row> CliReference::rows() const {
  std::vector<Row> all;
  for (const Section& section : sections_) {
    all.insert(all.end(), section.rows.begin(), section.rows.end());
  }
  return all;
}

std::set<std::string> options_in(const std::string& text) {
  static const std::regex kForm("--[a-z][a-z-]*[a-z]");
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), kForm), end; at != end; ++at) {
    found.insert(at->str());
  }
  return found;
}

}  // namespace tangram::tests
