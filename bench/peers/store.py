"""A Weft graph store, read with NumPy alone (docs/formats.md)."""
import json
import os

import numpy as np


def load(path, names=("offset", "source"), mmap=False):
    """Arrays by name, and the manifest as "manifest". Row v of (offset, source) lists the sources u of edges u -> v."""
    with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
        store = {"manifest": json.load(file)}
    for name in names:
        store[name] = np.load(os.path.join(path, name + ".npy"), mmap_mode="r" if mmap else None, allow_pickle=False)
    return store


def split_of(store, index):
    """The split vector [n] of that number: of `split` [n], the only one, or of [k, n]."""
    splits = np.atleast_2d(store["split"])
    if not 0 <= index < len(splits):
        raise ValueError(f"split {index}: the store has 0 to {len(splits) - 1}")
    return splits[index]


def add_self_loops(path, folder, rows_at_once=4096):
    """Write offset.npy and source.npy of the graph with one self-loop a vertex into folder, rows kept ascending."""
    graph = load(path, mmap=True)
    offset, source = graph["offset"], graph["source"]
    n = len(offset) - 1
    os.makedirs(folder, exist_ok=True)
    np.save(os.path.join(folder, "offset.npy"), np.asarray(offset) + np.arange(n + 1))
    out = np.lib.format.open_memmap(os.path.join(folder, "source.npy"), mode="w+", dtype=source.dtype,
                                    shape=(len(source) + n,))
    for first in range(0, n, rows_at_once):
        rows = np.arange(first, min(first + rows_at_once, n))
        begin, end = offset[rows[0]], offset[rows[-1] + 1]
        piece = source[begin:end]
        row_of = np.repeat(rows, np.diff(offset[rows[0]:rows[-1] + 2]))
        if np.any(piece == row_of):
            raise ValueError(f"{path}: row {row_of[piece == row_of][0]} has a self-loop already")
        before = np.bincount(row_of[piece < row_of] - first, minlength=len(rows))
        out[begin + first:end + rows[-1] + 1] = np.insert(piece, offset[rows] - begin + before, rows)
    out.flush()
