#!/usr/bin/env bash
# scripts/run_mods: stays and columns as an independent reading of the files counts them; columns that tell the outcome are refused;
# a patient is in one fold; indexes against their definitions by pairs of rows, and beside the program's own.
# timeout: 120
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
data=$(data_folder physionet2012)
[ -d "$data/eicu-demo" ] || skip "no data sets at $data/eicu-demo"
python3 -c 'import numpy' 2>/dev/null || skip "no numpy"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONDONTWRITEBYTECODE=1

for column in apachescore diedinhospital hospitaldischargestatus unitdischargeoffset actualicumortality predictedhospitalmortality dischargeweight; do
  "$source_dir/scripts/run_mods" --data "$data" --columns --add "$column" >out 2>err && fail "column $column is read"
  grep -q "column $column: it is known only after the outcome" err || fail "column $column: $(cat err)"
done
"$source_dir/scripts/run_mods" --data "$data" --columns --add nosuch >out 2>err && fail "a column that is not there is read"
grep -q 'column nosuch: none of the tables' err || fail "$(cat err)"
"$source_dir/scripts/run_mods" --data "$data" --columns --add unittype >out 2>err || fail "unittype is refused: $(cat err)"
grep -q '^eICU demo: age .* unittype$' out || fail "unittype is not added: $(cat out)"

# One stay by other tools: its heart rates and its urine.
mkdir stays && tar -xJf "$data/physionet2012/set-a.tar.xz" -C stays
stay=$(find stays -name 132539.txt)
awk -F, '$2 == "HR" {n += 1; s += $3; if (n == 1) {f = a = b = $3} l = $3; if ($3 < a) a = $3; if ($3 > b) b = $3}
  END {printf "%d %d %d %d %.6f %d\n", f, l, a, b, s / n, n}' "$stay" >by_awk
awk -F, '$2 == "Urine" && $1 < "24:00" {s += $3} END {print s}' "$stay" >>by_awk
find stays -name '*.txt' | wc -l >>by_awk

python3 - "$source_dir/scripts" "$data" "$weft" <<'PY'
import csv, json, lzma, os, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from mods import indexes, shared, sources, training
data = sys.argv[2]

def table(name):
    with lzma.open(f"{data}/eicu-demo/{name}.csv.xz", "rt") as stream:
        return list(csv.DictReader(stream))

eicu = sources.eicu(f"{data}/eicu-demo")
results = {row["patientunitstayid"]: row for row in table("apachepatientresult") if row["apacheversion"] == "IVa"}
day = {row["patientunitstayid"]: row for row in table("apacheapsvar")}
people = {row["patientunitstayid"]: row for row in table("patient")}
assert len(eicu.rows) == 1838 and sum(eicu.died) == 155 and len(set(eicu.patient)) == 1512, (len(eicu.rows), sum(eicu.died))
assert sum(value is not None for value in eicu.scores["APACHE IVa"]) == 1683
for n, stay in enumerate(eicu.stay):
    cells = dict(zip(eicu.columns, eicu.rows[n]))
    assert eicu.died[n] == (results[stay]["actualhospitalmortality"] == "EXPIRED") and eicu.patient[n] == people[stay]["uniquepid"]
    for name in ("heartrate", "bun", "urine"):
        assert cells[name] == ("" if float(day[stay][name]) == -1 else day[stay][name]), (stay, name)
for column in eicu.columns:
    assert not any(word in column for word in ("discharge", "actual", "predicted", "died", "score")), column

stays = sources.physionet_stays(f"{data}/physionet2012")
physionet = sources.physionet(f"{data}/physionet2012", stays)
heart, urine, files = open("by_awk").read().split("\n")[:3]
assert len(physionet.rows) == int(files) == 4000 and sum(physionet.died) == 554 and len(physionet.columns) == 4 + 6 * 37
at = physionet.stay.index("132539")
found = dict(zip(physionet.columns, physionet.rows[at]))
own = [found[f"HR_{what}"] for what in sources.SUMMARIES]
assert np.allclose([float(cell) for cell in own], [float(word) for word in heart.split()], rtol=1e-6), (own, heart)
both = shared.of_physionet(physionet, stays)
assert float(both.rows[at][both.columns.index("urine")]) == float(urine)
assert shared.of_eicu(f"{data}/eicu-demo").columns == both.columns

for groups in (eicu.patient, eicu.hospital):
    fold = training.deal(groups, eicu.died, 1)
    homes = {}
    for group, own in zip(groups, fold):
        homes.setdefault(group, set()).add(own)
    assert all(len(folds) == 1 for folds in homes.values()) and set(fold) == set(range(training.FOLDS))

# Definitions, pair by pair; probabilities with ties.
draw = np.random.Generator(np.random.PCG64(3))
y, p, q = draw.integers(2, size=90), draw.integers(12, size=90) / 12, draw.integers(9, size=90) / 9
def by_pairs(p):
    above = (p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])
    return above.mean(), above.mean(axis=1), above.mean(axis=0)
area, over, under = by_pairs(p)
other, over2, under2 = by_pairs(q)
sd = np.sqrt(over.var(ddof=1) / len(over) + under.var(ddof=1) / len(under))
assert np.allclose(indexes.auc(y, p), (area, sd))
paired = np.sqrt((over - over2).var(ddof=1) / len(over) + (under - under2).var(ddof=1) / len(under))
assert np.allclose(indexes.auc_difference(y, p, q)[:2], (area - other, paired))
best = max((p[y == 1] >= t).mean() + (p[y == 0] < t).mean() for t in set(p))
chosen = indexes.youden(y, p)
assert np.isclose((p[y == 1] >= chosen).mean() + (p[y == 0] < chosen).mean(), best)
# 8 of 10 by Wilson (1927): 0.4902 to 0.9433.
assert np.allclose(indexes.wilson(8, 10), (0.8, 0.490162, 0.943318), atol=1e-6), indexes.wilson(8, 10)
# Outcomes that are drawn by the probabilities are calibrated; at a logit twice as large the slope is one half.
p = draw.random(200000)
y = (draw.random(200000) < p).astype(int)
assert np.allclose(indexes.calibration(y, p), (0, 1), atol=0.03)
assert np.allclose(indexes.calibration(y, p**2 / (p**2 + (1 - p)**2)), (0, 0.5), atol=0.03)

# A model of the first 900 stays orders the others better than chance, and what columns add is of their number.
trainer = training.Trainer(sys.argv[3], "trainings", 1)
p, why = trainer.answer(eicu.columns, eicu.rows[:900], eicu.died[:900], eicu.rows[900:], "plain", True)
area, sd = indexes.auc(np.array(eicu.died[900:]), p)
assert area - 4 * sd > 0.5, (area, sd)
assert why.shape == (938, len(eicu.columns)) and os.listdir("trainings") == []

# The program's own indexes of the same answers.
cells = [[*row, end] for row, end in zip(eicu.rows, eicu.died)]
training.write("train.csv", [*eicu.columns, "died"], cells[:900])
training.write("test.csv", [*eicu.columns, "died"], cells[900:])
trainer.run("train", "--data", "train.csv", "--test", "test.csv", "--target", "died", "--model", "trees", "--valid-share", "0", "--run-dir", "run",
            *training.CANDIDATES["plain"])
told, y = json.load(open("run/summary.json"))["indexes"], np.array(eicu.died[900:])
area, sd = indexes.auc(y, p)
said = (p >= told["threshold"]["value"]).astype(int)
own = indexes.at_threshold(y, said)
assert np.allclose((told["auc"]["value"], told["auc"]["se"], told["brier"]["value"]), (area, sd, indexes.brier(y, p)), rtol=1e-5), (told["auc"], area)
for name in ("sensitivity", "specificity", "accuracy"):
    assert np.allclose([told[name][key] for key in ("value", "low", "high")], own[name], rtol=1e-6), (name, told[name], own[name])
assert np.isclose(told["f1"]["value"], own["F1"][0]) and np.allclose([told["f1"][key] for key in ("low", "high")], own["F1"][1:], atol=0.02)
PY
echo "mods: passed"
