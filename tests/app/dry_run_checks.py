"""What test_dry_run_large.sh runs: a store of the size of ogbn-papers100M without its data, planned for many ranks."""
import json
import math
import os
import re
import struct
import subprocess
import sys

WEFT = sys.argv[1]
VERTICES, EDGES, FEATURES, CLASSES, HIDDEN, LAYERS = 111059956, 3228124712, 128, 172, 256, 3


def write_array(name, descr, shape, last=None):
    """An .npy of zeros that takes no room; last: the last item, an int64."""
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (descr, "".join("%d, " % n for n in shape))
    head = head.ljust(127 - 10) + "\n"
    size = int(descr[2:]) * math.prod(shape)
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        begin = file.tell()
        file.truncate(begin + size)
        if last is not None:
            file.seek(begin + size - 8)
            file.write(struct.pack("<q", last))


def write_store(folder):
    os.mkdir(folder)
    try:
        write_array(folder + "/offset.npy", "<i8", (VERTICES + 1,), EDGES)
        write_array(folder + "/source.npy", "<i4", (EDGES,))
        write_array(folder + "/feature.npy", "<f4", (VERTICES, FEATURES))
        write_array(folder + "/label.npy", "<i4", (VERTICES,))
        write_array(folder + "/split.npy", "|u1", (VERTICES,))
    except OSError as error:
        print(error)
        sys.exit(77)
    with open(folder + "/manifest.json", "w", encoding="utf-8") as file:
        json.dump({"format": "weft-graph", "version": 1, "name": "papers", "vertices": VERTICES, "edges": EDGES,
                   "features": FEATURES, "classes": CLASSES, "splits": 1, "symmetric": True}, file)


def run(*options, code=0):
    done = subprocess.run([WEFT, "train", "--data", "store", "--model", "sage", "--recipe", "default", "--normalize", "none",
                           "--feature-form", "whole", "--hidden", str(HIDDEN), "--layers", str(LAYERS), "--threads", "1", "--pin", "off", "--dry-run",
                           *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code, (options, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def megabytes(text, name):
    return float(re.search(r"^  %s +([\d.]+) MB$" % re.escape(name), text, re.M).group(1))


def near(told, expected_bytes):
    assert abs(told - expected_bytes / 1e6) <= 0.051 + 1e-9 * expected_bytes / 1e6, (told, expected_bytes / 1e6)


def check(ranks, replication):
    text = run("--dry-ranks", str(ranks), "--replication", str(replication))
    owned = -(-VERTICES // ranks)
    replicas = math.ceil((replication - 1) * VERTICES)
    held = owned + -(-replicas // ranks)
    edges = -(-EDGES // ranks)
    told = re.search(r"planned for (\d+) ranks, one a node: assumed replication factor ([\d.]+)\n"
                     r"each rank: vertices computed (\d+), vertices held (\d+), edges (\d+)\n", text).groups()
    assert told == (str(ranks), "%g" % replication, str(owned), str(held), str(edges)), (told, owned, held, edges)
    rows, volume = re.search(r"halo: (\d+) rows a layer and direction over all ranks, ([\d.]+) MB an epoch", text).groups()
    assert int(rows) == 2 * replicas
    # The first layer aggregates its constant input once; the others what is narrower, forward and backward.
    columns = 2 * HIDDEN * (LAYERS - 2) + 2 * CLASSES
    near(float(volume), int(rows) * columns * 4)
    # Features beside their aggregate, of owned rows; parameters with gradient, two moments and the best ones; of a batch norm gamma
    # and beta are trained, mean and variance have values and best values alone.
    near(megabytes(text, "features"), owned * 2 * FEATURES * 4)
    widths = [FEATURES] + [HIDDEN] * (LAYERS - 1) + [CLASSES]
    weights = sum(2 * a * b + b for a, b in zip(widths, widths[1:])) + 2 * HIDDEN * (LAYERS - 1)
    statistics = 2 * HIDDEN * (LAYERS - 1)
    near(megabytes(text, "parameters and optimiser"), weights * 4 * 5 + statistics * 4 * 2)
    near(megabytes(text, "mapped graph (while loading)"), EDGES * 4 + VERTICES * 8 + 2 * EDGES + 2 * VERTICES)
    near(megabytes(text, "local edges (until the matrix is built)"), edges * 4 + held * 16)
    gradients, unit = re.search(r"gradients: sent by a rank in an epoch ([\d.]+) ([KM])iB", text).groups()
    assert math.isclose(float(gradients) * (1 << (10 if unit == "K" else 20)), weights * 4, rel_tol=0.005), (gradients, weights)
    peak = megabytes(text, "predicted peak")
    assert peak >= megabytes(text, "features") + megabytes(text, "activations"), text
    return peak


write_store("store")
peaks = [check(ranks, factor) for ranks, factor in [(32, 4.63), (64, 5.63), (128, 6.62), (512, 9.5)]]
assert peaks == sorted(peaks, reverse=True), peaks
check(32, 1)
assert "allowed by --memory-limit" in run("--dry-ranks", "32", "--memory-limit", "1GiB", code=71)
