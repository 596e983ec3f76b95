#!/bin/bash
# --precondition-place: the memory that --dry-run plans is the memory that the run reports; --dry-run predicts the price
# of every place for this job and larger ones; auto measures where a step has work enough, and says what it takes.
# needs: mpirun
# timeout: 120
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
work_folder
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
options=(--data store --model sage --layers 3 --threads 1 --calibrate never)

# run RANKS NAME OPTION...
run() {
    ranks "$1" "$weft" train "${options[@]}" "${@:3}" >"$2.out" 2>"$2.err" || fail "$2: $(tail -n 3 "$2.err")"
}

# megabytes RANKS OPTION...: what rank 0 was planned for is what it holds, in MB.
megabytes() {
    run "$1" held --epochs 2 --hidden 48 "${@:2}" --run-dir run --force
    run "$1" plan --dry-run --hidden 48 "${@:2}"
    held=$(sed -n 's/.*precondition [a-z]*: \([0-9.]* MB\) for.*/\1/p' held.err)
    planned=$(sed -n 's/^  second order  *\([0-9.]* MB\)$/\1/p' plan.out)
    [ -n "$held" ] && [ "$held" = "$planned" ] || fail "${*:2}: planned $planned, held $held"
}
megabytes 1 --precondition muon
megabytes 2 --precondition kfac --precondition-place mem-opt
grep -q "^ *128  mem-opt .*[0-9]$" plan.out || fail "no prediction for 128 ranks: $(cat plan.out)"
grep -q "^ *2  mem-opt .*taken$" plan.out || fail "the place is not marked: $(cat plan.out)"
run 2 auto --hidden 160 --precondition kfac --dry-run
grep -q "precondition place [a-z-]* (auto: " auto.err && grep -q "^ *2 .*taken$" auto.out || fail "auto: $(cat auto.err auto.out)"
