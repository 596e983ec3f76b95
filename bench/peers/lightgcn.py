#!/usr/bin/env python3
"""LightGCN of Weft beside LightGCN in PyTorch: the same first rows, batches of as many links, Adam, and the same judge.

    bench/peers/setup                                                                   # once
    bench/peers/lightgcn.py $DATA/gowalla --batch 32768 --epochs 2 --lr 0.02 --threads 1

FOLDER has train.txt.gz and test.txt, a user and her items a line. PyTorch's model is the mean of 0 to 3 hops by products with the
normalised sparse matrix, and the mean of -log sigmoid(score of a link - score of its negative). Both visit each training link once an
epoch, in orders of their own, with a negative of the user that she has no link to. Prints, after each epoch, the loss of the
epoch, recall@20 and NDCG@20 over all users, judged here from the rows of both, and processor seconds of an update.
"""
import argparse
import gzip
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measuring  # noqa: E402

measuring.enter_peers_venv()
import numpy as np  # noqa: E402
import torch  # noqa: E402

AT, HOPS, WIDTH = 20, 3, 64


def read(path):
    """-> [links, 2] users and items, both from 0."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        rows = [[int(word) for word in line.split()] for line in file]
    return np.array([(row[0], item) for row in rows for item in row[1:]])


class Data:
    def __init__(self, folder):
        self.train, self.test = (read(os.path.join(folder, name)) for name in ("train.txt.gz", "test.txt"))
        links = np.concatenate([self.train, self.test])
        self.users, self.items = (int(most) + 1 for most in links.max(axis=0))
        self.n = self.users + self.items
        ends = np.concatenate([self.train, self.train[:, ::-1]])
        ends[:len(self.train), 1] += self.users
        ends[len(self.train):, 0] += self.users
        degree = np.bincount(ends[:, 0], minlength=self.n).astype(np.float64)
        value = torch.tensor(1 / np.sqrt(degree[ends[:, 0]] * degree[ends[:, 1]]), dtype=torch.float32)
        self.matrix = torch.sparse_coo_tensor(torch.tensor(ends.T), value, (self.n, self.n)).coalesce().to_sparse_csr()
        self.known = set((self.train[:, 0] * self.items + self.train[:, 1]).tolist())

    def of_users(self, links):
        links = links[np.argsort(links[:, 0], kind="stable")]
        return np.split(links[:, 1], np.searchsorted(links[:, 0], np.arange(1, self.users)))

    def rows(self, first):
        """The mean of a vertex's own row and those of 1 to HOPS hops."""
        total = hop = first
        for _ in range(HOPS):
            hop = self.matrix @ hop
            total = total + hop
        return total / (HOPS + 1)

    def judge(self, first):
        """-> recall and NDCG, means over the users with links of test."""
        with torch.no_grad():
            rows = self.rows(first).numpy()
        known, wanted, gain = self.of_users(self.train), self.of_users(self.test), 1 / np.log2(np.arange(2, AT + 2))
        scores = []
        for user in range(self.users):
            if len(wanted[user]) == 0:
                continue
            score = rows[self.users:] @ rows[user]
            score[known[user]] = -np.inf
            best = np.argpartition(-score, AT)[:AT]
            hit = np.isin(best[np.argsort(-score[best])], wanted[user])
            scores.append((hit.sum() / len(wanted[user]), (hit * gain).sum() / gain[:len(wanted[user])].sum()))
        return np.mean(scores, 0)

    def negatives(self, users, draw):
        items = draw.integers(0, self.items, len(users))
        for i, user in enumerate(users):
            while int(user) * self.items + int(items[i]) in self.known:
                items[i] = draw.integers(0, self.items)
        return items


def train_pytorch(args, data, first):
    """-> a row an epoch: loss, recall, NDCG, seconds of an update."""
    rows, draw, found = torch.nn.Parameter(torch.tensor(first)), np.random.default_rng(args.seed), []
    optimizer = torch.optim.Adam([rows], args.lr)
    for _ in range(args.epochs):
        order, total, seconds = draw.permutation(len(data.train)), 0.0, []
        for begin in range(0, len(order), args.batch):
            some = data.train[order[begin:begin + args.batch]]
            negative = data.negatives(some[:, 0], draw)
            start = time.process_time()
            z = data.rows(rows)
            user, item, other = z[some[:, 0]], z[data.users + some[:, 1]], z[data.users + negative]
            loss = torch.nn.functional.softplus((user * (other - item)).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seconds.append(time.process_time() - start)
            total += loss.item() * len(some)
        found.append((total / len(order), *data.judge(rows.detach()), np.mean(seconds)))
    return found


def weft_rows(run):
    with np.load(os.path.join(run, "weights.npz")) as weights:
        return weights["layer0.weight"].astype(np.float32)


def prepare(args, data, folder):
    """-> the words of a training without rate, epochs and run folder."""
    edges, store = os.path.join(folder, "edges.txt"), os.path.join(folder, "store")
    np.savetxt(edges, data.train + [0, data.users], fmt="%d")
    np.savez(os.path.join(folder, "test.npz"), edge=data.test + [0, data.users])
    measuring.run([args.weft, "convert", edges, "--format", "edge-list", "--vertices", data.n, "--symmetrize", "on",
                   "--features", "onehot", "--out", store, "--quiet"], quiet=True)
    return [args.weft, "train", "--quiet", "--data", store, "--task", "link", "--links", folder, "--model", "lightgcn",
            "--layers", HOPS, "--embedding", WIDTH, "--users", data.users, "--link-loss", "bpr", "--eval-every", 0,
            "--seed", args.seed, "--force"]


def train_weft(args, data, words, folder):
    """-> a row an epoch, each of a training of so many epochs."""
    found = []
    updates = -(-len(data.train) // args.batch)
    for epochs in range(1, args.epochs + 1):
        run = os.path.join(folder, "run")
        measuring.run([*words, "--lr", args.lr, "--link-batch", args.batch, "--epochs", epochs, "--run-dir", run], args.threads)
        lines = [line for line in measuring.read_lines(os.path.join(run, "metrics.jsonl")) if "loss" in line]
        seconds = np.mean([line["epoch_s"] for line in lines]) / updates * args.threads
        found.append((lines[-1]["loss"], *data.judge(torch.tensor(weft_rows(run))), seconds))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=32768)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weft", type=os.path.abspath, default=measuring.WEFT)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    data = Data(args.folder)
    with tempfile.TemporaryDirectory() as folder:
        words = prepare(args, data, folder)
        start = os.path.join(folder, "start")
        measuring.run([*words, "--lr", 0, "--epochs", 1, "--run-dir", start], args.threads)
        sides = {"Weft": train_weft(args, data, words, folder), "PyTorch": train_pytorch(args, data, weft_rows(start))}
    updates = -(-len(data.train) // args.batch)
    print("| updates | | loss | recall@20 | NDCG@20 | seconds an update |\n|---|---|---|---|---|---|")
    for epoch in range(args.epochs):
        for name, found in sides.items():
            loss, recall, ndcg, seconds = found[epoch]
            print(f"| {updates * (epoch + 1)} | {name} | {loss:.4f} | {recall:.4f} | {ndcg:.4f} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
