#!/usr/bin/env bash
# Checks that every test that SECURITY.md names ("Suite.Name") exists, so that no promise outlives its test.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck disable=SC2016  # backquotes of Markdown
names=$(grep -oE '`[A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*`' SECURITY.md | tr -d '`' | sort -u)
[[ -n $names ]] || { echo "SECURITY.md names no test"; exit 1; }
existing=$(find src tests -name '*_test.cpp' -print0 |
  xargs -0 cat | tr '\n' ' ' | grep -oE 'TEST(_[FP])?\( *[A-Za-z0-9]+, *[A-Za-z0-9]+' |
  sed -E 's/TEST(_[FP])?\( *([A-Za-z0-9]+), */\2./' | sort -u)
missing=$(comm -23 <(printf '%s\n' "$names") <(printf '%s\n' "$existing"))
[[ -z $missing ]] || { printf 'SECURITY.md names tests that do not exist:\n%s\n' "$missing"; exit 1; }
echo "$(wc -l <<<"$names") tests"
