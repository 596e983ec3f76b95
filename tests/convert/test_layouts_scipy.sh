#!/bin/bash
# The layouts beside NumPy and SciPy: what Weft writes they load, what they save (deflated, other element types) Weft reads.
set -euo pipefail
weft=$1
python3 -c 'import numpy, scipy.sparse' 2>/dev/null || { echo "skipped: Python has no NumPy and SciPy"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$weft" convert synth:community,n=500,e=6000,f=7,classes=4,test=0.1 --out ref -q
for layout in dgl-reddit graphsaint ogb-binary; do
  "$weft" convert ref --to $layout --out $layout -q
done
"$weft" convert ref --to matrix-market --out ref.mtx -q 2>log.txt
python3 - <<'PY'
import json, os
import numpy as np
import scipy.io
import scipy.sparse as sp

load = lambda name: np.load(f"ref/{name}.npy")
offset, source, feature, label, split = map(load, ("offset", "source", "feature", "label", "split"))
n = len(label)
a = sp.csr_matrix((np.ones(len(source), np.float32), source, offset), (n, n))  # row v lists the sources of v
same = lambda b: b.shape == (n, n) and (b != a).nnz == 0

coo = sp.load_npz("dgl-reddit/reddit_graph.npz")
assert coo.format == "coo" and same(coo.T.tocsr())
assert same(sp.load_npz("graphsaint/adj_full.npz").T.tocsr())
assert same(scipy.io.mmread("ref.mtx").T.tocsr())
train = split == 0
assert (sp.load_npz("graphsaint/adj_train.npz").T != a.multiply(train[:, None]).multiply(train[None, :])).nnz == 0
assert (np.load("graphsaint/feats.npy") == feature).all()
data = np.load("ogb-binary/raw/data.npz")
u, v = data["edge_index"]
assert same(sp.csr_matrix((np.ones(len(u), np.float32), (v, u)), (n, n))) and (data["node_feat"] == feature).all()

# The other way: SciPy's files, with types other than Weft's own.
def directory(name):
    os.mkdir(name)
    return name

d = directory("from_scipy")
wide = sp.coo_matrix((np.ones(a.nnz, bool), (source.astype(np.int64), np.repeat(np.arange(n), np.diff(offset)))), (n, n))
sp.save_npz(f"{d}/reddit_graph.npz", wide)
np.savez_compressed(f"{d}/reddit_data.npz", feature=feature.astype(np.float64), label=label.astype(np.int64),
                    node_types=np.where(split < 3, split + 1, 0).astype(np.uint8), node_ids=np.arange(n))
d = directory("from_csc")
sp.save_npz(f"{d}/adj_full.npz", a.T.tocsc())
np.save(f"{d}/feats.npy", np.asfortranarray(feature.astype(np.float64)))
json.dump({str(i): int(label[i]) for i in reversed(range(n))}, open(f"{d}/class_map.json", "w"), indent=1)
json.dump({key: np.flatnonzero(split == part).tolist() for part, key in ((2, "te"), (0, "tr"), (1, "va"))},
          open(f"{d}/role.json", "w"))
sp.save_npz("features.npz", sp.csr_matrix(feature))
PY
for folder in from_scipy from_csc; do
  "$weft" convert $folder --out $folder.back -q
  for array in offset source feature label split; do
    cmp ref/$array.npy $folder.back/$array.npy || { echo "$folder: $array differs"; exit 1; }
  done
done
"$weft" convert ref.mtx --features features.npz --out sparse.back -q 2>log.txt || { cat log.txt; exit 1; }
cmp ref/feature.npy sparse.back/feature.npy
echo "SciPy agrees"
