# Runs named steps for ./run and ./test, which source this file. It exists so that both look alike: one line
# per step with the seconds it took, and on failure the end of its output and the command that repeats it.
# One rule: steps read no input and write to build/logs, so the same lines appear with and without a terminal.
# shellcheck shell=bash

repeat=$0 # the command that repeats the present part alone; the caller sets it

# step NAME COMMAND...: a function given as COMMAND must join its own commands with &&.
step() {
  local name=$1 log="build/logs/${1// /-}.log" start=$SECONDS status=0
  shift
  mkdir -p build/logs
  printf '%-16s' "$name"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -eq 0 ]]; then
    printf '%5d s\n' $((SECONDS - start))
    return 0
  fi
  printf '%5d s  FAILED\n\n' $((SECONDS - start))
  tail -n 200 "$log"
  printf '\nFAILED: %s (exit code %d; all of its output is in %s)\nrepeat: %s\n' "$name" "$status" "$log" "$repeat"
  exit 1
}

# configure_and_build PRESET [build options...]
configure_and_build() {
  cmake --preset "$1" && cmake --build --preset "$1" --parallel "$(nproc)" "${@:2}"
}
