#!/bin/bash
# Indexes of two classes by the commands: summary.json of a training, weft eval, groups of rows and another model give the same
# figures on 1 and 3 ranks, and scikit-learn, where it is installed, finds them from the probabilities. What cannot be answered is
# null with a note in words, and what contradicts the data is refused before a tree is grown.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
python=python3
[ -x "${WEFT_PEERS_VENV:-}/bin/python" ] && python=$WEFT_PEERS_VENV/bin/python
work_folder

python3 - <<'PY'
import math, random
random.seed(4)
split = ("train", "train", "train", "valid", "test")
with open("rows.csv", "w") as out, open("one.csv", "w") as one:
    out.write("a,b,c,sex,age,flag,split,died\n")
    one.write("a,b,c,sex,age,flag,split,died\n")
    for i in range(1500):
        a, b, c = (round(random.gauss(0, 1), 2) for _ in range(3))
        sex = random.choice(("f", "m", "m", ""))
        age, flag = random.randint(40, 90), random.randint(0, 1)
        died = random.random() < 1 / (1 + math.exp(-(1.2 * a + b * c - 0.5)))
        out.write(f"{a},{b},{c},{sex},{age},{flag},{split[i % 5]},{'yes' if died else 'no'}\n")
        if i % 5 != 4 or not died:
            one.write(f"{a},{b},{c},{sex},{age},{flag},{split[i % 5]},{'yes' if died else 'no'}\n")
PY
plain=(--target died --category sex --quiet)
train=("$weft" train "${plain[@]}" --data rows.csv --model trees --trees 20 --depth 3 --threads 1 --pin off)
eval=("$weft" eval "${plain[@]}" --data rows.csv --threads 1 --pin off)
ok "${train[@]}" --by "sex;age:60,75;flag" --run-dir run
cp out told
grep -q '^Indexes (test, ' told || fail "the closing lines tell no indexes: $(cat told)"
ok ranks 3 "${train[@]}" --by "sex;age:60,75;flag" --run-dir run-3
ok "$weft" train "${plain[@]}" --data rows.csv --model trees --trees 3 --depth 1 --threads 1 --pin off --run-dir weak

# The threshold is printed with the digits that it has, so that it can be given to another command.
threshold=$(sed -n 's/^  at threshold \([^ ]*\) (by .*/\1/p' told)
grep -qF "\"value\": $threshold," run/summary.json || fail "the threshold is rounded: $(cat told)"

# ---- the same figures of any number of ranks, and of eval ----
ok "${eval[@]}" --checkpoint run --by "sex;age:60,75;flag" --against weak --format json
cp out one.json
ok ranks 3 "${eval[@]}" --checkpoint run --by "sex;age:60,75;flag" --against weak --format json
cmp out one.json || fail "3 ranks tell other indexes"
for place in "run rows.csv" "--checkpoint run --data rows.csv"; do
    # shellcheck disable=SC2086
    ok "$weft" predict "${plain[@]}" $place --against weak --out answered
    mv out "told-${place%% *}"
    rm -r answered
done
grep -q weak told-run && cmp told-run told---checkpoint || fail "a model named by the first argument compares otherwise"
ok "$weft" predict "${plain[@]}" --data rows.csv --checkpoint run --out answers
ok "$weft" predict "${plain[@]}" --data rows.csv --checkpoint weak --out weaker
$python - <<'PY' || fail "figures differ"
import json, math
summary, other, scores = json.load(open("run/summary.json")), json.load(open("run-3/summary.json")), json.load(open("one.json"))
x, y = summary["indexes"], scores["indexes"]
assert x == other["indexes"], "ranks"
assert summary["test_auc"] == x["auc"]["value"] and x["threshold"]["chosen_on"] == "valid" and x["positive"] == "yes"
assert y["threshold"]["chosen_on"] == "run" and y["threshold"]["value"] == x["threshold"]["value"]
for key in ("auc", "f1", "accuracy", "brier", "calibration", "roc", "confusion"):
    assert x[key] == y[key], key
assert [g["group"] for c in x["by"] for g in c["groups"]] == ["f", "m", "missing", "< 60", "60 to < 75", ">= 75", "0", "1"], x["by"]
for column in x["by"]:
    assert sum(g["rows"] for g in column["groups"]) == x["rows"] == 300
    assert sum(g["positives"] for g in column["groups"]) == x["positives"]
    assert sum(g["confusion"]["true_positives"] for g in column["groups"]) == x["confusion"]["true_positives"]
against = y["against"]
assert all(math.isclose(against["auc"][k], x["auc"][k]) for k in ("value", "low", "high")) and against["rows"] == 300 and 0 < against["p"] < 1
try:
    import numpy as np
    from sklearn import metrics
except ImportError:
    raise SystemExit(0)
rows = [line.strip().split(",") for line in open("rows.csv")][1:]
test = np.array([r[6] == "test" for r in rows])
label = np.array([r[7] == "yes" for r in rows])[test]
p, q = (np.load(f"{f}/probabilities.npy")[test, 1].astype(float) for f in ("answers", "weaker"))
near = lambda a, b, off: abs(a - b) <= off or print("differs:", a, b)
assert near(metrics.roc_auc_score(label, p), x["auc"]["value"], 2e-5)
assert near(metrics.roc_auc_score(label, q), against["auc_against"]["value"], 2e-5)
assert near(metrics.average_precision_score(label, p), x["average_precision"], 1e-3)
assert near(metrics.brier_score_loss(label, p), x["brier"]["value"], 1e-6)
assert near(metrics.log_loss(label, p), x["log_loss"], 1e-6)
answer = p >= x["threshold"]["value"] - 1e-7
assert near(metrics.f1_score(label, answer), x["f1"]["value"], 1e-12) and near(metrics.recall_score(label, answer), x["sensitivity"]["value"], 1e-12)
sex = np.array([r[3] for r in rows])[test]
assert near(metrics.roc_auc_score(label[sex == "f"], p[sex == "f"]), x["by"][0]["groups"][0]["auc"]["value"], 1e-4)
PY

# ---- a column in the place of a model ----
awk -F, -v OFS=, 'NR == 1 { print $0, "score" } NR > 1 { print $0, (NR % 7 == 0 ? "" : int(10 * $1)) }' rows.csv >scored.csv
for count in 1 3; do
    ok ranks $count "$weft" eval "${plain[@]}" --data scored.csv --checkpoint run --against column:score --threads 1 --pin off --format json
    cp out column-$count.json
done
cmp column-1.json column-3.json || fail "3 ranks compare a column otherwise"
python3 - <<'PY' || fail "the column has another area"
import json
lines = [line.rstrip("\n").split(",") for line in open("scored.csv")][1:]
test = [(float(r[8]), r[7] == "yes") for r in lines if r[6] == "test" and r[8] != ""]
positive, negative = [s for s, y in test if y], [s for s, y in test if not y]
area = sum((p > n) + (p == n) / 2 for p in positive for n in negative) / len(positive) / len(negative)
against = json.load(open("column-1.json"))["indexes"]["against"]
assert against["rows"] == len(test) < 300 and abs(against["auc_against"]["value"] - area) < 1e-12, (against, area)
PY

# ---- the report ----
ok "$weft" report run --out page.html
ok "$weft" report run --out page.md --format md
PYTHONPATH=$source_dir/tests/support python3 - <<'PY' || fail "the report shows other indexes"
import json
import report_page as rp
x = json.load(open("run/summary.json"))["indexes"]
page = rp.Page(open("page.html", encoding="utf-8").read())
assert page.problems() == [], page.problems()
chart = {c.title.split(",")[0]: c for c in page.charts()}
bins, roc, pr = x["calibration"]["bins"], x["roc"], x["precision_recall"]
chart["ROC curve"].check("model", list(zip(roc["false_positive_rate"], roc["sensitivity"])))
chart["Precision over recall"].check("model", list(zip(pr["recall"], pr["precision"])))
chart["Share of positive rows over probability"].check("model", list(zip(bins["probability"], bins["share"])))
dot = chart["ROC curve"].dots[0]
assert abs(dot[0] - (1 - x["specificity"]["value"])) < 0.01 and abs(dot[1] - x["sensitivity"]["value"]) < 0.01, dot
auc = next(row for row in page.table("index") if row[0] == "AUC")
assert [float(v) for v in auc[1:]] == [round(x["auc"][k], 4) for k in ("value", "low", "high")], auc
assert [row[0] for row in page.table("age")] == ["< 60", "60 to < 75", ">= 75"]
assert "Answers at the threshold" in open("page.md", encoding="utf-8").read()
PY

# ---- limits ----
ok "$weft" eval "${plain[@]}" --data one.csv --checkpoint run --format json
$python - <<'PY' || fail "one class is not told"
import json
x = json.load(open("out"))["indexes"]
assert x["positives"] == 0 and x["auc"]["value"] is None and x["sensitivity"]["value"] is None
assert x["specificity"]["value"] is not None and any("one class" in note for note in x["notes"])
PY
"$weft" eval --target died --category sex --data rows.csv --checkpoint run --split valid >out 2>err || fail "eval: $(cat err)"
grep -q "chose on its valid rows" err || fail "a threshold that was chosen on the judged rows is not told: $(cat err)"
# A file of another name beside a summary is not of that run, and a model alone needs its kind.
mkdir beside && cp run/summary.json beside && cp weak/model.json beside/weak.json
ok "${eval[@]}" --model trees --checkpoint beside/weak.json --format json
grep -q '"chosen_on": "valid"' out || fail "the threshold is of another run: $(cat out)"
refused 2 "is a model on tables, and was taken for one on graphs" "${eval[@]}" --checkpoint beside/weak.json
refused 2 "other options that read it" "${train[@]}" --drop age --run-dir run --resume
ok "${eval[@]}" --checkpoint run --threshold 1 --format csv
grep -q '^index,sensitivity,300,0.000000,,,$' out || fail "the threshold is not the one that is asked for: $(cat out)"
cut -d, -f1-7 rows.csv >unlabelled.csv
ok "$weft" predict --data unlabelled.csv --category sex --checkpoint run --threshold 0.4 --out unlabelled --quiet
grep -q -- "--threshold 0.4 (command line) has no effect without labels" err || fail "an option without effect is not told: $(cat err)"
refused 2 "did you mean 'sex'" "${train[@]}" --by sexx --run-dir none
refused 2 "limits are for numbers" "${train[@]}" --by sex:3 --run-dir none
refused 2 "holds words" "${eval[@]}" --checkpoint run --against column:sex
refused 2 "limits must rise" "${eval[@]}" --checkpoint run --by age:70,60
refused 2 "'x' is no number" "${eval[@]}" --checkpoint run --by age:x
refused 2 "left out" "${train[@]}" --drop age --by age --run-dir none
refused 2 "from 0 to 1" "${train[@]}" --threshold 1.5 --run-dir none
refused 2 "more than 64 different values" "${eval[@]}" --checkpoint run --by a
[ ! -e none ] || fail "a training that was refused left its folder"
