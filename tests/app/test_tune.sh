#!/bin/bash
# weft tune: a table that is made here, in every format, the same figures for any number of threads, and refusals.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# 36 cells of 3 seeds: the best is lr 0.01, layers 3, norm batch; the noise is far below the steps between cells.
python3 - <<'PYTHON' || fail "the table could not be made"
import io, json, math, struct, zipfile
space = {"lr": [0.001, 0.01, 0.1], "layers": [1, 2, 3, 4], "norm": ["none", "batch", "layer"]}
values = [-abs(a - 1) - 0.5 * abs(b - 2) - 0.25 * abs(c - 1) + 0.01 * s for a in range(3) for b in range(4) for c in range(3) for s in range(3)]
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 3, 3), }".ljust(117) + "\n"
npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)
for name in ("one", "two"):
    with zipfile.ZipFile(f"{name}.npz", "w") as archive:
        archive.writestr("val.npy", npy)
json.dump({name: {"direction": "maximize", "space": space} for name in ("one", "two")}, open("spaces.json", "w"))
PYTHON

"$weft" tune --table . --trials 40 --seeds 4 --format json >out.json 2>err || fail "$(cat err)"
python3 - <<'PYTHON' || fail "the figures: $(cat out.json)"
import json
rows = json.load(open("out.json"))["searches"]
assert [row["table"] for row in rows] == ["one", "two", "mean"]
assert rows[0]["cells"] == 36 and rows[0]["trials"] == 40 and rows[0]["searches"] == 4
assert rows[0]["regret"] == 0, "40 trials of 36 cells without doubt find the best"
assert rows[0]["regret"] == rows[1]["regret"] and 0 < rows[0]["random_regret"] < 1
PYTHON

# Figures without the time, which differs.
figures() {
    "$weft" tune --format csv "$@" 2>err | cut -d, -f1-8 || fail "$(cat err)"
}
for searcher in auto grid random sobol tpe gp; do
    one=$(OMP_NUM_THREADS=1 figures --table one.npz,two.npz --searcher $searcher --trials 12 --seeds 3)
    three=$(OMP_NUM_THREADS=3 figures --table one.npz,two.npz --searcher $searcher --trials 12 --seeds 3)
    [ -n "$one" ] && [ "$one" = "$three" ] || fail "$searcher: $one; with three threads: $three"
done
figures --table one.npz --searcher grid --trials 100 --repeat-share 0 | grep -q '^one,36,36,0,20,0,' || fail "a grid of 36 cells"

refused 2 "name tables by --table" "$weft" tune --trials 5
refused 66 "three.npz" "$weft" tune --table one.npz,three.npz
refused 2 "table 2 has 0 bytes" "$weft" tune --table one.npz,
refused 2 "searcher" "$weft" tune --table one.npz --searcher best
echo '{}' >spaces.json
refused 65 'no "space" of a table "one"' "$weft" tune --table one.npz
refused 65 "names no table" "$weft" tune --table .
echo "weft tune: all figures"
