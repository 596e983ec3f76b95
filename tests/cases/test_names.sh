#!/bin/bash
# Classes by their names, between a model and other data, and images in the layouts that users have: the cases' README has the
# right values.
# trees: release
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
cases="${WEFT_SHARED:-$source_dir/../shared}/cases/inputs/images"
[ -d "$cases" ] || skip "no cases at $cases"
work_folder
ln -s "$cases" images
alone=(--threads 1 --pin off)

says() { # FILE TEXT...: the file has each of them
    local file=$1 text
    shift
    for text in "$@"; do
        grep -qF -- "$text" "$file" || fail "no '$text' in: $(cat "$file")"
    done
}
plan() { # DATA TEXT...: a training of it is planned, and the log says these
    "$weft" train --data "$1" --model mlp --dry-run "${alone[@]}" >out 2>err || fail "train --data $1: $(cat err)"
    says err "${@:2}"
}
refused() { # CODE TEXT COMMAND...
    local code=$1 text=$2 got=0
    shift 2
    "$weft" "$@" "${alone[@]}" >out 2>err || got=$?
    [ $got -eq "$code" ] || fail "weft $*: exit $got, not $code: $(cat err)"
    says err "$text"
}
scores() { # EXPECTED ARGUMENTS: right of all test images, as "6/6", then the support of each class
    local expected=$1 got
    shift
    "$@" --format json "${alone[@]}" >scores.json 2>err || fail "$*: $(cat err)"
    got=$(python3 -c '
import json
t = json.load(open("scores.json"))
n = t["test"]["images" if "images" in t else "vertices"]
print("%d/%d" % (round(t["test"]["score"] * n), n), *["%s:%d" % (c.get("name", c["class"]), c["support"]) for c in t["classes"]])')
    [ "$got" = "$expected" ] || fail "$*: $got, not $expected: $(cat err)"
}

# ---- images: other classes than the model's ----
"$weft" train --data images/abc --model lenet --epochs 5 --warmup 0 --batch-size 6 --run-dir R "${alone[@]}" --quiet >out 2>err ||
    fail "train: $(cat err)"
"$weft" export R --out R.safetensors --quiet || fail "export"
for model in R R/ckpt R/weights.npz R.safetensors; do
    scores "6/6 a:3 b:3 c:0" "$weft" eval --data images/eval-0ab --checkpoint $model
    says err "0new: 4 images of classes that the model does not know are left out of the scores; it knows a, b, c"
done
scores "6/6 a:0 b:3 c:3" "$weft" eval --data images/eval-bc --checkpoint R
scores "6/6 a:0 b:3 c:3" "$weft" eval --data images/eval-test-only --checkpoint R
scores "6/6 a:3 b:3 c:0" ranks 2 "$weft" eval --data images/eval-0ab --checkpoint R
scores "9/9 a:3 b:3 c:3" "$weft" eval --data images/abc/test --checkpoint R # a split folder, which holds classes alone
scores "9/9 a:6 b:6 c:6" "$weft" eval --data images/abc --checkpoint R --split train
mkdir val && cp -r images/abc/train val/Validation
"$weft" eval --data val --checkpoint R --format csv "${alone[@]}" >out 2>err || fail "a split for validation alone: $(cat err)"
says out "split,valid,18,1.000000"
tar czf held.tar.gz -C images eval-test-only
scores "6/6 a:0 b:3 c:3" "$weft" eval --data held.tar.gz --checkpoint R
mkdir other && cp -r images/abc/test/a other/x && cp -r images/abc/test/b other/y
refused 65 "other: the model knows none of these classes (x, y): it knows a, b, c" eval --data other --checkpoint R
"$weft" predict other --checkpoint R --out p "${alone[@]}" --quiet >out 2>err || fail "predict: $(cat err)"
says p/answers.csv "x/0.png,0,a," "y/1.png,1,b,"
cp R/weights.npz bare.npz
refused 65 "eval-bc has 2 (b, c): which is which?" eval --data images/eval-bc --checkpoint bare.npz --model lenet \
    --image-moments 0.5,0.5,0.5/1,1,1
mkdir bcd && cp -r images/abc/train bcd/train && mv bcd/train/a bcd/train/d
refused 65 "class 1 is b, which has number 0 in bcd" train --data bcd --model lenet --init-weights R --epochs 1 --run-dir no --quiet
[ ! -e no ] || fail "a refused training leaves a run folder"
scores "9/9 a:3 b:3 c:3" "$weft" eval --data images/abc --checkpoint R
"$weft" eval --data images/abc --checkpoint R "${alone[@]}" >out 2>err || fail "eval: $(cat err)"
says out "| 2 c | 3 |" "--split train scores them"

# ---- predict: several paths, folders below, names that differ in a backslash alone ----
mkdir -p loose/deep/er && cp images/abc/test/a/0.png loose/a$'\n'b.png && cp images/abc/test/b/0.png 'loose/a\nb.png'
cp images/abc/test/c/0.png loose/deep/er/c.png
"$weft" predict --checkpoint R --out q loose/ images/abc/test/c/1.png "${alone[@]}" --quiet >out 2>err || fail "predict: $(cat err)"
python3 - <<'CHECK' || fail "answers: $(cat q/answers.csv)"
import csv
rows = {r["file"]: r["name"] for r in csv.DictReader(open("q/answers.csv", newline=""))}
assert rows == {"loose/a\\nb.png": "a", "loose/a\\\\nb.png": "b", "loose/deep/er/c.png": "c", "images/abc/test/c/1.png": "c"}, rows
CHECK
refused 66 "nowhere: there is no such file or folder" predict --checkpoint R nowhere loose --out n
[ ! -e n ] || fail "a refused prediction leaves a folder"

# ---- layouts ----
plan images/no-split "8/0/0 images" "in 2 classes" "folders of classes alone: all 8 images are training images"
"$weft" train --data images/no-split --valid-images 2 --model mlp --dry-run "${alone[@]}" >out 2>err || fail "$(cat err)"
says err "6/2/0 images"
tar cf no-split.tar -C images no-split
plan no-split.tar "8/0/0 images" "in 2 classes"
plan images/nested "8/0/0 images" "in 2 classes"
plan images/capital "6/6/0 images"
plan images/dev "6/0/6 images" "dev/ is no split and is left out: splits are train/, val/ and test/; did you mean val?"
mkdir two && cp -r images/dev/train two/train && cp -r images/dev/train two/Training
refused 65 "both mean the split train" train --data two --model mlp --dry-run
refused 65 "12 files of a kind that is not read (.bmp): convert them to PNG" train --data images/bmp --model mlp --dry-run
plan images/nfd "6/6/0 images" "in 2 classes" "'café' is spelled in two forms of Unicode, which are one class"
plan images/idx-dots "31/0/9 images of 8 x 8 x 1"
plan images/torchvision-root "31/0/9 images of 8 x 8 x 1" "torchvision-root: the images of images/torchvision-root/MNIST/raw"
mkdir -p both/MNIST both/Other && cp -r images/torchvision-root/MNIST/raw both/MNIST/ && cp -r images/idx-dots both/Other/raw
refused 65 "both: holds 2 data sets of images" train --data both --model mlp --dry-run
refused 65 "a WebDataset shard" train --data images/webdataset.tar --model mlp --dry-run
mkdir -p py/cifar-10-batches-py && touch py/cifar-10-batches-py/{data_batch_1,batches.meta}
refused 65 "CIFAR in Python's pickle format" train --data py --model mlp --dry-run
mkdir -p one/train && cp -r images/abc/train/a one/train/a
plan one "all images are of one class, a: there is nothing to learn"

# ---- grey files stay grey, but for weights of colours ----
python3 - <<'MAKE'
import os, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(8):
    os.makedirs(f"grey/train/{'ab'[i % 2]}", exist_ok=True)
    rows = b"".join(b"\0" + bytes([60 + 120 * (i % 2)]) * 16 for _ in range(16))
    open(f"grey/train/{'ab'[i % 2]}/{i}.png", "wb").write(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
        chunk(b"IEND", b""))
MAKE
plan grey "images of 16 x 16 x 1"
"$weft" train --data grey --dry-run "${alone[@]}" >out 2>err || fail "grey: $(cat err)"
says err "model lenet (auto: images of 16 x 16 x 1)"
mkdir colours && cp -r images/abc/train colours/train && rm -r colours/train/c
"$weft" train --data colours --model lenet --epochs 1 --warmup 0 --batch-size 4 --run-dir C "${alone[@]}" --quiet >out 2>err || fail "$(cat err)"
"$weft" train --data grey --model lenet --epochs 1 --warmup 0 --batch-size 4 --init-weights C --run-dir D "${alone[@]}" --quiet >out 2>err ||
    fail "weights of colours for grey files: $(cat err)"

# ---- labels that are numbers, and their names ----
plan images/idx-labels-from-1 "labels 1 to 3 are the classes 0 to 2, called by their labels" "in 3 classes"
for set in idx-labels-from-1 idx-without-test; do
    "$weft" train --data images/$set --model mlp --epochs 1 --warmup 0 --batch-size 8 --run-dir $set "${alone[@]}" --quiet >out 2>err ||
        fail "$set: $(cat err)"
done
says out "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte beside the training files"
"$weft" eval --data images/idx-labels-from-1 --checkpoint idx-labels-from-1 "${alone[@]}" --format csv >out 2>err || fail "$(cat err)"
says out "class,1,3," "class,3,3,"
mkdir named && cp images/idx-dots/* named/ && printf 'zero\none\ntwo\n' >named/classes.txt
"$weft" train --data named --model mlp --epochs 1 --warmup 0 --batch-size 8 --run-dir named-run "${alone[@]}" --quiet >out 2>err ||
    fail "named: $(cat err)"
printf 'two\none\nzero\n' >named/classes.txt
"$weft" eval --data named --checkpoint named-run "${alone[@]}" --format csv >other.csv 2>err || fail "$(cat err)"
printf 'zero\none\ntwo\n' >named/classes.txt
"$weft" eval --data named --checkpoint named-run "${alone[@]}" --format csv >same.csv 2>err || fail "$(cat err)"
[ "$(grep ^class,zero same.csv | cut -d, -f3)" = "$(grep ^class,two other.csv | cut -d, -f3)" ] || fail "names of labels: $(cat same.csv other.csv)"
cmp -s same.csv other.csv && fail "other names of labels change no score"

# ---- graphs ----
python3 -c 'import numpy' 2>/dev/null || { echo "graphs are left out: NumPy is not installed"; exit 0; }
cat >stores.py <<'MAKE'
import sys
sys.path.insert(0, sys.argv[1] + "/python")
import numpy as np, weft_store

def store(path, called, names, named=True, vertices=False):
    """Vertex v is of class names[v % len(names)], which feature v tells; classes are numbered as `called`."""
    n, words = 60, [names[v % len(names)] for v in range(60)]
    x = np.zeros((n, 4), np.float32)
    for v, word in enumerate(words):
        x[v, ["ant", "bee", "cow", "dog"].index(word)] = 1
    part = np.arange(n) % 5
    v = np.arange(n)
    weft_store.write_store(path, np.stack([v, (v + 1) % n]), x, np.array([called.index(w) for w in words]), part < 3, part == 3,
                           part == 4, num_classes=len(called), class_names=called if named else None,
                           vertex_names=["v%d" % i for i in v] if vertices else None, quiet=True)

abc = ["ant", "bee", "cow"]
store("train.weft", abc, abc)
store("turned.weft", ["cow", "ant", "bee"], abc)
store("fewer.weft", ["bee", "cow"], ["bee", "cow"])
store("unknown.weft", ["bee", "cow", "dog"], ["bee", "cow", "dog"], vertices=True)
store("none.weft", ["dog"], ["dog"])
store("nameless.weft", ["ant", "bee"], ["ant", "bee"], named=False)
MAKE
python3 -W ignore stores.py "$source_dir" || fail "stores"
"$weft" train --data train.weft --model mlp --normalize none --epochs 60 --lr 0.1 --dropout 0 --run-dir G "${alone[@]}" --quiet >out 2>err ||
    fail "graph: $(cat err)"
"$weft" export G --out G.safetensors --quiet || fail "export"
for model in G G/ckpt G.safetensors; do
    scores "12/12 ant:4 bee:4 cow:4" "$weft" eval --data turned.weft --checkpoint $model
done
scores "12/12 ant:0 bee:6 cow:6" "$weft" eval --data fewer.weft --checkpoint G
scores "8/8 ant:0 bee:4 cow:4" ranks 2 "$weft" eval --data unknown.weft --checkpoint G
says err "dog: 20 vertices of classes that the model does not know are left out of the scores"
scores "12/12 ant:6 bee:6 cow:0" "$weft" eval --data nameless.weft --checkpoint G
says err "classes are matched by number (0 is ant)"
refused 65 "none: the model knows none of these classes (dog)" eval --data none.weft --checkpoint G
refused 65 "class 2 is cow, which has number 0 in turned" train --data turned.weft --model mlp --normalize none --init-weights G \
    --epochs 1 --run-dir no --quiet
"$weft" predict --data unknown.weft --checkpoint G --out g "${alone[@]}" --quiet >out 2>err || fail "predict: $(cat err)"
says g/answers.csv "vertex,class,name,probability" "v0,1,bee," "v1,2,cow,"
says g/confusion.csv "label,ant,bee,cow"
"$weft" predict --data fewer.weft --checkpoint G --out f "${alone[@]}" --quiet >out 2>err || fail "predict: $(cat err)"
says f/answers.csv "0,1,bee," "1,2,cow,"
# Labels from 1 are names, too: a part of the graph without class 1 is scored by them.
python3 - <<'MAKE'
names = ["1", "2", "3"]
for folder, used, shift in (("all", names, 0), ("part", names[1:], 0), ("unnamed", names, -1)):
    rows = [used[v % len(used)] for v in range(30)]
    open(folder + ".edges", "w").write("".join("%d %d\n" % (v, (v + 1) % 30) for v in range(30)))
    open(folder + "-x.csv", "w").write("".join(",".join("1" if r == n else "0" for n in names) + "\n" for r in rows))
    open(folder + "-y.csv", "w").write("".join("%d\n" % (int(r) + shift) for r in rows))
    open(folder + "-s.csv", "w").write("".join(("train", "train", "valid", "test", "test")[v % 5] + "\n" for v in range(30)))
MAKE
for part in all part unnamed; do
    "$weft" convert $part.edges --features $part-x.csv --labels $part-y.csv --splits $part-s.csv --out $part.weft --quiet 2>err ||
        fail "convert $part: $(cat err)"
done
"$weft" train --data all.weft --model mlp --normalize none --epochs 60 --lr 0.1 --dropout 0 --run-dir A "${alone[@]}" --quiet >out 2>err ||
    fail "labels from 1: $(cat err)"
scores "12/12 1:0 2:6 3:6" "$weft" eval --data part.weft --checkpoint A

# Fine-tuning goes by number: where one side alone has names that do not say so, a warning.
"$weft" train --data unnamed.weft --model mlp --init-weights A --epochs 1 --run-dir U "${alone[@]}" >out 2>err || fail "init: $(cat err)"
says err "unnamed.edges has classes without names, and A/weights.npz has 1, 2, 3: classes are matched by number (0 is 1)"

# ---- a test set alone, in the files of CIFAR and MNIST ----
python3 - <<'MAKE'
import os, struct
colour = {"a": (220, 30, 30), "b": (30, 220, 30), "c": (30, 30, 220)}
def cifar(path, labels):
    with open(path, "wb") as file:
        for label in labels:
            file.write(bytes([label]) + b"".join(bytes([value]) * 1024 for value in colour["abc"[label]]))
os.makedirs("cifar"), os.makedirs("cifar-test")
cifar("cifar/data_batch_1.bin", [0, 1, 2] * 4)
cifar("cifar-test/test_batch.bin", [2, 1, 1, 2, 2])
for folder, mark in (("cifar", ""), ("cifar-test", "\ufeff")):
    open(folder + "/batches.meta.txt", "w").write(mark + "a\nb \nc\nd\ne\nf\ng\nh\ni\nj\n")
def idx(folder, part, labels, first):
    images = b"".join(bytes([40 + 90 * label]) * 256 for label in labels)
    open(folder + "/" + part + "-images-idx3-ubyte", "wb").write(struct.pack(">4I", 0x803, len(labels), 16, 16) + images)
    open(folder + "/" + part + "-labels-idx1-ubyte", "wb").write(struct.pack(">2I", 0x801, len(labels)) +
                                                                 bytes(label + first for label in labels))
for folder, part, labels, first, names in (("mnist", "train", [0, 1, 2] * 4, 1, ["a", "b", "c"]),
                                           ("mnist-mark", "t10k", [0, 1, 1, 2], 0, ["\ufeffa", "b", "c"]),
                                           ("mnist-part", "t10k", [0, 1, 1], 1, ["a", "b", "c"]),
                                           ("mnist-told", "t10k", [0, 1, 1], 1, ["-", "a", "b", "c"])):
    os.makedirs(folder)
    idx(folder, part, labels, first)
    open(folder + "/classes.txt", "w").write("\n".join(names) + "\n")
MAKE
for set in cifar mnist; do
    "$weft" train --data $set --model mlp --epochs 20 --warmup 0 --batch-size 6 --run-dir run-$set "${alone[@]}" --quiet >out 2>err ||
        fail "train $set: $(cat err)"
done
scores "5/5 a:0 b:2 c:3 d:0 e:0 f:0 g:0 h:0 i:0 j:0" "$weft" eval --data cifar-test --checkpoint run-cifar
refused 66 "cifar-test: has neither data_batch_*.bin" train --data cifar-test --run-dir no
scores "4/4 a:1 b:2 c:1" "$weft" eval --data mnist-mark --checkpoint run-mnist
# Labels 1 and 2 of three names: nobody can know where they begin.
"$weft" eval --data mnist-part --checkpoint run-mnist "${alone[@]}" >out 2>err || fail "mnist-part: $(cat err)"
says err "labels are taken to count from 0, so that 1 is b; if it is a, put a line for label 0 in front of the names"
scores "3/3 a:1 b:2 c:0" "$weft" eval --data mnist-told --checkpoint run-mnist

"$weft" report G --format md --out - >report.md 2>err || fail "report: $(cat err)"
says report.md "| 1 bee |"

"$weft" info --model resnet-18 >out 2>err || fail "info --model: $(cat err)"
says out "network: resnet-18"
refused 66 "googlenet: no such file or folder, and no name that weft info knows: there are hardware, build, lenet" info googlenet
