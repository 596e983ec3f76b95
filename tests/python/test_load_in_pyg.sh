#!/usr/bin/env bash
# python/load_in_pyg.py names the packages that are missing and how to install them; and where they are there (WEFT_PYTHON names a
# Python that has torch, torch_geometric and safetensors), it scores every model with its default recipe as weft eval does, on
# dense features and on bags of words, on two splits. Needs python3 with NumPy.
# trees: release
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir stubs
for package in numpy torch torch_geometric; do
    mkdir "stubs/$package"
    : >"stubs/$package/__init__.py"
done
told() {
    local code=0
    PYTHONPATH="$work/stubs" PYTHONDONTWRITEBYTECODE=1 python3 "$source_dir/python/load_in_pyg.py" m.safetensors store \
        >out.txt 2>err.txt || code=$?
    [ "$code" -eq 69 ] || fail "exit $code instead of 69: $(cat err.txt)"
    [ ! -s out.txt ] || fail "something on stdout: $(cat out.txt)"
    ! grep -q Traceback err.txt || fail "a traceback: $(cat err.txt)"
    grep -qF -- "python3 -m pip install $1" err.txt || fail "not told to install $1: $(cat err.txt)"
}

# A package that cannot be imported, whether the machine has it or not.
echo 'raise ImportError("no such thing here")' >stubs/safetensors.py
told safetensors
grep -qF 'load_in_pyg.py: needs safetensors: no such thing here' err.txt || fail "no reason: $(cat err.txt)"
[ "$(wc -l <err.txt)" -eq 2 ] || fail "more than one package is named: $(cat err.txt)"
# Several at once.
echo 'raise ModuleNotFoundError("No module named torch")' >stubs/torch/__init__.py
told 'torch safetensors'

# ---- scores ----
python=${WEFT_PYTHON:-python3}
if ! "$python" -c 'import torch, torch_geometric, safetensors' 2>/dev/null; then
    echo "what is missing is named; scores not compared: $python has no torch, torch_geometric and safetensors"
    exit 0
fi
PYTHONPATH=$source_dir/python "$python" - <<'PY' || fail "no stores"
import numpy as np
import weft_store

r = np.random.default_rng(7)
n, classes = 300, 4
y = r.integers(0, classes, n)
order = np.argsort(y, kind="stable")
near = np.stack([order[:-1], order[1:]])
edges = np.concatenate([near, r.integers(0, n, (2, 2 * n))], axis=1)
masks = np.zeros((3, n, 2), bool)
for k in range(2):
    part = r.permutation(n) % 3
    for s in range(3):
        masks[s, :, k] = part == s
dense = (r.normal(size=(n, 6)) * [1, 10, 100, 1, 1, 1] + y[:, None] * [1, 3, 5, 0, 0, 0] + 50).astype(np.float32)
words = (r.random((n, 40)) < 0.05).astype(np.float32)
words[np.arange(n), y * 3 + r.integers(0, 3, n)] = 1
for name, x in (("dense", dense), ("words", words)):
    weft_store.write_store(name, edges, x, y, masks[0], masks[1], masks[2], quiet=True)
# The same vertices and others: means and deviations of the model count.
more = np.concatenate([dense, dense[:50] * 9 - 100]).astype(np.float32)
weft_store.write_store("more", edges, more, np.concatenate([y, y[:50]]), *(np.concatenate([m, m[:50] & False]) for m in masks), quiet=True)
# Classes by name: all of them, and without the first, which gives the others other numbers.
called = np.array(["ant", "bee", "cow", "dog"])
weft_store.write_store("named", edges, words, called[y], masks[0], masks[1], masks[2], quiet=True)
weft_store.write_store("fewer", edges, words, np.where(y > 0, called[y], ""), masks[0], masks[1], masks[2], quiet=True)
weft_store.write_store("other", edges, words, np.where(y > 0, called[y], "zebu"), masks[0], masks[1], masks[2], quiet=True)
PY

run() { "$weft" "$@" --threads 1 --quiet >out 2>err || fail "weft $*: exit $?: $(cat err)"; }
: >cases
score() { # STORE MODEL SPLIT ASKED: a case with the score of weft eval; ASKED: what --split says, or "-"
    run eval --data "$1" --checkpoint "$2" --split-index "$3" --format json
    echo "$1 $2 $4 $(python3 -c 'import json, sys; print(json.load(sys.stdin)["test"]["score"])' <out)" >>cases
}
for store in dense words; do
    for model in sage gcn gat gatv2 gin sgc mlp; do
        run train --data "$store" --model "$model" --epochs 15 --split-index 1 --run-dir "$store-$model"
        run export "$store-$model" --out "$store-$model.safetensors"
        score "$store" "$store-$model.safetensors" 1 -
        score "$store" "$store-$model.safetensors" 0 0
    done
done
grep -q '"value": "length"' words-sgc/run.json || fail "the recipe of words has another scaling: $(cat words-sgc/run.json)"
score more dense-sage.safetensors 1 -
run train --data named --model mlp --epochs 30 --run-dir named-mlp
run export named-mlp --out named-mlp.safetensors
for store in named fewer other words; do
    score $store named-mlp.safetensors 0 -
done

# One process for all: PyTorch takes seconds to start.
PYTHONPATH=$source_dir/python PYTHONDONTWRITEBYTECODE=1 "$python" - <<'PY' || fail "the script answers otherwise"
import sys
import numpy as np
import torch
import load_in_pyg

for line in open("cases"):
    store, path, asked, expected = line.split()
    model, option = load_in_pyg.load(path)
    x, edges = load_in_pyg.read_store(store, option)
    with torch.no_grad():
        logits = (model(x) if option["model"] == "mlp" else model(x, **edges)).numpy()
    got = load_in_pyg.score(store, logits, option, None if asked == "-" else int(asked))
    assert abs(got - 100 * float(expected)) < 1e-9, (line, got)

# What the script does not know is refused, by name.
state, option = load_in_pyg.read("dense-gcn.safetensors")
def refused(text, **changes):
    changed = {**option, **{key.replace("_", "-"): value for key, value in changes.items()}}
    try:
        load_in_pyg.build(state, changed)
        load_in_pyg.read_store("dense", changed)
        load_in_pyg.read_split("dense", 300, changed, changes.get("asked"))
    except SystemExit as error:
        assert text in str(error), error
        return
    sys.exit("%s is taken" % changes)
refused("the model says normalize 'cube'", normalize="cube")
refused("the model says model 'appnp'", model="appnp")
refused("the model says norm 'graph'", norm="graph")
refused("the model says jumping 'lstm'", jumping="lstm")
refused("trained with --residual on", residual="on")
refused("made for 2 features, and the store has 6", feature_mean="1,2")
refused("the store has splits 0 to 1", asked=2)
del option["layers"]
refused("the model does not say --layers")
try:
    load_in_pyg.score("named", np.zeros((300, 2)), {"class.0": "x", "class.1": "y"}, None)
    sys.exit("unknown classes are scored")
except SystemExit as error:
    assert "knows none of the store's classes (ant, bee, cow, dog)" in str(error), error
PY
"$python" "$source_dir/python/load_in_pyg.py" dense-sage.safetensors dense logits.npy >out 2>err || fail "the command: $(cat err)"
grep -q '^test accuracy: [0-9.]* %$' out || fail "no accuracy: $(cat out)"
echo "what is missing is named; scores are those of weft eval"
