#!/usr/bin/env python3
"""Area under the ROC curve of links that Weft and PyG predict, on the same edges: means over seeds with 95 % intervals.

    bench/peers/setup                                                                   # once
    scripts/convert_planetoid $DATA/planetoid cora cora.npz && bench/peers/links.py cora.npz

The model is that of PyG's examples/link_pred.py: two layers of GCN of 128 and 64, ReLU between them, the product of two rows as
logit, Adam, binary cross-entropy over the edges of train and as many negatives that are new in every epoch, rows of features
divided by their sums, the test score at the epoch that validates best. RandomLinkSplit of PyG deals the edges, 85/5/10, and
draws the negatives of both judged parts, anew for each seed; Weft reads them from files. scikit-learn judges both, Weft by the
logits that `weft predict --pairs` writes, and its own score must agree with that. In the example edges of validation carry
messages when test is judged; Weft's messages are those of train alone, so PyG is judged in both ways. Nor do both draw negatives
of training alike: PyG any two vertices that no edge joins, Weft one for each link, of which it keeps an end; a third line has
PyG with negatives drawn so. Prints a Markdown table. Intervals are Student's.
"""
import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measuring  # noqa: E402

measuring.enter_peers_venv()
import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
import torch  # noqa: E402
import torch_geometric  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from torch_geometric.nn import GCNConv  # noqa: E402
from torch_geometric.transforms import RandomLinkSplit  # noqa: E402
from torch_geometric.utils import negative_sampling, to_undirected  # noqa: E402

PARTS = ("valid", "test")
AGREE = 1e-4  # of an area: float32 logits of two programs may swap neighbours


def read(path):
    """The graph of scripts/convert_planetoid, rows of features divided by their sums as NormalizeFeatures does."""
    data = np.load(path, allow_pickle=False)
    x = scipy.sparse.csr_matrix(tuple(data["feature_" + name] for name in ("data", "indices", "indptr")), tuple(data["feature_shape"]))
    features = torch.from_numpy(x.toarray())
    features = features / features.sum(1, keepdim=True).clamp(min=1)
    edges = to_undirected(torch.from_numpy(data["edges"].astype(np.int64).T))
    return torch_geometric.data.Data(x=features, edge_index=edges)


def deal(graph, seed):
    """-> train, valid and test as PyG's example splits them."""
    torch_geometric.seed_everything(seed)
    return RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True, add_negative_train_samples=False)(graph)


class Encoder(torch.nn.Module):
    def __init__(self, features, hidden, embedding):
        super().__init__()
        self.first, self.second = GCNConv(features, hidden), GCNConv(hidden, embedding)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)


def score(z, part):
    logits = (z[part.edge_label_index[0]] * z[part.edge_label_index[1]]).sum(1)
    return roc_auc_score(part.edge_label.numpy(), logits.numpy())


def keep_ends(train):
    """-> a function that draws negatives as Weft does: an end of each link stays, the other is any vertex that no edge joins to it."""
    n, positive = train.num_nodes, train.edge_label_index
    first = torch.rand(positive.size(1)) < 0.5
    anchor, other = torch.where(first, positive[0], positive[1]), torch.where(first, positive[1], positive[0])
    joined = train.edge_index[0] * n + train.edge_index[1]

    def draw():
        drawn = torch.randint(n, anchor.shape)
        while (wrong := (drawn == anchor) | (drawn == other) | torch.isin(anchor * n + drawn, joined)).any():
            drawn[wrong] = torch.randint(n, (int(wrong.sum()),))
        return torch.stack([anchor, drawn])

    return draw


def train_pyg(args, split, seed, kept=False):
    """-> the areas of test at the best epoch by validation: with messages along edges of train, and along those of valid too."""
    train, valid, test = split
    torch_geometric.seed_everything(seed)
    model = Encoder(train.num_features, args.hidden, args.embedding)
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    best, positive = (0.0, 0.0, 0.0), train.edge_label_index
    draw = keep_ends(train) if kept else lambda: negative_sampling(train.edge_index, train.num_nodes, positive.size(1))
    for _ in range(args.epochs):
        model.train()
        z = model(train.x, train.edge_index)
        negative = draw()
        pairs = torch.cat([positive, negative], 1)
        label = torch.cat([torch.ones(positive.size(1)), torch.zeros(negative.size(1))])
        loss = torch.nn.functional.binary_cross_entropy_with_logits((z[pairs[0]] * z[pairs[1]]).sum(1), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            z = model(train.x, train.edge_index)
            scores = score(z, valid), score(z, test), score(model(test.x, test.edge_index), test)
        best = max(best, scores, key=lambda found: found[0])
    return best[1:]


def write_split(split, folder, weft, source):
    """A store whose edges are those of train, with the features of the source, and the links of valid and test in files."""
    edges = split[0].edge_index.T.numpy()
    data = dict(np.load(source, allow_pickle=False))
    data["edges"] = edges[edges[:, 0] < edges[:, 1]]
    np.savez(os.path.join(folder, "train-edges.npz"), **data)
    for name, part in zip(PARTS, split[1:]):
        pairs, label = part.edge_label_index.T.numpy(), part.edge_label.numpy()
        np.savez(os.path.join(folder, name + ".npz"), edge=pairs[label == 1], edge_neg=pairs[label == 0])
    store = os.path.join(folder, "store")
    measuring.run([weft, "convert", os.path.join(folder, "train-edges.npz"), "--out", store, "--quiet"], quiet=True)
    return store


def train_weft(args, split, seed, folder):
    """-> the area of test at the best epoch by validation, judged from the answers of weft predict."""
    store, run = write_split(split, folder, args.weft, args.graph), os.path.join(folder, "run")
    measuring.run([args.weft, "train", "--quiet", "--data", store, "--task", "link", "--links", folder, "--recipe", "default",
                   "--model", "gcn", "--layers", 2, "--hidden", args.hidden, "--embedding", args.embedding, "--norm", "none",
                   "--dropout", 0, "--input-dropout", 0, "--normalize", "row", "--weight-decay", 0, "--lr", args.lr, "--epochs",
                   args.epochs, "--eval-every", 1, "--patience", 0, "--seed", seed, "--run-dir", run], args.threads)
    test, answers = split[2], os.path.join(folder, "answers")
    pairs = os.path.join(folder, "pairs.npy")
    np.save(pairs, test.edge_label_index.T.numpy())
    measuring.run([args.weft, "predict", run, store, "--pairs", pairs, "--out", answers, "--quiet"], quiet=True)
    area = roc_auc_score(test.edge_label.numpy(), np.load(os.path.join(answers, "predictions.npy")).ravel())
    told = measuring.read_json(os.path.join(run, "summary.json"))["test_mean"]
    if not abs(area - told) < AGREE:
        raise measuring.Failed(f"seed {seed}: Weft tells an area of {told:.6f}, scikit-learn one of {area:.6f} for the same model")
    return area


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="the .npz of scripts/convert_planetoid")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--embedding", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.01)
    return measuring.peer_arguments(parser)


def main():
    args = parse()
    torch.set_num_threads(args.threads)
    graph = read(args.graph)
    found = {"Weft": [], "PyG": [], "PyG, edges of validation carry messages to test": [], "PyG, negatives keep an end": []}
    for seed in range(args.seeds):
        split = deal(graph, seed)
        with tempfile.TemporaryDirectory() as folder:
            weft = train_weft(args, split, seed, folder)
        areas = [100 * area for area in (weft, *train_pyg(args, split, seed), train_pyg(args, split, seed, True)[0])]
        for scores, area in zip(found.values(), areas):
            scores.append(area)
        print(f"seed {seed}: " + ", ".join(f"{area:.2f}" for area in areas), file=sys.stderr, flush=True)
    print("| area under the ROC curve | mean | Weft less this, by split |\n|---|---|---|")
    for name, scores in found.items():
        less = [a - b for a, b in zip(found["Weft"], scores)]
        print(f"| {name} | {measuring.interval(scores)} | {measuring.interval(less) if name != 'Weft' else ''} |")


if __name__ == "__main__":
    main()
