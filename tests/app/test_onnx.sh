#!/bin/bash
# Networks on images as files of ONNX: ONNX Runtime gives the logits of weft predict for every word of a network, and for networks
# of the zoo; what cannot be written is refused. The former needs the modules onnx and onnxruntime of $ONNX_PYTHON or python3, or those
# that scripts/test fetched.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work_folder

# ---- what is refused leaves no file ----
refused() { # WORDS COMMAND...
    local words=$1
    shift
    "$weft" "$@" >out 2>err && fail "$* passed"
    grep -qF -- "$words" err || fail "$*: $(cat err)"
    [ ! -e model.onnx ] || fail "$*: left a file"
}
printf 'a,b,y\n1,2,0\n3,4,1\n5,7,0\n2,9,1\n4,4,0\n8,1,1\n' >table.csv
"$weft" train --data table.csv --target y --model trees --trees 2 --run-dir trees --quiet >out 2>err || fail "trees: $(cat err)"
refused 'ONNX is for networks on images' export trees --out model.onnx
refused 'FILE.onnx in small letters' export trees --out model.ONNX

python=${ONNX_PYTHON:-python3}
export PYTHONPATH=$source_dir/build/onnx${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || skip "no modules onnx and onnxruntime"

# ---- CIFAR files, whose test images both read ----
"$python" - <<'MAKE'
import os
import numpy as np
random = np.random.default_rng(3)
os.makedirs("data")
for name, images in (("data_batch_1.bin", 64), ("test_batch.bin", 24)):
    with open("data/" + name, "wb") as out:
        for i in range(images):
            pixels = random.integers(0, 256, (3, 32, 32)).astype(np.uint8)
            pixels[i % 3, 3 * (i % 10) : 3 * (i % 10) + 3] = 255
            out.write(bytes([i % 10]) + pixels.tobytes())
MAKE
same() { # NAME OPTION...: one epoch, so that running statistics are of these images
    local name=$1
    shift
    "$weft" train --data data --epochs 1 --batch-size 16 --lr 0.01 --threads 1 --pin off --quiet --run-dir "run-$name" "$@" >out 2>err ||
        fail "$name: $(cat err)"
    "$weft" export "run-$name" --out "$name.onnx" --quiet >out 2>err || fail "$name: $(cat err)"
    "$weft" predict --checkpoint "run-$name" --data data --threads 1 --pin off --out "answers-$name" --quiet >out 2>err ||
        fail "$name: $(cat err)"
    "$python" - "$name" <<'CHECK' || fail "$name: ONNX Runtime gives other logits"
import sys
import numpy as np
import onnx
import onnxruntime
name = sys.argv[1]
onnx.checker.check_model(onnx.load(name + ".onnx"), full_check=True)
session = onnxruntime.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"])
raw = np.frombuffer(open("data/test_batch.bin", "rb").read(), np.uint8).reshape(-1, 3073)
pixels = raw[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / np.float32(255)
logits = session.run(["logits"], {"input": pixels})[0].astype(np.float64)
answers = np.load("answers-" + name + "/probabilities.npy")[-len(raw):].astype(np.float64)
# Logits are known up to a number an image: they are compared as logarithms of probabilities.
largest = logits.max(1, keepdims=True)
logs = logits - largest - np.log(np.exp(logits - largest).sum(1, keepdims=True))
off = np.abs(logs - np.log(answers)).max()
spread = logits.std()
print(f"{name}: {off:.2g} off, deviation {spread:.2g}")
sys.exit(not (off <= 1e-5 * max(1.0, spread) and spread > 1e-3))
CHECK
}
# All words; the sigmoid at the end of the file would leave logits in a narrow range.
sed -e '$d' -e 's/^input .*/input 32 32 3/' "$source_dir/tests/golden/words.net" >words.net
cat >rest.net <<'NET'
conv 12 3x5 stride=2x1 pad=1x2 dilation=1 groups=3 start=uniform
start: relu
maxpool 3 stride=2 pad=1
avgpool 3x2 stride=2x1 pad=1x1
conv 16 3 dilation=2 pad=1 bias=off
shortcut: subsample 24 2 from=start
globalpool
first: linear 24 bias=off
norm
scale 0.5
dropout 0.3
gained: gain 0.7
globalpool from=shortcut
multiply gained
linear classes
NET
same words --model words.net
same rest --model rest.net
same lenet --model lenet
same resnet-20 --model resnet-20
same mobilenet-v2 --model mobilenet-v2
# ---- texts: numbers of words, 0 behind the end ----
"$python" - <<'MAKE'
import random
random.seed(4)
with open("texts.csv", "w") as out:
    out.write("text,label\n")
    for i in range(60):
        words = [random.choice("abcdefgh") for _ in range(random.randint(1, 11))]
        out.write(" ".join(words + ["xy"[i % 2]]) + f",{'no' if i % 2 else 'yes'}\n")
MAKE
"$weft" train --data texts.csv --model encoder-tiny --epochs 2 --threads 1 --pin off --quiet --run-dir run-texts >out 2>err ||
    fail "texts: $(cat err)"
"$weft" export run-texts --out texts.onnx --quiet >out 2>err || fail "texts: $(cat err)"
"$weft" predict run-texts texts.csv --threads 1 --pin off --out answers-texts --quiet >out 2>err || fail "texts: $(cat err)"
"$python" - <<'CHECK' || fail "texts: ONNX Runtime gives other logits"
import csv
import json
import sys
import numpy as np
import onnx
import onnxruntime
onnx.checker.check_model(onnx.load("texts.onnx"), full_check=True)
session = onnxruntime.InferenceSession("texts.onnx", providers=["CPUExecutionProvider"])
found = [value for key, value in json.load(open("run-texts/run.json"))["options"].items() if key == "words"]
words = (found[0]["value"] if isinstance(found[0], dict) else found[0]).split()
length = session.get_inputs()[0].shape[1]
ids = np.zeros((60, length), np.int64)
for row, line in zip(ids, csv.DictReader(open("texts.csv"))):
    of = [words.index(word) + 2 if word in words else 1 for word in line["text"].split()][:length]
    row[: len(of)] = of
logits = session.run(["logits"], {"input": ids})[0].astype(np.float64)
logs = logits - logits.max(1, keepdims=True)
logs -= np.log(np.exp(logs).sum(1, keepdims=True))
off = np.abs(logs - np.log(np.load("answers-texts/probabilities.npy").astype(np.float64))).max()
print(f"texts: {off:.2g} off, deviation {logits.std():.2g}")
sys.exit(not (off <= 1e-5 * max(1.0, logits.std()) and logits.std() > 1e-3))
CHECK
for name in ${ONNX_MORE-}; do
    same "$name" --model "$name"
done
