"""pyg_in_numpy.py MODEL.safetensors STORE LOGITS.npy: the answers of an exported model as PyTorch Geometric computes them, without
PyTorch: layers by their formulas in float64, found by the names that state_dict() of PyG's GraphSAGE, GCN, GIN, GAT, SGConv and MLP has.
A name that no formula asks for is an error, so that nothing of the file is left out."""
import json
import struct
import sys

import numpy as np


class State:
    """Tensors of a safetensors file by name, and the options in its metadata."""

    def __init__(self, path):
        with open(path, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header, data = json.loads(file.read(size)), file.read()
        self.option = {key[5:]: text for key, text in header.pop("__metadata__").items() if key.startswith("weft.")}
        self.tensor, self.read = {}, set()
        for name, row in header.items():
            assert row["dtype"] == "F32", (name, row)
            begin, end = row["data_offsets"]
            self.tensor[name] = np.frombuffer(data[begin:end], "<f4").reshape(row["shape"]).astype(np.float64)

    def get(self, name, default=None):
        self.read.add(name)
        return self.tensor.get(name, default) if default is not None else self.tensor[name]

    def linear(self, name, x):
        return x @ self.get(name + ".weight").T + self.get(name + ".bias", np.zeros(1))


class Graph:
    """Edges source -> target with weights, and sums over them."""

    def __init__(self, source, target, weight, n):
        order = np.argsort(target, kind="stable")
        self.source, self.target, self.weight, self.n = source[order], target[order], weight[order], n
        self.joined, self.begin = np.unique(self.target, return_index=True)

    def with_loops(self):
        loops = np.arange(self.n)
        return Graph(np.r_[self.source, loops], np.r_[self.target, loops], np.r_[self.weight, np.ones(self.n)], self.n)

    def reduce(self, how, rows):
        """Rows of edges by target, zeros where there are none."""
        out = np.zeros((self.n,) + rows.shape[1:])
        out[self.joined] = how.reduceat(rows, self.begin)
        return out

    def sum(self, rows):
        return self.reduce(np.add, rows)

    def max(self, rows):
        return self.reduce(np.maximum, rows)

    def mean(self, x):
        return self.sum(x[self.source]) / np.maximum(np.bincount(self.target, minlength=self.n), 1)[:, None]

    def gcn(self, x):
        full = self.with_loops()
        d = 1.0 / np.sqrt(full.sum(full.weight))
        return full.sum((d[full.source] * full.weight * d[full.target])[:, None] * x[full.source])


def norm(state, name, x):
    if name + ".module.weight" in state.tensor:
        name += ".module"
        mean, variance = state.get(name + ".running_mean"), state.get(name + ".running_var")
    elif name + ".weight" in state.tensor:
        mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    else:
        return x
    return (x - mean) / np.sqrt(variance + 1e-5) * state.get(name + ".weight") + state.get(name + ".bias")


def attention(state, name, graph, x):
    """GATConv, or GATv2Conv, which scores sums of both ends."""
    full, slope = graph.with_loops(), float(state.option["negative-slope"])
    leaky = lambda score: np.where(score > 0, score, slope * score)
    second = name + ".lin_l.weight" in state.tensor
    heads, width = state.tensor[name + (".att" if second else ".att_src")].shape[1:]
    rows = state.linear(name + (".lin_l" if second else ".lin"), x).reshape(-1, heads, width)
    if second:
        ends = state.linear(name + ".lin_r", x).reshape(-1, heads, width)
        score = (leaky(rows[full.source] + ends[full.target]) * state.get(name + ".att")).sum(2)
    else:
        of_source, of_target = ((rows * state.get(name + end)).sum(2) for end in (".att_src", ".att_dst"))
        score = leaky(of_source[full.source] + of_target[full.target])
    power = np.exp(score - full.max(score)[full.target])
    share = power / full.sum(power)[full.target]
    out, bias = full.sum(share[:, :, None] * rows[full.source]), state.get(name + ".bias")
    return (out.mean(1) if len(bias) == width else out.reshape(len(x), -1)) + bias  # heads of the last layer are averaged


def convolve(state, name, graph, x):
    kind = state.option["model"]
    if kind in ("gat", "gatv2"):
        return attention(state, name, graph, x)
    if kind == "gcn":
        return graph.gcn(x) @ state.get(name + ".lin.weight").T + state.get(name + ".bias")
    if kind == "gin":
        total = (1.0 + state.get(name + ".eps", np.zeros(1))) * x + graph.sum(x[graph.source])
        hidden = norm(state, name + ".nn.norms.0", state.linear(name + ".nn.lins.0", total))
        return state.linear(name + ".nn.lins.1", np.maximum(hidden, 0.0))
    aggregator = state.option["aggregator"]
    if aggregator == "gcn":
        return state.linear(name + ".lin_l", graph.with_loops().mean(x))
    of_others = graph.max(x[graph.source]) if aggregator == "max" else graph.mean(x)
    return state.linear(name + ".lin_l", of_others) + x @ state.get(name + ".lin_r.weight").T


def forward(state, graph, x):
    option = state.option
    kind, layers, jumps = option["model"], int(option["layers"]), option["jumping"]
    act = (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))) if kind in ("gat", "gatv2") else lambda x: np.maximum(x, 0.0)
    if kind == "sgc":
        for _ in range(layers):
            x = graph.gcn(x)
        return state.linear("lin", x)
    kept = []
    for layer in range(layers):
        x = state.linear(f"lins.{layer}", x) if kind == "mlp" else convolve(state, f"convs.{layer}", graph, x)
        if layer < layers - 1 or jumps != "none":
            x = act(norm(state, f"norms.{layer}", x))
            kept.append(x)
    return x if jumps == "none" else state.linear("lin", np.concatenate(kept, 1) if jumps == "cat" else np.maximum.reduce(kept))


def scale(x, option):
    assert option["normalize"] in ("none", "standard"), option["normalize"]
    if option["normalize"] == "none":
        return x
    mean, deviation = (np.array(option[key].split(","), np.float64) for key in ("feature-mean", "feature-deviation"))
    return (x - mean) * np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)


def main(model, store, logits):
    state = State(model)
    offset = np.load(store + "/offset.npy")
    n, source = len(offset) - 1, np.load(store + "/source.npy").astype(np.int64)
    weighs = state.option["edge-weights"] == "on"
    weight = np.load(store + "/weight.npy").astype(np.float64) if weighs else np.ones(len(source))
    graph = Graph(source, np.repeat(np.arange(n), np.diff(offset)), weight, n)
    np.save(logits, forward(state, graph, scale(np.load(store + "/feature.npy").astype(np.float64), state.option)))
    left = set(state.tensor) - state.read
    assert not left, "tensors that PyTorch Geometric has no place for: %s" % sorted(left)


if __name__ == "__main__":
    main(*sys.argv[1:])
