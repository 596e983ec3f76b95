#!/bin/bash
# Columns of several ids and LIBSVM files for models of clicks: losses of lr and fm are those of NumPy, whose rows are the
# program's by what it answers to single ids and pairs; one id a cell is a word; losses of 1, 2 and 3 ranks agree in every
# mode, from files and stores; runs go on and answer on other files. What may be meant otherwise is told or refused.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
work_folder

# 300 rows whose tags are among 8, some named twice, some rows without; the same as pairs, a number of times as the value.
python3 - <<'PY'
import numpy as np

rng = np.random.default_rng(5)
n, tags = 300, 8
rows = [list(rng.integers(0, tags, rng.integers(0, 5))) for _ in range(n)]
v = rng.normal(size=(tags, 2))
z = [sum(v[a] @ v[b] for k, a in enumerate(r) for b in r[:k]) + 0.3 * len(r) - 0.4 for r in rows]
y = (rng.random(n) < 1 / (1 + np.exp(-np.array(z)))).astype(int)
with open("bags.csv", "w") as csv, open("pairs.svm", "w") as svm:
    csv.write("tags,who,one,click\n")
    for i, r in enumerate(rows):
        csv.write(f"{'|'.join(f't{a}' for a in r)},u{i % 7},t{i * 5 % 11},{y[i]}\n")
        svm.write(f"{2 * y[i] - 1}" + "".join(f" {a + 1}:{0.5 * r.count(a):g}" for a in sorted(set(r))) + "\n")
probes = [[]] + [[a] for a in range(tags)] + [[a, b] for a in range(tags) for b in range(a + 1)]
with open("probes.csv", "w") as csv:
    csv.write("tags,other\n" + "".join("|".join(f"t{a}" for a in p) + ",1\n" for p in probes))
np.savez("truth.npz", y=y, count=[[r.count(a) for a in range(tags)] for r in rows])
PY
all=(--threads 1 --pin off --quiet --valid-share 0 --test-share 0)
# One batch an epoch, plain gradient descent of rows alone: losses are a function of the table.
whole=("${all[@]}" --batch-size 1000 --optimizer sgd --lr 1e-12 --row-optimizer sgd)
long=("${whole[@]}" --epochs 6 --row-lr 2)
only=(--target click --drop who,one --bags tags)
train() { ok "$weft" train "$@"; }
train --data bags.csv "${only[@]}" "${long[@]}" --model lr --run-dir lr-sum
train --data bags.csv "${only[@]}" "${long[@]}" --model lr --bag-pooling mean --run-dir lr-mean
train --data pairs.svm --positive-from 1 "${long[@]}" --model lr --run-dir lr-pairs
for pooling in sum mean; do
    train --data bags.csv "${only[@]}" "${long[@]}" --model fm --width 6 --row-spread 0.6 --bag-pooling $pooling --run-dir fm-$pooling
done
# Rows as they begin: what a model answers that has hardly been trained.
train --data bags.csv "${only[@]}" "${whole[@]}" --model fm --width 6 --row-spread 0.6 --row-lr 1e-12 --epochs 1 --run-dir begin
ok "$weft" predict --checkpoint begin --data probes.csv --out begin-out --quiet
train --data pairs.svm --positive-from 1 "${long[@]}" --model fm --width 6 --row-spread 0.6 --run-dir fm-pairs
python3 - <<'PY' >probes.svm
tags = 8
rows = [{}] + [{a: 1} for a in range(tags)] + [{a: 3} for a in range(tags)]
rows += [{b: 1.5, a: -2} for a in range(tags) for b in range(a)] + [{b: 1, a: 1} for a in range(tags) for b in range(a)]
for row in rows:
    print(1, *[f"{a + 1}:{x}" for a, x in row.items()])
PY
ok "$weft" predict --checkpoint fm-pairs --data probes.svm --table-format libsvm --out pairs-out --quiet
python3 - <<'PY' || fail "losses or answers are not those of NumPy"
import json
import numpy as np

truth = np.load("truth.npz")
y, count = truth["y"].astype(float), truth["count"].astype(float)
n, tags = count.shape
many = np.maximum(count.sum(1, keepdims=True), 1)


def losses(run):
    return np.array([e["loss"] for e in map(json.loads, open(run + "/metrics.jsonl")) if "loss" in e])


def answers(folder):
    p = np.load(folder + "/probabilities.npy").ravel().astype(float)
    return np.log(p / (1 - p))


def step(z):
    return (np.logaddexp(0, z) - y * z).mean(), (1 / (1 + np.exp(-z)) - y) / n


def lr(x, rate=2.0):
    w, out = np.zeros(tags), []
    for _ in range(6):
        loss, g = step(x @ w)
        out.append(loss)
        w -= rate * (x.T @ g)
    return np.array(out)


for run, x in ("lr-sum", count), ("lr-mean", count / many), ("lr-pairs", 0.5 * count):
    assert np.abs(losses(run) - lr(x)).max() < 1e-5, (run, losses(run), lr(x))
assert losses("lr-sum")[-1] < losses("lr-sum")[0] - 0.01

# An id that is named twice is a pair with itself.
z = answers("begin-out")
assert np.abs(z[:1 + tags]).max() < 1e-5  # single ids have no pair
gram = np.zeros((tags, tags))
at = 1 + tags
for a in range(tags):
    for b in range(a + 1):
        gram[a, b] = gram[b, a] = z[at]
        at += 1
value, vector = np.linalg.eigh(gram)
assert value.min() > -1e-4 and (value > 1e-3).sum() == 6, value  # rows have 6 numbers
begin = vector * np.sqrt(np.maximum(value, 0))


def fm(x, square, rate=2.0):  # x: sum of weights of each id of a row; square: of their squares
    w, v, out = np.zeros(tags), begin.copy(), []
    for _ in range(6):
        s = x @ v
        loss, g = step(x @ w + 0.5 * ((s ** 2).sum(1) - square @ (v ** 2).sum(1)))
        out.append(loss)
        w = w - rate * (x.T @ g)
        v = v - rate * ((x * g[:, None]).T @ s - (square.T @ g)[:, None] * v)
    return np.array(out)


for run, x, square in ("fm-sum", count, count), ("fm-mean", count / many, count / many ** 2):
    assert np.abs(losses(run) - fm(x, square)).max() < 1e-4, (run, losses(run), fm(x, square))
    assert losses(run)[-1] < losses(run)[0] - 0.02

# A machine of libFM answers w0 + sum w_i x_i + sum x_i x_j <v_i, v_j>.
z = answers("pairs-out")
z, zero = z[1:] - z[0], z[0]
w, triple, z = z[:tags], z[tags:2 * tags], z[2 * tags:]
assert np.abs(triple - 3 * w).max() < 1e-5 and np.abs(w).max() > 0.05
pairs = [(a, b) for a in range(tags) for b in range(a)]
scaled, plain = z[:len(pairs)], z[len(pairs):]
product = np.array([plain[k] - w[a] - w[b] for k, (a, b) in enumerate(pairs)])
expected = np.array([1.5 * w[b] - 2 * w[a] - 3 * product[k] for k, (a, b) in enumerate(pairs)])
assert np.abs(scaled - expected).max() < 1e-4 and np.abs(product).max() > 0.1, np.abs(scaled - expected).max()
PY

# ---- one id a cell is a word, and ranks agree ----
losses() { python3 -c "
import json, sys
for line in open(sys.argv[1] + '/metrics.jsonl'):
    e = json.loads(line)
    if 'loss' in e: print(e['loss'])" "$1"; }
near() { # RUN RUN
    losses "$1" >a
    losses "$2" >b
    paste a b | awk -v runs="$1 $2" '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) { print runs, $0; bad = 1 } } END { exit bad || NR == 0 }' ||
        fail "$1 and $2 are other trainings"
}
fast=("${all[@]}" --batch-size 64 --row-lr 0.1 --lr 0.005)
short=("${fast[@]}" --epochs 3)
some=("${short[@]}" --target click)
for model in fm deepfm; do
    train --data bags.csv "${some[@]}" --drop tags --category one --model $model --run-dir word-$model
    train --data bags.csv "${some[@]}" --drop tags --bags one --model $model --run-dir bag-$model
    near word-$model bag-$model
    grep -q "'one'.*no cell has the separator" err || fail "a separator that never occurs is not told"
done
gzip -k bags.csv
ok "$weft" convert bags.csv --target click --category one --out bags.weft
for model in fm deepfm dcn; do
    train --data bags.csv "${some[@]}" --bags tags --model $model --bag-pooling mean --run-dir $model-1
    for mode in all-to-all replicate des; do
        ok ranks 3 "$weft" train --data bags.csv "${some[@]}" --bags tags --model $model --bag-pooling mean --table-mode $mode --run-dir $model-3
        near $model-1 $model-3
        rm -r $model-3
    done
    ok ranks 2 "$weft" train --data bags.weft "${short[@]}" --bags tags --model $model --bag-pooling mean --run-dir $model-store
    near $model-1 $model-store
done
train --data bags.csv.gz "${some[@]}" --bags Tags --model fm --bag-pooling mean --run-dir gz
near fm-1 gz
train --data pairs.svm --positive-from 1 "${short[@]}" --model fm --run-dir pairs-1
ok ranks 3 "$weft" train --data pairs.svm --positive-from 1 "${short[@]}" --model fm --table-mode des --run-dir pairs-3
near pairs-1 pairs-3

# ---- runs go on, and answer on other files ----
ok ranks 2 "$weft" train --data bags.csv "${fast[@]}" --target click --epochs 2 --bags tags --model deepfm --bag-pooling mean --run-dir on
ok ranks 3 "$weft" train --data bags.csv "${some[@]}" --bags tags --model deepfm --bag-pooling mean --run-dir on --resume
near deepfm-1 on
awk -F, -v OFS=, 'NR == 1 { print "one,tags,who"; next } { print $3, $1, $2 }' bags.csv >other.csv
for data in bags.csv bags.weft other.csv; do
    ok "$weft" predict --checkpoint on --data $data --out "of-$data" --quiet
    cmp "of-bags.csv/probabilities.npy" "of-$data/probabilities.npy" || fail "answers on $data differ"
done
ok "$weft" eval --checkpoint on --data bags.csv --target click --bags tags --quiet

# ---- what is told and refused ----
told() { grep -q "$1" err || fail "not told: $1"; }
printf 'tags,click\na||b,1\n|a,0\n"[1, 2]",1\n,0\n a | b ,1\n' >odd.csv
train --data odd.csv --threads 1 --pin off --valid-share 0 --test-share 0 --target click --bags tags --model lr --run-dir odd
told "row 0, column 'tags': 'a||b' has nothing before, between or behind separators.*2 different cells"
told "row 2, column 'tags': '\[1, 2\]' looks like a list"
told "'tags': 1.2 ids a row, 2 at most; 1 rows have none"
python3 -c "print('tags,click'); print('a,0'); print('|'.join(['a'] * 65537) + ',1')" >long.csv
refused 65 ".' has more than 65536 ids" "$weft" train --data long.csv "${all[@]}" --target click --bags tags --model lr --run-dir no
refused 2 "did you mean 'tags'" "$weft" train --data bags.csv "${some[@]}" --bags tgas --model lr --run-dir no
refused 2 "--bags click: no column of ids has this name" "$weft" train --data bags.csv "${some[@]}" --bags click --model lr --run-dir no
refused 2 "expected names with commas" "$weft" train --data bags.csv "${some[@]}" --bags 'tags;one' --model lr --run-dir no
refused 2 "nothing is given" "$weft" train --data bags.csv "${some[@]}" --bags tags --bag-separator= --model lr --run-dir no
ok "$weft" convert bags.csv --target click --id tags --out hashed.weft
refused 65 "keeps a hash of each cell" "$weft" train --data hashed.weft "${all[@]}" --bags tags --model lr --run-dir no
refused 65 "those are the pairs of a LIBSVM file" "$weft" predict --checkpoint pairs-1 --data bags.csv --out no --quiet
refused 2 "several ids of a cell by --bags 'tags'" "$weft" train --data bags.csv "${some[@]}" --model deepfm --init-weights on --run-dir no
printf '1 1:1 2:inf\n0 1:1\n' >infinite.svm
refused 65 "infinite.svm" "$weft" train --data infinite.svm "${all[@]}" --model lr --run-dir no
train --data bags.csv "${some[@]}" --drop tags --model lr --bag-pooling mean --run-dir nothing
told "changes nothing"
echo "passed"
