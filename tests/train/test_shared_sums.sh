#!/bin/bash
# Sums and maxima that rows have in common: training gives the losses of the plain form on 1 and 3 ranks, `auto` takes the form where a graph
# is a projection of groups and not where it is none, a second job reads what the first one found, and a damaged file is found anew.
# On visits that users share (Gowalla, where the data are there) fewer sources are read and sums stay right.
# needs: mpirun, shared sums
# timeout: 300
# trees: release
set -u
weft=$1
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME=$folder/cache
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
plain=(--hidden 8 --layers 2 --epochs 4 --eval-every 0 --checkpoint-every 0 --quiet)

losses() { # RUN: a line an epoch
    python3 -c 'import json, sys
for line in open(sys.argv[1] + "/metrics.jsonl"):
    row = json.loads(line)
    if "loss" in row: print(repr(row["loss"]))' "$1"
}
near() { # RUN RUN: losses differ by at most 1e-5 of themselves
    paste <(losses "$1") <(losses "$2") | python3 -c 'import sys
rows = [tuple(map(float, line.split())) for line in sys.stdin]
assert len(rows) == 4 and all(abs(a - b) <= 1e-5 * abs(a) for a, b in rows), rows'
}

"$weft" convert synth:forum,scale=0.06,f=16,signal=0.3 --out "$folder/forum" --quiet || fail "the forum was not made"
for model in gcn sage gin sgc "sage --aggregator max"; do
    "$weft" train --data "$folder/forum" --model $model --spmm rows "${plain[@]}" --run-dir "$folder/rows-${model// /}" >"$folder/out" || fail "$model, rows"
    "$weft" train --data "$folder/forum" --model $model --spmm shared "${plain[@]}" --run-dir "$folder/shared-${model// /}" >"$folder/out" ||
        fail "$model, shared"
    near "$folder/rows-${model// /}" "$folder/shared-${model// /}" || fail "$model: losses of shared sums"
done
mpirun --oversubscribe -np 3 "$weft" train --data "$folder/forum" --model sage --spmm shared "${plain[@]}" --run-dir "$folder/three" >"$folder/out" ||
    fail "3 ranks"
near "$folder/rows-sage" "$folder/three" || fail "losses of shared sums on 3 ranks"
# Partial maxima: on 3 ranks too, and taken by `auto`, which says so.
max=(--model sage --aggregator max "${plain[@]}")
mpirun --oversubscribe -np 3 "$weft" train --data "$folder/forum" --spmm shared "${max[@]}" --run-dir "$folder/max-three" >"$folder/out" ||
    fail "maxima on 3 ranks"
near "$folder/rows-sage--aggregatormax" "$folder/max-three" || fail "losses of shared maxima on 3 ranks"
"$weft" train --data "$folder/forum" "${max[@]/--quiet/--verbose}" --run-dir "$folder/max-auto" >"$folder/out" 2>"$folder/max.log" || fail "maxima, auto"
grep -q "maxima by what rows have in common" "$folder/max.log" || fail "auto does not share maxima of the forum"
near "$folder/rows-sage--aggregatormax" "$folder/max-auto" || fail "losses of shared maxima by auto"

"$weft" bench spmm --data "$folder/forum" --dims 16 --forms auto --reorder none --repeats 1 --format json >"$folder/auto.json" 2>/dev/null
grep -q '"form": "shared"' "$folder/auto.json" || fail "auto does not share sums of the forum"
"$weft" train --data "$folder/forum" --model gcn --reproducible "${plain[@]}" --run-dir "$folder/rule" >"$folder/out" || fail "by the rule"
near "$folder/rows-gcn" "$folder/rule" || fail "losses by the rule"
"$weft" bench spmm --data synth:reddit,scale=0.01,f=0 --dims 16 --forms auto --reorder none --repeats 1 --format json \
    >"$folder/none.json" 2>/dev/null
grep -q '"form": "shared"' "$folder/none.json" && fail "auto shares sums where there are none"

# The first job leaves what it found, the next one reads it, and damage is told.
"$weft" convert synth:forum,scale=0.12,f=4 --out "$folder/large" --quiet || fail "the larger forum was not made"
one=(train --data "$folder/large" --model gcn --spmm shared --hidden 4 --layers 2 --epochs 1 --eval-every 0 --checkpoint-every 0)
"$weft" "${one[@]}" --run-dir "$folder/first" >"$folder/out" 2>&1 || fail "first job"
kept=("$folder"/large/shared-*.bin)
[ -e "${kept[0]}" ] || fail "nothing was kept in the store"
before=$(stat -c %Y.%i "${kept[0]}")
"$weft" "${one[@]}" --run-dir "$folder/second" >"$folder/out" 2>&1 || fail "second job"
[ "$(stat -c %Y.%i "${kept[0]}")" = "$before" ] || fail "the second job did not use what was kept"
cmp -s <(losses "$folder/first") <(losses "$folder/second") || fail "what was read gives other bits than what was found"
printf 'damage' | dd of="${kept[0]}" bs=1 seek=3000 conv=notrunc status=none
"$weft" "${one[@]}" --run-dir "$folder/third" >"$folder/out" 2>"$folder/third.log" || fail "third job"
grep -q "damaged, or of another version" "$folder/third.log" || fail "damage is not told"
cmp -s <(losses "$folder/first") <(losses "$folder/third") || fail "after damage"

visits=${WEFT_SHARED:-}/data/gowalla/test.txt
if [ -r "$visits" ]; then
    # Places that a common user has visited are joined, of every eighth user; then users by a common place.
    python3 - "$visits" "$folder" <<'EDGES' || fail "projections"
import sys
places, users = {}, {}
for line in open(sys.argv[1]):
    user, *items = line.split()
    if int(user) % 8 == 0:
        places[user] = items
    for item in items:
        users.setdefault(item, []).append(user)
for name, groups in (("places", places), ("users", users)):
    ids, edges = {}, set()
    for group in groups.values():
        if len(group) > 400:
            continue
        members = [ids.setdefault(member, len(ids)) for member in group]
        edges.update((a, b) for a in members for b in members if a < b)
    with open(f"{sys.argv[2]}/{name}.txt", "w") as out:
        out.writelines(f"{a} {b}\n" for a, b in sorted(edges))
EDGES
    for name in places users; do
        "$weft" convert "$folder/$name.txt" --format edge-list --out "$folder/$name" --quiet || fail "$name was not made"
        "$weft" bench spmm --data "$folder/$name" --dims 16 --forms rows,shared --reorder none --repeats 1 --format json \
            >"$folder/$name.json" 2>/dev/null || fail "$name: sums"
        python3 - "$folder/$name.json" <<'CHECK' || fail "$name"
import json, sys
rows, shared = json.load(open(sys.argv[1]))["rows"]
assert rows["valid"] and shared["valid"] and shared["form"] == "shared", (rows, shared)
# 4 bytes a read, 16 a row and partial sum, and the packed strip of 64 bytes each
reads = (shared["prepared_bytes"] - 80 * shared["vertices"]) / 4
assert 1.5 * reads < shared["edges"], (reads, shared["edges"])
CHECK
    done
fi
exit $failed
