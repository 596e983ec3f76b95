#!/bin/bash
# Boosted trees from a table to answers: the model file has the same bytes on 1, 2 and 3 ranks, from text, arrays and a store, and
# after a resumed run; answers are those that its trees give when Python walks them; a store, a split column and classes of words
# and numbers work; what cannot be learned from is refused with its place and a cure; XGBoost, where it is installed, reads the
# model and gives the same answers.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
work_folder

python3 - <<'PY'
import numpy as np
rng = np.random.default_rng(4)
with open("mixed.csv", "w") as out:  # a column of numbers, one of 3 words, one of 40
    out.write("n,few,many,target\n")
    for _ in range(800):
        n, few, many = round(rng.normal(), 2), rng.integers(3), rng.integers(40)
        word = "" if rng.random() < 0.1 else f"w{many:02d}"
        out.write(f"{n},{'abc'[few]},{word},{'yes' if n + (few == 1) + np.sin(many * 7) + 0.3 * rng.normal() > 0 else 'no'}\n")
rng = np.random.default_rng(3)
x = rng.normal(size=(700, 4)).round(3)
f = 2 * x[:, 0] * (x[:, 1] > 0) - x[:, 2] + 0.3 * rng.normal(size=700)
cell = lambda v: "" if rng.random() < 0.05 else f"{v}"
rows = [",".join(cell(v) for v in r) for r in x]
names = ["hill", "lake"]
with open("words.csv", "w") as out:
    out.write("a,b,c,d,target\n" + "".join(f"{r},{names[int(t > 0)]}\n" for r, t in zip(rows, f)))
c = np.float32(np.column_stack([rng.normal(size=(7000, 3)).round(4), rng.integers(0, 2, 7000)]))
c[rng.random((7000, 4)) < (0.05, 0, 0.05, 0)] = np.nan
np.save("c.npy", c)
with open("c.csv", "w") as out:
    out.write("c1,c2,c3,c4\n" + "".join(",".join("" if v != v else f"{v:.9g}" for v in r) + "\n" for r in c))
with open("numbers.csv", "w") as out:
    out.write("a,b,c,d,kind,split\n" + "".join(
        f"{r},{int(t > -1) + 3 * int(t > 1)},{('train', 'train', 'valid', 'test')[i % 4]}\n" for i, (r, t) in enumerate(zip(rows, f))))
with open("asked.csv", "w") as out:  # columns in another order, and no target
    out.write("d,c,b,a\n" + "".join(",".join(reversed(r.split(","))) + "\n" for r in rows[:60]))
PY
plain=(--model trees --threads 1 --pin off --quiet --depth 4)
how=("${plain[@]}" --trees 12)

# ---- the same bytes on any number of ranks, from a store, and when a run is resumed ----
ok "$weft" train --data words.csv "${how[@]}" --run-dir one
for ranks in 2 3; do
    ok mpirun --oversubscribe --bind-to none -np $ranks "$weft" train --data words.csv "${how[@]}" --run-dir "many$ranks"
    cmp one/model.json "many$ranks/model.json" || fail "$ranks ranks grow other trees"
done
ok "$weft" convert words.csv --target target --out words.weft
ok "$weft" convert c.csv --target c4 --out c.weft
ok "$weft" train --data words.weft "${how[@]}" --run-dir stored
cmp one/model.json stored/model.json || fail "a store grows other trees than its file"
for ranks in 1 2 3; do
    for data in c.csv c.npy c.weft; do
        rm -rf cut
        ok mpirun --oversubscribe --bind-to none -np $ranks "$weft" train --data $data --target c4 --model trees --trees 4 --depth 5 \
            --threads 1 --pin off --quiet --run-dir cut
        [ -e whole.json ] || cp cut/model.json whole.json
        cmp whole.json cut/model.json || fail "$data on $ranks ranks grows other trees"
    done
done
ok "$weft" train --data words.csv "${plain[@]}" --trees 5 --run-dir two
ok mpirun --oversubscribe --bind-to none -np 2 "$weft" train --data words.csv "${how[@]}" --run-dir two --resume
cmp one/model.json two/model.json || fail "a resumed run has other trees"

# ---- answers, by Python's own walk over the trees ----
ok mpirun --oversubscribe --bind-to none -np 2 "$weft" predict --data asked.csv --checkpoint one --out asked --quiet --contributions
ok "$weft" train --data numbers.csv --target kind "${how[@]}" --leaves 6 --run-dir kinds
ok "$weft" predict --data numbers.csv --target kind --checkpoint kinds --out kinds-out --quiet
# A column that is called a target and is an input of the model is no target; the model's own is found without being named.
sed '1s/target/click/; 1s/$/,y/; 2,$s/$/,1/; 3s/,1$/,0/' mixed.csv >named.csv
ok "$weft" train --data named.csv --target click "${how[@]}" --run-dir named
ok "$weft" predict named named.csv --out named-out
grep -q "column 'click' is the target, as the model learned it" err || fail "another target: $(cat err)"
cut -d, -f1-3,5 named.csv >no-click.csv
ok "$weft" predict named no-click.csv --out no-click-out
grep -q "no labels" err || fail "an input of the model is its target: $(cat err)"
cmp named-out/probabilities.npy no-click-out/probabilities.npy || fail "answers without the target are others"
refused 2 "the model reads column 'y'" "$weft" eval --checkpoint named --data named.csv --target y
cat >walk.py <<'PY'
import csv, json, math, sys
import numpy as np

def probabilities(model, table):
    learner = json.load(open(model))["learner"]
    trees = learner["gradient_booster"]["model"]["trees"]
    outputs = max(int(learner["learner_model_param"]["num_class"]), 1)
    answers = []
    for row in csv.DictReader(open(table)):
        value = [float(row[n]) if row[n] else None for n in learner["feature_names"]]
        margin = [np.float32(learner["attributes"][f"weft_base_{k}"]) for k in range(outputs)]
        for t, tree in enumerate(trees):
            at = 0
            while tree["left_children"][at] >= 0:
                x = value[tree["split_indices"][at]]
                left = tree["default_left"][at] if x is None else np.float32(x) < np.float32(tree["split_conditions"][at])
                at = tree["left_children"][at] if left else tree["right_children"][at]
            margin[t % outputs] += np.float32(tree["split_conditions"][at])
        margin = [0.0, float(margin[0])] if outputs == 1 else [float(m) for m in margin]
        exps = [math.exp(m - max(margin)) for m in margin]
        answers.append([e / sum(exps) for e in exps])
    return np.array(answers)

for model, table, out in (("one", "asked.csv", "asked"), ("kinds", "numbers.csv", "kinds-out")):
    expected, found = probabilities(model + "/model.json", table), np.load(out + "/probabilities.npy")
    assert expected.shape == found.shape, (expected.shape, found.shape)
    assert abs(expected - found).max() < 1e-6, abs(expected - found).max()
shares = np.load("asked/contributions.npy").astype(np.float64)  # a row's sum is its logit; the walk over sets is a unit test
logit = np.log(probabilities("one/model.json", "asked.csv"))
assert shares.shape == (60, 2, 5) and abs(shares[:, 0]).max() == 0
assert abs(shares[:, 1].sum(axis=1) - (logit[:, 1] - logit[:, 0])).max() < 1e-5
kinds = [json.load(open("kinds/run.json"))["data"]["class_names"]]
assert kinds == [["0", "1", "4"]], kinds
summary = json.load(open("kinds/summary.json"))
rows = list(csv.DictReader(open("numbers.csv")))
right = [int(kinds[0][p.argmax()] == r["kind"]) for p, r in zip(np.load("kinds-out/probabilities.npy"), rows) if r["split"] == "test"]
assert abs(summary["test_mean"] - sum(right) / len(right)) < 1e-9, (summary["test_mean"], sum(right) / len(right))
assert sum(right) / len(right) > 0.6  # the largest class has less than half
try:
    import xgboost
except ImportError:
    sys.exit(0)
data = xgboost.DMatrix(np.array([[float(r[n]) if r[n] else np.nan for n in "abcd"] for r in csv.DictReader(open("asked.csv"))]), feature_names=list("abcd"))
theirs = xgboost.Booster(model_file="one/model.json").predict(data)
assert abs(theirs - np.load("asked/probabilities.npy")[:, 1]).max() < 1e-6
theirs = xgboost.Booster(model_file="one/model.json").predict(data, pred_contribs=True)
assert abs(theirs - shares[:, 1]).max() < 1e-5
PY
python3 walk.py 2>err || fail "answers: $(cat err)"
ok "$weft" eval --data words.csv --checkpoint one --quiet
ok "$weft" train --data words.csv "${how[@]}" --dry-run
grep -qE "^ +128 +[0-9.]+ +[0-9.]+% +[0-9.]+ +[0-9.]+ " out || fail "a dry run does not tell the seconds on 128 ranks: $(cat out)"

ok "$weft" export one --out copy.json --quiet
cmp one/model.json copy.json || fail "weft export changes the trees"
refused 2 "FILE.json" "$weft" export one --out copy.safetensors
# ---- columns of words, demands on columns, samples and dropped rounds: as XGBoost reads the model ----
cat >words.py <<'PY'
import csv, json, sys
import numpy as np
try:
    import xgboost
except ImportError:
    sys.exit(0)
model, table, answers = sys.argv[1:]
learner = json.load(open(model))["learner"]
names, word = learner["feature_names"], {}
for key, text in learner["attributes"].items():
    if key.startswith("weft_word_"):
        column, code = map(int, key.split("_")[2:])
        word[names[column], text] = code
cell = lambda name, text: float("nan") if text == "" else word.get((name, text), float("nan")) if name != "n" else float(text)
x = np.array([[cell(n, r[n]) for n in names] for r in csv.DictReader(open(table))], np.float32)
data = xgboost.DMatrix(x, feature_names=names, feature_types=learner["feature_types"], enable_categorical=True)
booster = xgboost.Booster(model_file=model)
assert abs(booster.predict(data) - np.load(answers + "/probabilities.npy")[:, 1]).max() < 1e-6
assert abs(booster.predict(data, pred_contribs=True) - np.load(answers + "/contributions.npy")[:, 1]).max() < 1e-5
booster.save_model("theirs.json")
PY
for what in "" "--monotone n:+1 --interactions n,few;many" "--row-sampling goss" "--booster dart"; do
    rm -rf mixed mixed2 mixed-out theirs-out
    ok "$weft" train --data mixed.csv "${how[@]}" $what --run-dir mixed
    ok mpirun --oversubscribe --bind-to none -np 2 "$weft" train --data mixed.csv "${how[@]}" $what --run-dir mixed2
    cmp mixed/model.json mixed2/model.json || fail "'$what': 2 ranks grow other trees"
    ok "$weft" predict --data mixed.csv --checkpoint mixed --out mixed-out --quiet --contributions
    python3 words.py mixed/model.json mixed.csv mixed-out 2>err || fail "'$what': $(cat err)"
    if [ -f theirs.json ]; then
        ok "$weft" predict --data mixed.csv --model trees --checkpoint theirs.json --out theirs-out --quiet
        cmp mixed-out/probabilities.npy theirs-out/probabilities.npy || fail "'$what': XGBoost's file answers otherwise"
    fi
done

# More words than a byte tells apart: bins of two bytes and sets of them, the same on any number of ranks, and rows are told apart by them.
python3 - <<'PY'
import random
random.seed(5)
with open("ids.csv", "w") as out:
    out.write("id,n,target\n")
    for row in range(4000):
        word = row % 500
        out.write(f"w{word:03d},{random.random():.3f},{'yes' if (word * 2654435761 >> 7) % 2 else 'no'}\n")
PY
ids=(--data ids.csv --trees 10 --category-smooth 0 --category-most 0 --valid-share 0 --test-share 0)
for ranks in 1 2 3; do
    ok mpirun --oversubscribe --bind-to none -np $ranks "$weft" train "${ids[@]}" "${plain[@]}" --bins 1023 --run-dir "ids$ranks"
    cmp ids1/model.json "ids$ranks/model.json" || fail "$ranks ranks grow other trees of 500 words"
done
ok "$weft" predict --data ids.csv --checkpoint ids1 --out ids-out --quiet --contributions
python3 words.py ids1/model.json ids.csv ids-out 2>err || fail "500 words: $(cat err)"
ok "$weft" train "${ids[@]}" "${plain[@]}" --run-dir ids255
ok "$weft" predict --data ids.csv --checkpoint ids255 --out ids255-out --quiet
python3 - <<'PY' || fail "500 words in 1,023 bins are not told apart, or 255 bins tell them apart"
import csv
import numpy as np
rows = [row["target"] == "yes" for row in csv.DictReader(open("ids.csv"))]
right = [((np.load(f"{out}/probabilities.npy")[:, 1] > 0.5) == rows).mean() for out in ("ids-out", "ids255-out")]
assert right[0] == 1.0 and right[1] < 0.9, right
PY
printf 'few,many,n\nnew,w01,0.5\n,w01,0.5\n' >unseen.csv # a word that training has not seen is a missing value
ok "$weft" predict --data unseen.csv --checkpoint mixed --out unseen --quiet
python3 -c 'import numpy as np; p = np.load("unseen/probabilities.npy"); assert (p[0] == p[1]).all(), p' || fail "unseen words"

# ---- refusals ----
printf 'few,many,n\n1,w01,0.5\n' >digits.csv
refused 65 "--category" "$weft" predict --data digits.csv --checkpoint mixed --out none
printf 'few,many,n\na,w01,x\n' >letters.csv
refused 65 "reads numbers there" "$weft" predict --data letters.csv --checkpoint mixed --out none
refused 2 "is named 'z'" "$weft" train --data mixed.csv "${how[@]}" --monotone z:1
refused 2 "have no direction" "$weft" train --data mixed.csv "${how[@]}" --monotone few:1
refused 2 "2 numbers for 3 columns" "$weft" train --data mixed.csv "${how[@]}" --monotone "(1,0)"
refused 2 "is named ''" "$weft" train --data mixed.csv "${how[@]}" --interactions "n,few;"
refused 2 "--row-sampling goss" "$weft" train --data mixed.csv "${how[@]}" --row-sampling goss --subsample 0.5
refused 2 "more than all rows" "$weft" train --data mixed.csv "${how[@]}" --row-sampling goss --top-rate 0.95
printf 'a,b\n1,2\n2,3\n' >target.csv
refused 65 "--target" "$weft" train --data target.csv "${how[@]}"
printf 'a,target\n1,p\n2,p\n3,p\n' >class.csv
refused 65 "one class" "$weft" train --data class.csv "${how[@]}"
printf 'a,target\n1,0.5\n2,1\n' >fraction.csv
refused 69 "--loss rank" "$weft" train --data words.csv --group a "${how[@]}"
refused 69 "--loss bce" "$weft" train --data words.csv --loss bce "${how[@]}"
ok "$weft" train --data words.csv --model trees --threads 1 --pin off --trees 2 --label-smoothing 0.1 --dry-run
grep -q "label-smoothing" err || fail "smoothing is left out without a word: $(cat err)"
refused 65 "is no class" "$weft" train --data fraction.csv --loss xent "${how[@]}"
printf 'a,target\n1,p\n2,q\n' >narrow.csv
refused 65 "has no column 'b'" "$weft" predict --data narrow.csv --checkpoint one --out none
sed 's/d,c,b,a/d,c,b,z/' asked.csv >other.csv
refused 65 "has no column 'a'" "$weft" predict --data other.csv --checkpoint one --out none
sed 's/"left_children": \[1/"left_children": [0/' one/model.json >cycle.json
mkdir cycle && mv cycle.json cycle/model.json
refused 65 "two parents" "$weft" predict --data asked.csv --model trees --checkpoint cycle/model.json --out none
