#!/bin/bash
# Training that goes on from the weights of another: a last layer of other classes is drawn anew, parameters stand still or have
# rates of their own (on images, graphs and clicks), and files of torch.save are answered with the line that makes safetensors of them.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder
cat >small.net <<'NET'
conv1: conv 4 3 pad=1 bias=off
bn1: norm
relu
conv2: conv 4 3 pad=1
relu
maxpool 2
fc: linear classes
NET
few=(--data synth:images,n=60,size=8,channels=1,classes=3,test=20 --model small.net --batch-size 20 --threads 1 --pin off
    --warmup 0)
more=(--data synth:images,n=60,size=8,channels=1,classes=5,test=20 "${few[@]:2}")
wide=("${few[@]:0:2}" --model wide.net "${few[@]:4}")
# The parameters of RUN and OTHER, by name, of which those that fit a pattern are equal, and each of the others differs.
cat >compare.py <<'CHECK'
import fnmatch, sys, zipfile
a, b = (zipfile.ZipFile(name + "/weights.npz") for name in sys.argv[1:3])
same = [name[:-4] for name in a.namelist() if a.read(name) == b.read(name)]
trained = [name[:-4] for name in a.namelist() if "running" not in name]
wanted = [name for name in trained if any(fnmatch.fnmatchcase(name, p) for p in sys.argv[3:])]
assert sorted(set(same) & set(trained)) == sorted(wanted), (same, wanted)
CHECK
ok "$weft" train "${few[@]}" --epochs 1 --lr 0.01 --run-dir three

# ---- a last layer of other classes ----
for ranks in 1 2; do
    ok ranks $ranks "$weft" train "${more[@]}" --epochs 1 --init-weights three --lr 0 --run-dir moved$ranks
    grep -q "the last layer (fc.\*) has another shape there and is drawn anew" err || fail "no word of the layer: $(cat err)"
    python3 compare.py three moved$ranks 'conv*' 'bn*' 2>err || fail "$ranks ranks: other weights than the last layer's: $(cat err)"
done
ok "$weft" train "${more[@]}" --epochs 1 --lr 0 --run-dir drawn
python3 compare.py drawn moved1 'fc.*' 2>err || fail "the new layer is not what a seed draws: $(cat err)"
sed 's/conv2: conv 4/conv2: conv 8/' small.net >wide.net
refused 65 "conv2.weight has shape [4, 4, 3, 3], the model has [8, 4, 3, 3]" "$weft" train "${wide[@]}" \
    --epochs 1 --init-weights three --run-dir refused
refused 65 "answers with 3 classes or tasks" "$weft" eval --data synth:images,n=60,size=8,channels=1,classes=5,test=20 --checkpoint three/weights.npz \
    --model small.net

# ---- parameters that stand still ----
for ranks in 1 2; do
    ok ranks $ranks "$weft" train "${more[@]}" --epochs 2 --init-weights three --freeze 'conv*,bn1.*' --clip-norm 0.5 \
        --optimizer adamw --weight-decay 0.1 --lr 0.01 --eval-every 0 --run-dir frozen$ranks
    python3 compare.py three frozen$ranks 'conv*' 'bn1.*' 2>err || fail "$ranks ranks: frozen weights: $(cat err)"
done
cat >step.py <<'CHECK'
# step.py START WHOLE SCALED NAME=X...: by plain gradient descent a step with the rate X is X times the step with the rate 1.
import struct, sys, zipfile
def read(run):
    file = zipfile.ZipFile(run + "/weights.npz")
    out = {}
    for name in file.namelist():
        data = file.read(name)
        at = 10 + struct.unpack("<H", data[8:10])[0]
        out[name[:-4]] = struct.unpack(f"<{(len(data) - at) // 4}f", data[at:])
    return out
start, whole, scaled = map(read, sys.argv[1:4])
for name, x in (word.split("=") for word in sys.argv[4:]):
    for a, b, c in zip(start[name], whole[name], scaled[name]):
        assert abs((c - a) - float(x) * (b - a)) < 2e-6, (name, a, b, c)
    assert max(abs(b - a) for a, b in zip(start[name], whole[name])) > 1e-4, (name, "does not move")
CHECK
# steps NAME RANKS "RATES" OPTION... -- TRAIN...: a step from NAME-start with the rate 1 and one with rates of their own.
steps() {
    local name=$1 ranks=$2 rates=$3 own=()
    shift 3
    while [ "$1" != -- ]; do
        own+=("$1")
        shift
    done
    shift
    ok "$weft" train "$@" --lr 0 --run-dir "$name-start"
    ok "$weft" train "$@" --lr 0.5 --run-dir "$name-whole"
    ok ranks "$ranks" "$weft" train "$@" --lr 0.5 "${own[@]}" --run-dir "$name-scaled"
    grep -q " are frozen and .* have a rate of their own" err || fail "$name: no word of rates: $(cat err)"
    # shellcheck disable=SC2086 # rates are words
    python3 step.py "$name-start" "$name-whole" "$name-scaled" $rates 2>err || fail "$name: steps with rates of their own: $(cat err)"
}
graph=(--data synth:quickstart,scale=0.01 --layers 2 --norm none --optimizer sgd --epochs 1 --threads 1 --pin off)
steps graph 2 "layer0.weight=0.5 layer0.bias=0 layer1.weight=2 layer1.bias=1" \
    --lr-scale '*.weight=2,layer0.weight=0.5' --freeze layer0.bias -- "${graph[@]}" --model gcn
steps images 2 "conv1.weight=0 bn1.weight=1 conv2.weight=0.25 fc.weight=2 fc.bias=1" \
    --lr-scale 'conv*=0.25,fc.weight=2' --freeze conv1.weight -- \
    "${few[@]:0:4}" --batch-size 60 --threads 1 --pin off --warmup 0 --optimizer sgd --momentum 0 --weight-decay 0 --epochs 1

# ---- a graph with other classes ----
for ranks in 1 2; do
    ok ranks $ranks "$weft" train --data synth:quickstart,scale=0.01,classes=5 "${graph[@]:2}" --model gcn --lr 0 \
        --init-weights graph-whole --run-dir other$ranks
    grep -q "the last layer (layer1.\*) has another shape there and is drawn anew" err ||
        fail "no word of a graph's last layer: $(cat err)"
    python3 compare.py graph-whole other$ranks 'layer0.*' 'feature.*' 2>err ||
        fail "graph, $ranks ranks: other weights than the last layer's: $(cat err)"
done

# ---- clicks: parameters beside the rows of ids ----
python3 - <<'MAKE'
import random
random.seed(1)
with open("clicks.csv", "w") as file:
    file.write("user,item,price,click\n")
    for _ in range(600):
        user, item = random.randrange(20), random.randrange(15)
        file.write(f"u{user},i{item},{random.random():.3f},{int(user + item + random.randrange(9) > 20)}\n")
MAKE
clicks=(--data clicks.csv --target click --category "user,item" --model deepfm --threads 1 --pin off --optimizer sgd)
once=(--mlp 8,4 --batch-size 600 --epochs 1)
steps clicks 2 "deep.0.weight=0 deep.0.bias=1 deep.1.weight=0.5 deep.out.weight=3 bias=1" --lr-scale 'deep.1.*=0.5,deep.out.*=3' \
    --freeze deep.0.weight -- "${clicks[@]}" "${once[@]}"
ok ranks 2 "$weft" train "${clicks[@]}" --mlp 8,4 --batch-size 100 --epochs 2 --lr 0.1 --init-weights clicks-whole \
    --freeze 'deep.*' --run-dir clicks-frozen
python3 compare.py clicks-whole clicks-frozen 'deep.*' 'feature.*' 2>err ||
    fail "clicks: frozen weights: $(cat err)"
refused 65 "deep.1.weight has shape [4, 8], the model has [6, 8]" "$weft" train "${clicks[@]}" --mlp 8,6 \
    --epochs 1 --init-weights clicks-whole --run-dir refused

# ---- refusals ----
refused 2 "fits no parameter of this model, which are conv1.weight, " "$weft" train "${few[@]}" --freeze 'layer*' --run-dir refused
refused 2 "expected PATTERN=X" "$weft" train "${few[@]}" --lr-scale 'conv1.*' --run-dir refused
refused 2 "no parameter is left to train" "$weft" train "${few[@]}" --freeze '*' --run-dir refused
refused 2 "turns all parameters together" "$weft" train "${few[@]}" --freeze 'conv*' --precondition muon --run-dir refused
refused 2 "lie in one matrix and train together" "$weft" train "${graph[@]}" --model sage --freeze layer0.self --run-dir refused
python3 - <<'MAKE'
import zipfile
with zipfile.ZipFile("W.pt", "w") as file:
    file.writestr("W/data.pkl", b"\x80\x02}q\x00.")
MAKE
refused 65 "s.save_file(torch.load('W.pt', weights_only=True), 'W.safetensors')" "$weft" train "${few[@]}" --init-weights W.pt \
    --run-dir refused
echo "ok"
