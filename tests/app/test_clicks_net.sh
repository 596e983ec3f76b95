#!/bin/bash
# Networks of the user's own for tables of clicks: --model FILE.net trains as the model of that name does, on any number of ranks; a
# run keeps its layers, and goes on, is scored and answers without the file; mistakes are told with their line.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder

python3 - <<'PY'
import random
rng = random.Random(3)
with open("clicks.csv", "w") as out:
    out.write("user,item,price,click\n")
    for _ in range(2000):
        u, i, p = rng.randrange(30), rng.randrange(20), rng.random()
        out.write(f"u{u},i{i},{p:.4f},{int(rng.random() < (0.8 if (u * i) % 3 == 0 else 0.2 + 0.3 * p))}\n")
PY
cat >deepfm.net <<'NET'
# DeepFM, in layers
wide
pairs: fm from=fields
mlp 16,8 from=input
linear 1 bias=off
add pairs
NET
how=(--data clicks.csv --target click --width 8 --batch-size 200 --optimizer sgd --row-optimizer sgd --row-lr 1 --threads 1 --pin off
    --checkpoint-every 1)
epochs() { # RUN RUN: losses and scores are those of the same training
    python3 - "$1" "$2" <<'PY' || fail "$1 and $2 are other trainings"
import json, sys
a, b = ([json.loads(line) for line in open(run + "/metrics.jsonl")] for run in sys.argv[1:])
a, b = ([e for e in run if "loss" in e] for run in (a, b))
assert len(a) == len(b) == 2, (len(a), len(b))
assert all(abs(x["loss"] - y["loss"]) < 1e-5 and abs(x["test"] - y["test"]) < 1e-3 for x, y in zip(a, b)), (a, b)
PY
}

ok "$weft" train "${how[@]}" --model deepfm --mlp 16,8 --epochs 2 --run-dir named
ok "$weft" train "${how[@]}" --model deepfm.net --epochs 2 --run-dir own
epochs named own
for mode in all-to-all des; do
    ok ranks 3 "$weft" train "${how[@]}" --model deepfm.net --table-mode $mode --epochs 2 --run-dir $mode
    epochs named $mode
done
grep -q "no effect" err && fail "an option without effect: $(cat err)"

# ---- the guide's files are the models that it names ----
guide() { sed -n '/^bottom: mlp/,/^```/p' "$source_dir/docs/howto-clicks.md" | sed "\$d; $1"; }
guide 's/ *|.*//' >dlrm.net
guide '/|/!d; s/.*| *//' >dcn.net
guided=("${how[@]/#8/16}") # the guide's --width
for model in "dlrm --bottom 64,16" "dcn-v2 --mlp 128,64"; do
    read -ra of <<<"$model"
    file=${of[0]%-v2}
    ok "$weft" train "${guided[@]}" --model "${of[@]}" --epochs 2 --run-dir "$file-named"
    ok "$weft" train "${guided[@]}" --model "$file.net" --epochs 2 --run-dir "$file-own"
    epochs "$file-named" "$file-own"
done

# Without the file, and with another in its place.
ok "$weft" train "${how[@]}" --model deepfm.net --epochs 1 --run-dir kept
mv deepfm.net moved.net
ok ranks 2 "$weft" train "${how[@]}" --model deepfm.net --epochs 2 --run-dir kept --resume
epochs named kept
echo "linear 1" >deepfm.net
ok "$weft" train "${how[@]}" --model deepfm.net --epochs 2 --run-dir kept --resume
grep -q "deepfm.net has changed since the run began" err || fail "other layers are not told: $(cat err)"
rm deepfm.net
ok "$weft" eval --checkpoint kept --data clicks.csv --target click --quiet
ok "$weft" predict --checkpoint kept --data clicks.csv --target click --out answers --quiet
ok "$weft" train "${how[@]}" --model moved.net --init-weights own --epochs 1 --run-dir more

# A file that says nothing about data is for those of the job.
printf 'mlp 4\nlinear 2\n' >two.net
refused 65 "two.net: line 2, linear1: the last layer gives 2 numbers, and a click has one: end with 'linear 1'" \
    "$weft" train "${how[@]}" --model two.net --dry-run
printf 'fields usr\nlinear 1\n' >column.net
refused 65 "column.net: line 1, fields1: the data have no column of ids 'usr'; did you mean user?" \
    "$weft" train "${how[@]}" --model column.net --dry-run
refused 66 "missing.net" "$weft" train "${how[@]}" --model missing.net --dry-run
refused 65 "two.net: line 1: no kind of layer 'mlp'" "$weft" train --data synth:images,n=20,size=8 --model two.net --dry-run
