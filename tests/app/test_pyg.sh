#!/bin/bash
# An exported model answers as weft predict does: by PyTorch Geometric's formulas in NumPy (pyg_in_numpy.py), and in PyTorch Geometric
# itself (python/load_in_pyg.py) where it is there; then weights that it has written are taken too. WEFT_PYTHON names a Python that has
# torch, torch_geometric and safetensors.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python=${WEFT_PYTHON:-python3}
need "$python"
"$python" -c 'import numpy' 2>/dev/null || skip "$python has no NumPy"
real=
"$python" -c 'import torch, torch_geometric, safetensors' 2>/dev/null && real=1
work_folder

run() { "$weft" "$@" --quiet >out 2>err || fail "weft $*: exit $?: $(cat err)"; }
run convert synth:quickstart,scale=0.01 --out store
same() {
    "$python" - "$1.npy" "$1-answers" <<'PY' || fail "$1: ${2-PyTorch Geometric} answers otherwise"
import sys
import numpy as np
logits = np.load(sys.argv[1]).astype(np.float64)
answer, p = np.load(sys.argv[2] + "/predictions.npy")[:, 0], np.load(sys.argv[2] + "/probabilities.npy")
q = np.exp(logits - logits.max(1, keepdims=True))
q /= q.sum(1, keepdims=True)
assert np.abs(p - q).max() < 1e-5, np.abs(p - q).max()
top = np.sort(logits, 1)
clear = top[:, -1] - top[:, -2] > 1e-4
assert clear.mean() > 0.99 and (logits.argmax(1) == answer)[clear].all()
PY
}
# check NAME STORE OPTIONS: run NAME's model, exported, with weft's answers beside.
check() {
    run export "$1" --out "$1.safetensors"
    run predict --data "$2" --checkpoint "$1" --threads 1 --out "$1-answers"
    "$python" "$source_dir/tests/app/pyg_in_numpy.py" "$1.safetensors" "$2" "$1.npy" || fail "$3: no answers by NumPy"
    same "$1" NumPy
    [ -n "$real" ] || return 0
    "$python" "$source_dir/python/load_in_pyg.py" "$1.safetensors" "$2" "$1.npy" >out ||
        fail "$3: PyTorch Geometric does not take the file"
    same "$1"
}
number=0
while read -r options; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    run train --data store --epochs 8 --lr 0.05 $options --run-dir "run$number"
    check "run$number" store "$options"
done <<'EOF'
--model sage --norm batch --layers 3
--model sage --aggregator gcn --norm layer
--model sage --aggregator max --norm batch --layers 3
--model gcn --norm batch --normalize standard
--model mlp --norm layer --layers 3
--model gin --norm batch
--model gin --norm layer --gin-eps learned
--model sgc --layers 3
--model sage --jumping cat --norm batch
--model gcn --jumping max --norm layer --layers 3
--model gat --hidden 8 --heads 4 --out-heads 2 --norm batch
--model gatv2 --hidden 8 --heads 4 --norm layer --layers 3
EOF

# Weights of edges, as GCNConv and SGConv normalise them.
run convert store --to edge-list --out edges.txt
awk '{ a = $1 < $2 ? $1 : $2; b = $1 < $2 ? $2 : $1; print $1, $2, (a * 31 + b * 17) % 9 / 4 }' edges.txt >weighted.txt
run convert weighted.txt --vertices 1000 --edge-weights input --features store/feature.npy --labels store/label.npy \
    --splits store/split.npy --out weighted
for model in gcn sgc; do
    run train --data weighted --epochs 5 --model $model --threads 1 --run-dir "weighted-$model"
    check "weighted-$model" weighted "weighted $model"
done

[ -n "$real" ] || {
    echo "NumPy and weft predict answer alike; not compared: $python has no torch, torch_geometric and safetensors"
    exit 0
}

# The other way: an untrained model of PyTorch Geometric, saved by the safetensors package.
"$python" - <<'PY' || fail "PyTorch Geometric wrote nothing"
import sys
import numpy as np, torch
from safetensors.torch import save_file
from torch_geometric.nn import GCN
torch.manual_seed(1)
n, features = np.load("store/feature.npy").shape
model = GCN(features, 20, 3, 16, norm="batch_norm").eval()
save_file(model.state_dict(), "theirs.safetensors")
offset, source = np.load("store/offset.npy"), np.load("store/source.npy")
edge_index = torch.from_numpy(np.stack([source.astype(np.int64), np.repeat(np.arange(n), np.diff(offset))]))
with torch.no_grad():
    np.save("theirs.npy", model(torch.from_numpy(np.load("store/feature.npy")), edge_index).numpy())
PY
run predict --data store --checkpoint theirs.safetensors --out theirs-answers
same theirs
echo "PyTorch Geometric and weft predict answer alike"
