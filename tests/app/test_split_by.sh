#!/bin/bash
# Rows that are split by the order of a column: counts are those of sorted rows, the column is no feature, trees are the same bytes on
# any number of ranks, a store keeps the role, and what contradicts it is refused.
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
random.seed(4)
rows = []
for i in range(2000):
    day, x = random.randrange(1, 51), random.random()
    rows.append((f"2024-{1 + day // 26:02d}-{1 + day % 26:02d}", day, x, random.choice("abc"), int(random.random() < 0.2 + 0.6 * x)))
with open("t.csv", "w") as out:
    print("date,day,x,word,hash,late", file=out)
    for date, day, x, word, late in rows:
        print(f"{date},{'' if day == 50 else day},{x:.5f},{word},h{random.random()},{late}", file=out)
days = sorted((r[1] for r in rows if r[1] < 50), reverse=True)
n = len(days)
t = days[int(n * .2 + .5) - 1]
v = days[int(n * .2 + .5) + int(n * .1 + .5) - 1]
counted = [sum(r[1] == 50 or r[1] < v for r in rows), sum(v <= r[1] < t for r in rows), sum(t <= r[1] < 50 for r in rows)]
open("expected", "w").write(f"{counted[0]}/{counted[1]}/{counted[2]} rows to train/valid/test")
open("borders", "w").write(f"they validate from {v} and test from {t}")
PY
how=(--target late --pin off --threads 1 --valid-share 0.1 --test-share 0.2)
trees=(--model trees --trees 5 --depth 3 --drop hash,date)
ok "$weft" train --data t.csv "${how[@]}" "${trees[@]}" --split-by day --run-dir one
grep -qF "$(cat expected)" err || fail "not $(cat expected): $(cat err)"
grep -qF "$(cat borders)" err || fail "not $(cat borders): $(cat err)"
grep -q "rows have no value, and train" err || fail "rows without a value are not told"
grep -q '"day"' one/model.json && fail "the column of the order is a feature"
ok ranks 3 "$weft" train --data t.csv "${how[@]}" "${trees[@]}" --split-by day --run-dir three
cmp one/model.json three/model.json || fail "trees differ between 1 and 3 ranks"
ok "$weft" convert t.csv --target late --split-by day --drop hash,date --out t.weft
ok "$weft" train --data t.weft "${how[@]:2}" --model trees --trees 5 --depth 3 --run-dir stored
cmp one/model.json stored/model.json || fail "trees of a store differ"
ok "$weft" train --data t.csv "${how[@]}" --model fm --epochs 1 --drop hash,date --split-by day --run-dir clicks
grep -qF "$(cat expected)" err || fail "clicks: not $(cat expected): $(cat err)"
ok "$weft" train --data t.csv "${how[@]}" --model fm --epochs 1 --drop hash,day --split-by date --run-dir words
grep -q "validate from '2024-" err || fail "words do not order rows: $(cat err)"
ok "$weft" predict --checkpoint clicks --data t.csv --out answers --quiet

refused 2 "there is no column 'dat'; did you mean 'date'" "$weft" train --data t.csv "${how[@]}" --model trees --split-by dat --run-dir no
refused 65 "hashes" "$weft" train --data t.csv "${how[@]}" --model trees --id hash --split-by hash --run-dir no
refused 65 "files of their own both say the split" "$weft" train --data t.csv --valid t.csv "${how[@]}" --model trees --split-by day --run-dir no
refused 2 "a column has one role" "$weft" train --data t.csv --target late --pin off --model trees --split-by late --run-dir no
sed 's/,word,/,split,/; s/,a,h/,train,h/; s/,b,h/,valid,h/; s/,c,h/,test,h/' t.csv >both.csv
refused 65 "both say the split" "$weft" train --data both.csv "${how[@]}" --model trees --split-by day --run-dir no
echo "passed"
