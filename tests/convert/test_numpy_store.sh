#!/bin/bash
# The NumPy example of docs/formats.md makes a store that weft accepts. Needs python3 with NumPy.
set -euo pipefail
weft=$1
source_dir=$2
python3 -c 'import numpy' 2>/dev/null || { echo "skipped: python3 with NumPy is not available"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^```python$/,/^```$/p' "$source_dir/docs/formats.md" | sed '/^```/d' >"$work/example.py"
[ "$(grep -c . "$work/example.py")" -ge 10 ] || { echo "the example of docs/formats.md is not where it was"; exit 1; }
cd "$work"
python3 example.py

"$weft" info my_graph --check >info.txt
for fact in 'vertices: 4' 'edges (directed): 8' 'symmetric: yes' 'features: 4' '3 vertices labelled' \
  'split 0: 1 train, 1 valid, 1 test, 1 none' 'checked: checksums and every invariant hold'; do
  grep -qF -- "$fact" info.txt || { echo "missing in the output of weft info: $fact"; cat info.txt; exit 1; }
done

# What weft writes, NumPy reads.
python3 - <<'PY'
import json
import numpy as np
np.savez("in.npz", vertices=3, edges=[[0, 1], [1, 2]], features=np.arange(6).reshape(3, 2), labels=[1, 0, 1],
         train=[0], valid=[1], test=[2])
PY
"$weft" convert in.npz --out out -q
python3 - <<'PY'
import json
import numpy as np
manifest = json.load(open("out/manifest.json"))
assert manifest["edges"] == 4 and manifest["name"] == "in", manifest
load = lambda name: np.load("out/" + manifest["arrays"][name]["file"], mmap_mode="r")
assert load("offset").tolist() == [0, 1, 3, 4]
assert load("source").tolist() == [1, 0, 2, 1]
assert load("feature").tolist() == [[0, 1], [2, 3], [4, 5]]
assert load("label").tolist() == [1, 0, 1] and load("split").tolist() == [0, 1, 2]
for name, facts in manifest["arrays"].items():
    array = load(name)
    assert str(array.dtype) == facts["dtype"] and list(array.shape) == facts["shape"], name
PY

# A mistake of a NumPy user is named.
python3 -c 'import numpy as np; np.save("my_graph/source.npy", np.array([2, 1, 0, 2, 0, 1, 3, 2], dtype=np.int32))'
code=0
"$weft" info my_graph --check >/dev/null 2>error.txt || code=$?
[ "$code" -eq 65 ] || { echo "exit $code instead of 65"; cat error.txt; exit 1; }
grep -q 'source, entry 1 (row 0): vertex 1 after 2' error.txt || { cat error.txt; exit 1; }
python3 -c 'import numpy as np; np.save("my_graph/label.npy", np.array([0, 1, 0, -1]))'
code=0
"$weft" info my_graph >/dev/null 2>error.txt || code=$?
[ "$code" -eq 65 ] && grep -q 'label.npy: holds int64 (4,), expected int32 (4,)' error.txt || { cat error.txt; exit 1; }
