#!/usr/bin/env python3
"""load_in_pyg.py MODEL.safetensors STORE [LOGITS.npy]: a model of `weft export` in PyTorch Geometric, on a graph store.

Needs torch, torch_geometric, safetensors and NumPy. Prints the test accuracy; LOGITS.npy gets the logits [n, classes].
"""
import importlib
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
from torch_geometric.nn import GAT, GCN, GIN, MLP, GraphSAGE, SGConv
from torch_geometric.utils import add_self_loops


def load(path):
    """The model, ready to evaluate, and the options that made it (weft train --help has their meaning)."""
    with safe_open(path, "pt") as file:
        option = {key[5:]: text for key, text in file.metadata().items() if key.startswith("weft.")}
        state = {name: file.get_tensor(name) for name in file.keys()}
    layers, hidden = int(option["layers"]), int(option.get("hidden", 1))
    if option.get("residual", "off") == "on":
        sys.exit("load_in_pyg.py: PyG's models have no residual connections, this one was trained with --residual on")
    if option["model"] == "sgc":
        outputs, inputs = state["lin.weight"].shape
        model = SGConv(inputs, outputs, K=layers)
        model.load_state_dict(state)
        return model.eval(), option
    norm = {"none": None, "batch": "batch_norm", "layer": "layer_norm"}[option["norm"]]
    kwargs = {"norm": norm, "norm_kwargs": {"mode": "node"} if norm == "layer_norm" else None}
    first = ("convs.0.lin.weight", "convs.0.lin_l.weight", "convs.0.nn.lins.0.weight", "lins.0.weight")
    inputs = next(state[name].shape[1] for name in first if name in state)
    ends = ("lin.bias", f"lins.{layers - 1}.bias", *(f"convs.{layers - 1}.{end}" for end in ("nn.lins.1.bias", "bias", "lin_l.bias")))
    outputs = next(state[name].shape[0] for name in ends if name in state)
    if option.get("jumping", "none") != "none" and option["model"] != "mlp":
        kwargs["jk"] = option["jumping"]
    if option["model"] == "gin":
        model = GIN(inputs, hidden, layers, outputs, **kwargs)
    elif option["model"] == "mlp":
        model = MLP([inputs] + [hidden] * (layers - 1) + [outputs], **kwargs)
    elif option["model"] == "gcn":
        model = GCN(inputs, hidden, layers, outputs, **kwargs)
    elif option["model"] in ("gat", "gatv2"):
        heads = int(option.get("heads", option["out-heads"]))
        last_heads = heads if "jk" in kwargs else int(option["out-heads"])
        if heads != last_heads:
            sys.exit(f"load_in_pyg.py: PyG's GAT has as many heads in its last layer as in the others, this model {last_heads} "
                     f"and {heads}: train with --out-heads {heads}, or put the tensors into GATConv layers of your own")
        model = GAT(inputs, hidden * heads, layers, outputs, heads=heads, act="elu", v2=option["model"] == "gatv2",
                    negative_slope=float(option.get("negative-slope", 0.2)), **kwargs)
    else:
        aggregator = option["aggregator"]
        model = GraphSAGE(inputs, hidden, layers, outputs, root_weight=aggregator != "gcn",
                          aggr="max" if aggregator == "max" else "mean", **kwargs)
    model.load_state_dict(state)
    return model.eval(), option


def read_store(store, option):
    """Features and edges of a graph store, as the model wants them: edge_index and, where they count, their weights."""
    offset, source = np.load(f"{store}/offset.npy"), np.load(f"{store}/source.npy")
    x = np.load(f"{store}/feature.npy")
    if option.get("normalize") == "row":
        total = x.sum(1, keepdims=True, dtype=np.float64)
        x = (x * np.divide(1, total, out=np.zeros_like(total), where=total != 0).astype(np.float32)).astype(np.float32)
    elif option.get("normalize") == "standard":
        std = x.std(0, dtype=np.float64)
        x = ((x - x.mean(0, dtype=np.float64)) / np.where(std > 1e-6, std, np.inf)).astype(np.float32)
    target = np.repeat(np.arange(len(x)), np.diff(offset))
    edge_index = torch.from_numpy(np.stack([source.astype(np.int64), target]))
    if option["model"] == "sage" and option["aggregator"] == "gcn":
        edge_index = add_self_loops(edge_index, num_nodes=len(x))[0]
    edges = {"edge_index": edge_index}
    if option.get("edge-weights", "off") == "on":
        if option["model"] not in ("gcn", "sgc"):
            sys.exit(f"load_in_pyg.py: PyG's {option['model']} takes no weights of edges, this one was trained with them")
        edges["edge_weight"] = torch.from_numpy(np.load(f"{store}/weight.npy"))
    return torch.from_numpy(x), edges


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.splitlines()[0])
    model, option = load(sys.argv[1])
    x, edges = read_store(sys.argv[2], option)
    with torch.no_grad():
        logits = (model(x) if option["model"] == "mlp" else model(x, **edges)).numpy()
    if len(sys.argv) == 4:
        np.save(sys.argv[3], logits)
    label, split = np.load(f"{sys.argv[2]}/label.npy"), np.load(f"{sys.argv[2]}/split.npy").reshape(-1, len(x))[0]
    test = (split == 2) & (label >= 0)
    print(f"test accuracy: {100 * np.mean(logits.argmax(1)[test] == label[test]):.2f} %")


if __name__ == "__main__":
    main()
