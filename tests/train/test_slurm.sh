#!/bin/bash
# scripts/slurm/weft.sbatch with an srun and an scontrol of our own: SIGUSR1 to the batch script reaches the step, exit
# 75 puts the job back into the queue, the next start goes on, and it ends as if nothing had happened. Other failures are
# handed through.
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$2
. "$source_dir/tests/support/script.sh"
work_folder
script=$source_dir/scripts/slurm/weft.sbatch
grep -q '^#SBATCH --signal=B:USR1@' "$script" && grep -q '^#SBATCH --requeue' "$script" || fail "no signal or requeue"

# srun: options away, then the program, which gets the signals that srun gets. A step of this job, in words that the
# program looks for, would have to be served by a Slurm: it runs alone.
mkdir bin
cat >bin/srun <<'END'
#!/bin/bash
echo "srun $*" >>calls
while [[ "$1" == --* ]]; do shift; done
exec env -u SLURM_JOB_ID "$@"
END
cat >bin/scontrol <<'END'
#!/bin/bash
echo "scontrol $*" >>calls
END
chmod +x bin/*
export PATH="$work/bin:$PATH" WEFT=$weft SLURM_JOB_ID=4711

options=(--data store --threads 1 --norm batch --hidden 8 --checkpoint-every 0)
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail convert

# ---- the signal comes while it trains ----
bash "$script" "${options[@]}" --epochs 1000 >out 2>err &
job=$!
tries=0
until [ -s weft-4711/metrics.jsonl ]; do
    sleep 0.05
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || fail "no epoch: $(cat err)"
done
kill -USR1 "$job"
got=0
wait "$job" || got=$?
[ "$got" -eq 0 ] || fail "exit $got of the script: $(cat err)"
grep -q "^scontrol requeue 4711$" calls || fail "not put back into the queue: $(cat calls) $(cat err)"
grep -q "stopped after run 1" err || fail "did not stop: $(cat err)"
stopped=$(wc -l <weft-4711/metrics.jsonl)
[ "$stopped" -lt 1000 ] || fail "the training was over before the signal came"

# ---- the next start goes on to the end ----
: >calls
SLURM_RESTART_COUNT=1 bash "$script" "${options[@]}" --epochs 1000 >out 2>err || fail "second start: $(cat err)"
grep -q "going on after run 1, epoch $stopped" err || fail "the second start did not go on: $(cat err)"
! grep -q scontrol calls || fail "a finished job went back into the queue"
grep -q -- "--resume" calls || fail "no --resume: $(cat calls)"
"$weft" train "${options[@]}" --epochs 1000 --quiet --run-dir whole >out || fail "undisturbed run"
cmp whole/weights.npz weft-4711/weights.npz || fail "ends with other weights"
[ "$(wc -l <weft-4711/metrics.jsonl)" -eq 1000 ] || fail "$(wc -l <weft-4711/metrics.jsonl) lines of metrics"

# ---- failures stay failures ----
got=0
WEFT_RUN_DIR=bad bash "$script" --data nowhere >out 2>err || got=$?
[ "$got" -eq 66 ] || fail "a missing store: exit $got"
! grep -q scontrol calls || fail "a failed job went back into the queue"
echo "requeued and finished"
