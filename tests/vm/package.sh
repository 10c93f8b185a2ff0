# Shared by the tests of packages in tests/vm; sourced inside of the machine. Packages are in /packages, those that stand
# for the next version in /next, example programs in /tangram/examples.
# shellcheck shell=bash

fail() {
  trap - EXIT
  printf 'FAILED: %s\n' "$*"
  systemctl status tangramd --no-pager --lines=0 || true
  journalctl --unit tangramd --no-pager --output=cat | tail -n 30
  exit 1
}
# A command that fails without a word of its own; 75 asks for a reboot.
trap 'case $? in 0 | 75) ;; *) fail "line $LINENO: $BASH_COMMAND" ;; esac' EXIT
# await SECONDS TEXT COMMAND...: waits until the command succeeds.
await() {
  local until=$((SECONDS + $1)) text=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [[ $SECONDS -lt $until ]] || fail "timed out waiting: $text"
    sleep 0.1
  done
}
step() { printf '%3d s  %s\n' "$SECONDS" "$*"; }
# must_fail TEXT COMMAND...: the command fails, and its output has the text.
must_fail() {
  local text=$1 output
  shift
  if output=$("$@" 2>&1); then fail "succeeded: $*"; fi
  [[ $output == *"$text"* ]] || fail "no '$text' in the output of $*: $output"
}

export DEBIAN_FRONTEND=noninteractive
main_pid() { systemctl show --value --property MainPID tangramd; }
is_up() { [[ $(systemctl is-active tangramd) == active ]] && tangram status; }
submit() { tangram submit --json "$@" | sed -nE 's/.*"id": ([0-9]+).*/\1/p' | head -n 1; }
is_in_state() { tangram show "$1" --json | grep -q "\"state\": \"$2\""; }
store_version() { tangram store check --json | sed -nE 's/.*"version": ([0-9]+).*/\1/p'; }
has_no_jobs() { [[ -z $(tangram ps -q) ]]; }
# emulate NODE: configures the daemon for emulated GPUs, as an administrator would.
emulate() { sed -i "s|^emulate = \"[^\"]*\"|emulate = \"$1\"|" /etc/tangram/tangram.toml; }
# install_packages DIR: `dpkg -i` of the packages there.
install_packages() { dpkg -i "$1"/tangram_*.deb "$1"/tangram-emulator_*.deb; }
# The state survives reboots, unlike the rest of the machine.
keep_state() {
  mkdir -p /disk/state /var/lib/tangram
  mount --bind /disk/state /var/lib/tangram
}
