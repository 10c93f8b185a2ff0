#!/usr/bin/env bash
# A batch job that can be moved while it runs: it counts steps, and saves its progress on a signal.
# The order of the steps matters:
#   SIGUSR1           → save below $TANGRAM_CHECKPOINT, create $TANGRAM_CHECKPOINT/saved, and wait
#                       until that file is removed
#   TANGRAM_RESUME=1  → load, then create $TANGRAM_CHECKPOINT/resumed
# In between the job is frozen. Then either it continues or its successor does, never both.
#
#   tangram submit -p 1g.5gb --move checkpoint -- examples/train.sh 600
set -euo pipefail

steps=${1:-60}                                 # total number of steps
pause=${2:-0.1}                                # seconds per step
folder=${TANGRAM_CHECKPOINT:-}
step=0

save() {
  [[ -n $folder ]] || return 0
  echo "$step" >"$folder/step.new"
  mv "$folder/step.new" "$folder/step"         # atomic: complete or absent
  echo "saved at step $step"
  : >"$folder/saved"
  # Wait to be frozen: work done from here on would be repeated by the successor. Tangram removes the
  # file if this run is to continue; without a reaction, it continues after 10 s.
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
