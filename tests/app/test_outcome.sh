#!/bin/bash
# What a training reached: baseline, class counts, confusion and rates against NumPy's on the labels and predictions, on
# one and two ranks; empty splits, warnings and their figures; tasks; the command line; and all of it in the report.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
python3 -c 'import numpy' 2>/dev/null || skip "python3 with NumPy is not available"
work_folder
export PYTHONPATH="$source_dir/tests/support:$source_dir/python:$work" PYTHONDONTWRITEBYTECODE=1

python() { python3 - "$@" || fail "line ${BASH_LINENO[0]}: the check above"; }
train() { "$weft" train --threads 1 "$@" >out 2>err || fail "weft train $*: exit $?: $(cat err)"; }
report() { "$weft" report "$@" >/dev/null 2>err || fail "weft report $*: $(cat err)"; }

# ---- stores of known labels ----
python <<'PY'
import numpy as np
import weft_store
rng = np.random.default_rng(5)


def store(name, label, split, noise=1.0, edges=None):
    """Features tell the label through noise; split 0, 1, 2 or 255."""
    n = len(label)
    edges = rng.integers(0, n, size=(2, 4 * n)) if edges is None else edges
    known = label if label.ndim == 1 else label[:, 0]
    x = rng.normal(size=(n, 12)) * noise
    x[np.arange(n), np.where(known < 0, 0, known).astype(int) % 12] += 3
    weft_store.write_store(name, edges, x=x.astype("f4"), y=label, symmetrize=True,
                           train_mask=split == 0, val_mask=split == 1, test_mask=split == 2)


n = 600
skewed = rng.choice(5, size=n, p=[0.1, 0.15, 0.45, 0.25, 0.05])
skewed[rng.random(n) < 0.1] = -1
split = rng.choice([0, 1, 2, 255], size=n, p=[0.4, 0.2, 0.35, 0.05]).astype(np.uint8)
store("skewed", skewed, split)
store("no-test", skewed, np.where(split == 2, 255, split))
store("no-valid", skewed, np.where(split == 1, 255, split))
store("no-both", skewed, np.where(split == 0, 0, 255))

# Two of four classes are equally large in training; of these the second is larger in validation.
even = np.concatenate([np.repeat([0, 1, 2, 3], [30, 40, 40, 10]), np.repeat([0, 1, 2, 3], [5, 6, 20, 40]),
                       np.repeat([0, 1, 2, 3], [50, 20, 25, 5])])
store("even", even, np.repeat([0, 1, 2], [120, 71, 100]).astype(np.uint8))

# Labels that nothing tells: features of noise alone.
label = rng.choice(3, size=n, p=[0.6, 0.2, 0.2])
weft_store.write_store("noise", rng.integers(0, n, size=(2, 2 * n)), x=rng.normal(size=(n, 8)).astype("f4"), y=label,
                       symmetrize=True, train_mask=split == 0, val_mask=split == 1, test_mask=split == 2)

many = rng.integers(0, 70, size=900)
store("many", many, rng.choice([0, 1, 2], size=900).astype(np.uint8), noise=2.0)
two = rng.choice(2, size=n, p=[0.8, 0.2])
store("two", two, split)
tasks = (rng.random((n, 3)) < [0.5, 0.2, 0.9]).astype("f4")
tasks[rng.random((n, 3)) < 0.2] = np.nan
tasks[split == 2, 2] = np.where(np.isnan(tasks[split == 2, 2]), np.nan, 1)  # no negative: no ROC-AUC
tasks[:, 0] = np.where(np.isnan(tasks[:, 0]), 0, tasks[:, 0])
store("tasks", tasks, split)
PY

cat >oracle.py <<'PY'
"""What NumPy counts in the labels and predictions of a run."""
import json
import numpy as np
import weft_store

SPLITS = ("train", "valid", "test")


def outcome_of(run):
    return json.load(open(run + "/summary.json"))["outcome"]


def check_classes(run, store, told=2):
    graph = weft_store.read_store(store)
    label, split = np.array(graph["label"]), np.array(graph["split"])
    classes = int(json.load(open(store + "/manifest.json"))["classes"])
    predicted = np.load(run + "/predictions.npy")[:, 0]
    o = outcome_of(run)
    by_split = [np.bincount(label[(split == s) & (label >= 0)], minlength=classes) for s in range(3)]
    totals = [int(c.sum()) for c in by_split]
    assert o["vertices"] == dict(zip(SPLITS, totals)), (o["vertices"], totals)
    best = max(range(classes), key=lambda c: (by_split[0][c], by_split[1][c], -c))
    assert o["baseline"]["answer"] == "largest class" and o["baseline"]["class"] == best, (o["baseline"], best)
    for s, name in enumerate(SPLITS):
        # The accuracy of a classifier that answers `best` for everything.
        chosen = (split == s) & (label >= 0)
        expected = np.mean(label[chosen] == best) if chosen.any() else None
        assert o["baseline"][name] == expected, (name, o["baseline"], expected)
    assert o["split"] == SPLITS[told]
    chosen = (split == told) & (label >= 0)
    matrix = np.zeros((classes, classes), dtype=int)
    np.add.at(matrix, (label[chosen], predicted[chosen]), 1)
    if classes <= 64:
        assert o["confusion"] == matrix.tolist(), "the confusion matrix"
    else:
        assert "confusion" not in o
    for s, name in enumerate(SPLITS):
        assert o["classes"][name] == by_split[s].tolist(), name
    assert o["classes"]["support"] == matrix.sum(1).tolist() and o["classes"]["predicted"] == matrix.sum(0).tolist()
    assert o["classes"]["hits"] == matrix.diagonal().tolist()
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.nan_to_num(matrix.diagonal() / matrix.sum(0))
        recall = np.nan_to_num(matrix.diagonal() / matrix.sum(1))
        f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
    for name, values in (("precision", precision), ("recall", recall), ("f1", f1)):
        assert np.allclose(o["classes"][name], values, rtol=0, atol=1e-12), name
        present = (matrix.sum(0) + matrix.sum(1)) > 0
        assert abs(o["macro"][name] - values[present].mean()) < 1e-12, name
        assert abs(o["micro"][name] - np.trace(matrix) / matrix.sum()) < 1e-12, name
    pairs = sorted(((-matrix[a, b], a, b) for a in range(classes) for b in range(classes) if a != b and matrix[a, b]))
    assert [(-p["vertices"], p["label"], p["predicted"]) for p in o["confused"]] == pairs[:20], o["confused"]
    return o, matrix
PY

# ---- classes, on one and two ranks ----
train --data skewed --epochs 15 --schedule step --schedule-step 5 --run-dir one
grep -qE '^     Baseline: [0-9.]+ \(class 2, the largest in training: its share of the test split\)$' out ||
    fail "no baseline: $(cat out)"
shown=$(sed -n 's/^     Baseline: \([0-9.]*\) .*/\1/p' out)
ranks 2 "$weft" train --data skewed --epochs 15 --runs 2 --run-dir two-ranks --quiet >out 2>err || fail "2 ranks: $(cat err)"
[ "$(grep -c Baseline out)" -eq 1 ] || fail "every rank prints: $(cat out)"
train --data even --epochs 5 --run-dir even-run
train --data many --epochs 5 --run-dir many-run
python "$shown" <<'PY'
import sys
import oracle
one, matrix = oracle.check_classes("one", "skewed")
two, _ = oracle.check_classes("two-ranks", "skewed")
assert one["baseline"] == two["baseline"] and one["vertices"] == two["vertices"]
assert abs(float(sys.argv[1]) - 100 * one["baseline"]["test"]) <= 0.0051, sys.argv[1]
assert matrix.sum() > 100 and (matrix.sum(0) > 0).sum() >= 3, "the test needs several classes that are predicted"
even, _ = oracle.check_classes("even-run", "even")
assert even["baseline"]["class"] == 2 and even["baseline"]["test"] == 0.25, even["baseline"]
oracle.check_classes("many-run", "many")
PY

# ---- splits without vertices: words, and null, never nan ----
for case in "no-test test 1" "no-valid validation 2" "no-both both 0"; do
    set -- $case
    train --data "$1" --epochs 4 --run-dir "$1-run"
    grep -qi 'nan' out err && fail "$1: nan in: $(grep -i nan out err)"
    grep -qiE '(: *|\[|, )-?nan' "$1-run/summary.json" "$1-run/metrics.jsonl" "$1-run/run.json" && fail "$1: nan in a file"
    if [ "$2" != both ]; then
        grep -qF "no vertices in the $2 split" out || fail "$1: $(cat out)"
        grep -qF "warning: no labelled vertices in the $2 split" out || fail "$1: $(cat out)"
    fi
    python "$1" "$3" <<'PY'
import json, sys
import oracle
name, told = sys.argv[1], int(sys.argv[2])
o, _ = oracle.check_classes(name + "-run", name, told)
summary = json.load(open(name + "-run/summary.json"))
assert (summary["test_mean"] is None) == (o["vertices"]["test"] == 0), summary["test_mean"]
assert (summary["valid_mean"] is None) == (o["vertices"]["valid"] == 0), summary["valid_mean"]
assert len([w for w in o["warnings"] if "no labelled vertices" in w]) == (o["vertices"]["test"] == 0) + (o["vertices"]["valid"] == 0)
PY
    report "$1-run"
    sed 's/<[^>]*>//g; s|N/A,nan,null||' "$1-run/report.html" | grep -qiw 'nan' && fail "$1: nan in the report"
done

# ---- a model that hardly beats the largest class ----
train --data noise --epochs 30 --run-dir noise-run
grep -q '^warning: test accuracy of [0-9.]* % is hardly better than answering the largest class' out || fail "$(cat out)"
train --data skewed --epochs 60 --run-dir learnt
grep -q 'hardly better' out && fail "a warning for nothing: $(cat out)"
python <<'PY'
import json
import oracle
for run in ("noise-run", "learnt"):
    o, summary = oracle.outcome_of(run), json.load(open(run + "/summary.json"))
    p, n, score = o["baseline"]["test"], o["vertices"]["test"], summary["test_mean"]
    hardly = score - p < max(0.1 * (1 - p), 2 * (p * (1 - p) / n) ** 0.5)
    assert hardly == any("hardly" in w for w in o["warnings"]) == (run == "noise-run"), (run, score, p, o["warnings"])
PY

# ---- the best epoch among the first, a loss that jumped; the same after a resumption ----
raw=(--hidden 16 --norm none --normalize none --dropout 0.5 --input-dropout 0.5 --weight-decay 0)
train --data skewed --epochs 40 --lr 0 --run-dir still # nothing moves: the first epoch stays the best
grep -q '^warning: the best epoch is 1 of 40' out || fail "$(cat out)"
train --data skewed --epochs 40 --runs 3 --lr 20 "${raw[@]}" --checkpoint-every 8 --run-dir jump
cp out told
cp -r jump resumed
rm -r "resumed/ckpt/$(ls resumed/ckpt | sort | tail -n 1)"
[ -n "$(ls resumed/ckpt)" ] || fail "no earlier checkpoint"
train --data skewed --epochs 40 --runs 3 --lr 20 "${raw[@]}" --checkpoint-every 8 --resume --run-dir resumed
grep -q 'going on after run' err || fail "not resumed: $(cat err)"
python <<'PY'
import json, re
import oracle
lines = [json.loads(l) for l in open("jump/metrics.jsonl")]
jumps, runs = [], set()
for run in (1, 2, 3):
    losses = [l["loss"] for l in lines if l["run"] == run]
    for k in range(1, len(losses)):
        least = min(losses[:k])
        if losses[k] > 2 * least and losses[k] - least > 0.05 * losses[0]:
            jumps.append((losses[k] / least, -run, -k - 1, least, losses[k]))
            runs.add(run)
_, run, epoch, least, loss = max(jumps)
warning, = [w for w in oracle.outcome_of("jump")["warnings"] if "jumped" in w]
assert f"jumped from {least:.4g} to {loss:.4g} in epoch {-epoch} of run {-run} ({len(runs)} of 3 runs jumped)" in warning, warning
assert "lower --lr (now 20)" in warning and "--norm batch" in warning and "--normalize standard" in warning, warning
assert oracle.outcome_of("resumed")["warnings"] == oracle.outcome_of("jump")["warnings"]
assert f"warning: {warning}" in open("told").read().splitlines()
PY

# ---- ROC-AUC: of two classes, and of tasks ----
train --data two --metric rocauc --epochs 10 --run-dir two-run
grep -q '^     Baseline: 50.00 (a guess)$' out || fail "$(cat out)"
ranks 2 "$weft" train --data tasks --epochs 20 --run-dir tasks-run --quiet >out 2>err || fail "tasks: $(cat err)"
python <<'PY'
import numpy as np
import oracle, weft_store
o = oracle.outcome_of("two-run")
assert o["baseline"] == {"answer": "guess", "train": 0.5, "valid": 0.5, "test": 0.5} and len(o["confusion"]) == 2, o["baseline"]
graph = weft_store.read_store("tasks")
target, test = np.array(graph["target"]), np.array(graph["split"]) == 2
logits = np.load("tasks-run/predictions.npy")
o = oracle.outcome_of("tasks-run")
assert o["baseline"]["test"] == 0.5 and o["split"] == "test" and "classes" not in o
for k in range(3):
    positive, negative = logits[test & (target[:, k] == 1), k], logits[test & (target[:, k] == 0), k]
    assert o["tasks"]["positive"][k] == len(positive) and o["tasks"]["negative"][k] == len(negative)
    if len(negative) == 0:
        assert o["tasks"]["rocauc"][k] is None and k == 2
        continue
    pairs = positive[:, None] - negative[None, :]
    auc = np.mean((pairs > 0) + 0.5 * (pairs == 0))
    assert abs(o["tasks"]["rocauc"][k] - auc) < 1e-12, (k, o["tasks"]["rocauc"][k], auc)
assert o["tasks"]["negative"][2] == 0
PY

# ---- the command line, as a shell reads it back ----
mkdir "it's here"
line=(train --data skewed --epochs 3 --threads=1 --run-dir "it's here/a b \$x" --quiet)
"$weft" "${line[@]}" >out 2>err || fail "$(cat err)"
command=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["command"])' "it's here/a b \$x/run.json")
eval "words=($command)"
[ "${#words[@]}" -eq $((${#line[@]} + 1)) ] && [ "${words[0]}" = "$weft" ] || fail "command: $command"
for i in "${!line[@]}"; do
    [ "${words[i + 1]}" = "${line[i]}" ] || fail "word $i of $command"
done

# ---- the report ----
report one
report one --format md
report tasks-run
report noise-run
report many-run
report "it's here/a b \$x"
report one two-ranks noise-run --out compared.html
cp -r one old # a folder of a version that wrote none of it
python <<'PY'
import json
old = json.load(open("old/summary.json"))
del old["outcome"]
json.dump(old, open("old/summary.json", "w"))
run = json.load(open("old/run.json"))
del run["command"]
json.dump(run, open("old/run.json", "w"))
lines = [json.loads(l) for l in open("old/metrics.jsonl")]
open("old/metrics.jsonl", "w").writelines(json.dumps({k: v for k, v in l.items() if k != "lr"}) + "\n" for l in lines)
PY
report old
report old one --out old.html
python "$weft" <<'PY'
import json, shlex, sys
import oracle
import report_page as rp
page = rp.Page(open("one/report.html", encoding="utf-8").read())
o, run = oracle.outcome_of("one"), json.load(open("one/run.json"))
lines = [json.loads(l) for l in open("one/metrics.jsonl")]
value, note = page.tiles()["Baseline"]
assert rp.near(value, o["baseline"]["test"]) and "class 2, the largest in training" in note, (value, note)
best = json.load(open("one/summary.json"))["run_results"][0]["best_epoch"]
assert page.tiles()["Test accuracy"][1] == f"at the best validation epoch, {best} of 15", page.tiles()
rows = page.table("class")
assert len(rows) == 7 and [r[0] for r in rows[-2:]] == ["macro", "micro"]
for k, row in enumerate(rows[:-2]):
    assert [int(v) for v in row[:5]] == [k, *(o["classes"][c][k] for c in ("train", "valid", "test", "predicted"))], row
    assert all(abs(float(v) - o["classes"][c][k]) < 5.1e-5 for v, c in zip(row[5:], ("precision", "recall", "f1"))), row
for name, row in zip(("macro", "micro"), rows[-2:]):
    assert all(abs(float(v) - o[name][c]) < 5.1e-5 for v, c in zip(row[5:], ("precision", "recall", "f1"))), row
matrix = [t for t in page.tables() if t[0] == ["label", "0", "1", "2", "3", "4"]][0]
assert [[int(v) for v in r[1:]] for r in matrix[1:]] == o["confusion"]
pairs = page.table_headed(["label", "taken for", "count", "of the label"])
assert [[int(v) for v in r[:3]] for r in pairs] == [[p["label"], p["predicted"], p["vertices"]] for p in o["confused"]]
for row in pairs:
    assert rp.near(row[3], int(row[2]) / o["classes"]["support"][int(row[0])]), row
rate = [c for c in page.charts() if c.title == "Learning rate"][0]
rate.check("rate", [(l["epoch"], l["lr"]) for l in lines])
assert len({l["lr"] for l in lines}) == 3 and not rate.log
assert page.code() == [run["command"]] and shlex.split(run["command"])[0] == sys.argv[1], page.code()
markdown = open("one/report.md", encoding="utf-8").read()
assert f"```\n{run['command']}\n```" in markdown
awkward = json.load(open("it's here/a b $x/run.json"))["command"]
assert rp.Page(open("it's here/a b $x/report.html", encoding="utf-8").read()).code() == [awkward]

page = rp.Page(open("tasks-run/report.html", encoding="utf-8").read())
o = oracle.outcome_of("tasks-run")["tasks"]
for k, row in enumerate(page.table("task")):
    assert [int(v) for v in row[:3]] == [k, o["positive"][k], o["negative"][k]]
    assert row[3] == "–" if o["rocauc"][k] is None else abs(float(row[3]) - o["rocauc"][k]) < 5.1e-5, row
assert page.tiles()["Baseline"] == ("50.00 %", "a guess") and "each of the 2 ranks" in page.text
page = rp.Page(open("noise-run/report.html", encoding="utf-8").read())
assert page.warnings() == oracle.outcome_of("noise-run")["warnings"] and page.problems() == []
page = rp.Page(open("many-run/report.html", encoding="utf-8").read())
assert len(page.table("class")) == 72 and "taken for" in page.text
assert not [t for t in page.tables() if t[0][:2] == ["label", "0"]]

page = rp.Page(open("compared.html", encoding="utf-8").read())
column = page.tables()[0][0].index("baseline")
for row, name in zip(page.table("folder"), ("one", "two-ranks", "noise-run")):
    assert rp.near(row[column], oracle.outcome_of(name)["baseline"]["test"]), row
page = rp.Page(open("old/report.html", encoding="utf-8").read())
assert page.problems() == [] and "Baseline" not in page.tiles() and page.code() == [] and len(page.charts()) == 3
assert rp.Page(open("old.html", encoding="utf-8").read()).table("folder")[0][column] == "–"
PY
echo "test_outcome: passed"
