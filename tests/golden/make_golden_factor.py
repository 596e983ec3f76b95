#!/usr/bin/env python3
"""Figures of factorisations, sums of products and histograms frozen from NumPy and SciPy, to check Weft against.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install numpy scipy
    /tmp/golden/bin/python tests/golden/make_golden_factor.py        # writes factor.txt beside this script

Matrices follow from rule(), so that no file holds them: a line of factor.txt is a name and its figures, which
tests/backend/test_factor.c makes of Weft's results in the same way. Everything is float64.
"""
import os

import numpy as np
import scipy.linalg

HERE = os.path.dirname(os.path.abspath(__file__))


def rule(stream, *shape):
    """Numbers from -1 to 1: a hash of (stream, position), as in make_golden_dense.py."""
    count = int(np.prod(shape))
    h = (np.arange(count, dtype=np.uint64) * 2654435761 + stream * 40503 + 12345).astype(np.uint32)
    with np.errstate(over="ignore"):
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x7FEB352D)
        h ^= h >> np.uint32(15)
        h *= np.uint32(0x846CA68B)
        h ^= h >> np.uint32(16)
    return h.astype(np.float64).reshape(shape) / 2.0**31 - 1.0


def definite(stream, n):
    b = rule(stream, n, n)
    return b @ b.T / n + 0.5 * np.eye(n)


def probe(x):
    """Eight elements that lie far from each other, in row-major order."""
    flat = np.ascontiguousarray(x).ravel()
    return flat[np.arange(8) * (flat.size - 1) // 7]


def triangle(c):
    return c[np.tril_indices(len(c))]


def patches(images, kernel, stride, pad):
    """[rows, channels * kernel * kernel] of NHWC images, zeros in the padding."""
    n, height, width, channels = images.shape
    padded = np.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(1, 2))
    return windows[:, ::stride, ::stride].reshape(-1, channels * kernel * kernel)


def main():
    lines = {}
    for n in (24, 100, 640):
        a = definite(n, n)
        lower = np.linalg.cholesky(a)
        lines[f"potrf {n}"] = probe(lower)
        lines[f"potri {n}"] = probe(scipy.linalg.inv(a))
        lines[f"potrs {n}"] = probe(scipy.linalg.cho_solve((lower, True), rule(n + 1, 5, n).T).T)
        values, vectors = scipy.linalg.eigh(a)
        lines[f"syevd {n}"] = probe(values)
        lines[f"root {n}"] = probe((vectors / np.sqrt(values)) @ vectors.T)  # of either sign of a vector
        q, r = np.linalg.qr(rule(n + 2, n + 40, n))
        sign = np.sign(np.diag(r))
        lines[f"q {n}"] = probe(q * sign)
        lines[f"r {n}"] = probe(r * sign[:, None])
    x = rule(7, 300, 70)
    lines["gram"] = probe(triangle(0.5 * x.T @ x))
    rows = np.arange(50) * 5
    lines["gram of rows"] = probe(triangle(x[rows].T @ x[rows]))
    p = patches(rule(8, 3, 9, 8, 4), 3, 2, 1)
    lines["patch_gram"] = probe(triangle(p.T @ p))
    bins = (np.abs(rule(9, 5000, 20)) * 256).astype(int)
    gradient = (rule(10, 5000) * 32767).astype(int)
    hessian = (np.abs(rule(11, 5000)) * 65535).astype(int)
    cells = np.zeros((20, 256, 2))
    for f in range(20):
        cells[f, :, 0] = np.bincount(bins[:, f], weights=gradient, minlength=256)
        cells[f, :, 1] = np.bincount(bins[:, f], weights=hessian, minlength=256)
    lines["histogram"] = probe(cells)
    with open(os.path.join(HERE, "factor.txt"), "w", encoding="ascii") as out:
        for name, figures in lines.items():
            out.write(f"{name}: {' '.join(repr(float(x)) for x in figures)}\n")


main()
