#!/usr/bin/env bash
# mpirun -np N weft partition: ranks divide a graph together, a training finds what they kept, and what they cannot do is refused
# in words.
# needs: mpirun. timeout: 200
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$weft" convert synth:quickstart,scale=0.1 --out store --quiet
together() { mpirun --oversubscribe --bind-to none -np "$1" "$weft" partition "${@:2}"; }

together 3 store --parts 4 --method stream --json >three.json 2>err || fail "3 ranks: $(cat err)"
"$weft" partition store --parts 4 --method stream --json --save off >one.json 2>err || fail "1 rank: $(cat err)"
python3 - <<'PY'
import json

three, one = json.load(open("three.json")), json.load(open("one.json"))
assert set(three) == set(one) and three["method"] == "stream", three
assert three["replication_factor"] < 1.1 * one["replication_factor"], (three, one)
assert three["edge_balance"] < 1.1 and three["empty_parts"] == 0, three
PY
mpirun --oversubscribe --bind-to none -np 4 "$weft" train --data store --partition stream --epochs 2 --threads 1 --run-dir run >out 2>err ||
    fail "training on it: $(tail -3 err)"
grep -q 'partition stream into 4 parts (stored)' err || fail "the partition was made again: $(grep partition err)"

# A training's first partition is made by its ranks too: the bits of those that only divide.
cp -r store fresh && rm -rf fresh/partition* && cp -r fresh divided
together 4 divided --parts 4 --method stream >out 2>err || fail "4 ranks: $(cat err)"
mpirun --oversubscribe --bind-to none -np 4 "$weft" train --data fresh --partition stream --epochs 2 --threads 1 --run-dir own >out 2>err ||
    fail "making its own: $(tail -3 err)"
grep -q 'partition stream into 4 parts:' err || fail "the partition was there before: $(grep partition err)"
for array in edge_part root; do
    cmp divided/partition-stream-4-0/$array.npy fresh/partition-stream-4-0/$array.npy || fail "$array is not that of weft partition"
done

# Of a directed graph ranks tell each other which pairs have both directions: as good as one process, whatever the method is called.
"$weft" convert store --to edge-list --out edges.txt --quiet
awk '($1 * 7 + $2) % 3 > 0' edges.txt >oneway.txt
"$weft" convert oneway.txt --vertices 10000 --symmetrize off --out oneway --quiet 2>err || fail "$(cat err)"
together 3 oneway --parts 4 --json --save off >three.json 2>err || fail "directed, 3 ranks: $(cat err)"
"$weft" partition oneway --parts 4 --method stream --json --save off >one.json 2>err || fail "directed, 1 rank: $(cat err)"
python3 - <<'PY'
import json

three, one = json.load(open("three.json")), json.load(open("one.json"))
assert three["method"] == "stream" and three["replication_factor"] < 1.1 * one["replication_factor"], (three, one)
assert three["edge_balance"] < 1.1 and three["empty_parts"] == 0, three
PY

together 2 store --parts 3 --quiet >out 2>err || fail "auto: $(cat err)"
ls -d store/partition*auto-3-* >/dev/null || fail "auto is not kept as auto: $(ls store)"

for case in "--parts 4 --method metis:2:as one process" "--parts 1 --method stream:2:between 2 and"; do
    IFS=: read -r options code words <<<"$case"
    status=0
    together 2 store $options >out 2>err || status=$?
    [ $status -eq "$code" ] || fail "$options: exit code $status instead of $code: $(cat err)"
    grep -q -- "$words" err || fail "$options: no word of \"$words\": $(cat err)"
done
