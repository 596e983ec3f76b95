#!/bin/bash
# Boosted trees beside libxgboost 1.7: on columns of few values, and of some 800 under --bins 1024, the first 20 trees are the same node by node, and probabilities agree to 1e-5;
# on continuous ones AUC does to 0.002. Each program reads the other's models, with the same margins, SHAP values and
# interactions, and so does XGBoost of today where it is installed. Rows of weight 1/2 that stand twice, and columns in another
# order, give the same trees.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python=python3
[ -x "${WEFT_PEERS_VENV:-}/bin/python" ] && python=$WEFT_PEERS_VENV/bin/python
"$python" -c 'import numpy' 2>/dev/null || skip "NumPy is not installed"
export PYTHONPATH="$source_dir/tests/support${PYTHONPATH:+:$PYTHONPATH}"
"$python" "$source_dir/tests/support/old_xgboost.py" || skip "libxgboost.so.0 is not installed"
work_folder

# few: 4,000 rows whose columns have at most 200 values, some missing; many: of at most 801 values; smooth: 12,000 rows of continuous ones.
"$python" - <<'PY'
import numpy as np
rng = np.random.default_rng(11)
def write(name, x, y):
    np.save(name + "_x.npy", x)
    np.save(name + "_y.npy", y)
    np.save(name + ".npy", np.column_stack([x, y]).astype(np.float32))
def labels(x, extra):
    z = np.nan_to_num(x)
    odds = 2 * z[:, 0] * (z[:, 1] > 0) - z[:, 2] + 0.7 * z[:, 3] + extra
    return (rng.random(len(x)) < 1 / (1 + np.exp(-odds))).astype(np.float32)
x = (rng.normal(size=(4000, 6)) * [1, 2, 0.7, 1.3, 0.5, 1] * 30).round().clip(-99, 99).astype(np.float32) / 32
x[rng.random(x.shape) < 0.05] = np.nan
y = labels(x, 0.5 * np.isnan(x[:, 4]))
write("few", x, y)
many = (rng.normal(size=(4000, 6)) * 120).round().clip(-400, 400).astype(np.float32) / 128
many[rng.random(many.shape) < 0.05] = np.nan
write("many", many, labels(many, 0))
order = [4, 2, 0, 5, 3, 1]
np.save("moved.npy", np.column_stack([x[:, order], y]).astype(np.float32))
half = np.column_stack([np.repeat(x, 2, axis=0), np.repeat(y, 2), np.full(2 * len(x), 0.5)]).astype(np.float32)
np.save("half.npy", half)
x = rng.normal(size=(24000, 6)).astype(np.float32)
y = labels(x, np.sin(3 * x[:, 4]))
write("smooth", x[:12000], y[:12000])
write("asked", x[12000:], y[12000:])
PY
how=(--model trees --base-score 0.5 --depth 5 --lr 0.3 --valid-share 0 --test-share 0 --eval-every 0 --threads 1 --pin off --quiet)
ok "$weft" train --data few.npy --target 7 "${how[@]}" --trees 20 --run-dir few
ok "$weft" train --data many.npy --target 7 "${how[@]}" --trees 20 --bins 1024 --run-dir many
ok "$weft" train --data moved.npy --target 7 "${how[@]}" --trees 20 --run-dir moved
ok "$weft" train --data half.npy --target 7 --weight-column 8 "${how[@]}" --trees 20 --run-dir half
ok "$weft" train --data smooth.npy --target 7 "${how[@]}" --trees 60 --run-dir smooth
ok "$weft" predict --data few_x.npy --checkpoint few --margins --contributions --out few-out --quiet
ok "$weft" predict --data many_x.npy --checkpoint many --out many-out --quiet
ok "$weft" explain --data few_x.npy --checkpoint few --interactions --out few-pairs --quiet
ok "$weft" predict --data asked_x.npy --checkpoint smooth --out smooth-out --quiet

cat >check.py <<'PY'
import json
import numpy as np
import old_xgboost as old

def trees_of(path):
    return json.load(open(path))["learner"]["gradient_booster"]["model"]["trees"]

def same_nodes(mine, other, column, x, title):
    """Splits are the same where they divide the rows alike, of which each side goes the same way: thresholds lie
    anywhere between values, and what tells missing values from all others may have either on the left."""
    todo = [(0, 0, np.arange(len(x)))]
    while todo:
        a, b, rows = todo.pop()
        leaf = mine["left_children"][a] < 0
        assert leaf == (other["left_children"][b] < 0), (title, a, b, "one is a leaf")
        if leaf:
            apart = abs(mine["split_conditions"][a] - other["split_conditions"][b])
            assert apart < 1e-4, (title, a, b, "leaves", apart)
            continue
        assert column(mine["split_indices"][a]) == other["split_indices"][b], (title, a, b, "columns")
        value = x[rows, other["split_indices"][b]]
        ways = [np.where(np.isnan(value), bool(tree["default_left"][n]), value < np.float32(tree["split_conditions"][n]))
                for tree, n in ((mine, a), (other, b))]
        turned = np.isnan(value).any() and (ways[0] != ways[1]).all()
        assert turned or (ways[0] == ways[1]).all(), (title, a, b, "rows")
        sides = ["right_children", "left_children"] if turned else ["left_children", "right_children"]
        todo += [(mine[side][a], other[like][b], rows[own]) for side, like, own in (
            ("left_children", sides[0], ways[0]), ("right_children", sides[1], ~ways[0]))]

settings = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": 256, "base_score": 0.5, "max_depth": 5, "eta": 0.3, "nthread": 1}
def beside_it(name, **more):
    """20 trees of both programs on the rows of that name -> the rows, and the nodes of ours"""
    x, y = np.load(name + "_x.npy"), np.load(name + "_y.npy")
    rows = old.Rows(x, y)
    theirs = old.Model(rows)
    theirs.train(rows, 20, **{**settings, **more})
    theirs.save(name + "-theirs.json")
    mine = trees_of(name + "/model.json")
    assert len(mine) == 20
    for t, (a, b) in enumerate(zip(mine, trees_of(name + "-theirs.json"))):
        same_nodes(a, b, lambda c: c, x, f"{name}, tree {t}")
    apart = abs(theirs.answer(rows)[:, 0] - np.load(name + "-out/probabilities.npy")[:, 1]).max()
    assert apart < 1e-5, (name, apart)
    return x, mine

wide, _ = beside_it("many", max_bin=1024)
assert min(len(np.unique(c[~np.isnan(c)])) for c in wide.T) > 256
x, mine = beside_it("few")
order = [4, 2, 0, 5, 3, 1]
for t, (a, b) in enumerate(zip(trees_of("moved/model.json"), mine)):
    same_nodes(a, b, lambda c: order[c], x, f"columns in another order, tree {t}")
for t, (a, b) in enumerate(zip(trees_of("half/model.json"), mine)):
    same_nodes(a, b, lambda c: c, x, f"rows twice, tree {t}")

# ---- the other program reads the model ----
margin = np.load("few-out/margins.npy").reshape(len(x), -1)[:, -1]
shares, pairs = (np.load(f)[:, 1] for f in ("few-out/contributions.npy", "few-pairs/interactions.npy"))
reader = old.Model().load("few/model.json")
rows = old.Rows(x)
for what, own, most in ((old.MARGINS, margin, 1e-6), (old.CONTRIBUTIONS, shares, 1e-6), (old.PAIRS, pairs, 1e-5)):
    apart = abs(reader.answer(rows, what) - own.reshape(len(x), -1)).max()
    assert apart < most * max(1, abs(own).max()), (what, apart)
try:
    import xgboost
except ImportError:
    xgboost = None
if xgboost:
    data = xgboost.DMatrix(x, feature_names=json.load(open("few/model.json"))["learner"]["feature_names"])
    new = xgboost.Booster(model_file="few/model.json").predict(data, output_margin=True)
    assert abs(new - margin).max() < 1e-6 * max(1, abs(margin).max()), abs(new - margin).max()
    assert abs(new - reader.answer(rows, old.MARGINS)[:, 0]).max() < 1e-6 * max(1, abs(margin).max())

# ---- continuous columns: cuts differ, quality does not ----
def auc(y, score):
    rank = np.empty(len(y))
    rank[np.argsort(score, kind="stable")] = np.arange(1, len(y) + 1)
    ones = y.sum()
    return (rank[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones))

rows = old.Rows(np.load("smooth_x.npy"), np.load("smooth_y.npy"))
theirs_smooth = old.Model(rows)
theirs_smooth.train(rows, 60, **settings)
answered, y = theirs_smooth.answer(old.Rows(np.load("asked_x.npy")))[:, 0], np.load("asked_y.npy")
found = auc(y, np.load("smooth-out/probabilities.npy")[:, 1]), auc(y, answered)
assert abs(found[0] - found[1]) < 0.002 and found[1] > 0.75, found
PY
"$python" check.py 2>err || fail "beside libxgboost: $(cat err)"

# ---- its model is read here ----
ok "$weft" predict --data few_x.npy --model trees --checkpoint few-theirs.json --margins --out theirs-out --quiet
"$python" - 2>err <<'PY' || fail "its model: $(cat err)"
import numpy as np
import old_xgboost as old
margin = np.load("theirs-out/margins.npy").reshape(4000, -1)[:, -1]
apart = abs(old.Model().load("few-theirs.json").answer(old.Rows(np.load("few_x.npy")), old.MARGINS)[:, 0] - margin).max()
assert apart < 1e-6 * max(1, abs(margin).max()), apart
PY
