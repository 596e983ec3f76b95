#!/bin/bash
# A training job over two hosts whose network is cut: the ranks of both sides end within 10 s of noticing, the reachable side
# says who is missing, and the exit status is that of a stall.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
export TESTCLUSTER=flt
cluster=$source_dir/scripts/testcluster
work=$(mktemp -d -p /tmp) # the hosts of scripts/testcluster have a /dev/shm of their own
export TMPDIR=$work
finish() {
    [ ! -e /run/weft-testcluster-flt ] || "$cluster" down
    rm -rf "$work"
}
trap finish EXIT
"$cluster" up --hosts 2 --rate 1gbit >"$work/out" 2>"$work/err"
code=$?
[ $code -ne 77 ] || skip "$(cat "$work/err")"
[ $code -eq 0 ] || fail "up: $(cat "$work/err")"
cd "$work" || exit 1

running() { "$cluster" status | sed -n 's/^h[0-9]* link [a-z]*, \([0-9]*\) ranks.*/\1/p' | paste -sd+ | bc; }

# Starts the job, cuts the link under it; sets `code` once all ranks have ended in time.
cut_job() {
    rm -rf run
    timeout 120 "$cluster" run -np 4 --per-host 2 -- "$weft" train --data synth:reddit,scale=0.003 --epochs 1000000000 \
        --eval-every 0 --stall-timeout 4 --run-dir run >out 2>err &
    local job=$! cut
    for _ in $(seq 300); do
        grep -q '"epoch": 3' run/metrics.jsonl 2>/dev/null && break
        sleep 0.1
    done
    grep -q '"epoch": 3' run/metrics.jsonl || fail "the job does not train: $(cat err)"
    "$cluster" cut h2 || fail "cut"
    cut=$(date +%s%3N)
    while [ "$(running)" != 0 ] && [ $(($(date +%s%3N) - cut)) -le 50000 ]; do
        sleep 0.2
    done
    [ "$(running)" = 0 ] || fail "ranks run on 50 s after the cut: $("$cluster" status)"
    echo "all ranks ended $(($(date +%s%3N) - cut)) ms after the cut, 4 s of them the stall timeout"
    wait $job
    code=$?
}

# Whether mpirun (Open MPI 4.1.4) came before us: it lost its own footing when a daemon went, or it missed the daemon before
# the stall timeout was over, and ended the ranks. They ended all the same, and had nothing to say.
mpirun_was_first() {
    [ $code -eq 139 ] || { grep -q "lost communication with a remote daemon" err && ! grep -q "do not answer" err; }
}

cut_job
for _ in 1 2; do
    mpirun_was_first || break
    echo "mpirun came first (status $code): once more"
    "$cluster" down && "$cluster" up --hosts 2 --rate 1gbit >/dev/null || fail "up again"
    cut_job
done
# mpirun may miss its daemon at the same moment: what it says of that is its own, and so is the status then.
[ $code -eq 79 ] || { [ $code -eq 205 ] && grep -q "lost communication with a remote daemon" err; } ||
    fail "exit status $code: $(cat err)"
grep -q "ranks 2, 3 of 4 do not answer" err || fail "the missing ranks are not named: $(cat err)"
grep -q "most likely the network between the nodes is cut" err || fail "the cut is not named as the cause: $(cat err)"
still=$(sed -n 's/.*moved for \([0-9.]*\) s.*/\1/p' err)
# 1.2 timeouts, and 3 s for a busy machine: less than one timeout for each of the two.
awk -v still="$still" 'BEGIN {exit !(still != "" && still < 1.2 * 4 + 3)}' || fail "told after '$still' s: $(cat err)"
[ "$(grep -c '^weft: error' err)" -eq 1 ] || fail "more than one cause: $(cat err)"
