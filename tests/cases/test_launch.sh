#!/bin/bash
# How jobs are started: masks of CPUs that stay, words about them, small stacks, dry runs that refuse what the run would, and
# the way to another rate.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need taskset
cases=${WEFT_SHARED:-$source_dir/../shared}/cases/inputs
[ -d "$cases" ] || skip "no cases at $cases"
work_folder
export XDG_CACHE_HOME=$work/cache
unset OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')

# refused CODE TEXT COMMAND...: that exit code, and the text in the log.
refused() {
    local code=$1 text=$2 got=0
    shift 2
    timeout 60 "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] && grep -qF -- "$text" err || fail "exit $got, not $code with '$text': $*: $(tail -3 err)"
}

# ---- the mask of a process, and of an mpirun that was told CPUs, is kept; mpirun's own is not ----
ring=("$cases/predict/ring30.csv" --features "$cases/predict/x.npy" --labels "$cases/predict/y.npy" --splits "$cases/predict/s.npy")
"$weft" convert "${ring[@]}" --out store --quiet || fail "convert"
train=("$weft" train --data store --model mlp --hidden 4 --epochs 2 --force)
# on CPUS THREADS COMMAND...: its line of the node says so.
on() {
    local expected=$1 threads=$2
    shift 2
    timeout 60 "$@" >out 2>err || fail "$*: $(tail -3 err)"
    grep -qE "node .*: 1 rank x $threads thread.*, CPUs $expected, NUMA" err || fail "$* is not on CPUs $expected: $(cat err)"
}
if [ ${#cpus[@]} -ge 2 ]; then
    first=${cpus[0]} second=${cpus[1]} both="[0-9,-]*" # of two or more CPUs
    on "$first" 1 taskset -c "$first" "${train[@]}" --run-dir run
    on "$second" 1 taskset -c "$second" "$weft" eval --data store --checkpoint run
    on "$second" 1 taskset -c "$second" "$weft" predict --data store --checkpoint run --out answers --force
    on "$second" 1 taskset -c "$second" "${train[@]}" --pin on --run-dir run
    on "$second" 1 taskset -c "$second" mpirun -np 1 "${train[@]}" --run-dir run
    on "$second" 1 mpirun -np 1 taskset -c "$second" "${train[@]}" --run-dir run
    # shellcheck disable=SC2016
    on "$second" 1 mpirun -np 1 --bind-to none bash -c 'exec taskset -c '"$second"' "$@"' bind "${train[@]}" --run-dir run
    on "$both" 2 mpirun -np 1 "${train[@]}" --threads 2 --run-dir run
    on "$both" 2 env OMP_PROC_BIND=true "${train[@]}" --threads 2 --run-dir run
    if [ "$first $second" = "0 1" ]; then # mpirun counts cores from 0
        on 1 1 mpirun -np 1 --cpu-set 1 --bind-to core "${train[@]}" --run-dir run
        on 1 1 mpirun -np 1 --cpu-list 1 --bind-to cpu-list:ordered "${train[@]}" --run-dir run
        echo "rank 0=localhost slot=1" >ranks
        on 1 1 mpirun -np 1 --rankfile ranks "${train[@]}" --run-dir run
    fi
    # A count without a mask: no more threads than it, and none is pinned where those of another job are.
    SLURM_JOB_ID=7 SLURM_CPUS_ON_NODE=1 "${train[@]}" --run-dir run >out 2>err || fail "counted: $(cat err)"
    grep -q "1 rank x 1 thread.*not pinned (Slurm grants 1 of" err || fail "counted: $(cat err)"
    refused 78 "this process may use 1 cores" taskset -c "$first" "${train[@]}" --threads 2 --run-dir run
    taskset -c "$first" "$weft" doctor --quiet >out 2>err || fail "doctor: $(cat err)"
    grep '| launch |' out | grep -q "CPU mask of the process leaves 1 of" && ! grep '| launch |' out | grep -q mpirun ||
        fail "doctor speaks of a launcher: $(cat out)"
fi
refused 78 "srun --mpi=pmix" env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 SLURM_JOB_ID=7 "${train[@]}" --run-dir run
SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 "${train[@]}" --run-dir run >out 2>err || fail "one task of srun: $(cat err)"

# ---- a small stack ----
for kib in 64 512; do
    (ulimit -s $kib && exec "$weft" train --data store --model gat --epochs 2 --force --run-dir run) >out 2>err || fail "ulimit -s $kib: exit $?: $(cat err)"
    grep -q '"command": ".*--model gat' run/run.json || fail "ulimit -s $kib: no command line in run.json"
done

# ---- another rate on resume names its way, and the way works ----
"${train[@]}" --lr 0.01 --run-dir rate --quiet >out 2>err || fail "rate: $(cat err)"
refused 2 "--init-weights rate/ckpt/epoch-00000002 with a new --run-dir" "$weft" train --data store --model mlp --hidden 4 \
    --epochs 4 --lr 0.001 --resume --run-dir rate
way=$(grep -o -- '--init-weights [^ ]*' err)
# shellcheck disable=SC2086
"${train[@]}" --lr 0.001 $way --run-dir lower --quiet >out 2>err || fail "$way: $(cat err)"

# ---- dry runs: what the run would refuse, before anything is generated, and nothing is left ----
refused 71 "nothing was generated" "$weft" train --dry-run --data synth:reddit,scale=1000
refused 71 "nothing was generated" "$weft" train --data synth:reddit,scale=1000 --run-dir none
[ ! -e none ] || fail "a refused job leaves its folder"
refused 71 "are allowed by --memory-limit" "$weft" train --dry-run --data synth:reddit --memory-limit 500M
timeout -s TERM 1 "$weft" train --dry-run --data synth:reddit,scale=0.3 >out 2>err # ends while it generates
refused 65 "has shape [3, 4], the model has [3, 8]" "$weft" train --dry-run --data store --model mlp --hidden 8 --init-weights lower
"$weft" train --dry-run --data store --model mlp --hidden 4 --init-weights lower >out 2>err || fail "weights that fit: $(cat err)"
printf 'PK\3\4no weights' >model.pt
refused 65 "model.pt" "$weft" train --dry-run --data store --model mlp --hidden 4 --init-weights model.pt
refused 65 "layer0" "$weft" train --dry-run --data "$cases/images/abc" --model lenet --batch-size 6 --init-weights lower
[ -z "$(find . -maxdepth 1 -name 'weft-dry-run*')" ] || fail "left behind: $(ls)"
exit 0
