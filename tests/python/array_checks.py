"""What test_arrays.sh runs: masks and labels as other programs write them, by `weft convert` and python/weft/store.py alike, and
against values that are written down here."""

import json
import os
import subprocess
import sys
import types
import warnings

import numpy as np

import weft_store

WEFT, N = sys.argv[1], 24
RING = np.stack([np.arange(N), (np.arange(N) + 1) % N])
PARTS = [np.arange(N) // 6 == 1, np.arange(N) // 6 == 2, np.arange(N) // 6 == 3]  # the first six are in none
CODES = np.select(PARTS, [0, 1, 2], 255).astype(np.uint8)
NUMBERS = ["bool", "uint8", "int8", ">i2", "uint32", "int64", "float16", ">f8"]


def convert(*arguments):
    """The exit code and what stderr says."""
    done = subprocess.run([WEFT, "convert", *arguments, "--out", "c", "--force", "--threads", "1"], stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def by_convert(**arrays):
    """The split that convert makes of an .npz, or its message."""
    np.savez("in.npz", vertices=N, edges=RING.T, **arrays)
    code, told = convert("in.npz", "--format", "weft-npz")
    return np.load("c/split.npy") if code == 0 else told


def by_python(train, valid, test, n=N):
    edges = RING if n == N else [[0], [n - 1]]
    try:
        weft_store.write_store("p", edges, None, None, train, valid, test, num_nodes=n, force=True, quiet=True)
        return np.load("p/split.npy")
    except ValueError as error:
        return str(error)


def check_masks():
    for dtype in NUMBERS:
        masks = [part.astype(dtype) for part in PARTS]
        for shape in (masks, [np.asfortranarray(np.stack([m, np.roll(m, 1), np.roll(m, 2)], axis=1)) for m in masks],
                      [np.stack([m, np.roll(m, 1), np.roll(m, 2)]) for m in masks]):
            expected = CODES if shape is masks else np.stack([np.roll(CODES, k) for k in range(3)])
            assert np.array_equal(by_convert(train=shape[0], valid=shape[1], test=shape[2]), expected), dtype
            assert np.array_equal(by_python(*shape), expected), dtype
        # One mask of the test vertices for all splits.
        several = [np.stack([m, np.roll(m, -1)], axis=1) for m in (masks[0] * 0 != 0, masks[1])]
        expected = np.stack([np.select([np.roll(PARTS[1], -k), PARTS[2]], [1, 2], 255) for k in range(2)])
        arrays = [several[0].astype(dtype), several[1], masks[2]]
        if dtype == "bool":
            arrays[1] = arrays[1] & ~arrays[2][:, None]
        for made in (by_convert(train_masks=arrays[0], val_masks=arrays[1], test_mask=arrays[2]), by_python(*arrays)):
            assert np.array_equal(made, expected), (dtype, made)
    full = [part.astype(np.uint8) * 255 for part in PARTS]
    for made in (by_convert(train=full[0], valid=full[1], test=full[2]), by_python(*full)):
        assert np.array_equal(made, CODES)


def check_lists():
    lists = [np.flatnonzero(part) for part in PARTS]
    for dtype in NUMBERS[1:]:
        given = [part.astype(dtype) for part in lists]
        assert np.array_equal(by_convert(train_idx=given[0], val_idx=given[1], test_idx=given[2]), CODES), dtype
        assert np.array_equal(by_python(*given), CODES), dtype
    # A list of 0 and 1 that names each once is a list; of two vertices it could be a mask, too.
    for two, expected in [(([0, 1], [], []), [0, 0]), (([1, 0], [], []), [0, 0]), (([0, 0], [1, 1], [0, 0]), [1, 1]),
                          ((np.array([0, 1], np.uint8), [1, 0], np.zeros(2, bool)), None)]:
        made = by_python(*two, n=2)
        assert np.array_equal(made, expected) if expected else "too" in made, made
    assert np.array_equal(by_python([1, 0], [2], [3]), [0, 0, 1, 2] + [255] * (N - 4))
    empty = np.zeros(0, dtype=np.int64)
    assert np.array_equal(by_convert(train=np.array([1, 0]), valid=np.array([2]), test=empty), [0, 0, 1] + [255] * (N - 3))
    for arrays, part in [
            ([np.array([0, 1, 1, 0])] + PARTS[1:], "a mask has an entry for each of the 24 vertices, this has 4"),
            ([np.array([True, False])] + PARTS[1:], "mask"),
            ([np.stack([PARTS[0] * 2, PARTS[1]])] + PARTS[1:], "mask"),
            ([np.tile(PARTS[0], (N, 1))] + PARTS[1:], "which dimension are the vertices?"),
            ([np.array([0.5])] + PARTS[1:], "0.5")]:
        assert part in by_convert(train=arrays[0], valid=arrays[1], test=arrays[2]), part
        assert part in by_python(*arrays), part
    assert "'train_mask' is left out, because 'train' gives" in told_by(train=PARTS[0], train_mask=PARTS[1],
                                                                         valid=PARTS[1], test=PARTS[2])


def told_by(**arrays):
    np.savez("in.npz", vertices=N, edges=RING.T, **arrays)
    code, told = convert("in.npz")
    assert code == 0, told
    return told


def check_npy_splits():
    np.savez("edges.npz", vertices=N, edges=RING.T)

    def split(array):
        np.save("s.npy", array)
        code, told = convert("edges.npz", "--splits", "s.npy")
        assert code in (0, 65), told
        return np.load("c/split.npy") if code == 0 else told

    for dtype in NUMBERS:
        one = PARTS[0].astype(dtype)
        assert "a mask of one part; which? Name the parts" in split(one), dtype
        assert "masks of 2 parts" in split(np.stack([one, one])), dtype
        three = np.stack(PARTS).astype(dtype)
        for turned in (three, three.T, np.asfortranarray(three)):
            assert np.array_equal(split(turned), CODES), dtype
        if dtype == "bool" or dtype.endswith("u1") or dtype == "uint8":
            continue
        codes = CODES.astype(dtype)
        several = np.stack([codes, np.roll(codes, 1)])
        for given, expected in [(codes, CODES), (several, np.stack([CODES, np.roll(CODES, 1)])),
                                (several.T, np.stack([CODES, np.roll(CODES, 1)])), (codes[:, None], CODES)]:
            assert np.array_equal(split(given), expected), dtype
    assert np.array_equal(split(np.zeros(N, dtype=np.int64)), np.zeros(N))
    assert "vertex 6 is in train already" in split(np.stack([PARTS[0], PARTS[0], PARTS[1]]))
    os.makedirs("lists", exist_ok=True)
    for name, part in zip(("train", "val", "test"), PARTS):  # masks in a folder of lists
        np.save("lists/%s.npy" % name, part)
    code, told = convert("edges.npz", "--splits", "lists")
    assert code == 0 and np.array_equal(np.load("c/split.npy"), CODES), told
    np.savetxt("lists/train.csv", PARTS[0].astype(int), fmt="%d")
    code, told = convert("edges.npz", "--splits", "lists")
    assert code == 0 and np.array_equal(np.load("c/split.npy"), CODES), told
    np.save("lists/valid.npy", PARTS[1])
    code, told = convert("edges.npz", "--splits", "lists")
    assert code == 65 and "lists/valid.npy and lists/val.npy: two lists of the valid part" in told, told


# ---- labels ----

def labels_by_both(y, classes=None):
    """What convert and write_store say of labels, and the arrays that they make (None where refused)."""
    np.savez("edges.npz", vertices=N, edges=RING.T)
    np.save("y.npy", y)
    code, told = convert("edges.npz", "--labels", "y.npy", *([] if classes is None else ["--classes", str(classes)]))
    made, manifest = (None, None) if code != 0 else (load_labels("c"), json.load(open("c/manifest.json")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            written = weft_store.write_store("p", RING, None, y, num_classes=classes, force=True, quiet=True)
            python, words = load_labels("p"), [str(warning.message) for warning in caught]
        except ValueError as error:
            written, python, words = None, None, [str(error)]
    return (made, told, manifest), (python, "\n".join(words), written)


def load_labels(store):
    return np.load(store + ("/label.npy" if os.path.exists(store + "/label.npy") else "/target.npy"))


def check_labels():
    three = np.arange(N) % 3
    with_gap = np.where(three == 2, 255, three)
    for dtype in NUMBERS:
        kinds = [(three, None, "")]
        if dtype not in ("bool", "int8"):
            kinds.append((with_gap, None, "is 255 \"ignore\"?"))
        if np.dtype(dtype).kind in "if":
            kinds.append((np.where(three == 0, -1, 1), None, "the labels are -1 and 1 alone"))
        kinds.append((three * 0, None, "of one class (0)"))
        for y, classes, word in kinds:
            for shape in ((N,), (N, 1)) if dtype == "int64" else ((N,),):
                given = (y > 0 if dtype == "bool" else y).astype(dtype).reshape(shape)
                for made, told, _ in labels_by_both(given, classes):
                    assert word in told, (dtype, word, told)
                    assert (made is None) == ("alone" in word), (dtype, told)
                    assert made is None or np.array_equal(made, given.reshape(-1).astype(np.int64)), dtype
    hole = np.where(three == 1, 1000000, three)
    for made, told, facts in labels_by_both(hole):
        assert "3 of 1000001 classes occur" in told and facts["classes"] == 1000001 and np.array_equal(made, hole), told
    unknown = np.where(three == 0, np.nan, 1.0)  # positive or unknown: no signs
    for made, told, facts in labels_by_both(unknown):
        assert "of one class" in told and "alone" not in told, told
    for made, told, facts in labels_by_both(np.where(three == 0, -1, 1), classes=2):
        assert facts["classes"] == 2 and np.array_equal(made, np.where(three == 0, -1, 1)), told
        assert "one class" not in told
    # A part of a larger graph keeps its classes.
    for made, told, facts in labels_by_both(three + 1, classes=7):
        assert facts["classes"] == 7 and np.array_equal(made, three + 1), told
    for made, told, facts in labels_by_both(three + 1, classes=3):
        assert made is None and "3" in told, told
    (made, told, facts), (python, words, written) = labels_by_both(three + 1)
    assert np.array_equal(made, three) and "labels 1 to 3 are stored as 0 to 2 (--classes 4 keeps" in told
    assert np.array_equal(python, three + 1) and written["classes"] == 4 and "labels 1 to 3? Hand in y - 1" in words
    (made, told, facts), _ = labels_by_both(2 * three + 1)  # 1, 3, 5: of a larger graph, perhaps
    assert np.array_equal(made, 2 * three + 1) and "3 of 6 classes occur" in told


def check_words():
    words = np.array(["tea", "\u00e9clair", "cat"])[np.arange(N) % 3]
    unlabelled = words.astype(object)
    unlabelled[3] = None
    for y, first in ((words, 1), (words.tolist(), 1), (words[:, None], 1), (np.char.encode(words, "utf-8"), 1),
                     (unlabelled, -1), (np.where(np.arange(N) == 3, "", words), -1)):
        weft_store.write_store("words", RING, None, y, force=True, quiet=True)
        store = weft_store.read_store("words")
        assert store["class_name"] == ["cat", "tea", "\u00e9clair"]
        assert store["label"][:3].tolist() == [1, 2, 0] and store["label"][3] == first
    weft_store.write_store("words", RING, None, words, class_names=["tea", "cat", "\u00e9clair", "dog"], force=True, quiet=True)
    assert weft_store.read_store("words")["label"][:3].tolist() == [0, 2, 1]
    assert weft_store.read_manifest("words")["classes"] == 4
    try:
        weft_store.write_store("bad", RING, None, words, class_names=["tea", "cat"])
    except ValueError as error:
        assert "y, row 1: '\u00e9clair' is none of class_names" in str(error), error
    else:
        raise AssertionError("a word that is no class was taken")
    missing = words.tolist()
    missing[3] = float("nan")  # as pandas has it; NumPy would make the word nan of it
    for y, class_names in ((missing, None), (missing, ["cat", "tea", "e\u0301clair"]),
                           ([word.replace("\u00e9", "e\u0301") if i > 5 else word for i, word in enumerate(missing)], None)):
        weft_store.write_store("words", RING, None, y, class_names=class_names, force=True, quiet=True)
        store = weft_store.read_store("words")
        assert len(store["class_name"]) == 3 and store["label"][:7].tolist() == [1, 2, 0, -1, 2, 0, 1], store["label"]
    for y, expected in ((np.where(np.arange(N) == 3, "nan", words), "LabelWarning: y: 'nan' is a class here"),
                        (np.stack([words, words], axis=1), "ValueError: y: words (%d, 2), expected one column" % N),
                        (np.ma.masked_equal(np.arange(N) % 3, 2), "ValueError: a masked array")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                weft_store.write_store("words", RING, None, y, force=True, quiet=True)
                said = "nothing"
            except (ValueError, weft_store.LabelWarning) as error:
                said = "%s: %s" % (type(error).__name__, error)
        assert said.startswith(expected), said
    code, told = convert("edges.npz", "--labels", save("w.npy", words))
    assert code == 65 and "w.npy: holds text; classes in words" in told, told


def check_tasks():
    hot = np.eye(3)[np.arange(N) % 3]
    for dtype in ("float32", "float64", "bool", "int64", ">i4"):
        for made, told, facts in labels_by_both(hot.astype(dtype)):
            assert "every row has exactly one 1: classes?" in told and "argmax" in told, told
            assert facts["tasks"] == 3 and facts["classes"] == 0 and np.array_equal(made, hot)
    blank = hot.copy()
    blank[3] = np.nan  # an unlabelled row
    for made, told, facts in labels_by_both(blank):
        assert "every row has exactly one 1" in told, told
    both = hot.copy()
    both[0] = 1
    for made, told, facts in labels_by_both(both):
        assert "exactly one 1" not in told and facts["tasks"] == 3, told
    for made, told, facts in labels_by_both(np.where(hot == 1, 1, np.nan)):
        assert "no task has both labels" in told and facts["tasks"] == 3, told
    for made, told, facts in labels_by_both(hot, classes=3):
        assert made is None and "argmax" in told, told
    for made, told, facts in labels_by_both(np.where(hot == 1, 1, -1)):
        assert made is None and "0 or 1" in told, told
    assert "3 binary tasks" in convert("edges.npz", "--labels", save("hot.npy", hot))[1]
    assert "no labels" in convert("edges.npz")[1]


def save(name, array):
    np.save(name, array)
    return name


# ---- .npz of PyTorch Geometric, weights, orders ----

def check_pyg_archive():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(N, 5)).astype(np.float32), np.arange(N) % 3
    weight = (np.arange(N) + 1) / 4
    weft_store.write_store("want", RING, x, y, *PARTS, edge_weight=weight, quiet=True, force=True)
    names = {"x": x, "y": y, "train_mask": PARTS[0], "val_mask": PARTS[1], "test_mask": PARTS[2]}
    # numpy.savez writes the transpose of an array in Fortran order.
    for edges in (RING, np.ascontiguousarray(RING.T).T, RING.astype(">i4")):
        for extra in ({"edge_weight": weight}, {"edge_attr": weight[:, None].astype(">f8")}):
            np.savez("pyg.npz", edge_index=edges, **names, **extra)
            code, told = convert("pyg.npz", "--edge-weights", "input")
            assert code == 0 and "else dropped" not in told, told
            for array in ("offset", "source", "weight", "feature", "label", "split"):
                assert np.array_equal(np.load("c/%s.npy" % array), np.load("want/%s.npy" % array)), array
            assert "else dropped" in convert("pyg.npz")[1]
    np.savez("bare.npz", edge_index=RING)
    for options, vertices in [((), N), (("--vertices", "30"), 30)]:
        assert convert("bare.npz", *options)[0] == 0 and len(np.load("c/offset.npy")) == vertices + 1
    np.savez("bare.npz", edge_index=RING, num_nodes=np.array(26), labels=np.zeros((26, 1)))
    assert convert("bare.npz")[0] == 0 and len(np.load("c/offset.npy")) == 27
    assert "--vertices 30: bare.npz[num_nodes] is 26" in convert("bare.npz", "--vertices", "30")[1]
    for bad, part in [({"edge_index": RING.T.copy()}, "expected 2: sources and destinations (the transpose of this array)"),
                      ({"edge_index": np.asfortranarray(RING + 1), "x": x}, "24: vertices are 0 to 23"),
                      ({"edge_index": RING, "num_nodes": np.array(0)}, "no vertices"),
                      ({"edge_index": RING, "x": x[:20]}, "20: vertices are 0 to 19")]:
        np.savez("bad.npz", **bad)
        code, told = convert("bad.npz")
        assert code == 65 and part in told and "bad.npz" in told, told


def check_orders():
    x, y = np.arange(4 * N, dtype=np.float64).reshape(N, 4), np.arange(N) % 3
    np.savez("edges.npz", vertices=N, edges=RING.T)
    convert("edges.npz", "--features", save("x.npy", x.astype("<f4")), "--labels", save("y.npy", y))
    want = {name: np.load("c/%s.npy" % name) for name in ("offset", "source", "feature", "label")}
    for dtype in (">f8", ">f2", ">u4"):
        for order in ("C", "F"):
            features = save("x.npy", np.array(x.astype(dtype), order=order))
            np.savez("x.npz", features=np.array(x.astype(dtype), order=order))
            np.savez("in.npz", vertices=np.array(N, dtype=">i8"), labels=y.astype(">i2"),
                     edges=np.array(RING.T.astype(">i4"), order=order), features=np.array(x.astype(dtype), order=order))
            for arguments in (("edges.npz", "--features", features, "--labels", save("y.npy", y.astype(">i2"))),
                              ("edges.npz", "--features", "x.npz", "--labels", "in.npz"), ("in.npz",)):
                code, told = convert(*arguments)
                assert code == 0, told
                for name, array in want.items():
                    assert np.array_equal(np.load("c/%s.npy" % name), array), (dtype, order, name)


# ---- Python alone ----

def check_sparse():
    try:
        import scipy.sparse as sparse
    except ImportError:
        print("part skipped: SciPy is not installed")
        return
    x = np.where(np.arange(4 * N).reshape(N, 4) % 5 == 0, 1.5, 0)
    weft_store.write_store("dense", RING, x, np.arange(N) % 2, quiet=True)
    for kind in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        for form in ("_matrix", "_array"):
            made = getattr(sparse, kind + form)(x)
            manifest = weft_store.write_store("sparse", RING, made, np.arange(N) % 2, force=True, quiet=True)
            assert manifest["features"] == 4 and np.array_equal(weft_store.read_store("sparse")["feature"], np.load("dense/feature.npy"))
            wide = np.zeros((N, 50), np.float32)
            wide[np.arange(N), np.arange(N) * 7 % 50] = np.arange(N)  # one of them is 0
            manifest = weft_store.write_store("wide", RING, getattr(sparse, kind + form)(wide), force=True, quiet=True)
            assert manifest["feature_numbers"] == N - 1 and not os.path.exists("wide/feature.npy")
            assert np.array_equal(weft_store.read_store("wide", verify=True)["feature"], wide)
    for bad in (3.0, np.float32(3)):
        try:
            weft_store.write_store("bad", RING, bad)
        except ValueError as error:
            assert "expected a row for each vertex" in str(error)
        else:
            raise AssertionError("a number as x was taken")


def check_dgl_names():
    graph = types.SimpleNamespace(edges=lambda: (RING[0], RING[1]), num_nodes=lambda: N, edata={},
                                  ndata={"feat": np.eye(N), "y": np.arange(N) % 3, "train": PARTS[0]})
    manifest = weft_store.from_dgl(graph, "dgl", label="y", train="train", quiet=True)
    assert manifest["classes"] == 3 and manifest["splits"] == 1 and manifest["features"] == N
    assert weft_store.from_dgl(graph, "dgl", quiet=True, force=True)["classes"] == 0
    for argument in ("feature", "label", "train", "valid", "test", "weight"):
        try:
            weft_store.from_dgl(graph, "bad", **{argument: "topic"})
        except ValueError as error:
            assert argument in str(error) and "'topic'" in str(error) and "it has" in str(error), error
            assert argument == "weight" or "'feat', 'y', 'train'" in str(error), error
        else:
            raise AssertionError("%s='topic' was taken" % argument)
    assert not os.path.exists("bad")


for check in [check_masks, check_lists, check_npy_splits, check_labels, check_words, check_tasks, check_pyg_archive, check_orders,
              check_sparse, check_dgl_names]:
    check()
    print("%s: ok" % check.__name__)
