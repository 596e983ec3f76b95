"""Sampled training with DGL until a test accuracy is reached: prints a JSON object on the last line of stdout.

    sampled.py STORE --to-accuracy 0.98 --fanouts 10,10 --batch 1024 --hidden 256 [--lr 0.01] [--eval-batches 10] [--seed 0]

The model is GraphSAGE with the mean of neighbours, ReLU and dropout between its layers, trained with Adam on batches of training
vertices, for which DGL's NeighborSampler draws so many neighbours a layer. `seconds` counts sampling, copying and training.
The evaluations on the full graph, one after every --eval-batches batches, stand outside the clock; `history` has the seconds,
epochs and test accuracy of each.
The caller fixes the threads through OMP_NUM_THREADS.
"""
import argparse
import json
import os
import time

import measure  # first: it sets the backend of DGL
import store as weft_store
import torch
import torch.nn.functional as F

import dgl
import dgl.nn.pytorch


class Sage(torch.nn.Module):
    def __init__(self, widths, dropout):
        super().__init__()
        self.layers = torch.nn.ModuleList(dgl.nn.pytorch.SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:]))
        self.dropout = dropout

    def forward(self, graphs, h):
        """graphs: a block a layer, or the full graph once a layer."""
        for i, (layer, graph) in enumerate(zip(self.layers, graphs)):
            if i > 0:
                h = F.dropout(torch.relu(h), self.dropout, self.training)
            h = layer(graph, h)
        return h


def test_accuracy(net, graph, data):
    net.eval()
    with torch.no_grad():
        logits = net([graph] * len(net.layers), data["x"])[data["test"]]
    net.train()
    return (logits.argmax(1) == data["label"][data["test"]]).double().mean().item()


def train(args, net, graph, data, loader):
    """-> (seconds, epochs, accuracy) of each evaluation; the last one is the first to reach the target, where one does."""
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    total, history = 0.0, []
    for epoch in range(args.epochs):
        begin = time.perf_counter()
        for step, (inputs, outputs, blocks) in enumerate(loader, 1):
            loss = F.cross_entropy(net(blocks, data["x"][inputs]), data["label"][outputs])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % args.eval_batches == 0 or step == len(loader):
                total += time.perf_counter() - begin
                history.append((total, epoch + step / len(loader), test_accuracy(net, graph, data)))
                if history[-1][2] >= args.to_accuracy:
                    return history
                begin = time.perf_counter()
    return history


def graph_of(store):
    """DGL's own indices, int64: sampled blocks of int32 make its backward pass fail."""
    arrays = weft_store.load(store)
    offset, source = (torch.from_numpy(arrays[name]).to(torch.int64) for name in ("offset", "source"))
    return dgl.graph(("csc", (offset, source, torch.arange(len(source)))), num_nodes=len(offset) - 1)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("--to-accuracy", type=float, required=True)
    parser.add_argument("--fanouts", type=lambda text: [int(n) for n in text.split(",")], default=[10, 10])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=100, help="at most so many")
    parser.add_argument("--eval-batches", type=int, default=10, help="batches from an evaluation to the next")
    parser.add_argument("--normalize", choices=("none", "row", "standard"), default="none")
    parser.add_argument("--split-index", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(args.seed)
    dgl.seed(args.seed)
    begin = time.perf_counter()
    x, label, rows, classes = measure.learned_of(args.store, args.split_index, args.normalize, "cpu")
    graph = graph_of(args.store)
    data = {"x": x, "label": label, "test": rows[2]}
    loader = dgl.dataloading.DataLoader(graph, rows[0], dgl.dataloading.NeighborSampler(args.fanouts),
                                        batch_size=args.batch, shuffle=True, drop_last=False, num_workers=0)
    net = Sage([x.shape[1]] + [args.hidden] * (len(args.fanouts) - 1) + [classes], args.dropout)
    ready = time.perf_counter() - begin
    history = train(args, net, graph, data, loader)
    print(json.dumps({"reached": history[-1][2] >= args.to_accuracy, "seconds": history[-1][0], "epochs": history[-1][1],
                      "accuracy": history[-1][2], "history": history, "preparation_s": ready, "threads": torch.get_num_threads(),
                      "peak_rss_bytes": measure.peak_rss_bytes(),
                      "versions": measure.versions(argparse.Namespace(peer="dgl", device="cpu"))}))


if __name__ == "__main__":
    main()
