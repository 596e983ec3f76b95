#!/usr/bin/env python3
"""load_in_pyg.py MODEL.safetensors STORE [LOGITS.npy] [--split N]: a model of `weft export` in PyTorch Geometric, on a graph store.

Needs torch, torch_geometric, safetensors and NumPy. Prints the test accuracy; LOGITS.npy gets the logits [n, classes]. Features are
scaled as the model was trained, with its own means and deviations. The split is the one of the training; --split takes another.
Classes of the model and of the store are matched by name. What the script does not know is refused. Reads stores by weft_store.py,
which lies beside it.
"""
import argparse
import importlib
import itertools
import sys
import unicodedata

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

import weft_store


def fail(text):
    sys.exit("load_in_pyg.py: " + text)


def choice(option, name, known, default=None):
    """The option's value: one of those that the script knows."""
    value = option.get(name, default)
    if value not in known:
        fail(f"the model says {name} {value!r}; this script knows {', '.join(known)}")
    return value


def number(option, name):
    if name not in option:
        fail(f"the model does not say --{name}, which shows in no weight")
    return int(option[name])


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
    layers, hidden = number(option, "layers"), int(option.get("hidden", 1))
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


def read_store(path, option):
    """Features and edges of a graph store, as the model wants them: edge_index and, where they count, their weights."""
    store = weft_store.read_store(path)
    if "feature" not in store:
        fail(f"{path} has no features")
    x = scale(store["feature"], option)
    edge_index = torch.from_numpy(weft_store.edge_index_of(store))
    if option["model"] == "sage" and option["aggregator"] == "gcn":
        edge_index = add_self_loops(edge_index, num_nodes=len(x))[0]
    edges = {"edge_index": edge_index}
    if choice(option, "edge-weights", ("off", "on", "auto"), "off") == "on":
        if option["model"] not in ("gcn", "sgc"):
            fail(f"PyG's {option['model']} takes no weights of edges, this one was trained with them")
        if "weight" not in store:
            fail(f"the model was trained with weights of edges, which {path} does not have")
        edges["edge_weight"] = torch.from_numpy(np.array(store["weight"]))
    return torch.from_numpy(x), edges


def read_split(path, vertices, option, asked):
    """[n] the split that is asked for, or else that of the training, where the store has it."""
    store = weft_store.read_store(path)
    if "split" not in store:
        fail(f"{path} has no split: there is nothing to score")
    splits = store["split"].reshape(-1, vertices)
    wanted = asked if asked is not None else int(option.get("split-index", 0))
    if 0 <= wanted < len(splits):
        return splits[wanted]
    if asked is not None:
        fail(f"--split {asked}: the store has splits 0 to {len(splits) - 1}")
    print(f"load_in_pyg.py: the model was trained on split {wanted}, which the store does not have: split 0 is taken",
          file=sys.stderr)
    return splits[0]


def match_classes(store, label, option, outputs):
    """[classes of the store] the class of the model that each is, or -1: by name, as weft eval does. Classes without names are
    called by their numbers, and matched by them with a word where the others are called otherwise."""
    model = [option[f"class.{i}"] for i in itertools.takewhile(lambda i: f"class.{i}" in option, itertools.count())]
    data = store.get("class_name", [])
    used = np.unique(label[label >= 0])
    classes = len(data) or int(used.max(initial=-1)) + 1
    known, names = ([unicodedata.normalize("NFC", name) for name in named or map(str, range(count))]
                    for named, count in ((model, outputs), (data, classes)))
    class_of = np.array([known.index(name) if name in known else -1 for name in names], dtype=np.int64)
    if bool(model) != bool(data) and (class_of[used] < 0).any():
        if classes > outputs or len(data) not in (0, outputs):
            fail(f"the model's classes are {', '.join(known)}, the store's {', '.join(names)}: which is which?")
        print(f"load_in_pyg.py: warning: the model's classes are {', '.join(known)}, the store's {', '.join(names)}: they are "
              "matched by number", file=sys.stderr)
        return np.arange(classes)
    unknown = [names[i] for i in used if class_of[i] < 0]
    if unknown and len(unknown) == len(used):
        fail(f"the model knows none of the store's classes ({', '.join(unknown)}): it knows {', '.join(known)}")
    if unknown:
        print(f"load_in_pyg.py: warning: {', '.join(unknown)}: the model does not know these classes; their vertices are left out",
              file=sys.stderr)
    return class_of


def score(path, logits, option, asked):
    """The share of the test vertices that are answered rightly, in percent; None: the store has no classes."""
    store = weft_store.read_store(path)
    if "label" not in store:
        return None
    label = np.array(store["label"], dtype=np.int64)
    class_of = match_classes(store, label, option, max(2, logits.shape[1]))
    label[label >= 0] = class_of[label[label >= 0]]
    test = (read_split(path, len(logits), option, asked) == 2) & (label >= 0)
    if not test.any():
        fail("no test vertex has a class")
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
    percent = score(asked.store, logits, option, asked.split)
    print("test accuracy: none: the store has no classes" if percent is None else f"test accuracy: {percent:.2f} %")


if __name__ == "__main__":
    main()
