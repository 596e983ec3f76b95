"""What test_edges.sh runs: the edges of python/weft/store.py against sets of pairs, its memory, log and refusals."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import types
import unittest.mock
import warnings

import numpy as np

import weft_store


def refused(part, function, *arguments, kind=ValueError, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        assert part in str(error), "%r lacks %r" % (str(error), part)
    else:
        raise AssertionError("not refused: expected %r" % part)


# ---- edges in order ----

def shapes_of_edges(rng):
    """Edges in the orders that graphs have them in, with repeats and self-loops."""
    n, m = int(rng.integers(1, 30)), int(rng.integers(0, 100))
    edges = rng.integers(0, n, (2, m))
    both = np.concatenate([edges, edges[::-1]], axis=1)
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])  # every degree is 1, and no edge has its reverse
    rings = np.array([[0, 1, 2, 3, 5, 4], [1, 2, 0, 5, 4, 3]])  # and as many edges lead to higher ids as to lower ones
    by_destination, by_source = [[graph[:, np.lexsort(keys)] for graph, keys in pairs] for pairs in (
        [(edges, edges), (both, both)], [(edges, edges[::-1]), (both, both[::-1])])]
    return n, [edges, both, ring, rings if n >= 6 else edges, *by_destination, *by_source]


def check_rows_against_sets():
    with unittest.mock.patch("os.fsync"):  # a thousand small stores, which need not outlive the machine
        write_rows_of_all_kinds(np.random.default_rng(3))


def write_rows_of_all_kinds(rng):
    usual, types_of_ids = weft_store._PIECE_EDGES, [np.int64, np.int32, np.uint8, np.uint32, np.uint64, np.int16]
    for trial in range(30):
        weft_store._PIECE_EDGES = [usual, 1, 7][trial % 3]
        n, graphs = shapes_of_edges(rng)
        for edges in graphs:
            edges = edges.astype(types_of_ids[trial // 3 % len(types_of_ids)], order="FC"[trial % 2])
            for symmetrize, loops in [(False, False), (False, True), (True, False), (True, True)]:
                given = edges if trial % 2 else tuple(edges)
                manifest = weft_store.write_store("rows", given, num_nodes=n + 2, symmetrize=symmetrize,
                                                  self_loops=loops, checksums=False, force=True, quiet=True)
                pairs = {(u, v) for u, v in edges.T.tolist() if loops or u != v}
                pairs |= {(v, u) for u, v in pairs} if symmetrize else set()
                written = weft_store.edge_index_of(weft_store.read_store("rows")).T.tolist()
                assert written == [list(pair) for pair in sorted(pairs, key=lambda pair: pair[::-1])], (trial, edges)
                assert manifest["symmetric"] == (pairs == {(v, u) for u, v in pairs}) and manifest["vertices"] == n + 2
    weft_store._PIECE_EDGES = usual


MEASURE = """
import sys
import numpy as np
import weft_store

def peak():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

edges = np.load("edges.npy")
before = peak()
weft_store.write_store("measured", edges, symmetrize=sys.argv[1] == "True", force=True, checksums=False)
print(peak() - before)
"""


def check_memory():
    """write_store takes what it says that it takes."""
    rng = np.random.default_rng(4)
    n, m = 20000, 4000000
    one_way = rng.integers(0, n, (2, m), dtype=np.int32)
    both = np.concatenate([one_way[:, :m // 2], one_way[::-1, :m // 2]], axis=1)
    for name, edges, symmetrize, bytes_of_edge in [("directed", one_way, False, 12), ("symmetric", both, True, 12),
                                                   ("by source", both[:, np.lexsort(both[::-1])], True, 12),
                                                   ("reverses added", one_way, True, 24)]:
        np.save("edges.npy", edges)
        done = subprocess.run([sys.executable, "-c", MEASURE, str(symmetrize)], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stderr
        taken = (int(done.stdout) - 32 * n) / m
        print("note: %s: %.1f bytes an edge" % (name, taken))
        assert 2 < taken <= bytes_of_edge + 2, "%s: %.1f bytes an edge" % (name, taken)


def check_log():
    """Directed or symmetric, and what was dropped and added, on stderr."""
    one_way, both = [[0, 0, 0, 1], [1, 1, 0, 2]], [[0, 1, 1], [1, 0, 1]]
    for edges, keywords, parts in [
            (one_way, {}, ["log: 3 vertices, 4 edges, 0 features, no labels", "log: symmetric: 2 reverses were added",
                           "log: 1 self-loops and 1 duplicates were dropped"]),
            (one_way, {"symmetrize": False}, ["3 vertices, 2 edges", "log: directed as given"]),
            (both, {}, ["2 vertices, 2 edges", "log: symmetric as given"]),
            (both, {"symmetrize": False}, ["log: symmetric as given", "1 self-loops and 0 duplicates"]),
            (both, {"quiet": True}, [])]:
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            weft_store.write_store("log", edges, force=True, **keywords)
        for part in parts:
            assert part in told.getvalue(), "%r lacks %r" % (told.getvalue(), part)
        assert parts or not told.getvalue()


# ---- weights ----

def check_weights():
    """Every edge of the store weighs what a dictionary of the given ones says."""
    rng = np.random.default_rng(5)
    for trial in range(40):
        n, m = int(rng.integers(2, 12)), int(rng.integers(1, 60))
        edges = rng.integers(0, n, (2, m))
        symmetrize, loops = trial % 2 == 0, trial % 4 < 2
        ends = np.sort(edges, axis=0) if symmetrize or trial % 3 == 0 else edges
        weight = ((ends[0] * 31 + ends[1] * 17) % 9 / 4).astype([np.float64, np.float32][trial % 2])
        manifest = weft_store.write_store("weights", edges, edge_weight=weight, num_nodes=n, symmetrize=symmetrize,
                                          self_loops=loops, force=True, quiet=True)
        expected = {}
        for u, v, w in zip(*edges.tolist(), weight.tolist()):
            if u != v or loops:
                expected[u, v] = w
                expected.update({(v, u): w} if symmetrize else {})
        store = weft_store.read_store("weights", verify=True)
        written = dict(zip(map(tuple, weft_store.edge_index_of(store).T.tolist()), store["weight"].tolist()))
        assert written == expected and manifest["weighted"] and manifest["version"] == 2
        assert manifest["symmetric"] == all(expected.get((v, u)) == w for (u, v), w in expected.items())
    pair = np.array([[0, 1], [1, 0]])
    for value, part in [([1, 2], "symmetrize=False"), ([1, -1], "row 1: -1.0 is no weight"), ([1], "expected numbers [2]"),
                        ([1, np.nan], "row 1: nan"), ([1, np.inf], "row 1: inf")]:
        refused(part, weft_store.write_store, "refused", pair, edge_weight=np.array(value))
    refused("add up", weft_store.write_store, "refused", np.array([[0, 0], [1, 1]]), edge_weight=np.array([1, 2]),
            symmetrize=False)
    kept = weft_store.write_store("kept", pair, edge_weight=np.array([1, 2]), symmetrize=False, quiet=True)
    assert not kept["symmetric"]


# ---- objects of other packages ----

def check_edge_data():
    """Whatever belongs to edges is named when it is left out, but for weights that are all 1."""
    edges, ones, halves = np.array([[0, 1], [1, 2]]), np.ones(2), np.full(2, 0.5)

    class Graph(types.SimpleNamespace):
        def edge_attrs(self):  # of PyG: what has a row for each edge
            return ["edge_index", *(["flow"] if hasattr(self, "flow") else [])]

    def left_out(function, graph):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(graph, "edge-data", force=True, quiet=True)
        assert all(one.category is weft_store.EdgeDataWarning and one.filename == __file__ for one in caught), caught
        return [str(one.message).split(": left out")[0] for one in caught]

    for data, names in [({}, []), ({"edge_weight": ones}, []), ({"edge_weight": halves}, []),
                        ({"edge_attr": ones, "edge_weight": ones}, ["edge_attr"]),
                        ({"edge_attr": np.zeros((2, 3)), "edge_type": ones}, ["edge_attr, edge_type"]),
                        ({"flow": halves}, ["flow"])]:
        graph = Graph(edge_index=edges, num_nodes=3, **data)
        assert left_out(weft_store.from_pyg, graph) == names, names
    for edata, names in [({}, []), ({"weight": ones}, []), ({"weight": halves, "kind": ones}, ["weight, kind"]),
                         ({"w": ones}, ["w"])]:
        graph = types.SimpleNamespace(edges=lambda: tuple(edges), num_nodes=lambda: 3, ndata={}, edata=edata)
        assert left_out(weft_store.from_dgl, graph) == names, names
    for function, graph, more in [(weft_store.from_pyg, Graph(edge_index=edges, num_nodes=3, edge_weight=halves), {}),
                                  (weft_store.from_dgl, types.SimpleNamespace(
                                      edges=lambda: tuple(edges), num_nodes=lambda: 3, ndata={}, edata={"w": halves}),
                                   {"weight": "w"})]:
        function(graph, "edge-data", force=True, quiet=True, **more)
        assert np.array_equal(weft_store.read_store("edge-data")["weight"], np.full(4, 0.5))


def check_wrong_types():
    """What is no homogeneous graph, or no edge_index, is named for what it is, with what to do."""
    def instance(name, *bases, **attributes):
        return type(name, bases, {"__module__": "their.package", **attributes})()

    edges, shape = lambda: (np.array([0]), np.array([1])), {"num_nodes": lambda self: 2, "ndata": {}, "edata": {}}
    relations = [("author", "writes", "paper"), ("paper", "cites", "paper")]
    hetero = instance("HeteroData", node_types=["author", "paper"], edge_types=relations)
    dgl = instance("DGLGraph", ntypes=["author", "paper"], canonical_etypes=relations, **shape)
    network = instance("DiGraph", type("Graph", (), {}), edges=edges)
    data = instance("Data", edge_index=[[0], [1]])
    data_set = instance("Planetoid", type("Dataset", (), {}))
    sparse = instance("SparseTensor", coo=lambda self: None)
    scipy = instance("csr_matrix", type("spmatrix", (), {}), toarray=lambda self: 1 / 0)
    tensor = instance("Tensor", is_sparse=True, __array__=lambda self: None, to_dense=lambda self: 1 / 0)
    before = sorted(os.listdir("."))
    for function, value, kind, parts in [
            (weft_store.from_pyg, hetero, ValueError, ["heterogeneous: vertices of types author, paper", "'cites'",
                                                       "data.to_homogeneous()"]),
            (weft_store.from_dgl, dgl, ValueError, ["heterogeneous: vertices of types author, paper", "'cites'",
                                                    "dgl.to_homogeneous("]),
            (weft_store.from_dgl, instance("Block", is_block=True, **shape), ValueError, ["a block"]),
            (weft_store.from_pyg, instance("DGLGraph", **shape), TypeError, ["their.package.DGLGraph", "from_dgl"]),
            (weft_store.from_dgl, data, TypeError, ["their.package.Data", "a DGLGraph", "from_pyg"]),
            (weft_store.from_pyg, data_set, TypeError, ["their.package.Planetoid", "dataset[0]"]),
            (weft_store.from_pyg, network, TypeError, ["their.package.DiGraph", "graph.edges()"]),
            (weft_store.from_dgl, network, TypeError, ["their.package.DiGraph", "graph.edges()"]),
            (weft_store.from_pyg, "g.weft", TypeError, ["str 'g.weft'", "a torch_geometric.data.Data"]),
            (weft_store.from_dgl, pathlib.Path("g.weft"), TypeError, ["g.weft", "a DGLGraph"]),
            (weft_store.from_pyg, [[0], [1]], TypeError, ["type list"]),
            (weft_store.from_pyg, sparse, TypeError, ["SparseTensor", "adj.coo()"]),
            (weft_store.from_dgl, np.zeros((2, 0), dtype=int), TypeError, ["numpy.ndarray", "write_store"]),
            (weft_store.from_pyg, None, TypeError, ["NoneType"])]:
        for part in parts:
            refused(part, function, value, "wrong", kind=kind)
    for value, parts in [(network, ["edge_index is of type their.package.DiGraph"]), (data, ["from_pyg"]),
                         (dgl, ["from_dgl"]), (hetero, ["HeteroData"]), (sparse, ["adj.coo()"]), (scipy, ["nonzero()"]),
                         (tensor, ["coalesce().indices()"]), ("edges.txt", ["str 'edges.txt'"]), ({}, ["type dict"]),
                         (None, ["NoneType"])]:
        for part in parts:
            refused(part, weft_store.write_store, "wrong", value, kind=TypeError)
    refused("int64 (3, 2), expected integers [2, e]: sources, destinations (the transpose of this)",
            weft_store.write_store, "wrong", [[0, 1], [1, 2], [2, 3]])
    refused("int64 (1,) and int64 (2,)", weft_store.write_store, "wrong", (np.array([0]), np.array([1, 2])))
    assert sorted(os.listdir(".")) == before, "a refused graph left something behind"


for check in [check_rows_against_sets, check_memory, check_log, check_weights, check_edge_data, check_wrong_types]:
    check()
    print("%s: ok" % check.__name__)
