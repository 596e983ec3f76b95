#!/bin/bash
# A store of sparse features: the same training, to the last digit, as from the same features whole; smaller on the disk; written
# in other layouts and read by Python as whole features are.
# needs: mpirun
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
python3 -c 'import numpy, scipy.sparse' 2>/dev/null || { echo "skipped: Python has no NumPy and SciPy"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export PYTHONPATH=$source_dir/python

python3 - <<'PY'
import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(5)
n, f = 400, 120
x = sp.random(n, f, 0.04, "coo", dtype=np.float32, random_state=rng)
x.data -= 0.3
# Rows in any order, an entry that comes twice and adds up, one that is 0, one pair that cancels.
row, column, data = (np.concatenate(a) for a in ((x.row, [7, 7, 8, 9, 9]), (x.col, [3, 3, 4, 5, 5]),
                                                 (x.data, np.float32([1, 0.5, 0, 2, -2]))))
order = np.lexsort((rng.random(len(row)), row))
csr = sp.csr_matrix((n, f), dtype=np.float32)
csr.indptr = np.searchsorted(row[order], np.arange(n + 1)).astype(np.int32)
csr.indices, csr.data = column[order].astype(np.int32), data[order]
sp.save_npz("x.npz", csr)
whole = np.zeros((n, f), np.float32)
np.add.at(whole, (row[order], column[order]), data[order])
np.save("x.npy", whole)
np.savetxt("edges.txt", rng.integers(0, n, (1500, 2)), "%d")
np.save("y.npy", rng.integers(0, 4, n))
PY
common=(edges.txt --vertices 400 --labels y.npy --random-split 60/20/20 -q)
"$weft" convert "${common[@]}" --features x.npz --out sparse
"$weft" convert "${common[@]}" --features x.npy --out whole
[ ! -e sparse/feature.npy ] && [ -e sparse/feature_value.npy ]
[ "$(du -sb sparse | cut -f1)" -lt "$(($(du -sb whole | cut -f1) / 2))" ] || { echo "the sparse store is not smaller"; exit 1; }
"$weft" info sparse --check | grep -qF "every invariant hold"

python3 - <<'PY'
import numpy as np
import scipy.sparse as sp
import weft_store

whole = np.load("x.npy")
store = weft_store.read_store("sparse", verify=True)
assert np.array_equal(store["feature"], whole)
store = weft_store.read_store("sparse", sparse=True)
matrix = sp.csr_matrix((store["feature_value"], store["feature_column"], store["feature_offset"]), whole.shape)
assert matrix.has_sorted_indices and np.array_equal(matrix.toarray(), whole) and (store["feature_value"] != 0).all()
assert np.array_equal(weft_store.read_store("whole", sparse=True)["feature"], whole)
PY

losses() { # losses FOLDER: the figures of every epoch without its times
  python3 -c '
import json, sys
for line in open(sys.argv[1] + "/metrics.jsonl"):
    row = json.loads(line)
    print([row.get(key) for key in ("epoch", "loss", "train", "valid", "test")])' "$1"
}
for form in whole sparse; do
  for scaling in none row length standard; do
    [ $form$scaling = sparsestandard ] && continue # refused: what is standardised has no zeros
    for store in sparse whole; do
      "$weft" train --data $store --epochs 3 --hidden 8 --threads 1 --normalize $scaling --feature-form $form -q --force --run-dir $store.run >/dev/null
    done
    diff <(losses sparse.run) <(losses whole.run) || { echo "$form, $scaling: another training"; exit 1; }
  done
done
for store in sparse whole; do
  mpirun --oversubscribe -np 3 "$weft" train --data $store --epochs 3 --hidden 8 --threads 1 --partition random -q --force --run-dir $store.run >/dev/null
done
diff <(losses sparse.run) <(losses whole.run)

for layout in graphsaint ogb dgl-reddit; do
  for store in sparse whole; do
    "$weft" convert $store --to $layout --out $store.$layout -q
  done
  diff -r sparse.$layout whole.$layout || { echo "$layout: another folder"; exit 1; }
done
echo "sparse and whole agree"
