#!/bin/bash
# Networks on images as a job: the same training on 1, 2 and 3 ranks, stopped within an epoch and resumed to the bit, scored,
# predicted with and exported; refusals that say what to do.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder
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

# ---- images that are mixed in pairs: by any number of ranks, and micro-batches, the same; other losses than without ----
mixing=(--epochs 3 --mixup 0.4 --label-smoothing 0.1)
train "${mixing[@]}" --run-dir mixed1
for ranks in 2 3; do
    ranks $ranks "$weft" train "${options[@]}" "${mixing[@]}" --run-dir mixed$ranks >out 2>err || fail "mixup, $ranks ranks: $(cat err)"
    paste <(losses mixed1) <(losses mixed$ranks) <(losses one) |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1 && (NR < 3 || $1 > 1.05 * $3))) {print; bad = 1}} END {exit bad || NR != 3}' ||
        fail "mixup, $ranks ranks: other losses: $(losses mixed1) | $(losses mixed$ranks) | $(losses one)"
done
"$weft" train "${options[@]}" --mixup 0.4 --class-weights balanced >out 2>err && fail "mixup with class weights"
grep -q contradict err || fail "mixup with class weights: $(cat err)"

# ---- two nodes of two ranks: the sums of a node go over to the other, and come back ----
lenet=(--data synth:images,n=16,size=28,channels=1,classes=4,test=8 --model lenet --batch-size 16 --epochs 20 --eval-every 0
    --lr 0.01 --warmup 0 --schedule constant --threads 1 --pin off --quiet)
"$weft" train "${lenet[@]}" --run-dir near >out 2>err || fail "lenet: $(cat err)"
mpirun -np 4 --oversubscribe --bind-to none "$weft" train "${lenet[@]}" --ranks-per-node 2 --allreduce two-level \
    --run-dir far >out 2>err || fail "two-level: $(cat err)"
paste <(losses near) <(losses far) |
    awk '{d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1)) {print; bad = 1}} END {exit bad || NR != 20}' ||
    fail "two-level: other losses: $(losses near) | $(losses far)"

# ---- it learns: more than the largest class, on images that it has not seen ----
train --epochs 12 --run-dir learned
score=$(sed -n 's/.*"test_mean": *\([0-9.]*\).*/\1/p' learned/summary.json)
awk -v s="$score" 'BEGIN {exit !(s > 0.6)}' || fail "test accuracy $score of 4 classes"

# ---- stopped within an epoch, and on to the bit ----
train --epochs 3 --checkpoint-every 2steps --run-dir whole
grep -q '"allocations_after_first_epoch": 0,' whole/summary.json || fail "epochs allocate: $(grep allocations whole/summary.json)"
cp -r whole stopped
rm -r stopped/weights.npz stopped/summary.json
for ck in stopped/ckpt/*; do
    case $ck in
    *step*) ;;
    *) rm -r "$ck" ;;
    esac
done
ls stopped/ckpt | grep -q step || fail "no checkpoint within an epoch: $(ls whole/ckpt)"
train --epochs 3 --checkpoint-every 2steps --run-dir stopped --resume --cache-memory 10K --cache-dir kept
same_weights() { # RUN RUN
    python3 - "$@" <<'CHECK'
import sys, zipfile
a, b = (zipfile.ZipFile(name + "/weights.npz") for name in sys.argv[1:])
assert sorted(a.namelist()) == sorted(b.namelist())
assert all(a.read(name) == b.read(name) for name in a.namelist())
CHECK
}
same_weights whole stopped || fail "a resumed training has other weights"
for other in augment=none norm-over=own valid-images=10 image-moments=0.5,0.5,0.5/1,1,1; do
    "$weft" train "${options[@]}" --epochs 3 --run-dir stopped --resume "--$other" >out 2>err && fail "resumed with $other"
    grep -q "was made with --${other%%=*} " err || fail "resumed with $other: $(cat err)"
done

# ---- files: decoded once, the same bits wherever they are kept ----
python3 - <<'MAKE'
import os, random, struct, zlib
random.seed(5)
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(60):
    folder = f"photos/{'train' if i < 48 else 'test'}/{'abc'[i % 3]}"
    os.makedirs(folder, exist_ok=True)
    rows = b"".join(b"\0" + random.randbytes(48) for _ in range(16))
    with open(f"{folder}/{i:02d}.png", "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)) +
                  chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
MAKE
tar cf photos.tar photos
tar czf photos.tar.gz photos
photos=(--model small.net --batch-size 16 --threads 1 --pin off --quiet --reproducible --epochs 2)
look() { # RUN: what every epoch and the whole job took from memory, disk and the data
    python3 - "$1" <<'LOOK'
import json, sys
lines = [json.loads(line)["input"] for line in open(sys.argv[1] + "/metrics.jsonl")]
groups = {g["key"]: g["rows"] for g in json.load(open(sys.argv[1] + "/summary.json"))["facts"]}
for i in lines + [{row["key"]: row["value"] for row in groups["input"]}]:
    print(i["from_memory"], i["from_disk"], i["decoded"], "read" if i["source_bytes"] > 0 else "unread", end="; ")
LOOK
}
photos() { # RUN EXPECTED DATA ARGUMENTS
    local run=$1 expected=$2 data=$3
    shift 3
    "$weft" train "${photos[@]}" --data "$data" --run-dir "$run" "$@" >out 2>err || fail "$run: $(cat err)"
    [ "$(look "$run")" = "$expected" ] || fail "$run: $(look "$run")"
    [ "$run" = photos0 ] || same_weights photos0 "$run" || fail "$run: other weights"
    grep -q "^Images read: from memory [0-9]" out || fail "$run: $(cat out)"
}
# 48 for the moments, then 48 to train with and 12 to test with, and these again; 12 for the final test
photos photos0 "0 0 108 read; 0 0 60 read; 0 0 180 read; " photos --cache-memory 1
photos photos1 "48 0 60 read; 60 0 0 unread; 120 0 60 read; " photos
photos photos2 "48 0 60 read; 60 0 0 unread; 120 0 60 read; " photos.tar --cache-dir kept --cache-disk 64M
photos photos3 "108 0 60 unread; 60 0 0 unread; 180 0 60 unread; " photos.tar.gz
photos photos4 "48 60 0 unread; 60 0 0 unread; 120 60 0 unread; " photos.tar --cache-dir kept --cache-disk 64M
photos photos5 "0 108 0 unread; 0 60 0 unread; 0 180 0 unread; " photos.tar --cache-dir kept --cache-disk 64M --cache-memory 1
mpirun -np 2 --oversubscribe --bind-to none "$weft" train "${photos[@]}" --data photos --run-dir photos6 >out 2>err ||
    fail "2 ranks: $(cat err)"
look photos6 | grep -q "120 0 60 read; $" || fail "2 ranks: $(look photos6)"

# ---- the largest class in training: its images are counted though they are not evaluated ----
cp -r photos uneven
find uneven/train/a uneven/test/c -name '*[36].png' -delete
rm "$(find uneven/train/c -name '*.png' | head -n 1)"
for ranks in 1 2 3; do
    mpirun -np $ranks --oversubscribe --bind-to none "$weft" train "${photos[@]}" --data uneven --valid-images 7 --run-dir uneven$ranks \
        >out 2>err || fail "uneven, $ranks ranks: $(cat err)"
    grep -qE '^     Baseline: [0-9.]+ \(class 1, the largest in training: its share of the test split\)$' out ||
        fail "uneven, $ranks ranks: no baseline: $(cat out)"
    python3 - uneven$ranks <<'COUNT' || fail "uneven, $ranks ranks: other counts"
import json, os, sys
o = json.load(open(sys.argv[1] + "/summary.json"))["outcome"]
held = {split: [len(os.listdir(f"uneven/{split}/{name}")) for name in "abc"] for split in ("train", "test")}
train, valid, test = (o["classes"][split] for split in ("train", "valid", "test"))
assert [t + v for t, v in zip(train, valid)] == held["train"] and sum(valid) == 7, (train, valid, held)
assert test == held["test"] and o["images"] == {"train": sum(train), "valid": 7, "test": sum(test)}, (o["images"], held)
largest = max(range(3), key=lambda c: (train[c], valid[c], -c))
assert o["baseline"]["class"] == largest and o["baseline"]["train"] == train[largest] / sum(train), o["baseline"]
assert o["baseline"]["test"] == test[largest] / sum(test), o["baseline"]
COUNT
done

# ---- the report of a run on images: named as it is, nothing of graphs ----
"$weft" report uneven2 --format md --out - >report.md || fail "a report of images"
says_report() { grep -qE "$1" report.md || fail "the report lacks $1: $(head -n 60 report.md)"; }
says_report '^# uneven · small\.net$'
says_report "^12 layers, images of 16 x 16 x 3, [0-9,]+ parameters, on 2 ranks"
says_report 'class 1 b, the largest in training'
for class in "0 a" "1 b" "2 c"; do says_report "^\| $class \| [1-9]"; done
says_report '^\| training images \| [0-9]+ \|$'
says_report '^\| rank \| host \| training images \| sent per epoch \|'
says_report '^\| 1 \| [^|]+ \| [1-9][0-9]* \| [0-9.]+ [kM]?B \|'
grep -qE 'hidden columns|partition.s quality|unknown|^## Graph' report.md && fail "of graphs: $(grep -nE 'hidden columns|quality|unknown|^## Graph' report.md)"

# ---- no node holds all: each has its own part of them, and fetches the rest; the same bits, nothing is read twice ----
far() { # RUN ARGUMENTS
    local run=$1
    shift
    mpirun -np 4 --oversubscribe --bind-to none "$weft" train "${photos[@]}" --data photos --ranks-per-node 2 --run-dir "$run" "$@" \
        >out 2>err || fail "$run: $(cat err)"
}
far whole4
far spread4 --cache-memory 26K --loader-threads 1
far some4 --cache-memory 10K
same_weights whole4 spread4 || fail "images of other nodes: other weights"
same_weights whole4 some4 || fail "images of other nodes, and of none: other weights"
python3 - <<'CHECK' || fail "images of other nodes"
import json
def read(run):
    summary = json.load(open(run + "/summary.json"))
    assert summary["allocations_after_first_epoch"] == 0, summary["allocations_after_first_epoch"]
    lines = [json.loads(line)["input"] for line in open(run + "/metrics.jsonl")]
    groups = {g["key"]: g["rows"] for g in summary["facts"]}
    return {row["key"]: row["value"] for row in groups["input"]}, lines
# 48 for the moments, three times 12 to test with, twice 48 to train with
used = 48 + 3 * 12 + 2 * 48
total, lines = read("spread4")
assert total["decoded"] == 60 and total["from_memory"] + total["from_nodes"] == used, total
assert total["from_nodes"] > used / 6 and lines[1]["source_bytes"] == 0 and lines[1]["decoded"] == 0, (total, lines)
total, lines = read("some4")
assert total["from_nodes"] > 0 and lines[1]["decoded"] > 0, (total, lines)
assert read("whole4")[0]["from_nodes"] == 0
CHECK

# ---- files without classes are answered by name, as they are where they have classes; what is damaged is left out ----
mkdir loose
for file in photos/test/*/*.png; do cp "$file" loose/; done
head -c 200 photos/test/a/48.png >loose/cut.png
echo "no image" >loose/note.txt
answer() { # OUT DATA ARGUMENTS
    local out=$1 data=$2
    shift 2
    "$@" "$weft" predict --data "$data" --checkpoint "${model:-photos1}" --threads 1 --pin off --top 2 --format csv --out "$out" >out 2>err ||
        fail "predict $data: $(cat err)"
}
answer known photos
answer first loose
answer third loose mpirun -np 3 --oversubscribe --bind-to none
answer single loose/50.png
# An exported model, and a run that has not ended, know the classes too.
"$weft" export photos1 --out photos.safetensors --quiet || fail "export"
"$weft" info photos.safetensors | grep -E '^weft\.(layers|hidden|heads|aggregator|dropout|residual)' && fail "options of graphs in an export"
cp -r photos1 unended && rm unended/weights.npz
model=photos.safetensors answer exported loose
model=unended answer unended-answers loose
"$weft" predict --data loose --checkpoint photos1 --threads 1 --pin off --format json --out fourth >first.json 2>err || fail "predict: $(cat err)"
[ "$(grep -c "cut.png: malformed PNG file" err)" -eq 1 ] || fail "a damaged file: $(cat err)"
"$weft" predict photos1 loose loose/cut.png --threads 1 --pin off --out places >out 2>err && grep -q "; images: loose and 1 more;" out ||
    fail "two places: $(cat out err)"
python3 - <<'CHECK' || fail "answers of loose images"
import csv, json, struct
def read(name):
    return list(csv.DictReader(open(name + "/answers.csv", newline="")))
def numbers(name):
    raw = open(name, "rb").read()
    at = 10 + struct.unpack("<H", raw[8:10])[0]
    return struct.unpack("<%df" % ((len(raw) - at) // 4), raw[at:])
known = {row["file"].split("/")[-1]: row for row in read("known")}
first = read("first")
assert [row["file"] for row in first] == sorted(known), first
chances = numbers("first/probabilities.npy")
for i, row in enumerate(first):
    line = chances[3 * i:3 * i + 3]
    best, second = sorted(range(3), key=lambda k: -line[k])[:2]
    assert (int(row["class"]), int(row["class_2"])) == (best, second) and row["name"] == "abc"[best], (row, line)
    assert abs(float(row["probability"]) - line[best]) < 1e-6
    same = known[row["file"]]
    assert row["name"] == same["name"] and abs(float(row["probability"]) - float(same["probability"])) < 1e-5, (row, same)
assert [row["name"] for row in read("exported")] == [row["name"] for row in first]
assert all(row["name"] in "abc" and row["name_2"] in "abc" for row in read("unended-answers"))
for other in ("third", "single"):
    for row in read(other):
        mine = next(a for a in first if a["file"] == row["file"])
        assert row["class"] == mine["class"] and abs(float(row["probability"]) - float(mine["probability"])) < 1e-5, row
assert len(read("third")) == 12 and len(read("single")) == 1
told = json.load(open("first.json"))
assert told["answered"] == 12 and told["malformed"] == 1 and [a["file"] for a in told["answers"]] == sorted(known)
CHECK
"$weft" eval --data loose --checkpoint photos1 --threads 1 --pin off >out 2>err && fail "scores without classes"
grep -q "weft predict answers for them" err || fail "scores without classes: $(cat err)"

# ---- killed while it fills the disk: what it leaves is right, or is not taken ----
printf 'maxpool 16\nlinear classes\n' >coarse.net
made=(--data synth:images,n=600,size=64,classes=4,test=0 --model coarse.net --batch-size 200 --threads 1 --pin off --quiet
    --reproducible --epochs 1)
"$weft" train "${made[@]}" --run-dir made0 >out 2>err || fail "$(cat err)"
for round in 1 2 3; do
    rm -rf part
    "$weft" train "${made[@]}" --run-dir killed --force --cache-dir part >out 2>err &
    job=$!
    until ls part/*.cache >/dev/null 2>&1; do kill -0 $job || break; done
    sleep 0.0$((RANDOM % 90 + 10))
    kill -9 $job 2>/dev/null
    wait $job 2>/dev/null
    "$weft" train "${made[@]}" --run-dir made$round --cache-dir part >out 2>err || fail "$(cat err)"
    same_weights made0 made$round || fail "other weights after a kill: $(look made$round)"
done

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

# ---- a network's file moves or changes: a run keeps its layers, in its folder, checkpoints and exports ----
printf 'conv 4 3\nrelu\nlinear classes\n' >own.net
own=(--data $data --model own.net --batch-size 64 --threads 1 --pin off --quiet --reproducible)
kept() { "$weft" train "${own[@]}" "$@" >out 2>err || fail "train $*: $(cat err)"; }
kept --epochs 4 --schedule constant --run-dir undisturbed
kept --epochs 2 --schedule constant --run-dir kept
rm own.net
"$weft" eval --data $data --checkpoint kept --threads 1 >out 2>err || fail "eval without the network's file: $(cat err)"
"$weft" export kept --out kept.safetensors >out 2>err || fail "export without the network's file: $(cat err)"
"$weft" predict --data $data --checkpoint kept.safetensors --threads 1 --out kept-answers >out 2>err || fail "predict: $(cat err)"
printf 'conv 5 3\nrelu\nlinear classes\n' >own.net
kept --epochs 3 --schedule constant --run-dir kept --resume
grep -q "own.net has changed since the run began" err || fail "a changed network: $(cat err)"
rm own.net
kept --epochs 4 --schedule constant --run-dir kept --resume
paste <(losses undisturbed) <(losses kept) | awk '$1 != $2 {bad = 1} END {exit bad || NR != 4}' ||
    fail "resumed without its file: other losses: $(losses undisturbed) | $(losses kept)"
"$weft" train "${own[@]}" --epochs 1 --run-dir absent >out 2>err && fail "a network without a file"
grep -q "own.net" err || fail "a network without a file: $(cat err)"
"$weft" train "${own[@]}" --network "conv 4 3; relu; linear classes" --epochs 1 --run-dir told >out 2>err || fail "--network: $(cat err)"
[ "$(losses told)" = "$(losses undisturbed | head -1)" ] || fail "--network: another loss: $(losses told)"

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
train --epochs 1 --precision half --backend ref --run-dir half
train --epochs 1 --precision f32 --backend ref --run-dir half0
grep -q '"loss_scale": *32768, *"skipped_steps": *0' half/metrics.jsonl || fail "f16: $(cat half/metrics.jsonl)"
grep -q '"loss_scale": *32768' half/summary.json || fail "f16: $(cat half/summary.json)"
grep -q loss_scale half0/metrics.jsonl && fail "f32 with a scale: $(cat half0/metrics.jsonl)"
paste <(losses half) <(losses half0) | awk '{d = $1 - $2; if (d < 0) d = -d; exit !(d > 0 && d <= 2e-3 * $2)}' ||
    fail "f16: other losses: $(losses half) | $(losses half0)"
train --epochs 1 --precision f16 --loss-scale 1024 --backend ref --run-dir half1024
grep -q '"loss_scale": *1024, *"skipped_steps": *0' half1024/metrics.jsonl || fail "--loss-scale: $(cat half1024/metrics.jsonl)"
train --epochs 1 --precision f16 --backend cpu --run-dir half2
grep -q "no products of f16 there; f32 is used" err || fail "f16 without its instructions: $(cat err)"
"$weft" train "${options[@]}" --precision f16 --loss-scale 1e9 --dry-run >out 2>err
[ $? -eq 2 ] && grep -q "such as 1024" err || fail "--loss-scale 1e9: $(cat err)"
"$weft" train "${options[@]}" --loss-scale 64 --dry-run >out 2>err || fail "--loss-scale without f16: $(cat err)"
grep -q -e "--loss-scale" err || fail "--loss-scale without f16: $(cat err)"
"$weft" train "${options[@]}" --dry-run >out 2>err || fail "--dry-run: $(cat err)"
grep -q "parameters" out || fail "--dry-run: $(cat out)"

"$weft" info resnet-50 >out 2>err || fail "info: $(cat err)"
grep -q "^parameters: 25557032$" out && grep -q "^forward pass of an image: 8\.[0-9]* GFLOP, three times that to train$" out || fail "info: $(head -8 out)"
grep -q "^| layer4.2.conv3 | conv | 7 x 7 x 2048 | 1048576 |" out || fail "info: $(tail -8 out)"
"$weft" info one >out 2>err || fail "info of a run: $(cat err)"
grep -q "^best so far: valid none, test 0" out && grep -q "^--batch-size: 64" out && ! grep -q "^--hidden" out ||
    fail "info of a run on images: $(cat out)"
printf 'relu\nconv 4 3\nlinear classes from=relu1\n' >idle.net
"$weft" info idle.net >out 2>err && grep -q "idle.net: line 2: what comes out does not depend on layer 'conv1'" err || fail "info: $(cat err)"
"$weft" train "${options[@]/small.net/idle.net}" --epochs 1 --run-dir idle >out 2>err || fail "a layer that nothing reads: $(cat err)"
grep -q "idle.net: line 2: what comes out does not depend on layer 'conv1'" err || fail "a layer that nothing reads is not told: $(cat err)"
"$weft" info small.net >out 2>err || fail "info: $(cat err)"

"$weft" train --data $data --model mlp --epochs 1 --threads 1 --pin off --quiet --run-dir mlp >out 2>err || fail "mlp: $(cat err)"
"$weft" export mlp --out mlp.safetensors >out 2>err || fail "export: $(cat err)"
for model in mlp mlp.safetensors; do
    "$weft" eval --data $data --checkpoint $model --threads 1 >out 2>err || fail "eval of $model: $(cat err)"
done
"$weft" info mlp.safetensors >out 2>err || fail "info: $(cat err)"
grep -q "^model: mlp, 5 layers, 4 classes" out || fail "info of mlp: $(head -3 out)"
"$weft" info learned.safetensors >out 2>err || fail "info: $(cat err)"
grep -q "^model: small, 12 layers, 4 classes" out || fail "info of an exported network: $(head -3 out)"
"$weft" export near --out near.safetensors >out 2>err || fail "export: $(cat err)"
python3 - <<'EDIT'
import json, struct
raw = open("near.safetensors", "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
def write(name, header):
    text = json.dumps(header).encode()
    open(name, "wb").write(struct.pack("<Q", len(text)) + text + data)
del header["__metadata__"]
write("foreign.safetensors", header)
header["conv3.weight"] = header.pop("conv2.weight")
write("other.safetensors", header)
EDIT
"$weft" info foreign.safetensors >out 2>err || fail "info: $(cat err)"
grep -q "^model: lenet, 9 layers, 4 classes" out || fail "info of a network of another program: $(head -3 out)"
"$weft" info other.safetensors >out 2>err || fail "info: $(cat err)"
grep -q "^model: none that Weft knows" out || fail "info of an unknown network: $(head -3 out)"

# ---- what belongs to graphs is told once, and the other way round ----
"$weft" train --data $data --model small.net --threads 1 --pin off --dry-run --hidden 16 --partition random --spmm rows --norm layer \
    --halo-overlap off --verify --dry-ranks 5 >out 2>err || fail "options of graphs: $(cat err)"
for name in hidden partition spmm norm halo-overlap verify dry-ranks; do
    [ "$(grep -c -- "--$name .*has no effect" err)" -eq 1 ] || fail "--$name on images: $(cat err)"
done
"$weft" train --data synth:quickstart,scale=0.01 --threads 1 --pin off --dry-run --augment flip --image-size 8 --data-format idx \
    --cache-dir k --accumulate 4 >out 2>err ||
    fail "options of images: $(cat err)"
for name in augment image-size data-format cache-dir accumulate; do
    [ "$(grep -c -- "--$name .*has no effect on graphs" err)" -eq 1 ] || fail "--$name on graphs: $(cat err)"
done

# ---- recipes of the other kind ----
"$weft" train --data $data --model small.net --threads 1 --pin off --dry-run --recipe few-labels >out 2>err || fail "$(cat err)"
grep -q "recipe few-labels is for networks on graphs, and .* is data for networks on images" err || fail "a recipe of graphs: $(cat err)"
"$weft" train --data synth:quickstart,scale=0.01 --threads 1 --pin off --dry-run --recipe images >out 2>err || fail "$(cat err)"
grep -q "recipe images is for networks on images" err || fail "a recipe of images: $(cat err)"

# ---- what is left out is told once, and what usually lies beside images is not ----
told() { # TIMES DATA TEXT
    "$weft" train --data "$2" --model small.net --threads 1 --pin off --dry-run >out 2>err || fail "$2: $(cat err)"
    [ "$(grep -c "left out" err)" -eq "$1" ] || fail "$2: $(cat err)"
    grep -qF -- "$3" err || fail "$2: does not say '$3': $(cat err)"
}
cp -r photos more
touch more/README more/train/LICENSE more/train/a/{notes.txt,table.csv,a.json,.hidden.bin}
mkdir more/beside more/train/a/.deeper && touch more/beside/x.bin more/train/a/.deeper/x.bin
told 1 more "more: beside/ is no split and is left out"
tar cf more.tar --exclude=x.bin more && told 0 more.tar ""
rm -r more/beside
cp photos/train/a/00.png more/train/a/z.webp
told 1 more "more: 1 file of a kind that is not read (.webp): convert them to PNG; left out, the first is train/a/z.webp"
rm more/train/a/z.webp
mkdir -p more/train/a/deeper/still more/train/empty
cp photos/train/a/00.png more/train/a/deeper/still/
cp photos/train/a/00.png more/train/stray.png
ln -s nowhere more/train/b/away.png
ln -s .. more/train/b/loop
told 1 more "more: 4 entries are no images in a class folder and are left out, the first is train/b/away.png"
grep -q " 49/" err || fail "an image below a class folder is not of the class: $(cat err)"
rm -r more/train/a/.deeper
tar cf more.tar more
told 1 more.tar "more.tar: 3 entries are no images in a class folder and are left out, the first is more/train/b/away.png"
grep -q " 49/" err || fail "an image below a class folder is not of the class: $(cat err)"
rm -r more && mkdir -p more/train/{a,b} && touch more/train/b/x.webp
"$weft" train --data more --model small.net --threads 1 --pin off --dry-run >out 2>err && fail "no images: $(cat out)"
grep -qF "train/a/ (without images)" err || fail "no images: $(cat err)"
grep -qF "no training image: 1 file of a kind that is not read (.webp): convert them to PNG" err || fail "no images: $(cat err)"

# ---- refusals ----
refused() { # CODE TEXT ARGUMENTS
    local code=$1 text=$2 got=0
    shift 2
    "$weft" train --threads 1 --pin off --quiet --run-dir refused "$@" >out 2>err || got=$?
    [ $got -eq "$code" ] || fail "$*: exit $got, not $code: $(cat err)"
    grep -qF -- "$text" err || fail "$*: does not say '$text': $(cat err)"
    [ ! -e refused ] || fail "$*: leaves a run folder"
}
"$weft" predict-scaling --data $data --model lenet >out 2>err && fail "predict-scaling of images"
grep -q "predict-scaling is for networks on graphs, and --model lenet" err || fail "predict-scaling of images: $(cat err)"
refused 66 "nowhere: no such graph store" --data nowhere --batch-size 4
mkdir bare && touch bare/notes
refused 66 "bare: is not a graph store (no manifest.json in it; weft convert makes one), and no data set of images" --data bare --batch-size 4
refused 2 "a graph is trained in full batch" --data synth:quickstart,scale=0.01 --batch-size 4
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
refused 2 "store is for networks on graphs, and --model lenet is one on images" --data store --model lenet
refused 2 "photos is for networks on images, and --model gcn is one on graphs" --data photos --model gcn
refused 2 "is for networks on images, and --model gcn is one on graphs" --data $data --recipe kipf
refused 2 "did you mean resnet-20?" --data $data --model resnt-20
refused 65 "which nothing can be learned from" --data loose/50.png
refused 66 "absent.net" --data $data --model absent.net
printf 'conv 4 3\nlinear clases\n' >wrong.net
refused 65 "wrong.net: line 2: channels 'clases' is not a whole number" --data $data --model wrong.net
printf 'conv 4 99\nlinear classes\n' >wrong.net
refused 65 "a kernel that spans 99 does not fit" --data $data --model wrong.net
refused 2 "--image-size 8x8: the images of synth:images" --data $data --model small.net --image-size 8
refused 2 "are 16x16, and only those of folders and archives" --data $data --model small.net --image-size 16x8
refused 2 "--image-size '8y'" --data photos --model small.net --image-size 8y
"$weft" train --data $data --model small.net --threads 1 --pin off --dry-run --image-size 16 >out 2>err || fail "the size they have: $(cat err)"
refused 2 "--image-moments 'x'" --data $data --model small.net --image-moments x
"$weft" eval --data $data --checkpoint learned --threads 1 --pin off --partition random --pairs none.npy >out 2>err || fail "eval: $(cat err)"
grep -q -e "--pairs none.npy (command line) has no effect on images" err || fail "an option of links: $(cat err)"
grep -q "partition random .*has no effect on images" err || fail "--partition of images: $(cat err)"
"$weft" eval --data synth:images,n=9,size=16,channels=1,classes=4,test=9 --checkpoint learned --threads 1 >out 2>err && fail "grey images"
grep -q "the model was trained on images of 3 channel(s) .*, and these have 1: give" err || fail "grey images for a model of colours: $(cat err)"
refused 2 "divide those of 0 to 255 by 255" --data synth:images,n=9,size=16,channels=1 --image-moments 33.3/78.6
refused 2 "for images of 3 channel(s), and these have 1: give as many" --data synth:images,n=9,size=16,channels=1 --image-moments 0,0,0/1,1,1
"$weft" train --data synth:images,n=16,size=16,channels=3,classes=4,test=4 --model resnet-20 --epochs 1 --quiet --run-dir resnet >out 2>err ||
    fail "resnet-20: $(cat err)"
"$weft" export resnet --out resnet.safetensors --quiet 2>err || fail "export: $(cat err)"
python3 - <<'BARE'
import json, struct
data = open("resnet.safetensors", "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + length])
del header["__metadata__"]
text = json.dumps(header).encode()
open("bare.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length :])
BARE
"$weft" eval --data $data --checkpoint bare.safetensors >out 2>err && fail "eval of an unknown network"
grep -q "bare.safetensors: it does not say which network on images .*: name it by --model NAME" err || fail "unknown network: $(cat err)"
"$weft" eval --data $data --checkpoint bare.safetensors --model resnet-20 >out 2>err || fail "eval of a network by name: $(cat err)"
refused 2 "networks on images have cross-entropy" --data $data --model small.net --loss bce
refused 71 "--batch-size" --data $data --model small.net --memory-limit 1MiB
