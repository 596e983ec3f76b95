#!/usr/bin/env python3
"""Tasks other than plain classes in Weft and in PyTorch, on the same real data: means over seeds with 95 % intervals (Student's t).

    bench/peers/setup && bench/peers/tasks.py $DATA --weft build/release/weft

Numbers (squared, absolute and Huber loss) and classes that are uneven (with and without balanced weights) are learnt on the graph of
Tolokers, split 0 and each eighth edge, by GraphSAGE of two layers with Adam at 0.01: the numbers are the first column, a share of a
worker's tasks, from who is banned and all other columns but the third, one of the four shares that add up to 1; the classes are
who is banned, from all columns. Images are the first 4,000 of CIFAR-10, of which 1,000 are judged, by two convolutions and two linear
layers with SGD, momentum 0.9; once more with a quarter of the training images of five classes, with and without balanced weights. Both
sides see the same inputs, draw weights of their own, and are judged after the last epoch by one program, scikit-learn, which must agree
with what Weft tells of itself. Boosted trees learn a flight's minutes in the air, from 30,000 flights that the seed draws and for 10,000
others, beside scikit-learn's. Prints a Markdown table. --only tables, images or graph leaves the others out.
"""
import argparse
import csv
import gzip
import lzma
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measuring  # noqa: E402

measuring.enter_peers_venv()
import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from sklearn import metrics  # noqa: E402
from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: E402
from torch import nn  # noqa: E402

PARTS = {"train": "train_masks", "valid": "val_masks", "test": "test_masks"}
TARGET, WITHHELD = 0, 2  # two of the four shares, which add up to 1, in the first columns of Tolokers
THINNED = 8  # each eighth edge of 519,000: minutes in place of an hour
JUDGED, RECORD, CLASSES = 1000, 3073, 10
FLIGHTS, JUDGED_FLIGHTS = 30000, 10000
COLUMNS = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance"]
AGREE = 1e-4
NET = """conv 16 3 pad=1 start=uniform
relu
maxpool 2
conv 32 3 pad=1 start=uniform
relu
maxpool 2
linear 64
relu
linear classes
"""
GRAPH_TASKS = {  # name: options of Weft, loss of PyTorch, scores
    "squared error": (["--loss", "squared"], lambda y, t, _: 0.5 * F.mse_loss(y[:, 0], t), ["r2", "rmse"]),
    "absolute error": (["--loss", "absolute"], lambda y, t, _: F.l1_loss(y[:, 0], t), ["r2", "mae"]),
    "Huber's loss": (["--loss", "huber"], lambda y, t, _: F.huber_loss(y[:, 0], t), ["r2"]),
    "classes": ([], lambda y, t, _: F.cross_entropy(y, t), ["f1"]),
    "classes, balanced weights": (["--class-weights", "balanced"], F.cross_entropy, ["f1"]),
}
JUDGES = {
    "r2": metrics.r2_score,
    "mae": metrics.mean_absolute_error,
    "rmse": metrics.root_mean_squared_error,
    "f1": lambda label, answer: metrics.f1_score(label, answer, average="macro"),
    "top5": lambda label, answer: metrics.top_k_accuracy_score(label, answer, k=5, labels=range(CLASSES)),
    "rocauc": lambda label, answer: metrics.roc_auc_score(label, answer, average="macro", multi_class="ovr"),
    "macro-f1": lambda label, answer: metrics.f1_score(label, answer.argmax(1), average="macro"),
    "acc": lambda label, answer: metrics.accuracy_score(label, answer.argmax(1)),
}


def standardised(x, train):
    return ((x - x[train].mean(0)) / np.maximum(x[train].std(0), 1e-6)).astype(np.float32)


# ---- the graph ----
class Graph:
    """Tolokers with the labels of a task: numbers or classes."""

    def __init__(self, path, numbers):
        data = np.load(os.path.join(path, "heterophilous", "tolokers.npz"), allow_pickle=False)
        self.part = {name: np.flatnonzero(data[mask][0]) for name, mask in PARTS.items()}
        train, x, banned = self.part["train"], data["node_features"].astype(np.float64), data["node_labels"]
        self.label = standardised(x[:, TARGET], train) if numbers else banned
        self.x = standardised(np.column_stack([np.delete(x, (TARGET, WITHHELD), 1), banned]) if numbers else x, train)
        self.edges, self.numbers = data["edges"][::THINNED], numbers
        n, both = len(banned), np.concatenate([self.edges, self.edges[:, ::-1]]).T
        count = np.bincount(both[0], minlength=n)
        mean = scipy.sparse.csr_matrix((1 / count[both[0]], tuple(both)), (n, n), dtype=np.float32)
        self.mean = torch.sparse_csr_tensor(*(torch.from_numpy(a) for a in (mean.indptr, mean.indices, mean.data)), (n, n))

    def store(self, args, folder):
        source, store = os.path.join(folder, "graph.npz"), os.path.join(folder, "store")
        np.savez(source, vertices=np.int64(len(self.x)), edges=self.edges, features=self.x, labels=self.label, **self.part)
        measuring.run([args.weft, "convert", source, "--out", store, "--quiet", *["--number-labels"] * self.numbers], quiet=True)
        return store


class Sage(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        sizes = ((inputs, hidden), (hidden, outputs))
        self.own = nn.ModuleList(nn.Linear(*size, bias=False) for size in sizes)
        self.mean = nn.ModuleList(nn.Linear(*size) for size in sizes)

    def forward(self, x, mean_x, mean):
        h = F.relu(self.own[0](x) + self.mean[0](mean_x))
        return self.own[1](h) + self.mean[1](mean @ h)


def torch_graph(args, graph, task, seed):
    """-> answers for all vertices: numbers, or classes."""
    torch.manual_seed(seed)
    label, train, x = torch.from_numpy(graph.label), torch.from_numpy(graph.part["train"]), torch.from_numpy(graph.x)
    model, mean_x = Sage(x.shape[1], args.hidden, 1 if graph.numbers else 2), graph.mean @ x
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    count = torch.bincount(label[train]) if not graph.numbers else None
    weight = None if graph.numbers else len(train) / (len(count) * count.float())
    for _ in range(args.epochs):
        loss = GRAPH_TASKS[task][1](model(x, mean_x, graph.mean)[train], label[train], weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        answer = model(x, mean_x, graph.mean)
    return answer[:, 0].numpy() if graph.numbers else answer.argmax(1).numpy()


def weft_graph(args, store, task, seed, folder):
    options, _, scores = GRAPH_TASKS[task]
    run = os.path.join(folder, f"{task}-{seed}")
    measuring.run([args.weft, "train", "--quiet", "--data", store, "--recipe", "default", "--model", "sage", "--layers", 2, "--hidden",
                   args.hidden, "--norm", "none", "--dropout", 0, "--input-dropout", 0, "--normalize", "none", "--weight-init", "uniform",
                   "--lr", 0.01, "--weight-decay", 0, "--epochs", args.epochs, "--eval-every", 0, "--metric", scores[0], "--seed", seed,
                   "--run-dir", run, *options], args.threads)
    return np.load(os.path.join(run, "predictions.npy"))[:, 0], measuring.read_json(os.path.join(run, "summary.json"))["test_mean"]


def graph_rows(args, folder, numbers):
    graph = Graph(args.data, numbers)
    folder = os.path.join(folder, "numbers" if numbers else "classes")
    os.mkdir(folder)
    store, test = graph.store(args, folder), graph.part["test"]
    for task, (_, _, scores) in GRAPH_TASKS.items():
        if (scores[0] == "r2") != numbers:
            continue
        ours, theirs = [], []
        for seed in range(args.seeds):
            answer, told = weft_graph(args, store, task, seed, folder)
            ours.append(answer[test])
            agree(JUDGES[scores[0]](graph.label[test], answer[test]), told, f"{task}, {scores[0]}, seed {seed}")
            theirs.append(torch_graph(args, graph, task, seed)[test])
        tell("Tolokers", task, scores, graph.label[test], ours, theirs)


# ---- images ----
def torch_images(args, pixels, label, weight, seed):
    """The last images are judged. -> their probabilities"""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2048, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), args.image_lr, momentum=0.9)
    for _ in range(args.image_epochs):
        for rows in torch.randperm(len(label) - JUDGED).split(args.batch):
            loss = F.cross_entropy(model(pixels[rows]), label[rows], weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return model(pixels[-JUDGED:]).softmax(1).numpy()


def weft_images(args, folder, weights, seed, label):
    run, out = os.path.join(folder, f"{weights}-{seed}"), os.path.join(folder, f"answers-{weights}-{seed}")
    measuring.run([args.weft, "train", "--quiet", "--data", os.path.join(folder, "images"), "--model", os.path.join(folder, "small.net"),
                   "--augment", "none", "--lr", args.image_lr, "--momentum", 0.9, "--weight-decay", 0, "--schedule", "constant", "--warmup", 0,
                   "--batch-size", args.batch, "--epochs", args.image_epochs, "--metric", "rocauc", "--seed", seed, "--run-dir", run,
                   *(["--class-weights", weights] if weights != "none" else [])], args.threads)
    measuring.run([args.weft, "predict", run, os.path.join(folder, "images"), "--out", out, "--quiet"], quiet=True)
    answer = np.load(os.path.join(out, "probabilities.npy"))
    agree(JUDGES["rocauc"](label, answer), measuring.read_json(os.path.join(run, "summary.json"))["test_mean"], f"images, rocauc, seed {seed}")
    return answer


def image_rows(args, folder, uneven):
    with gzip.open(os.path.join(args.data, "cifar10", "data_batch_1.first4000.bin.gz"), "rb") as file:
        records = np.frombuffer(file.read(), np.uint8).reshape(-1, RECORD)
    if uneven:
        kept = (records[:, 0] < CLASSES // 2) | (np.arange(len(records)) % 4 == 0) | (np.arange(len(records)) >= len(records) - JUDGED)
        records = records[kept]
    folder = os.path.join(folder, f"images-{uneven}")
    os.makedirs(os.path.join(folder, "images"))
    records[:-JUDGED].tofile(os.path.join(folder, "images", "data_batch_1.bin"))
    records[-JUDGED:].tofile(os.path.join(folder, "images", "test_batch.bin"))
    with open(os.path.join(folder, "small.net"), "w", encoding="ascii") as file:
        file.write(NET)
    label, pixels = records[:, 0].astype(np.int64), records[:, 1:].reshape(-1, 3, 32, 32) / 255.0
    mean, deviation = (getattr(pixels[:-JUDGED], f)((0, 2, 3), keepdims=True) for f in ("mean", "std"))
    pixels, judged = torch.from_numpy(((pixels - mean) / deviation).astype(np.float32)), label[-JUDGED:]
    balanced = torch.from_numpy((len(label) - JUDGED) / (CLASSES * np.bincount(label[:-JUDGED]))).float()
    for weights, weight in (("none", None), ("balanced", balanced))[:1 + uneven]:
        ours = [weft_images(args, folder, weights, seed, judged) for seed in range(args.seeds)]
        theirs = [torch_images(args, pixels, torch.from_numpy(label), weight, seed) for seed in range(args.seeds)]
        tell(f"CIFAR-10, {len(label) - JUDGED:,} images", "classes" if weight is None else "classes, balanced weights",
             ["acc", "macro-f1", "top5", "rocauc"], judged, ours, theirs)


# ---- tables ----
def read_flights(path):
    """-> columns [flights, COLUMNS], words as numbers in their order, and minutes in the air."""
    with lzma.open(os.path.join(path, "nycflights13", "flights.csv.xz"), "rt", encoding="ascii") as file:
        rows = [row for row in csv.DictReader(file) if row["air_time"] not in ("", "NA")]
    columns = []
    for name in COLUMNS:
        column = np.array([row[name] for row in rows])
        columns.append(np.unique(column, return_inverse=True)[1] if name in ("carrier", "origin", "dest") else column.astype(np.float32))
    return np.column_stack(columns).astype(np.float32), np.array([row["air_time"] for row in rows], np.float32)


def weft_flights(args, folder, seed, parts):
    run, out = os.path.join(folder, f"flights-{seed}"), os.path.join(folder, f"flight-answers-{seed}")
    files = []
    for part, (x, y) in parts.items():
        files.append(os.path.join(folder, f"{part}-{seed}.csv"))
        np.savetxt(files[-1], np.column_stack([x, y]), "%g", ",", header=",".join([*COLUMNS, "air_time"]), comments="")
    measuring.run([args.weft, "train", "--quiet", "--data", files[0], "--target", "air_time", "--model", "trees", "--loss", "squared", "--trees", 100,
                   "--depth", 6, "--lr", 0.1, "--lambda", 1, "--min-child-weight", 20, "--valid-share", 0, "--test-share", 0, "--seed", seed, "--run-dir", run],
                  args.threads)
    measuring.run([args.weft, "predict", run, files[1], "--out", out, "--quiet"], quiet=True)
    answer = np.load(os.path.join(out, "predictions.npy")).ravel()
    told = [part for name, part in measuring.read_json(os.path.join(out, "scores.json")).items() if name in PARTS]
    told = (sum(part["rows"] * part["score"]**2 for part in told) / sum(part["rows"] for part in told)) ** 0.5
    agree(JUDGES["rmse"](parts["test"][1], answer), told, f"flights, rmse, seed {seed}")
    return answer


def table_rows(args, folder):
    x, y = read_flights(args.data)
    sides, scores = {"Weft": [], "scikit-learn": []}, ["r2", "rmse", "mae"]
    for seed in range(args.seeds):
        drawn = np.random.default_rng(seed).permutation(len(y))[:FLIGHTS + JUDGED_FLIGHTS]
        parts = {"train": (x[drawn[:FLIGHTS]], y[drawn[:FLIGHTS]]), "test": (x[drawn[FLIGHTS:]], y[drawn[FLIGHTS:]])}
        peer = HistGradientBoostingRegressor(max_iter=100, max_depth=6, max_leaf_nodes=None, learning_rate=0.1, l2_regularization=1, min_samples_leaf=20,
                                             early_stopping=False).fit(*parts["train"])
        for side, answer in zip(sides.values(), (weft_flights(args, folder, seed, parts), peer.predict(parts["test"][0]))):
            side.append([100 * JUDGES[name](parts["test"][1], answer) for name in scores])
    for i, name in enumerate(scores):
        ours, theirs = (measuring.interval([row[i] for row in side]) for side in sides.values())
        print(f"| flights | numbers, trees beside scikit-learn's | {name} | {ours} | {theirs} |", flush=True)


# ---- what is told ----
def agree(judged, told, what):
    if not abs(judged - told) < AGREE:
        raise measuring.Failed(f"{what}: Weft tells {told:.6f}, scikit-learn {judged:.6f} of the same answers")


def tell(data, task, scores, label, ours, theirs):
    for name in scores:
        sides = [measuring.interval([100 * JUDGES[name](label, answer) for answer in side]) for side in (ours, theirs)]
        print(f"| {data} | {task} | {name} | {sides[0]} | {sides[1]} |", flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="folder of the public data sets")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=40, help="on the graph")
    parser.add_argument("--image-epochs", type=int, default=4)
    parser.add_argument("--image-lr", type=float, default=0.02)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--only", choices=("tables", "images", "graph"))
    return measuring.peer_arguments(parser)


def main():
    args = parse()
    torch.set_num_threads(args.threads)
    print("| data | task | score x 100 | Weft | peer |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        parts = {"tables": lambda: table_rows(args, folder), "images": lambda: [image_rows(args, folder, uneven) for uneven in (False, True)],
                 "graph": lambda: [graph_rows(args, folder, numbers) for numbers in (True, False)]}
        for name, make in parts.items():
            if args.only in (None, name):
                make()


if __name__ == "__main__":
    main()
