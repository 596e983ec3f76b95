#!/bin/bash
# Models of clicks on rows that are made: losses and scores of 1, 2 and 3 ranks agree, as do ceilings, a run goes on with other
# ranks, eval finds the scores that training told, a dry run makes nothing, and models stand in the order of what they can
# express, below the ceiling. What would have no effect is refused.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder

data=synth:clicks,rows=6k,fields=6,ids=40,numbers=2,seed=1
how=(--threads 1 --pin off --quiet --batch-size 128 --row-lr 0.1 --lr 0.005 --metric rocauc)
same() { # RUN RUN: losses within 1e-5 and scores of all epochs, and the same ceilings
    python3 - "$1" "$2" <<'PY' || fail "$1 and $2 are other trainings"
import json
import sys

def read(run):
    epochs = [json.loads(line) for line in open(run + "/metrics.jsonl")]
    return [(e["loss"], e["test"]) for e in epochs if "loss" in e], json.load(open(run + "/summary.json"))
(a, x), (b, y) = map(read, sys.argv[1:])
assert len(a) == len(b) == 3, (a, b)
assert all(abs(p[0] - q[0]) < 1e-5 and abs(p[1] - q[1]) < 1e-3 for p, q in zip(a, b)), (a, b)
assert x["test_ceiling"] == y["test_ceiling"] and x["valid_ceiling"] == y["valid_ceiling"], (x, y)
assert x["test_mean"] < x["test_ceiling"] < 1
PY
}

ok "$weft" train --data $data "${how[@]}" --epochs 3 --run-dir one
grep -q "of which [0-9.]*% are reached" out || fail "the share of the ceiling is not told: $(cat out)"
for count in 2 3; do
    ok ranks $count "$weft" train --data $data "${how[@]}" --epochs 3 --model deepfm --run-dir ranks-$count
    same one ranks-$count
done
ok ranks 2 "$weft" train --data $data "${how[@]}" --epochs 1 --run-dir first
ok ranks 3 "$weft" train --data $data "${how[@]}" --epochs 3 --run-dir first --resume
same one first
refused 2 "belongs to other data" "$weft" train --data synth:clicks,rows=6k,fields=6,ids=40,numbers=2,seed=2 "${how[@]}" --epochs 4 --run-dir first --resume

ok ranks 2 "$weft" eval --checkpoint one --data $data --format json --quiet
python3 - <<'PY' || fail "eval finds other scores than training: $(cat out)"
import json
told, found = json.load(open("one/summary.json")), json.load(open("out"))
assert abs(found["test"]["score"] - told["test_mean"]) < 1e-6 and found["test"]["ceiling"] == told["test_ceiling"]
assert found["test"]["rows"] == 600 and 0 < found["train"]["ceiling"] < 1
PY
ok "$weft" predict --checkpoint one --data synth:clicks,rows=100,fields=6,ids=40,numbers=2,seed=1 --out answers --quiet
ok "$weft" info one
grep -q "synth:clicks" out || fail "info does not tell the data"
ok "$weft" train --data synth:clicks,rows=1000G,ids=1G --dry-run --quiet --valid-share 1e-7 --test-share 1e-7 --row-memory 1G --batch-size 1024 --run-dir dry
[ ! -e dry ] || fail "a dry run leaves a folder"

# Ids that travel ahead change no bit, whoever makes batches; rows that travelled twice are counted.
for ahead in off on; do
    ok ranks 3 "$weft" train --data $data "${how[@]}" --epochs 2 --reproducible --expire-after 20 --admit-after 1 --rows-ahead $ahead --run-dir ahead-$ahead
done
ok ranks 3 "$weft" train --data $data "${how[@]}" --epochs 2 --reproducible --expire-after 20 --admit-after 1 --rows-ahead on --loader-threads 2 --run-dir ahead-loaders
for run in ahead-on ahead-loaders; do
    for file in rows-0000{0,1,2}-of-00003.rows weights.npz; do
        cmp "$run/$file" ahead-off/$file || fail "$run: $file is another than without --rows-ahead"
    done
    grep -q '"reread"' $run/summary.json || fail "$run does not tell how many rows were sent again"
done
! grep -q '"reread"' ahead-off/summary.json || fail "rows were sent again without --rows-ahead"

# Ids that nodes gather: the same losses up to rounding, and bytes between nodes are told.
ok ranks 4 "$weft" train --data $data "${how[@]}" --epochs 3 --model deepfm --table-mode all-to-all --ranks-per-node 2 --row-groups node --run-dir nodes
same one nodes
grep -q '"sent_between_nodes"' nodes/summary.json || fail "bytes between nodes are not told"
refused 2 "it needs several nodes" ranks 2 "$weft" train --data $data "${how[@]}" --row-groups node --run-dir no
refused 2 "small rows leave every --expire-after batches" "$weft" train --data $data "${how[@]}" --expire-norm 1 --run-dir no
refused 2 "do not travel ahead" ranks 4 "$weft" train --data $data "${how[@]}" --ranks-per-node 2 --row-groups node --rows-ahead on --run-dir no

for model in lr fm; do
    ok "$weft" train --data $data "${how[@]}" --epochs 3 --model $model --run-dir $model
done
python3 - <<'PY' || fail "models learn what they cannot, or not what they can"
import json
lr, fm, deepfm = (json.load(open(run + "/summary.json"))["test_mean"] for run in ("lr", "fm", "one"))
print(lr, fm, deepfm)
assert lr + 0.02 < fm and lr + 0.02 < deepfm
PY

refused 2 "--target is about files of tables" "$weft" train --data $data --target c1 "${how[@]}" --run-dir no
refused 2 'did you mean "rows"' "$weft" train --data synth:clicks,row=5 "${how[@]}" --run-dir no
refused 2 "made clicks are synth:clicks" "$weft" train --data synth:click --model fm "${how[@]}" --run-dir no
refused 65 "give fields=6" "$weft" eval --checkpoint one --data synth:clicks,rows=100 --quiet
echo "passed"
