#!/usr/bin/env bash
# A batch job that can be moved while it runs: it counts steps, and saves where it is when it is
# asked to. What matters is the order of things:
#   SIGUSR1           → save below $TANGRAM_CHECKPOINT, create $TANGRAM_CHECKPOINT/saved, and do
#                       nothing more until that file is gone
#   TANGRAM_RESUME=1  → load, then create $TANGRAM_CHECKPOINT/resumed
# Between the two it is frozen; either it goes on, or its successor does, never both.
#
#   tangram submit -p 1g.5gb --move checkpoint -- examples/train.sh 600
set -euo pipefail

steps=${1:-60}                                 # to do in all
pause=${2:-0.1}                                # of one step, in seconds
folder=${TANGRAM_CHECKPOINT:-}
step=0

save() {
  [[ -n $folder ]] || return 0
  echo "$step" >"$folder/step.new"
  mv "$folder/step.new" "$folder/step"         # whole or not at all
  echo "saved at step $step"
  : >"$folder/saved"
  # To be frozen: what is done from here on would be done again. The file is removed when this run
  # is to go on after all; if nobody comes, it goes on too.
  for ((i = 0; i < 100; ++i)); do
    [[ -e $folder/saved ]] || return 0
    sleep 0.1
  done
}
trap save USR1

if [[ ${TANGRAM_RESUME:-} == 1 ]]; then
  step=$(<"$folder/step")
  echo "resumed at step $step on GPU ${TANGRAM_GPU:-?} at ${TANGRAM_START:-?}"
  : >"$folder/resumed"
fi

while ((step < steps)); do
  sleep "$pause" &
  wait $! || true                              # a signal ends the wait, not the script
  step=$((step + 1))
  echo "step $step of $steps"
done
echo "done"
