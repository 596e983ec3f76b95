#!/usr/bin/env python3
"""Training states frozen from PyTorch, to check Weft against.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch==2.13.0 numpy
    /tmp/golden/bin/python tests/golden/make_golden.py        # writes the .npz files beside this script

Graph: 203 vertices made by the fixed rule in make_graph(): directed, not symmetric, no self-loops, no repeats, with
isolated vertices, vertices without in-edges and unlabelled ones. A[v, u] = 1 for an edge u -> v, so row v lists the sources
of v. d(v) = in-degree.

Two layers 12 -> 16 -> 5, ReLU between them, no dropout. Weights are [d_in, d_out], b is a row. H is a layer's input, S is
D^-1/2 (A + I) D^-1/2:

    sage-mean  H W_self + M W_neigh + b          M[v] = sum over u in in(v) of H[u] / d(v), 0 when d(v) = 0
    sage-max   H W_self + M W_neigh + b          M[v] = the largest H[u] over u in in(v), element by element, 0 when d(v) = 0; of
                                                 equal ones each gets an equal share of the gradient (torch.amax)
    sage-gcn   ((A + I) H / (d + 1)) W + b       row v divided by d(v) + 1
    gcn        S (H W) + b                       D = diag(d + 1), in-degrees on both sides
    gcn-jump   the same, 12 -> 16 -> 16 -> 16    H is added to the result of the second and third in front of their ReLU; the three
                                                 results side by side go through one linear map 48 -> 5
    gatv2      softmax(S) (H W_s + b_s) + b, a head at a time   S[v, u] = a . LeakyReLU((H W_t + b_t)[v] + (H W_s + b_s)[u]); ELU
    gin        ReLU((A + I) H W + b) W' + b'     W' is [d_out, d_out]
    gin-eps    the same with (1 + eps) I, eps a parameter of each layer
    *-weighted the same with A[v, u] = weight of the edge (some are 0) and d(v) = sum of the weights into v
    sgc        S S X W + b                       one linear map 12 -> 5
    gat        softmax(S) H W + b, a head at a time   S[v, u] = LeakyReLU(a_dst . (H W)[v] + a_src . (H W)[u]) where A + I
                                                 has an edge; ELU in place of ReLU

Loss: mean cross-entropy over the training vertices. Adam: lr 0.01, betas 0.9 and 0.999, epsilon 1e-8, L2 decay 5e-4 added
to the gradient of every parameter, biases included. 20 epochs; the loss of an epoch is that before its update.

gcn-balanced is gcn with the loss weighted by class: training rows / (classes * training rows of the class).

gcn-squared, gcn-absolute and gcn-huber are gcn with one answer, a number: the target of a vertex is half the sum of its features,
and the loss half the squared error, the absolute error, and Huber's.

gcn-adamw is gcn with AdamW (decay 0.05), gradients clipped to the norm 0.3, the moving average of the weights with decay
0.9, and a rate that is halved where more than one epoch in a row brought the average no better accuracy on the validation rows.

Everything is float64 with dense matrix products written out here: no graph library takes part. The keys are in README.md.
"""
import os
import sys

import numpy as np
import torch

N, F, HIDDEN, CLASSES, EPOCHS = 203, 12, 16, 5, 20
HEADED = ("gat", "gatv2")
HEADS = (4, 2)  # of those: four of 4 side by side, then the mean of two
HERE = os.path.dirname(os.path.abspath(__file__))


class Lcg:
    """Numerical Recipes' 32-bit generator: the same numbers wherever this runs."""

    def __init__(self, state):
        self.state = state

    def below(self, bound):
        self.state = (1664525 * self.state + 1013904223) % 2**32
        return self.state * bound >> 32

    def normal(self):
        """Sum of 12 uniforms, less 6."""
        return sum(self.below(2**20) for _ in range(12)) / 2**20 - 6.0


def make_graph():
    rng = Lcg(20240607)
    label = np.array([rng.below(CLASSES) for _ in range(N)], dtype=np.int32)
    edges = set()
    while len(edges) < 1500:
        u, v = rng.below(N), rng.below(N)
        if v % 29 == 0 or u == v:  # multiples of 29 have no in-edges
            continue
        if label[u] != label[v] and rng.below(4) != 0:
            continue
        edges.add((v, u))
        if rng.below(3) != 0 and u % 29 != 0:
            edges.add((u, v))
    isolated = (58, 101, 202)
    pairs = np.array(sorted(e for e in edges if e[0] not in isolated and e[1] not in isolated), dtype=np.int64)
    offset = np.searchsorted(pairs[:, 0], np.arange(N + 1)).astype(np.int64)
    means = np.array([[rng.normal() for _ in range(F)] for _ in range(CLASSES)])
    feature = np.array([[0.5 * means[label[v], j] + rng.normal() for j in range(F)] for v in range(N)])
    split = np.array([(0, 0, 1, 2)[rng.below(4)] for _ in range(N)], dtype=np.uint8)
    for v in (7, 77):  # unlabelled vertices belong to no split
        label[v], split[v] = -1, 255
    return {"offset": offset, "source": pairs[:, 1].astype(np.int32), "feature": feature.astype(np.float32),
            "label": label, "split": split}


def edge_weights(graph):
    rng = Lcg(20261123)
    return np.array([rng.below(9) / 4 for _ in graph["source"]], dtype=np.float32)


def operators(graph, weight):
    """A [N, N] and in-degrees [N, 1] as float64."""
    adjacency = torch.zeros(N, N, dtype=torch.float64)
    for v in range(N):
        row = slice(graph["offset"][v], graph["offset"][v + 1])
        adjacency[v, graph["source"][row].astype(np.int64)] = torch.from_numpy(weight[row].astype(np.float64))
    return adjacency, adjacency.sum(1, keepdim=True)


def attention(edges, h, weights):
    """Dense attention over the edges, a head at a time; hidden layers put heads side by side, the last one is their mean."""
    heads, d = weights["att_src"].shape
    z = (h @ weights["weight"]).reshape(N, heads, d)
    parts = []
    for head in range(heads):
        raw = (z[:, head] @ weights["att_dst"][head])[:, None] + (z[:, head] @ weights["att_src"][head])[None, :]
        score = torch.nn.functional.leaky_relu(raw, 0.2).masked_fill(edges == 0, -torch.inf)
        parts.append(torch.softmax(score, 1) @ z[:, head])
    together = torch.cat(parts, 1) if weights["bias"].numel() == heads * d else sum(parts) / heads
    return together + weights["bias"]


def dynamic_attention(edges, h, weights):
    """Every pair of vertices meets in full: [target, source, heads, columns]."""
    heads, d = weights["att"].shape
    source = (h @ weights["source"] + weights["source_bias"]).reshape(N, heads, d)
    target = (h @ weights["target"] + weights["target_bias"]).reshape(N, heads, d)
    met = torch.nn.functional.leaky_relu(target[:, None] + source[None, :], 0.2)
    score = (met * weights["att"]).sum(-1).masked_fill((edges == 0)[:, :, None], -torch.inf)
    together = torch.einsum("vuh,uhd->vhd", torch.softmax(score, 1), source)
    return (together.reshape(N, -1) if weights["bias"].numel() == heads * d else together.mean(1)) + weights["bias"]


def propagate(model, adjacency, degree, h, weights):
    eye = torch.eye(N, dtype=torch.float64)
    if model == "sage-mean":
        mean = adjacency @ h / torch.where(degree > 0, degree, 1.0)
        return h @ weights["self"] + mean @ weights["neigh"] + weights["bias"]
    if model == "sage-max":
        there = adjacency[:, :, None] > 0
        most = torch.where(there, h[None, :, :], -torch.inf).amax(1)
        return h @ weights["self"] + torch.where(there.any(1), most, 0.0) @ weights["neigh"] + weights["bias"]
    if model == "sage-gcn":
        return ((adjacency + eye) @ h / (degree + 1)) @ weights["weight"] + weights["bias"]
    if model == "gat":
        return attention(adjacency + eye, h, weights)
    if model == "gatv2":
        return dynamic_attention(adjacency + eye, h, weights)
    if model in ("gin", "gin-eps"):
        own = eye * (1 + weights["eps"]) if model == "gin-eps" else eye
        inner = torch.relu((adjacency + own) @ h @ weights["weight"] + weights["bias"])
        return inner @ weights["mlp.weight"] + weights["mlp.bias"]
    root = (degree + 1).rsqrt()
    z = h @ weights["weight"]
    for _ in range(2 if model == "sgc" else 1):
        z = root * ((adjacency + eye) @ (root * z))
    return z + weights["bias"]


def answer(model, adjacency, degree, x, layers):
    """The logits, of all layers."""
    activation = torch.nn.functional.elu if model in HEADED else torch.relu
    if model == "sgc":
        return propagate(model, adjacency, degree, x, layers[0])
    if model == "gcn-jump":
        results = []
        for i, weights in enumerate(layers):
            through = propagate("gcn", adjacency, degree, results[-1] if i else x, weights)
            results.append(torch.relu(through + results[-1] if i else through))
        return torch.cat(results, 1) @ layers[0]["jump.weight"] + layers[0]["jump.bias"]
    hidden = activation(propagate(model, adjacency, degree, x, layers[0]))
    return propagate(model, adjacency, degree, hidden, layers[1])


def initial_weights(model):
    """Glorot-uniform matrices and small non-zero biases, so that an error in a bias shows from the first epoch."""
    rng = Lcg(7 + len(model))
    weights = {}
    widths = {"gcn1": [(F, HIDDEN), (HIDDEN, 1)], "sgc": [(F, CLASSES)], "gcn-jump": [(F, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, HIDDEN)]}
    for layer, (d_in, d_out) in enumerate(widths.get(model, [(F, HIDDEN), (HIDDEN, CLASSES)])):
        bound = (6.0 / (d_in + d_out)) ** 0.5
        heads = HEADS[layer] if model in HEADED else 1
        d = d_out // heads if layer == 0 else d_out
        shapes = {"self": (d_in, d_out), "neigh": (d_in, d_out)} if model in ("sage-mean", "sage-max") else {"weight": (d_in, heads * d)}
        if model == "gat":
            shapes.update({"att_src": (heads, d), "att_dst": (heads, d)})
        if model == "gatv2":
            shapes = {"source": (d_in, heads * d), "target": (d_in, heads * d), "att": (heads, d),
                      "source_bias": (1, heads * d), "target_bias": (1, heads * d)}
        shapes = {f"layer{layer}.{name}": shape for name, shape in shapes.items()}
        if model in ("gin", "gin-eps"):
            shapes[f"mlp{layer}.weight"] = (d_out, d_out)
        if model == "gcn-jump" and layer == 0:
            shapes["jump0.weight"] = (3 * HIDDEN, CLASSES)
        for name, (rows, cols) in shapes.items():
            values = [[(2 * rng.below(2**24) / 2**24 - 1) * bound for _ in range(cols)] for _ in range(rows)]
            weights[name] = np.array(values)
        for name, (_, cols) in list(shapes.items()):
            part = name.split(".")[0]
            if model == "gin-eps" and part.startswith("layer"):
                weights[f"{part}.eps"] = np.array([0.2 * (2 * rng.below(2**24) / 2**24 - 1)])
            if f"{part}.bias" not in weights:
                width = d_out if part.startswith("layer") else cols
                weights[f"{part}.bias"] = np.array([0.02 * (2 * rng.below(2**24) / 2**24 - 1) for _ in range(width)])
    return weights


class Modern:
    """What gcn-adamw has in place of Adam: PyTorch's own classes, one step after the other."""

    def __init__(self, params, graph):
        self.params = params
        self.rows = torch.from_numpy(np.flatnonzero((graph["split"] == 1) & (graph["label"] >= 0)))
        self.target = torch.from_numpy(graph["label"].astype(np.int64))[self.rows]
        self.held = torch.nn.ParameterList(params.values())
        self.optimizer = torch.optim.AdamW(self.held.parameters(), lr=0.01, weight_decay=0.05)
        self.average = torch.optim.swa_utils.AveragedModel(self.held,
                                                           multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, mode="max", factor=0.5, patience=1,
                                                                  threshold=0.0)
        self.lr, self.norm, self.valid, self.best = [], [], [], {}

    def step(self, forward):
        self.lr.append(self.optimizer.param_groups[0]["lr"])
        self.norm.append(torch.nn.utils.clip_grad_norm_(self.held.parameters(), 0.3).item())
        self.optimizer.step()
        self.average.update_parameters(self.held)
        averaged = dict(zip(self.params, self.average.module.parameters()))
        right = forward(averaged)[self.rows].argmax(1) == self.target
        if not self.valid or right.double().mean().item() > max(self.valid):
            self.best = {f"best.{name}": p.detach().numpy().copy() for name, p in averaged.items()}
        self.valid.append(right.double().mean().item())
        self.plateau.step(self.valid[-1])


NUMBERS = {"-squared": lambda a, b: torch.nn.functional.mse_loss(a, b) / 2, "-absolute": torch.nn.functional.l1_loss,
           "-huber": torch.nn.functional.huber_loss}


def train(name, graph):
    number_loss = next((loss for end, loss in NUMBERS.items() if name.endswith(end)), None)
    numbers = torch.from_numpy(0.5 * graph["feature"].astype(np.float64).sum(1))
    model = name.removesuffix("-weighted").removesuffix("-adamw").removesuffix("-balanced")
    model = "gcn" if number_loss else model
    weighted = name.endswith("-weighted")
    weight = edge_weights(graph) if weighted else np.ones(len(graph["source"]), dtype=np.float32)
    adjacency, degree = operators(graph, weight)
    x = torch.from_numpy(graph["feature"].astype(np.float64))
    rows = torch.from_numpy(np.flatnonzero(graph["split"] == 0))
    target = torch.from_numpy(graph["label"].astype(np.int64))[rows]
    by_class = len(target) / (CLASSES * torch.bincount(target, minlength=CLASSES).double())
    class_weight = by_class if name.endswith("-balanced") else None
    start = initial_weights("gcn1" if number_loss else model)
    params = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in start.items()}
    optimizer = torch.optim.Adam(params.values(), lr=0.01, weight_decay=5e-4)
    frozen = {f"init.{name}": value for name, value in start.items()}
    if weighted:
        frozen["edge_weight"] = weight
    modern = Modern(params, graph) if name.endswith("-adamw") else None
    losses = []

    def forward(values):
        layers = [{}, {}, {}]
        for key, p in values.items():
            part, kind = key.split(".")
            layers[int(part[-1])][kind if part.startswith("layer") else f"{part[:-1]}.{kind}"] = p
        return answer(model, adjacency, degree, x, [layer for layer in layers if layer])

    for epoch in range(EPOCHS):
        logits = forward(params)
        loss = (number_loss(logits[rows, 0], numbers[rows]) if number_loss else
                torch.nn.functional.cross_entropy(logits[rows], target, weight=class_weight))
        optimizer.zero_grad()
        loss.backward()
        if epoch == 0:
            frozen["logits"] = logits.detach().numpy().copy()
            frozen.update({f"grad.{name}": p.grad.numpy().copy() for name, p in params.items()})
        losses.append(loss.item())
        if modern:
            modern.step(forward)
        else:
            optimizer.step()
    frozen["loss"] = np.array(losses)
    if modern:
        frozen.update(modern.best, lr=np.array(modern.lr), valid=np.array(modern.valid), norm=np.array(modern.norm))
    frozen.update({f"final.{name}": p.detach().numpy().copy() for name, p in params.items()})
    return frozen


def main():
    torch.set_num_threads(1)
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    graph = make_graph()
    np.savez(os.path.join(folder, "graph.npz"), **graph)
    for model in ("sage-mean", "sage-gcn", "gcn", "gat", "gin", "sgc", "gcn-jump", "gatv2", "sage-mean-weighted",
                  "gcn-weighted", "gin-weighted", "gin-eps", "sage-max", "gcn-adamw",
                  "gcn-balanced", "gcn-squared", "gcn-absolute", "gcn-huber"):
        frozen = train(model, graph)
        np.savez(os.path.join(folder, f"{model}.npz"), **frozen)
        print(f"{model}: loss {frozen['loss'][0]:.6f} -> {frozen['loss'][-1]:.6f}")


if __name__ == "__main__":
    main()
