#!/bin/bash
# Features, labels and splits for a store that is there: the result is that of a conversion with them, edges, weights and names stay, a
# store is changed in place, and one that was killed meanwhile is the old one.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need_numpy
work_folder
python3 - <<'PY'
import numpy as np
rng = np.random.default_rng(0)
n = 300
x, y = rng.normal(size=(n, 5)).astype(np.float32), rng.integers(0, 4, n)
edges = np.unique(np.sort(rng.integers(0, n, (2, 2000)), 0), axis=1)
edges = edges[:, edges[0] < edges[1]]  # each once: a weight of its own
part = rng.integers(0, 3, n).astype(np.uint8)
np.savez("bare.npz", edge_index=edges, x=np.zeros((n, 1), np.float32), y=np.zeros(n, np.int64) + np.arange(n) % 2)
np.save("x.npy", x)
np.save("y.npy", y)
np.save("real.npy", rng.normal(size=n).astype(np.float32))
np.save("part.npy", part)
np.save("short.npy", x[:-1])
np.save("bad.npy", np.where(np.arange(n * 5).reshape(n, 5) == 7, np.nan, x))
np.savez("two.npz", train=np.stack([part == 0, part == 1], 1), valid=np.stack([part == 1, part == 2], 1),
         test=np.stack([part == 2, part == 0], 1))
np.savetxt("weights.csv", np.c_[edges.T, rng.uniform(1, 2, edges.shape[1])], fmt="%d,%d,%.3f", header="source,target,weight", comments="")
with open("names.txt", "w") as file:
    file.writelines("v%d v%d\n" % tuple(pair) for pair in edges.T)
PY
same() { # STORE STORE: the same arrays, byte for byte, of the names that follow; all where none does
    local a=$1 b=$2 name
    shift 2
    for name in ${*:-$(cd "$a" && ls *.npy)}; do
        cmp "$a/$name" "$b/$name" || fail "$name of $a and $b differ"
    done
    [ $# -gt 0 ] || [ "$(cd "$a" && ls *.npy)" = "$(cd "$b" && ls *.npy)" ] || fail "$a and $b have other arrays"
}
added=(--features x.npy --labels y.npy --splits part.npy)
ok "$weft" convert bare.npz --out bare --edge-weights weights.csv
ok "$weft" convert bare.npz --out whole --edge-weights weights.csv "${added[@]}"
ok "$weft" convert bare --out changed "${added[@]}"
same whole changed
ok "$weft" info changed --check
grep -q '"origin": "weft convert bare --features x.npy --labels y.npy --splits part.npy"' changed/manifest.json || fail "$(grep origin changed/manifest.json)"

# ---- one by one, and what stays ----
ok "$weft" convert whole --out drawn --random-split 60/20/20 --seed 3
ok "$weft" convert bare.npz --out drawn2 --edge-weights weights.csv --features x.npy --labels y.npy --random-split 60/20/20 --seed 3
same drawn drawn2
ok "$weft" convert whole --out degree --features degree
ok "$weft" convert bare.npz --out degree2 --edge-weights weights.csv --features degree --labels y.npy --splits part.npy
same degree degree2
ok "$weft" convert whole --out two --splits two.npz
ok "$weft" convert two --out more --features degree # both splits stay
same two more split.npy label.npy offset.npy source.npy weight.npy
ok "$weft" convert two --out second --features x.npy --split-index 1
python3 -c 'import numpy as np; a, b = np.load("two/split.npy"), np.load("second/split.npy"); assert a.shape == (2, 300) and (a[1] == b.ravel()).all()' ||
    fail "the second split"
ok "$weft" convert whole --out numbers --labels real.npy --number-labels
python3 -c 'import numpy as np; assert (np.load("numbers/target.npy").ravel() == np.load("real.npy")).all()' || fail "labels that are numbers"
ok "$weft" train --data changed --epochs 2 --threads 1 --quiet --run-dir run

# ---- in place; killed at any moment the store is the old one or the new one ----
cp -r whole inside
ok "$weft" convert inside --out inside --force --features degree
same degree inside
ok "$weft" convert synth:quickstart,scale=0.2 --out large
ok "$weft" convert large --out other --features degree
for delay in 0.02 0.05 0.1 0.2 0.3; do
    rm -rf try try.* .try*
    cp -r large try
    "$weft" convert try --out try --force --features degree --quiet 2>/dev/null &
    job=$!
    sleep $delay
    kill -9 $job 2>/dev/null
    wait $job 2>/dev/null
    ok "$weft" info try --check
    if cmp -s try/feature.npy large/feature.npy; then same large try; else same other try; fi
done

# ---- refusals: nothing is written ----
mkdir empty && touch empty/mine
refused 2 "is a graph store already: --features, --labels, --splits" "$weft" convert whole --out refused
refused 2 "exists already" "$weft" convert whole --out bare --features x.npy
refused 2 "--symmetrize is for edges that are read" "$weft" convert whole --out refused --features x.npy --symmetrize on
refused 2 "--edge-weights is for edges" "$weft" convert whole --out refused --features x.npy --edge-weights weights.csv
refused 2 "has labels of its own" "$weft" convert whole --out refused --features x.npy --classes 9
refused 65 "short.npy" "$weft" convert whole --out refused --features short.npy
refused 65 "bad.npy" "$weft" convert whole --out refused --features bad.npy
refused 2 "holds splits 0 to 1" "$weft" convert two --out refused --features x.npy --split-index 2
refused 2 "is not a graph store" "$weft" convert whole --out empty --force --features x.npy
ok "$weft" convert names.txt --format edge-list --relabel --features onehot --out named
echo 'id,a' >named.csv
refused 69 "vertices of this store have names" "$weft" convert named --out refused --features named.csv
ok "$weft" convert named --out named2 --features degree
same named named2 offset.npy source.npy
cmp named/vertex_name.txt named2/vertex_name.txt 2>/dev/null || diff -r -x 'feature*' -x manifest.json -x checked.json named named2 || fail "names of vertices are lost"
[ ! -e refused ] || fail "a refused change left a store"
echo "ok"
