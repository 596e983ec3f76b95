#!/bin/bash
# weft predict and weft export: the answers of a training from every form of its model, on 1, 2 and 3 ranks; the forward
# pass, the table and the confusion matrix recomputed in NumPy from the exported weights alone.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
work_folder

weft() { "$weft" "$@" --quiet >out 2>err || fail "weft $*: exit $?: $(cat err)"; }
refuse() {
    local code=$1 text=$2 got=0
    shift 2
    "$weft" "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: weft $*: $(cat err)"
    grep -qF -- "$text" err || fail "weft $*: no '$text' in: $(cat err)"
}
weft convert synth:quickstart,scale=0.01 --out store

# An independent forward pass, and the figures from its predictions.
cat >check.py <<'PY'
import csv, json, struct, sys
import numpy as np

def tensors(path):
    data = open(path, "rb").read()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    meta = header.pop("__metadata__")
    assert all(t["dtype"] == "F32" for t in header.values()), header
    return meta, {name: np.frombuffer(data, "<f4", int(np.prod(t["shape"])), 8 + length + t["data_offsets"][0])
                  .reshape(t["shape"]).astype(np.float64) for name, t in header.items()}

def forward(meta, w, store):
    offset, source = np.load(store + "/offset.npy"), np.load(store + "/source.npy")
    x = np.load(store + "/feature.npy").astype(np.float64)
    n = len(x)
    a = np.zeros((n, n))
    a[np.repeat(np.arange(n), np.diff(offset)), source] = 1
    degree = a.sum(1, keepdims=True)
    if meta["weft.model"] == "gin":
        a = a + np.eye(n)
    elif meta["weft.model"] in ("gcn", "sgc"):
        scale = 1 / np.sqrt(degree + 1)
        a = scale * (a + np.eye(n)) * scale.T
    elif meta["weft.aggregator"] == "gcn":
        a = (a + np.eye(n)) / (degree + 1)
    else:
        a = a / np.maximum(degree, 1)
    if meta["weft.normalize"] == "standard":
        x = (x - x.mean(0)) / x.std(0)
    layers = int(meta["weft.layers"])
    if meta["weft.model"] == "sgc":
        return np.linalg.matrix_power(a, layers) @ x @ w["lin.weight"].T + w["lin.bias"]
    normed = lambda x, p: ((x - w[p + "running_mean"]) / np.sqrt(w[p + "running_var"] + 1e-5) * w[p + "weight"] + w[p + "bias"])
    results = []
    for l in range(layers):
        if meta["weft.model"] == "mlp":
            x = x @ w[f"lins.{l}.weight"].T + w[f"lins.{l}.bias"]
        elif meta["weft.model"] == "gcn":
            x = a @ x @ w[f"convs.{l}.lin.weight"].T + w[f"convs.{l}.bias"]
        elif meta["weft.model"] == "gin":
            eps, = w[f"convs.{l}.eps"]
            assert (eps != 0) == (meta["weft.gin-eps"] == "learned"), (eps, meta)
            p = f"convs.{l}.nn."
            x = np.maximum(normed((a @ x + eps * x) @ w[p + "lins.0.weight"].T + w[p + "lins.0.bias"], p + "norms.0.module."), 0)
            x = x @ w[p + "lins.1.weight"].T + w[p + "lins.1.bias"]
        else:
            root = x @ w[f"convs.{l}.lin_r.weight"].T if meta["weft.aggregator"] == "mean" else 0
            x = a @ x @ w[f"convs.{l}.lin_l.weight"].T + w[f"convs.{l}.lin_l.bias"] + root
        if l < layers - 1 or "lin.weight" in w:
            if meta["weft.norm"] == "batch":
                x = normed(x, f"norms.{l}.module.")
            elif meta["weft.norm"] == "layer":
                x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
                x = x * w[f"norms.{l}.weight"] + w[f"norms.{l}.bias"]
            x = np.maximum(x, 0)
            results.append(x)
    if "lin.weight" in w:
        x = np.max(results, 0) if meta["weft.jumping"] == "max" else np.concatenate(results, 1)
        x = x @ w["lin.weight"].T + w["lin.bias"]
    return x

def check_figures(folder, store, answer, classes):
    label, split = np.load(store + "/label.npy"), np.load(store + "/split.npy").reshape(-1)
    scores = json.load(open(folder + "/scores.json"))
    for part, name in enumerate(("train", "valid", "test")):
        chosen = (split == part) & (label >= 0)
        assert scores[name]["vertices"] == chosen.sum(), (name, scores[name])
        assert abs(scores[name]["score"] - np.mean(answer[chosen] == label[chosen])) < 1e-12, (name, scores[name])
    chosen = (split == 2) & (label >= 0)
    matrix = np.zeros((classes, classes), int)
    np.add.at(matrix, (label[chosen], answer[chosen]), 1)
    rows = list(csv.reader(open(folder + "/confusion.csv")))
    assert rows[0] == ["label"] + [str(c) for c in range(classes)] and [r[0] for r in rows[1:]] == rows[0][1:], rows[0]
    assert (np.array([r[1:] for r in rows[1:]], int) == matrix).all(), "confusion matrix"
    hits, support, predicted = matrix.diagonal(), matrix.sum(1), matrix.sum(0)
    safe = lambda a, b: np.where(b > 0, a / np.maximum(b, 1), 0.0)
    table = {"support": support, "precision": safe(hits, predicted), "recall": safe(hits, support),
             "f1": safe(2 * hits, predicted + support)}
    present = support + predicted > 0
    for key, column in table.items():
        told = np.array([row[key] for row in scores["classes"]])
        assert np.allclose(told, column, atol=1e-12), (key, told, column)
        if key != "support":
            assert abs(scores["macro"][key] - column[present].mean()) < 1e-12, key
            assert abs(scores["micro"][key] - hits.sum() / support.sum()) < 1e-12, key

def main(model, folder, store):
    meta, w = tensors(model)
    logits = forward(meta, w, store)
    n, classes = logits.shape
    answer, p = np.load(folder + "/predictions.npy"), np.load(folder + "/probabilities.npy")
    assert answer.shape == (n, 1) and answer.dtype == np.int32 and p.shape == (n, classes) and p.dtype == np.float32
    expected = np.exp(logits - logits.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    assert np.abs(p - expected).max() < 1e-5, np.abs(p - expected).max()
    assert np.abs(p.sum(1) - 1).max() < 1e-6
    top = np.sort(logits, 1)
    clear = top[:, -1] - top[:, -2] > 1e-4
    assert clear.mean() > 0.99 and (answer[clear, 0] == logits.argmax(1)[clear]).all(), "predictions"
    check_figures(folder, store, answer[:, 0], classes)

main(*sys.argv[1:])
PY

number=0
while read -r options; do
    number=$((number + 1))
    run=run$number
    # shellcheck disable=SC2086
    weft train --data store --epochs 8 --lr 0.05 $options --threads 1 --run-dir "$run"
    weft export "$run" --out "$run.safetensors"
    weft predict --data store --checkpoint "$run" --threads 1 --out "$run-folder"
    cmp "$run/predictions.npy" "$run-folder/predictions.npy" || fail "$options: not the predictions of the training"
    python3 check.py "$run.safetensors" "$run-folder" store || fail "$options: NumPy computes something else"
    weft predict --data store --checkpoint "$run.safetensors" --threads 1 --out "$run-file"
    diff -r -x scores.json "$run-folder" "$run-file" || fail "$options: another answer from the safetensors file"
done <<'EOF'
--model sage --layers 2 --order linear-first
--model sage --aggregator gcn --norm layer --layers 3
--model gcn --norm batch --layers 3 --hidden 24 --normalize standard
--model gcn --layers 1
--model mlp --norm batch
--model gin --norm batch --jumping cat
--model gin --norm batch --gin-eps learned
--model sgc --layers 3
--model gcn --norm layer --jumping max
EOF

# Heads, whose last layer is a hidden one where its result jumps: what weights show agrees with the run.
for model in gat gatv2; do
    weft train --data store --epochs 3 --model "$model" --hidden 4 --heads 2 --out-heads 3 --jumping max --residual on --layers 3 \
        --threads 1 --run-dir "$model"
    weft export "$model" --out "$model.safetensors"
    weft predict --data store --checkpoint "$model.safetensors" --threads 1 --out "$model-file"
    cmp "$model/predictions.npy" "$model-file/predictions.npy" || fail "$model: not the predictions of the training"
done

# ---- several ranks: classes may differ only where two logits meet ----
weft predict --data store --checkpoint run3.safetensors --out one
for count in 2 3; do
    ranks "$count" "$weft" predict --quiet --data store --checkpoint run3 --threads 1 --out "ranks$count" --format json \
        >out 2>err || fail "$count ranks: $(cat err)"
    python3 - one "ranks$count" out <<'PY' || fail "$count ranks answer otherwise than one"
import json, sys
import numpy as np
one, many = (np.load(folder + "/probabilities.npy") for folder in sys.argv[1:3])
assert np.abs(one - many).max() < 1e-5, np.abs(one - many).max()
a, b = (np.load(folder + "/predictions.npy") for folder in sys.argv[1:3])
top = np.sort(one, 1)
assert (a == b)[top[:, -1] - top[:, -2] > 1e-4].all()
assert json.load(open(sys.argv[3])) == json.load(open(sys.argv[2] + "/scores.json")), "stdout is not scores.json"
PY
done

# ---- correct and smooth: what dense products of the definition make of the plain answers ----
smoothing=(--smooth --correct-alpha 0.9 --smooth-alpha 0.7 --smooth-iterations 12)
weft predict --data store --checkpoint run5 --threads 1 --out smooth1 "${smoothing[@]}"
ranks 3 "$weft" predict --quiet --data store --checkpoint run5 --threads 1 --partition random --out smooth3 "${smoothing[@]}" \
    >out 2>err || fail "smoothing on 3 ranks: $(cat err)"
python3 - smooth1 smooth3 <<'PY' || fail "NumPy smooths otherwise"
import json, sys
import numpy as np
offset, source, label = (np.load(f"store/{name}.npy") for name in ("offset", "source", "label"))
train = (np.load("store/split.npy").reshape(-1) == 0) & (label >= 0)
y = np.load("run5-folder/probabilities.npy").astype(np.float64)
n, classes = y.shape
a = np.zeros((n, n))
a[np.repeat(np.arange(n), np.diff(offset)), source] = 1
root = 1 / np.sqrt(np.maximum(a.sum(1), 1))
a = root[:, None] * a * root
def propagate(x, alpha, low, high):
    start = x
    for _ in range(12):
        x = np.clip(alpha * (a @ x) + (1 - alpha) * start, low, high)
    return x
truth = np.eye(classes)[np.maximum(label, 0)]
error = np.where(train[:, None], truth - y, 0)
spread = propagate(error, 0.9, -1, 1)
total = np.abs(spread).sum(1, keepdims=True)
mean = np.abs(error).sum() / train.sum()
scale = np.where(total * 1000 < mean, 1, mean / np.maximum(total, 1e-300))
y = propagate(np.where(train[:, None], truth, y + scale * spread), 0.7, 0, 1)
top = np.sort(y, 1)
clear = top[:, -1] - top[:, -2] > 1e-4
y /= y.sum(1, keepdims=True)
before = json.load(open("run5-folder/scores.json"))["test"]["score"]
for folder in sys.argv[1:]:
    p, answer = np.load(folder + "/probabilities.npy"), np.load(folder + "/predictions.npy")[:, 0]
    assert np.abs(p - y).max() < 1e-5, (folder, np.abs(p - y).max())
    assert clear.mean() > 0.99 and (answer == y.argmax(1))[clear].all(), folder
    after = json.load(open(folder + "/scores.json"))["test"]["score"]
    assert after > before + 0.1, (before, after)  # an MLP sees no edge
PY

# ---- binary tasks: logits, probabilities and an area under the curve for each ----
cp -r store tasks
python3 - <<'PY'
import json
import numpy as np
label = np.load("store/label.npy")
n = len(label)
target = np.stack([label % 2, label % 3 == 0, np.zeros(n)], 1).astype(np.float32)
target[::7, 1] = np.nan
np.save("tasks/target.npy", target)
manifest = json.load(open("tasks/manifest.json"))
manifest.update(classes=0, tasks=3, arrays={})
json.dump(manifest, open("tasks/manifest.json", "w"))
PY
rm tasks/label.npy
weft train --data tasks --epochs 5 --threads 1 --run-dir bce
weft predict --data tasks --checkpoint bce --threads 1 --out bce-answers --split valid --format csv
cmp bce/predictions.npy bce-answers/predictions.npy || fail "tasks: not the predictions of the training"
[ ! -e bce-answers/confusion.csv ] || fail "a confusion matrix of tasks"
python3 - out <<'PY' || fail "tasks: NumPy computes something else"
import csv, json, sys
import numpy as np
logits, p = np.load("bce-answers/predictions.npy"), np.load("bce-answers/probabilities.npy")
assert logits.shape == p.shape == (len(logits), 3) and logits.dtype == np.float32
assert np.abs(p - 1 / (1 + np.exp(-logits.astype(np.float64)))).max() < 1e-6
target, split = np.load("tasks/target.npy"), np.load("tasks/split.npy").reshape(-1)
def auc(score, label):
    a, b = score[label == 1][:, None], score[label == 0][None]
    return ((a > b) + 0.5 * (a == b)).mean() if a.size and b.size else None
scores = json.load(open("bce-answers/scores.json"))
assert scores["split"] == "valid" and len(scores["tasks"]) == 3
areas = []
for t in scores["tasks"]:
    k = t["task"]
    chosen = (split == 1) & ~np.isnan(target[:, k])
    area = auc(logits[chosen, k], target[chosen, k])
    assert t["positive"] == (target[chosen, k] == 1).sum() and t["negative"] == (target[chosen, k] == 0).sum(), t
    assert (area is None) == (t["rocauc"] is None) and (area is None or abs(area - t["rocauc"]) < 1e-12), (t, area)
    areas += [] if area is None else [area]
assert len(areas) == 2 and abs(scores["rocauc_mean"] - np.mean(areas)) < 1e-12
assert abs(scores["valid"]["score"] - np.mean(areas)) < 1e-12
rows = list(csv.DictReader(open(sys.argv[1])))
assert [r["kind"] for r in rows] == ["split"] * 3 + ["task"] * 3 and rows[5]["score"] == "", rows
PY
refuse 2 "binary tasks" predict --data tasks --checkpoint bce --threads 1 --out none --smooth

# ---- a store without labels gets predictions, and no scores ----
cp -r store bare
rm bare/label.npy bare/split.npy
python3 - <<'PY'
import json
manifest = json.load(open("bare/manifest.json"))
manifest.update(classes=0, splits=0, arrays={})
json.dump(manifest, open("bare/manifest.json", "w"))
PY
weft predict --data bare --checkpoint run3.safetensors --out bare-answers
cmp one/predictions.npy bare-answers/predictions.npy || fail "other predictions without labels"
cmp one/probabilities.npy bare-answers/probabilities.npy || fail "other probabilities without labels"
[ ! -e bare-answers/confusion.csv ] || fail "a confusion matrix without labels"

# ---- refused, and nothing left behind ----
before=$(find . | sort)
refuse 2 "exists already" predict --data store --checkpoint run1 --out one
mkdir other
refuse 2 "no scores.json" predict --data store --checkpoint run1 --out other --force
refuse 2 "no scores.json" predict --data store --checkpoint run1 --out run1 --force
[ -e run1/weights.npz ] || fail "predictions take the place of a run"
rmdir other
refuse 2 "exists already" export run1 --out run1.safetensors
refuse 2 "--out FILE.safetensors" export run1
refuse 66 nowhere predict --data nowhere --checkpoint run1 --out new
refuse 65 "made for 64 features" predict --data synth:quickstart,scale=0.01,f=32 --checkpoint run1 --out new
[ "$before" = "$(find . | sort)" ] || fail "refused commands leave: $(diff <(echo "$before") <(find . | sort))"
weft predict --data store --checkpoint run1 --out one --force
weft predict run1 store --out placed
cmp one/predictions.npy placed/predictions.npy || fail "RUN DATA has other answers than --checkpoint RUN --data DATA"
refuse 66 "without --checkpoint the first argument is the model: " predict nothing-here --out none
cmp run1/predictions.npy one/predictions.npy || fail "--force does not replace the predictions"

# ---- ended by a signal before there are answers: no folder beside --out ----
for signal in TERM INT; do
    env --default-signal=INT "$weft" predict --data synth:quickstart --checkpoint run1 --out ended --quiet >out 2>err &
    process=$!
    until compgen -G 'ended*' >found || ! kill -0 $process 2>kill; do sleep 0.01; done
    sleep 0.02
    [ -s found ] || fail "no folder for the answers: $(cat err)"
    kill -$signal $process || fail "SIG$signal: predict has ended: $(cat err)"
    got=0
    wait $process || got=$?
    [ $got -eq $((128 + $(kill -l $signal))) ] || fail "SIG$signal: exit $got: $(cat err)"
    compgen -G 'ended*' && fail "SIG$signal leaves a folder"
done
echo "predictions, probabilities and tables as NumPy computes them"
