#!/usr/bin/env bash
# Tests tools/check-words on small trees: plain words pass, and each refused one is reported with its line.
set -euo pipefail
checker="$(cd "$(dirname "$0")/../.." && pwd)/tools/check-words"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cases=0

fresh_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch"/tree/{src/base,docs}
  cd "$scratch/tree"
  # Plain, though parts of it look alike: there is no room, the cache, threshold, shallow, warehouse, history, other.
  printf '// There is no room for it; the threshold is not shallow.\nint the_history = other(warehouse);\n' >src/base/a.hpp
  printf '# Title\nPlain words, and a hallmark.\n' >docs/a.md
}

# refuses FILE TEXT: TEXT appended to FILE of a clean tree is reported as exactly that line.
refuses() {
  cases=$((cases + 1))
  fresh_tree
  printf '%s\n' "$2" >>"$1"
  local said status=0
  said=$("$checker" "$scratch/tree" 2>&1) || status=$?
  [[ $status -eq 1 && $said == "$1:3:$2" ]] && return
  printf 'case %d: added to %s: %s\n  expected exit code 1 and that line\n  saw exit code %d and: %s\n' \
    "$cases" "$1" "$2" "$status" "$said"
  exit 1
}

fresh_tree
"$checker" "$scratch/tree" || { echo "the clean tree was refused"; exit 1; }

for line in '// He waits.' 'int guest_key = 0;' 'class TlsHall {};' 'constexpr int kGuests = 1;' 'void open_door();' \
  'struct Deed;' '// whoever asks' 'constexpr int MOST_STRANGERS = 2;' '// One rule: it reads.' '// The pure rooms.' \
  'struct Visit {' 'TEST(Server, HouseIsFull) {' 'class Happenings;' 'bool is_lasting() const;' 'struct Pace {' \
  '// See check-rooms.' '// It lets nobody in.'; do
  refuses src/base/a.hpp "$line"
done
refuses docs/a.md 'His jobs go on.'
refuses docs/a.md 'It starts anew.'
fresh_tree
touch src/base/tls_hall.cpp
cases=$((cases + 1))
if said=$("$checker" "$scratch/tree" 2>&1) || [[ $said != 'src/base/tls_hall.cpp:1:the name of this file' ]]; then
  echo "a file named tls_hall.cpp: saw $said"
  exit 1
fi
echo "$cases lines refused, each with its place"
