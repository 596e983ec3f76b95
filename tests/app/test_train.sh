#!/bin/bash
# weft train as its users meet it: the files of a run folder and what they say, what is refused, with which exit code and
# message, and that a refused job leaves nothing behind.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
data=synth:quickstart,scale=0.02
vertices=2000

# expect CODE TEXT OPTION...: weft train ends with CODE, says TEXT, prints no result and changes no file.
expect() {
    local code=$1 text=$2 got=0 before
    shift 2
    : >out
    : >err
    before=$(find . | sort)
    "$weft" train "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: weft train $*: $(cat err)"
    grep -qF -- "$text" err || fail "weft train $*: no '$text' in: $(cat err)"
    [ ! -s out ] || fail "weft train $* is refused and writes to stdout: $(cat out)"
    [ "$before" = "$(find . | sort)" ] || fail "weft train $* is refused and leaves: $(diff <(echo "$before") <(find . | sort))"
}

train() {
    "$weft" train "$@" >out 2>err || fail "weft train $*: exit $?: $(cat err)"
}

python() { python3 - "$@" || fail "${FUNCNAME[1]}, line ${BASH_LINENO[0]}: the check above"; }

"$weft" convert "$data" --out store --quiet || fail "convert $data"

# ---- the run folder ----
train --data store --runs 2 --epochs 12 --eval-every 5 --threads 2 --run-dir full
for file in run.json metrics.jsonl summary.json predictions.npy weights.npz; do
    [ -s "full/$file" ] || fail "no full/$file"
done
[ "$(ls full | wc -l)" -eq 6 ] || fail "unexpected files: $(ls full)"
python full <<'PY'
import json, math, statistics, sys
folder = sys.argv[1]
lines = [json.loads(line) for line in open(folder + "/metrics.jsonl", encoding="utf-8")]
assert [(l["run"], l["epoch"]) for l in lines] == [(r, e) for r in (1, 2) for e in range(1, 13)], "runs and epochs"
for l in lines:
    assert math.isfinite(l["loss"]) and l["loss"] > 0 and l["epoch_s"] > 0, l
    evaluated = l["epoch"] in (5, 10, 12)
    assert all((key in l) == evaluated for key in ("train", "valid", "test")), l
    assert not evaluated or all(0 <= l[key] <= 1 for key in ("train", "valid", "test")), l
summary = json.load(open(folder + "/summary.json", encoding="utf-8"))
best = [max((l for l in lines if l["run"] == r and "valid" in l), key=lambda l: (l["valid"], -l["epoch"])) for r in (1, 2)]
near = lambda a, b: abs(a - b) <= 1e-12 * max(1, abs(b))
assert summary["runs"] == 2 and summary["ranks"] == 1 and summary["threads_per_rank"] == 2, summary
assert near(summary["test_mean"], statistics.mean(l["test"] for l in best)), summary["test_mean"]
assert near(summary["test_std"], statistics.stdev(l["test"] for l in best)), summary["test_std"]
assert near(summary["valid_mean"], statistics.mean(l["valid"] for l in best)), summary["valid_mean"]
assert near(summary["epoch_s_median"], statistics.median(l["epoch_s"] for l in lines)), summary["epoch_s_median"]
assert 1 << 20 < summary["peak_rss_bytes"] < 1 << 32, summary["peak_rss_bytes"]
run = json.load(open(folder + "/run.json", encoding="utf-8"))
assert run["exit"] == 0 and run["ended"] >= run["started"], run
assert run["options"]["epochs"] == {"value": "12", "source": "command line"}, run["options"]["epochs"]
assert run["options"]["hidden"] == {"value": "64", "source": "default"}, run["options"]["hidden"]
assert run["options"]["recipe"] == {"value": "few-labels", "source": "data"}, run["options"]["recipe"]  # 1,000 of 16 classes
assert run["options"]["norm"] == {"value": "none", "source": "recipe"}, run["options"]["norm"]
assert run["options"]["normalize"] == {"value": "standard", "source": "data"}, run["options"]["normalize"]
data = run["data"]
facts = {row["key"]: row["value"] for row in data["facts"]}
assert run["schema"] == summary["schema"] == 2
assert data["kind"] == "graph" and data["rows"] == "vertices" and len(data["hash"]) == 32, data
assert facts["vertices"] == 2000 and facts["classes"] == 16 and facts["weighted"] is False, facts
assert all(set(row) == {"key", "label", "unit", "value"} for row in data["facts"]), data["facts"]
assert summary["facts"] == [], summary["facts"]  # one rank divides nothing
columns = summary["per_rank"]["columns"]
assert [c["key"] for c in columns] == ["owned_vertices", "held_vertices", "halo_vertices", "edges"], columns
assert all(len(summary["per_rank"][c["key"]]) == 1 and c["label"] for c in columns), columns
PY

# ---- what goes where ----
grep -q "weft: " out && fail "a log line on stdout"
grep -q "Final Test: " out || fail "no result on stdout"
grep -qF "run folder: full" out || fail "stdout does not say where the run folder is"
grep -q "^weft: Run: 01, Epoch: 01, Loss: " err || fail "no progress line on stderr"
grep -q $'[\033\r]' out err && fail "escape or carriage return in redirected output"

# ---- predictions and weights ----
if python3 -c 'import numpy' 2>/dev/null; then
    train --data store --epochs 40 --run-dir predict
    python predict store "$vertices" <<'PY'
import json, sys
import numpy as np
folder, store, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
answer = np.load(folder + "/predictions.npy")
assert answer.shape == (n, 1) and answer.dtype == np.int32, (answer.shape, answer.dtype)
label, split = np.load(store + "/label.npy"), np.load(store + "/split.npy").reshape(-1)
summary = json.load(open(folder + "/summary.json"))
for part, score in ((1, summary["valid_mean"]), (2, summary["test_mean"])):
    accuracy = np.mean(answer[split == part, 0] == label[split == part])
    assert abs(accuracy - score) < 1e-9, (part, accuracy, score)
assert summary["test_mean"] > 0.5, "too close to chance to tell anything: " + str(summary["test_mean"])
PY
fi
# Without dropout, ten epochs and two more from the saved weights are the first epochs of one longer run (plain SGD has no
# state); and one epoch at rate 0 scores what the last evaluation did.
plain=(--data store --recipe default --norm none --dropout 0 --optimizer sgd --threads 1)
train "${plain[@]}" --lr 0.5 --epochs 12 --run-dir long
train "${plain[@]}" --lr 0.5 --epochs 10 --eval-every 0 --run-dir ten
train "${plain[@]}" --lr 0.5 --epochs 2 --init-weights ten/weights.npz --run-dir more
train "${plain[@]}" --lr 0 --epochs 1 --init-weights ten/weights.npz --run-dir still
python <<'PY'
import json
read = lambda folder: [json.loads(line) for line in open(folder + "/metrics.jsonl")]
long, ten, more, still = read("long"), read("ten"), read("more"), read("still")
assert abs(long[0]["loss"] - long[10]["loss"]) > 1e-3 * long[0]["loss"], "nothing is learnt"
for a, b in zip(long[10:], more):
    assert abs(a["loss"] - b["loss"]) <= 1e-6 * a["loss"], (a, b)
assert [still[0][k] for k in ("train", "valid", "test")] == [ten[-1][k] for k in ("train", "valid", "test")], (still, ten)
PY
expect 66 absent.npz --data store --init-weights absent.npz --run-dir none
expect 65 ten/weights.npz --data store --hidden 24 --init-weights ten/weights.npz --run-dir none

# ---- one run a folder ----
cp -r full kept
expect 2 --force --data store --epochs 2 --run-dir full
diff -r full kept >/dev/null || fail "a refused run changed the folder of another"
expect 66 nowhere --data nowhere --run-dir full --force
diff -r full kept >/dev/null || fail "a run that never began changed the folder it was to replace"
train --data store --epochs 2 --run-dir full --force
[ "$(wc -l <full/metrics.jsonl)" -eq 2 ] || fail "--force does not begin metrics.jsonl anew"
train --data store --epochs 1
train --data store --epochs 1
[ -s weft-run-0001/summary.json ] && [ -s weft-run-0002/summary.json ] || fail "no numbered run folders: $(ls)"

# ---- a dry run ----
before=$(find . | sort)
train --data "$data" --dry-run
[ "$before" = "$(find . | sort)" ] || fail "--dry-run leaves: $(diff <(echo "$before") <(find . | sort))"
for text in "1 rank(s) on 1 node(s)" "thread(s) each" "layer 1: 64 -> 16" "rows a layer" "predicted peak" "aggregation matrix"; do
    grep -qF "$text" out || fail "--dry-run does not print '$text': $(cat out)"
done
grep -q "Epoch" err && fail "--dry-run trains"

# ---- refused: usage and resources ----
expect 2 "did you mean --hidden?" --data store --hiden 3
expect 2 "--data is missing" --run-dir none
expect 2 'did you mean "quickstart"?' --data synth:quikstart --run-dir none
expect 2 "--lr 1e30: must be between" --data store --lr 1e30 --run-dir none
expect 71 "--memory-limit" --data "$data" --memory-limit 1MiB --run-dir none
expect 71 "1.00 MiB" --data store --memory-limit 1MiB
expect 71 "--memory-limit" --data "$data" --memory-limit 1MiB --dry-run
expect 66 "nowhere: no such graph store" --data nowhere --run-dir none
touch plain
expect 74 "plain: is not a folder" --data store --run-dir plain/run
expect 74 "plain: is not a folder" --data store --run-dir plain
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod a-w locked
    expect 77 "locked/run" --data store --run-dir locked/run
fi

# ---- refused: data ----
# damaged ARRAY PYTHON: a copy of the store with the bytes `b` of one array changed.
damaged() {
    rm -rf bad
    cp -r store bad
    python3 - "bad/$1.npy" "$2" <<'PY' || fail "damage to $1"
import struct, sys
path, change = sys.argv[1:]
b = bytearray(open(path, "rb").read())
head = 10 + struct.unpack_from("<H", b, 8)[0]
exec(change)
open(path, "wb").write(b)
PY
}
damaged feature 'del b[-100:]'
expect 65 bad/feature.npy --data bad --run-dir none
damaged source 'struct.pack_into("<i", b, head + 4 * 1000, 2000)'
expect 65 "bad: graph 'quickstart': source, entry 1000 (row" --data bad --run-dir none
grep -q "vertex 2000 is outside" err || fail "not the value: $(cat err)"
damaged source 'struct.pack_into("<i", b, head + 4 * 1000, -1)'
expect 65 "bad: graph 'quickstart': source, entry 1000 (row" --data bad --run-dir none
damaged label 'struct.pack_into("<i", b, head + 4 * 7, 16)'
expect 65 "bad: graph 'quickstart': label, row 7: 16 " --data bad --run-dir none
damaged feature 'struct.pack_into("<f", b, head + 4 * 64 * 9, float("nan"))'
expect 65 "bad: graph 'quickstart': feature, row 9, column 0: nan" --data bad --run-dir none
damaged split 'b[head + 3] = 7'
expect 65 "bad: graph 'quickstart': split, row 3: 7" --data bad --run-dir none
# One bit of a feature is no error by itself: the checksum finds it.
damaged feature 'b[-1] ^= 1'
expect 65 bad/feature.npy --data bad --verify --run-dir none
rm -rf bad
cp -r store bad
rm bad/split.npy
python3 - <<'PY'
import json
with open("store/manifest.json") as file:
    manifest = json.load(file)
manifest["splits"] = 0
manifest.get("arrays", {}).pop("split", None)
with open("bad/manifest.json", "w") as file:
    json.dump(manifest, file)
PY
expect 65 "--split" --data bad --run-dir none
expect 2 "the store holds 0 to 0" --data store --split-index 4 --run-dir none

# ---- a bias in front of batch norm has no effect, and rounding does not move it: scores do not depend on threads ----
for threads in 1 2; do
    train --data store --model gcn --norm batch --optimizer adam --epochs 6 --eval-every 1 --threads $threads --run-dir normed-$threads
done
python <<'PY'
import json
import numpy as np

one, two = ([json.loads(line) for line in open(f"normed-{threads}/metrics.jsonl")] for threads in (1, 2))
scores = [[[line[split] for split in ("train", "valid", "test")] for line in run] for run in (one, two)]
assert np.abs(np.array(scores[0]) - np.array(scores[1])).max() <= 1.5 / 400, scores
weights = np.load("normed-2/weights.npz")
assert not weights["layer0.bias"].any() and weights["layer1.bias"].any(), weights["layer0.bias"]
PY

# ---- divergence ----
code=0
"$weft" train --data store --norm none --optimizer sgd --lr 1e6 --epochs 50 --run-dir wild >out 2>err || code=$?
[ "$code" -eq 76 ] || fail "a diverging run ends with $code: $(cat err)"
grep -qF -- "lower --lr" err || fail "no cure for divergence: $(cat err)"
python wild <<'PY'
import json, os, sys
folder = sys.argv[1]
assert json.load(open(folder + "/run.json"))["exit"] == 76
assert not os.path.exists(folder + "/summary.json")
assert all(json.loads(line)["epoch"] for line in open(folder + "/metrics.jsonl"))
PY
code=0 # by the last update: its gradients were finite, what comes out of the network is not
"$weft" train --data store --norm none --layers 6 --model gin --lr 1e6 --epochs 1 --run-dir last --threads 1 >out 2>err || code=$?
[ "$code" -eq 76 ] && [ ! -e last/summary.json ] || fail "a network that its last update broke ends with $code: $(cat err)"
grep -q "outputs in evaluation are not finite" err || fail "another end: $(cat err)"
train --data store --epochs 1 --run-dir full --force
code=0
"$weft" train --data store --norm none --optimizer sgd --lr 1e6 --epochs 50 --run-dir full --force >out 2>err || code=$?
[ "$code" -eq 76 ] && [ ! -e full/summary.json ] || fail "a replaced run's summary.json beside a diverged one's run.json"
# ---- precision: bf16 is half of features and messages, near float32, resumed to the bit, and evaluated in either ----
halves=(--data store --threads 1 --pin off --seed 2 --spmm rows --checkpoint-every 0 --quiet)
train "${halves[@]}" --epochs 12 --run-dir wide
train "${halves[@]}" --epochs 12 --precision bf16 --run-dir narrow
if grep -qF "f32 is used" err; then
    echo "no products of bf16 on this processor: bf16 is not tested"
else
    code=0
    "$weft" train "${halves[@]}" --epochs 12 --precision bf16 --max-hours 1e-9 --run-dir cut >out 2>err || code=$?
    [ "$code" -eq 75 ] || fail "a job without time ends with $code: $(cat err)"
    train "${halves[@]}" --epochs 12 --precision bf16 --resume --run-dir cut
    for precision in f32 bf16; do
        train "${halves[@]}" --precision $precision --dry-run
        mv out plan-$precision
        "$weft" eval --data store --checkpoint narrow --precision $precision --threads 1 --pin off --quiet --format json \
            >eval-$precision 2>err || fail "eval --precision $precision: $(cat err)"
    done
    python <<'PY'
import json, re
def losses(folder):
    return [json.loads(line)["loss"] for line in open(folder + "/metrics.jsonl")]
def planned(precision, row):
    return float(re.search(rf"^ +{row} +([0-9.]+) MB", open("plan-" + precision).read(), re.M).group(1))
wide, narrow = losses("wide"), losses("narrow")
assert wide != narrow
assert max(abs(a - b) / a for a, b in zip(wide, narrow)) < 2e-2, list(zip(wide, narrow))
assert losses("cut") == narrow, (losses("cut"), narrow)
for row, most in (("features", 0.5), ("activations", 0.75)):
    assert planned("bf16", row) <= most * planned("f32", row) + 0.1, row
scores = [json.load(open("eval-" + precision))["test"]["score"] for precision in ("f32", "bf16")]
assert abs(scores[0] - scores[1]) < 0.02, scores
assert json.load(open("narrow/run.json"))["options"]["precision"]["value"] == "bf16"
PY
fi
# ---- rows of fixed point: refused beside what they do not go with, near float32, told, and resumed to the bit ----
fixed=(--data store --threads 1 --pin off --seed 2 --checkpoint-every 0 --feature-rows i16)
expect 2 "a form of its own: leave out --spmm rows" "${fixed[@]}" --spmm rows --run-dir none
expect 2 "take --feature-rows i16, which brings it" --data store --spmm i16 --run-dir none
expect 2 "--model gat does not have" "${fixed[@]}" --model gat --run-dir none
expect 2 "auto with --aggregator max does not have" "${fixed[@]}" --aggregator max --run-dir none
expect 2 "leave out --precision bf16" "${fixed[@]}" --precision bf16 --run-dir none
expect 2 "take one or the other" "${fixed[@]}" --delay 2 --run-dir none
expect 2 "take one or the other" "${fixed[@]}" --no-halo --run-dir none
train "${fixed[@]}" --epochs 12 --run-dir fixed
grep -qF "rows of 16-bit fixed point with a scale a column" err || fail "--feature-rows i16 is not told: $(cat err)"
code=0
"$weft" train "${fixed[@]}" --epochs 12 --max-hours 1e-9 --run-dir fixed-cut >out 2>err || code=$?
[ "$code" -eq 75 ] || fail "a job without time ends with $code: $(cat err)"
train "${fixed[@]}" --epochs 12 --resume --run-dir fixed-cut
python3 - <<'PY' || fail "rows of fixed point"
import json
losses = {name: [json.loads(line)["loss"] for line in open(name + "/metrics.jsonl")] for name in ("wide", "fixed", "fixed-cut")}
assert losses["fixed"] == losses["fixed-cut"] != losses["wide"], losses
assert all(abs(a - b) < 2e-3 * b for a, b in zip(losses["fixed"], losses["wide"])), losses
assert json.load(open("fixed/run.json"))["options"]["feature-rows"]["value"] == "i16"
PY
if grep -qF "of the features" err; then fail "a column of narrow range is warned of: $(cat err)"; fi
cp -r store far
python3 - <<'PY' || fail "a column of wide range"
import struct
with open("far/feature.npy", "r+b") as f: # one number of the first column, behind the head of the array
    head = f.read(10)
    f.seek(10 + struct.unpack("<H", head[8:10])[0])
    f.write(struct.pack("<f", 3e4))
PY
train --data far --normalize none --feature-rows i16 --epochs 1 --run-dir far-run
grep -qF "column 0 of the features: --feature-rows i16 changes" err || fail "a column of wide range is not told: $(cat err)"
echo "files, refusals and voices as expected"
