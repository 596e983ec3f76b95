#!/bin/bash
# Networks on images as a job: the same training on 1, 2 and 3 ranks, stopped within an epoch and resumed to the bit, scored,
# predicted with and exported; refusals that say what to do.
# needs: mpirun
# timeout: 240
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
data=synth:images,n=300,size=16,channels=3,classes=4,test=100
cat >small.net <<'NET'
conv 8 3 pad=1 bias=off
norm
a: relu
conv 8 3 pad=1 bias=off
norm
add a
relu
maxpool 2
dropout 0.2
linear 32
relu
linear classes
NET
options=(--data $data --model small.net --batch-size 64 --threads 1 --pin off --quiet --reproducible)
train() { "$weft" train "${options[@]}" "$@" >out 2>err || fail "train $*: $(cat err)"; }
losses() { sed -n 's/.*"loss": *\([0-9.e+-]*\).*/\1/p' "$1/metrics.jsonl"; }

# ---- any number of ranks computes the same ----
train --epochs 3 --run-dir one
[ "$(losses one | wc -l)" -eq 3 ] || fail "3 epochs: $(cat one/metrics.jsonl)"
for ranks in 2 3; do
    mpirun -np $ranks --oversubscribe --bind-to none "$weft" train "${options[@]}" --epochs 3 --run-dir many$ranks >out 2>err ||
        fail "$ranks ranks: $(cat err)"
    paste <(losses one) <(losses many$ranks) |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1)) {print; bad = 1}} END {exit bad || NR != 3}' ||
        fail "$ranks ranks: other losses: $(losses one) | $(losses many$ranks)"
done

# ---- it learns: more than the largest class, on images that it has not seen ----
train --epochs 12 --run-dir learned
score=$(sed -n 's/.*"test_mean": *\([0-9.]*\).*/\1/p' learned/summary.json)
awk -v s="$score" 'BEGIN {exit !(s > 0.6)}' || fail "test accuracy $score of 4 classes"

# ---- stopped within an epoch, and on to the bit ----
train --epochs 3 --checkpoint-every 2steps --run-dir whole
cp -r whole stopped
rm -r stopped/weights.npz stopped/summary.json
for ck in stopped/ckpt/*; do
    case $ck in
    *step*) ;;
    *) rm -r "$ck" ;;
    esac
done
ls stopped/ckpt | grep -q step || fail "no checkpoint within an epoch: $(ls whole/ckpt)"
train --epochs 3 --checkpoint-every 2steps --run-dir stopped --resume
python3 - <<'CHECK' || fail "a resumed training has other weights"
import zipfile
a, b = (zipfile.ZipFile(name + "/weights.npz") for name in ("whole", "stopped"))
assert sorted(a.namelist()) == sorted(b.namelist())
assert all(a.read(name) == b.read(name) for name in a.namelist())
CHECK

# ---- scores, answers, exchange ----
"$weft" eval --data $data --checkpoint learned --threads 1 --format json >eval.json 2>err || fail "eval: $(cat err)"
grep -q "\"macro\"" eval.json || fail "eval: $(cat eval.json)"
"$weft" predict --data $data --checkpoint learned --threads 1 --out answers >out 2>err || fail "predict: $(cat err)"
"$weft" export learned --out learned.safetensors >out 2>err || fail "export: $(cat err)"
"$weft" predict --data $data --checkpoint learned.safetensors --threads 1 --out again >out 2>err || fail "predict: $(cat err)"
cmp answers/predictions.npy again/predictions.npy || fail "the exported model answers otherwise"
"$weft" train "${options[@]}" --epochs 1 --init-weights learned.safetensors --lr 0 --run-dir begun >out 2>err ||
    fail "--init-weights: $(cat err)"
python3 - <<'CHECK' || fail "names of tensors"
import json, struct
raw = open("learned.safetensors", "rb").read()
header = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
assert header["conv1.weight"]["shape"] == [8, 3, 3, 3], header["conv1.weight"]
assert header["norm1.running_mean"]["shape"] == [8]
assert header["linear2.weight"]["shape"] == [4, 32]
CHECK

# ---- parts of a batch: the same updates where no layer looks at the whole of it; local norms, other modes ----
printf 'conv 8 3\nrelu\nmaxpool 2\ndropout 0.2\nlinear classes\n' >plain.net
for parts in 1 3; do
    mpirun -np 2 --oversubscribe --bind-to none "$weft" train --data $data --model plain.net --batch-size 64 \
        --threads 1 --pin off --quiet --reproducible --epochs 3 --accumulate $parts --loader-threads 1 --run-dir parts$parts >out 2>err || fail "--accumulate $parts: $(cat err)"
done
paste <(losses parts1) <(losses parts3) |
    awk '{d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1)) {print; bad = 1}} END {exit bad || NR != 3}' ||
    fail "--accumulate: other losses: $(losses parts1) | $(losses parts3)"
train --epochs 1 --accumulate 5 --run-dir parts5
train --epochs 2 --norm-over own --run-dir own
mpirun -np 2 --oversubscribe --bind-to none "$weft" train "${options[@]}" --epochs 2 --norm-over own --run-dir own2 >out 2>err ||
    fail "--norm-over own: $(cat err)"
for mode in topk divide-shuffle shadow; do
    mpirun -np 2 --oversubscribe --bind-to none "$weft" train --data $data --model small.net --batch-size 64 --threads 1 \
        --pin off --quiet --epochs 2 --sync $mode --run-dir mode-$mode >out 2>err || fail "--sync $mode: $(cat err)"
done
train --epochs 2 --precision bf16 --run-dir narrow
train --epochs 2 --precision bf16 --backend cpu:avx2 --run-dir narrow2
grep -q "f32 is used" err || fail "bf16 without its instructions: $(cat err)"
"$weft" train "${options[@]}" --dry-run >out 2>err || fail "--dry-run: $(cat err)"
grep -q "parameters" out || fail "--dry-run: $(cat out)"

"$weft" info resnet-50 >out 2>err || fail "info: $(cat err)"
grep -q "^parameters: 25557032 " out || fail "info: $(head -8 out)"
grep -q "^| layer4.2.conv3 | conv | 7 x 7 x 2048 | 1048576 |" out || fail "info: $(tail -8 out)"
"$weft" info small.net >out 2>err || fail "info: $(cat err)"

# ---- refusals ----
refused() { # CODE TEXT ARGUMENTS
    local code=$1 text=$2 got=0
    shift 2
    "$weft" train --threads 1 --pin off --quiet --run-dir refused "$@" >out 2>err || got=$?
    [ $got -eq "$code" ] || fail "$*: exit $got, not $code: $(cat err)"
    grep -qF -- "$text" err || fail "$*: does not say '$text': $(cat err)"
    [ ! -e refused ] || fail "$*: leaves a run folder"
}
refused 2 "a graph is trained in full batch" --data synth:quickstart,scale=0.01 --batch-size 4
refused 2 "--precision is for images" --data synth:quickstart,scale=0.01 --precision bf16
refused 2 "did you mean resnet-20?" --data $data --model resnet20
refused 66 "absent.net" --data $data --model absent.net
printf 'conv 4 3\nlinear clases\n' >wrong.net
refused 65 "wrong.net: line 2: channels 'clases' is not a whole number" --data $data --model wrong.net
printf 'conv 4 99\nlinear classes\n' >wrong.net
refused 65 "a kernel that spans 99 does not fit" --data $data --model wrong.net
refused 2 "--image-moments 'x'" --data $data --model small.net --image-moments x
refused 71 "--batch-size" --data $data --model small.net --memory-limit 1MiB
