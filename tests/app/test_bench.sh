#!/bin/bash
# weft bench spmm end to end: every form valid, the three output formats, usage errors.
# timeout: 120
set -u
weft=$1
export OMP_WAIT_POLICY=passive
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder
data=synth:community,n=3000,e=60000,classes=8

"$weft" bench spmm --data $data --dims 1,16,41 --repeats 2 --forms all --reorder none --format json >"$folder/out.json" ||
    fail "bench exits with $?"
python3 - "$folder/out.json" <<'CHECK' || fail "JSON"
import json, sys
table = json.load(open(sys.argv[1]))
rows = table["rows"]
assert [(r["form"], r["d"]) for r in rows] == [(f, d) for f in ("rows", "blocks", "lists") for d in (1, 16, 41)], rows
for r in rows:
    assert r["valid"] is True and r["order"] == "given" and r["n"] == 2
    assert r["seconds_q1"] <= r["seconds_median"] <= r["seconds_q3"]
    rate = table["edges"] * r["d"] / r["seconds_median"] * 1e-9
    assert abs(r["gelem_per_s"] - rate) <= 1e-9 * rate
CHECK

lines=$("$weft" bench spmm --data $data --dims 8 --repeats 1 --reorder cluster --format csv | tee "$folder/out.csv" | wc -l)
[ "$lines" -eq 4 ] || fail "CSV has $lines lines instead of a header, given, cluster and cluster+move"
[ "$(grep -c ',true$' "$folder/out.csv")" -eq 3 ] || fail "CSV rows are not all valid"
"$weft" bench spmm --data $data --dims 8 --repeats 1 --backend ref --format md | grep -q '| VALID |' || fail "Markdown, backend ref"
leftover=$(find "$folder" -name 'weft-bench-*')
[ -z "$leftover" ] || fail "left behind: $leftover"

"$weft" bench fft --data $data 2>"$folder/err"
[ $? -eq 2 ] && grep -q spmm "$folder/err" || fail "unknown kernel"
"$weft" bench spmm --data $data --forms rows,colums 2>"$folder/err"
[ $? -eq 2 ] && grep -q blocks "$folder/err" || fail "unknown form"
"$weft" bench spmm 2>"$folder/err"
[ $? -eq 2 ] && grep -q synth "$folder/err" || fail "missing data"
exit $failed
