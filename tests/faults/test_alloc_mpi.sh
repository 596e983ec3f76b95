#!/bin/bash
# One allocation of one rank fails, under mpirun: the job ends at once with exit 71 and a message, and starts no hang.
# needs: mpirun
# timeout: 300
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"

# Strided by hand over start, placement, partition, matrices, plans of messages and epochs; WEFT_LONG=1: one by one, until
# the count is past the job's last allocation.
numbers=(3 60 120 124 130 134 160 190 230 270 300 340 370 390 394 396)
[ -z "${WEFT_LONG:-}" ] || read -r -a numbers <<<"$(seq -s ' ' 1 1000)"
failed=0 survived=0 rank=0
for n in "${numbers[@]}"; do
    got=0
    WEFT_FAIL_ALLOC=$n:$rank timeout 20 mpirun --oversubscribe --bind-to none -np 2 "$weft" train --data store --epochs 3 \
        --threads 1 --run-dir run --force --quiet >out 2>err || got=$?
    case $got in
    0) survived=$((survived + 1)) ;; # shared memory, or a cache, was done without
    71)
        failed=$((failed + 1))
        grep -q "weft: error: \[rank [01], exit 71\] .*no memory for" err ||
            fail "allocation $n of rank $rank: no message: $(cat err)"
        ;;
    124) fail "allocation $n of rank $rank: hangs: $(cat err)" ;;
    *) fail "allocation $n of rank $rank: exit $got: $(cat err)" ;;
    esac
    rank=$((1 - rank))
done
echo "$failed jobs failed as they should, $survived survived"
[ "$failed" -ge 5 ] || fail "only $failed jobs failed"
exit 0
