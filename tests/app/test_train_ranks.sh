#!/bin/bash
# weft train on two ranks: every line once, one run folder, and a refused job that leaves nothing behind.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder
data=synth:quickstart,scale=0.02

ranks 2 "$weft" train --data "$data" --epochs 3 --threads 1 --run-dir two >out 2>err || fail "two ranks: $(cat err)"
for text in "weft: graph quickstart" "weft: partition auto into 2 parts" "weft: Run: 01, Epoch: 02" "weft: Run 01: Highest"; do
    [ "$(grep -cF "$text" err)" -eq 1 ] || fail "two ranks do not say '$text' once: $(cat err)"
done
[ "$(grep -c "run folder: two" out)" -eq 1 ] || fail "two ranks print the result $(grep -c "run folder" out) times"
grep -q "weft: " out && fail "a log line on stdout: $(cat out)"
grep -q $'[\033\r]' out err && fail "escape or carriage return in redirected output"
grep -q '"ranks": 2' two/summary.json || fail "summary.json does not count two ranks"
python3 - <<'FACTS' || fail "facts of the partition in summary.json"
import json
summary, run = json.load(open("two/summary.json")), json.load(open("two/run.json"))
group, = summary["facts"]
assert (group["key"], group["group"]) == ("partition", "Partition: auto"), group
row = {r["key"]: r for r in group["rows"]}
data = {r["key"]: r["value"] for r in run["data"]["facts"]}
ranks = summary["per_rank"]
assert all(set(r) == {"key", "label", "unit", "value", "meaning"} for r in group["rows"]), group
assert sum(ranks["held_vertices"]) / data["vertices"] == row["replication_factor"]["value"], row
assert row["split_vertices"]["value"] == sum(ranks["halo_vertices"]), row  # of two ranks each replica is a split vertex
assert abs(row["split_share"]["value"] - 100 * row["split_vertices"]["value"] / data["vertices"]) < 1e-9, row
assert abs(row["cut_share"]["value"] - 100 * row["cut_edges"]["value"] / data["edges"]) < 1e-9, row
assert row["peak_rss_bytes"]["unit"] == "bytes" and row["cut_share"]["unit"] == "%", row
FACTS
[ "$(ls two | wc -l)" -eq 6 ] || fail "left in the run folder: $(ls two)"

"$weft" convert "$data" --out store --quiet || fail "convert $data"

# ---- the same ranks and threads give the same bits ----
for option in --no-reproducible --reproducible; do
    for run in 1 2; do
        ranks 2 "$weft" train --quiet --data store --epochs 5 --threads 1 "$option" --run-dir "bits$option$run" >out 2>err ||
            fail "$option: $(cat err)"
    done
    cmp "bits${option}1/weights.npz" "bits${option}2/weights.npz" || fail "$option: two runs end with different weights"
    losses() { sed 's/.*"loss": \([^,]*\),.*/\1/' "bits$option$1/metrics.jsonl"; }
    [ "$(losses 1 | wc -l)" -eq 5 ] && [ "$(losses 1)" = "$(losses 2)" ] || fail "$option: two runs have different losses"
done

# ---- ranks with different shares of the graph: the losses of one rank; partitions of other shares are told apart ----
told() { sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$1/metrics.jsonl"; }
same() { # FOLDER FOLDER
    [ "$(told "$1" | wc -l)" -eq 3 ] || fail "$1: no losses"
    paste <(told "$1") <(told "$2") |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (!(NF == 2 && d <= 1e-5 * $2)) bad = 1} END {exit bad}' ||
        fail "losses of $1: $(told "$1" | tr '\n' ' ') of $2: $(told "$2" | tr '\n' ' ')"
}
share=(train --data store --hidden 8 --epochs 3 --threads 1)
"$weft" "${share[@]}" --quiet --run-dir alone >out 2>err || fail "one rank: $(cat err)"
weighed() { # FOLDER RANKS TEXT OPTION...
    local folder=$1 count=$2 text=$3
    shift 3
    ranks "$count" "$weft" "${share[@]}" --run-dir "$folder" "$@" >out 2>err || fail "$*: $(cat err)"
    grep -q -- "$text" err || fail "$*: no '$text' in: $(cat err)"
    same "$folder" alone
}
weighed share2 2 "partition auto into 2 parts by rank weights: " --rank-weights 3,1
weighed share2-again 2 "partition auto into 2 parts by rank weights (stored): " --rank-weights 3,1
weighed share2-other 2 "partition auto into 2 parts by rank weights: " --rank-weights 1,2
weighed share2-equal 2 "partition auto into 2 parts\( (stored)\)\?: " --rank-weights 1,1
weighed share4 4 "partition auto into 4 parts by rank weights: " --rank-weights 3,1,1,1
for method in metis expand stream libra random edgecut; do
    weighed share4-$method 4 "partition $method into 4 parts by rank weights: " --rank-weights 3,1,1,1 --partition $method
done
weighed share-auto 2 "rank weights (auto, measured): [0-9]" --rank-weights auto
# A rank that is given no vertex at all takes part in every collective.
small=(train --data synth:quickstart,scale=0.004 --hidden 8 --epochs 3 --threads 1)
"$weft" "${small[@]}" --quiet --run-dir small >out 2>err || fail "a small graph: $(cat err)"
ranks 3 "$weft" "${small[@]}" --rank-weights 1,1000,1000 --run-dir small3 >out 2>err || fail "a rank without vertices: $(cat err)"
same small3 small
grep -A1 '"rank-weights"' share-auto/run.json | grep -q '"value": "[0-9.]*,[0-9.]*"' ||
    fail "run.json does not have the weights: $(grep -A1 '"rank-weights"' share-auto/run.json)"

# ---- a dry run, and refusals ----
ranks 2 "$weft" train --data "$data" --threads 1 --dry-run >out 2>err || fail "dry run: $(cat err)"
grep -qF "2 rank(s) on 1 node(s), 1 thread(s) each" out || fail "dry run does not count ranks: $(cat out)"
grep -qE "^partition auto: replication factor 1\.[0-9]+" out || fail "dry run does not tell the partition: $(cat out)"
grep -qE "^halo: [1-9][0-9]* rows" out || fail "dry run does not tell the messages: $(cat out)"

# refused CODE TEXT OPTION...
refused() {
    local code=$1 text=$2 got=0 before
    shift 2
    : >out
    : >err
    before=$(find . | sort)
    ranks 2 "$weft" train --threads 1 --run-dir none "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "$*: exit $got instead of $code: $(cat err)"
    [ "$(grep -c "weft: error: " err)" -eq 1 ] || fail "$*: not told once: $(cat err)"
    grep "weft: error: " err | grep -qF -- "$text" || fail "$*: no '$text' in: $(cat err)"
    [ "$before" = "$(find . | sort)" ] || fail "$* leaves: $(diff <(echo "$before") <(find . | sort))"
}
refused 71 "would need" --data "$data" --memory-limit 1MiB
refused 71 "by --memory-limit" --data "$data" --partition random --memory-limit 1MiB
refused 2 "3 number(s) for 2 rank(s): give one for each" --data store --rank-weights 3,1,1
refused 2 "\"0\" is no number above 0: give equal, auto" --data store --rank-weights 3,0
refused 2 "take one of auto, metis, expand, stream, libra, random, edgecut" --data store --rank-weights 3,1 --partition 2d
refused 66 "nowhere: no such graph store" --data nowhere
refused 2 "did you mean --hidden?" --data store --hiden 3
cp -r store bad
head -c 1000 store/feature.npy >bad/feature.npy
refused 65 "bad/feature.npy" --data bad
echo "two ranks, one voice"
