"""What test_store.sh runs: stores of python/weft/store.py against those of `weft convert`, and everything it refuses."""

import filecmp
import json
import os
import subprocess
import sys
import types
import warnings
import zlib

import numpy as np

import weft_store

WEFT = sys.argv[1]


def run(*arguments, code=0):
    done = subprocess.run([WEFT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code, "weft %s: exit %d\n%s" % (" ".join(arguments), done.returncode, done.stderr)
    return done.stdout + done.stderr


def refused(part, function, *arguments, kind=ValueError, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        assert part in str(error), "%r lacks %r" % (str(error), part)
    else:
        raise AssertionError("not refused: expected %r" % part)


def without_xxh3(folder):
    manifest = weft_store.read_manifest(folder)
    for entry in manifest["arrays"].values():
        entry.pop("xxh3", None)
    return manifest


def same_folder(a, b):
    """The same files, but that weft also writes XXH3-128 into its manifest."""
    names = sorted(os.listdir(a))
    assert names == sorted(os.listdir(b)), (names, sorted(os.listdir(b)))
    assert without_xxh3(a) == without_xxh3(b)
    for name in names:
        if name == "manifest.json":
            continue
        assert filecmp.cmp(os.path.join(a, name), os.path.join(b, name), shallow=False), "%s differs" % name


def random_graph(n=300, m=1500, features=8, classes=4, seed=1):
    rng = np.random.default_rng(seed)
    part = rng.choice(4, n, p=[0.5, 0.2, 0.2, 0.1])
    return {"edges": rng.integers(0, n - 5, (2, m)), "x": rng.normal(size=(n, features)).astype(np.float32),
            "y": rng.integers(-1, classes, n).astype(np.int64), "masks": [part == code for code in range(3)], "n": n}


# ---- checksums ----

def check_checksums():
    """CRC-32 of both writers are those of zlib; an older store, which has none, is read with a warning."""
    graph = random_graph()
    convert("sums", graph)
    manifest = weft_store.read_manifest("weft-sums")
    for name, entry in manifest["arrays"].items():
        with open(os.path.join("weft-sums", entry["file"]), "rb") as file:
            assert entry["crc32"] == "%08x" % zlib.crc32(file.read()), name
    weft_store.read_store("weft-sums", verify=True)
    for entry in manifest["arrays"].values():
        del entry["crc32"]
    with open("weft-sums/manifest.json", "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        weft_store.read_store("weft-sums", verify=True)
    assert any("has no CRC-32" in str(warning.message) for warning in told)
    assert "every invariant hold" in run("info", "weft-sums", "--check")


# ---- stores ----

def convert(name, graph, *options, masks=None):
    arrays = {"vertices": graph["n"], "edges": graph["edges"].T, "features": graph["x"], "labels": graph["y"]}
    for key, mask in zip(("train", "valid", "test"), masks or graph["masks"]):
        arrays[key] = mask
    np.savez(name + ".npz", **arrays)
    run("convert", name + ".npz", "--out", "weft-" + name, "-q", *options)
    return json.load(open("weft-" + name + "/manifest.json"))


def check_same_as_convert():
    graph = random_graph()
    for name, options, keywords in [
            ("defaults", (), {}),
            ("reversed", ("--symmetrize", "on"), {"symmetrize": True}),
            ("directed", ("--symmetrize", "off"), {"symmetrize": False}),
            ("loops", ("--symmetrize", "off", "--self-loops", "keep"), {"symmetrize": False, "self_loops": True})]:
        manifest = convert(name, graph, *options)
        written = weft_store.write_store("py-" + name, graph["edges"], graph["x"], graph["y"], *graph["masks"],
                                         name=name, origin=manifest["origin"], num_nodes=graph["n"], **keywords)
        same_folder("weft-" + name, "py-" + name)
        assert written == without_xxh3("weft-" + name)
        assert "every invariant hold" in run("info", "py-" + name, "--check")
    # Several splits: PyG has them as [n, k], weft's archives as [k, n].
    splits = [np.stack([mask, np.roll(mask, 1)], axis=1) for mask in graph["masks"]]
    manifest = convert("splits", graph, masks=[mask.T for mask in splits])
    weft_store.write_store("py-splits", graph["edges"], graph["x"], graph["y"], *splits, symmetrize=True,
                           name="splits", origin=manifest["origin"], num_nodes=graph["n"])
    same_folder("weft-splits", "py-splits")


def check_symmetric_is_found():
    graph = random_graph()
    both = np.concatenate([graph["edges"], graph["edges"][::-1]], axis=1)
    manifest = weft_store.write_store("found", both, graph["x"], graph["y"], *graph["masks"], symmetrize=False)
    assert manifest["symmetric"] and manifest["vertices"] == graph["n"]
    run("info", "found", "--check")


def check_small_stores():
    """What is optional is left out; every store passes weft's own check."""
    for name, arguments, facts in [
            ("no-edges", {"edge_index": [[], []], "num_nodes": 3}, ["vertices: 3", "edges (directed): 0"]),
            ("edges-only", {"edge_index": [[0, 1], [1, 2]]}, ["vertices: 3", "edges (directed): 4"]),
            ("tasks", {"edge_index": [[0], [1]], "y": [[1, 0, np.nan], [0, 1, 1]]}, ["labels: 3 float tasks"]),
            ("index-lists", {"edge_index": [[0], [1]], "y": [[1.0], [np.nan]], "train_mask": [0],
                             "val_mask": np.array([], dtype=int), "test_mask": [1]},
             ["1 vertices labelled", "split 0: 1 train, 0 valid, 1 test, 0 none"])]:
        weft_store.write_store(name, **arguments)
        told = run("info", name, "--check")
        for fact in facts:
            assert fact in told, "%s lacks %r:\n%s" % (name, fact, told)
        weft_store.read_store(name, verify=True)
    weft_store.write_store("unsummed", [[0], [1]], checksums=False)
    assert "crc32" not in weft_store.read_manifest("unsummed")["arrays"]["offset"]
    run("info", "unsummed", "--check")


def check_reading():
    graph = weft_store.read_store("weft-directed", verify=True)
    assert isinstance(graph["feature"], np.memmap) and not graph["feature"].flags.writeable
    assert not isinstance(weft_store.read_store("weft-directed", mmap=False)["feature"], np.memmap)
    edges = random_graph()["edges"]
    expected = {(u, v) for u, v in edges.T.tolist() if u != v}
    assert set(map(tuple, weft_store.edge_index_of(graph).T.tolist())) == expected
    rows = [graph["source"][graph["offset"][v]:graph["offset"][v + 1]].tolist() for v in range(300)]
    assert rows[7] == sorted(u for u, v in expected if v == 7)
    assert weft_store.read_store("weft-splits")["split"].shape == (2, 300)
    # A flipped byte.
    weft_store.write_store("flipped", [[0, 1], [1, 0]], np.ones((2, 2)))
    with open("flipped/feature.npy", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x40")
    weft_store.read_store("flipped")
    refused("feature.npy: checksum", weft_store.read_store, "flipped", verify=True)
    assert "checksum" in run("info", "flipped", "--check", code=65)
    np.save("flipped/feature.npy", np.ones((2, 3), dtype=np.float32))
    refused("holds float32 (2, 3), expected float32 (2, 2)", weft_store.read_store, "flipped")
    manifest = json.load(open("flipped/manifest.json"))
    for key, value, part in [("version", 99, "version 99"), ("vertices", -1, "'vertices' is -1"),
                             ("arrays", {"offset": {"file": "../offset.npy"}}, "is not a plain file name")]:
        with open("flipped/manifest.json", "w") as file:
            json.dump({**manifest, key: value}, file)
        refused(part, weft_store.read_store, "flipped")
    with open("flipped/manifest.json", "w") as file:
        file.write("{")
    refused("manifest.json: ", weft_store.read_store, "flipped")


# ---- refusals, and whole or nothing ----

def check_refusals():
    edges, x = [[0, 1], [1, 2]], np.ones((3, 2))
    write = weft_store.write_store
    before = sorted(os.listdir("."))
    refused("edge_index: float64", write, "bad", [[0.5], [1.0]])
    refused("expected integers [2, e]", write, "bad", [[0, 1, 2]])
    refused("row 1, column 1: vertex 2 is outside 0..1", write, "bad", edges, num_nodes=2)
    refused("row 0, column 0: vertex -1", write, "bad", [[-1], [0]])
    refused("x: float64 (2, 2), expected numbers [3, f]", write, "bad", edges, np.ones((2, 2)))
    refused("x, row 1, column 0: nan is not finite", write, "bad", edges, [[1, 2], [np.nan, 1], [1, 1]])
    refused("y, row 2: 4 is outside -1..2", write, "bad", edges, x, [0, 1, 4], num_classes=3)
    refused("y, row 0: 0.5 is not a class", write, "bad", edges, x, [0.5, 1, 2])
    refused("y, row 1, column 0: inf", write, "bad", edges, x, [[0, 1], [np.inf, 1], [1, 1]])
    refused("val_mask: vertex 1 is in train_mask too", write, "bad", edges, x, [0, 1, 1], [0, 1], [1], [2])
    refused("test_mask, row 0: 3 is outside 0..2", write, "bad", edges, x, [0, 1, 1], [0], [1], [3])
    refused("train_mask: a mask (2,)", write, "bad", edges, x, [0, 1, 1], np.array([True, False]))
    refused("train_mask is missing", write, "bad", edges, x, [0, 1, 1], None, [1])
    refused("0 vertices", write, "bad", [[], []])
    assert sorted(os.listdir(".")) == before, "a refused store left something behind"


def check_whole_or_nothing():
    weft_store.write_store("goal", [[0], [1]])
    refused("exists already", weft_store.write_store, "goal", [[0], [1]], kind=FileExistsError)
    weft_store.write_store("goal", [[0, 1], [1, 0]], force=True)
    assert weft_store.read_manifest("goal")["edges"] == 2
    os.mkdir("home")
    open("home/letter", "w").close()
    refused("is not a graph store", weft_store.write_store, "home", [[0], [1]], kind=FileExistsError, force=True)
    refused("", weft_store.write_store, "absent/goal", [[0], [1]], kind=FileNotFoundError)
    # The disk fills up while the second array is written.
    save = np.save
    try:
        np.save = lambda path, *rest, **more: save(path, *rest, **more) if "offset" in path else _disk_full()
        refused("No space", weft_store.write_store, "goal", [[0], [1]], kind=OSError, force=True)
    finally:
        np.save = save
    assert weft_store.read_manifest("goal")["edges"] == 2
    assert not [name for name in os.listdir(".") if ".tmp-" in name], os.listdir(".")


def _disk_full():
    raise OSError(28, "No space left on device")


# ---- PyG, DGL ----

class Tensor:
    """What a PyTorch tensor on a device looks like: NumPy sees nothing until detach().cpu()."""

    def __init__(self, array, stage=0):
        self.array, self.stage = np.asarray(array), stage
        self.shape = self.array.shape

    def __len__(self):
        return len(self.array)

    def detach(self):
        return Tensor(self.array, 1)

    def cpu(self):
        return Tensor(self.array, 2 if self.stage == 1 else 0)

    def numpy(self):
        assert self.stage == 2, "numpy() of a tensor that needs detach().cpu()"
        return self.array

    def __array__(self, *_):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def check_converters():
    graph = random_graph()
    reference = weft_store.write_store("same", graph["edges"], graph["x"], graph["y"], *graph["masks"], name="same")
    n, masks = graph["n"], dict(zip(("train_mask", "val_mask", "test_mask"), graph["masks"]))
    data = types.SimpleNamespace(edge_index=Tensor(graph["edges"]), x=Tensor(graph["x"]), num_nodes=n,
                                 y=Tensor(graph["y"].reshape(-1, 1)), edge_attr=None,
                                 **{key: Tensor(mask) for key, mask in masks.items()})
    assert weft_store.from_pyg(data, "pyg", name="same") == reference
    same_folder("same", "pyg")
    refused("ToSparseTensor", weft_store.from_pyg, types.SimpleNamespace(x=data.x), "none")
    # DGL keeps masks as bytes in older data sets.
    ndata = {"feat": Tensor(graph["x"]), "label": Tensor(graph["y"]),
             **{key: Tensor(mask.astype(np.uint8)) for key, mask in masks.items()}}
    dgl = types.SimpleNamespace(edges=lambda: tuple(Tensor(row) for row in graph["edges"]), num_nodes=lambda: n,
                                ndata=ndata, edata={})
    assert weft_store.from_dgl(dgl, "dgl", name="same") == reference
    same_folder("same", "dgl")


def check_real_pyg():
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError as error:
        print("part skipped: PyG: %s" % error)
        return
    graph = random_graph()
    data = Data(x=torch.tensor(graph["x"], requires_grad=True), edge_index=torch.tensor(graph["edges"]),
                y=torch.tensor(graph["y"]), train_mask=torch.tensor(graph["masks"][0]),
                val_mask=torch.tensor(graph["masks"][1]), test_mask=torch.tensor(graph["masks"][2]))
    weft_store.from_pyg(data, "real-pyg", name="same")
    same_folder("same", "real-pyg")


def check_real_dgl():
    try:
        import dgl
        import torch
    except ImportError as error:
        print("part skipped: DGL: %s" % error)
        return
    graph = random_graph()
    made = dgl.graph(tuple(torch.tensor(row) for row in graph["edges"]), num_nodes=graph["n"])
    made.ndata["feat"], made.ndata["label"] = torch.tensor(graph["x"]), torch.tensor(graph["y"])
    for key, mask in zip(("train_mask", "val_mask", "test_mask"), graph["masks"]):
        made.ndata[key] = torch.tensor(mask)
    weft_store.from_dgl(made, "real-dgl", name="same")
    same_folder("same", "real-dgl")


# ---- training ----

def check_training():
    """The same bits from both stores; metrics.jsonl as columns."""
    for kind in ("weft", "py"):
        run("train", "--data", kind + "-reversed", "--epochs", "4", "--eval-every", "2", "--threads", "1", "--quiet",
            "--run-dir", "run-" + kind)
    weights = [np.load("run-%s/weights.npz" % kind) for kind in ("weft", "py")]
    for name in weights[0].files:
        assert weights[0][name].tobytes() == weights[1][name].tobytes(), name
    assert filecmp.cmp("run-weft/predictions.npy", "run-py/predictions.npy", shallow=False)
    metrics = weft_store.read_metrics("run-py")
    lines = [json.loads(line) for line in open("run-py/metrics.jsonl")]
    assert metrics["epoch"].tolist() == [1, 2, 3, 4] and metrics["epoch"].dtype == np.int64
    assert metrics["loss"].tolist() == [line["loss"] for line in lines]
    assert np.isnan(metrics["valid"]).tolist() == [True, False, True, False]
    assert metrics["valid"][3] == lines[3]["valid"] and metrics["sync"].tolist() == ["allreduce"] * 4
    with open("run-py/metrics.jsonl", "a") as file:
        file.write('{"schema": 1, "run": 1, "epoch": 5, "loss": 1.')
    assert weft_store.read_metrics("run-py")["epoch"].tolist() == [1, 2, 3, 4]
    with open("run-py/metrics.jsonl", "w") as file:
        file.write('{"loss": null, "lanes": {"halo": {"bytes": 8}}}\n{"loss": 2}\n')
    metrics = weft_store.read_metrics("run-py")
    assert np.isnan(metrics["loss"][0]) and metrics["loss"][1] == 2 and metrics["lanes.halo.bytes"][0] == 8
    with open("run-py/metrics.jsonl", "w") as file:
        file.write('{"loss": 1}\n{"loss"\n{"loss": 1}\n')
    refused("metrics.jsonl: line 2", weft_store.read_metrics, "run-py")


# ---- checkpoints ----

def check_checkpoints():
    run("train", "--data", "py-reversed", "--epochs", "6", "--threads", "1", "--quiet", "--run-dir", "run-ck",
        "--checkpoint-every", "2")
    best = weft_store.read_checkpoint("run-ck")
    assert (best["run"], best["epoch"], best["options"]["epochs"]) == (1, 6, "6")
    assert best["graph_hash"] in run("info", "py-reversed")
    # The run folder's own weights are those of the best epoch.
    with np.load("run-ck/weights.npz") as weights:
        assert sorted(weights.files) == sorted(best["parameters"])
        for name in weights.files:
            assert weights[name].tobytes() == best["parameters"][name].tobytes(), name
    # Means and deviations of the features are the model's: float64, as NumPy computes them.
    x = np.load("py-reversed/feature.npy").astype(np.float64)
    assert best["options"]["normalize"] == "standard"
    assert np.allclose(best["parameters"]["feature.mean"], x.mean(0), rtol=0, atol=1e-12)
    assert np.allclose(best["parameters"]["feature.deviation"], x.std(0), rtol=0, atol=1e-12)
    last = weft_store.read_checkpoint("run-ck/ckpt", which="last")
    assert weft_store.read_checkpoint(last["path"], "last")["parameters"].keys() == last["parameters"].keys()
    refused("which is 'first'", weft_store.read_checkpoint, "run-ck", "first")
    # Training from parameters that went through Python: what one evaluation of them gives.
    weft_store.write_weights("start.npz", best["parameters"])
    run("train", "--data", "py-reversed", "--epochs", "1", "--lr", "0", "--threads", "1", "--quiet", "--run-dir",
        "run-start", "--init-weights", "start.npz")
    with np.load("run-start/weights.npz") as weights:
        for name in weights.files:
            assert weights[name].tobytes() == best["parameters"][name].tobytes(), name
    refused("expected a matrix of floats", weft_store.write_weights, "bad.npz", {"w": [1, 2]})
    assert not os.path.exists("bad.npz")
    # The newest one is damaged: the one before it is read, with a warning.
    with open(last["path"] + "/last.npz", "r+b") as file:
        file.seek(200)
        file.write(b"damage")
    refused("last.npz", weft_store.read_checkpoint, last["path"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert weft_store.read_checkpoint("run-ck")["epoch"] == 4
    assert len(caught) == 1 and "last.npz" in str(caught[0].message)
    with open(best["path"] + "/manifest.json", "a") as file:
        file.write(" ")
    refused("manifest.json: checksum", weft_store.read_checkpoint, best["path"])
    os.mkdir("nothing")
    refused("no good checkpoint", weft_store.read_checkpoint, "nothing", kind=FileNotFoundError)


# ---- names ----

def check_names():
    names, vertices = ["cat", "große Katze", "猫"], ["v%d" % i for i in range(4)]
    keywords = {"edge_index": [[0, 1, 2], [1, 2, 3]], "y": [0, 1, 2, 0], "train_mask": [0, 1], "quiet": True}
    weft_store.write_store("named", class_names=names, vertex_names=vertices, **keywords)
    graph = weft_store.read_store("named", verify=True)
    assert graph["class_name"] == names and graph["vertex_name"] == vertices
    assert weft_store.read_manifest("named")["version"] == 3
    run("info", "named", "--check")
    for bad in (["a", "b"], ["a", "b", "b"], ["a", "", "b"], ["a", "b\nc", "d"], ["a", 1, "b"]):
        refused("class_name", weft_store.write_store, "bad", class_names=bad, **keywords)
    assert not os.path.exists("bad")
    assert "class_name" not in weft_store.read_store("py-reversed")


for check in [check_checksums, check_same_as_convert, check_symmetric_is_found, check_small_stores, check_reading,
              check_refusals, check_whole_or_nothing, check_converters, check_real_pyg, check_real_dgl,
              check_training, check_checkpoints, check_names]:
    check()
    print("%s: ok" % check.__name__)
