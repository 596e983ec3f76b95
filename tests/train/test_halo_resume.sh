#!/bin/bash
# Every model that sums over neighbours, with every form of halo that remembers rows of other ranks: a training that stopped halfway
# goes on to the bit on as many ranks, and goes on at all on another number of ranks, which drops the rows.
# needs: mpirun
# timeout: 600
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
program=$(dirname "$weft")/tests/mpi_jobs
[ -x "$program" ] || skip "no $program"
work_folder
"$weft" convert synth:quickstart,scale=0.002 --out store --quiet || fail "convert"

# WEFT_LONG=1: every model with every form; otherwise each model with two of the forms, and each form with several models.
models=("sgc layers=1" "sgc layers=2" "sgc layers=3" "sgc layers=2 order=linear-first" "sgc layers=3 order=linear-first"
    "sgc layers=2 input-dropout=0.2" "sage" "sage layers=1" "sage layers=3 order=aggregate-first" "sage order=linear-first"
    "sage aggregator=gcn" "sage last-layer=read" "sage layers=4 residual=on jumping=cat" "gcn" "gcn order=aggregate-first"
    "gcn layers=3 norm=batch jumping=max" "gcn edge-weights=off last-layer=read" "gin" "gin gin-eps=learned layers=3"
    "gin input-dropout=0.2 order=aggregate-first")
forms=("delay=2" "delay=3 fresh-gradients=on" "halo-overlap=epoch" "delay=2 halo-overlap=epoch"
    "delay=2 halo-overlap=epoch fresh-gradients=on" "delay=2 halo-overlap=on" "delay=2 halo-codec=int8"
    "halo-overlap=epoch halo-codec=adaptive halo-bits=3")
methods=(libra edgecut metis random)

# row RUN FILE OPTION...: one training, a line of FILE.
row() {
    echo "data=store threads=1 calibrate=never hidden=8 lr=0.02 eval-every=2 run-dir=$1 ${*:3}" >>"$2"
}

pairs=()
for m in "${!models[@]}"; do
    for f in "${!forms[@]}"; do
        [ -n "${WEFT_LONG:-}" ] || [ $(((m + f) % 6)) -eq 0 ] || continue
        options="model=${models[m]} ${forms[f]} partition=${methods[(m + f / 4) % 4]}"
        row "whole-$m-$f" jobs-2 "$options" epochs=6
        row "half-$m-$f" jobs-2 "$options" epochs=3
        row "half-$m-$f" resumes-2 "$options" epochs=6 resume=on
        row "other-$m-$f" resumes-3 "$options" epochs=6 resume=on
        pairs+=("$m-$f")
    done
done

# train RANKS FILE
train() {
    ranks "$1" "$program" "$2" >"$2.out" 2>"$2.err" || fail "$2 on $1 ranks: $(tail -n 5 "$2.err")"
}
train 2 jobs-2
for pair in "${pairs[@]}"; do
    cp -r "half-$pair" "other-$pair"
done
train 2 resumes-2
train 3 resumes-3
last=ckpt/epoch-00000006/last.npz # weights.npz has the best epoch, and a run that stops has one evaluation more
for pair in "${pairs[@]}"; do
    cmp -s "whole-$pair/$last" "half-$pair/$last" ||
        fail "a resumed training has other weights: --model ${models[${pair%-*}]} with ${forms[${pair#*-}]}"
    [ "$(wc -l <"other-$pair/metrics.jsonl")" -ge 6 ] || fail "other-$pair: $(cat "other-$pair/metrics.jsonl")"
    ! grep -qi "nan\|inf" "other-$pair/metrics.jsonl" || fail "other-$pair: $(cat "other-$pair/metrics.jsonl")"
done
[ "$(grep -c "remembered is dropped" resumes-3.err)" -ge 1 ] || fail "nothing is told of rows that are dropped: $(cat resumes-3.err)"
echo "${#pairs[@]} trainings of ${#models[@]} models and ${#forms[@]} forms of halo went on to the bit"
