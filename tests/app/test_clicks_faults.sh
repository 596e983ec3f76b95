#!/bin/bash
# A model of clicks that is killed again and again while it writes checkpoints ends with the rows and weights of a run that nobody
# disturbed. Data that lack a column of the model, negative indices and words among numbers are told with their place.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work_folder

# ---- killed ----
grown=(--data "synth:clicks,rows=40k,ids=20k,fields=4,numbers=2" --model deepfm --mlp 8 --epoch-rows 2000 --epochs 8 --batch-size 1000
    --valid-share 0 --test-share 0 --threads 1 --pin off --quiet --checkpoint-every 1)
ok "$weft" train "${grown[@]}" --run-dir whole
files() { find killed -type f 2>/dev/null | sort | xargs -r stat -c '%n %i %s' 2>/dev/null; }
kills=0
for attempt in 1 2 3; do # each time when files have changed `attempt` times
    "$weft" train "${grown[@]}" --run-dir killed $([ -d killed ] && echo --resume) >out 2>err &
    job=$!
    changes=0
    before=$(files)
    while [ "$changes" -lt $((2 * attempt)) ] && kill -0 $job 2>/dev/null; do
        now=$(files)
        [ "$now" = "$before" ] || changes=$((changes + 1))
        before=$now
    done
    kill -9 $job 2>/dev/null
    wait $job 2>/dev/null
    [ $? -ne 137 ] || kills=$((kills + 1))
    [ -d killed/ckpt ] || rm -rf killed # nothing stands yet
done
[ $kills -gt 0 ] || fail "no run was killed"
ok "$weft" train "${grown[@]}" --run-dir killed $([ -d killed ] && echo --resume)
cmp killed/rows-00000-of-00001.rows whole/rows-00000-of-00001.rows || fail "a run that was killed has other rows"
cmp killed/weights.npz whole/weights.npz || fail "a run that was killed has other weights"

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
