#!/bin/bash
# weft explain on boosted trees: contributions add up to margins, interactions to contributions, both are XGBoost's where it is
# installed; those against a background are their definition over all sets of columns; 1 and 3 ranks give the same numbers; the
# table, explain.json and the report say the same; margins and numbers of leaves are those of the model file.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
python=python3
[ -x "${WEFT_PEERS_VENV:-}/bin/python" ] && python=$WEFT_PEERS_VENV/bin/python
"$python" -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
work_folder


"$python" - <<'PY'
import numpy as np
rng = np.random.default_rng(6)
x = rng.normal(size=(500, 4)).round(3)
f = 2 * x[:, 0] * x[:, 1] - x[:, 2] + 0.3 * rng.normal(size=500)
cell = lambda v: "" if rng.random() < 0.05 else f"{v}"
def write(name, rows):
    with open(name, "w") as out:
        out.write("a,b,c,d,target,kind\n")
        for i in rows:
            out.write(",".join(map(cell, x[i])) + f",{'yes' if f[i] > 0 else 'no'},{'pqr'[int(np.digitize(f[i], [-1, 1]))]}\n")
write("train.csv", range(400))
write("new.csv", range(400, 500))
write("base.csv", range(90))
PY
how=(--model trees --trees 20 --depth 4 --quiet)
ok "$weft" train --data train.csv --target target --drop kind "${how[@]}" --run-dir run
ok "$weft" train --data train.csv --target kind --drop target "${how[@]}" --run-dir kinds
ok "$weft" explain --data new.csv --checkpoint run --interactions --top 3 --quiet
cp out table.md
ok mpirun --oversubscribe --bind-to none -np 3 "$weft" explain --data new.csv --checkpoint run --interactions --out three --top 3 --quiet
for file in contributions.npy interactions.npy; do
    cmp run/explain/$file three/$file || fail "3 ranks give another $file"
done
ok "$weft" explain --data new.csv --checkpoint run --interventional --background base.csv --out against --quiet
ok mpirun --oversubscribe --bind-to none -np 3 "$weft" explain --data new.csv --checkpoint run --interventional --background base.csv \
    --out against-three --quiet
cmp against/contributions.npy against-three/contributions.npy || fail "3 ranks compare with another background"
ok "$weft" explain --data new.csv --checkpoint run --interventional --background-rows 7 --out seven --quiet
ok "$weft" explain --data new.csv --checkpoint kinds --interactions --quiet
ok "$weft" predict --data new.csv --checkpoint run --margins --leaf-numbers --contributions --out answers --quiet
ok "$weft" predict --data new.csv --checkpoint kinds --margins --leaf-numbers --contributions --out kinds-answers --quiet

cat >check.py <<'PY'
import csv, itertools, json, math
import numpy as np
rows = list(csv.DictReader(open("new.csv")))
values = lambda path: np.array([[float(r[n]) if r[n] else math.nan for n in "abcd"] for r in csv.DictReader(open(path))], np.float32)
x, base = values("new.csv"), values("base.csv")
load = lambda name: np.load(name + ".npy").astype(np.float64)
model = json.load(open("run/model.json"))["learner"]
trees = model["gradient_booster"]["model"]["trees"]

def leaf(tree, row):
    at = 0
    while tree["left_children"][at] >= 0:
        v = row[tree["split_indices"][at]]
        left = tree["default_left"][at] if math.isnan(v) else v < np.float32(tree["split_conditions"][at])
        at = tree["left_children" if left else "right_children"][at]
    return at

answers = load("answers/margins")[:, 0]
assert (np.load("answers/leaves.npy") == [[leaf(t, r) for t in trees] for r in x]).all()
for run, out, outputs in (("run", "answers", 2), ("kinds", "kinds-answers", 3)):
    shares, pairs = load(run + "/explain/contributions"), load(run + "/explain/interactions")
    assert shares.shape == (100, outputs, 5) and pairs.shape == (100, outputs, 5, 5)
    assert (pairs == pairs.transpose(0, 1, 3, 2)).all()
    assert abs(pairs.sum(axis=3) - shares).max() < 1e-6
    assert abs(shares - load(out + "/contributions")).max() < 1e-6
    assert abs(shares.sum(axis=2)[:, 1 if outputs == 2 else 0:] - load(out + "/margins")).max() < 1e-5  # two classes have one

# by definition: the mean over the background of answers of mixed rows, for every set of columns
margin = lambda row: sum(t["split_conditions"][leaf(t, row)] for t in trees)
against = load("against/contributions")[:, 1]
for i in range(3):
    game = {}
    for held in itertools.product((False, True), repeat=4):
        game[held] = np.mean([margin(np.where(held, x[i], b)) for b in base])
    for j in range(4):
        share = 0.0
        for held in game:
            if not held[j]:
                size = sum(held)
                more = tuple(h or k == j for k, h in enumerate(held))
                share += math.factorial(size) * math.factorial(3 - size) / 24 * (game[more] - game[held])
        assert abs(share - against[i, j]) < 1e-5, (i, j, share, against[i, j])
for name in ("against", "seven"):
    assert abs(load(name + "/contributions")[:, 1].sum(axis=1) - answers).max() < 1e-5

found = json.load(open("run/explain/explain.json"))
importance = abs(load("run/explain/contributions")).mean(axis=0).sum(axis=0)[:4]
order = np.argsort(-importance)[:3]
assert [i["name"] for i in found["inputs"]] == ["abcd"[k] for k in order]
assert np.allclose([i["importance"] for i in found["inputs"]], importance[order])
lines = [l.split("|") for l in open("table.md") if l.startswith("| ")][1:]
assert [l[1].strip() for l in lines] == ["abcd"[k] for k in order], lines
assert np.allclose([float(l[2]) for l in lines], importance[order], rtol=1e-3)
drawn = {d["kind"]: d for d in found["drawings"]}
assert set(drawn) == {"bars", "beeswarm", "scatter", "heat", "stacked"}
swarm = drawn["beeswarm"]["series"][0]
assert np.allclose(swarm["x"], load("run/explain/contributions")[:, 1, order[0]]) and len(swarm["tint"]) == 100
force = {s["name"].split(" ")[0]: s["values"][0] - s["values"][1] for s in drawn["stacked"]["series"]}
first = load("run/explain/contributions")[0, 1]
assert abs(sum(force.values()) - first[:4].sum()) < 1e-5 and abs(force["abcd"[order[0]]] - first[order[0]]) < 1e-6
summary = json.load(open("run/summary.json"))["drawings"]
gain = [sum(t["loss_changes"][n] for t in trees for n in range(len(t["left_children"])) if t["left_children"][n] >= 0 and t["split_indices"][n] == k) for k in range(4)]
bars = dict(zip(summary[0]["names"], summary[0]["series"][0]["values"]))
assert np.allclose([bars["abcd"[k]] for k in range(4)], gain, rtol=1e-4), (bars, gain)
try:
    import xgboost
except ImportError:
    raise SystemExit(0)
booster, data = xgboost.Booster(model_file="run/model.json"), xgboost.DMatrix(x, feature_names=list("abcd"))
assert abs(booster.predict(data, pred_interactions=True) - load("run/explain/interactions")[:, 1]).max() < 1e-6
assert abs(booster.predict(data, pred_contribs=True) - load("run/explain/contributions")[:, 1]).max() < 2e-6
assert (booster.predict(data, pred_leaf=True) == np.load("answers/leaves.npy")).all()
booster = xgboost.Booster(model_file="kinds/model.json")
difference = booster.predict(data, pred_interactions=True) - load("kinds/explain/interactions")
assert abs(difference[..., :4, :4]).max() < 1e-6  # the same number stands beside the trees of all three classes: no answer has it
PY
"$python" check.py 2>err || fail "figures: $(cat err)"

ok "$weft" report run
for drawn in "Importance by gain" "Importance: mean magnitude" "tinted by the value" "What a adds" "The first row"; do
    grep -q "<figcaption>$drawn" run/report.html || grep -q "figcaption>[^<]*$drawn" run/report.html || fail "the report lacks '$drawn'"
done
grep -q "is left out" run/report.html && fail "the report leaves a drawing out"

# ---- refusals ----
refused 2 "contradict" "$weft" explain --data new.csv --checkpoint run --interactions --interventional --out no
refused 2 "--force" "$weft" explain --data new.csv --checkpoint run
ok "$weft" explain --data new.csv --checkpoint run --force --quiet
mkdir other
refused 2 "replaces folders of explanations only" "$weft" explain --data new.csv --checkpoint run --out other --force
printf 'a,b\n1,2\n' >narrow.csv
refused 65 "narrow.csv" "$weft" explain --data new.csv --checkpoint run --interventional --background narrow.csv --out no
[ ! -e no ] || fail "a refused command leaves a folder"
