#!/bin/bash
# Modes that meet: remembered rows of a model of several hops and --resume; counters of a checkpoint's state that cannot be, in every
# mode; what topk sends where everything is sent; kept parts of another meaning; steps that would leave a batch norm one value.
# needs: mpirun
# timeout: 300
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
need_numpy
cases=${WEFT_SHARED:-$source_dir/../shared}/cases
[ -d "$cases/stress" ] || skip "no cases at $cases"
work_folder
export WEFT=$weft

# The checksums of a checkpoint are XXH3-128: the shared library has it where Python has no module for it.
if ! python3 -c 'import xxhash' 2>/dev/null; then
    mkdir modules
    cat >modules/xxhash.py <<'PY'
import ctypes


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


library = ctypes.CDLL("libxxhash.so.0")
library.XXH3_128bits.restype = Hash128
library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


class xxh3_128:
    def __init__(self, data):
        self.hash = library.XXH3_128bits(data, len(data))

    def hexdigest(self):
        return f"{self.hash.high:016x}{self.hash.low:016x}"
PY
    export PYTHONPATH=$work/modules
    python3 -c 'import xxhash' 2>/dev/null || skip "no XXH3-128: install python3-xxhash or libxxhash0"
fi

for case in 01-sgc-resume 04-counters-in-checkpoint; do
    bash "$cases/stress/$case.sh" >case.out 2>&1
    grep -q "^exit" case.out && ! grep -q FAULT case.out || fail "$case: $(cat case.out)"
done

# edit.py FILE ARRAY INDEX VALUE [CHECKPOINT]: one number of an .npz; the manifest's checksums follow. INDEX counts words of 8 bytes in
# arrays of bytes.
cat >edit.py <<'PY'
import io, json, os, sys, zipfile
import numpy, xxhash
path, wanted, index, value = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with zipfile.ZipFile(path) as archive:
    members = [(i.filename, archive.read(i)) for i in archive.infolist()]
changed = 0
with zipfile.ZipFile(path, "w") as archive:
    for name, data in members:
        if name.removesuffix(".npy") == wanted:
            array = numpy.load(io.BytesIO(data))
            (array.view(numpy.int64) if array.dtype == numpy.uint8 else array)[index] = value
            stream = io.BytesIO()
            numpy.save(stream, array)
            data, changed = stream.getvalue(), changed + 1
        archive.writestr(name, data)
assert changed == 1, (path, wanted, [name for name, _ in members])
if len(sys.argv) > 5:
    hash_of = lambda data: xxhash.xxh3_128(data).hexdigest()
    folder, data = sys.argv[5], open(path, "rb").read()
    manifest = json.load(open(f"{folder}/manifest.json"))
    manifest["files"][os.path.basename(path)] = {"bytes": len(data), "xxh3": hash_of(data)}
    text = json.dumps(manifest).encode()
    open(f"{folder}/manifest.json", "wb").write(text)
    open(f"{folder}/manifest.xxh3", "w").write(hash_of(text) + "\n")
PY

losses() {
    grep -o '"loss": [-0-9.e+]*' "$1/metrics.jsonl"
}

# ---- every mode: a damaged checkpoint gives way to the one before it, from which the same epochs follow ----
printf 'one: 0\nother: 1\n' >sites
"$weft" convert synth:community,n=200,e=1200 --out graph.weft --quiet || fail "convert"
rows=("divide-shuffle counters|1|-1|--sync divide-shuffle" "shadow counters|3|1|--sync shadow --shadow-gap 2"
    "asp clocks|0|1|--sync asp --sites sites" "step|0|-1|--sync topk --topk-exchange all-gather --optimizer sgd --momentum 0.9"
    "model.halo.facts|2|1|--delay 2 --model sgc")
number=0
for row in "${rows[@]}"; do
    IFS='|' read -r array index value options <<<"$row"
    number=$((number + 1))
    newest=run$number/ckpt/epoch-00000006
    # shellcheck disable=SC2206
    job=(ranks 2 "$weft" train --data graph.weft --threads 1 --calibrate never --hidden 8 --eval-every 0 --checkpoint-every 2
        --run-dir "run$number" $options)
    "${job[@]}" --epochs 6 --quiet >out 2>err || fail "$options: $(cat err)"
    losses "run$number" >undisturbed
    python3 edit.py "$newest/rank-00001.npz" "$array" "$index" "$value" "$newest" || fail "$options: no $array"
    "${job[@]}" --epochs 7 --resume >out 2>err || fail "$array of $options: exit $?: $(cat err)"
    grep -q "epoch-00000006: .*damaged: .*the checkpoint before it is used" err || fail "$array of $options: $(cat err)"
    grep -q "going on after run 1, epoch 4" err || fail "$array of $options: $(cat err)"
    losses "run$number" | head -6 | cmp -s - undisturbed || fail "$array of $options: other losses: $(losses "run$number")"
done

# ---- kept parts: good checksums, another meaning ----
part=graph.weft/partition-libra-2-0/part-1.npz
parts() {
    ranks 2 "$weft" train --data graph.weft --partition libra --threads 1 --calibrate never --hidden 8 --epochs 2 --run-dir "$1" --force \
        >out 2>err || fail "kept part: $(cat err)"
}
parts good
[ -f "$part" ] || fail "no kept part: $(ls graph.weft/*)"
for array in sources_own_row source; do
    python3 edit.py "$part" "$array" 1 0 || fail "no $array"
    parts bad
    grep -q "cut anew: .*part-1.npz" err || fail "$array: the damage is not told: $(cat err)"
    cmp -s <(losses good) <(losses bad) || fail "damaged $array: $(losses bad), not $(losses good)"
done

# ---- topk that sends everything is all-reduce: its momentum, its losses, and the log says so ----
python3 - <<'PY' || fail "images"
import random
import struct
random.seed(5)
for split, n in (("train", 60), ("t10k", 20)):
    label = bytes(i % 3 for i in range(n))
    pixel = bytes(min(255, 60 * label[i // 64] + random.randrange(80)) for i in range(64 * n))
    open(f"{split}-images-idx3-ubyte", "wb").write(struct.pack(">IIII", 2051, n, 8, 8) + pixel)
    open(f"{split}-labels-idx1-ubyte", "wb").write(struct.pack(">II", 2049, n) + label)
PY
printf 'conv 8 3 pad=1\nrelu\nmaxpool 2\nlinear 40\nrelu\nlinear classes\n' >small.net
images() {
    ranks "$2" "$weft" train --data . --model small.net --threads 1 --calibrate never --epochs 3 --warmup 0 --batch-size 12 --run-dir "$1" \
        "${@:3}" >"$1.out" 2>"$1.err" || fail "$*: $(cat "$1.err")"
}
sent() { # RANKS OPTION...
    images "topk$1" "$1" --sync topk --optimizer sgd --momentum 0.9 --force "${@:2}"
    cmp -s <(losses "exact$1") <(losses "topk$1") || fail "topk ${*:2} on $1 ranks: $(losses "topk$1")"
    grep -q "allreduce runs" "topk$1.err" || fail "topk ${*:2}: the log does not tell: $(cat "topk$1.err")"
    grep -q '"sync": "allreduce"' "topk$1/metrics.jsonl" || fail "topk ${*:2}: $(head -1 "topk$1/metrics.jsonl")"
}
for count in 2 3; do
    images "exact$count" $count --optimizer sgd --momentum 0.9
    sent $count --topk-density 1
done
sent 2 --topk-exchange hierarchical --topk-density 1
sent 2 --topk-dense-below 1000000
images selects 2 --optimizer sgd --momentum 0.9 --sync topk --topk-exchange hierarchical --topk-density 0.05 --topk-dense-below 64
grep -q "sync topk: a step sends [0-9.]* % of the gradient: 5 % of what is selected from" selects.err || fail "$(cat selects.err)"
cmp -s <(losses exact2) <(losses selects) && fail "topk that selects has the losses of all-reduce"

# ---- no step of one image where a batch norm sees one pixel ----
one() {
    ranks "$2" "$weft" train --data "$cases/inputs/images/torchvision-root/MNIST/raw" --model "$cases/inputs/images/one-value.net" \
        --threads 1 --calibrate never --warmup 0 --run-dir "$1" "${@:3}" >"$1.out" 2>"$1.err"
}
one tens 1 --batch-size 10 --epochs 20 || fail "tens: $(cat tens.err)"
[ "$(grep -c "takes 11 images, as one alone would leave layer norm2" tens.err)" -eq 1 ] || fail "not told once: $(cat tens.err)"
grep -q "Final Test: 100.00" tens.out || fail "tens: $(cat tens.out)"
for count in 1 3; do
    one "ranks$count" $count --batch-size 10 --epochs 3 || fail "$count ranks: $(cat "ranks$count.err")"
    one "parts$count" $count --batch-size 10 --epochs 3 --accumulate 5 || fail "parts, $count ranks: $(cat "parts$count.err")"
done
one own2 2 --batch-size 10 --epochs 3 --norm-over own || fail "own: $(cat own2.err)"
python3 - <<'PY' || fail "steps of one image"
import json
import numpy
def losses(folder):
    return [json.loads(line)["loss"] for line in open(f"{folder}/metrics.jsonl")]
for kind in ("ranks", "parts"):
    for a, b in zip(losses(f"{kind}1"), losses(f"{kind}3")):
        assert abs(a - b) < 1e-4 * a, (kind, losses(f"{kind}1"), losses(f"{kind}3"))
for folder in ("tens", "own2", "parts1"):  # a value alone has no variance: it would fall by a tenth each time
    arrays = numpy.load(f"{folder}/weights.npz")
    variance = arrays["norm2.running_var"]
    assert variance.min() > 1e-3, (folder, variance)
PY
one single 1 --batch-size 1 --epochs 2
[ "$?" -eq 2 ] && grep -q -- "--batch-size 1: one-value: layer norm2" single.err || fail "batch 1: $(cat single.err)"
one many 1 --batch-size 8 --accumulate 1000000 --epochs 2
[ "$?" -eq 2 ] && grep -q -- "--accumulate 1000000: a batch of 8 images" many.err || fail "--accumulate: $(cat many.err)"
one thin 1 --batch-size 8 --accumulate 5 --epochs 2
[ "$?" -eq 2 ] && grep -q "at most 4 parts" thin.err || fail "--accumulate: $(cat thin.err)"
echo "modes: all cases"
