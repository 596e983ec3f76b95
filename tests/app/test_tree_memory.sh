#!/bin/bash
# Trees of a table that does not fit as numbers: its columns are read by halves, and the model file has the same bytes as without a
# limit, from text, compressed text and arrays, on 1 and 2 ranks and threads; the dry run foretells the peak; a job that fits in no
# way is refused.
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
import gzip
import numpy as np
rng = np.random.default_rng(7)
n = 60000
x = np.float32(rng.normal(size=(n, 30)).round(3))
x[rng.random(x.shape) < 0.02] = np.nan
y = np.nan_to_num(x[:, 0] - x[:, 20] * x[:, 29]) + 0.3 * rng.normal(size=n) > 0
np.save("numbers.npy", np.column_stack([x, np.float32(y)]))
word = np.array(["ant", "bee", "cat", ""])[rng.integers(0, 4, n)]
with open("mixed.csv", "w") as out:  # words stand among numbers, so that they stay while halves of these change
    out.write(",".join(f"c{j}" for j in range(15)) + ",word," + ",".join(f"c{j}" for j in range(15, 30)) + ",target\n")
    cell = lambda v: "" if v != v else f"{v:.9g}"
    for r, w, t in zip(x.tolist(), word, y):
        out.write(",".join(map(cell, r[:15])) + f",{w}," + ",".join(map(cell, r[15:])) + f",{int(t)}\n")
gzip.open("mixed.csv.gz", "wb", compresslevel=1).write(open("mixed.csv", "rb").read())
PY
how=(--model trees --depth 4 --pin off --valid-share 0.1 --test-share 0)

# [out] limit: the least memory, in MiB, with which a job on one rank is not refused.
limit_of() { # FILE TARGET
    for limit in $(seq 24 3 90); do
        "$weft" train --data "$1" --target "$2" "${how[@]}" --trees 6 --threads 1 --memory-limit "${limit}M" --dry-run >plan.txt 2>log.txt && return
    done
    fail "$1: no limit is enough"
}
halves() { # LOG: columns were read by halves
    grep -q "stand in memory by halves" "$1"
}

for input in "mixed.csv target" "mixed.csv.gz target" "numbers.npy 31"; do
    read -r file target <<<"$input"
    limit_of "$file" "$target"
    halves log.txt || fail "$file: columns do not stand by halves at the least limit, ${limit} MiB"
    grep -q "predicted peak" plan.txt || fail "$file: the dry run foretells no peak"
    ok "$weft" train --data "$file" --target "$target" "${how[@]}" --trees 6 --threads 2 --quiet --run-dir "whole-$file"
    "$weft" train --data "$file" --target "$target" "${how[@]}" --trees 6 --threads 1 --memory-limit "$((limit + 3))M" --run-dir "half-$file" \
        >out.txt 2>half.txt || fail "$file: a job that the dry run admits fails"
    halves half.txt || fail "$file: not by halves"
    cmp "whole-$file/model.json" "half-$file/model.json" || fail "$file: halves make another model"
    python3 - "whole-$file" "half-$file" <<'PY' || fail "$file: the data have another name, or other scores"
import json, sys
a, b = ([json.loads(line) for line in open(f"{run}/metrics.jsonl")] for run in sys.argv[1:])
score = lambda rows: [(r.get("train_loss"), r.get("valid_acc")) for r in rows]
sys.exit(score(a) != score(b))
PY
    refused 71 "would need" "$weft" train --data "$file" --target "$target" "${how[@]}" --trees 6 --quiet --memory-limit $((limit / 2))M
done
cmp whole-mixed.csv/model.json whole-mixed.csv.gz/model.json || fail "compressed text makes another model"

# Two ranks: each has half of the rows beside a process of its own.
for limit in $(seq 64 8 200); do
    mpirun --oversubscribe --bind-to none -np 2 "$weft" train --data mixed.csv --target target "${how[@]}" --trees 6 --threads 1 --memory-limit "${limit}M" \
        --run-dir two >out.txt 2>two.txt && break
done
halves two.txt || fail "two ranks: not by halves"
cmp whole-mixed.csv/model.json two/model.json || fail "two ranks make another model by halves"

# A run that was cut by its rounds goes on by halves to the same bytes.
limit_of mixed.csv target
ok "$weft" train --data mixed.csv --target target "${how[@]}" --trees 3 --quiet --run-dir again
ok "$weft" train --data mixed.csv --target target "${how[@]}" --trees 6 --quiet --resume --memory-limit "$((limit + 5))M" --run-dir again
cmp whole-mixed.csv/model.json again/model.json || fail "a resumed run by halves makes another model"
echo ok
