#!/bin/bash
# weft eval: the scores of a training from its run folder, checkpoints, weights.npz and .safetensors; what contradicts a
# model is refused with both values; and training from a .safetensors file.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder

run() { "$weft" "$@" --threads 1 >out 2>err || fail "weft $*: exit $?: $(cat err)"; }
refuse() {
    local code=$1 text=$2 got=0
    shift 2
    "$weft" "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: weft $*: $(cat err)"
    grep -qF -- "$text" err || fail "weft $*: no '$text' in: $(cat err)"
    [ ! -s out ] || fail "weft $* is refused and writes to stdout: $(cat out)"
}
run convert synth:quickstart,scale=0.01 --out store
run train --data store --model gcn --norm batch --hidden 24 --epochs 12 --lr 0.1 --checkpoint-every 8 --run-dir gcn
run export gcn --out gcn.safetensors

# scores FILE EPOCH: the JSON scores are those of this epoch of the training, to the last bit; best: of the best one.
scores() {
    python3 - "$1" "$2" <<'PY' || fail "$1: not the scores of epoch $2"
import json, sys
lines = [json.loads(line) for line in open("gcn/metrics.jsonl")]
best = max(lines, key=lambda l: (l["valid"], -l["epoch"]))
line = best if sys.argv[2] == "best" else lines[int(sys.argv[2]) - 1]
told = json.load(open(sys.argv[1]))
assert told["metric"] == "acc" and told["graph"] == "quickstart", told
assert [told[s]["score"] for s in ("train", "valid", "test")] == [line[s] for s in ("train", "valid", "test")], (told, line)
assert told["split"] == "test" and told["micro"]["recall"] == line["test"], told["micro"]
PY
}
for model in gcn gcn/weights.npz gcn.safetensors; do
    run eval --data store --checkpoint "$model" --format json
    scores out best
    grep -q "from ${model%/weights.npz}" err || fail "the log does not say where the model is from: $(cat err)"
done
run eval --data store --checkpoint gcn/ckpt/epoch-00000008 --format json
scores out 8
run eval --data store --checkpoint gcn/ckpt --format json
scores out 12
cp -r gcn unfinished
rm unfinished/weights.npz
run eval --data store --checkpoint unfinished --format json
scores out best
grep -q "best.npz" err || fail "an unfinished run is not scored by its checkpoint: $(cat err)"
run eval --data synth:quickstart,scale=0.01 --checkpoint gcn --format json
scores out best
[ "$(ls)" = "$(printf '%s\n' err gcn gcn.safetensors out store unfinished)" ] || fail "weft eval leaves: $(ls)"

# ---- the same figures in every format, of the chosen vertices ----
for split in valid labelled; do
    for format in md csv json; do
        run eval --data store --checkpoint gcn --split "$split" --format "$format"
        mv out "out.$format"
    done
    python3 - "$split" <<'PY' || fail "the formats of --split $split differ"
import csv, json, re, sys
split = sys.argv[1]
told = json.load(open("out.json"))
assert told["split"] == split
rows = [(r["name"], int(r["vertices"]), float(r["precision"]), float(r["recall"]), float(r["f1"]))
        for r in csv.DictReader(open("out.csv")) if r["kind"] != "split"]
listed = [(str(c["class"]), c) for c in told["classes"]] + [(k, told[k]) for k in ("macro", "micro")]
assert len(rows) == len(listed) == 18
lines = re.findall(r"^\| (\w+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", open("out.md").read(), re.M)
assert len(lines) == 18 and f"class ({split})" in open("out.md").read()
for row, (name, c), line in zip(rows, listed, lines):
    assert row[0] == name == line[0] and row[1] == c["support"] == int(line[1])
    for a, b, l in zip(row[2:], (c["precision"], c["recall"], c["f1"]), line[2:]):
        assert abs(a - b) <= 5.1e-7 and abs(float(l) - b) <= 5.1e-5, (row, c, line)
total = {s: told[s]["vertices"] for s in ("train", "valid", "test")}
assert told["micro"]["support"] == (sum(total.values()) if split == "labelled" else total[split]), total
PY
done

# ---- what contradicts the model ----
refuse 2 "--hidden 32 (command line): gcn/weights.npz was made with hidden 24" eval --data store --checkpoint gcn --hidden 32
refuse 2 "--model sage (command line): gcn.safetensors was made with model gcn" \
    eval --data store --checkpoint gcn.safetensors --model sage
refuse 2 "--normalize row" eval --data store --checkpoint gcn --normalize row
run eval --data store --checkpoint gcn --hidden 24 --model gcn
export WEFT_HIDDEN=32
refuse 2 "--hidden 32 (environment)" eval --data store --checkpoint gcn
unset WEFT_HIDDEN
refuse 2 "--checkpoint is missing" eval --data store
refuse 2 "--data is missing" eval --checkpoint gcn
refuse 66 nowhere eval --data store --checkpoint nowhere
refuse 65 "made for 64 features" eval --data synth:quickstart,scale=0.01,f=32 --checkpoint gcn
refuse 65 "answers with 16 classes" eval --data synth:quickstart,scale=0.01,classes=20,communities=20 --checkpoint gcn
run eval --data synth:quickstart,scale=0.01,classes=7,communities=7 --checkpoint gcn
grep -q "7 classes, taken by number for the first of the model's 16" err || fail "fewer classes than the model's: $(cat err)"
grep -q "^| 15 | 0 |" out || fail "fewer classes than the model's: $(cat out)"
cp -r gcn lying
sed -i 's/"24"/"25"/; s/"value": 24/"value": 25/' lying/run.json
grep -q 25 lying/run.json || fail "the test no longer changes run.json"
refuse 65 "description says 25" eval --data store --checkpoint lying
head -c 2000 gcn.safetensors >cut.safetensors
refuse 65 cut.safetensors eval --data store --checkpoint cut.safetensors

# ---- weights that nothing describes ----
mkdir alone
cp gcn/weights.npz alone/w.npz
refuse 65 "say --model" eval --data store --checkpoint alone/w.npz
refuse 65 "say --model" export alone/w.npz --out alone/w.safetensors
run eval --data store --checkpoint alone/w.npz --model gcn --format json # its means and deviations tell the scaling
grep -q "warning" err && fail "a warning about features that the weights tell: $(cat err)"
scores out best
python3 - <<'PY'
import json, struct
data = open("gcn.safetensors", "rb").read()
length, = struct.unpack_from("<Q", data)
header = json.loads(data[8:8 + length])
del header["__metadata__"]
text = json.dumps(header).encode()
open("foreign.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length:])
PY
run eval --data store --checkpoint foreign.safetensors --normalize standard --format json
grep -q "does not say by which means and deviations" err || fail "no warning about means: $(cat err)"
scores out best
run eval --data store --checkpoint foreign.safetensors --format json
grep -q "does not tell how features were scaled" err || fail "no warning about features: $(cat err)"

"$weft" info gcn.safetensors >out 2>err || fail "weft info gcn.safetensors: $(cat err)"
for line in "kind: safetensors, 8 tensors" "model: gcn, 2 layers, 64 -> 24 -> 16, norm batch" "weft.hidden: 24" \
    "convs.0.lin.weight: F32 [24, 64]" "norms.0.module.running_var: F32 [24]"; do
    grep -qxF "$line" out || fail "weft info: no '$line' in: $(cat out)"
done
refuse 65 cut.safetensors info cut.safetensors
"$weft" info gcn/weights.npz >out 2>err || fail "weft info gcn/weights.npz: $(cat err)"
for line in "run: gcn, which weft info gcn describes" "layer0.weight: [64, 24]" "norm0.gamma: [1, 24]"; do
    grep -qxF "$line" out || fail "weft info of weights: no '$line' in: $(cat out)"
done
grep -qE "^kind: weights of a model, [0-9]+ arrays$" out || fail "weft info of weights: $(cat out)"
(cd gcn && "$weft" info weights.npz) | grep -qx "run: ., which weft info . describes" || fail "weft info in the run folder"

# ---- the split of the training is taken, another where it is asked for, or where the data have no such ----
python3 - <<'PY'
import re
raw = open("store/label.npy", "rb").read()
n = int(re.search(rb"'shape': \((\d+),", raw).group(1))
text = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, %d), }" % n
text += " " * (-(len(text) + 11) % 64) + "\n"
rows = bytes(v * 5 % 3 for v in range(n)) + bytes((v * 7 + v // 3) % 3 for v in range(n))
open("two.npy", "wb").write(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + rows)
open("ring.txt", "w").write("".join("%d %d\n" % (v, (v + 1) % n) for v in range(n)))
PY
files=(--features store/feature.npy --labels store/label.npy)
run convert ring.txt "${files[@]}" --splits two.npy --out twofold
run convert ring.txt "${files[@]}" --random-split 60/20/20 --out onefold
run train --data twofold --split-index 1 --hidden 8 --epochs 3 --run-dir second
run export second --out second.safetensors
for model in second second/ckpt second.safetensors; do
    run eval --data twofold --checkpoint $model --format json
    python3 - $model <<'PY' || fail "$model is not scored on its split"
import json, sys
lines = [json.loads(line) for line in open("second/metrics.jsonl")]
line = lines[-1] if sys.argv[1].endswith("ckpt") else max(lines, key=lambda l: (l["valid"], -l["epoch"]))
told = json.load(open("out"))
assert [told[s]["score"] for s in ("train", "valid", "test")] == [line[s] for s in ("train", "valid", "test")], (told, line)
PY
    grep -q "split 1, which the model was trained on" err || fail "nothing is said of the split: $(cat err)"
done
mv out as-trained
run eval --data twofold --checkpoint second --split-index 0 --format json
grep -q "trained on" err && fail "a split is asked for, and another told: $(cat err)"
cmp -s out as-trained && fail "--split-index 0 is not taken"
run eval --data onefold --checkpoint second
grep -q "was trained on split 1, which onefold does not have: split 0 is taken" err || fail "another graph: $(cat err)"
refuse 2 "the store holds 0 to 0" eval --data onefold --checkpoint second --split-index 1

# ---- training from a .safetensors file is training from the weights themselves ----
options=(--data store --model gcn --norm batch --hidden 24 --epochs 2)
run train "${options[@]}" --init-weights gcn/weights.npz --run-dir from-npz
run train "${options[@]}" --init-weights gcn.safetensors --run-dir from-file
run train "${options[@]}" --init-weights gcn --run-dir from-run
losses() { sed 's/.*"loss": \([^,]*\),.*/\1/' "$1/metrics.jsonl"; }
[ "$(losses from-npz | wc -l)" -eq 2 ] && [ "$(losses from-npz)" = "$(losses from-file)" ] &&
    [ "$(losses from-npz)" = "$(losses from-run)" ] || fail "other losses: $(losses from-npz) $(losses from-file)"
refuse 65 "is not --model sage" train --data store --aggregator gcn --norm batch --hidden 24 --init-weights gcn.safetensors
echo "scores as in training, from every form of a model"
