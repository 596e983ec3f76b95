#!/usr/bin/env bash
# A model and the data that it meets later: means and deviations of features go with the model, a description inside a file names no
# other file, names of tensors from PyTorch's wrappers and tutorials are read, lines of .net files are those of the file. Needs
# python3 with NumPy and the shared cases.
# timeout: 300
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
python3 -c 'import numpy' 2>/dev/null || skip "python3 has no NumPy"
cases=${WEFT_SHARED:-$source_dir/../shared}/cases
[ -d "$cases/inputs" ] || skip "no cases at $cases"
inputs=$cases/inputs
work_folder

run() { "$weft" "$@" --threads 1 >out 2>err || fail "weft $*: exit $?: $(cat err)"; }
refuse() { # CODE TEXT COMMAND...
    local code=$1 text=$2 got=0
    shift 2
    "$weft" "$@" --quiet >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "weft $*: exit $got instead of $code: $(cat err)"
    grep -qF -- "$text" err || fail "weft $*: no '$text' in: $(cat err)"
}
told() { grep -qF -- "$1" err || fail "no word of '$1': $(cat err)"; }

# ---- the scaling of features ----
run convert "$inputs/predict/ring30.csv" --features "$inputs/predict/x.npy" --labels "$inputs/predict/y.npy" \
    --splits "$inputs/predict/s.npy" --out ring
run convert "$inputs/predict/ring30-and-others.csv" --features "$inputs/predict/x-and-others.npy" --out more
predict() { # MODEL FOLDER [OPTION...]: on both stores
    local model=$1 folder=$2
    shift 2
    run predict --data ring --checkpoint "$model" --out "$folder-1" --force "$@"
    run predict --data more --checkpoint "$model" --out "$folder-2" --force "$@"
}
alike() { # FOLDER-1 FOLDER-2: of the vertices of both
    python3 - "$1" "$2" <<'PY' || fail "$1 and $2 answer otherwise"
import sys
import numpy as np
a, b = (np.load(folder + "/probabilities.npy")[:30] for folder in sys.argv[1:])
assert np.abs(a - b).max() < 1e-5, np.abs(a - b).max()
PY
}
for model in mlp sage gcn gat gin sgc; do
    run train --data ring --model $model --epochs 30 --run-dir run-$model
    predict run-$model answers-$model
    alike answers-$model-1 answers-$model-2
done
python3 - "$inputs/predict/x.npy" <<'PY' || fail "weights.npz has other means and deviations than the features"
import sys
import numpy as np
x, w = np.load(sys.argv[1]).astype(np.float64), np.load("run-gcn/weights.npz")
assert w["feature.mean"].dtype == np.float64 and np.allclose(w["feature.mean"], x.mean(0), rtol=0, atol=1e-12)
assert np.allclose(w["feature.deviation"], x.std(0), rtol=0, atol=1e-12)
PY
# Every form of the model has them, on two ranks too; info tells it.
run export run-gcn --out gcn.safetensors
mkdir alone
cp run-gcn/weights.npz alone/w.npz
cp run-gcn/run.json alone/
for form in run-gcn/ckpt gcn.safetensors alone/w.npz; do
    run info $form
    grep -q "^features: standardised by the model's own means and deviations of 3 columns" out || fail "$form: $(cat out)"
    predict $form form
    alike form-1 form-2
done
cmp gcn.safetensors <("$weft" export gcn.safetensors --out again.safetensors --quiet && cat again.safetensors) ||
    fail "exported twice the file is another"
run info run-gcn
grep -q "own means and deviations of 3 columns" out || fail "weft info run-gcn: $(cat out)"
if command -v mpirun >/dev/null; then
    # Leaks of the launcher's plug-ins are not looked for.
    ASAN_OPTIONS=detect_leaks=0 ranks 2 "$weft" predict --data more --checkpoint run-gcn --out form-3 --threads 1 --quiet >/dev/null 2>err || fail "$(cat err)"
    alike answers-gcn-1 form-3
fi
# A resumed run has the bits of one that was not interrupted, and weights that start another run bring their scaling.
run train --data ring --model sage --epochs 12 --run-dir whole
run train --data ring --model sage --epochs 6 --run-dir parts
run train --data ring --model sage --epochs 12 --run-dir parts --resume
cmp whole/weights.npz parts/weights.npz || fail "resumed to other bits"
python3 - "$inputs/predict/x.npy" <<'PY'
import sys
import numpy as np
np.save("wider.npy", (np.load(sys.argv[1]) * 3 + 1).astype(np.float32))
PY
run convert "$inputs/predict/ring30.csv" --features wider.npy --labels "$inputs/predict/y.npy" --splits "$inputs/predict/s.npy" \
    --out wider
run train --data wider --model sage --epochs 1 --init-weights whole --run-dir tuned
told "standardised by the means and deviations of whole/weights.npz"
python3 -c 'import numpy as np; a, b = (np.load(f + "/weights.npz")["feature.mean"] for f in ("whole", "tuned")); assert (a == b).all()' ||
    fail "fine-tuned on other means"
run train --data ring --model sage --epochs 1 --normalize row --run-dir rows
python3 -c 'import numpy as np; assert "feature.mean" not in np.load("rows/weights.npz")' || fail "means of rows"
run train --data wider --model sage --epochs 1 --init-weights rows --run-dir follows
told "--normalize row (auto: as for the weights of rows/weights.npz)"
run train --data wider --model sage --epochs 1 --normalize row --init-weights whole --run-dir against
told "--normalize row: the weights of whole/weights.npz were trained with standard"
# Models of earlier versions have none, and say so.
python3 - <<'PY'
import numpy as np
w = np.load("run-gcn/weights.npz")
np.savez("alone/w.npz", **{k: w[k] for k in w.files if not k.startswith("feature.")})
np.savez("alone/half.npz", **{k: w[k] for k in w.files if k != "feature.mean"})
PY
predict alone/w.npz old
told "does not say by which means and deviations its features were standardised"
told "those of ring30-and-others are measured"
alike answers-gcn-1 old-1
refuse 65 "half.npz: of feature.mean and feature.deviation one is missing" predict --data ring --checkpoint alone/half.npz --out x
# What a model answers with is its own, too.
predict run-gcn/ckpt unlabelled

# ---- names of tensors ----
run convert "$inputs/arrays/ring.csv" --features "$inputs/arrays/x.npy" --labels "$inputs/arrays/y.npy" --splits "$inputs/arrays/s.npy" \
    --out store
rewrap() { # FILE OUT PREFIX: the same tensors, all names behind PREFIX
    python3 - "$@" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack_from("<Q", data)
header = {sys.argv[3] + name: entry for name, entry in json.loads(data[8:8 + length]).items() if name != "__metadata__"}
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length:])
PY
}
rewrap "$inputs/models/gcn-conv1-conv2.safetensors" lightning.safetensors model.
rewrap "$inputs/models/gcn-ddp-prefix.safetensors" nested.safetensors _orig_mod.
init=(train --data store --model gcn --hidden 16 --layers 2 --norm none --epochs 1 --lr 1e-12 --init-weights)
for file in "$inputs/models/gcn-ddp-prefix.safetensors" "$inputs/models/gcn-conv1-conv2.safetensors" lightning.safetensors \
    nested.safetensors; do
    name=$(basename "$file" .safetensors)
    run "${init[@]}" "$file" --run-dir "init-$name"
    run predict --data store --checkpoint "$file" --normalize none --out "names-$name"
    cmp "names-$name/probabilities.npy" names-gcn-ddp-prefix/probabilities.npy || fail "$name answers otherwise"
    run info "$file"
    grep -q "^model: gcn, 2 layers, 4 -> 16 -> 3, norm none" out || fail "weft info $name: $(cat out)"
done
python3 - "$inputs" <<'PY' || fail "the answers are not those of a GCN"
import json, struct, sys
import numpy as np
data = open(sys.argv[1] + "/models/gcn-conv1-conv2.safetensors", "rb").read()
length, = struct.unpack_from("<Q", data)
tensors = {name: np.frombuffer(data[8 + length:][slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"]).astype(float)
           for name, entry in json.loads(data[8:8 + length]).items() if name != "__metadata__"}
offset, source = np.load("store/offset.npy"), np.load("store/source.npy")
n = len(offset) - 1
adjacency = np.eye(n)
adjacency[np.repeat(np.arange(n), np.diff(offset)), source] = 1
scale = 1 / np.sqrt(adjacency.sum(1))
adjacency *= scale[:, None] * scale
h = adjacency @ np.load("store/feature.npy").astype(float) @ tensors["conv1.lin.weight"].T + tensors["conv1.bias"]
h = adjacency @ np.maximum(h, 0) @ tensors["conv2.lin.weight"].T + tensors["conv2.bias"]
p = np.exp(h - h.max(1, keepdims=True))
assert np.abs(p / p.sum(1, keepdims=True) - np.load("names-gcn-conv1-conv2/probabilities.npy")).max() < 1e-5
PY
# What no weight shows, means or maxima and the number of hops, is asked for or told.
for model in "sage --aggregator max" "sgc --layers 3"; do
    # shellcheck disable=SC2086
    run train --data store --model $model --normalize none --epochs 3 --run-dir open --force
    run export open --out open.safetensors --force
    rewrap open.safetensors theirs.safetensors module.
    run predict --data store --checkpoint open --out open-1 --force
    run predict --data store --checkpoint theirs.safetensors --normalize none ${model#* } --out open-2 --force
    alike open-1 open-2
    ! grep -q "does not say whether\|how many hops" err || fail "$model is said: $(cat err)"
    run train --data store --model $model --normalize none --init-weights theirs.safetensors --epochs 1 --run-dir open-3 --force
    run predict --data store --checkpoint theirs.safetensors --normalize none --out open-2 --force
    [ "${model%% *}" = sage ] && told "does not say whether sage takes means or maxima over neighbours: means are supposed"
    [ "${model%% *}" = sgc ] && told "does not say over how many hops sgc looks: 2 are supposed"
done
rewrap "$inputs/models/gcn-conv1-conv2.safetensors" odd.safetensors "a.b.c.d.e.f.g.h.i."
refuse 65 'found "a.b.c.d.e.f.g.h.i.conv' "${init[@]}" odd.safetensors --run-dir x

# ---- descriptions ----
for name in x.onnx x.pt x.pth x.h5 x.bin x.npz x.PT; do
    refuse 2 "name it FILE.safetensors" export run-gcn --out "$name"
    [ ! -e "$name" ] || fail "$name is written"
done
images=$inputs/images/abc
printf '# a comment\nconv 4 3 pad=1\nnorm\nrelu\nglobalpool\nlinear classes\n' >tiny.net
image=(--data "$images" --epochs 1 --warmup 0 --batch-size 6)
run train "${image[@]}" --model tiny.net --run-dir own
run export own --out own.safetensors
describe() { # FILE OUT KEY VALUE: another value in the metadata; "-": none
    python3 - "$@" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
length, = struct.unpack_from("<Q", data)
header = json.loads(data[8:8 + length])
for key, value in zip(sys.argv[3::2], sys.argv[4::2]):
    header["__metadata__"].pop("weft." + key, None)
    header["__metadata__"].update({} if value == "-" else {"weft." + key: value})
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + length:])
PY
}
echo "topsecret of a file that nobody named" >secret.net
bad() { # TEXT KEY VALUE...
    local text=$1
    shift
    describe own.safetensors bad.safetensors "$@"
    refuse 65 "bad.safetensors: $text" eval --data "$images" --checkpoint bad.safetensors
    refuse 65 "bad.safetensors: $text" predict --data "$images" --checkpoint bad.safetensors --out x
    refuse 65 "bad.safetensors: $text" export bad.safetensors --out x.safetensors
    ! grep -q topsecret err || fail "a file is read that the model names: $(cat err)"
}
bad "its layers are missing" network - model secret.net
bad "its layers are missing" network - model "$work/secret.net"
bad "its description: --image-size '0x5'" image-size 0x5
bad "its description: --image-moments '1,2/0,1'" image-moments 1,2/0,1
bad "its layers: line 1: no kind of layer 'flux'" network 'flux 1; linear classes'
bad "its description: " network 'conv1: conv 4 3 groups=2; linear1: linear classes'
describe own.safetensors rocauc.safetensors metric rocauc # of three classes: the mean over each against the others
run eval --data "$images" --checkpoint rocauc.safetensors
mkdir beside
cp own/weights.npz beside/
sed 's/tiny\.net/secret.net/; s/"network": *{ *"value": *"[^"]*"/"network": {"value": ""/' own/run.json | tr '\n' '\1' |
    sed 's/"network": {\x01 *"value": "[^"]*"/"network": {\x01"value": ""/' | tr '\1' '\n' >beside/run.json
refuse 65 "beside/weights.npz: its layers are missing" predict --data "$images" --checkpoint beside --out x
! grep -q topsecret err || fail "a file is read that run.json names: $(cat err)"
(
    export WEFT=$weft
    for case in 05-model-names-a-file; do
        bash "$cases/stress/$case.sh" >out 2>&1
        ! grep -q FAULT out || fail "$case: $(cat out)"
    done
)|| exit 1

# A file of PyTorch has its tensors in an order of its own: the last layer of the named network counts.
run train "${image[@]}" --model lenet --run-dir lenet
run export lenet --out lenet.safetensors
python3 - <<'PY'
import json, struct
data = open("lenet.safetensors", "rb").read()
length, = struct.unpack_from("<Q", data)
header, at, parts, new = json.loads(data[8:8 + length]), 0, [], {}
del header["__metadata__"]
for name in sorted(header, reverse=True):  # the last layer first
    begin, end = header[name]["data_offsets"]
    new["module." + name] = {**header[name], "data_offsets": [at, at + end - begin]}
    parts.append(data[8 + length + begin:8 + length + end])
    at += end - begin
text = json.dumps(new).encode()
open("theirs.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"".join(parts))
PY
moments=$(python3 -c 'import json; o = json.load(open("lenet/run.json"))["options"]; print(o["image-moments"]["value"])')
run eval --data "$images" --checkpoint lenet --format json
cp out expected
run eval --data "$images" --checkpoint theirs.safetensors --model lenet --image-moments "$moments" --format json
diff <(grep score expected) <(grep score out) || fail "PyTorch's order of tensors is scored otherwise"
run eval --data "$images" --checkpoint theirs.safetensors --model lenet --format json
told "does not say what its images were normalised by"
run predict --data "$images" --checkpoint theirs.safetensors --model lenet --image-moments "$moments" --out theirs-answers
run train "${image[@]}" --model lenet --init-weights theirs.safetensors --run-dir theirs-run
run info theirs.safetensors
grep -q "^model: lenet, .* 3 classes" out || fail "weft info: $(cat out)"
refuse 65 "these are not the weights of resnet-20" eval --data "$images" --checkpoint theirs.safetensors --model resnet-20 \
    --image-moments "$moments"

# ---- lines of .net files ----
mkdir nets
printf '# a comment\ninput 24 24 3\nnorm\nconv 16 3 groups=2\nglobalpool\nlinear classes\n' >nets/m.net
refuse 65 "nets/m.net: line 4, conv1: 2 groups" info nets/m.net
refuse 65 "nets/m.net: line 4, conv1: 2 groups" train --data synth:images,n=16,size=24 --model nets/m.net --dry-run
printf '\xef\xbb\xbf# a mark of Windows\nglobalpool\nlinear classes\n' >mark.net
for net in "$inputs/images/bom.net" mark.net; do
    run train --data synth:images,n=16,size=24,classes=3 --model "$net" --epochs 1 --run-dir "run-$(basename "$net")"
    run info "$net"
done
printf 'globalpool\nlinear 7\n' >seven.net
run info seven.net
grep -q '^classes: 7' out || fail "seven classes: $(cat out)"
printf 'relu\n' >none.net
refuse 65 "none.net: line 1, relu1: the last layer gives 32 x 32 x 3" info none.net
! grep -q "the data have" err || fail "there are no data: $(cat err)"
echo "models keep their scaling, and name no other file"
