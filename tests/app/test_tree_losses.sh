#!/bin/bash
# What boosted trees can be trained for beside classes: numbers by squared, absolute, quantile and Poisson loss, orders of groups. Models have the same
# bytes on 1, 2 and 3 ranks and after a resumed run; scores are those that Python finds from the predictions; XGBoost, where it is
# installed, reads the models, answers the same and, trained on the same rows, is no better by more than a few hundredths.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
python=python3
[ -x "${WEFT_PEERS_VENV:-}/bin/python" ] && python=$WEFT_PEERS_VENV/bin/python
work_folder

python3 - <<'PY'
import numpy as np
rng = np.random.default_rng(1)
n = 2000
x = rng.normal(size=(n, 6)).round(3)
real = 2 * x[:, 0] * (x[:, 1] > 0) - x[:, 2] + np.sin(3 * x[:, 3]) + 0.5 * rng.normal(size=n)
count = rng.poisson(np.exp(0.5 * x[:, 0] - 0.3 * x[:, 1] + 0.2))
weight = rng.integers(1, 4, size=n)
with open("rows.csv", "w") as out:
    out.write("a,b,c,d,e,f,real,count,weight,split\n")
    for i in range(n):
        out.write(",".join(map(str, x[i])) + f",{real[i]:.4f},{count[i]},{weight[i]},{('train', 'train', 'train', 'valid', 'test')[i % 5]}\n")
PY
plain=(--data rows.csv --model trees --threads 1 --pin off --quiet --depth 5 --weight-column weight)
numbers=(--target real --drop count) counts=(--target count --drop real)

# ---- bytes, resumption, scores ----
train_loss() { # NAME OPTION...
    ok "$weft" train "${plain[@]}" --trees 30 "${@:2}" --run-dir "$1"
    for ranks in 2 3; do
        ok mpirun --oversubscribe --bind-to none -np $ranks "$weft" train "${plain[@]}" --trees 30 "${@:2}" --run-dir "$1-$ranks"
        cmp "$1/model.json" "$1-$ranks/model.json" || fail "$1: $ranks ranks grow other trees"
    done
    ok "$weft" train "${plain[@]}" --trees 9 "${@:2}" --run-dir "$1-half"
    ok mpirun --oversubscribe --bind-to none -np 2 "$weft" train "${plain[@]}" --trees 30 "${@:2}" --run-dir "$1-half" --resume
    cmp "$1/model.json" "$1-half/model.json" || fail "$1: a resumed run has other trees"
    ok "$weft" predict --data rows.csv "${@:2:4}" --checkpoint "$1" --out "$1-out" --quiet
    ok "$weft" predict --data rows.csv "${@:2:4}" --model trees --checkpoint "$1/model.json" --out "$1-alone" --quiet
    cmp "$1-out/scores.json" "$1-alone/scores.json" >differs || python3 - "$1" <<'PY' || fail "$1: the model file alone has other scores"
import json, sys
a, b = (json.load(open(f"{sys.argv[1]}-{e}/scores.json")) for e in ("out", "alone"))
a.pop("model"), b.pop("model")
sys.exit(a != b)
PY
}
train_loss squared "${numbers[@]}"
grep -q "squared" squared/run.json || fail "auto does not choose the squared loss for fractions"
train_loss absolute "${numbers[@]}" --objective reg:absoluteerror
train_loss quantile "${numbers[@]}" --loss quantile --quantile 0.8
train_loss poisson "${counts[@]}" --loss poisson
train_loss based "${numbers[@]}" --loss mse --base-score 0.5
cat >judge.py <<'PY'
import csv, json, sys
import numpy as np
rows = list(csv.DictReader(open("rows.csv")))
split = np.array([r["split"] for r in rows])
errors = {
    "squared": ("rmse", "real", lambda m, y: np.sqrt(np.mean((m - y) ** 2))),
    "based": ("rmse", "real", lambda m, y: np.sqrt(np.mean((m - y) ** 2))),
    "absolute": ("mae", "real", lambda m, y: np.mean(abs(m - y))),
    "quantile": ("pinball", "real", lambda m, y: np.mean(np.maximum(0.8 * (y - m), 0.2 * (m - y)))),
    "poisson": ("deviance", "count", lambda m, y: 2 * np.mean(np.where(y > 0, y * np.log(np.maximum(y, 1) / m), 0) - y + m)),
}
found = {}
for name, (word, column, error) in errors.items():
    y = np.array([float(r[column]) for r in rows])
    m = np.load(f"{name}-out/predictions.npy").astype(float)[:, 0]
    summary, scores = json.load(open(f"{name}/summary.json")), json.load(open(f"{name}-out/scores.json"))
    assert summary["metric"] == scores["metric"] == word, (summary["metric"], scores["metric"])
    found[name] = [error(m[split == s], y[split == s]) for s in ("train", "valid", "test")]
    for s, e in zip(("train", "valid", "test"), found[name]):
        assert abs(scores[s]["score"] - e) < 1e-6, (name, s, scores[s], e)
    assert abs(summary["test_mean"] - found[name][2]) < 1e-6
    assert found[name][2] < 0.9 * error(np.full((split == "test").sum(), np.mean(y[split == "train"])), y[split == "test"]), (name, found[name])
share = np.mean(np.array([float(r["real"]) for r in rows])[split == "train"] < np.load("quantile-out/predictions.npy")[split == "train", 0])
assert 0.75 < share < 0.85, share
try:
    import xgboost
except ImportError:
    sys.exit(0)
x = np.array([[float(r[k]) for k in "abcdef"] for r in rows])
weight = np.array([float(r["weight"]) for r in rows])
objective = {"squared": {"objective": "reg:squarederror"}, "based": {"objective": "reg:squarederror", "base_score": 0.5},
             "absolute": {"objective": "reg:absoluteerror"}, "quantile": {"objective": "reg:quantileerror", "quantile_alpha": 0.8},
             "poisson": {"objective": "count:poisson", "max_delta_step": 0}}
for name, (word, column, error) in errors.items():
    ours = np.load(f"{name}-out/predictions.npy")[:, 0]
    theirs = xgboost.Booster(model_file=f"{name}/model.json").predict(xgboost.DMatrix(x, feature_names=list("abcdef")))
    assert abs(theirs - ours).max() < 1e-5, (name, abs(theirs - ours).max())
    y = np.array([float(r[column]) for r in rows])
    t, e = split == "train", split == "test"
    grown = xgboost.train({**objective[name], "max_depth": 5, "eta": 0.1, "tree_method": "hist", "nthread": 1},
                          xgboost.DMatrix(x[t], y[t], weight=weight[t]), 30)
    their_error = error(grown.predict(xgboost.DMatrix(x[e])), y[e])
    print(name, word, found[name][2], "XGBoost", their_error)
    assert found[name][2] < 1.04 * their_error, (name, found[name][2], their_error)
PY
$python judge.py >judged 2>err || fail "scores: $(cat err)"
cat judged

# ---- the best round is that of the least error ----
ok "$weft" train "${plain[@]}" "${numbers[@]}" --trees 200 --lr 0.5 --patience 5 --run-dir early
python3 - <<'PY' || fail "the best round is not that of the least validation error"
import json
valid = [json.loads(l)["valid"] for l in open("early/metrics.jsonl")]
summary = json.load(open("early/summary.json"))
assert summary["valid_mean"] == min(valid) and len(valid) < 200, (summary["valid_mean"], min(valid), len(valid))
PY
ok "$weft" train "${plain[@]}" "${numbers[@]}" --trees 4 --lr 0.5 --patience 5 --run-dir resumed
ok "$weft" train "${plain[@]}" "${numbers[@]}" --trees 200 --lr 0.5 --patience 5 --run-dir resumed --resume
cmp early/model.json resumed/model.json || fail "a resumed run ends at another best round"
ok "$weft" report early --out early.html
grep -q "RMSE" early.html || fail "the report has no RMSE"

# ---- two classes with a weight of the second ----
python3 - <<'PY'
import csv
with open("classes.csv", "w") as out:
    out.write("a,b,c,d,class,weight\n")
    for r in csv.DictReader(open("rows.csv")):
        t = int(float(r["real"]) > 2)
        out.write(",".join(r[k] for k in "abcd") + f",{t},{3 if t else 1}\n")
PY
two=(--data classes.csv --model trees --threads 1 --pin off --quiet --trees 10 --target class)
ok "$weft" train "${two[@]}" --drop weight --scale-pos-weight 3 --run-dir scaled
ok "$weft" train "${two[@]}" --weight-column weight --run-dir weighted
cmp scaled/model.json weighted/model.json || fail "--scale-pos-weight 3 is not a weight of 3"

# ---- three classes: the file says from which margin the trees begin, and margins are sums of leaves from there ----
python3 - <<'PY'
import csv
with open("three.csv", "w") as out:
    out.write("a,b,c,d,class\n")
    for r in csv.DictReader(open("rows.csv")):
        out.write(",".join(r[k] for k in "abcd") + f",{sum(float(r['real']) > limit for limit in (0, 2))}\n")
PY
ok "$weft" train --data three.csv --model trees --threads 1 --pin off --quiet --trees 5 --target class --run-dir three
ok "$weft" predict --data three.csv --checkpoint three --target class --out three-out --margins --quiet
cat >margins.py <<'PY'
import csv, json
import numpy as np
learner = json.load(open("three/model.json"))["learner"]
assert float(learner["learner_model_param"]["base_score"]) == 0, learner["learner_model_param"]
margins = np.load("three-out/margins.npy")
assert margins.shape[1] == 3, margins.shape
try:
    import xgboost
except ImportError:
    raise SystemExit(0)
x = np.array([[float(r[k]) for k in "abcd"] for r in csv.DictReader(open("three.csv"))])
theirs = xgboost.Booster(model_file="three/model.json").predict(xgboost.DMatrix(x, feature_names=list("abcd")), output_margin=True)
assert abs(theirs - margins).max() < 1e-5, abs(theirs - margins).max()
PY
$python margins.py 2>err || fail "margins of three classes: $(cat err)"

# ---- refusals ----
refused 65 "no class" "$weft" train "${plain[@]}" "${numbers[@]}" --loss xent
refused 2 "rmse" "$weft" train "${two[@]}" --metric rmse
refused 2 "acc" "$weft" train "${plain[@]}" "${numbers[@]}" --metric acc
refused 65 "counts" "$weft" train "${plain[@]}" "${numbers[@]}" --loss poisson
refused 2 "--scale-pos-weight" "$weft" train "${plain[@]}" "${numbers[@]}" --scale-pos-weight 2
refused 2 "probability" "$weft" train "${two[@]}" --base-score 2
printf 'a,target\n1,p\n2,q\n' >words.csv
refused 65 "holds words" "$weft" train --data words.csv --model trees --quiet --target target --loss squared

# ---- files of validation and test rows ----
python3 - <<'PY'
lines = open("rows.csv").read().splitlines()
cut = lambda line: line.rsplit(",", 1)[0]
for name in ("train", "valid", "test"):
    with open(name + ".csv", "w") as out:
        out.write(cut(lines[0]) + "\n" + "".join(cut(l) + "\n" for l in lines[1:] if l.endswith("," + name)))
with open("other.csv", "w") as out:
    out.write("b,a\n1,2\n")
PY
apart=(--data train.csv "${plain[@]:2}" "${numbers[@]}" --trees 30)
ok "$weft" train "${apart[@]}" --valid valid.csv --test test.csv --run-dir apart
ok mpirun --oversubscribe --bind-to none -np 3 "$weft" train "${apart[@]}" --valid valid.csv --test test.csv --run-dir apart-3
cmp apart/model.json apart-3/model.json || fail "3 ranks grow other trees of three files"
cmp apart/model.json squared/model.json || fail "files of their own are not a column of splits"
refused 65 "header is not that of" "$weft" train "${apart[@]}" --valid other.csv

# ---- the order of rows within groups: longer than a rank's share, of one row, without a good row ----
python3 - <<'PY'
import numpy as np
rng = np.random.default_rng(4)
with open("groups.csv", "w") as out:
    out.write("query,a,b,c,d,grade,split\n")
    for q in range(120):
        for _ in range(700 if q == 40 else 1 + q % 25):
            x = rng.normal(size=4).round(3)
            f = x[0] - x[1] * (x[2] > 0) + 0.6 * rng.normal()
            grade = 0 if q % 11 == 5 else int(np.clip(np.floor(1.2 * f + 1), 0, 4))
            out.write(f"{q * 7919 % 1009}," + ",".join(map(str, x)) + f",{grade},{('train', 'train', 'valid', 'test')[q % 4]}\n")
PY
order=(--data groups.csv --model trees --threads 1 --pin off --quiet --target grade --group query --loss rank:ndcg)
ok "$weft" train "${order[@]}" --trees 20 --run-dir ranked
for ranks in 2 3; do
    ok mpirun --oversubscribe --bind-to none -np $ranks "$weft" train "${order[@]}" --trees 20 --run-dir "ranked-$ranks"
    cmp ranked/model.json "ranked-$ranks/model.json" || fail "$ranks ranks grow other trees of groups"
done
ok "$weft" predict --data groups.csv --target grade --group query --checkpoint ranked --out ranked-out --quiet
cat >order.py <<'PY'
import csv, json, sys
import numpy as np
rows = list(csv.DictReader(open("groups.csv")))
grade = np.array([int(r["grade"]) for r in rows])
query = np.array([int(r["query"]) for r in rows])
split = np.array([r["split"] for r in rows])

def ndcg(answer, of, k=10):
    scores = []
    for q in np.unique(query[split == of]):
        at = (query == q) & (split == of)
        gain = 2.0 ** grade[at] - 1
        discount = 1 / np.log2(2 + np.arange(min(k, at.sum())))
        best = (np.sort(gain)[::-1][:k] * discount).sum()
        scores.append((gain[np.argsort(-answer[at], kind="stable")][:k] * discount).sum() / best if best > 0 else 1.0)
    return np.mean(scores)

answer = np.load("ranked-out/predictions.npy")[:, 0]
summary, scores = json.load(open("ranked/summary.json")), json.load(open("ranked-out/scores.json"))
assert summary["metric"] == "ndcg"
for of in ("train", "valid", "test"):
    assert abs(scores[of]["score"] - ndcg(answer, of)) < 1e-9, (of, scores[of], ndcg(answer, of))
assert abs(summary["test_mean"] - ndcg(answer, "test")) < 1e-9
assert ndcg(answer, "test") > ndcg(np.zeros(len(rows)), "test") + 0.1
try:
    import lightgbm
except ImportError:
    sys.exit(0)
x = np.array([[float(r[k]) for k in "abcd"] for r in rows])
t = split == "train"
sizes = [int((query[t] == q).sum()) for q in dict.fromkeys(query[t])]
data = lightgbm.Dataset(x[t], grade[t], group=sizes)
theirs = lightgbm.train({"objective": "lambdarank", "num_leaves": 63, "max_depth": 6, "learning_rate": 0.1, "lambda_l2": 1, "min_data_in_leaf": 1,
                         "num_threads": 1, "verbose": -1}, data, summary["epochs"])
print("rank ndcg", summary["test_mean"], "LightGBM", ndcg(theirs.predict(x), "test"))
assert summary["test_mean"] > ndcg(theirs.predict(x), "test") - 0.03
PY
$python order.py 2>err || fail "order: $(cat err)"
refused 69 "--loss rank" "$weft" train --data groups.csv --model trees --quiet --target grade --group query --loss squared
refused 65 "--group COLUMN" "$weft" train --data groups.csv --model trees --quiet --target grade --loss rank
{ head -1 groups.csv; tail -n +2 groups.csv | sort -t, -k2,2; } >mixed.csv
refused 65 "do not stand together" "$weft" train --data mixed.csv "${order[@]:2}"
