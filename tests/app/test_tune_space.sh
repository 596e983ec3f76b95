#!/bin/bash
# What a search may choose and spend: settings that belong to others, constraints, several seeds a configuration, budgets of epochs and of
# hours of ranks.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder

cat >space.toml <<'TOML'
[space]
model = {choice = ["gcn", "gat"]}
heads = {choice = [1, 2, 4], when = {model = ["gat"]}}
hidden = {choice = [4, 8, 16]}
lr = {choice = [0.01, 0.05]}
constraints = ["heads * hidden <= 16"]
TOML
how=(space.toml --data synth:quickstart,scale=0.02 --pin off --threads 1 --calibrate never --quiet)

# All configurations: 3 x 2 of gcn, and 2 x (3 + 2 + 1) of gat.
ok "$weft" tune "${how[@]}" --epochs 3 --scheduler fifo --searcher grid --run-dir grid
python3 - <<'PY' || fail "a grid is not what conditions and constraints leave"
import csv
rows = list(csv.DictReader(open("grid/summary.csv")))
assert len(rows) == 18 and len({(r["model"], r["heads"], r["hidden"], r["lr"]) for r in rows}) == 18
for r in rows:
    assert (r["heads"] == "") == (r["model"] == "gcn")
    assert r["model"] == "gcn" or int(r["heads"]) * int(r["hidden"]) <= 16
PY
python3 - <<'PY' || fail "a trial has other options than its row"
import csv, json
for r in csv.DictReader(open("grid/summary.csv")):
    options = json.load(open(f"grid/trial-{int(r['trial']):04d}/run.json"))["options"]
    assert options["heads"]["value"] == (r["heads"] or "8"), options["heads"]  # 8: as nobody says it
PY

# Every configuration has three seeds, and the best one is that of the best mean.
ok "$weft" tune "${how[@]}" --epochs 3 --scheduler fifo --searcher random --runs 3 --trials 15 --repeat-share 0 --run-dir seeds
grep -q "was trained [36] times: mean score" out || fail "nothing says how often the best one was trained: $(cat out)"
cp out seeds.out
ok ranks 2 "$weft" tune "${how[@]}" --epochs 3 --scheduler fifo --searcher random --runs 3 --trials 15 --repeat-share 0 --ranks-per-trial 1 --run-dir pairs
cmp <(cut -d, -f1,8- seeds/summary.csv) <(cut -d, -f1,8- pairs/summary.csv) || fail "two groups of ranks train other configurations"
python3 - <<'PY' || fail "seeds of a configuration are not what was asked, or not the best mean wins"
import csv, re
rows = list(csv.DictReader(open("seeds/summary.csv")))
config = lambda r: (r["model"], r["heads"], r["hidden"], r["lr"])
for i in range(0, 15, 3):
    assert len({config(r) for r in rows[i : i + 3]}) == 1 and len({r["seed"] for r in rows[i : i + 3]}) == 3
scores = {}
for r in rows:
    scores.setdefault(config(r), []).append(float(r["best_score"]))
best = max(scores, key=lambda c: sum(scores[c]) / len(scores[c]))
out = open("seeds.out").read()
said = int(re.search(r"^best: trial (\d+)", out, re.M)[1])
mean = float(re.search(r"mean score (\S+)", out)[1])
assert config(rows[said]) == best and abs(mean - sum(scores[best]) / len(scores[best])) < 1e-5, (said, mean, scores)
over = re.search(r"^trial (\d+) has the better score (\S+): ", out, re.M)  # than that of the best trial: told, or there is none
top = max(rows, key=lambda r: float(r["best_score"]))
assert (over is not None) == (float(top["best_score"]) > float(rows[said]["best_score"])), (over, said)
assert over is None or (over[1] == top["trial"] and abs(float(over[2]) - float(top["best_score"])) < 1e-5), (over, top)
PY
refused 2 "to the end" "$weft" tune "${how[@]}" --runs 3 --run-dir no

# Leading configurations train to the end with other seeds, as often as a third of all epochs allows.
ok "$weft" tune "${how[@]}" --epochs 9 --searcher random --trials 9 --repeat-share 0.4 --run-dir again
python3 - <<'PY' || fail "leading configurations are not trained again as was asked: $(cat again/summary.csv)"
import csv, json
rows = list(csv.DictReader(open("again/summary.csv")))
first, again = rows[:9], rows[9:]
room = 0.4 / 0.6 * sum(int(r["epochs"]) for r in first)
assert len(again) == int(room / 9) >= 1, (len(again), room)
config = lambda r: (r["model"], r["heads"], r["hidden"], r["lr"])
ended = {config(r): r for r in first if r["state"] == "complete"}
for r in again:
    assert r["state"] == "complete" and config(r) in ended and int(r["seed"]) >= 1, r
lines = [json.loads(line) for line in open("again/trials.jsonl")]
assert [l["trial"] for l in lines if l.get("whole")] == [int(r["trial"]) for r in again]
PY
grep -q "was trained [2-9] times" out || fail "leading configurations that were trained again are not compared: $(cat out)"
grep -E "^best|mean score|better score" out >best.out
cp -r again again-once
ok "$weft" tune "${how[@]}" --epochs 9 --searcher random --trials 9 --repeat-share 0.4 --run-dir again --resume
cmp again/trials.jsonl again-once/trials.jsonl || fail "a search that is over trains on"
cmp best.out <(grep -E "^best|mean score|better score" out) || fail "a search that is read again has another best trial: $(cat best.out out)"

# A search goes on in another space: trials that are of both keep their results, the others are history.
sed 's/hidden = .*/hidden = {integer = [6, 20]}/; s/lr = .*/lr = {log = [0.01, 0.1]}/' space.toml >other.toml
rm -rf again-once
refused 2 "only with --force" "$weft" tune other.toml "${how[@]:1}" --epochs 9 --searcher random --trials 14 --repeat-share 0.4 --run-dir again --resume
refused 2 "changes the space alone" "$weft" tune other.toml "${how[@]:1}" --epochs 8 --searcher random --trials 14 --repeat-share 0.4 --run-dir again --resume --force
cp again/summary.csv before.csv
cp again/trials.jsonl before.jsonl
ok "$weft" tune other.toml "${how[@]:1}" --epochs 9 --searcher random --trials 14 --repeat-share 0.4 --run-dir again --resume --force
counts=$(head -1 out)
cmp before.jsonl again/trials-before-1.jsonl || fail "the journal of the first space is not kept"
python3 - "$counts" <<'PY' || fail "a search in another space loses or takes trials: $(cat again/summary.csv)"
import collections, csv, json, sys
before, after = (list(csv.DictReader(open(p))) for p in ("before.csv", "again/summary.csv"))
best = json.load(open("again/search.json"))["trials"][0]["trial"]
assert len(after) >= 14 and after[best]["state"] != "outside"
for b, a in zip(before, after):
    inside = 6 <= int(b["hidden"]) <= 20 and (b["model"] == "gcn" or int(b["heads"]) * int(b["hidden"]) <= 16)
    assert (a["state"] != "outside") == inside, (b, a)
    assert "outside the space" in a["failed"] or inside
    assert all(a[k] == b[k] for k in ("model", "heads", "hidden", "lr")), (b, a)  # of history, too
    if inside:
        assert float(a["best_score"]) >= float(b["best_score"]), (b, a)
for a in after[len(before) :]:
    assert 6 <= int(a["hidden"]) <= 20 and 0.01 <= float(a["lr"]) <= 0.1 and a["state"] != "outside", a
states = collections.Counter(r["state"] for r in after)
counted = [f"{states[s]} {s}" for s in ("complete", "paused", "stopped", "failed", "outside")]
assert sys.argv[1] == f"{len(after)} trials: " + ", ".join(counted), (sys.argv[1], counted)
PY
ok "$weft" tune other.toml "${how[@]:1}" --epochs 9 --searcher random --trials 14 --repeat-share 0.4 --run-dir again --resume
[ "$(ls again/trials-before-*)" = again/trials-before-1.jsonl ] || fail "the space is changed twice"
# What is history stays it in a third space, with its settings; those that have no column stand beside the reason.
sed '/heads/d; s/model = .*/model = {choice = ["gcn"]}/' other.toml >third.toml
ok "$weft" tune third.toml "${how[@]:1}" --epochs 9 --searcher random --trials 14 --repeat-share 0.4 --run-dir again --resume --force
python3 - <<'PY' || fail "history loses its settings: $(cat again/summary.csv)"
import csv
before, after = (list(csv.DictReader(open(p))) for p in ("before.csv", "again/summary.csv"))
gone = [(b, a) for b, a in zip(before, after) if a["state"] == "outside" and b["model"] == "gat"]
assert gone and any(int(b["hidden"]) < 6 for b, a in gone) and any(int(b["hidden"]) >= 6 for b, a in gone)
for b, a in gone:
    assert all(a[k] == b[k] for k in ("model", "hidden", "lr")) and a["failed"].endswith(f"by --force, heads {b['heads']}"), (b, a)
PY

# Budgets: no part begins when they are spent, and a larger one goes on as if it had been there from the start.
epochs() { awk -F, 'NR > 1 { s += $3 } END { print s }' "$1/summary.csv"; }
long=("${how[@]}" --epochs 9 --searcher random)
ok "$weft" tune "${long[@]}" --budget-epochs 60 --run-dir whole
ok "$weft" tune "${long[@]}" --budget-epochs 25 --run-dir parts
grep -q "the budget is spent" out || fail "nothing says that the budget is spent: $(cat out)"
spent=$(epochs parts)
[ "$spent" -ge 25 ] && [ "$spent" -lt 34 ] || fail "a budget of 25 epochs took $spent"
ok "$weft" tune "${long[@]}" --budget-epochs 60 --run-dir parts --resume
cmp <(cut -d, -f1-6,8- whole/summary.csv) <(cut -d, -f1-6,8- parts/summary.csv) || fail "a larger budget goes on otherwise"
ok ranks 2 "$weft" tune "${long[@]}" --budget-rank-hours 1e-4 --run-dir hours
python3 - <<'PY' || fail "hours of ranks are not counted"
import json
ends = [json.loads(l) for l in open("hours/trials.jsonl") if '"end"' in l]
hours = [e["seconds"] * e["ranks"] / 3600 for e in ends]
assert all(e["ranks"] == 2 for e in ends) and sum(hours[:-1]) < 1e-4 <= sum(hours), hours
PY
echo "passed"
