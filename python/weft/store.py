"""weft_store: graph stores, metrics and checkpoints of Weft, read and written from Python.

One file that needs NumPy alone (Python 3.8, NumPy 1.17 or later): copy it beside your script, or put its folder on
PYTHONPATH. PyTorch, PyG and DGL are used only if you hand their objects in. Edges, duplicates and self-loops are treated
as `weft convert` treats them by default; lines on stderr say what a store holds, unless quiet=True.

    import weft_store

    weft_store.write_store("g.weft", edge_index, x, y, train_mask, val_mask, test_mask)
    weft_store.from_pyg(data, "g.weft")                 # a torch_geometric.data.Data
    weft_store.from_dgl(graph, "g.weft")                # a homogeneous DGLGraph

    graph = weft_store.read_store("g.weft")             # arrays by name, memory-mapped
    metrics = weft_store.read_metrics("weft-run-0001")  # one column for each figure
    best = metrics["epoch"][metrics["valid"].argmax()]
    model = weft_store.read_checkpoint("weft-run-0001")["parameters"]
    weft_store.write_weights("start.npz", model)        # for weft train --init-weights

Formats: docs/formats.md. A store is written into a temporary folder beside its goal and renamed: there is a whole store
or none. What is wrong with an argument raises ValueError with array, row and value; a damaged file raises ValueError
(OSError, if it cannot be read) with the file's name; an object of another type than expected raises TypeError.
"""

import contextlib
import json
import os
import re
import shutil
import sys
import time
import unicodedata
import warnings
import zlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

__all__ = ["read_store", "read_manifest", "edge_index_of", "write_store", "from_pyg", "from_dgl", "EdgeDataWarning",
           "LabelWarning", "read_metrics", "read_checkpoint", "write_weights"]

FORMAT, VERSION, VERSION_WEIGHTED, VERSION_THIRD = "weft-graph", 1, 2, 3
ARRAYS = ("offset", "source", "weight", "feature", "feature_offset", "feature_column",
          "feature_value", "label", "target", "split", "class_name", "vertex_name")
TRAIN, VALID, TEST, NONE = 0, 1, 2, 255
_PathLike = Union[str, "os.PathLike[str]"]


# ---- checksums -----------------------------------------------------------------------------------------------------


def _file_crc(path: str) -> str:
    """CRC-32 of a file as 8 hex digits, which Weft writes beside its XXH3-128."""
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            crc = zlib.crc32(piece, crc)
    return "%08x" % crc


def _check_sum(path: str, entry: Mapping[str, Any]) -> None:
    """Compare a file with the checksum of its entry; an entry of an older Weft has none that Python computes."""
    if "crc32" not in entry:
        if "xxh3" in entry:
            warnings.warn("%s: was written by an older Weft and has no CRC-32: not verified here; weft info STORE --check "
                          "verifies it" % path, stacklevel=4)
        return
    found = _file_crc(path)
    if found != entry["crc32"]:
        raise ValueError("%s: checksum %s, the manifest says %.100s" % (path, found, entry["crc32"]))


# ---- reading a store -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Whatever a damaged file makes Python or NumPy raise becomes a ValueError that begins with the file's name; an OSError
    has that name and stays."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from None
    except Exception as error:
        told = str(error) or type(error).__name__
        raise ValueError(told if told.startswith(path + ": ") else "%s: %s" % (path, told)) from None


def _read_json(path: str) -> Dict[str, Any]:
    with _reading(path):
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        if not isinstance(value, dict):
            raise ValueError("is not a JSON object")
        return value


def _plain_name(plain: Any) -> str:
    if not isinstance(plain, str) or not plain or plain[0] == "." or "/" in plain:
        raise ValueError("file %.100r is not a plain file name" % (plain,))
    return plain


def read_manifest(path: _PathLike) -> Dict[str, Any]:
    """The store's manifest.json, its format and version checked; counts that it leaves out are 0."""
    name = os.path.join(os.fspath(path), "manifest.json")
    manifest = _read_json(name)
    if manifest.get("format") != FORMAT or manifest.get("version") not in range(VERSION, VERSION_THIRD + 1):
        raise ValueError("%s: format %r, version %r; expected %r, %d to %d" %
                         (name, manifest.get("format"), manifest.get("version"), FORMAT, VERSION, VERSION_THIRD))
    for key in ("vertices", "edges", "features", "classes", "tasks", "splits"):
        value = manifest.setdefault(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError("%s: %r is %.100r, expected a count" % (name, key, value))
    entries = manifest.setdefault("arrays", {})
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise ValueError("%s: 'arrays' is not an object of objects" % name)
    return manifest


def _expected(manifest: Dict[str, Any]) -> Dict[str, Tuple[Tuple[str, ...], Tuple[int, ...]]]:
    """Types and shape of each array that the counts ask for."""
    n, splits = manifest["vertices"], manifest["splits"]
    arrays = {"offset": (("int64",), (n + 1,)), "source": (("int32", "int64"), (manifest["edges"],))}
    if manifest.get("weighted"):
        arrays["weight"] = (("float32",), (manifest["edges"],))
    numbers = manifest.get("feature_numbers", -1)
    if numbers >= 0:
        arrays["feature_offset"] = (("int64",), (n + 1,))
        arrays["feature_column"], arrays["feature_value"] = (("int32",), (numbers,)), (("float32",), (numbers,))
    elif manifest["features"]:
        arrays["feature"] = (("float32",), (n, manifest["features"]))
    if manifest["classes"]:
        arrays["label"] = (("int32",), (n,))
    if manifest["tasks"]:
        arrays["target"] = (("float32",), (n, manifest["tasks"]))
    if splits:
        arrays["split"] = (("uint8",), (n,) if splits == 1 else (splits, n))
    for name in ("class_name", "vertex_name"):
        if manifest.get(name + "s"):
            arrays[name] = (("uint8",), (None,))
    return arrays


def _load(file: str, types: Sequence[str], shapes: Sequence[Tuple[int, ...]], mmap: bool) -> np.ndarray:
    """The array of a .npy file, of one of these types and shapes."""
    with _reading(file):
        array = np.load(file, mmap_mode="r" if mmap else None, allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("holds several arrays, expected one")
        if None in shapes[0] and array.ndim == 1:
            shapes = [array.shape]
        if array.dtype.name not in types or array.shape not in shapes:
            raise ValueError("holds %s %s, expected %s %s" % (array.dtype, array.shape, types[0], shapes[0]))
        return array


def _names_text(what: str, names: Sequence[str], count: int) -> np.ndarray:
    """uint8: the names, each followed by a line feed."""
    if len(names) != count:
        raise ValueError("%s: %d names, expected %d" % (what, len(names), count))
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name or re.search("[\0-\x1f\x7f-\x9f\ud800-\udfff]", name):
            raise ValueError("%s[%d]: %.60r: expected a text without control characters" % (what, i, name))
    return np.frombuffer("".join(name + "\n" for name in names).encode("utf-8"), dtype=np.uint8)


def _read_names(file: str, array: np.ndarray, count: int) -> List[str]:
    try:
        names = array.tobytes().decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise ValueError("%s: is not UTF-8" % file) from None
    if names.pop() != "" or len(names) != count:
        raise ValueError("%s: %d names, each ending in a line feed; expected %d" % (file, len(names), count))
    return names


def _spread(arrays: Dict[str, np.ndarray], features: int) -> np.ndarray:
    """float32 [n, features] of sparse features."""
    offset, column = arrays["feature_offset"], arrays["feature_column"]
    n = len(offset) - 1
    if offset[0] != 0 or offset[n] != len(column) or (np.diff(offset) < 0).any():
        raise ValueError("feature_offset: does not ascend from 0 to %d" % len(column))
    _first_bad("feature_column", (column >= 0) & (column < features), column, "is outside 0..%d" % (features - 1))
    dense = np.zeros((n, features), dtype=np.float32)
    dense[np.repeat(np.arange(n), np.diff(offset)), column] = arrays["feature_value"]
    return dense


def read_store(path: _PathLike, *, mmap: bool = True, verify: bool = False, sparse: bool = False) -> Dict[str, np.ndarray]:
    """The arrays of a graph store by name: offset, source and, where there are such, weight, feature, label, target, split;
    and class_name, vertex_name: lists of texts.

    mmap: map them read-only instead of loading them. verify: compare the checksums of the manifest (reads every byte).
    sparse: features that the store holds sparse come as feature_offset, feature_column and feature_value, which are the
    indptr, indices and data of a scipy.sparse.csr_matrix; otherwise they are spread out in "feature".
    Row v, the sources u of the edges u -> v, is source[offset[v]:offset[v + 1]].
    """
    folder, manifest = os.fspath(path), read_manifest(path)
    arrays = {}
    with _reading(os.path.join(folder, "manifest.json")):
        expected = _expected(manifest)
    for name, (types, shape) in expected.items():
        entry = manifest["arrays"].get(name, {})
        with _reading(os.path.join(folder, "manifest.json")):
            file = os.path.join(folder, _plain_name(entry.get("file", name + ".npy")))
        if verify:
            _check_sum(file, entry)
        shapes = [shape, (1,) + shape] if name == "split" else [shape]
        arrays[name] = _load(file, types, shapes, mmap and 0 not in shape and None not in shape)
    if "feature_offset" in arrays and not sparse:
        with _reading(os.path.join(folder, "feature_offset.npy")):
            arrays["feature"] = _spread(arrays, manifest["features"])
        del arrays["feature_offset"], arrays["feature_column"], arrays["feature_value"]
    for name, count in (("class_name", manifest["classes"] + manifest["tasks"]), ("vertex_name", manifest["vertices"])):
        if name in arrays:
            arrays[name] = _read_names(os.path.join(folder, name + ".npy"), arrays[name], count)
    return arrays


def edge_index_of(store: Dict[str, np.ndarray]) -> np.ndarray:
    """int64 [2, e]: sources and destinations, as PyG writes them, ascending by destination."""
    offset, source = store["offset"], store["source"]
    destination = np.repeat(np.arange(len(offset) - 1, dtype=np.int64), np.diff(offset))
    return np.stack([source.astype(np.int64), destination])


# ---- writing a store -----------------------------------------------------------------------------------------------


def _array(value: Any) -> np.ndarray:
    """A NumPy array of an array, list, PyTorch tensor (any device), or dense copy of a sparse matrix."""
    for method in ("detach", "cpu"):
        value = getattr(value, method)() if hasattr(value, method) else value
    if getattr(value, "is_sparse", False) or "sparse" in str(getattr(value, "layout", "")):  # PyTorch: COO, CSR, ...
        value = value.to_dense()
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError("a masked array, of which entries are hidden: hand in value.filled(...), with -1 or NaN for labels")
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _rows(name: str, value: Any) -> int:
    """The length of the first dimension; SciPy's sparse matrices have no len()."""
    shape = getattr(value, "shape", None)
    if (shape is None and not hasattr(value, "__len__")) or (shape is not None and len(shape) == 0):
        raise ValueError("%s: %.100r, expected a row for each vertex" % (name, value))
    return len(value) if shape is None else int(shape[0])


def _first_bad(name: str, good: np.ndarray, value: np.ndarray, what: str) -> None:
    if not good.all():
        at = np.unravel_index(int(np.argmin(good)), good.shape)
        place = ", ".join("%s %d" % pair for pair in zip(("row", "column"), at))
        raise ValueError("%s, %s: %s %s" % (name, place, value[at], what))


# What to do with an object that is not what was expected, by the name of its class or of one that it comes from.
_CURES = {"HeteroData": "a store has one type of vertices and one of edges; data.to_homogeneous() makes such a graph",
          "dict": "a store is one graph with one type of vertices and one of edges",
          "DGLGraph": "from_dgl(graph, path) writes it", "Data": "from_pyg(data, path) writes it",
          "Dataset": "hand in one of its graphs, dataset[0]", "DGLDataset": "hand in one of its graphs, dataset[0]",
          "Graph": "number its vertices from 0, then write_store(path, np.array(list(graph.edges())).T)",
          "SparseTensor": "row, col, _ = adj.coo(), then write_store(path, (row, col)), or (col, row) of an adj_t",
          "Tensor": "write_store(path, edge_index) takes edges alone, matrix.to_sparse_coo().coalesce().indices()",
          "spmatrix": "write_store(path, matrix.nonzero())", "sparray": "write_store(path, matrix.nonzero())",
          "ndarray": "write_store(path, edge_index) takes edges alone"}


def _refuse(name: str, value: Any, expected: str) -> None:
    """TypeError with the type of `value`, and its text where it is a path."""
    kind = type(value)
    told = kind.__qualname__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)
    told += " %.100r" % (value,) if isinstance(value, (str, bytes, os.PathLike)) else ""
    cure = next((": " + _CURES[base.__name__] for base in kind.__mro__ if base.__name__ in _CURES), "")
    raise TypeError("%s is of type %s, expected %s%s" % (name, told, expected, cure))


def _edge_rows(edge_index: Any) -> Sequence[np.ndarray]:
    """Sources and destinations of an array [2, e] or of two arrays [e]; those are not copied."""
    several = isinstance(edge_index, (tuple, list))
    sparse = getattr(edge_index, "is_sparse", False) or getattr(edge_index, "is_sparse_csr", False)
    if sparse or not (several or hasattr(edge_index, "__array__")):
        _refuse("edge_index", edge_index, "integers [2, e]")
    pair = several and len(edge_index) == 2 and all(hasattr(row, "shape") for row in edge_index)
    arrays = [_array(part) for part in (edge_index if pair else [edge_index])]
    if not pair and arrays[0].size == 0:
        arrays = [np.zeros((2, 0), dtype=np.int64)]
    rows = arrays if pair else arrays[0] if arrays[0].ndim == 2 and len(arrays[0]) == 2 else ()
    if len(rows) != 2 or any(row.dtype.kind not in "iu" or row.shape != (rows[0].size,) for row in rows):
        told = " and ".join("%s %s" % (array.dtype, array.shape) for array in arrays)
        turned = " (the transpose of this)" if arrays[0].shape[1:] == (2,) else ""
        raise ValueError("edge_index: %s, expected integers [2, e]: sources, destinations%s" % (told, turned))
    return rows


def _check_edges(edge_index: Any, num_nodes: Optional[int], rows: Sequence[int]) -> Tuple[Sequence[np.ndarray], int]:
    edges = _edge_rows(edge_index)
    most = [int(ids.max()) if ids.size else -1 for ids in edges]
    n = num_nodes if num_nodes is not None else max([most[0] + 1, most[1] + 1, *rows])
    if not 1 <= n <= 2**31 - 1:
        raise ValueError("%d vertices; a store is written with 1 to 2147483647" % n)
    for row, ids in enumerate(edges):
        if most[row] >= n or (ids.size and int(ids.min()) < 0):
            at = int(np.argmax((ids < 0) | (ids >= n)))
            raise ValueError("edge_index, row %d, column %d: vertex %d is outside 0..%d" % (row, at, ids[at], n - 1))
    return edges, n


# ---- edges in order ------------------------------------------------------------------------------------------------
#
# An edge is a key of 64 bits, the destination above the source: ascending keys are the rows of the store. They are
# sorted in place; all else goes over them in pieces that stay in the cache. Equal neighbours are dropped. A graph is
# symmetric when its degrees agree and its edges to higher ids, turned and sorted, are its edges to lower ids. (The hash
# table of np.unique, since NumPy 2.3, takes a hundred times as long as the sort.)

_PIECE_EDGES = 1 << 17
_HIGH, _LOW = (1, 0) if sys.byteorder == "little" else (0, 1)


def _pieces(*arrays: np.ndarray) -> Iterator[Tuple[np.ndarray, ...]]:
    for first in range(0, len(arrays[0]), _PIECE_EDGES):
        yield tuple(array[first:first + _PIECE_EDGES] for array in arrays)


def _halves(keys: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The upper and the lower 32 bits, as views."""
    pairs = keys.view(np.uint32).reshape(-1, 2)
    return pairs[:, _HIGH], pairs[:, _LOW]


def _put(keys: np.ndarray, at: int, upper: np.ndarray, lower: np.ndarray) -> int:
    """Keys of these halves at keys[at:]; where they end."""
    end = at + len(upper)
    high, low = _halves(keys[at:end])
    high[:], low[:] = upper, lower
    return end


def _put_turned(out: np.ndarray, at: int, keys: np.ndarray, chosen: Any) -> int:
    """At out[at:], sorted, the reverses of the edges for which chosen(upper, lower) holds; where they end."""
    end = at
    for (piece,) in _pieces(keys):
        upper, lower = _halves(piece)
        mask = chosen(upper, lower)
        end = _put(out, end, lower[mask], upper[mask])
    out[at:end].sort()
    return end


def _drop_repeats(keys: np.ndarray) -> int:
    """Move sorted keys to the front, each once; how many these are."""
    end, last = 0, None
    for (piece,) in _pieces(keys):
        new = np.empty(len(piece), dtype=bool)
        new[0] = last is None or piece[0] != last
        np.not_equal(piece[1:], piece[:-1], out=new[1:])
        last, kept = piece[-1], piece[new]
        keys[end:end + len(kept)] = kept
        end += len(kept)
    return end


def _ascend(upper: np.ndarray, lower: np.ndarray) -> bool:
    """Whether the keys of these halves would be in order. Of those that are not, the first piece mostly says so."""
    last = (-1, -1)
    for a, b in _pieces(upper, lower):
        if (a[0], b[0]) < last or not ((a[1:] > a[:-1]) | (a[1:] == a[:-1]) & (b[1:] >= b[:-1])).all():
            return False
        last = (a[-1], b[-1])
    return True


def _degrees(ids: np.ndarray, n: int) -> np.ndarray:
    total, step = np.zeros(n, dtype=np.int64), max(_PIECE_EDGES, n)
    for first in range(0, len(ids), step):
        total += np.bincount(ids[first:first + step], minlength=n)
    return total


def _is_symmetric(keys: np.ndarray, degree: np.ndarray) -> bool:
    upper, lower = _halves(keys)
    if not np.array_equal(_degrees(lower, len(degree)), degree):
        return False
    turned = np.empty(len(keys), dtype=np.uint64)  # pages that nothing is written to take no memory
    count, at = _put_turned(turned, 0, keys, np.greater), 0
    for piece, a, b in _pieces(keys, upper, lower):
        rest = piece[a < b]
        if not np.array_equal(rest, turned[at:min(at + len(rest), count)]):
            return False
        at += len(rest)
    return at == count


def _sorted_rows(source: np.ndarray, destination: np.ndarray, n: int, symmetrize: bool,
                 self_loops: bool) -> Tuple[np.ndarray, np.ndarray, Dict[str, int]]:
    """offset, source, and counts: loops and repeats dropped, symmetric (1 = was so before), reverses added."""
    # PyG and DGL mostly keep edges in order of their sources. Of a symmetric graph these are the same keys, and sorted.
    by_source = _ascend(source, destination)
    keys, end = np.empty(len(source) * (2 if symmetrize else 1), dtype=np.uint64), 0
    for upper, lower in _pieces(source, destination) if by_source else _pieces(destination, source):
        proper = slice(None) if self_loops else upper != lower
        end = _put(keys, end, upper[proper], lower[proper])
    if not by_source and not _ascend(*_halves(keys[:end])):
        keys[:end].sort()
    count = _drop_repeats(keys[:end])
    told = {"loops": len(source) - end, "repeats": end - count, "added": 0}
    degree = _degrees(_halves(keys[:count])[0], n)
    told["symmetric"] = int(_is_symmetric(keys[:count], degree))
    if not told["symmetric"] and symmetrize:
        end = _put_turned(keys, count, keys[:count], np.not_equal)
        keys[:end].sort(kind="stable")  # merges the two parts, which are in order
        end = _drop_repeats(keys[:end])
        told["added"], count = end - count, end
    elif not told["symmetric"] and by_source:
        _put_turned(keys, 0, keys[:count], lambda upper, lower: lower >= 0)
    upper, lower = _halves(keys[:count])
    offset = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(degree if told["symmetric"] else _degrees(upper, n), out=offset[1:])
    return offset, lower.astype(np.int32), told


def _weights(edge_weight: Any, given: Sequence[np.ndarray], offset: np.ndarray, source: np.ndarray,
             both_ways: bool) -> Tuple[np.ndarray, bool]:
    """float32, one for each edge of the store, and whether both directions weigh the same. Self-loops that were dropped are
    passed over."""
    weight = _array(edge_weight)
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != (len(given[0]),) or weight.dtype.kind not in "biuf":
        raise ValueError("edge_weight: %s %s, expected numbers [%d]" % (weight.dtype, weight.shape, len(given[0])))
    weight = np.ascontiguousarray(weight, dtype="<f4")
    smallest = np.finfo(np.float32).tiny
    _first_bad("edge_weight", (weight == 0) | ((weight >= smallest) & np.isfinite(weight)), weight,
               "is no weight: 0, or from %g up" % smallest)
    destination = np.repeat(np.arange(len(offset) - 1, dtype=np.uint64), np.diff(offset))
    keys = destination << np.uint64(32) | source.astype(np.uint64)
    stored = np.full(len(source), np.nan, dtype=np.float32)
    ends = [np.asarray(end).astype(np.uint64) for end in given]
    for upper, lower in [ends[::-1], ends] if both_ways else [ends[::-1]]:
        wanted = upper << np.uint64(32) | lower
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        kept = keys[at] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        at, value = at[kept], weight[kept]
        before = stored[at]
        stored[at] = value
        differs = (stored[at] != value) | (~np.isnan(before) & (before != value))
        if differs.any():
            first = int(np.flatnonzero(kept)[np.argmax(differs)])
            raise ValueError("edge_weight, row %d: the edge %d -> %d has other weights too: add up what comes twice%s" %
                             (first, given[0][first], given[1][first],
                              ", or keep directions that differ apart with symmetrize=False" if both_ways else ""))
    turned = np.searchsorted(keys, source.astype(np.uint64) << np.uint64(32) | destination)
    turned = np.minimum(turned, max(len(keys) - 1, 0))
    return stored, bool(np.all(stored[turned] == stored)) if len(keys) else True


def _feature(x: Any, n: int) -> np.ndarray:
    feature = _array(x)
    if feature.ndim != 2 or feature.shape[0] != n or feature.shape[1] == 0 or feature.dtype.kind not in "biuf":
        raise ValueError("x: %s %s, expected numbers [%d, f]" % (feature.dtype, feature.shape, n))
    feature = np.ascontiguousarray(feature, dtype="<f4")
    _first_bad("x", np.isfinite(feature), feature, "is not finite")
    return feature


def _sparse_feature(x: Any, n: int) -> Optional[Dict[str, np.ndarray]]:
    """The arrays of a sparse matrix of SciPy; None where x is none, or would take fewer bytes whole."""
    if not hasattr(x, "tocsr") or x.ndim != 2 or x.shape[0] != n or x.shape[1] == 0 or x.dtype.kind not in "biuf":
        return None
    x = x.tocsr().astype("<f4")  # copies
    x.sum_duplicates()
    _first_bad("x", np.isfinite(x.data), x.data, "is not finite")
    x.eliminate_zeros()
    if 8 * (n + x.nnz) >= 4 * n * x.shape[1]:
        return None
    return {"feature_offset": x.indptr.astype("<i8"), "feature_column": x.indices.astype("<i4"), "feature_value": x.data}


class LabelWarning(UserWarning):
    """Labels that look as if they meant something else: one class, classes without a vertex, one-hot rows."""


def _warn(text: str) -> None:
    warnings.warn("y: " + text, LabelWarning, stacklevel=5)


def _occurring(label: np.ndarray) -> np.ndarray:
    """The classes that have a vertex, ascending."""
    ordered = np.sort(label[label >= 0])
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])[:len(ordered)]]


def _judge_classes(label: np.ndarray, minus: bool) -> int:
    """How many classes there are; a word where they look unlike classes. minus: -1 stands in the labels given."""
    ids = _occurring(label)
    if len(ids) == 0:
        _warn("no vertex has a label")
        return 1
    classes = int(ids[-1]) + 1
    if minus and len(ids) == 1 and ids[0] == 1:
        raise ValueError("y: the labels are -1 and 1 alone. Two classes are 0 and 1: hand in (y > 0). If -1 means "
                         "unlabelled and 1 is a class, give num_classes=2")
    if len(ids) < classes:
        told = "%d of %d classes occur, %d without a vertex (the first: %d)" % (
            len(ids), classes, classes - len(ids), np.argmax(np.append(ids, -1) != np.arange(len(ids) + 1)))
        if len(ids) == classes - 1 and ids[0] == 1:
            told += "; labels 1 to %d? Hand in y - 1" % ids[-1]
        elif len(ids) > 1 and ids[-1] - ids[-2] > 1:
            told += "; is %d \"ignore\"? Then write -1 (unlabelled) for it" % ids[-1]
        _warn("%s. If the ids are meant so, num_classes=%d says it" % (told, classes))
    if len(ids) == 1:
        _warn("every labelled vertex is of one class (%d): there is nothing to learn" % ids[0])
    return classes


def _tasks(label: np.ndarray) -> np.ndarray:
    target = np.ascontiguousarray(label, dtype="<f4")
    _first_bad("y", ~np.isinf(target), target, "is not finite (NaN = unlabelled)")
    zero, one, unknown = target == 0, target == 1, np.isnan(target)
    _first_bad("y", unknown | ((target >= 0) & (target <= 1)), target, "is no task: 0 or 1 (NaN = unlabelled)")
    known = ~unknown.all(axis=1)
    if known.any() and (one | zero)[known].all() and (one[known].sum(axis=1) == 1).all():
        _warn("every row has exactly one 1: classes? It is taken as %d binary tasks; numpy.argmax(y, axis=1) makes "
              "classes of it" % target.shape[1])
    if not ((target < 1).any(axis=0) & (target > 0).any(axis=0)).any():
        _warn("no task has both labels, 0 and 1 (NaN = unlabelled): there is nothing to learn, and no ROC-AUC")
    return target


def _word_array(y: Any) -> np.ndarray:
    """_array, but for a list of words among which None or NaN stands: NumPy would turn NaN into the word nan."""
    several = isinstance(y, (list, tuple)) and any(isinstance(word, str) for word in y)
    return np.array(y, dtype=object) if several else _array(y)


def _one_spelling(word: Any) -> Any:
    """Letters that Unicode can spell in two ways are one (NFC), as `weft` compares names."""
    return unicodedata.normalize("NFC", word) if isinstance(word, str) else word


_MISSING_WORDS = ("na", "nan", "null", "none", "n/a", "<na>", "nat", "unlabeled", "unlabelled", "?", "-", ".")


def _warn_of_missing_words(names: Sequence[str]) -> None:
    told = [name for name in names if name.lower() in _MISSING_WORDS]
    if told:
        _warn("%r is a class here: if it stands for a label that is missing, hand in None or \"\" (unlabelled) for it" % told[0])


def _in_words(y: Any, names: Optional[Sequence[str]]) -> Tuple[Any, Optional[Sequence[str]]]:
    """Labels in words as numbers, and the classes' names: those given, or the words in the order of their bytes. Empty words,
    None and NaN are unlabelled. Other labels stay as they are."""
    label = _word_array(y)
    if label.dtype.kind == "S":
        label = np.char.decode(label, "utf-8")
    entries = [_one_spelling(word) for word in label.reshape(-1).tolist()] if label.dtype.kind in "UO" else []
    words = [word for word in entries if word and word == word]
    if not words or not all(isinstance(word, str) for word in words):
        return y, names
    if label.ndim == 2 and label.shape[1] > 1:
        raise ValueError("y: words %s, expected one column of classes; binary tasks are 0, 1 and NaN" % (label.shape,))
    if names is None:
        names = sorted(set(words))
        _warn_of_missing_words(names)
    names = list(names)
    number = {_one_spelling(name): i for i, name in enumerate(names)}
    for row, word in enumerate(entries):
        if word and word == word and word not in number:
            raise ValueError("y, row %d: %.60r is none of class_names" % (row, word))
    numbers = [number[word] if word and word == word else -1 for word in entries]
    return np.array(numbers, dtype=np.int64).reshape(label.shape), names


def _labels(y: Any, n: int, classes: Optional[int], names: Optional[Sequence[str]]) -> Tuple[str, np.ndarray, int]:
    """("label", int32 [n], classes) or ("target", float32 [n, tasks], tasks)."""
    label = _array(y)
    if label.ndim not in (1, 2) or label.shape[0] != n or label.size == 0 or label.dtype.kind not in "biuf":
        raise ValueError("y: %s %s, expected classes [%d] or tasks [%d, t]" % (label.dtype, label.shape, n, n))
    if label.ndim == 2 and label.shape[1] > 1:
        if classes is not None:
            raise ValueError("y: %s, which are %d binary tasks; num_classes is for one column of classes "
                             "(numpy.argmax(y, axis=1) of one-hot rows)" % (label.shape, label.shape[1]))
        return "target", _tasks(label), label.shape[1]
    label = label.reshape(-1)
    if classes is None and names is not None and not (label >= len(names)).any():
        classes = len(names)
    minus = label.dtype.kind in "if" and bool((label == -1).any())
    if label.dtype.kind == "f":
        label = np.where(np.isnan(label), -1, label)
        _first_bad("y", label == np.floor(label), label, "is not a class")
    allowed = classes if classes is not None else 2**31 - 1
    good = label < allowed if label.dtype.kind in "bu" else (label >= -1) & (label < allowed)
    _first_bad("y", good, label, "is outside -1..%d (-1 = unlabelled)" % (allowed - 1))
    label = np.ascontiguousarray(label, dtype="<i4")
    if classes == 1:
        _warn("every labelled vertex is of one class (0): there is nothing to learn")
    return "label", label, classes if classes is not None else _judge_classes(label, minus)


def _mask(name: str, array: np.ndarray, n: int, binary: bool) -> np.ndarray:
    """bool [k, n] of masks [n], [n, k] or [k, n]."""
    if array.ndim not in (1, 2) or n not in array.shape[:1] + array.shape[1:]:
        raise ValueError("%s: a mask %s, expected [%d], [%d, splits] or [splits, %d]" % (name, array.shape, n, n, n))
    if array.ndim == 2 and array.shape == (n, n) and n > 1:
        raise ValueError("%s: %s, as many splits as vertices: which dimension are the vertices? Hand in fewer splits at "
                         "a time" % (name, array.shape))
    if not binary:
        raise ValueError("%s: %s %s, expected a mask of 0 and 1, or a list of vertices" % (name, array.dtype, array.shape))
    return (array != 0).reshape(n, -1).T if array.shape[0] == n else array != 0


def _members(name: str, value: Any, n: int) -> np.ndarray:
    """bool [k, n] of masks or of a list of vertices. Arrays of bool and in two dimensions are masks; numbers [n] of 0 and 1
    are one if one of the two comes twice (a list names a vertex once), and always as uint8; others are lists."""
    array = _array(value)
    if array.dtype.kind not in "biuf":
        raise ValueError("%s: %s %s, expected a mask or a list of vertices" % (name, array.dtype, array.shape))
    if array.size == 0 and array.ndim == 1:
        return np.zeros((1, n), dtype=bool)
    zero, one = array == 0, array == 1
    byte = array.dtype == np.uint8
    binary = bool((zero | one).all() or (byte and (zero | (array == 255)).all()))
    twice = binary and (zero.sum() > 1 or one.sum() > 1 or (n == 1 and one.any()))
    if array.dtype.kind == "b" or array.ndim != 1 or (len(array) == n and binary and (twice or byte)):
        return _mask(name, array, n, binary)
    if twice:
        raise ValueError("%s: holds 0 and 1 alone, more than once: a mask has an entry for each of the %d vertices, this "
                         "has %d" % (name, n, len(array)))
    _first_bad(name, (array >= 0) & (array < n) & (array == np.floor(array)), array,
               "is outside 0..%d, or no whole number" % (n - 1) if array.dtype.kind == "f" else
               "is outside 0..%d" % (n - 1))
    mask = np.zeros((1, n), dtype=bool)
    mask[0, array.astype(np.int64)] = True
    return mask


def _split(parts: Sequence[Tuple[str, Any]], n: int) -> Optional[np.ndarray]:
    """uint8 [n] or [k, n] of the masks or lists that are given; None when none is."""
    given = [(name, code, _members(name, value, n)) for code, (name, value) in enumerate(parts) if value is not None]
    if not given:
        return None
    if given[0][0] != parts[0][0]:
        raise ValueError("%s is missing" % parts[0][0])
    k = max(mask.shape[0] for _, _, mask in given)
    split = np.full((k, n), NONE, dtype=np.uint8)
    for name, code, mask in given:
        if mask.shape[0] not in (1, k):  # ogbn-like data sets share one test mask among their splits
            raise ValueError("%s: %d splits, others have %d" % (name, mask.shape[0], k))
        mask = np.broadcast_to(mask, (k, n))
        taken = mask & (split != NONE)
        if taken.any():
            which, vertex = np.argwhere(taken)[0]
            raise ValueError("%s: vertex %d is in %s too (split %d)" %
                             (name, vertex, parts[int(split[which, vertex])][0], which))
        split[mask] = code
    return split[0] if k == 1 else split


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _save(folder: str, name: str, array: np.ndarray, checksums: bool) -> Dict[str, Any]:
    path = os.path.join(folder, name + ".npy")
    np.save(path, np.ascontiguousarray(array), allow_pickle=False)
    _sync(path)
    entry: Dict[str, Any] = {"file": name + ".npy", "dtype": array.dtype.name, "shape": list(array.shape),
                             "bytes": os.path.getsize(path)}
    if checksums:
        entry["crc32"] = _file_crc(path)
    return entry


def _check_goal(goal: str, force: bool) -> None:
    if not os.path.lexists(goal):
        return
    if not force:
        raise FileExistsError("%s: exists already; choose another name, or pass force=True" % goal)
    if not os.path.exists(os.path.join(goal, "manifest.json")) and (not os.path.isdir(goal) or os.listdir(goal)):
        raise FileExistsError("%s: exists and is not a graph store: not replaced" % goal)


def _commit(temporary: str, goal: str) -> None:
    _sync(temporary)
    if os.path.lexists(goal):
        aside = "%s.tmp-old-%d-%x" % (goal, os.getpid(), time.time_ns())
        os.rename(goal, aside)
        try:
            os.rename(temporary, goal)
        except OSError:
            os.rename(aside, goal)
            raise
        shutil.rmtree(aside)
    else:
        os.rename(temporary, goal)
    _sync(os.path.dirname(goal) or ".")


def _write_folder(goal: str, arrays: Dict[str, np.ndarray], manifest: Dict[str, Any], checksums: bool) -> None:
    temporary = "%s.tmp-%d-%x" % (goal, os.getpid(), time.time_ns())
    os.mkdir(temporary)
    try:
        manifest["arrays"] = {name: _save(temporary, name, arrays[name], checksums)
                              for name in ARRAYS if name in arrays}
        name = os.path.join(temporary, "manifest.json")
        with open(name, "w", encoding="utf-8") as file:
            file.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        _sync(name)
        _commit(temporary, goal)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def write_store(path: _PathLike, edge_index: Any, x: Any = None, y: Any = None, train_mask: Any = None,
                val_mask: Any = None, test_mask: Any = None, *, edge_weight: Any = None,
                num_nodes: Optional[int] = None, num_classes: Optional[int] = None, symmetrize: bool = True, self_loops: bool = False,
                class_names: Optional[Sequence[str]] = None, vertex_names: Optional[Sequence[str]] = None,
                name: Optional[str] = None, origin: str = "weft_store.py", checksums: bool = True,
                force: bool = False, quiet: bool = False) -> Dict[str, Any]:
    """Write a graph store and return its manifest. Arrays may be NumPy arrays, lists or PyTorch tensors.

    edge_index   integers [2, e]: edges edge_index[0] -> edge_index[1], whose destinations aggregate (as in PyG); or two
                 arrays [e]. They are sorted, duplicates dropped
    edge_weight  numbers [e], 0 or above: sums over neighbours multiply by them. Reverses that are added weigh the same
    symmetrize   add the reverse of every edge, as `weft convert` does by default; False keeps a directed graph directed
    self_loops   keep self-loops, which are dropped otherwise (docs/formats.md: what a kept one counts for in each model)
    x            features [n, f], finite; those of a sparse matrix of SciPy are stored sparse where that takes fewer bytes
    y            classes [n] or [n, 1] (-1 or NaN = unlabelled), or several binary tasks [n, t] (NaN = unlabelled). Classes may be
                 words ("" or None = unlabelled): they become class_names, in the order of their bytes
    *_mask       bool, or 0 and 1 of any type, [n], or [n, k] or [k, n] for k splits; or lists of vertices. Numbers [n] are a
                 list where they can be one, naming no vertex twice: [0, 1] of two vertices is the list of both
    num_nodes    default: the largest vertex in use, or the rows of x or y
    num_classes  classes are 0 to num_classes - 1, though some have no vertex; default: one for each of class_names, or the
                 largest label + 1
    class_names  what the classes (or tasks) are called, one text each: models and data are matched by them
    vertex_names what the vertices are called in your data: answers name them so
    checksums    of every array, which `weft info STORE --check` compares
    force        replace an existing store
    quiet        leave out the lines on stderr that tell what was written, directed or symmetric

    Beside the arguments, sorting takes 12 bytes for each edge given, 24 where reverses are added to a directed graph,
    and 32 for each vertex.
    """
    goal = os.fspath(path).rstrip("/") or "/"
    _check_goal(goal, force)
    rows = [_rows(name_of, value) for name_of, value in (("x", x), ("y", y)) if value is not None]
    edges, n = _check_edges(edge_index, num_nodes, rows)
    arrays: Dict[str, np.ndarray] = {}
    counts = {"features": 0, "classes": 0, "tasks": 0, "splits": 0}
    arrays["offset"], arrays["source"], told = _sorted_rows(*edges, n, symmetrize, self_loops)
    symmetric = bool(symmetrize or told["symmetric"])
    if edge_weight is not None:
        arrays["weight"], alike = _weights(edge_weight, edges, arrays["offset"], arrays["source"], symmetrize)
        symmetric = symmetric and alike
    numbers: Dict[str, int] = {}
    if x is not None:
        sparse = _sparse_feature(x, n)
        arrays.update(sparse if sparse is not None else {"feature": _feature(x, n)})
        counts["features"] = x.shape[1] if sparse is not None else arrays["feature"].shape[1]
        numbers = {"feature_numbers": len(sparse["feature_column"])} if sparse is not None else {}
    if y is not None:
        y, class_names = _in_words(y, class_names)
        kind, arrays_of_kind, width = _labels(y, n, num_classes, class_names)
        arrays[kind] = arrays_of_kind
        counts["classes" if kind == "label" else "tasks"] = width
    split = _split([("train_mask", train_mask), ("val_mask", val_mask), ("test_mask", test_mask)], n)
    if split is not None:
        arrays["split"] = split
        counts["splits"] = 1 if split.ndim == 1 else split.shape[0]
    named = {}
    for key, names, count in (("class_name", class_names, counts["classes"] + counts["tasks"]),
                              ("vertex_name", vertex_names, n)):
        if names is not None:
            arrays[key], named[key + "s"] = _names_text(key + "s", list(names), count), True
            if len(set(map(_one_spelling, names) if key == "class_name" else names)) != count:
                raise ValueError("%ss: two of them are the same" % key)
    version = VERSION_THIRD if named or numbers else VERSION if edge_weight is None else VERSION_WEIGHTED
    manifest = {"format": FORMAT, "version": version,
                "name": _short(name if name is not None else os.path.basename(goal).split(".")[0], 63),
                "vertices": n, "edges": len(arrays["source"]),
                "symmetric": symmetric, **({} if edge_weight is None else {"weighted": True}), **named, **counts, **numbers,
                "origin": _short(origin, 1023)}
    _write_folder(goal, arrays, manifest, checksums)
    if not quiet:
        _tell(goal, manifest, told)
    return manifest


def _tell(goal: str, manifest: Dict[str, Any], told: Dict[str, int]) -> None:
    form = "symmetric" if manifest["symmetric"] else "directed"
    form += " as given" if not told["added"] else ": %(added)d reverses were added (symmetrize=False adds none)" % told
    labels = "%(tasks)d binary tasks" if manifest["tasks"] else "%(classes)d classes" if manifest["classes"] else "no labels"
    lines = [("%(vertices)d vertices, %(edges)d edges, %(features)d features, " + labels) % manifest, form]
    lines += ["edges have weights"] if manifest.get("weighted") else []
    if told["loops"] or told["repeats"]:
        lines.append("%(loops)d self-loops and %(repeats)d duplicates were dropped" % told)
    print("\n".join("weft_store: %s: %s" % (goal, line) for line in lines), file=sys.stderr)


def _short(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8: what a manifest takes."""
    return text.encode("utf-8")[:limit].decode("utf-8", errors="ignore")


# ---- PyG and DGL ---------------------------------------------------------------------------------------------------


class EdgeDataWarning(UserWarning):
    """Features or types of edges, or weights by another name, are left out of a store, which has none."""


def _check_types(name: str, vertices: Sequence[str], edges: Sequence[Any], cure: str) -> None:
    if len(vertices) > 1 or len(edges) > 1:
        raise ValueError("%s is heterogeneous: vertices of types %s, edges of types %s; a store has one of each: %s" %
                         (name, ", ".join(vertices), ", ".join(map(str, edges)), cure))


def _warn_of_edge_data(data: Mapping[str, Any]) -> None:
    """Of everything but weights that are all 1."""
    names = [name for name, value in data.items() if value is not None and
             not (name in ("edge_weight", "weight") and np.all(_array(value) == 1))]
    if names:
        warnings.warn("%s: left out, as a store has no data of edges but weights (edge_weight)" % ", ".join(names),
                      EdgeDataWarning, stacklevel=3)


def _listed(data: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, data)) or "nothing"


def from_pyg(data: Any, path: _PathLike, **options: Any) -> Dict[str, Any]:
    """Write the store of a homogeneous torch_geometric.data.Data: edge_index, x, y, train_mask, val_mask, test_mask.

    `options` are those of write_store. edge_weight is taken, unless all are 1; other data of edges are left out, with an
    EdgeDataWarning.
    """
    _check_types("data", getattr(data, "node_types", ()), getattr(data, "edge_types", ()), "data.to_homogeneous()")
    if getattr(data, "edge_index", None) is None:
        if not (hasattr(data, "x") or hasattr(data, "adj_t")):
            _refuse("data", data, "a torch_geometric.data.Data")
        raise ValueError("data has no edge_index: leave out the transform ToSparseTensor")
    keys = data.to_dict() if hasattr(data, "to_dict") else vars(data)
    names = ["edge_attr", "edge_weight", *(data.edge_attrs() if hasattr(data, "edge_attrs") else ()),
             *(key for key in keys if key.startswith("edge_"))]
    _warn_of_edge_data({name: getattr(data, name, None) for name in names if name not in ("edge_index", "edge_weight")})
    weight = getattr(data, "edge_weight", None)
    chosen = {key: getattr(data, key, None) for key in ("x", "y", "train_mask", "val_mask", "test_mask")}
    chosen["num_nodes"] = getattr(data, "num_nodes", None)
    chosen["edge_weight"] = None if weight is None or np.all(_array(weight) == 1) else weight
    chosen.update(options)
    return write_store(path, data.edge_index, **chosen)


# What write_store takes of a DGLGraph: the argument of from_dgl that names it, and its usual name in ndata.
_DGL_NAMES = {"x": ("feature", "feat"), "y": ("label", "label"), "train_mask": ("train", "train_mask"),
              "val_mask": ("valid", "val_mask"), "test_mask": ("test", "test_mask")}


def from_dgl(graph: Any, path: _PathLike, *, feature: Optional[str] = None, label: Optional[str] = None,
             train: Optional[str] = None, valid: Optional[str] = None, test: Optional[str] = None,
             weight: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    """Write the store of a homogeneous DGLGraph: what its ndata has under the names feat, label, train_mask, val_mask and
    test_mask, each left out where it is absent; or under the names given here, each of which must be there.

    `options` are those of write_store. weight: the name in edata of the weights of edges; other data of edges are left
    out, with an EdgeDataWarning.
    """
    _check_types("graph", getattr(graph, "ntypes", ()), getattr(graph, "canonical_etypes", ()),
                 "dgl.to_homogeneous(graph, ndata=[...])")
    if not all(hasattr(graph, name) for name in ("num_nodes", "ndata", "edata")):
        _refuse("graph", graph, "a DGLGraph")
    if getattr(graph, "is_block", False):
        raise ValueError("graph is a block, part of a sampled mini-batch: hand in the whole graph")
    if weight is not None and weight not in graph.edata:
        raise ValueError("weight: edata has no %r; it has %s" % (weight, _listed(graph.edata)))
    _warn_of_edge_data({name: value for name, value in graph.edata.items() if name != weight})
    given = {"feature": feature, "label": label, "train": train, "valid": valid, "test": test}
    for argument, name in given.items():
        if name is not None and name not in graph.ndata:
            raise ValueError("%s: ndata has no %r; it has %s" % (argument, name, _listed(graph.ndata)))
    names = {key: given[argument] or usual for key, (argument, usual) in _DGL_NAMES.items()}
    chosen = {key: graph.ndata[name] if name in graph.ndata else None for key, name in names.items()}
    chosen["num_nodes"] = int(graph.num_nodes())
    chosen["edge_weight"] = graph.edata[weight] if weight is not None else None
    chosen.update(options)
    return write_store(path, graph.edges(), **chosen)


# ---- metrics -------------------------------------------------------------------------------------------------------


def _flatten(prefix: str, value: Dict[str, Any], row: Dict[str, Any]) -> Dict[str, Any]:
    for key, item in value.items():
        if isinstance(item, dict):
            _flatten(prefix + key + ".", item, row)
        else:
            row[prefix + key] = item
    return row


def _column(values: Sequence[Any]) -> np.ndarray:
    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else str(value) for value in values])
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _read_columns(path: str) -> Dict[str, np.ndarray]:
    rows, columns = [], {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last line break is not a whole line
        with _reading("%s: line %d" % (path, number)):
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("is not a JSON object")
            rows.append(_flatten("", row, {}))
    for name in dict.fromkeys(name for row in rows for name in row):
        with _reading("%s: %.100r" % (path, name)):
            columns[name] = _column([row.get(name) for row in rows])
    return columns


def read_metrics(run_dir: _PathLike) -> Dict[str, np.ndarray]:
    """metrics.jsonl of a run folder as columns, an entry an epoch: run, epoch, loss, epoch_s, valid, ...

    What an epoch does not have (scores, where it was not evaluated) is NaN; nested figures are joined by dots, as in
    "lanes.halo.bytes". The last line of a run that was killed may be cut short: it is left out.
    """
    path = os.path.join(os.fspath(run_dir), "metrics.jsonl")
    with _reading(path):
        return _read_columns(path)


# ---- checkpoints ---------------------------------------------------------------------------------------------------


def _read_good_checkpoint(folder: str) -> Dict[str, Any]:
    """The manifest of a checkpoint whose files all agree with their checksums."""
    name = os.path.join(folder, "manifest.json")
    of_manifest = os.path.join(folder, "manifest.crc32")
    if os.path.exists(of_manifest):
        with open(of_manifest, encoding="ascii", errors="replace") as file:
            _check_sum(name, {"crc32": file.read().strip()})
    manifest = _read_json(name)
    if manifest.get("format") != "weft-checkpoint" or manifest.get("version") not in (1, 2):
        raise ValueError("%s: format %r, version %r; expected 'weft-checkpoint', 1 or 2" %
                         (name, manifest.get("format"), manifest.get("version")))
    with _reading(name):
        files = {os.path.join(folder, _plain_name(plain)): (entry["bytes"], dict(entry))
                 for plain, entry in manifest["files"].items()}
    for file_name, (size, entry) in files.items():
        if os.path.getsize(file_name) != size:
            raise ValueError("%s: is not what the manifest says: damaged" % file_name)
        _check_sum(file_name, entry)
    return manifest


def _read_newest_checkpoint(folder: str) -> Tuple[str, Dict[str, Any]]:
    names = [name for name in os.listdir(folder) if re.fullmatch(r"epoch-[0-9]{8,18}(-step-[0-9]{8,18})?", name)]
    for name in sorted(names, key=lambda text: [int(number) for number in re.findall("[0-9]+", text)], reverse=True):
        path = os.path.join(folder, name)
        try:
            return path, _read_good_checkpoint(path)
        except (OSError, ValueError) as error:
            warnings.warn("%s: damaged (%s); the checkpoint before it is used" % (path, error), stacklevel=3)
    raise FileNotFoundError("%s: holds no good checkpoint" % folder)


def read_checkpoint(path: _PathLike, which: str = "best") -> Dict[str, Any]:
    """The newest good checkpoint of a run folder (or of its ckpt folder), or the checkpoint in this folder.

    Returns its manifest (run, epoch, trained_epochs, options, graph_hash, ...), "path" and "parameters", arrays by
    name. A model with --normalize standard has two float64 arrays among them, "feature.mean" and "feature.deviation": it
    takes (x - mean) / deviation for each column of its features, and 0 where the deviation is 0. which: "best" = at the best validation score so far (the last ones, before there was one), or "last". Every
    file is compared with its checksum; a damaged checkpoint is left out with a warning, and the one before it is read.
    """
    if which not in ("best", "last"):
        raise ValueError("which is %r, expected 'best' or 'last'" % which)
    folder = os.fspath(path)
    if os.path.exists(os.path.join(folder, "manifest.xxh3")):
        manifest = _read_good_checkpoint(folder)
    else:
        inner = os.path.join(folder, "ckpt")
        folder, manifest = _read_newest_checkpoint(inner if os.path.isdir(inner) else folder)
    parameters: Dict[str, np.ndarray] = {}
    first = (which if which + ".npz" in manifest["files"] else "last") + ".npz"
    for plain in [first] + [other for other in ("features.npz",) if other in manifest["files"]]:
        name = os.path.join(folder, plain)
        with _reading(name), np.load(name, allow_pickle=False) as arrays:
            parameters.update({key: arrays[key] for key in arrays.files})
    return {**manifest, "path": folder, "parameters": parameters}


def write_weights(path: _PathLike, parameters: Dict[str, Any]) -> None:
    """Parameters by name as an .npz that `weft train --init-weights` reads: vectors become rows [1, n]. Whole or absent."""
    goal = os.fspath(path)
    arrays = {}
    for name, value in parameters.items():
        array = np.atleast_2d(_array(value))
        if array.ndim != 2 or array.dtype.kind != "f":
            raise ValueError("%s: %s %s, expected a matrix of floats" % (name, array.dtype, array.shape))
        arrays[name] = np.ascontiguousarray(array)
    temporary = "%s.tmp-%d-%x.npz" % (goal, os.getpid(), time.time_ns())
    try:
        np.savez(temporary, **arrays)
        _sync(temporary)
        os.replace(temporary, goal)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
    _sync(os.path.dirname(goal) or ".")
