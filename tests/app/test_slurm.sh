#!/bin/bash
# Jobs under a real Slurm (scripts/testslurm): CPUs that were given are kept, srun with and without PMIx, and weft.sbatch from
# SIGUSR1 over exit code 75 and the queue to a run without a gap.
# needs: mpirun. timeout: 300
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
[ "$(nproc)" -ge 2 ] || skip "one CPU cannot show two jobs"
work=$(mktemp -d)
export TESTSLURM=s$(($$ % 1000))
cluster=$source_dir/scripts/testslurm
trap '"$cluster" down; rm -rf "$work"' EXIT
cd "$work" || exit 1
unset OMP_NUM_THREADS OMP_PROC_BIND
export XDG_CACHE_HOME=$work/cache

"$cluster" up >out 2>err
code=$?
[ $code -ne 77 ] || skip "$(cat err)"
[ $code -eq 0 ] || fail "up: $(cat err)"
slurm() { timeout 100 "$cluster" run "$@"; }

"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
train=("$weft" train --data store --model mlp --hidden 8 --epochs 3)

# cpus FILE: the CPUs in the line of the node.
cpus() { sed -n 's/.*node .*, CPUs \([0-9,-]*\), NUMA.*/\1/p' "$1"; }

# ---- two jobs side by side: each stays on the CPU that it was given ----
# Each waits until the other has begun, so that they hold their CPUs together.
side_by_side() { # NAME OTHER
    slurm srun --mpi=pmix -n 1 -c 1 bash -c ': >"begun.$1"; for ((i = 0; i < 600; i++)); do [ ! -e "begun.$2" ] || break; sleep 0.1; done
        shift 2; taskset -cp $$; exec "$@"' side "$1" "$2" "${train[@]}" --run-dir "$1" >"$1.log" 2>&1
}
side_by_side one two &
other=$!
side_by_side two one || fail "job two: $(cat two.log)"
wait $other || fail "job one: $(cat one.log)"
for job in one two; do
    given=$(sed -n 's/.*affinity list: //p' $job.log)
    [ -n "$given" ] && [ "$(cpus $job.log)" = "$given" ] || fail "$job was given CPU $given: $(cat $job.log)"
done
[ "$(cpus one.log)" != "$(cpus two.log)" ] || fail "both jobs on CPU $(cpus one.log)"

# ---- two tasks; and more threads than were given ----
slurm srun --mpi=pmix -n 2 -c 1 "${train[@]}" --run-dir tasks >out 2>&1 || fail "two tasks: $(cat out)"
[ "$(grep -c "2 ranks x 1 thread, CPUs 0-1.*masks are kept" out)" -eq 1 ] || fail "two tasks: $(cat out)"
slurm srun --mpi=pmix -n 1 -c 1 "${train[@]}" --threads 2 --run-dir wide >out 2>&1
[ $? -eq 78 ] && grep -q "srun -c 2" out || fail "more threads than CPUs: $(cat out)"

# ---- without PMIx: one task is a process, two are refused by us and not by MPI ----
slurm srun -n 1 "${train[@]}" --run-dir single >out 2>&1 || fail "srun -n 1: $(cat out)"
slurm srun -n 2 "${train[@]}" --run-dir apart >out 2>&1
[ $? -eq 78 ] && [ "$(grep -c "srun --mpi=pmix" out)" -eq 1 ] && ! grep -q "MPI_Init" out || fail "srun -n 2: $(cat out)"

# ---- a batch script: alone and under mpirun, which binds ranks of both jobs to CPU 0 by itself ----
cat >batch.sh <<'BATCH'
#!/bin/bash
: >"begun.$1"
for ((i = 0; i < 600; i++)); do [ ! -e "begun.$2" ] || break; sleep 0.1; done
taskset -cp $$
"${@:3}" --run-dir "$1-alone" 2>&1 && mpirun -np 1 "${@:3}" --run-dir "$1-mpirun" 2>&1
echo "ended with $?"
BATCH
slurm sbatch --wait -n 1 -c 1 -o third.log batch.sh third fourth "${train[@]}" >/dev/null &
other=$!
slurm sbatch --wait -n 1 -c 1 -o fourth.log batch.sh fourth third "${train[@]}" >/dev/null || fail "batch: $(cat fourth.log)"
wait $other || fail "batch: $(cat third.log)"
for job in third fourth; do
    given=$(sed -n 's/.*affinity list: //p' $job.log)
    [ "$(cpus $job.log)" = "$given
$given" ] && grep -q "ended with 0" $job.log || fail "$job was given CPU $given: $(cat $job.log)"
done

# ---- weft.sbatch: SIGUSR1, a checkpoint, 75, back into the queue, and on ----
export WEFT=$weft WEFT_RUN_DIR=$work/long
id=$(slurm sbatch --parsable --nodes=1 --ntasks-per-node=2 --cpus-per-task=1 --time=10 -o long.log \
    "$source_dir/scripts/slurm/weft.sbatch" --data store --model mlp --hidden 8 --epochs 20000 --patience 0 \
    --checkpoint-every 0 --max-hours 1) || fail "sbatch"
epochs() { [ -e long/metrics.jsonl ] && [ "$(wc -l <long/metrics.jsonl)" -gt "$1" ]; }
state() { slurm squeue -h -j "$id" -o %T 2>/dev/null; }
# await TEXT COMMAND...: for at most 40 s.
await() {
    local text=$1 i
    shift
    for ((i = 0; i < 400; i++)); do
        ! "$@" || return 0
        sleep 0.1
    done
    fail "$text: $(state): $(cat long.log)"
}
requeued() { [ "$(grep -c "back into the queue" long.log)" -eq "$1" ] && [ "$(state)" = PENDING ]; }
done_epochs=50
for start in 1 2; do
    await "start $start does not train" epochs $done_epochs
    slurm scancel --signal=USR1 --batch "$id" || fail "scancel"
    await "start $start is not put back" requeued $start
    grep -q "to go on: srun --mpi=pmix -N 1 -n 2 -c 1 .*weft train .*--resume --run-dir" long.log ||
        fail "the line to go on names another launcher: $(cat long.log)"
    done_epochs=$(($(wc -l <long/metrics.jsonl) + 50))
    sleep 2 # Slurm waits for two minutes; not to is safe from the next second on
    slurm scontrol update JobId="$id" StartTime=now || fail "scontrol"
done
await "start 3 does not train" epochs $done_epochs
slurm scancel --signal=USR1 --batch "$id"
await "start 3 is not put back" requeued 3
slurm scancel "$id"
python3 - <<'CHECK' || fail "epochs are missing or come twice"
import json
epochs = [row["epoch"] for row in map(json.loads, open("long/metrics.jsonl")) if "epoch" in row and "loss" in row]
assert epochs == list(range(1, len(epochs) + 1)), epochs[:20]
manifest = json.load(open("long/run.json"))
assert manifest["exit"] == 75 and manifest["ranks"] == 2, manifest
CHECK
"$cluster" down
[ ! -e "/run/weft-testslurm-$TESTSLURM" ] || fail "left behind"
exit 0
