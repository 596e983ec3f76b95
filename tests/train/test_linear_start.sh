#!/bin/bash
# --weight-init linear: the network answers as the linear model does that is best among those which so many steps of
# conjugate gradients can reach, by NumPy's least squares over a basis of them; the number of steps is that at which
# labels of validation vertices are most probable, or three where there are none or many rows, of which sage weighs a
# vertex and its neighbours; gcn, sage, gat and gin, a column or two a class, features
# whole, sparse and aggregated before the first epoch, a norm or none, sums along all edges or those that the loss reads;
# P ranks begin where one does; what it is not for is refused.
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
numpy.save("narrow.npy", x[:, :3])
numpy.save("faint.npy", x * numpy.float32(1e-4))
numpy.savetxt("label.csv", label, fmt="%d")
pairs = {(int(a), int(b)) for a, b in draw.integers(0, n, (200, 2)) if a < b} | {(v, (v + 1) % n) for v in range(n - 1)}
open("edges.txt", "w").write("".join(f"{a} {b}\n" for a, b in sorted(pairs)))
END
for features in x faint narrow; do # the store of x is called store
    "$weft" convert edges.txt --features $features.npy --labels label.csv --random-split 60/20/20 --symmetrize \
        --out ${features/#x/store} --quiet 2>err || fail "$(cat err)"
done

# begin RANKS NAME OPTION...: a step that moves nothing
begin() {
    ranks "$1" "$weft" train --quiet --recipe default --hidden "${hidden:-8}" --normalize none --lr 1e-12 \
        --epochs 1 --threads 1 --calibrate never --data "${data:-store}" --run-dir "$2" --weight-init "${init:-linear}" "${@:3}" >out 2>err </dev/null || fail "$2: $(cat err)"
}
for model in gcn sage; do
    begin 1 "$model-whole" --model $model --norm none --dropout 0 --feature-form whole
    begin 1 "$model-sparse" --model $model --norm none --dropout 0 --input-dropout 0.5 --feature-form sparse --last-layer read
    begin 1 "$model-norm" --model $model --norm batch --dropout 0 --feature-form whole
    data=faint begin 1 "$model-faint" --model $model --norm batch --dropout 0 --feature-form whole
    data=narrow begin 1 "$model-narrow" --model $model --norm none --dropout 0 --feature-form whole
    begin 3 "$model-three" --model $model --norm none --dropout 0 --feature-form whole --partition random --last-layer read
done
begin 1 gat-whole --model gat --norm batch --heads 2
init=glorot begin 1 gat-drawn --model gat --norm batch --heads 2
begin 3 gat-three --model gat --norm batch --heads 2 --partition random
begin 1 gin-whole --model gin --norm batch
begin 3 gin-three --model gin --norm batch --partition random
cp -r store three && python3 -c "
import numpy
split = numpy.load('three/split.npy')
split[split == 1] = 255
numpy.save('three/split.npy', split)" && rm -f three/checked.json
data=three begin 1 gcn-unjudged --model gcn --norm none --dropout 0 --feature-form whole
hidden=4 begin 1 gcn-single --model gcn --norm none --dropout 0 --feature-form whole

python3 - <<'END' || fail "not the linear model"
import json, numpy
part = lambda name: numpy.load(f"store/{name}.npy")
label, split, offset, source = part("label"), part("split").ravel(), part("offset"), part("source")
n, classes = len(label), 3
edge = numpy.zeros((n, n))
for v in range(n):
    edge[v, source[offset[v]:offset[v + 1]]] = 1
train, valid, loops = split == 0, split == 1, edge + numpy.eye(n)
hot = numpy.eye(classes)[label]
elu = lambda h: numpy.where(h > 0, h, numpy.expm1(numpy.minimum(h, 0)))
relu = lambda h: numpy.maximum(h, 0)

def sums(model):
    degree = loops.sum(1)
    return {"gcn": loops / numpy.sqrt(degree[:, None] * degree[None, :]), "gat": loops / degree[:, None], "gin": loops,
            "sage": edge / numpy.maximum(edge.sum(1, keepdims=True), 1)}[model]

def fits(z):
    """For each number of steps: the weights, and what answers lack."""
    centred = z[train] - z[train].mean(0)
    target = hot[train] - hot[train].mean(0)
    basis = [centred.T @ target[:, [j]] for j in range(classes)]
    basis = [b / numpy.linalg.norm(b) for b in basis]
    while True:
        w = numpy.hstack([basis[j] @ numpy.linalg.lstsq(centred @ basis[j], target[:, [j]], rcond=None)[0] for j in range(classes)])
        yield w, hot[train].mean(0) - (z[train] @ w).mean(0)
        for j in range(classes):
            more = centred.T @ (centred @ basis[j][:, -1:])
            basis[j] = numpy.linalg.qr(numpy.hstack([basis[j], more]))[0]

def probability(score):
    power = numpy.exp(10 * (score[valid] - score[valid].max(1, keepdims=True)))
    return (power[numpy.arange(valid.sum()), label[valid]] / power.sum(1)).sum()

def best(z):
    highest = 0
    for number, (w, bias) in enumerate(fits(z), 1):
        seen = probability(z @ w + bias)
        if seen > highest:
            highest, found, steps = seen, (w, bias), number
        elif number - steps >= 3:
            return found

def shares(model, terms, target):
    """Of a vertex and of its neighbours: the two numbers that answer best."""
    if model != "sage":
        return [1, 1]
    stack = numpy.stack([(t[train] - t[train].mean(0)).ravel() for t in terms], 1)
    share = numpy.linalg.lstsq(stack, (target[train] - target[train].mean(0)).ravel(), rcond=None)[0]
    assert abs(share - 1).max() > 0.1, share  # or a test of shares shows nothing
    return share

def norm_of(net, name, h):
    return (h - h.mean(0)) / numpy.sqrt(h.var(0) + 1e-5) * net[name + ".gamma"] + net[name + ".beta"]

for model in ("gcn", "sage", "gat", "gin"):
    s, own = sums(model), numpy.eye(n) * (model == "sage")
    kinds = ("whole", "three") + ("sparse", "norm", "faint", "narrow") * (model in ("gcn", "sage")) + ("unjudged", "single") * (model == "gcn")
    for kind in kinds:
        x = numpy.load((kind if kind in ("faint", "narrow") else "store") + "/feature.npy").astype(float)
        first = numpy.hstack([x, s @ x]) if model == "sage" else s @ x
        z = (s + own) @ first
        w, bias = best(z) if kind not in ("unjudged", "narrow") else [fit for fit, _ in zip(fits(z), range(3))][2]
        if kind == "narrow":
            terms = [own @ first @ w, s @ first @ w]
            share = shares(model, terms, hot)
            z = share[0] * terms[0] + share[1] * terms[1]
            w, bias = numpy.eye(classes), hot[train].mean(0) - z[train].mean(0)
        net = numpy.load(f"{model}-{kind}/weights.npz")
        map_of = lambda l: numpy.vstack([net[f"layer{l}.self"], net[f"layer{l}.neigh"]]) if model == "sage" else net[f"layer{l}.weight"]
        s1, expected = first @ w if kind != "narrow" else None, 5 * (z @ w + bias)
        h = first @ map_of(0).astype(float) + (net["layer0.bias"] if kind not in ("norm", "faint", "whole", "three") or model in ("gcn", "sage") else 0)
        if model == "gin":
            h = relu(norm_of(net, "mlp0", h)) @ net["mlp0.weight"] + net["mlp0.bias"]
            h = relu(norm_of(net, "norm0", h))
            answer = relu(norm_of(net, "mlp1", s @ h @ net["layer1.weight"])) @ net["mlp1.weight"] + net["mlp1.bias"]
            low = (z @ w).mean(0) - 2 * (z @ w).std(0)  # where the last relu begins
            expected = 5 * (numpy.maximum(z @ w, low) + bias)
        elif model == "gat":  # as if attention were uniform, which short vectors of sources make nearly true
            drawn = numpy.load("gat-drawn/weights.npz")
            for layer, share in ("layer0", [[0.1], [1]]), ("layer1", 0.1):
                assert numpy.allclose(net[layer + ".att_src"], share * drawn[layer + ".att_src"], atol=1e-9)
            answer = s @ elu(norm_of(net, "norm0", h)) @ net["layer1.weight"] + net["layer1.bias"]
            d = s1.std(0)
            expected = 5 * (s @ (elu(s1 / d) - elu(-s1 / d)) * d / 1.52 + bias)
        else:
            h = relu(norm_of(net, "norm0", h) if kind in ("norm", "faint") else h)
            answer = (numpy.hstack([h, s @ h]) if model == "sage" else s @ h) @ map_of(1).astype(float) + net["layer1.bias"]
        if kind == "single":  # relu of what a shift of all classes leaves positive
            shift = s1.std(0).mean()
            expected = 5 * (s @ numpy.maximum(s1 + shift, 0) + bias)
        far = abs(answer - expected).max()
        assert far < 2e-3 * abs(expected).max(), (model, kind, far)
    loss = [json.loads(open(f"{model}-{kind}/metrics.jsonl").readline())["loss"] for kind in ("whole", "three")]
    assert abs(loss[0] - loss[1]) < 1e-5 * loss[0], (model, loss)
END

# refuse WORDS OPTION...
refuse() {
    "$weft" train --data store --epochs 1 --weight-init linear --run-dir refused "${@:2}" >out 2>err
    [ $? -eq 2 ] && grep -q -- "--weight-init linear: $1" err || fail "${*:2}: $(cat err)"
}
refuse "it is for gcn, sums of sage" --model gat --out-heads 2
refuse "it is for gcn, sums of sage" --layers 3
refuse "it is for networks with a hidden column or more for each class" --hidden 2
refuse "it is for networks with a hidden column or more for each class" --model gin --hidden 5
refuse "it is for networks with batch norm or, but for gin" --model gin --norm none
