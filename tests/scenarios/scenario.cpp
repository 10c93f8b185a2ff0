// See scenario.hpp.
#include "scenario.hpp"

#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "commands.hpp"
#include "world.hpp"

namespace tangram::scenario {

Result<std::string> replay(const std::string& name, const std::string& text) {
  std::string out;
  World world(out);
  Commands commands(world, out);
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("> ")) {
      out += line + "\n";
      const auto ok = commands.run(line.substr(2));
      if (!ok) return invalid(cat(name, ":", number, ": ", ok.error().message, "\n", out));
    } else if (line.empty() || line.starts_with("#")) {
      out += line + "\n";
    } else if (line.starts_with(">")) {
      return invalid(cat(name, ":", number, ": an input line begins with \"> \"."));
    }
  }
  return out;
}

Result<std::string> read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return not_found(cat("cannot read ", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream want(expected);
  std::istringstream got(actual);
  for (int number = 1;; ++number) {
    std::string a;
    std::string b;
    const bool more_a = static_cast<bool>(std::getline(want, a));
    const bool more_b = static_cast<bool>(std::getline(got, b));
    if (!more_a && !more_b) return {};
    if (!more_a) a = "(the end)";
    if (!more_b) b = "(the end)";
    if (more_a != more_b || a != b) {
      return cat("line ", number, "\n  expected: ", a, "\n  but was:  ", b);
    }
  }
}

}  // namespace tangram::scenario
