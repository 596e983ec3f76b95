#!/bin/bash
# A model of clicks that is killed again and again while it writes checkpoints ends with the rows and weights of a run that nobody
# disturbed, on one rank and on two. Memory for rows that ends within an epoch costs new ids their rows and nothing else. Data that
# lack a column of the model, negative indices and words among numbers are told with their place.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
need mpirun
work_folder

# ---- killed ----
grown=(--data "synth:clicks,rows=40k,ids=20k,fields=4,numbers=2" --model deepfm --mlp 8 --epoch-rows 2000 --epochs 8 --batch-size 1000
    --valid-share 0 --test-share 0 --threads 1 --pin off --quiet --checkpoint-every 1 --table-mode all-to-all --choices allreduce=shared)
files() { find "$1" -type f 2>/dev/null | sort | xargs -r stat -c '%n %i %s' 2>/dev/null; }
# killed COUNT: runs on so many ranks, of which one is killed, on two between its file of rows and the other's, too.
killed() {
    local count=$1 job rank changes before now kills=0
    ok ranks "$count" "$weft" train "${grown[@]}" --run-dir "whole-$count"
    for _ in $(seq 9); do # 3 kills, each when files have changed more often; a busy machine may miss one
        mpirun --oversubscribe --bind-to none -np "$count" "$weft" train "${grown[@]}" --run-dir "killed-$count" \
            $([ -d "killed-$count" ] && echo --resume) >out 2>err &
        job=$!
        changes=0
        before=$(files "killed-$count")
        while [ "$changes" -lt $((2 * kills + 2 + count)) ] && kill -0 $job 2>/dev/null; do
            now=$(files "killed-$count")
            [ "$now" = "$before" ] || changes=$((changes + 1))
            before=$now
        done
        rank=$(pgrep -P $job | tail -1)
        if [ -n "$rank" ] && kill -9 "$rank" 2>/dev/null; then
            kills=$((kills + 1))
        fi
        wait $job 2>/dev/null
        [ -d "killed-$count/ckpt" ] || rm -rf "killed-$count" # nothing stands yet
        if [ $kills -eq 3 ] || { [ $kills -gt 0 ] && [ -e "killed-$count/weights.npz" ]; }; then
            break
        fi
        [ ! -e "killed-$count/weights.npz" ] || rm -rf "killed-$count" # it came to its end
    done
    [ $kills -gt 0 ] || fail "no run was killed"
    ok ranks "$count" "$weft" train "${grown[@]}" --run-dir "killed-$count" $([ -d "killed-$count" ] && echo --resume)
    for rank in $(seq 0 $((count - 1))); do
        cmp "killed-$count/rows-0000$rank-of-0000$count.rows" "whole-$count/rows-0000$rank-of-0000$count.rows" ||
            fail "a run of $count ranks that was killed has other rows"
    done
    python3 -c "
import json
made = [[json.loads(line)['embeddings'] for line in open(f'{run}-$count/metrics.jsonl')] for run in ('whole', 'killed')]
for whole, killed in zip(*made, strict=True):
    assert whole['expired'] == killed['expired'] and whole['made'] == killed['made'] > 0, (whole, killed)
" || fail "a run of $count ranks that was killed counts other rows"
    cmp "killed-$count/weights.npz" "whole-$count/weights.npz" || fail "a run of $count ranks that was killed has other weights"
}
killed 1
killed 2

# ---- memory ends within an epoch ----
ok "$weft" train "${grown[@]:0:6}" --batch-size 1000 --epochs 1 --row-memory 400K --threads 1 --pin off --quiet --run-dir bounded
python3 -c "
import json
rows = [json.loads(line) for line in open('bounded/metrics.jsonl')][-1]['embeddings']
assert rows['refused'] > 0 and rows['rows'] == rows['made'] > 0 and rows['bytes'] <= 400 << 10, rows
" || fail "a bound of memory is passed, or what it refuses is not told"

# ---- data ----
python3 - <<'PY'
with open("clicks.csv", "w") as out:
    out.write("user,item,price,click\n")
    for i in range(400):
        out.write(f"u{i % 30},{-(i % 7)},{i % 11},{int(i % 3 == 0)}\n")
PY
ok "$weft" train --data clicks.csv --target click --category item --model fm --epochs 1 --threads 1 --pin off --quiet --run-dir run
cut -d, -f1,3,4 clicks.csv >lacks.csv
refused 2 "lacks.csv: columns of ids that the model reads: there is no column 'item' among 3" \
    "$weft" predict --checkpoint run --data lacks.csv --out no --quiet
sed '3s/,[0-9]*,\([01]\)$/,dear,\1/' clicks.csv >words.csv
refused 65 "words.csv: column 'price' holds category, and the model reads numbers there" \
    "$weft" predict --checkpoint run --data words.csv --out no --quiet
printf '1 3:1 -4:1\n0 2:1\n' >negative.svm
refused 65 "negative.svm: line 1: '-4:1': expected INDEX:VALUE" \
    "$weft" train --data negative.svm --positive-from 1 --model lr --quiet --run-dir no
sed '1s/item/thing/' clicks.csv >renamed.csv
refused 2 "there is no column 'item'" "$weft" eval --checkpoint run --data renamed.csv --target click --quiet
