#!/bin/bash
# --lr auto: the rate that it finds is an option of the run, and the training has the bits of one that was given the rate, for graphs,
# images and clicks, weights to start from included; ranks find the same; a run that goes on keeps its rate; what has no steps is refused.
# needs: mpirun
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
common=(--pin off --threads 1 --calibrate never)
rate() { python3 -c "import json, sys; print(json.load(open(sys.argv[1] + '/run.json'))['options']['lr']['value'])" "$1"; }

# same NAME COMMAND...: a training by --lr auto and one by the rate that it found have the same weights.
same() {
    local name=$1
    ok "${@:2}" --lr auto --run-dir "$name"
    grep -q -- "--lr auto: $(rate "$name"), at which" err || fail "$name: nothing says which rate was taken: $(cat err)"
    [ "$(wc -l <"$name/lr_range.csv")" -gt 11 ] || fail "$name: no curve of the test: $(cat "$name/lr_range.csv")"
    ok "${@:2}" --lr "$(rate "$name")" --run-dir "$name-given"
    cmp "$name/weights.npz" "$name-given/weights.npz" || fail "$name: --lr auto is another training than --lr $(rate "$name")"
    ! cmp -s <(rate "$name") <(echo 0.01) || fail "$name: the rate is the default, which would be found by chance"
}
graph=("$weft" train --data synth:quickstart,scale=0.03 --model sage --norm batch --dropout 0.3 "${common[@]}")
same graph "${graph[@]}" --epochs 6
python3 - <<'PY'
import struct
import random
random.seed(1)
def idx(path, shape, data):
    with open(path, "wb") as out:
        out.write(bytes([0, 0, 8, len(shape)]) + b"".join(struct.pack(">i", n) for n in shape) + bytes(data))
import os
os.makedirs("digits")
for name, n in ("train", 2000), ("t10k", 100):
    labels = [random.randrange(10) for _ in range(n)]
    pixels = bytearray()
    for label in labels:
        image = [random.randrange(40) for _ in range(28 * 28)]
        for y in range(5, 23):
            image[28 * y + 4 + 2 * label] = image[28 * y + 5 + 2 * label] = 200 + random.randrange(50)
        pixels += bytes(image)
    idx(f"digits/{name}-images-idx3-ubyte", (n, 28, 28), pixels)
    idx(f"digits/{name}-labels-idx1-ubyte", (n,), labels)
random.seed(3)
with open("t.csv", "w") as out:
    print("x,word,clicked", file=out)
    for _ in range(3000):
        x, word = random.random(), random.choice("abcdefgh")
        print(f"{x:.4f},{word},{int(random.random() < (x if word < 'e' else 1 - x))}", file=out)
PY
same images "$weft" train --data digits --model lenet --batch-size 50 --epochs 1 --augment none "${common[@]}"
same clicks "$weft" train --data t.csv --target clicked --category word --model deepfm --batch-size 100 --epochs 2 "${common[@]}"
same goes-on "${graph[@]}" --epochs 4 --init-weights graph

ok ranks 3 "${graph[@]}" --epochs 6 --lr auto --run-dir three
[ "$(rate three)" = "$(rate graph)" ] || fail "three ranks take $(rate three), one takes $(rate graph)"
python3 - <<'PY' || fail "ranks have other losses in the test of rates"
import csv
a, b = (list(csv.DictReader(open(f"{d}/lr_range.csv"))) for d in ("graph", "three"))
assert abs(len(a) - len(b)) <= 1
for x, y in list(zip(a, b))[: len(a) // 2]:
    assert x["lr"] == y["lr"] and abs(float(x["loss"]) - float(y["loss"])) < 1e-3 * float(x["loss"]), (x, y)
PY

ok "${graph[@]}" --epochs 3 --lr auto --run-dir parts --checkpoint-every 1
ok "${graph[@]}" --epochs 6 --lr auto --run-dir parts --resume
! grep -q "at which the loss" err || fail "a run that goes on tries rates anew: $(cat err)"
cmp parts/weights.npz graph/weights.npz || fail "3 and 3 epochs by --lr auto are not 6"

[ -e parts/lr_range.csv ] || fail "a run that goes on loses the curve"
ok "${graph[@]}" --epochs 1 --lr 0.02 --run-dir parts --force
[ ! -e parts/lr_range.csv ] || fail "a run has the curve of the one that it replaced"

printf '[space]\nhidden = {choice = [8, 16]}\n' >space.toml
ok "$weft" tune space.toml "${graph[@]:2}" --epochs 4 --lr auto --scheduler fifo --searcher grid --trials 2 --run-dir search
ok "$weft" train --config search/best.toml --run-dir best
cmp best/weights.npz search/trial-0000/weights.npz 2>/dev/null || cmp best/weights.npz search/trial-0001/weights.npz || fail "a trial by --lr auto is another training than weft train gives"
refused 2 "not trained by steps" "$weft" train --data t.csv --target clicked --model trees --lr auto "${common[@]}" --run-dir no
refused 2 "without a preconditioner" "${graph[@]}" --epochs 3 --lr auto --precondition kfac --run-dir vain
refused 2 "or auto" "${graph[@]}" --lr finder --run-dir no
echo "passed"
