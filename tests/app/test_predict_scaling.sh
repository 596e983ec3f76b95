#!/usr/bin/env bash
# weft predict-scaling end to end: the rows of its table in three formats, halos beside those of a dry run, a better machine,
# refusals.
# needs: mpirun
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work XDG_CACHE_HOME=$work/cache OMP_WAIT_POLICY=passive
common=(--data graph.weft --hidden 16 --input-dropout 0.5 --threads 1 --partition metis)
"$weft" convert synth:quickstart,scale=0.02 --out graph.weft --quiet

predict() { "$weft" predict-scaling "${common[@]}" --quiet "$@"; }
predict --sockets 1,2,3,64 --divide-up-to 4 --format json >out.json
predict --sockets 64 --divide-up-to 4 --network-bandwidth 1G --network-latency 1e-3 --format json >slow.json
predict --sockets 64 --divide-up-to 4 --network-bandwidth 100G --network-latency 1e-6 --format json >fast.json
ranks 2 "$weft" train "${common[@]}" --dry-run --quiet >dry 2>err || fail "dry run: $(cat err)"
python3 - <<'PY' || fail "the figures"
import json
import re

table = json.load(open("out.json"))
rows = {(row["sockets"], row["mode"]): row for row in table["rows"]}
modes = ["exact", "delay 5", "codec int8", "no halo"]
assert list(rows) == [(1, "exact")] + [(p, mode) for p in (2, 3, 64) for mode in modes], list(rows)
parts = ("aggregate_s", "linear_s", "elementwise_s", "halo_s", "allreduce_s")
for (sockets, mode), row in rows.items():
    assert abs(sum(row[part] for part in parts) - row["epoch_s"]) <= 1e-9 * row["epoch_s"], row
    assert row["least_epoch_s"] <= row["epoch_s"] and (sockets == 1) == (row["allreduce_s"] == 0), row
    assert row["parts"] == ("extrapolated" if sockets == 64 else "made"), row
    exact = rows[sockets, "exact"]
    assert row["aggregate_s"] == exact["aggregate_s"] and row["halo_bytes"] <= exact["halo_bytes"], row
    assert (row["halo_s"] == 0) == (sockets == 1 or mode == "no halo"), row
    if mode == "delay 5":
        assert abs(5 * row["halo_bytes"] - exact["halo_bytes"]) < 1e-6 * exact["halo_bytes"], row
assert rows[1, "exact"]["edges"] == table["edges"] and rows[1, "exact"]["speedup"] == 1
# Of two parts the busier one sends or receives at least half of all rows, and not all.
dry = open("dry").read()
every, megabytes = re.search(r"halo: (\d+) rows.*, ([\d.]+) MB an epoch", dry).groups()
two = rows[2, "exact"]
assert int(every) / 2 <= two["halo_rows"] <= int(every), (two, dry)
assert abs(two["halo_bytes"] / two["halo_rows"] * int(every) / 1e6 - float(megabytes)) <= 0.05, (two, dry)
slow, fast = (json.load(open(name))["rows"][0] for name in ("slow.json", "fast.json"))
assert fast["halo_s"] < slow["halo_s"] and fast["allreduce_s"] < slow["allreduce_s"], (slow, fast)
assert slow["halo_bytes"] == fast["halo_bytes"]
PY
predict --sockets 1,2 --divide-up-to 2 --delay 3 --format csv >out.csv
[ "$(wc -l <out.csv)" -eq 6 ] && grep -q "delay 3" out.csv || fail "CSV: $(cat out.csv)"
predict --sockets 1 | grep -q "^| 1 | made | exact |" || fail "Markdown"

# Features that are held sparse are timed so: of 4096 columns two are set, and the products of whole rows take far longer.
python3 - <<'PY'
import struct
n, f = 2000, 4096
put = lambda name, kind, shape, data: open(name, "wb").write(
    b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) +
    ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)).encode().ljust(117) + b"\n" + data)
row = bytearray(4 * n * f)
for v in range(n):
    for j in (v % 7, 7 + v * 13 % (f - 7)):
        row[4 * (v * f + j):4 * (v * f + j) + 4] = struct.pack("<f", 1)
put("x.npy", "<f4", (n, f), bytes(row))
put("y.npy", "<i4", (n,), struct.pack("<%di" % n, *(v % 7 for v in range(n))))
open("ring.txt", "w").write("".join("%d %d\n" % (v, (v + 1) % n) for v in range(n)))
PY
"$weft" convert ring.txt --features x.npy --labels y.npy --random-split 60/20/20 --out sparse.weft --quiet
for form in auto whole; do
    "$weft" predict-scaling --data sparse.weft --normalize none --feature-form $form --hidden 32 --threads 1 --sockets 1 --quiet \
        --format json >$form.json
done
python3 - <<'PY' || fail "sparse features"
import json
sparse, whole = (json.load(open(name))["rows"][0]["linear_s"] for name in ("auto.json", "whole.json"))
assert 0 < sparse < whole / 5, (sparse, whole)
PY

refused() { # refused STATUS TEXT OPTION...
    local status=$1 text=$2 code=0
    shift 2
    predict "$@" >out 2>err || code=$?
    [ "$code" -eq "$status" ] && grep -qF -e "$text" err || fail "$* ends with $code: $(cat err)"
}
refused 69 "attention and maxima are not predicted" --model gat
refused 2 "knows what allreduce takes" --sync topk
refused 2 "must be between" --sockets 0
common=(--hidden 16)
refused 66 "no such graph store" --data no-such
