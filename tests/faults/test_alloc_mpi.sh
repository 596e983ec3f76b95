#!/bin/bash
# One allocation of one rank fails, under mpirun: the job ends at once with exit 71 and a message, and starts no hang.
# needs: mpirun
# timeout: 3600
set -u
weft=$1
source_dir=$2
faulty=$(dirname "$weft")/tests/weft_faulty # the same program, with a hook (tests/faults/weft_faulty.c)
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"

# What is installed has no such hook: the environment of a user makes nothing fail.
for variable in WEFT_FAIL_ALLOC FAULTY_ALLOC; do
    ! grep -qa "$variable" "$weft" || fail "the program knows $variable"
done
FAULTY_ALLOC=3 "$faulty" info store >out 2>err
[ $? -eq 71 ] && grep -q "no memory for" err || fail "the hook does not work: $(cat err)"
FAULTY_ALLOC=3 "$weft" info store >out 2>err || fail "an allocation of the installed program failed: $(cat err)"
WEFT_FAIL_ALLOC=3 "$weft" info store >out 2>err || fail "an allocation of the installed program failed: $(cat err)"

failed=0 survived=0 in_a_row=0

# fails_at N RANK: that allocation of that rank
fails_at() {
    local n=$1 rank=$2 got=0
    FAULTY_ALLOC=$n:$rank timeout 20 mpirun --oversubscribe --bind-to none -np 2 "$faulty" train --data store --epochs 3 \
        --threads 1 --run-dir run --force --quiet >out 2>err || got=$?
    got=$(job_status "$got" <err)
    in_a_row=$((in_a_row + 1))
    case $got in
    0) survived=$((survived + 1)) ;; # shared memory, or a cache, was done without
    71)
        failed=$((failed + 1)) in_a_row=0
        grep -q "weft: error: \[rank [01], exit 71\] .*no memory for" err ||
            fail "allocation $n of rank $rank: no message: $(cat err)"
        ;;
    124) fail "allocation $n of rank $rank: hangs: $(cat err)" ;;
    *) fail "allocation $n of rank $rank: exit $got: $(cat err)" ;;
    esac
}

if [ -n "${WEFT_LONG:-}" ]; then
    # Each of both ranks, from WEFT_LONG on (to go on after a break), until 40 jobs in a row are past their last one.
    for ((n = WEFT_LONG; in_a_row < 40; ++n)); do
        fails_at "$n" 0
        fails_at "$n" 1
    done
    echo "allocations $WEFT_LONG to $((n - 1)) of both ranks"
else
    # By hand over start, placement, partition, matrices, plans of messages and epochs.
    rank=0
    for n in 3 60 120 124 130 134 160 190 230 270 300 340 370 390 394 396; do
        fails_at "$n" "$rank"
        rank=$((1 - rank))
    done
fi
echo "$failed jobs failed as they should, $survived survived"
[ "$failed" -ge 5 ] || fail "only $failed jobs failed"
exit 0
