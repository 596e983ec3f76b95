#!/bin/bash
# Features for graphs that come without (--features degree|onehot|random:D|spectral:D) beside NumPy: degrees counted anew,
# moments of the drawn numbers, subspace angles and eigenvalues by numpy.linalg.eigh and by the closed forms of rings and
# complete bipartite graphs; the same bits for every number of threads; then such a graph trains.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
python3 -c 'import numpy' 2>/dev/null || skip "no NumPy"
work_folder

timeout 280 python3 - "$weft" <<'CHECK' || fail "made features"
import hashlib, os, re, subprocess, sys
import numpy as np
weft = sys.argv[1]

def run(*arguments, code=0):
    done = subprocess.run([weft, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stderr

def write(path, edges):
    with open(path, "w") as out:
        out.writelines(f"{u} {v}\n" for u, v in edges)

def convert(path, kind, *more):
    err = run("convert", path, "--features", kind, "--out", "s", "--force", *more)
    x = np.load("s/feature.npy")
    assert x.dtype == np.float32 and np.isfinite(x).all()
    return x, err

def dense(store):
    offset, source = np.load(store + "/offset.npy"), np.load(store + "/source.npy")
    a = np.zeros((len(offset) - 1,) * 2)
    for v in range(len(offset) - 1):
        a[source[offset[v]:offset[v + 1]], v] = 1  # u -> v
    return a

rng = np.random.default_rng(3)
n = 300
edges = np.unique(rng.integers(0, n, (900, 2)), axis=0)
edges = np.vstack([edges, [[n + 5, 0]]])  # vertices without edges in between
write("random.txt", edges)
vertices = n + 6

# ---- degree ----
for more in (["--symmetrize", "off"], [], ["--symmetrize", "off", "--self-loops", "keep"]):
    x, _ = convert("random.txt", "degree", *more)
    a = dense("s")
    inner, outer = a.sum(0), a.sum(1)
    bucket = np.floor(np.log2(inner + 1)).astype(int)
    assert x.shape == (vertices, 3 + bucket.max()), x.shape
    assert np.allclose(x[:, 0], np.log1p(inner), rtol=1e-6) and np.allclose(x[:, 1], np.log1p(outer), rtol=1e-6)
    assert (x[:, 2:] == np.eye(bucket.max() + 1)[bucket]).all()

# ---- onehot ----
x, _ = convert("random.txt", "onehot")
assert (x == np.eye(vertices)).all()
write("long.txt", [[0, 20000]])
run("convert", "long.txt", "--features", "onehot", "--out", "sparse")
assert (np.load("sparse/feature_offset.npy") == np.arange(20002)).all() and (np.load("sparse/feature_value.npy") == 1).all()
assert (np.load("sparse/feature_column.npy") == np.arange(20001)).all() and not os.path.exists("sparse/feature.npy")

# ---- random ----
x, _ = convert("long.txt", "random:64")
assert x.shape == (20001, 64) and abs(x.mean()) < 1e-3 and abs(x.var() * 64 - 1) < 0.01
z = np.abs(x.ravel().astype(float)) * 8
assert abs((z < 1).mean() - 0.6827) < 0.005 and abs((z < 2).mean() - 0.9545) < 0.003
assert len(np.unique(x[:, 0])) > 19000 and np.abs(np.corrcoef(x[:, :8].T) - np.eye(8)).max() < 0.05
again, _ = convert("long.txt", "random:64", "--threads", "1")
other, _ = convert("long.txt", "random:64", "--seed", "1")
assert (again == x).all() and np.abs(np.corrcoef(other.ravel(), x.ravel())[0, 1]) < 0.01
shorter, _ = convert("random.txt", "random:64")
assert (shorter == x[:vertices]).all()  # of the vertex, not of the graph
odd, _ = convert("random.txt", "random:7")
assert odd.shape == (vertices, 7) and abs(odd.var() * 7 - 1) < 0.1

# ---- spectral ----
def normalised(a):
    a = ((a + a.T) > 0).astype(float)
    np.fill_diagonal(a, 0)
    d = a.sum(0)
    s = np.where(d > 0, 1 / np.sqrt(np.maximum(d, 1)), 0)
    return a * s[:, None] * s[None]

def angles(x, y):  # sines of the angles between two subspaces
    qx, qy = np.linalg.qr(x.astype(float))[0], np.linalg.qr(y.astype(float))[0]
    return np.linalg.norm(qx - qy @ (qy.T @ qx), 2)

for more in ([], ["--symmetrize", "off"]):
    x, _ = convert("random.txt", "spectral:10", *more)
    s = normalised(dense("s"))
    values, vectors = np.linalg.eigh(s)
    values, vectors = values[::-1], vectors[:, ::-1]
    assert np.allclose((x.astype(float) ** 2).mean(0), 1, atol=1e-4)  # mean square 1
    ritz = np.array([x[:, j].astype(float) @ s @ x[:, j] / vertices for j in range(10)])
    assert np.abs(ritz - values[:10]).max() < 1e-5, (ritz, values[:10])
    assert np.linalg.norm(s @ x - x * ritz, axis=0).max() / np.sqrt(vertices) < 1e-5
    for cut in range(1, 11):  # where a gap parts them, the spaces are one
        gap = values[cut - 1] - values[cut]
        if gap > 1e-3:
            assert angles(x[:, :cut], vectors[:, :cut]) < 1e-5 / gap + 1e-6, (cut, gap)
    assert (x[np.abs(x).argmax(0), range(10)] > 0).all()
    bits = {convert("random.txt", "spectral:10", "--threads", str(t), *more)[0].tobytes() for t in (1, 2, 3, 5)}
    assert bits == {x.tobytes()}

ring = 400
write("ring.txt", [[v, (v + 1) % ring] for v in range(ring)])
x, err = convert("ring.txt", "spectral:9")
wanted = np.sort(np.cos(2 * np.pi * np.arange(ring) / ring))[::-1][:9]
s = normalised(dense("s"))
ritz = np.array([x[:, j].astype(float) @ s @ x[:, j] / ring for j in range(9)])
assert np.abs(ritz - wanted).max() < 1e-6, (ritz, wanted)
k = np.arange(ring)[:, None] * np.arange(5)[None] * 2 * np.pi / ring
assert angles(x, np.hstack([np.cos(k), np.sin(k[:, 1:])])) < 1e-3

write("bipartite.txt", [[u, 30 + v] for u in range(30) for v in range(70)])
x, _ = convert("bipartite.txt", "spectral:3")
assert np.allclose(x[:, 0], np.concatenate([np.full(30, np.sqrt(100 / 60)), np.full(70, np.sqrt(100 / 140))]), atol=1e-5)
s = normalised(dense("s"))
assert abs(s @ x[:, 1]).max() < 1e-4 and abs(s @ x[:, 2]).max() < 1e-4  # eigenvalue 0

# Components: the eigenvalue 1 once for each, indicators of the components span its space.
write("parts.txt", [[5 * p + i, 5 * p + j] for p in range(12) for i in range(5) for j in range(i)])
x, _ = convert("parts.txt", "spectral:12")
assert angles(x, np.kron(np.eye(12), np.ones((5, 1)))) < 1e-4
x, _ = convert("parts.txt", "spectral:60")  # every vector there is
assert angles(x, np.eye(60)) < 1e-4
x, _ = convert("parts.txt", "spectral:5")
assert np.abs(x[:, :5] - x[::5, :5].repeat(5, 0)).max() < 1e-3  # fewer columns than components

# Where LAPACK computes wrong (said so here), forms of our own take over, with one warning.
x, err = convert("random.txt", "spectral:30")
assert "wrong on this processor" not in err, err
os.environ["WEFT_LAPACK"] = "wrong"
own, err = convert("random.txt", "spectral:30")
if "no libopenblas" not in err:
    assert err.count("wrong on this processor") == 1, err
values = np.linalg.eigvalsh(normalised(dense("s")))[::-1]
gap = values[29] - values[30]
assert angles(own, x) < 1e-5 / gap + 1e-6, (angles(own, x), gap)
del os.environ["WEFT_LAPACK"]

# ---- refusals, and the option beside others ----
for kind, words in (("degree:3", "takes no number"), ("random", "random:D"), ("random:0", "1 to 65536"),
                    ("random:x", "random:D"), ("spectral:257", "1 to 256"), ("onehot:4", "takes no number")):
    err = run("convert", "random.txt", "--features", kind, "--out", "no", code=2)
    assert words in err and f"./{kind}" in err, err
assert "as many eigenvectors" in run("convert", "parts.txt", "--features", "spectral:61", "--out", "no", code=2)
assert "--memory" in run("convert", "long.txt", "--features", "spectral:64", "--memory", "1M", "--out", "no", code=71)
run("convert", "random.txt", "--features", "degrees", "--out", "no", code=66)
np.save("own.npy", np.full((vertices, 3), 7, np.float32))
with open("own.npy", "rb") as own, open("degree", "wb") as named:
    named.write(own.read())
assert (convert("random.txt", "./degree")[0] == 7).all()
np.savez("has.npz", vertices=4, edges=[[0, 1], [1, 2]], features=np.ones((4, 2)))
x, err = convert("has.npz", "onehot")
assert (x == np.eye(4)).all() and "features of onehot replace the input's 2" in err, err

# ---- every format without features, and the way from the message to a training ----
with open("g.mtx", "w") as out:
    out.write("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n")
with open("g.graph", "w") as out:
    out.write("4 3\n2\n1 3\n2 4\n3\n")
for path in ("g.mtx", "g.graph"):
    assert convert(path, "degree")[0].shape == (4, 4)
np.save("labels.npy", np.arange(vertices) % 3)
run("convert", "random.txt", "--out", "bare", "--labels", "labels.npy", "--random-split", "60/20/20")
err = run("train", "--data", "bare", "--run-dir", "r", code=65)
assert "has no features" in err and "weft convert INPUT --features degree --out STORE" in err, err
assert all(word in err for word in ("onehot", "random:D", "spectral:D")), err
for kind in ("degree", "onehot", "random:16", "spectral:8"):
    run("convert", "random.txt", "--out", "full", "--labels", "labels.npy", "--random-split", "60/20/20", "--features", kind,
        "--force")
    run("train", "--data", "full", "--epochs", "2", "--threads", "1", "--run-dir", "r", "--force", "--verify")
origin = re.search(r'"origin": "(.*)"', open("full/manifest.json").read()).group(1)
assert "--features spectral:8" in origin and "--seed 0" in origin, origin
run("convert", "random.txt", "--out", "bare", "--features", "degree", "--force")
err = run("train", "--data", "bare", "--run-dir", "r", "--force", code=65)
assert "no labels" in err and "--labels FILE --random-split 60/20/20" in err, err
CHECK
exit 0
