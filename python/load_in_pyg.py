#!/usr/bin/env python3
"""load_in_pyg.py MODEL.safetensors STORE [LOGITS.npy] [--split N]: a model of `weft export` in PyTorch Geometric, on a graph store.

Needs torch, torch_geometric, safetensors and NumPy. Prints the test accuracy; LOGITS.npy gets the logits [n, classes]. Features are
scaled as the model was trained, with its own means and deviations. The split is the one of the training; --split takes another.
What the script does not know is refused.
"""
import argparse
import importlib
import os
import sys

EXIT_UNSUPPORTED = 69


def require(*packages):
    """End with one message that names every package that cannot be imported, and how to install them."""
    reasons = {}
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            reasons[package] = error
    if reasons:
        for package, error in reasons.items():
            print(f"load_in_pyg.py: needs {package}: {error}", file=sys.stderr)
        print(f"load_in_pyg.py: install what is missing: python3 -m pip install {' '.join(reasons)}", file=sys.stderr)
        sys.exit(EXIT_UNSUPPORTED)


if __name__ == "__main__":
    require("numpy", "torch", "torch_geometric", "safetensors")

import numpy as np
import torch
from safetensors import safe_open
from torch_geometric.nn import GAT, GCN, GIN, MLP, BatchNorm, GATConv, GATv2Conv, GraphSAGE, LayerNorm, SGConv
from torch_geometric.utils import add_self_loops


def fail(text):
    sys.exit("load_in_pyg.py: " + text)


def choice(option, name, known, default=None):
    """The option's value: one of those that the script knows."""
    value = option.get(name, default)
    if value not in known:
        fail(f"the model says {name} {value!r}; this script knows {', '.join(known)}")
    return value


class AttentionLayers(torch.nn.Module):
    """Layers of attention whose last one has another number of heads, which PyTorch Geometric's GAT does not."""

    def __init__(self, conv, inputs, hidden, layers, outputs, heads, out_heads, norm, slope):
        super().__init__()
        widths = [inputs] + [hidden * heads] * (layers - 1)
        last = layers - 1
        self.convs = torch.nn.ModuleList(
            conv(width, outputs if i == last else hidden, heads=out_heads if i == last else heads, concat=i != last,
                 negative_slope=slope) for i, width in enumerate(widths))
        norms = {"none": lambda width: torch.nn.Identity(), "batch": BatchNorm, "layer": lambda width: LayerNorm(width, mode="node")}
        self.norms = torch.nn.ModuleList(norms[norm](hidden * heads) for _ in range(last))

    def forward(self, x, edge_index):
        for conv, norm in zip(self.convs, self.norms):
            x = torch.nn.functional.elu(norm(conv(x, edge_index)))
        return self.convs[-1](x, edge_index)


def read(path):
    """The tensors of the file, and the options that made the model (weft train --help has their meaning)."""
    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        option = {key[5:]: text for key, text in metadata.items() if key.startswith("weft.")}
        state = {name: file.get_tensor(name) for name in file.keys()}
    if "model" not in option:
        fail(f"{path} has no metadata of weft export, which say what the model is")
    return state, option


def attention(state, option, inputs, hidden, layers, outputs, kwargs):
    slope = float(option.get("negative-slope", 0.2))
    v2 = option["model"] == "gatv2"
    heads = int(option.get("heads", option.get("out-heads", 1)))
    if "jk" in kwargs:
        return GAT(inputs, hidden * heads, layers, outputs, heads=heads, act="elu", v2=v2, negative_slope=slope, **kwargs)
    return AttentionLayers(GATv2Conv if v2 else GATConv, inputs, hidden, layers, outputs, heads, int(option["out-heads"]),
                           option["norm"], slope)


def build(state, option):
    """A module of PyTorch Geometric for these tensors."""
    kind = choice(option, "model", ("sage", "gcn", "gat", "gatv2", "gin", "sgc", "mlp"))
    layers, hidden = int(option["layers"]), int(option.get("hidden", 1))
    if kind == "sgc":
        outputs, inputs = state["lin.weight"].shape
        return SGConv(inputs, outputs, K=layers)
    if kind != "mlp" and choice(option, "residual", ("off", "on"), "off") == "on":
        fail("PyG's models have no residual connections, this one was trained with --residual on")
    norm = {"none": None, "batch": "batch_norm", "layer": "layer_norm"}[choice(option, "norm", ("none", "batch", "layer"))]
    kwargs = {"norm": norm, "norm_kwargs": {"mode": "node"} if norm == "layer_norm" else None}
    first = ("convs.0.lin.weight", "convs.0.lin_l.weight", "convs.0.nn.lins.0.weight", "lins.0.weight")
    inputs = next(state[name].shape[1] for name in first if name in state)
    ends = ("lin.bias", f"lins.{layers - 1}.bias", *(f"convs.{layers - 1}.{end}" for end in ("nn.lins.1.bias", "bias", "lin_l.bias")))
    outputs = next(state[name].shape[0] for name in ends if name in state)
    if kind != "mlp" and choice(option, "jumping", ("none", "cat", "max"), "none") != "none":
        kwargs["jk"] = option["jumping"]
    if kind == "gin":
        return GIN(inputs, hidden, layers, outputs, **kwargs)
    if kind == "mlp":
        return MLP([inputs] + [hidden] * (layers - 1) + [outputs], **kwargs)
    if kind == "gcn":
        return GCN(inputs, hidden, layers, outputs, **kwargs)
    if kind in ("gat", "gatv2"):
        return attention(state, option, inputs, hidden, layers, outputs, kwargs)
    aggregator = choice(option, "aggregator", ("mean", "gcn", "max"))
    return GraphSAGE(inputs, hidden, layers, outputs, root_weight=aggregator != "gcn",
                     aggr="max" if aggregator == "max" else "mean", **kwargs)


def load(path):
    """The model, ready to evaluate, and the options that made it."""
    state, option = read(path)
    model = build(state, option)
    model.load_state_dict(state)
    return model.eval(), option


def divide_rows(x, total):
    """Rows of zeros stay."""
    return (x * np.divide(1, total, out=np.zeros_like(total), where=total != 0).astype(np.float32)).astype(np.float32)


def scale(x, option):
    """Features as the model was trained on."""
    if "normalize" not in option:
        print("load_in_pyg.py: warning: the model does not tell how features were scaled for it: they are taken as they are",
              file=sys.stderr)
    how = choice(option, "normalize", ("none", "row", "length", "standard"), "none")
    if how == "row":
        return divide_rows(x, x.sum(1, keepdims=True, dtype=np.float64))
    if how == "length":
        return divide_rows(x, np.sqrt(np.square(x, dtype=np.float64).sum(1, keepdims=True)))
    if how == "none":
        return np.array(x)
    if "feature-mean" in option:
        mean, deviation = (np.array(option[key].split(","), dtype=np.float64) for key in ("feature-mean", "feature-deviation"))
        if len(mean) != x.shape[1]:
            fail(f"the model was made for {len(mean)} features, and the store has {x.shape[1]}")
    else:
        print("load_in_pyg.py: warning: the model does not say by which means and deviations its features were standardised: "
              "those of the store are taken", file=sys.stderr)
        mean, deviation = x.mean(0, dtype=np.float64), x.std(0, dtype=np.float64)
        deviation = np.where(deviation > 1e-6, deviation, 0)
    factor = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return ((x - mean) * factor).astype(np.float32)


def read_store(store, option):
    """Features and edges of a graph store, as the model wants them: edge_index and, where they count, their weights."""
    offset, source = np.load(f"{store}/offset.npy"), np.load(f"{store}/source.npy")
    x = scale(np.load(f"{store}/feature.npy"), option)
    target = np.repeat(np.arange(len(x)), np.diff(offset))
    edge_index = torch.from_numpy(np.stack([source.astype(np.int64), target]))
    if option["model"] == "sage" and option["aggregator"] == "gcn":
        edge_index = add_self_loops(edge_index, num_nodes=len(x))[0]
    edges = {"edge_index": edge_index}
    if choice(option, "edge-weights", ("off", "on", "auto"), "off") == "on":
        if option["model"] not in ("gcn", "sgc"):
            fail(f"PyG's {option['model']} takes no weights of edges, this one was trained with them")
        edges["edge_weight"] = torch.from_numpy(np.load(f"{store}/weight.npy"))
    return torch.from_numpy(x), edges


def read_split(store, vertices, option, asked):
    """[n] the split that is asked for, or else that of the training, where the store has it."""
    splits = np.load(f"{store}/split.npy").reshape(-1, vertices)
    wanted = asked if asked is not None else int(option.get("split-index", 0))
    if 0 <= wanted < len(splits):
        return splits[wanted]
    if asked is not None:
        fail(f"--split {asked}: the store has splits 0 to {len(splits) - 1}")
    print(f"load_in_pyg.py: the model was trained on split {wanted}, which the store does not have: split 0 is taken",
          file=sys.stderr)
    return splits[0]


def score(store, logits, option, asked):
    """The share of the test vertices that are answered rightly, in percent."""
    label = np.load(f"{store}/label.npy")
    test = (read_split(store, len(logits), option, asked) == 2) & (label >= 0)
    answer = logits[:, 0] > 0 if logits.shape[1] == 1 else logits.argmax(1)
    return 100 * np.mean(answer[test] == label[test])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.split("\n\n", 1)[1])
    parser.add_argument("model", metavar="MODEL.safetensors")
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("logits", metavar="LOGITS.npy", nargs="?")
    parser.add_argument("--split", type=int, metavar="N", help="score the test vertices of this split (default: the training's)")
    asked = parser.parse_args()
    model, option = load(asked.model)
    x, edges = read_store(asked.store, option)
    with torch.no_grad():
        logits = (model(x) if option["model"] == "mlp" else model(x, **edges)).numpy()
    if asked.logits is not None:
        np.save(asked.logits, logits)
    if not os.path.exists(f"{asked.store}/label.npy"):
        print("test accuracy: none: the store has no classes (label.npy)")
    else:
        print(f"test accuracy: {score(asked.store, logits, option, asked.split):.2f} %")


if __name__ == "__main__":
    main()
