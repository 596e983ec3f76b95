#!/bin/bash
# Shards of ranks and the guard of lossy modes: all images have one owner, exact modes end as without shards, a guarded run has the
# same bits in one start and in two, also where what it turns is how old rows of a graph are; its moves are those that a script makes of
# the recorded scores; what would do nothing is refused or told.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
export XDG_CACHE_HOME=$work/cache
data=synth:images,n=600,size=8,classes=4,test=100
epochs=1
batch=40
nodes=1
printf 'fc: linear 16\nrelu\nlinear classes\n' >small.net

# job CODE RANKS [options]
job() {
    local code=$1 ranks=$2 got=0
    shift 2
    mpirun -np "$ranks" --oversubscribe "$weft" train --data $data --model small.net --batch-size $batch --epochs $epochs --threads 1 \
        --ranks-per-node $nodes --calibrate never --pin off --optimizer sgd --lr 0.05 "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "$*: exit $got instead of $code: $(cat err)"
}
says() { grep -qF -- "$1" err || fail "no '$1' in: $(cat err)"; }
same_end() {
    cmp "$1/weights.npz" "$2/weights.npz" || fail "$2 does not end as $1"
    [ "$(grep -o '"skew_[a-z]*": *[^,]*' "$1/metrics.jsonl")" = "$(grep -o '"skew_[a-z]*": *[^,]*' "$2/metrics.jsonl")" ] ||
        fail "$2 was guarded otherwise than $1"
}

# replay RUN POINTS SETTING...: its moves are those of the rule; how many there are stands in the file moves
replay() { python3 "$source_dir/tests/train/skew_replay.py" "$1/metrics.jsonl" "${@:2}" >moves || fail "$1 is not guarded by the rule"; }

# ---- shards: of four classes on four ranks each is about three quarters away from all of them ----
job 0 4 --shard-by label:1 --run-dir apart
says "mean distance 0.7"
says "exact: it adds up the gradients of all shards"
job 0 2 --shard-by quantity:1 --accumulate 2 --run-dir sizes
says "--shard-by quantity:1: images of each rank (label distance):"

# ---- the guard: where labels hardly differ it begins with the second density ----
job 0 2 --shard-by label:0 --sync topk --topk-exchange hierarchical --topk-dense-below 0 --skew-guard 1 --run-dir alike
says "--topk-density from 0.25 to"
says "at first 0.12"

# ---- the same bits in one start and in two ----
epochs=40
batch=120
nodes=0
guard=(--shard-by label:0.8 --sync topk --topk-exchange hierarchical --topk-dense-below 0 --skew-guard 20)
job 0 2 "${guard[@]}" --topk-density 1 --run-dir whole # the guard's densities count
says "--topk-density 1 (command line) has no effect with --skew-guard"
says "--topk-density from 0.25 to 0.12"
says "skew guard, step"
says "25 % of what is selected from" # where the guard starts
tail -n 1 whole/metrics.jsonl | grep -q '"skew_bytes": 0\.[0-9]*[1-9]' || fail "bytes in memory of the node: $(tail -n 1 whole/metrics.jsonl)"
grep -q '"skew_home"' whole/metrics.jsonl || fail "no skew_home in metrics.jsonl"
job 75 2 "${guard[@]}" --run-dir parts --max-hours 1e-9
job 0 2 "${guard[@]}" --run-dir parts --resume
same_end whole parts
replay whole 20 0.25 0.12 0.04
grep -q ": 2 on, 0 back" moves || fail "topk: $(cat moves)"

# ---- updates between averages: where labels lie apart, the guard goes back, too ----
epochs=20
nodes=1
job 0 2 --shard-by label:1 --sync asp --skew-guard 1 --run-dir parting
replay parting 1 0.005 0.01 0.02 0.05 0.1 0.2
grep -q " on, [1-9]" moves || fail "asp never goes back: $(cat moves)"
batch=40

# ---- parts of a graph: rows get older, and the run ends on the oldest ----
"$weft" convert synth:quickstart,scale=0.02 --out store --quiet || fail "convert"
# graph CODE [options]
graph() {
    local code=$1 got=0
    shift
    mpirun -np 3 --oversubscribe "$weft" train --data store --hidden 8 --threads 1 --calibrate never --pin off --eval-every 0 --partition metis \
        --epochs $epochs "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "$*: exit $got instead of $code: $(cat err)"
}
epochs=100
graph 0 --delay 6 --skew-guard 20 --run-dir rows --checkpoint-every 51
says "--delay from 0 to 6, at first 0"
says "--delay from 2 to 4"
tail -n 1 rows/metrics.jsonl | grep -q '"skew_setting": 6' || fail "the last setting: $(tail -n 1 rows/metrics.jsonl)"
share=$(tail -n 1 rows/metrics.jsonl | grep -o '"skew_bytes": [0-9.]*' | cut -d' ' -f2)
awk -v share="$share" 'BEGIN { exit !(share > 0.17 && share < 0.28) }' || fail "delay 6 and its checks send $share of the rows, not about a sixth and a twentieth"
sed -n 51p rows/metrics.jsonl | grep -q '"skew_setting": [24],' || fail "rows are not old yet, or as old as they get: $(sed -n 51p rows/metrics.jsonl)"
cp -r rows rows-parts
rm -r rows-parts/ckpt/epoch-00000100 rows-parts/weights.npz
graph 0 --delay 6 --skew-guard 20 --run-dir rows-parts --resume
says "going on after run 1, epoch 51"
same_end rows rows-parts
replay rows 20 0 2 4 6
grep -q ": 3 on, 0 back" moves || fail "rows: $(cat moves)"
epochs=1
graph 0 --sync allreduce --skew-guard 20 --run-dir exact
says "--skew-guard has no effect"

# ---- refusals ----
job 2 2 --shard-by labels:1
says "expected random, label:S, label-count:C, dirichlet:B or quantity:B"
job 2 2 --shard-by label-count:1
says "4 classes on 2 ranks: from 2, so that no class is left over"
job 0 1 --shard-by label:1
says "--shard-by label:1 has no effect: one rank owns all images"
job 0 2 --skew-guard 1
says "--skew-guard"
