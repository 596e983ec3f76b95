#!/bin/bash
# Models of clicks from a table to answers: losses and scores of 1, 2, 3 and 5 ranks agree, a run goes on with another number of
# ranks, answers are the same on any number, Python finds the scores that were told, and each model learns what it can express.
# What cannot be learned from is refused with its place and a cure.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need_numpy
work_folder

# Clicks depend on pairs of ids, which a linear model cannot express, and on a number.
python3 - <<'PY'
import numpy as np

rng = np.random.default_rng(2)
n = 6000
users, items = rng.integers(0, 60, n), rng.integers(0, 40, n)
u, v = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
price = rng.exponential(size=n)
z = 1.5 * (u[users] * v[items]).sum(1) - 0.5 * price + 0.3
y = rng.random(n) < 1 / (1 + np.exp(-z))
with open("clicks.csv", "w") as out:
    out.write("user,item,device,price,click\n")
    for i in range(n):
        shown = "" if i % 50 == 7 else f"{price[i]:.4f}"
        out.write(f"u{users[i]},{items[i]},{'' if i % 9 == 0 else 'tab' if i % 2 else 'phone'},{shown},{int(y[i])}\n")
np.save("z.npy", z)
np.save("y.npy", y)
PY
how=(--target click --category item --threads 1 --pin off --quiet --batch-size 256 --lr 0.005 --metric rocauc)
# Adam, and Adagrad of rows, make full steps of gradients that are little more than rounding, so plain steps show what ranks and modes
# have in common.
plain=(--optimizer sgd --row-optimizer sgd --row-lr 1 --epochs 4)
adaptive=(--row-lr 0.1 --epochs 4)
losses() { # RUN: losses and test scores of its epochs
    python3 -c "
import json, sys
for line in open(sys.argv[1] + '/metrics.jsonl'):
    e = json.loads(line)
    if 'loss' in e: print(e['loss'], e['test'])" "$1"
}
near() { # RUN RUN: losses of 24 steps within 1e-5, and of 48 within 1e-4; later rounding has grown, by flips of ReLU above all
    losses "$1" >a
    losses "$2" >b
    python3 - "$1" "$2" <<'PY' || fail "$1 and $2 are other trainings"
import sys
a, b = ([tuple(map(float, line.split())) for line in open(name)] for name in "ab")
assert len(a) == len(b) > 0, (a, b)
assert all(abs(x[0] - y[0]) < most and abs(x[1] - y[1]) < 1e-3 for x, y, most in zip(a, b, (1e-5, 1e-4))), (a, b)
assert all(abs(x[0] - y[0]) < 1e-2 and abs(x[1] - y[1]) < 1e-2 for x, y in zip(a, b)), (a, b)
PY
}

# ---- any number of ranks ----
for case in "deepfm 2 3 5" "dcn 3" "dlrm 5"; do # unit_clicks_click_modes has every number of ranks in every mode
    read -r model counts <<<"$case"
    ok "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model $model --run-dir $model-1
    for count in $counts; do
        ok ranks $count "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model $model --table-mode all-to-all --run-dir $model-$count
        near $model-1 $model-$count
    done
done
for mode in replicate des columns; do
    ok ranks 5 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model dcn --table-mode $mode --run-dir dcn-$mode
    near dcn-1 dcn-$mode
done
for model in lr fm; do # in mode des sums of a sample's ids travel
    ok "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model $model --run-dir $model-1
    ok ranks 3 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model $model --table-mode des --run-dir $model-des
    near $model-1 $model-des
done
for mode in replicate des; do
    ok ranks 3 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model deepfm --table-mode $mode --run-dir $mode
    near deepfm-1 $mode
done
ok ranks 3 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model deepfm --field-modes user=des,device=replicate --table-mode columns --run-dir fields
near deepfm-1 fields
python3 -c "
import json
rows = [json.loads(line) for line in open('fields/metrics.jsonl')][-1]['embeddings']
assert rows['rows'] == 60 + 40 + 3 and all(rows['sent_' + mode] > 0 for mode in ('des', 'replicate', 'columns')), rows
" || fail "metrics do not tell rows, and the bytes of the modes of columns"
for sync in "shadow --shadow-algorithm easgd" "shadow --workers 2" divide-shuffle; do # not exact: the score alone
    # shellcheck disable=SC2086
    ok ranks 2 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model deepfm --sync $sync --run-dir sync --force
    python3 -c "
import json
a, b = (json.load(open(run + '/summary.json'))['test_mean'] for run in ('deepfm-1', 'sync'))
assert abs(a - b) < 0.02, (a, b)" || fail "$sync is far from what all-reduce reaches"
done
# Killed behind a checkpoint within an epoch, which waits until no batch is under way, workers go on to the bit.
workers=("${how[@]}" "${plain[@]:0:6}" --model lr --table-mode all-to-all --sync shadow --shadow-gap 2 --workers 2 --epochs 5
    --checkpoint-every 17steps)
ok ranks 2 "$weft" train --data clicks.csv "${workers[@]}" --run-dir team
cp -r team killed
find killed/ckpt -mindepth 1 -maxdepth 1 ! -name '*step*' -exec rm -r {} +
[ "$(find killed/ckpt -name '*step*' | wc -l)" -gt 0 ] || fail "workers keep nothing within an epoch: $(ls team/ckpt)"
rm killed/weights.npz killed/summary.json killed/rows-*
ok ranks 2 "$weft" train --data clicks.csv "${workers[@]}" --run-dir killed --resume
losses team >a
losses killed >b
cmp a b || fail "workers that were killed go on with other losses"
for rank in 0 1; do
    cmp team/rows-0000$rank-of-00002.rows killed/rows-0000$rank-of-00002.rows || fail "workers that were killed go on with other rows"
done
for wrong in "--sync allreduce" "--sync shadow --expire-after 9" "--sync shadow --rows-ahead on"; do
    # shellcheck disable=SC2086
    refused 2 "--workers 2" "$weft" train --data clicks.csv "${how[@]}" --model deepfm --workers 2 $wrong
    ! grep -q -- "--workers 2.*has no effect" err || fail "--workers $wrong is refused, and warned about: $(cat err)"
done
ok "$weft" train --data clicks.csv "${how[@]}" --model lr --dry-run
[ "$(grep -E "^ +(2|4|8|16|32|64|128|256|512|1024) +[0-9.]+ [KMG]?i?B" out | wc -l)" = 10 ] || fail "a dry run does not tell bytes and memory on 2 to 1,024 ranks"
ok "$weft" convert clicks.csv --target click --category item --out clicks.weft
ok ranks 2 "$weft" train --data clicks.weft "${how[@]:4}" "${plain[@]}" --model deepfm --run-dir stored
near deepfm-1 stored
grep -q -E "rows=(all-to-all|replicate|des|columns|fields:[ardc]{3})" stored/run.json || fail "the mode that a trial chose is not recorded"
[ -z "$(find . -name '*clicks.weft*' -path '*deepfm*')" ] || fail "stores that jobs made of the file are left"
[ -z "$(find deepfm-1 deepfm-3 -maxdepth 1 -name 'best-rows*')" ] || fail "rows that were kept on the way are left"

# ---- a run goes on with other ranks ----
ok ranks 2 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]:0:6}" --epochs 2 --model deepfm --table-mode all-to-all --run-dir first
ok ranks 3 "$weft" train --data clicks.csv "${how[@]}" "${plain[@]}" --model deepfm --table-mode all-to-all --run-dir first --resume
near deepfm-1 first
[ "$(find first -maxdepth 1 -name 'rows-*' | wc -l)" = 3 ] || fail "rows of other numbers of ranks stand beside each other"

# A full disk ends a job with its file and a cure, and the checkpoint before stands.
grown=(--data synth:clicks,rows=40k,ids=20k,fields=4,numbers=2 --model deepfm --mlp 8 --epoch-rows 2000 --epochs 6 --batch-size 1000
    --valid-share 0 --test-share 0 --threads 1 --pin off --quiet --checkpoint-every 1)
(ulimit -f 300; exec "$weft" train "${grown[@]}" --run-dir full) >out 2>err
[ $? -eq 74 ] || fail "a full disk is not told: $(cat err)"
grep -q "rows-00000-of-00001.rows: .*raise the limit" err || fail "a full disk: $(cat err)"
ok "$weft" train "${grown[@]}" --run-dir full --resume
ok "$weft" train "${grown[@]}" --run-dir whole
cmp full/rows-00000-of-00001.rows whole/rows-00000-of-00001.rows || fail "a job that went on behind a full disk has other rows"

# ---- answers ----
ok "$weft" predict --checkpoint first --data clicks.csv --target click --out one --quiet
ok ranks 3 "$weft" predict --checkpoint first --data clicks.csv --target click --out three --quiet
cut -d, -f2- clicks.csv | awk -F, -v OFS=, 'NR == 1 { print "click,price,device,item,user"; next } { print $4,$3,$2,$1,"u" NR % 60 }' >other.csv
ok "$weft" predict --checkpoint first --data other.csv --out other --quiet
python3 - <<'PY' || fail "answers differ, or are not those that scores were told of"
import json
import numpy as np

one, three = np.load("one/probabilities.npy").ravel(), np.load("three/probabilities.npy").ravel()
assert np.abs(one - three).max() < 1e-6
scores = json.load(open("one/scores.json"))
y = np.load("y.npy").astype(int)
told = scores["splits"]["test"]["score"] if "splits" in scores else None
def auc(s, y):
    order = np.argsort(s, kind="stable")
    ranks = np.empty(len(s))
    values, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return (ranks[y == 1].sum() - y.sum() * (y.sum() + 1) / 2) / (y.sum() * (len(y) - y.sum()))
whole = auc(one, y)
assert 0.55 < whole < 1, whole
assert told is None or abs(told - whole) < 0.1
PY

# A column that is called a target and is an input of the model is no target; the model's own is found without being named.
awk -F, -v OFS=, 'NR == 1 { print $0, "y"; next } { print $0, 1 - $5 }' clicks.csv >named.csv
ok "$weft" train --data named.csv "${how[@]}" --model lr --epochs 1 --run-dir named
ok "$weft" eval --checkpoint named --data named.csv --target click
mv out asked.out
for run in "" "ranks 2"; do
    ok $run "$weft" eval --checkpoint named --data named.csv
    grep -q "column 'click' is the target, as the model learned it" err || fail "another target: $(cat err)"
done
ok "$weft" eval --checkpoint named --data named.csv
cmp out asked.out || fail "scores without --target are not those with it"
cut -d, -f1-4,6 named.csv >no-click.csv
ok "$weft" eval --checkpoint named --data no-click.csv
grep -q "no labels" err || fail "an input of the model is its target: $(cat err)"
refused 2 "the model reads column 'y'" "$weft" eval --checkpoint named --data named.csv --target y
ok "$weft" convert no-click.csv --target y --category item --out named.weft
ok "$weft" eval --checkpoint named --data named.weft
grep -q "no labels" err || fail "the target of a store is an input of the model: $(cat err)"

# ---- a file for other programs ----
ok "$weft" export first --out first.safetensors
ok "$weft" export first --out first.npy
refused 2 "first-keys.npy: exists already" sh -c "mv first.npy old.npy && '$weft' export first --out first.npy"
mv old.npy first.npy
python3 - <<'PY' || fail "rows as arrays are others than those of safetensors"
import json
import struct
import numpy as np
with open("first.safetensors", "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
key, value = (np.frombuffer(data[slice(*header[name]["data_offsets"])], type).reshape(header[name]["shape"]) for name, type in (("rows.key", "<u8"), ("rows.value", "<f4")))
order = np.argsort(key)
assert len(key) > 10 and not (order == np.arange(len(key))).all()  # of several ranks
assert np.load("first-keys.npy").dtype == np.uint64 and (np.load("first-keys.npy") == key[order]).all()
assert (np.load("first.npy") == value[order]).all()
PY
for python in python3 /usr/bin/python3 ""; do
    [ -z "$python" ] || ! "$python" -c 'import numpy, xxhash' 2>/dev/null || break
done
if [ -n "$python" ]; then
    ok "$python" "$source_dir/tests/app/clicks_export.py" first.safetensors clicks.csv one/probabilities.npy
else
    echo "answers from the exported file: skipped, python3-xxhash is not installed"
fi

# ---- models ----
best() { python3 -c "import json; print(json.load(open('$1/summary.json'))['test_mean'])"; }
for model in lr fm wide-deep deepfm dcn-v2 xdeepfm; do
    ok "$weft" train --data clicks.csv "${how[@]}" "${adaptive[@]}" --model $model --run-dir $model
done
python3 - "$(best lr)" "$(best fm)" "$(best deepfm)" "$(best dcn-v2)" <<'PY' || fail "models learn what they cannot, or not what they can"
import sys
lr, fm, deepfm, dcn = map(float, sys.argv[1:])
print(lr, fm, deepfm, dcn)
assert fm > lr + 0.03 and deepfm > lr + 0.03 and dcn > lr
PY

# ---- a score that is a guess ----
python3 -c "
import random
random.seed(1)
print('user,click')
for i in range(4000): print(f'u{random.randrange(50)},{random.randrange(2)}')" >guess.csv
ok "$weft" train --data guess.csv --target click --model fm --quiet --pin off --epochs 1 --metric rocauc --run-dir guess
grep -q "hardly better than a guess.*now 0.002.*5[01].* % of the training rows are clicks, and 5[01] ids have a row" out || fail "a guess is not told: $(cat out)"

# ---- what is refused ----
printf 'user,item\nanna,1\nbert,39\nanna,0\n' >target.csv
ok "$weft" train --data clicks.csv "${how[@]}" --model fm --admit-after 3 --row-memory 1M --hash-bits 20 --row-precision bf16 \
    --row-optimizer ftrl --run-dir options
grep -q "waiting" out || fail "ids that wait for admission are not told"
# Ids of the first rows do not come again: their rows leave.
python3 -c "
print('user,click')
for i in range(4000): print(f'u{i if i < 1000 else i % 7},{i % 2}')" >leaving.csv
ok "$weft" train --data leaving.csv --target click --model fm --quiet --pin off --batch-size 64 --expire-after 20 --epochs 1 --run-dir left
read -r kept made expired <<<"$(sed -n -E 's/^Rows of embeddings: rows ([0-9]+), .*made ([0-9]+), .*expired ([0-9]+),.*/\1 \2 \3/p' out)"
[ "$kept" -lt 900 ] && [ "$made" -gt 700 ] && [ "$expired" -gt 100 ] || fail "rows of ids that are gone stay: $(grep Rows out)"
# A training that starts from another has its rows: without a step of its own it answers alike.
ok "$weft" train --data clicks.csv --target click --category item --pin off --quiet --model deepfm --lr 1e-12 --row-optimizer sgd --row-lr 1e-12 --epochs 1 \
    --init-weights first --run-dir again
ok "$weft" predict --checkpoint again --data clicks.csv --out again.out --quiet
python3 -c "
import numpy as np
d = abs(np.load('again.out/probabilities.npy') - np.load('one/probabilities.npy')).max()
assert d < 1e-5, d" || fail "rows of the model to start from are not those that it has"
refused 2 "its rows are of other columns" "$weft" train --data leaving.csv --target click --model deepfm --quiet --init-weights first --run-dir no --force
refused 65 "'item': 39 is neither 0 nor 1" "$weft" train --data target.csv --target item --model fm --quiet --run-dir no --force
refused 65 "no column holds ids" "$weft" train --data clicks.csv --target click --drop user,item,device --model fm --quiet --run-dir no --force
refused 2 "no column of ids of that name" "$weft" train --data clicks.csv "${how[@]}" --model deepfm --field-modes users=des --run-dir no --force
refused 2 "leave one of the two out" "$weft" train --data clicks.csv "${how[@]}" --model deepfm --field-modes user=des --row-memory 1M --run-dir no --force
refused 2 "--row-memory 20.0 KiB: 0 (no limit), or at least 256K" "$weft" train --data clicks.csv "${how[@]}" --model fm --row-memory 20K --run-dir no --force
refused 2 "cannot be split by columns" ranks 2 "$weft" train --data clicks.csv "${how[@]}" --model deepfm --table-mode columns --run-dir no --force
refused 2 "--mlp 4,x" "$weft" train --data clicks.csv "${how[@]}" --model deepfm --mlp 4,x --run-dir no --force
rm replicate/rows-*
cp deepfm-2/rows-* replicate
refused 65 "not trained together with the weights beside them" "$weft" predict --checkpoint replicate --data clicks.csv --out none --quiet
refused 65 "not trained together with them" "$weft" export replicate --out no.safetensors
[ ! -e no.safetensors ] || fail "a file of a model that was refused is left"
rm first/rows-00001-of-00003.rows
refused 66 "rows-00001-of-00003.rows" "$weft" predict --checkpoint first --data clicks.csv --out none --quiet
rm first/rows-*
refused 66 "belong beside its weights" "$weft" predict --checkpoint first --data clicks.csv --out none --quiet
echo "passed"
