#!/bin/bash
# The test cluster: two hosts that MPI sees as two nodes, traffic on their link at its speed, faults, and nothing left.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
export TESTCLUSTER=t$(($$ % 1000)) # others may run this test, too
cluster=$source_dir/scripts/testcluster
launch() { timeout 100 "$cluster" run "$@"; }
work=$(mktemp -d -p /tmp) # the hosts of scripts/testcluster have a /dev/shm of their own
export TMPDIR=$work
job=
finish() {
    [ -z "$job" ] || kill "$job" 2>/dev/null
    [ ! -e /run/weft-testcluster-$TESTCLUSTER ] || "$cluster" down
    rm -rf "$work"
}
trap finish EXIT

"$cluster" up --hosts 2 --rate 200mbit >"$work/out" 2>"$work/err"
code=$?
[ $code -ne 77 ] || skip "$(cat "$work/err")"
[ $code -eq 0 ] || fail "up: $(cat "$work/err")"
"$cluster" up --hosts 2 2>"$work/err" && fail "up twice"
grep -q "is up already" "$work/err" || fail "up twice: $(cat "$work/err")"
cd "$work" || exit 1

sent() { "$cluster" status | sed -n "s/^$1 .*sent \([0-9]*\) bytes.*/\1/p"; }

# ---- two nodes, and a ring of 1 MiB: each host sends M bytes a post over its link, in 42 ms at least ----
before=$(sent h2)
launch -np 2 -- "$weft" bench comm --quiet --sizes 1M --algorithms ring --repeats 3 --format json >out.json 2>err ||
    fail "two hosts: $(cat err)"
moved=$(($(sent h2) - before))
python3 - out.json "$moved" <<'CHECK' || fail "two hosts: $moved bytes moved: $(cat out.json)"
import json, sys
table, moved = json.load(open(sys.argv[1])), int(sys.argv[2])
row, = table["rows"]
assert table["nodes"] == 2 and row["valid"] is True and row["bytes_sent"] == 1 << 20
# Ours runs at least 7 times (checks, warm-up, repetitions), MPI's 11 times.
assert moved > 18 << 20
# Tokens of the last pause (1 ms worth at each end) may be spent at once.
wire = row["bytes"] * 8 / 200e6 - 2e-3
assert wire < row["seconds_min"] < 20 * wire, row
CHECK

# ---- two ranks a host stay in shared memory among themselves ----
launch -np 4 --per-host 2 --env WEFT_QUIET=on -- bash -c 'hostname; "$0" bench comm --sizes 1K --repeats 1 --format json' \
    "$weft" >out 2>err || fail "four ranks: $(cat err)"
[ "$(grep -c '^h1$' out)" -eq 2 ] && [ "$(grep -c '^h2$' out)" -eq 2 ] || fail "hosts of four ranks: $(cat out)"
grep -q '"nodes": 2' out || fail "nodes of four ranks: $(cat out)"
launch -np 2 --per-host 2 -- hostname >out 2>err || fail "one host: $(cat err)"
[ "$(sort -u out)" = h1 ] || fail "two ranks of one host run on $(cat out)"
launch -np 5 --per-host 2 -- true 2>err && fail "five ranks on four places"
launch -np 2 -- bash -c 'exit 41' >out 2>&1
[ $? -eq 41 ] || fail "the exit code of the ranks is lost"

# ---- faults: a frozen host stops the others, and goes on ----
launch -np 2 -- "$weft" bench comm --quiet --sizes 1K --repeats 3 --stall-timeout 30 --format csv >out 2>err &
job=$!
for _ in $(seq 1500); do
    "$cluster" freeze h2 >/dev/null 2>&1 && break
    sleep 0.01
done
"$cluster" status | grep -q "^h2 link up, [1-9]" || fail "no rank was frozen: $("$cluster" status)"
sleep 0.5
kill -0 $job 2>/dev/null || fail "the job ended without its frozen rank: $(cat out err)"
"$cluster" thaw h2 >/dev/null || fail "thaw"
wait $job || fail "the job did not survive a pause: $(cat err)"
job=
"$cluster" cut h2 || fail "cut"
"$cluster" status | grep -q "^h2 link cut" || fail "cut does not show"
nodes=$(launch -np 1 -- ip -o link show eth0 2>/dev/null | grep -c LOWER_UP)
[ "$nodes" -eq 1 ] || fail "cutting h2 took h1 down"
"$cluster" heal h2 || fail "heal"
launch -np 2 -- hostname >out 2>err || fail "healed: $(cat err)"

"$cluster" down || fail "down"
"$cluster" down || fail "down twice"
[ "$("$cluster" status)" = "cluster $TESTCLUSTER is down" ] || fail "status after down"
compgen -G "/run/netns/weft-$TESTCLUSTER-*" >/dev/null && fail "namespaces left: $(ls /run/netns)"
launch -np 1 -- true 2>err && fail "run without a cluster"
exit 0
