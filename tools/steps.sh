# Runs named steps for ./run and ./test, which source this file: one line per step with the seconds it took;
# on failure the end of its output and the command that repeats it. Steps read no input and write to
# build/logs. On a terminal, a build shows its progress on one line that is rewritten; elsewhere a line is
# printed for each tenth of it.
# shellcheck shell=bash

repeat=$0 # the command that repeats the current part alone; set by the caller

# step NAME COMMAND...: a function given as COMMAND must join its own commands with &&.
step() {
  local name=$1 log="build/logs/${1// /-}.log" start=$SECONDS status=0
  shift
  mkdir -p build/logs
  printf '%-16s' "$name"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  end_step "$status"
}

# build_step NAME PRESET [build options...]: configures and builds a preset, and shows how far it is.
build_step() {
  local name=$1 log="build/logs/${1// /-}.log" start=$SECONDS status=0
  shift
  mkdir -p build/logs
  printf '%-16s' "$name"
  { cmake --preset "$1" && announce "$@" && build "$@"; } 2>&1 </dev/null | tee "$log" | show_progress "$name" || status=$?
  end_step "$status"
}

# Ends the line of a step; on failure shows the end of its output and exits. Uses step's local variables.
end_step() {
  if [[ $1 -eq 0 ]]; then
    printf '%5d s\n' $((SECONDS - start))
    return 0
  fi
  printf '%5d s  FAILED\n\n' $((SECONDS - start))
  tail -n 200 "$log"
  printf '\nFAILED: %s (exit code %d; all of its output is in %s)\nrepeat: %s\n' "$name" "$1" "$log" "$repeat"
  exit 1
}

build() { cmake --build --preset "$1" --parallel "$(nproc)" "${@:2}"; }

# configure_and_build PRESET [build options...]: without progress.
configure_and_build() { cmake --preset "$1" && build "$@"; }

# Prints how many steps the build has and about how long they take, from what a step took on two 2026 cores.
announce() {
  local count seconds per_step
  local -a dry_run=(-- -n)
  [[ " $* " != *" -- "* ]] || dry_run=(-n)
  case $1 in
    release | bench) per_step=40 ;;
    asan | tsan) per_step=25 ;;
    tidy) per_step=60 ;;
    *) per_step=14 ;;
  esac
  count=$(build "$1" "${@:2}" "${dry_run[@]}" | grep -c '^\[') || true
  seconds=$((count * per_step / 10 / $(nproc)))
  echo "steps: $count, about $(((seconds + 59) / 60)) min on $(nproc) cores"
}

# Turns ninja's lines "[12/300] Building CXX object …" into progress. Passes nothing else on.
show_progress() {
  local terminal=0
  [[ ! -t 1 ]] || terminal=1
  awk -v name="$1" -v terminal="$terminal" '
    /^steps: / {
      sub(/^steps: /, ""); split($0, words, /[ ,]/)
      if (words[1] > 20) printf "%s\n%-16s", $0, name
      fflush()
    }
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), done, "/")
      if (done[2] <= 20) next
      percent = int(100 * done[1] / done[2])
      what = $NF; sub(/.*\.dir\//, "", what); sub(/\.o$/, "", what)
      if (terminal) {
        printf "\r%-16s%4d %%  %-56.56s", name, percent, what
        shown = 1
      } else if (int(percent / 10) > tenth) {
        tenth = int(percent / 10)
        printf "%d %% ", percent
      }
      fflush()
    }
    END { if (shown) printf "\r%-16s%64s\r%-16s", name, "", name }'
}
