#!/bin/bash
# --precondition-place: the memory that --dry-run plans is the memory that the run reports, for every method and place;
# a placed run has the weights of the run that does everything everywhere.
# needs: mpirun
# timeout: 120
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
options=(--data store --model sage --layers 3 --hidden 48 --threads 1 --calibrate never)

# train RUN OPTION...
train() {
    ranks 2 "$weft" train "${options[@]}" "${@:2}" --epochs 2 --run-dir "$1" >"$1.out" 2>"$1.err" || fail "$1: $(tail -n 3 "$1.err")"
}

# megabytes RUN OPTION...: what rank 0 was planned for is what it holds, in MB.
megabytes() {
    train "$@"
    ranks 2 "$weft" train "${options[@]}" "${@:2}" --dry-run >"$1.plan" 2>&1 || fail "$1: $(tail -n 3 "$1.plan")"
    held=$(sed -n 's/.*precondition [a-z]*: \([0-9.]* MB\) for.*/\1/p' "$1.err")
    planned=$(sed -n 's/^  second order  *\([0-9.]* MB\)$/\1/p' "$1.plan")
    [ -n "$held" ] && [ "$held" = "$planned" ] || fail "$1: planned $planned, held $held"
}
train everywhere --precondition kfac --precondition-place everywhere
megabytes mem-opt --precondition kfac --precondition-place mem-opt
megabytes muon --precondition muon
grep -q "^ *128  mem-opt .*[0-9]$" mem-opt.plan || fail "no prediction for 128 ranks: $(cat mem-opt.plan)"
grep -q "^ *2  mem-opt .*taken$" mem-opt.plan || fail "the place is not marked: $(cat mem-opt.plan)"
cmp -s everywhere/weights.npz mem-opt/weights.npz || fail "a place changes weights"
