#!/bin/bash
# Boosting goes on from a model: 12 trees and 8 more are the 20 trees of one training, to the byte, on 1 and 3 ranks, from a run
# folder, a file and a checkpoint, by levels and by leaves. A model of other columns, words or answers is refused.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder

python3 - <<'PY'
import random

random.seed(4)
with open("rows.csv", "w") as rows, open("other.csv", "w") as other:
    rows.write("a,b,colour,target\n")
    other.write("a,b,colour,target\n")
    for i in range(600):
        a, b, c = random.gauss(0, 1), random.randrange(9), random.choice("xyz")
        y = int(a * (1 if c == "x" else -1) + 0.3 * b + random.gauss(0, 1) > 1)
        rows.write(f"{a:.3f},{b},{c},{y}\n")
        other.write(f"{a:.3f},{b},{'w' if i == 5 else c},{y}\n")
PY
cut -d, -f1,2,4 rows.csv >two.csv
how=(--model trees --target target --threads 1 --pin off --quiet --valid-share 0 --test-share 0 --lr 0.2 --subsample 0.8)

for order in "--leaves 9" "--depth 4"; do
    # shellcheck disable=SC2086 # options and their values
    set -- "${how[@]}" $order
    rm -rf all first
    ok "$weft" train --data rows.csv "$@" --trees 20 --run-dir all
    ok "$weft" train --data rows.csv "$@" --trees 12 --run-dir first --checkpoint-every 12
    for from in first first/model.json first/ckpt; do
        rm -rf more
        ok "$weft" train --data rows.csv "$@" --trees 8 --run-dir more --init-weights "$from"
        cmp all/model.json more/model.json || fail "$order: 12 trees of $from and 8 more are not the 20 of one training"
    done
    rm -rf more
    ok ranks 3 "$weft" train --data rows.csv "$@" --trees 8 --run-dir more --init-weights first
    cmp all/model.json more/model.json || fail "$order: on 3 ranks other trees are added"
    ok "$weft" train --data rows.csv "$@" --trees 20 --run-dir first --resume
    cmp all/model.json first/model.json || fail "$order: a resumed run has other trees"
done

refused 65 "read 3 columns, and the data have 2" \
    "$weft" train --data two.csv "${how[@]}" --trees 2 --run-dir no --force --init-weights first
refused 69 "colour: the model knows 3 words and the data have 4" \
    "$weft" train --data other.csv "${how[@]}" --trees 2 --run-dir no --force --init-weights first
refused 65 "have another --loss or other classes" \
    "$weft" train --data two.csv "${how[@]:0:2}" --target a --quiet --trees 2 --run-dir no --force --init-weights first
echo "passed"
