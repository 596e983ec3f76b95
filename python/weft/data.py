"""weft.data: what is trained on: graphs, tables and images, as folders or files that the program reads.

Objects of arrays write them where they are told to (`path`), or into a temporary folder that lives as long as the object.
"""

import os
import shutil
import struct
import tempfile
import weakref
import zlib
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from weft import store, tables

_PathLike = Union[str, "os.PathLike[str]"]


class Data:
    """Data of a training: `path` is what the program is given."""

    path: str

    def _place(self, path: Optional[_PathLike], name: str) -> str:
        """Where to write: the path that was asked for, or one in a temporary folder."""
        if path is not None:
            return os.fspath(path)
        folder = tempfile.mkdtemp(prefix="weft-data-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return os.path.join(folder, name)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return "weft.%s(%r)" % (type(self).__name__, self.path)


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


class Graph(Data):
    """A graph, whose vertices have features and labels.

    source: a torch_geometric Data, a homogeneous DGLGraph, a sparse matrix of SciPy [n, n] whose entry (u, v) is the edge u -> v, or
    edge_index [2, e], which may be given by that name; or the path of a store, which is used as it is. x: features [n, f]; y: classes [n] or tasks [n, t]; train, valid,
    test: masks [n] or lists of vertices. path: the store to write. options: as weft.store.write_store has them, among them symmetrize,
    self_loops, edge_weight, num_nodes, class_names, force; of a DGLGraph the names in ndata, as weft.store.from_dgl takes them."""

    def __init__(self, source: Any = None, x: Any = None, y: Any = None, train: Any = None, valid: Any = None, test: Any = None, *,
                 edge_index: Any = None, path: Optional[_PathLike] = None, quiet: bool = True, **options: Any):
        if (source is None) == (edge_index is None):
            raise TypeError("weft.Graph takes one source: edge_index [2, e], a Data of PyG, a DGLGraph, a sparse matrix, or a store's path")
        source = edge_index if source is None else source
        for name, part in (("train", train), ("valid", valid), ("test", test)):
            if isinstance(part, float):
                raise ValueError("%s: %g is a share: give the vertices, as a mask [n] or a list" % (name, part))
        arrays = {"x": x, "y": y, "train_mask": train, "val_mask": valid, "test_mask": test}
        given = {name: value for name, value in arrays.items() if value is not None}
        if _is_path(source):
            if given or options or path is not None:
                raise ValueError("%s: a store is used as it is; leave out %s" % (os.fspath(source), ", ".join([*given, *options]) or "path"))
            self.path = os.fspath(source)
        else:
            self.path = self._place(path, "graph.weft")
            self._write(source, given, dict(options, quiet=quiet))
        self.manifest = store.read_manifest(self.path)

    def _write(self, source: Any, given: Any, options: Any) -> None:
        options.setdefault("origin", "weft.Graph")
        if hasattr(source, "ndata") and hasattr(source, "edata"):
            named = {"train": given.pop("train_mask", None), "valid": given.pop("val_mask", None), "test": given.pop("test_mask", None)}
            store.from_dgl(source, self.path, **{key: value for key, value in named.items() if value is not None}, **given, **options)
        elif hasattr(source, "edge_index") or hasattr(source, "adj_t"):
            store.from_pyg(source, self.path, **given, **options)
        elif hasattr(source, "tocoo"):
            coo = source.tocoo()
            if coo.shape[0] != coo.shape[1]:
                raise ValueError("source: a matrix of shape %s, expected [n, n]" % (coo.shape,))
            if coo.data.dtype.kind != "b" and not np.all(coo.data == 1):
                options.setdefault("edge_weight", coo.data)
            options.setdefault("num_nodes", coo.shape[0])
            store.write_store(self.path, (coo.row, coo.col), **given, **options)
        else:
            store.write_store(self.path, source, **given, **options)

    def arrays(self, **options: Any) -> Any:
        """The arrays of the store by name, as weft.store.read_store gives them."""
        return store.read_store(self.path, **options)

    def __repr__(self) -> str:
        return "weft.Graph(%r: %d vertices, %d edges, %d features, %d classes)" % (
            self.path, *(self.manifest[key] for key in ("vertices", "edges", "features", "classes")))


class Table(Data):
    """Rows and columns.

    source: [rows, columns] of numbers, a DataFrame, or a mapping of names to columns, of which those of words are categories, and NaN, None
    and NA missing; or the path of a file (.csv, .tsv, .libsvm, .npy, .npz) or table store, which is used as it is. y: [rows], classes or
    numbers; without it the rows are there to be answered. valid, test: (x, y), and weight or group where there is one. weight, group:
    [rows]. names: of the columns of an array. path: the table store to write."""

    def __init__(self, source: Any, y: Any = None, *, valid: Any = None, test: Any = None, weight: Any = None, group: Any = None,
                 names: Optional[Sequence[str]] = None, path: Optional[_PathLike] = None):
        beside = {"y": y, "valid": valid, "test": test, "weight": weight, "group": group, "names": names}
        given = [name for name, value in beside.items() if value is not None]
        if _is_path(source):
            if given or path is not None:
                raise ValueError("%s: a file is used as it is; leave out %s" % (os.fspath(source), ", ".join(given) or "path"))
            self.path = os.fspath(source)
            return
        self.path = self._place(path, "table")
        if y is not None:
            tables.write_parts(self.path, source, y, valid, test, weight, group, names)
            return
        lost = [name for name in given if name != "names"]
        if lost:
            raise ValueError("%s: rows without y; leave it out, or give y" % ", ".join(lost))
        tables.write_columns(self.path, tables.columns_of(source, names), {})


# ---- images ---------------------------------------------------------------------------------------------------------


def _png(pixels: np.ndarray) -> bytes:
    """PNG of bytes [height, width, 1 or 3]; rows are not filtered."""
    height, width, channels = pixels.shape

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)) + chunk(b"IEND", b"")


def _pixels(name: str, given: Any) -> np.ndarray:
    """[n, height, width, 1 or 3] of bytes."""
    array = np.asarray(given)
    if array.dtype != np.uint8:
        raise TypeError("%s: pixels of type %s, expected uint8 from 0 to 255" % (name, array.dtype))
    array = array[..., None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[3] not in (1, 3) or array.size == 0:
        raise ValueError("%s: its shape is %s, expected [n, height, width] or [n, height, width, 3]" % (name, np.shape(given)))
    return array


def _class_folders(labels: Sequence[Tuple[str, np.ndarray]]) -> List[List[str]]:
    """The folder's name of each image, part by part. Numbers get zeros in front: folders are classes in the order of their names."""
    whole = all(np.asarray(part).dtype.kind in "iu" for _, part in labels)
    width = len(str(max(int(np.max(part)) for _, part in labels))) if whole else 0
    named = []
    for name, part in labels:
        words = ["%0*d" % (width, cell) if whole else str(cell) for cell in np.asarray(part).tolist()]
        for row, word in enumerate(words):
            if word in ("", ".", "..") or "/" in word or "\0" in word or (whole and word.startswith("-")):
                raise ValueError("%s, row %d: %r cannot be a class: it names a folder" % (name, row, word))
        named.append(words)
    return named


class Images(Data):
    """Images of one size and their classes.

    source: bytes [n, height, width] or [n, height, width, 3]; or the path of a folder or archive (MNIST, CIFAR, CLASS/*.jpg, ...), which is
    used as it is. y: [n], whole numbers from 0 or words. valid, test: (x, y). path: the folder to write, one PNG an image. Without y the
    images are there to be answered, in their order."""

    def __init__(self, source: Any, y: Any = None, *, valid: Any = None, test: Any = None, path: Optional[_PathLike] = None):
        if _is_path(source):
            if any(value is not None for value in (y, valid, test, path)):
                raise ValueError("%s: images of a path are used as they are; leave out y, valid, test and path" % os.fspath(source))
            self.path = os.fspath(source)
            return
        if y is None and (valid is not None or test is not None):
            raise ValueError("valid, test: images without y; give y")
        parts = [(name, *part) for name, part in (("train", (source, y)), ("valid", valid), ("test", test)) if part is not None]
        pixels = [_pixels(name, images) for name, images, _ in parts]
        for array, (name, _, labels) in zip(pixels, parts):
            if labels is not None and np.shape(labels) != (len(array),):
                raise ValueError("%s: labels of shape %s for %d images" % (name, np.shape(labels), len(array)))
        folders = _class_folders([(name, labels) for name, _, labels in parts]) if y is not None else None
        self.path = self._place(path, "images")
        if os.path.lexists(self.path):
            raise ValueError("%s: exists; choose another path, or remove it" % self.path)
        for number, (array, (name, _, _)) in enumerate(zip(pixels, parts)):
            self._write(name, array, folders[number] if folders is not None else None)

    def _write(self, split: str, pixels: np.ndarray, classes: Optional[List[str]]) -> None:
        for word in set(classes) if classes is not None else ():
            os.makedirs(os.path.join(self.path, split, word), exist_ok=True)
        os.makedirs(self.path, exist_ok=True)
        for row, image in enumerate(pixels):
            place = (split, classes[row]) if classes is not None else ()
            with open(os.path.join(self.path, *place, "%09d.png" % row), "wb") as file:
                file.write(_png(image))


def data_of(source: Any) -> Union[Data, str]:
    """What weft.train was given: data of Weft, a path or synth:..., or a graph of PyG or DGL."""
    if isinstance(source, Data):
        return source
    if _is_path(source):
        return os.fspath(source)
    if hasattr(source, "edge_index") or hasattr(source, "ndata"):
        return Graph(source)
    raise TypeError("data: %s is neither a path nor data of Weft: make a weft.Graph, weft.Table or weft.Images of it" % type(source).__name__)
