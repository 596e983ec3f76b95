"""Measurements of one peer: prints a JSON object on the last line of stdout.

    measure.py spmm  STORE --peer dgl|torch --dims 16,64 --repeats 3
    measure.py epoch STORE --peer dgl|pyg|torch --model sage|gcn|gat|gatv2|gin --hidden 16 --epochs 5 --weights FILE.npz ...
    measure.py accuracy STORE --peer pyg --model ... --epochs 200 --seeds 10 ...
    measure.py serve                         # each line of stdin the arguments of one of the above, as JSON; each answer a line

The caller fixes the threads through OMP_NUM_THREADS. `peak_rss_bytes` is VmHWM of this process, to be asked of a process that
measures once. --device cuda: the same on a GPU, which is waited for before each reading of the clock; `peak_device_bytes` is what
torch took of its memory for this measurement, so that `serve` may make many. The peer `torch` has layers of its own (sage, gcn,
gin, gat) that compute what DGL's do, by torch.sparse: for machines that have no DGL for their device.
"""
import argparse
import functools
import gc
import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("DGLBACKEND", "pytorch")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import store as weft_store  # noqa: E402

ATTENTION = ("gat", "gatv2")

CHECKED_ROWS = 64
TOLERANCE = 1e-4  # of the sum of magnitudes of a row; float32 sums of thousands of terms


def peak_rss_bytes():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def dgl_graph(args, offset, source, edge_ids=False):
    """edge_ids: numbers of the edges are stored, which DGL's kernels want where edges have values."""
    import dgl
    if args.device == "cpu" and not dgl.is_libxsmm_enabled():
        sys.exit("DGL runs without its LIBXSMM kernels: the comparison would flatter us")
    small = len(source) < 2**31
    dtype = torch.int32 if small else torch.int64
    graph = dgl.graph(("csc", (torch.from_numpy(offset).to(dtype), torch.from_numpy(source).to(dtype),
                               torch.arange(len(source) if edge_ids else 0, dtype=dtype))), num_nodes=len(offset) - 1)
    return graph.to(args.device)


def torch_csr(offset, source, values=None):
    n = len(offset) - 1
    ones = torch.ones(len(source)) if values is None else values
    return torch.sparse_csr_tensor(torch.from_numpy(offset), torch.from_numpy(source.astype(np.int64)), ones, (n, n))


def on_device(args, csr):
    """There with the indices that the vendor's library takes fastest."""
    if args.device == "cpu":
        return csr
    indices = [x.to(args.device, torch.int32) for x in (csr.crow_indices(), csr.col_indices())]
    return torch.sparse_csr_tensor(*indices, csr.values().to(args.device), csr.shape)


def clock(args):
    if args.device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()


def matches_reference(offset, source, x, out):
    """Sampled rows, the longest one among them, against float64 sums."""
    rng = np.random.default_rng(1)
    rows = set(rng.integers(0, len(offset) - 1, CHECKED_ROWS).tolist()) | {int(np.argmax(np.diff(offset)))}
    for v in rows:
        terms = x[source[offset[v]:offset[v + 1]]].astype(np.float64)
        bound = TOLERANCE * (np.abs(terms).sum(0) + 1e-30)
        if not np.all(np.abs(out[v] - terms.sum(0)) <= bound):
            return False
    return True


def run_spmm(args):
    graph = weft_store.load(args.store)
    offset, source = graph["offset"], graph["source"]
    if args.peer == "dgl":
        import dgl
        g = dgl_graph(args, offset, source)
        g.create_formats_()

        def aggregate(x):
            return dgl.ops.copy_u_sum(g, x)
    else:
        adjacency = on_device(args, torch_csr(offset, source))

        def aggregate(x):
            return adjacency @ x
    rows = []
    for d in args.dims:
        host = torch.randn(len(offset) - 1, d, generator=torch.Generator().manual_seed(d))
        x = host.to(args.device)
        out = aggregate(x)  # warm-up, checked
        valid = matches_reference(offset, source, host.numpy(), out.cpu().numpy())
        del out
        seconds = []
        for _ in range(args.repeats):
            start = clock(args)
            aggregate(x)
            seconds.append(clock(args) - start)
        rows.append({"d": d, "seconds": seconds, "valid": valid})
    return {"rows": rows}


class Net(torch.nn.Module):
    """Layers that take (graph, h); ReLU (ELU with attention) and dropout between them, as `weft train` does."""

    def __init__(self, args, layers, apply):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)
        self.apply_layer, self.dropout, self.input_dropout = apply, args.dropout, args.input_dropout
        self.activate = F.elu if args.model in ATTENTION else torch.relu

    def forward(self, graph, h):
        if self.input_dropout > 0:
            h = F.dropout(h, self.input_dropout, self.training)
        for i, layer in enumerate(self.layers):
            if i > 0:
                h = F.dropout(self.activate(h), self.dropout, self.training)
            h = self.apply_layer(layer, graph, h)
        return h


def shapes_of(args, widths):
    """(d_in, d_out, heads) of each layer; heads stand side by side, and the last layer has one."""
    inner = args.heads if args.model in ATTENTION else 1
    last = len(widths) - 2
    return [(a * (inner if k > 0 else 1), b, inner if k < last else 1) for k, (a, b) in enumerate(zip(widths, widths[1:]))]


def sum_and_mlp(a, b):
    """What GIN applies to a sum over neighbours."""
    return torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(), torch.nn.Linear(b, b))


def mlp_places(mlp):
    return {"weight": mlp[0].weight.data.T, "bias": mlp[0].bias.data,
            "mlp.weight": mlp[2].weight.data.T, "mlp.bias": mlp[2].bias.data}


class Biased(torch.nn.Module):
    """DGL's GATv2Conv, with the bias of the result that PyG's has."""

    def __init__(self, conv, width):
        super().__init__()
        self.conv, self.bias = conv, torch.nn.Parameter(torch.zeros(width))

    def forward(self, graph, h):
        return self.conv(graph, h).flatten(1) + self.bias


def dynamic_places(source, target, att, bias):
    return {"source": source.weight.data.T, "source_bias": source.bias.data[None], "target": target.weight.data.T,
            "target_bias": target.bias.data[None], "att": att.data[0], "bias": bias.data}


def dgl_net(args, widths):
    """The network, and for each layer where the parts of its weights go; matrices are seen as [d_in, d_out]."""
    import dgl.nn.pytorch as nn
    shapes = shapes_of(args, widths)
    if args.model == "gat":
        layers = [nn.GATConv(a, b, heads, attn_drop=args.attn_dropout) for a, b, heads in shapes]
        places = [{"weight": l.fc.weight.data.T, "att_src": l.attn_l.data[0], "att_dst": l.attn_r.data[0],
                   "bias": l.bias.data} for l in layers]
        return Net(args, layers, lambda layer, g, h: layer(g, h).flatten(1)), places
    if args.model == "gatv2":
        layers = [Biased(nn.GATv2Conv(a, b, heads, attn_drop=args.attn_dropout), b * heads) for a, b, heads in shapes]
        places = [dynamic_places(l.conv.fc_src, l.conv.fc_dst, l.conv.attn, l.bias) for l in layers]
    elif args.model == "gin":
        layers = [nn.GINConv(sum_and_mlp(a, b), "sum") for a, b, _ in shapes]
        places = [mlp_places(l.apply_func) for l in layers]
    elif args.model == "sage":
        layers = [nn.SAGEConv(a, b, "mean") for a, b, _ in shapes]
        places = [{"self": l.fc_self.weight.data.T, "neigh": l.fc_neigh.weight.data.T, "bias": l.fc_self.bias.data}
                  for l in layers]
    else:
        layers = [nn.GraphConv(a, b, norm="both") for a, b, _ in shapes]
        places = [{"weight": l.weight.data, "bias": l.bias.data} for l in layers]
    return Net(args, layers, lambda layer, g, h: layer(g, h)), places


def pyg_net(args, widths):
    import torch_geometric.nn as nn
    shapes = shapes_of(args, widths)
    if args.model == "gat":
        layers = [nn.GATConv(a, b, heads, add_self_loops=False, dropout=args.attn_dropout) for a, b, heads in shapes]
        places = [{"weight": l.lin.weight.data.T, "att_src": l.att_src.data[0], "att_dst": l.att_dst.data[0],
                   "bias": l.bias.data} for l in layers]
    elif args.model == "gatv2":
        layers = [nn.GATv2Conv(a, b, heads, add_self_loops=False, dropout=args.attn_dropout) for a, b, heads in shapes]
        places = [dynamic_places(l.lin_l, l.lin_r, l.att, l.bias) for l in layers]
    elif args.model == "gin":
        layers = [nn.GINConv(sum_and_mlp(a, b)) for a, b, _ in shapes]
        places = [mlp_places(l.nn) for l in layers]
    elif args.model == "sage":
        layers = [nn.SAGEConv(a, b, aggr="mean") for a, b, _ in shapes]
        places = [{"self": l.lin_r.weight.data.T, "neigh": l.lin_l.weight.data.T, "bias": l.lin_l.bias.data} for l in layers]
    else:
        # The normalised matrix with its self-loops is made beforehand, once (normalize=False).
        layers = [nn.GCNConv(a, b, normalize=False) for a, b, _ in shapes]
        places = [{"weight": l.lin.weight.data.T, "bias": l.bias.data} for l in layers]
    return Net(args, layers, lambda layer, g, h: layer(h, g)), places


class Sum(torch.autograd.Function):
    """Over neighbours, with a value for each edge or ones; gradients by the transposed matrix, which is kept beside it."""

    @staticmethod
    def forward(ctx, x, values, graph):
        ctx.graph = graph
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, values)
        return graph.matrix(values) @ x

    @staticmethod
    def backward(ctx, gradient):
        x, values = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_values = None
        if ctx.needs_input_grad[1]:
            of_values = torch.sparse.sampled_addmm(ctx.graph.matrix(values), gradient, x.t(), beta=0.0).values()
        return ctx.graph.transposed(values) @ gradient, of_values, None


class Neighbours:
    """A graph as the layers below take it, with indices of the width that the vendor's library takes fastest."""

    def __init__(self, args, offset, source):
        n, wide = len(offset) - 1, torch.int64 if args.device == "cpu" else torch.int32
        self.offset, source = torch.from_numpy(offset).to(args.device), torch.from_numpy(source).to(args.device, torch.int64)
        count = self.offset.diff()
        self.target = torch.repeat_interleave(torch.arange(n, device=args.device), count)
        self.source, self.shape = source, (n, n)
        self.order = torch.argsort(source, stable=True)  # edges of the transposed matrix, by their places here
        self.rows = self.offset.to(wide), source.to(wide)
        self.columns = (F.pad(torch.bincount(source, minlength=n).cumsum(0), (1, 0)).to(wide), self.target[self.order].to(wide))
        self.degree = count.clamp(min=1).to(torch.float32)[:, None]
        self.ones = torch.ones(len(source), device=args.device)

    def matrix(self, values):
        return torch.sparse_csr_tensor(*self.rows, values, self.shape)

    def transposed(self, values):
        return torch.sparse_csr_tensor(*self.columns, values if values is self.ones else values[self.order], self.shape)

    def sum(self, x, values=None):
        return Sum.apply(x, self.ones if values is None else values, self)

    def softmax(self, score):
        """Over the edges into a vertex, [edges, heads]."""
        with torch.no_grad():
            most = torch.segment_reduce(score, "max", offsets=self.offset, axis=0, unsafe=True, initial=-1e30)
        power = torch.exp(score - most[self.target])
        ones = torch.ones(self.shape[0], 1, device=score.device)
        total = torch.cat([self.sum(ones, power[:, h].contiguous()) for h in range(score.shape[1])], 1)
        return power / total[self.target]


class SparseSage(torch.nn.Module):
    """DGL's SAGEConv("mean"): the linear map first where it is the narrower side."""

    def __init__(self, a, b):
        super().__init__()
        self.first = a > b
        self.fc_self, self.fc_neigh = torch.nn.Linear(a, b), torch.nn.Linear(a, b, bias=False)

    def forward(self, graph, h):
        near = graph.sum(self.fc_neigh(h) if self.first else h) / graph.degree
        return self.fc_self(h) + (near if self.first else self.fc_neigh(near))


class SparseGcn(torch.nn.Module):
    """DGL's GraphConv(norm="both"), on a graph with its self-loops."""

    def __init__(self, a, b):
        super().__init__()
        self.first = a > b
        self.fc, self.bias = torch.nn.Linear(a, b, bias=False), torch.nn.Parameter(torch.zeros(b))

    def forward(self, graph, h):
        root = graph.degree.rsqrt()
        near = graph.sum(self.fc(h * root) if self.first else h * root)
        return (near if self.first else self.fc(near)) * root + self.bias


class SparseGin(torch.nn.Module):
    """DGL's GINConv(sum_and_mlp, "sum")."""

    def __init__(self, a, b):
        super().__init__()
        self.apply_func = sum_and_mlp(a, b)

    def forward(self, graph, h):
        return self.apply_func(h + graph.sum(h))


class SparseGat(torch.nn.Module):
    """DGL's GATConv: scores and their softmax for each edge and head, then a matrix of them for each head."""

    def __init__(self, a, b, heads):
        super().__init__()
        self.shape = (heads, b)
        self.fc, self.bias = torch.nn.Linear(a, heads * b, bias=False), torch.nn.Parameter(torch.zeros(heads * b))
        self.attn_l, self.attn_r = (torch.nn.Parameter(torch.zeros(heads, b)) for _ in range(2))

    def forward(self, graph, h):
        z = self.fc(h).view(-1, *self.shape)
        left, right = (z * self.attn_l).sum(-1), (z * self.attn_r).sum(-1)
        share = graph.softmax(F.leaky_relu(left[graph.source] + right[graph.target], 0.2))
        sums = [graph.sum(z[:, k].contiguous(), share[:, k].contiguous()) for k in range(self.shape[0])]
        return torch.cat(sums, 1) + self.bias


def torch_net(args, widths):
    shapes = shapes_of(args, widths)
    if args.model == "sage":
        layers = [SparseSage(a, b) for a, b, _ in shapes]
        places = [{"self": l.fc_self.weight.data.T, "neigh": l.fc_neigh.weight.data.T, "bias": l.fc_self.bias.data}
                  for l in layers]
    elif args.model == "gcn":
        layers = [SparseGcn(a, b) for a, b, _ in shapes]
        places = [{"weight": l.fc.weight.data.T, "bias": l.bias.data} for l in layers]
    elif args.model == "gin":
        layers = [SparseGin(a, b) for a, b, _ in shapes]
        places = [mlp_places(l.apply_func) for l in layers]
    elif args.model == "gat" and args.attn_dropout == 0:
        layers = [SparseGat(a, b, heads) for a, b, heads in shapes]
        places = [{"weight": l.fc.weight.data.T, "att_src": l.attn_l.data, "att_dst": l.attn_r.data, "bias": l.bias.data}
                  for l in layers]
    else:
        raise ValueError(f"the peer torch has no {args.model}: sage, gcn, gin, and gat without dropout of its shares")
    return Net(args, layers, lambda layer, g, h: layer(g, h)), places


NETS = {"dgl": dgl_net, "pyg": pyg_net, "torch": torch_net}


def set_weights(places, path):
    """layerK.PART of the file, mlpK.PART for mlp.PART, into the part's place; matrices [d_in, d_out], vectors of heads
    [heads, d_out]."""
    weights = np.load(path)
    for k, layer in enumerate(places):
        for part, place in layer.items():
            block, _, name = part.rpartition(".")
            place.copy_(torch.from_numpy(weights[f"{block or 'layer'}{k}.{name}"]))


def gcn_values(offset, source, rows_at_once=65536):
    """1 / sqrt(d(v) d(u)) of each entry of a CSR that holds its self-loops already."""
    root = (1 / np.sqrt(np.diff(offset))).astype(np.float32)
    values = np.empty(len(source), dtype=np.float32)
    for v in range(0, len(root), rows_at_once):
        end = min(v + rows_at_once, len(root))
        span = slice(offset[v], offset[end])
        values[span] = root[source[span]] * np.repeat(root[v:end], np.diff(offset[v:end + 1]))
    return torch.from_numpy(values)


@functools.lru_cache(maxsize=1)
def graph_of(store, topology, peer, device, numbered, by_degree):
    """As the peer takes it. numbered: DGL's edges have values; by_degree: PyG's matrix has GCN's."""
    args = argparse.Namespace(device=device)
    arrays = weft_store.load(store) if topology is None else {
        name: np.load(os.path.join(topology, name + ".npy")) for name in ("offset", "source")}
    offset, source = arrays["offset"], arrays["source"]
    if peer == "dgl":
        return dgl_graph(args, offset, source, numbered)
    if peer == "torch":
        return Neighbours(args, offset, source)
    return on_device(args, torch_csr(offset, source, gcn_values(offset, source) if by_degree else None))


@functools.lru_cache(maxsize=1)
def learned_of(store, split_index, normalize, device):
    """Features, labels, the vertices of each part of the split, how many classes."""
    data = weft_store.load(store, ("feature", "label", "split"))
    split = weft_store.split_of(data, split_index)
    known = data["label"] >= 0
    rows = [torch.from_numpy(np.flatnonzero((split == part) & known)).to(device) for part in range(3)]
    return (torch.from_numpy(normalized(data["feature"], normalize)).to(device),
            torch.from_numpy(data["label"].astype(np.int64)).to(device), rows,
            data["manifest"].get("classes") or int(data["label"].max()) + 1)


class Problem:
    """A store's graph as a peer takes it, and what is learned on it."""

    def __init__(self, args):
        self.x, self.label, self.rows, classes = learned_of(args.store, args.split_index, args.normalize, args.device)
        self.widths = [self.x.shape[1]] + [args.hidden] * (args.layers - 1) + [classes]
        self.graph = graph_of(args.store, args.topology, args.peer, args.device, args.peer == "dgl" and args.model in ATTENTION,
                              args.peer == "pyg" and args.model == "gcn")

    def net(self, args):
        return NETS[args.peer](args, self.widths)

    def step(self, net, optimizer):
        loss = F.cross_entropy(net(self.graph, self.x)[self.rows[0]], self.label[self.rows[0]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()


def normalized(x, how):
    if how == "row":
        total = x.sum(1, keepdims=True, dtype=np.float64)
        return (x * np.divide(1, total, out=np.zeros_like(total), where=total != 0)).astype(np.float32)
    if how == "standard":
        std = x.std(0, dtype=np.float64)
        return ((x - x.mean(0, dtype=np.float64)) / np.where(std > 1e-6, std, np.inf)).astype(np.float32)
    return x


def adam(args, net):
    return torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=args.weight_decay)


def run_epoch(args):
    problem = Problem(args)
    net, places = problem.net(args)
    set_weights(places, args.weights)
    net.to(args.device)
    torch.manual_seed(0)
    optimizer = adam(args, net)
    seconds, losses = [], []
    net.train()
    for _ in range(args.epochs):
        start = clock(args)
        losses.append(problem.step(net, optimizer))
        seconds.append(clock(args) - start)
    return {"seconds": seconds, "losses": losses}


def score(logits, label):
    """Accuracy in percent; of two classes the area under the ROC curve, by ranks, ties shared."""
    if logits.shape[1] > 2:
        return 100.0 * (logits.argmax(1) == label).double().mean().item()
    from scipy.stats import rankdata
    rank, positive = rankdata((logits[:, 1] - logits[:, 0]).numpy()), label.numpy() == 1
    count = positive.sum()
    return 100.0 * (rank[positive].sum() - count * (count + 1) / 2) / (count * (len(positive) - count))


def aggregate_once(x):
    """Lets PyG aggregate the input features x once, not in each pass of each seed: accuracy alone is asked, of the same numbers."""
    from torch_geometric.nn.conv import gin_conv, sage_conv

    def once(spmm, kept):
        def aggregate(graph, h, reduce="sum"):
            if h is not x:
                return spmm(graph, h, reduce=reduce)
            if reduce not in kept:
                kept[reduce] = spmm(graph, h, reduce=reduce)
            return kept[reduce]
        return aggregate

    for module in (gin_conv, sage_conv):
        module.spmm = once(module.spmm, {})


def run_accuracy(args):
    """Test score where the validation score is best, the first of equals, for each seed."""
    problem = Problem(args)
    if args.peer == "pyg":
        aggregate_once(problem.x)
    scores = []
    for seed in range(args.seeds):
        torch.manual_seed(seed)
        net = problem.net(args)[0].to(args.device)
        optimizer = adam(args, net)
        best = (-1.0, 0.0)
        for _ in range(args.epochs):
            net.train()
            problem.step(net, optimizer)
            net.eval()
            with torch.no_grad():
                logits = net(problem.graph, problem.x)
            valid, test = (score(logits[rows], problem.label[rows]) for rows in problem.rows[1:])
            best = (valid, test) if valid > best[0] else best
        scores.append(best[1])
    return {"scores": scores}


def versions(args):
    peer = args.peer
    found = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": np.__version__}
    if peer == "dgl":
        import dgl
        found["dgl"] = dgl.__version__
    if peer == "pyg":
        import torch_geometric
        found["torch_geometric"] = torch_geometric.__version__
    if args.device != "cpu":
        found["device"] = torch.cuda.get_device_name()
    return found


def parse(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("spmm", "epoch", "accuracy"))
    parser.add_argument("store")
    parser.add_argument("--peer", required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dims", type=lambda text: [int(d) for d in text.split(",")], default=[16])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--split-index", type=int, default=0)
    parser.add_argument("--model", choices=("sage", "gcn", "gat", "gatv2", "gin"), default="sage")
    parser.add_argument("--heads", type=int, default=8, help="of the hidden layers of gat and gatv2")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--attn-dropout", type=float, default=0.0)
    parser.add_argument("--input-dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--weights")
    parser.add_argument("--seeds", type=int, default=10, help="of accuracy: 0 and on")
    parser.add_argument("--normalize", choices=("none", "row", "standard"), default="none")
    parser.add_argument("--topology", help="folder with offset.npy and source.npy to use instead (self-loops added)")
    return parser.parse_args(words)


def measure(args):
    if args.device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    result = {"spmm": run_spmm, "epoch": run_epoch, "accuracy": run_accuracy}[args.what](args)
    result.update(peak_rss_bytes=peak_rss_bytes(), versions=versions(args), threads=torch.get_num_threads())
    if args.device != "cpu":
        result["peak_device_bytes"] = torch.cuda.max_memory_allocated()
    return result


def serve():
    """Answers until stdin ends. What fails (out of the device's memory, say) is told, and costs the next nothing."""
    for line in sys.stdin:
        try:
            answer = measure(parse(json.loads(line)))
        except Exception as error:  # whatever a library raises
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
        gc.collect()
        torch.cuda.empty_cache()  # the device is the other side's meanwhile


def main():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        print(json.dumps(measure(parse(sys.argv[1:]))))


if __name__ == "__main__":
    main()
