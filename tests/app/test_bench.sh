#!/bin/bash
# weft bench spmm, gemm and dense end to end: every form valid, the three output formats, usage errors.
# trees: release
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
assert [(r["form"], r["d"]) for r in rows] == [(f, d) for f in ("rows", "blocks", "lists", "tiles", "shared", "i16") for d in (1, 16, 41)], rows
for r in rows:
    assert r["valid"] is True and r["order"] == "given" and r["n"] == 2
    assert r["seconds_q1"] <= r["seconds_median"] <= r["seconds_q3"]
    rate = r["edges"] * r["d"] / r["seconds_median"] * 1e-9
    assert abs(r["gelem_per_s"] - rate) <= 1e-9 * rate
    if r["form"] in ("rows", "blocks", "lists", "i16") and r["bound"] == "near":  # 2 bytes a number of i16
        read = r["edges"] * r["d"] * (2 if r["form"] == "i16" else 4)
        assert abs(r["limit_seconds"] * r["near_bytes_per_s"] - read) <= 1e-6 * read, r
for d in 1, 16, 41:  # each over the least of those before it and itself
    seconds = [r["seconds_median"] for r in rows if r["d"] == d]
    of_best = [r["of_best"] for r in rows if r["d"] == d]
    assert of_best == [s / min(seconds[:i + 1]) for i, s in enumerate(seconds)], (seconds, of_best)
CHECK

lines=$("$weft" bench spmm --data $data --dims 8 --repeats 1 --reorder cluster --format csv | tee "$folder/out.csv" | wc -l)
[ "$lines" -eq 4 ] || fail "CSV has $lines lines instead of a header, given, cluster and cluster+move"
[ "$(grep -c ',true$' "$folder/out.csv")" -eq 3 ] || fail "CSV rows are not all valid"
"$weft" bench spmm --data $data --dims 8 --repeats 1 --backend ref --format md | grep -q '| VALID |' || fail "Markdown, backend ref"

# ---- lists are a matrix: graphs (a generated one with commas inside), threads, forms, widths ----
export XDG_CACHE_HOME=$folder/cache
"$weft" convert synth:quickstart,scale=0.02 --out "$folder/store" --quiet || fail "convert"
"$weft" bench spmm --quiet --data "$folder/store,$data" --thread-counts 1,2 --forms rows,lists --dims 4,8 --repeats 3 \
    --reorder none --format json >"$folder/out.json" || fail "matrix: $?"
python3 - "$folder/out.json" <<'CHECK' || fail "matrix"
import json, sys
table = json.load(open(sys.argv[1]))
rows = table["rows"]
assert table["bench"] == "spmm" and table["repeats"] == 3 and table["warmup"] == 1
assert [(r["graph"], r["threads"], r["form"], r["d"]) for r in rows] == [
    (g, t, f, d) for g in ("quickstart", "community") for t in (1, 2) for f in ("rows", "lists") for d in (4, 8)], rows
for r in rows:
    assert r["valid"] is True and 0 <= r["error"] <= 1 and r["n"] == 3
    share = 100 * r["bytes_model"] / r["seconds_median"] / r["triad_bytes_per_s"]
    assert abs(r["percent_of_triad"] - share) <= 1e-6 * share and r["percent_of_gemm"] > 0
CHECK
"$weft" bench gemm --quiet --rows 1000,7 --inputs 0,33 --dims 5,64 --thread-counts 2 --repeats 2 --format json >"$folder/out.json" ||
    fail "gemm: $?"
python3 - "$folder/out.json" <<'CHECK' || fail "gemm"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [(r["rows"], r["inputs"], r["d"], r["product"]) for r in rows] == [
    (m, k or d, d, p) for m in (1000, 7) for k in (0, 33) for d in (5, 64) for p in ("ab", "atb", "abt")], rows
for r in rows:
    assert r["valid"] is True and r["threads"] == 2 and 0 < r["error"] <= 1
    flops = 2 * r["rows"] * r["inputs"] * r["d"] / r["seconds_median"]
    assert abs(r["gflop_per_s"] * 1e9 - flops) <= 1e-6 * flops
    assert abs(r["percent_of_gemm"] - 100 * flops / r["gemm_flop_per_s"]) <= 1e-6 * r["percent_of_gemm"]
CHECK
"$weft" bench gemm --quiet --rows 100 --dims 8 --repeats 1 --backend ref >"$folder/out.md" && grep -c '| VALID |' "$folder/out.md" |
    grep -qx 3 || fail "gemm, backend ref"

# ---- layers of a network: operations counted by hand, alike ones once; the whole step below ----
printf 'input 6 5 3\nconv 4 3 pad=1\nrelu\nconv 4 3 pad=1\nrelu\nconv 4 3 pad=1\nrelu\nlinear 8\nlinear classes\n' >"$folder/t.net"
"$weft" bench dense --quiet --model "$folder/t.net" --batch-size 7 --thread-counts 1,2 --repeats 2 --format json >"$folder/out.json" ||
    fail "dense: $?"
python3 - "$folder/out.json" <<'CHECK' || fail "dense"
import json, sys
table = json.load(open(sys.argv[1]))
rows = table["rows"]
assert table["bench"] == "dense" and table["batch"] == 7 and table["precision"] == "f32", table
pixels = 7 * 6 * 5
flops = {"conv1": 2 * pixels * 4 * 27, "conv2": 2 * pixels * 4 * 36, "linear1": 2 * 7 * 8 * 120, "linear2": 2 * 7 * 10 * 8}
layers = {"conv1": 1, "conv2": 2, "linear1": 1, "linear2": 1}
wanted = [(t, *row) for t in (1, 2) for row in [("conv1", "forward"), ("conv1", "weights")] +
          [(l, p) for l in ("conv2", "linear1", "linear2") for p in ("forward", "data", "weights")] + [("t", "step")]]
assert [(r["threads"], r["layer"], r["pass"]) for r in rows] == wanted, rows
for r in rows:
    assert r["valid"] is True and r["n"] >= 2
    assert abs(r["gflop"] / r["seconds_median"] - r["gflop_per_s"]) <= 1e-6 * r["gflop_per_s"]
    assert abs(r["percent_of_peak"] - 100 * r["gflop_per_s"] / r["peak_gflop_per_s"]) <= 1e-6 * r["percent_of_peak"]
    if r["pass"] != "step":
        assert abs(r["gflop"] * 1e9 - flops[r["layer"]]) < 0.5 and r["layers"] == layers[r["layer"]], r
        assert 0 <= r["error"] <= 1 and r["percent_of_peak"] <= 100.001
for t in (1, 2):  # the step's peak: every layer at its own, and nothing between them
    own = [r for r in rows if r["threads"] == t and r["pass"] != "step"]
    step = next(r for r in rows if r["threads"] == t and r["pass"] == "step")
    total = sum(r["layers"] * r["gflop"] for r in own)
    least = sum(r["layers"] * r["gflop"] / r["peak_gflop_per_s"] for r in own)
    assert step["layers"] == 5 and step["shape"] == "" and abs(step["gflop"] - total) <= 1e-9 * total
    assert abs(step["peak_gflop_per_s"] - total / least) <= 1e-6 * step["peak_gflop_per_s"]
CHECK
"$weft" bench dense --quiet --model lenet --batch-size 2 --repeats 1 --precision bf16 --backend cpu:avx2 2>"$folder/err"
[ $? -ne 0 ] && grep -q "no products of bf16" "$folder/err" || fail "dense, bf16 without its instructions"
"$weft" bench dense --quiet --repeats 1 2>"$folder/err"
[ $? -eq 2 ] && grep -q -- "--model resnet-50" "$folder/err" || fail "dense without a network"
"$weft" bench spmm --quiet --data "$folder/store,," --dims 4 2>"$folder/err"
[ $? -eq 2 ] && grep -q "empty name" "$folder/err" || fail "an empty graph in the list"
leftover=$(find "$folder" -name 'weft-bench-*')
[ -z "$leftover" ] || fail "left behind: $leftover"

"$weft" bench fft --data $data 2>"$folder/err"
[ $? -eq 2 ] && grep -q spmm "$folder/err" || fail "unknown kernel"
"$weft" bench spmm --data $data --forms rows,colums 2>"$folder/err"
[ $? -eq 2 ] && grep -q blocks "$folder/err" || fail "unknown form"
"$weft" bench spmm 2>"$folder/err"
[ $? -eq 2 ] && grep -q synth "$folder/err" || fail "missing data"
exit $failed
