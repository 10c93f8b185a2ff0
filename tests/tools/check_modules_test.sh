#!/usr/bin/env bash
# Tests tools/check-modules on small source trees: a clean tree passes, and each kind of violation is
# reported with its line. Every tree but the last has exactly one violation.
set -euo pipefail
checker="$(cd "$(dirname "$0")/../.." && pwd)/tools/check-modules"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cases=0

fail() {
  printf 'case %d: %s\n' "$cases" "$1"
  exit 1
}

# write FILE LINE...: FILE with these lines.
write() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$1"
}

# A clean tree: two pure modules; net with the sub-modules net/wire and net/serve; app, which may include
# all of net; tool, which may include net/wire only. Every permitted form of an include occurs.
clean_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/tools"
  cd "$scratch/tree"
  write tools/modules.txt '# modules' 'pure base:' 'pure mig: base  # a comment' '' 'net/wire: base' \
    'net/serve: base net/wire' 'app: base mig net' 'tool: base net/wire'
  write src/base/a.hpp '#include <vector>'
  write src/mig/m.cpp '#include "mig/m.hpp"' '' '#include <expected>' '' \
    '#include "base/a.hpp"  // ../ and ::now( in a comment' '// #include "app/a.hpp"'
  write src/mig/deep/d.hpp '#include "mig/m.hpp"' '#include "base/a.hpp"'
  write src/mig/m_test.cpp '#include <unordered_map>' '#include <gtest/gtest.h>' '#include "base/a.hpp"' \
    '#include "tests/support/mig/models.hpp"' '#include <fmt/format.h>' 'auto t = Clock::now();'
  write src/net/wire/w.hpp '#include "base/a.hpp"' '#include <unistd.h>'
  write src/net/wire/deep/d.cpp '#include "net/wire/w.hpp"'
  write src/net/wire/w_test.cpp '#include "net/serve/s.hpp"' '#include "tests/support/net/server.hpp"'
  write src/net/serve/s.hpp '#include "net/wire/w.hpp"' '#include "net/serve/t.hpp"'
  write src/app/a.cpp '#include "net/serve/s.hpp"' '#include "net/wire/w.hpp"' '#include <fmt/format.h>' \
    '#include <thread>' 'auto t = Clock::now();'
  write src/tool/t.cpp '#include "net/wire/w.hpp"'
  write tests/mig/all_test.cpp '#include "app/a.hpp"'
}

# accepts: the present tree has no violation.
accepts() {
  local output status=0
  output=$("$checker" "$scratch/tree" 2>&1) || status=$?
  [[ $status -eq 0 && -z $output ]] || fail "$1: expected no violation; exit code $status and: $output"
}

# reports EXPECTED: the present tree has exactly this violation.
reports() {
  local output status=0
  output=$("$checker" "$scratch/tree" 2>&1) || status=$?
  [[ $status -eq 1 && $output == "$1" ]] ||
    fail "$(printf 'expected exit code 1 and: %s\n  got exit code %s and: %s' "$1" "$status" "$output")"
}

# refuses FILE LINE EXPECTED: LINE appended to FILE of a clean tree is reported as EXPECTED.
refuses() {
  cases=$((cases + 1))
  clean_tree
  mkdir -p "$(dirname "$1")"
  printf '%b\n' "$2" >>"$1"
  reports "$3"
}

clean_tree
accepts "the clean tree"

# Modules and the modules that they may include.
refuses src/base/a.hpp '#include "mig/m.hpp"' 'src/base/a.hpp:2: module base may not include mig'
refuses src/base/a.hpp '#include <mig/m.hpp>' 'src/base/a.hpp:2: module base may not include mig'
refuses src/mig/deep/x.hpp '\n#  include "app/a.hpp"' 'src/mig/deep/x.hpp:2: module mig may not include app'
refuses src/mig/x_test.cpp '#include "app/a.hpp"' 'src/mig/x_test.cpp:1: module mig may not include app'
refuses src/mig/m_support.hpp '#include "tests/support/mig/models.hpp"' \
  'src/mig/m_support.hpp:1: include of tests/support/mig/models.hpp: its folder is not in tools/modules.txt'
refuses src/mig/m_test.cpp '#include "tests/mig/agreement.hpp"' \
  'src/mig/m_test.cpp:7: include of tests/mig/agreement.hpp: its folder is not in tools/modules.txt'

# Sub-modules: the folder counts, not the larger module; tests beside the code may include siblings.
refuses src/net/wire/w.hpp '#include "net/serve/s.hpp"' \
  'src/net/wire/w.hpp:3: module net/wire may not include net/serve'
refuses src/net/wire/deep/d.cpp '#include "net/serve/s.hpp"' \
  'src/net/wire/deep/d.cpp:2: module net/wire may not include net/serve'
refuses src/tool/t.cpp '#include "net/serve/s.hpp"' 'src/tool/t.cpp:2: module tool may not include net/serve'
refuses src/tool/t_test.cpp '#include "net/serve/s.hpp"' \
  'src/tool/t_test.cpp:1: module tool may not include net/serve'
refuses src/base/a.hpp '#include "net/wire/w.hpp"' 'src/base/a.hpp:2: module base may not include net/wire'
refuses src/net/wire/w_test.cpp '#include "app/a.hpp"' \
  'src/net/wire/w_test.cpp:3: module net/wire may not include app'
refuses src/net/serve/s.hpp '#include "net/other/o.hpp"' \
  'src/net/serve/s.hpp:3: include of net/other/o.hpp: its folder is not in tools/modules.txt'
refuses src/net/serve/s.hpp '#include "net/n.hpp"' \
  'src/net/serve/s.hpp:3: include of net/n.hpp: its folder is not in tools/modules.txt'
refuses src/net/n.hpp 'int x;' \
  'src/net/n.hpp:1: module net has sub-modules; move this file to one of their folders'

# Forms of an include.
refuses src/app/a.cpp '#include "lab/x.hpp"' \
  'src/app/a.cpp:6: include of lab/x.hpp: its folder is not in tools/modules.txt'
refuses src/app/a.cpp '#include "a.hpp"' \
  'src/app/a.cpp:6: include of a.hpp without its module; write "module/file.hpp"'
for path in ../mig/m.hpp app/../mig/m.hpp ./a.hpp; do
  refuses src/app/a.cpp "#include \"$path\"" \
    "src/app/a.cpp:6: relative include of $path; write it from src/: \"module/file.hpp\""
done

# Files outside of the listed modules.
refuses src/loose.hpp 'int x;' 'src/loose.hpp:1: this file is in no module; move it to src/MODULE/'
refuses src/lab/x.hpp 'int x;' 'src/lab/x.hpp:1: module lab is not in tools/modules.txt'
refuses src/net/other/o.hpp 'int x;' 'src/net/other/o.hpp:1: module net/other is not in tools/modules.txt'

# Pure modules.
for header in fmt/format.h boost/json.hpp toml++/toml.h CLI/CLI.hpp unistd.h sys/stat.h; do
  refuses src/mig/x.hpp "#include <$header>" \
    "src/mig/x.hpp:1: pure module mig may include only the standard library, not <$header>"
done
for header in thread stop_token mutex shared_mutex condition_variable future semaphore latch barrier random \
  ctime iostream fstream filesystem unordered_map unordered_set; do
  refuses src/mig/x.hpp "#include <$header>" "src/mig/x.hpp:1: pure module mig may not use <$header>"
done
refuses src/mig/x.cpp 'auto t = std::chrono::steady_clock::now();' \
  'src/mig/x.cpp:1: pure module mig may not read a clock'

# Files of users are not touched on the event loop.
loop='the event loop may not touch files of users: use CheckpointFiles'
cases=$((cases + 1))
clean_tree
write tools/modules.txt 'daemon/moves:' 'daemon/runs:'
rm -rf src tests && write src/daemon/moves/m.cpp 'lstat(path, &s);' 'run.open(x); link->unlink(x); // stat(x)'
write src/daemon/runs/supervisor_watch.cpp '  if (::unlink(path) == 0) return;'
write src/daemon/runs/other.cpp 'unlink(path);'
reports "src/daemon/moves/m.cpp:1: $loop
src/daemon/runs/supervisor_watch.cpp:1: $loop"

# Nor does any other thread that others wait for.
cases=$((cases + 1))
clean_tree
write tools/modules.txt 'daemon/runs:'
rm -rf src tests && write src/daemon/runs/spawn.cpp 'if (has_checkpoint(folder)) return;'
write src/daemon/runs/checkpoint_files.cpp 'return has_checkpoint(folder);'
reports 'src/daemon/runs/spawn.cpp:1: a checkpoint folder may hang: use CheckpointFiles, also on other threads'

# tools/modules.txt itself.
refuses tools/modules.txt 'more base' 'tools/modules.txt:9: expected "module: modules it may include"'
refuses tools/modules.txt 'more: lab' \
  'tools/modules.txt:9: more may not include lab, which is not a module listed above it'
refuses tools/modules.txt 'more: more' \
  'tools/modules.txt:9: more may not include more, which is not a module listed above it'
refuses tools/modules.txt 'more: other\nother: base' \
  'tools/modules.txt:9: more may not include other, which is not a module listed above it'
refuses tools/modules.txt 'more: ne' \
  'tools/modules.txt:9: more may not include ne, which is not a module listed above it'
refuses tools/modules.txt 'more: net/other' \
  'tools/modules.txt:9: more may not include net/other, which is not a module listed above it'

# Several violations in one tree are all reported.
cases=$((cases + 1))
clean_tree
echo '#include "app/a.hpp"' >>src/mig/m.cpp
echo '#include "net/serve/s.hpp"' >>src/net/wire/w.hpp
reports 'src/mig/m.cpp:7: module mig may not include app
src/net/wire/w.hpp:3: module net/wire may not include net/serve'

# expect_usage_error EXPECTED ARGUMENT...: exit code 2.
expect_usage_error() {
  local output status=0
  cases=$((cases + 1))
  output=$("$checker" "${@:2}" 2>&1) || status=$?
  [[ $status -eq 2 && $output == *"$1"* ]] || fail "expected exit code 2 and: $1; got $status and: $output"
}
expect_usage_error 'usage: tools/check-modules' --help
expect_usage_error 'usage: tools/check-modules' "$scratch" "$scratch"
expect_usage_error "no tools/modules.txt in $scratch" "$scratch"
echo "$cases cases passed"
