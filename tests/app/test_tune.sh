#!/bin/bash
# A search of trainings: a trial has the bits that weft train gives its options, though it pauses on the way; a search that was killed
# ends as one that was not; ranks and groups of ranks change nothing; data are opened once a group; what cannot be searched is refused.
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
lr = {log = [1e-3, 0.1]}
hidden = {choice = [8, 16]}
dropout = {range = [0.0, 0.5]}

[search]
trials = 6
scheduler = asha
searcher = random
TOML
how=(space.toml --data synth:quickstart,scale=0.02 --model sage --epochs 9 --pin off --threads 1 --calibrate never)
facts() { cut -d, -f1-6,8- "$1/summary.csv"; } # all but the seconds

ok "$weft" tune "${how[@]}" --run-dir one
grep -q "data opened 1 times" out || fail "data are opened more than once: $(cat out)"
[ "$(facts one | grep -c ,complete,)" -ge 1 ] || fail "no trial is complete: $(facts one)"
[ "$(facts one | grep -c ,paused,)" -ge 3 ] || fail "no trial waits: $(facts one)"
best=$(sed -n -E 's/^best: trial ([0-9]+),.*/\1/p' out)
ok "$weft" train --config one/best.toml --run-dir alone
cmp alone/weights.npz "one/trial-$(printf %04d "$best")/weights.npz" || fail "the best trial is another training than weft train gives"
[ -z "$(find one -name ckpt -path "*trial-$(printf %04d "$best")*")" ] || fail "a trial that is over keeps its checkpoint"

ok "$weft" report one --out page.html
ok "$weft" report one --format md --out page.md
! grep -q "left out" page.html || fail "a figure of a search cannot be drawn: $(grep "left out" page.html)"
grep -q "Leading trials" page.html && grep -q "| $best | complete |" page.md || fail "the page has not the best trial: $(cat page.md)"
python3 - one <<'PY' || fail "search.json does not say what summary.csv says"
import csv, json, sys
page = json.load(open(sys.argv[1] + "/search.json"))
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
kinds = {d["title"].split(",")[0]: d for d in page["drawings"]}
assert len(kinds) == 5, kinds.keys()
scores = [float(r["best_score"]) for r in rows]
best = kinds["Best score so far"]["series"][0]["y"]
assert all(abs(b - max(scores[: i + 1])) < 1e-6 for i, b in enumerate(best)), (best, scores)
assert [s["name"] for s in kinds["Settings and scores"]["series"]] == ["log10 lr", "hidden", "dropout", "score"]
curve = {s["name"]: s for s in kinds["Scores of the leading trials"]["series"]}[f"trial {page['trials'][0]['trial']}"]
assert curve["x"] == list(range(1, len(curve["x"]) + 1)) and abs(max(curve["y"]) - max(scores)) < 1e-6
assert all(0 <= v <= 100 for v in kinds["What each setting explains of the score by itself"]["series"][0]["values"])
PY

python=${WEFT_PEERS_VENV:-/nowhere}/bin/python
if [ -x "$python" ] && "$python" -c "import optuna" 2>/dev/null; then
    "$python" - one 2>/dev/null <<'PY' || fail "Optuna does not read the search as summary.csv says it"
import csv, math, sys, optuna
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv")))
storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(sys.argv[1] + "/optuna.log"))
study = optuna.load_study(study_name=None, storage=storage)
assert study.direction.name == "MAXIMIZE" and len(study.trials) == len(rows)
for row, trial in zip(rows, study.trials):
    assert trial.state.name == {"complete": "COMPLETE", "paused": "PRUNED"}[row["state"]], trial
    assert abs(trial.value - float(row["best_score"])) < 1e-6 and max(trial.intermediate_values) == int(row["epochs"])
    assert trial.params["hidden"] == row["hidden"] and math.isclose(trial.params["lr"], float(row["lr"]), rel_tol=1e-9)
    assert abs(trial.duration.total_seconds() - float(row["seconds"])) < 0.002
    optuna.distributions.check_distribution_compatibility(trial.distributions["lr"], optuna.distributions.FloatDistribution(1e-3, 0.1, log=True))
assert study.best_trial.number == max(study.best_trials, key=lambda t: t.value).number
PY
fi

# ---- ends that come early ----
# go_on FOLDER COMMAND...: the search of a folder goes on; one that was killed before it had a journal begins.
go_on() {
    local folder=$1 how_on=(--resume)
    [ -e "$folder/trials.jsonl" ] || { rm -rf "$folder"; how_on=(); }
    ok "${@:2}" --run-dir "$folder" "${how_on[@]}"
}
for seconds in 0.5 1.2; do
    timeout -s KILL $seconds "$weft" tune "${how[@]}" --run-dir killed >/dev/null 2>&1
    go_on killed "$weft" tune "${how[@]}"
    [ "$(facts killed)" = "$(facts one)" ] || fail "a search that was killed after $seconds s ends otherwise: $(diff <(facts one) <(facts killed))"
    rm -rf killed
done
cp -r one unwritten
sed -i '$d' unwritten/trials.jsonl # the end of the trial that is complete
cp -r unwritten outside
sed 's/0.1]/0.05]/' space.toml >other.toml
ok "$weft" tune other.toml "${how[@]:1}" --run-dir outside --resume --force
grep -q "^$best,outside," outside/summary.csv && cmp {one,outside}/"trial-$(printf %04d "$best")/weights.npz" ||
    fail "a trial that is not of the space any more trains again: $(cat outside/summary.csv)"
find unwritten -name weights.npz -delete
ok "$weft" tune "${how[@]}" --run-dir unwritten --resume
[ "$(facts unwritten)" = "$(facts one)" ] || fail "a search that was killed before its last weights ends otherwise: $(diff <(facts one) <(facts unwritten))"
cmp {one,unwritten}/"trial-$(printf %04d "$best")/weights.npz" || fail "a trial that was killed with its last score has no weights"
"$weft" tune "${how[@]}" --run-dir asked >out 2>err &
job=$!
for _ in $(seq 200); do
    grep -q '"end"' asked/trials.jsonl 2>/dev/null && break
    sleep 0.05
done
"$weft" train --data synth:quickstart,scale=0.02 --model sage --pin off --run-dir asked/trial-0000 --force >taken 2>&1
taken=$?
kill -USR1 $job
wait $job
code=$?
if [ $code = 75 ]; then
    [ $taken = 2 ] && grep -q "is another job's" taken || fail "a trial of a search that runs is taken by another job: $(cat taken)"
fi
[ $code = 75 ] || [ $code = 0 ] || fail "a search that is asked to stop ends with $code: $(cat err)"
ok "$weft" tune "${how[@]}" --run-dir asked --resume
[ "$(facts asked)" = "$(facts one)" ] || fail "a search that was asked to stop ends otherwise: $(diff <(facts one) <(facts asked))"

# ---- ranks ----
ok ranks 2 "$weft" tune "${how[@]}" --run-dir two
facts one | awk -F, -v OFS=, '{ print $1, $2, $3 }' >a
facts two | awk -F, -v OFS=, '{ print $1, $2, $3 }' >b
cmp a b || fail "two ranks search otherwise: $(diff a b)"
# A trial that goes on gets more ranks, and the same scores: 1 epoch on a rank, 2 on two, 6 on four. Rungs of hyperband wait for all their
# trials, so that any number of groups decides alike.
ok "$weft" tune "${how[@]}" --grace 1 --trials 1 --run-dir plan111
ok ranks 4 "$weft" tune "${how[@]}" --grace 1 --trials 1 --run-dir plan444
ok ranks 4 "$weft" tune "${how[@]}" --grace 1 --trials 1 --elastic --run-dir plan124
python3 - <<'PY' || fail "plans of ranks give trials of other trajectories"
import json, math
def lines(plan):
    return [json.loads(line) for line in open(f"plan{plan}/trial-0000/metrics.jsonl")]
for plan in "111", "444", "124":
    starts = [s["ranks"] for s in json.load(open(f"plan{plan}/trial-0000/run.json"))["starts"]]
    assert starts == [int(c) for c in plan], (plan, starts)
    assert len(lines(plan)) == 9
    for a, b in zip(lines("111"), lines(plan)):
        assert a["epoch"] == b["epoch"] and math.isclose(a["loss"], b["loss"], rel_tol=1e-4) and a["valid"] == b["valid"], (plan, a, b)
PY
ok "$weft" tune "${how[@]}" --scheduler hyperband --trials 9 --run-dir plain
ok ranks 3 "$weft" tune "${how[@]}" --scheduler hyperband --trials 9 --elastic --run-dir elastic # two of the three together, too
[ "$(facts elastic | cut -d, -f1-6)" = "$(facts plain | cut -d, -f1-6)" ] || fail "elastic ranks change scores: $(diff <(facts elastic) <(facts plain))"
grep -q "ranks were idle for" out || fail "nothing says how idle ranks were: $(cat out)"
ok ranks 4 "$weft" tune "${how[@]}" --scheduler fifo --ranks-per-trial 2 --run-dir groups
[ "$(grep -c ,complete, groups/summary.csv)" = 6 ] || fail "groups of ranks left trials: $(cat groups/summary.csv)"
[ "$(grep -c '"start"' groups/trials.jsonl)" = 6 ] || fail "a trial began twice"
ok ranks 2 "$weft" tune "${how[@]}" --scheduler fifo --run-dir whole
paste -d, <(cut -d, -f1,9- groups/summary.csv) <(cut -d, -f1,9- whole/summary.csv) | awk -F, '{ if ($2 != $(2 + NF / 2)) exit 1 }' || fail "groups try other configurations"

# Any rank is killed at any moment of the search, rank 0 as well, in every second case with a journal that ends within a line.
pairs=("${how[@]}" --scheduler fifo --ranks-per-trial 1)
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
began=$(milliseconds)
ok ranks 2 "$weft" tune "${pairs[@]}" --run-dir pair
lasts=$(($(milliseconds) - began))
pair() { cut -d, -f1-6,8- pair/summary.csv; }
expected=$(pair)
RANDOM=${WEFT_LONG:-7}
kills=$((${WEFT_LONG:-0} > 0 ? 30 : 2))
for ((tries = 0, met = 0; met < kills && tries < 20 * kills; ++tries)); do
    rm -rf pair
    timeout 60 mpirun --oversubscribe --bind-to none -np 2 "$weft" tune "${pairs[@]}" --run-dir pair >/dev/null 2>&1 &
    job=$!
    moment=$((RANDOM % lasts))
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    mapfile -t all < <(pgrep -f -- "^$weft tune space.toml .*--run-dir pair\$")
    [ ${#all[@]} -eq 0 ] || ! kill -9 "${all[RANDOM % ${#all[@]}]}" 2>/dev/null || met=$((met + 1))
    began=$(milliseconds)
    wait $job
    code=$?
    [ $code -ne 124 ] || fail "a search of which a rank was killed goes on for a minute"
    [ -z "${WEFT_LONG:-}" ] || echo "kill $met of ranks ${all[*]} after $moment of $lasts ms: exit $code $(($(milliseconds) - began)) ms later"
    [ ! -s pair/trials.jsonl ] || [ $((tries % 2)) -eq 0 ] || truncate -s -$((1 + RANDOM % 60)) pair/trials.jsonl
    go_on pair ranks 2 "$weft" tune "${pairs[@]}"
    [ "$(pair)" = "$expected" ] || fail "a search of which a rank was killed ends otherwise: $(diff <(pair) <(echo "$expected"))"
    [ "$(grep -c '"start"' pair/trials.jsonl)" = 6 ] || fail "a trial of a search that was killed began twice"
done
[ $met = $kills ] || fail "$met of $kills kills met a rank in $tries searches"

# ---- several objectives ----
objectives=("${how[@]}" --scheduler fifo --searcher gp --trials 14 --objectives valid,parameters,loss)
ok "$weft" tune "${objectives[@]}" --run-dir front
cp out front.txt
ok "$weft" report front --format md --out front.md
grep -q "Trials by valid and parameters" front.md || fail "no drawing of the front: $(cat front.md)"
python3 - <<'PY' || fail "the front is not that of the trials"
import csv, json, os
rows = list(csv.DictReader(open("front/summary.csv")))
points = [(-float(r["best_score"]), float(r["parameters"]), float(r["loss"])) for r in rows]
beats = lambda a, b: a != b and all(x <= y for x, y in zip(a, b))
best = {i for i, p in enumerate(points) if not any(beats(q, p) for q in points)}
assert best == {int(r["trial"]) for r in rows if r["front"] == "0"}, (best, rows)
assert best == {int(f[6:10]) for f in os.listdir("front/front")}
for i, row in enumerate(rows):
    summary = json.load(open(f"front/trial-{i:04d}/summary.json"))
    assert summary["parameters"] == float(row["parameters"]) and summary["valid_mean"] == float(row["best_score"])
    lines = [json.loads(line) for line in open(f"front/trial-{i:04d}/metrics.jsonl")]
    assert abs(lines[int(row["best_epoch"]) - 1]["loss"] - float(row["loss"])) < 1e-6, row
PY
cp front/summary.csv front.csv
ok "$weft" tune "${objectives[@]}" --run-dir front --resume
cmp front/summary.csv front.csv && cmp <(sed -n '/^front/,$p' out) <(sed -n '/^front/,$p' front.txt) || fail "a replay has another front: $(diff out front.txt)"
head -c $(($(wc -c <front/trials.jsonl) / 2)) front/trials.jsonl >half && mv half front/trials.jsonl
ok "$weft" tune "${objectives[@]}" --run-dir front --resume
cmp <(cut -d, -f1-6,8- front/summary.csv) <(cut -d, -f1-6,8- front.csv) || fail "half a search goes on otherwise: $(diff front/summary.csv front.csv)"
refused 2 "'speed' is none" "$weft" tune "${how[@]}" --objectives valid,speed --run-dir no
refused 2 "is there twice" "$weft" tune "${how[@]}" --objectives loss,loss --run-dir no
refused 2 "numbers of ranks" ranks 2 "$weft" tune "${how[@]}" --objectives valid,epoch_s --elastic --run-dir no
refused 2 "space.toml would not be read" "$weft" tune --table recorded.npz space.toml

# ---- warped coordinates: an option of a search, which its journal holds it to ----
warped=(warped.toml "${how[@]:1}" --scheduler fifo --searcher gp --trials 20)
sed 's/^trials = .*/gp-warp = true/; /^scheduler/d; /^searcher/d' space.toml >warped.toml
settings() { grep -o '"values": [^]]*' "$1/trials.jsonl"; }
ok "$weft" tune "${warped[@]}" --run-dir warped
ok "$weft" tune space.toml "${warped[@]:1}" --run-dir flat
ok "$weft" tune space.toml "${warped[@]:1}" --gp-warp --run-dir said
[ "$(settings warped)" = "$(settings said)" ] || fail "--gp-warp is another search than gp-warp in [search]"
[ "$(settings warped)" != "$(settings flat)" ] || fail "--gp-warp changes nothing"
refused 2 "the journal is of another search" "$weft" tune space.toml "${warped[@]:1}" --run-dir warped --resume
refused 2 "the journal is of another search" "$weft" tune "${warped[@]}" --run-dir flat --resume
ok "$weft" tune "${warped[@]}" --run-dir warped --resume

# ---- a population ----
printf '[space]\nlr = {log = [1e-4, 1]}\nweight-decay = {log = [1e-6, 1e-2]}\ndropout = {choice = [0.1, 0.2, 0.4]}\n' >changing.toml
population=(changing.toml "${how[@]:1}" --scheduler pbt --interval 2 --trials 6 --searcher random)
ok "$weft" tune "${population[@]}" --run-dir born
[ ! -e born/best.toml ] || fail "options of one training stand for settings that changed"
grep -q "its weights: born/trial-" out || fail "nothing says where the weights are: $(cat out)"
python3 - <<'PY' || fail "the lineage is not that of weights and settings"
import csv, json
rows = list(csv.DictReader(open("born/lineage.csv")))
begins = [r for r in rows if r["source"] == ""]
assert [r["trial"] for r in begins] == [str(i) for i in range(6)] and all(r["epoch"] == "0" for r in begins)
settings, moved = {r["trial"]: r for r in begins}, 0
for r in rows[6:]:
    source = settings[r["source"]]
    assert r["trial"] != r["source"] and int(r["epoch"]) % 2 == 0
    factor = float(r["lr"]) / float(source["lr"])
    moved += any(abs(factor - f) < 1e-6 for f in (0.8, 1.2)) or float(r["lr"]) in (1e-4, 1.0)
    assert r["dropout"] in ("0.1", "0.2", "0.4")
    settings[r["trial"]] = r
assert len(rows) >= 6 + 4 and moved >= 2, rows
for r in csv.DictReader(open("born/summary.csv")):
    assert r["lr"] == settings[r["trial"]]["lr"] and r["state"] == "complete"
last = rows[-1]
lines = [json.loads(line) for line in open(f"born/trial-{int(last['trial']):04d}/metrics.jsonl")]
assert [line["epoch"] for line in lines] == list(range(1, 10))
assert abs(lines[int(last["epoch"])]["lr"] - float(last["lr"])) < 1e-6 * float(last["lr"]), "it trained on with other settings"
PY
ok ranks 2 "$weft" tune "${population[@]}" --ranks-per-trial 1 --run-dir twins
cmp born/lineage.csv twins/lineage.csv || fail "two groups of ranks have another lineage: $(diff born/lineage.csv twins/lineage.csv)"
for seconds in 0.4 0.8; do
    timeout -s KILL $seconds "$weft" tune "${population[@]}" --run-dir other >/dev/null 2>&1
    go_on other "$weft" tune "${population[@]}"
    cmp born/lineage.csv other/lineage.csv && [ "$(facts born)" = "$(facts other)" ] || fail "a population that was killed goes on otherwise: $(diff <(facts born) <(facts other))"
    rm -rf other
done
# A trial says its score before it writes its checkpoint: the journal may tell of more than there is to go on from.
mkdir lost
sed '/"resume"/,$d' born/trials.jsonl >lost/trials.jsonl
ok "$weft" tune "${population[@]}" --run-dir lost --resume
cmp born/lineage.csv lost/lineage.csv && [ "$(facts born)" = "$(facts lost)" ] || fail "a population whose checkpoints were lost goes on otherwise: $(diff <(facts born) <(facts lost))"
rm -rf lost/*
sed '/"source"/q' born/trials.jsonl >lost/trials.jsonl
refused 65 "has no checkpoint of epoch 2 or later, where trial" "$weft" tune "${population[@]}" --run-dir lost --resume
refused 2 "space" "$weft" tune "${population[@]/%6/8}" --run-dir twins --resume
refused 2 "exchanges no weights" "$weft" tune "${how[@]}" --interval 2 --run-dir no
refused 2 "hidden cannot change there" "$weft" tune "${how[@]}" --scheduler pbt --run-dir no

# ---- more trials, and one that the user ends ----
cp -r one more
ok "$weft" tune "${how[@]}" --trials 9 --run-dir more --resume
grep -q "was to have 6 trials, and has 9" err || fail "nothing says that there are more trials: $(cat err)"
[ "$(tail -n +2 more/summary.csv | wc -l)" = 9 ] || fail "not 9 trials: $(cat more/summary.csv)"
cmp <(facts more | sed -n 2,7p | cut -d, -f1,9-) <(facts one | sed -n 2,7p | cut -d, -f1,9-) || fail "the first 6 trials have other values"
ok "$weft" tune "${how[@]}" --trials 9 --run-dir nine
[ "$(facts nine | cut -d, -f1,9-)" = "$(facts more | cut -d, -f1,9-)" ] || fail "9 trials are others than 6 and 3 more"
waits=$(grep -m1 ,paused, more/summary.csv | cut -d, -f1)
printf '%s\n99\nx\n' "$waits" >more/cancel
ok "$weft" tune "${how[@]}" --trials 40 --run-dir more --resume
grep -q "'99' is no trial of the 9" err || fail "a trial that there is not is ended without a word: $(cat err)"
grep -q "^$waits,failed,.*cancelled" more/summary.csv || fail "trial $waits goes on though it was ended: $(cat more/summary.csv)"
ok "$weft" tune "${how[@]}" --trials 40 --run-dir more --resume
grep -q "^$waits,failed,.*cancelled" more/summary.csv || fail "a replay forgets that trial $waits was ended"

# ---- other kinds, and trials that fail ----
python3 - <<'PY'
import random
random.seed(3)
with open("t.csv", "w") as out:
    print("x,y,word,late", file=out)
    for _ in range(800):
        x, y = random.random(), random.random()
        print(f"{x:.4f},{y:.4f},{random.choice('abc')},{int(random.random() < x * y + 0.2)}", file=out)
PY
printf '[space]\nlr = {log = [0.05, 0.5]}\ndepth = {integer = [2, 4]}\n' >trees.toml
ok "$weft" tune trees.toml --data t.csv --target late --model trees --trees 6 --trials 4 --pin off --threads 1 --run-dir trees
grep -q "^best: trial" out || fail "trees are not searched: $(cat out)"
ok "$weft" tune trees.toml --data t.csv --target y --metric rmse --model trees --trees 6 --trials 4 --pin off --threads 1 --run-dir errors
cp errors/summary.csv fresh.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "best_score") c = i } NR > 1 && c && !($c > 0) { exit 1 }' fresh.csv || fail "an error is below zero: $(cat fresh.csv)"
ok "$weft" tune trees.toml --data t.csv --target y --metric rmse --model trees --trees 6 --trials 4 --pin off --threads 1 --run-dir errors --resume
cmp fresh.csv errors/summary.csv || fail "a finished search that is read again has other scores: $(diff fresh.csv errors/summary.csv)"
printf '[space]\nlr = {choice = [0.01, 1e6]}\n' >wild.toml
ok "$weft" tune wild.toml --data synth:quickstart,scale=0.02 --model sage --optimizer sgd --epochs 4 --searcher grid --scheduler fifo --trials 5 --pin off --threads 1 \
    --run-dir wild
[ "$(grep -c -E "^[01],complete," wild/summary.csv)" = 1 ] && [ "$(grep -c -E "^[01],failed," wild/summary.csv)" = 1 ] ||
    fail "a trial that fails ends the search: $(cat wild/summary.csv)"

# ---- what is refused ----
refused 2 "has a search already" "$weft" tune "${how[@]}" --run-dir one
sed 's/0\.1\]/0.2]/' space.toml >wider.toml
refused 2 "space" "$weft" tune wider.toml "${how[@]:1}" --run-dir one --resume
printf '[space]\nlearning = {range = [0.1, 0.2]}\n' >unknown.toml
refused 2 "learning" "$weft" tune unknown.toml "${how[@]:1}" --run-dir no
printf '[space]\nepochs = {integer = [2, 9]}\n' >epochs.toml
refused 2 "epochs is of the search" "$weft" tune epochs.toml "${how[@]:1}" --run-dir no
printf '[space]\nseed = {integer = [2, 9]}\n' >seeds.toml
refused 2 "seed is of the search" "$weft" tune seeds.toml "${how[@]:1}" --run-dir no
printf '[space]\nlr = {range = [0.1, 0.2]}\nlearning-rate = {range = [0.3, 0.4]}\n' >aliases.toml
refused 2 "lr and learning-rate are one option" "$weft" tune aliases.toml "${how[@]:1}" --run-dir no
refused 2 "lr is searched and has the value 0.05 as well" "$weft" tune "${how[@]}" --lr 0.05 --run-dir no
refused 2 "name the space" "$weft" tune --data synth:quickstart --run-dir no
refused 2 "trains each in one go" "$weft" tune "${how[@]}" --scheduler fifo --elastic --run-dir no
refused 2 "no two groups" "$weft" tune "${how[@]}" --elastic --run-dir no
refused 2 "no first rung" "$weft" tune "${how[@]}" --scheduler fifo --grace 3 --run-dir no
refused 2 "the first 3 trials are refused" "$weft" tune "${how[@]}" --metric rmse --run-dir vain
[ ! -e no ] || fail "a search that was refused leaves a folder"
echo "passed"
