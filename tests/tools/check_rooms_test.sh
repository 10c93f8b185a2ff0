#!/usr/bin/env bash
# Tests tools/check-rooms on small trees: a clean one passes, and each kind of violation is reported with its line.
# It exists because a checker that finds nothing looks like a house in order. One rule: one violation per tree.
set -euo pipefail
checker="$(cd "$(dirname "$0")/../.." && pwd)/tools/check-rooms"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cases=0

# A clean tree: two pure rooms and one that may use everything.
fresh_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch"/tree/{tools,src/base,src/mig/deep,src/cli}
  cd "$scratch/tree"
  printf '# rooms\npure base:\npure mig: base\ncli: base mig\n' >tools/rooms.txt
  printf '#include <vector>\n' >src/base/a.hpp
  printf '#include "mig/m.hpp"\n\n#include <expected>\n\n#include "base/a.hpp"  // ../ and ::now( in a comment\n' >src/mig/m.cpp
  printf '#include <unordered_map>\n#include <gtest/gtest.h>\n#include "base/a.hpp"\nauto t = Clock::now();\n' >src/mig/m_test.cpp
  printf '#include <fmt/format.h>\n#include <unistd.h>\n#include <thread>\n#include "mig/m.hpp"\nauto t = Clock::now();\n' >src/cli/c.cpp
}

# refuses FILE TEXT EXPECTED: TEXT appended to FILE of a clean tree is refused with exactly the line EXPECTED.
refuses() {
  cases=$((cases + 1))
  fresh_tree
  mkdir -p "$(dirname "$1")"
  printf '%b\n' "$2" >>"$1"
  local said status=0
  said=$("$checker" "$scratch/tree" 2>&1) || status=$?
  [[ $status -eq 1 && $said == "$3" ]] && return
  printf 'case %d: added to %s: %s\n  expected exit code 1 and: %s\n  saw exit code %d and: %s\n' \
    "$cases" "$1" "$2" "$3" "$status" "$said"
  exit 1
}

fresh_tree
"$checker" "$scratch/tree" || { echo "the clean tree was refused"; exit 1; }

refuses src/base/a.hpp '#include "mig/m.hpp"' 'src/base/a.hpp:2: room base may not use mig'
refuses src/mig/deep/x.hpp '\n#  include "cli/c.hpp"' 'src/mig/deep/x.hpp:2: room mig may not use cli'
refuses src/mig/x_test.cpp '#include "cli/c.hpp"' 'src/mig/x_test.cpp:1: room mig may not use cli'
refuses src/base/a.hpp '#include <mig/m.hpp>' 'src/base/a.hpp:2: room base may not use mig'
refuses src/cli/c.cpp '#include "lab/x.hpp"' 'src/cli/c.cpp:6: include of lab/x.hpp: lab is not in tools/rooms.txt'
refuses src/cli/c.cpp '#include "c.hpp"' 'src/cli/c.cpp:6: include of c.hpp without its room; write "room/file.hpp"'
refuses src/cli/c.cpp '#include "../mig/m.hpp"' \
  'src/cli/c.cpp:6: relative include of ../mig/m.hpp; write it from src/: "room/file.hpp"'
refuses src/cli/c.cpp '#include "cli/../mig/m.hpp"' \
  'src/cli/c.cpp:6: relative include of cli/../mig/m.hpp; write it from src/: "room/file.hpp"'
refuses src/loose.hpp 'int x;' 'src/loose.hpp:1: this file is in no room; move it to src/ROOM/'
refuses src/lab/x.hpp 'int x;' 'src/lab/x.hpp:1: room lab is not in tools/rooms.txt'
for header in fmt/format.h boost/json.hpp toml++/toml.h CLI/CLI.hpp unistd.h sys/stat.h; do
  refuses src/mig/x.hpp "#include <$header>" \
    "src/mig/x.hpp:1: pure room mig may include only the standard library, not <$header>"
done
for header in thread random iostream fstream mutex unordered_map unordered_set; do
  refuses src/mig/x.hpp "#include <$header>" "src/mig/x.hpp:1: pure room mig may not use <$header>"
done
refuses src/mig/x.cpp 'auto t = std::chrono::steady_clock::now();' 'src/mig/x.cpp:1: pure room mig may not read a clock'
refuses tools/rooms.txt 'base2 mig' 'tools/rooms.txt:5: expected "room: rooms it may use"'
refuses tools/rooms.txt 'base2: sim' \
  'tools/rooms.txt:5: base2 may not use sim, which is not a room listed above it'
echo "$cases violations found, each with its line"
