#!/bin/bash
# --weight-init linear: the network answers as the linear model does that is best among those which three steps of
# conjugate gradients can reach, by NumPy's least squares over a basis of them, with the best shares of a vertex and its
# neighbours, or shares of 1 where rows are few (wide); less what ReLU cuts off where a class has one column (one); features whole, sparse and aggregated
# before the first epoch, a norm or none, sums along all edges or those that the loss reads; P ranks begin where one does; what it is not for is refused.
# needs: mpirun
# trees: release
set -u
weft=$(realpath "$1")
source_dir=$(realpath "$2")
. "$source_dir/tests/support/script.sh"
need_numpy
work_folder
python3 - <<'END' || fail "data"
import numpy
draw = numpy.random.default_rng(1)
n, features = 90, 40
x = (draw.random((n, features)) < 0.1).astype(numpy.float32)
label = draw.integers(0, 3, n)
x[numpy.arange(n), label] = 1
numpy.save("x.npy", x)
numpy.save("wide.npy", numpy.hstack([x, draw.random((n, 100)) < 0.02]).astype(numpy.float32))
numpy.savetxt("label.csv", label, fmt="%d")
pairs = {(int(a), int(b)) for a, b in draw.integers(0, n, (200, 2)) if a < b} | {(v, (v + 1) % n) for v in range(n - 1)}
open("edges.txt", "w").write("".join(f"{a} {b}\n" for a, b in sorted(pairs)))
END
"$weft" convert edges.txt --features x.npy --labels label.csv --random-split 60/20/20 --symmetrize --out store --quiet 2>err || fail "$(cat err)"
"$weft" convert edges.txt --features wide.npy --labels label.csv --random-split 60/20/20 --symmetrize --out wide --quiet 2>err || fail "$(cat err)"

# begin RANKS NAME OPTION...: a step that moves nothing
begin() {
    ranks "$1" "$weft" train --quiet --data "${store:-store}" --recipe default --weight-init linear --hidden "${hidden:-8}" --normalize none --lr 1e-12 \
        --epochs 1 --threads 1 --calibrate never --run-dir "$2" "${@:3}" >out 2>err </dev/null || fail "$2: $(cat err)"
}
for model in gcn sage; do
    begin 1 "$model-whole" --model $model --norm none --dropout 0 --feature-form whole
    begin 1 "$model-sparse" --model $model --norm none --dropout 0 --input-dropout 0.5 --feature-form sparse --last-layer read
    begin 1 "$model-norm" --model $model --norm batch --dropout 0 --feature-form whole
    hidden=4 begin 1 "$model-one" --model $model --norm $([ $model = gcn ] && echo none || echo batch) --dropout 0 --feature-form whole
    store=wide begin 1 "$model-wide" --model $model --norm none --dropout 0 --feature-form whole
    begin 3 "$model-three" --model $model --norm none --dropout 0 --feature-form whole --partition random --last-layer read
done

python3 - <<'END' || fail "not the linear model"
import numpy
part = lambda name: numpy.load(f"store/{name}.npy")
label, split, offset, source = part("label"), part("split"), part("offset"), part("source")
n, classes = len(label), 3
edge = numpy.zeros((n, n))
for v in range(n):
    edge[v, source[offset[v]:offset[v + 1]]] = 1
train = split.ravel() == 0
hot = numpy.eye(classes)[label]

def sums(model):
    if model == "gcn":
        loops = edge + numpy.eye(n)
        degree = loops.sum(1)
        return loops / numpy.sqrt(degree[:, None] * degree[None, :])
    return edge / numpy.maximum(edge.sum(1, keepdims=True), 1)

def expect(model, x, one):
    s, own = sums(model), numpy.eye(n) * (model == "sage")
    first = numpy.hstack([x, s @ x]) if model == "sage" else s @ x
    z = (s + own) @ first
    centre = lambda t: t - t[train].mean(0)
    target = centre(hot)
    w = numpy.zeros((first.shape[1], classes))
    for j in range(classes):
        basis = [centre(z)[train].T @ target[train, j]]
        for _ in range(2):
            basis.append(centre(z)[train].T @ (centre(z)[train] @ basis[-1]))
        basis = numpy.linalg.qr(numpy.array(basis).T)[0]
        w[:, j] = basis @ numpy.linalg.lstsq(centre(z)[train] @ basis, target[train, j], rcond=None)[0]
    terms = [centre(own @ first @ w), centre(s @ first @ w)]
    share = numpy.ones(2)
    if model == "sage" and 2 * train.sum() >= x.shape[1]:
        share = numpy.linalg.lstsq(numpy.stack([t[train].ravel() for t in terms], 1), target[train].ravel(), rcond=None)[0]
        assert abs(share - 1).max() > 0.1, share  # or a test of shares shows nothing
    expected = 5 * (share[0] * terms[0] + share[1] * terms[1] + hot[train].mean(0))
    if one:
        lifted = first @ w + max((first @ w).std(0) - (first @ w).mean(0))
        assert lifted.min() < 0
        expected -= 5 * (share[0] * own + share[1] * s) @ numpy.minimum(lifted, 0)
    return s, first, expected

for model in ("gcn", "sage"):
    for kind in ("whole", "sparse", "norm", "three", "wide", "one"):
        s, first, expected = expect(model, numpy.load(("wide" if kind == "wide" else "store") + "/feature.npy").astype(float), kind == "one")
        net = numpy.load(f"{model}-{kind}/weights.npz")
        map_of = lambda l: numpy.vstack([net[f"layer{l}.self"], net[f"layer{l}.neigh"]]) if model == "sage" else net[f"layer{l}.weight"]
        h = first @ map_of(0).astype(float) + net["layer0.bias"] * ("norm0.gamma" not in net)
        if "norm0.gamma" in net:  # of the batch that a training pass sees
            h = (h - h.mean(0)) / h.std(0) * net["norm0.gamma"] + net["norm0.beta"]
        h = numpy.maximum(h, 0)
        answer = (numpy.hstack([h, s @ h]) if model == "sage" else s @ h) @ map_of(1).astype(float) + net["layer1.bias"]
        if kind == "one":  # softmax does not see what all classes share
            answer, expected = answer - answer.mean(1, keepdims=True), expected - expected.mean(1, keepdims=True)
        far = abs(answer - expected).max()
        assert far < 2e-3 * abs(expected).max(), (model, kind, far)
END

# refuse WORDS OPTION...
refuse() {
    "$weft" train --data store --epochs 1 --weight-init linear --run-dir refused "${@:2}" >out 2>err
    [ $? -eq 2 ] && grep -q -- "--weight-init linear: $1" err || fail "${*:2}: $(cat err)"
}
refuse "it is for gcn and for sums of sage" --model gat
refuse "it is for gcn and for sums of sage" --layers 3
refuse "it is for networks with a hidden column or more for each class" --hidden 2
refuse "it is for networks with batch norm or without" --norm layer
