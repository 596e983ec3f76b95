#!/bin/bash
# weft bench comm end to end on 1, 2 and 3 ranks: rows, figures against closed forms, formats, refusals.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder

for count in 1 2 3; do
    ranks $count "$weft" bench comm --quiet --op allreduce --sizes 1K,96K --algorithms all,auto --repeats 2 --format json \
        >out.json 2>err || fail "$count ranks: $(cat err)"
    python3 - out.json $count <<'CHECK' || fail "JSON of $count ranks"
import json, sys
table, P = json.load(open(sys.argv[1])), int(sys.argv[2])
rows = table["rows"]
assert table["op"] == "allreduce" and table["ranks"] == P and table["nodes"] == 1
seen = {(r["algorithm"], r["bytes"]) for r in rows}
assert len(seen) == len(rows)
left = {(u["algorithm"], u["bytes"]) for u in table["unsupported"]}
names = ("auto", "recursive-doubling", "halving-doubling", "ring", "fixed-order", "shared", "two-level", "master")
assert seen | left == {(n, b) for n in names for b in (1024, 98304)} and not seen & left
assert {n for n, _ in seen} >= {"auto", "recursive-doubling", "halving-doubling", "ring", "fixed-order"}
assert all(u["reason"] for u in table["unsupported"])
for r in rows:
    assert r["valid"] is True and r["op"] == "allreduce" and r["ranks"] == P and r["n"] == 2, r
    assert r["seconds_min"] <= r["seconds_q1"] <= r["seconds_median"] <= r["seconds_q3"]
    before = [o["seconds_median"] for o in rows[:rows.index(r) + 1] if o["bytes"] == r["bytes"]]
    assert r["of_best"] == r["seconds_median"] / min(before), r
    assert r["ran"] in names and r["ran"] != "auto" and (r["algorithm"] in ("auto", r["ran"]))
    if P == 1:
        assert r["bytes_sent"] == r["messages"] == 0 and r["bus_gb_per_s"] is None
        continue
    assert r["mpi_seconds_median"] > 0 and r["ratio"] > 0 and r["model_seconds"] > 0
    bus = 2 * (P - 1) / P * r["bytes"] / r["seconds_median"] * 1e-9
    assert abs(r["bus_gb_per_s"] - bus) <= 1e-9 * bus
    if r["ran"] in ("ring", "fixed-order"):  # the share of the busiest rank: a slice is a third, rounded up
        elements = r["bytes"] // 4
        assert 0 <= r["bytes_sent"] - 2 * (P - 1) * r["bytes"] // P <= 4 * 2 * (P - 1), r
        assert r["messages"] == 2 * (P - 1)
    if r["ran"] == "recursive-doubling":
        assert (r["bytes_sent"], r["messages"]) == {2: (r["bytes"], 1), 3: (2 * r["bytes"], 2)}[P], r
CHECK
done

ranks 2 "$weft" bench comm --quiet --sizes 64..256 --algorithms ring,auto --repeats 1 --format csv >out.csv || fail "CSV"
[ "$(wc -l <out.csv)" -eq 7 ] && [ "$(grep -c ',true$' out.csv)" -eq 6 ] || fail "CSV: $(cat out.csv)"
[ "$(awk -F, '{print NF}' out.csv | sort -u | wc -l)" -eq 1 ] || fail "ragged CSV: $(cat out.csv)"
ranks 4 "$weft" bench comm --quiet --ranks-per-node 2 --sizes 4K --repeats 1 >out.md || fail "Markdown"
grep -q '^op: allreduce; ranks: 4; nodes: 2; ' out.md && grep -q '| VALID |$' out.md || fail "Markdown: $(cat out.md)"

# ---- a vector in shares: on one node ranks meet in shared memory, on nodes of their own they send what cut.h says ----
for op in allgather bcast reducescatter; do
    ranks 3 "$weft" bench comm --quiet --op $op --ranks-per-node 1 --sizes 12,96K --repeats 2 --format json >out.json 2>err ||
        fail "$op: $(cat err)"
    python3 - out.json $op <<'CHECK' || fail "JSON of $op: $(cat out.json)"
import json, sys
table, op, P = json.load(open(sys.argv[1])), sys.argv[2], 3
assert [r["bytes"] for r in table["rows"]] == [12, 98304]
for r in table["rows"]:
    M = r["bytes"]
    assert r["valid"] is True and r["op"] == op and r["ranks"] == r["nodes"] == P and r["n"] == 2, r
    sent = {"allgather": (P - 1) * M // P, "reducescatter": M - M // P}.get(op)  # every rank's
    assert r["bytes_sent"] == (2 * M if op == "bcast" else sent), r  # the root has two children of three ranks
    assert r["messages"] == 2 and r["shared_bytes"] == 0, r
CHECK
done
ranks 2 "$weft" bench comm --quiet --op bcast --sizes 4K --repeats 1 >out.md || fail "bcast on a node"
ranks 2 "$weft" bench comm --quiet --op bcast --algorithms ring --sizes 4K 2>err && fail "--algorithms of bcast was taken"
grep -q -- "--algorithms does not go with --op bcast" err || fail "--algorithms of bcast: $(cat err)"

# ---- whole modes: all of them valid on three ranks, each a node of its own ----
# The exchange is named, as one that is chosen sends dense what this machine's model takes to be faster dense.
for overlap in backward split; do
    wire=$([ $overlap = split ] && echo bf16 || echo same)
    ranks 3 "$weft" bench comm --quiet --op sync --ranks-per-node 1 --sizes 64K --algorithms all --bucket 24KiB \
        --overlap $overlap --wire $wire --threads 1 --topk-density 0.05 --topk-exchange hierarchical --repeats 2 \
        --format json >out.json 2>err || fail "sync: $(cat err)"
    python3 - out.json $overlap <<'CHECK' || fail "sync, $overlap: $(cat out.json)"
import json, sys
table, overlap = json.load(open(sys.argv[1])), sys.argv[2]
rows = {r["algorithm"]: r for r in table["rows"]}
assert set(rows) == {"allreduce", "topk", "divide-shuffle", "shadow", "asp"} and not table["unsupported"]
for name, r in rows.items():
    assert r["valid"] is True and r["op"] == "sync" and r["ran"] == name and r["nodes"] == 3 and r["n"] == 2, r
    assert r["seconds_q1"] <= r["seconds_median"] <= r["seconds_q3"] and r["model_seconds"] > 0
    assert r["compute_seconds"] > 0 and r["exposed_seconds"] >= 0
assert rows["topk"]["bytes_sent"] < rows["allreduce"]["bytes_sent"] / 2 and rows["topk"]["density"] < 0.06
# Each rank sends at least 2 (P - 1) / P of the vector of 2^14 elements, in two or four bytes a number.
assert rows["allreduce"]["bytes_sent"] >= 2 * 2 * 65536 // 3 // (2 if overlap == "split" else 1)
CHECK
done
ranks 2 "$weft" bench comm --quiet --op sync --sizes 4K --algorithms auto --repeats 1 --format csv >out.csv 2>err ||
    fail "sync auto: $(cat err)"
grep -q '^sync,auto,allreduce,4096,2,1,1,.*,true$' out.csv || fail "sync auto: $(cat out.csv)"

# ---- selection ----
"$weft" bench comm --quiet --op select --sizes 4K,1000000 --topk-density 0.01 --repeats 2 --format json >out.json 2>err ||
    fail "select: $(cat err)"
python3 - out.json <<'CHECK' || fail "select: $(cat out.json)"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [(r["algorithm"], r["bytes"], r["k"]) for r in rows] == [
    (m, b, k) for b, k in ((4096, 11), (1000000, 2500)) for m in ("radix", "mstopk", "reuse")]
for r in rows:
    assert r["valid"] is True and r["seconds_median"] > 0 and r["read_seconds_median"] > 0 and r["passes"] > 0
    assert r["algorithm"] == "reuse" or r["found"] == r["k"]
    assert r["algorithm"] != "radix" or r["exact_share"] == 1
CHECK

# refuse TEXT OPTIONS...: exit code 2 and a message that says TEXT, on one rank and on two
refuse() {
    local text=$1 count
    shift
    for count in 1 2; do
        ranks $count "$weft" bench comm "$@" >out 2>err
        [ $? -eq 2 ] && grep -qF -- "$text" err && [ ! -s out ] || fail "$*: $(cat out err)"
    done
}
refuse "'rings' is none of auto, recursive-doubling" --algorithms ring,rings
refuse '"1Q" is not an integer' --sizes 1K,1Q
refuse "6 is no multiple of 4 bytes" --sizes 6
refuse "'ring' is none of allreduce, topk" --op sync --algorithms ring
refuse "'ring' is none of radix, mstopk" --op select --algorithms ring
ranks 2 "$weft" bench spmm --data synth:quickstart >out 2>err
[ $? -eq 78 ] && grep -q "without mpirun" err || fail "bench spmm on two ranks: $(cat err)"
exit 0
