"""mutate.py WEFT SOURCE [--count N] [--seed S] [--jobs J] [--keep FOLDER] [FORMAT...]: files of every format, changed at random and
given to the program.

Whatever a file holds, the program must end by itself, within a memory limit, without a signal, with one of the statuses that it
documents, with a message that names the file, and with nothing half-written. Where a format has checksums, most changes are made
behind them: the checksum is made right again, so that the reader and not the checksum is tried. An input is a function of the
seed, the format and its number; a failure prints the command that repeats it, and --keep leaves its folder.
"""
import argparse
import concurrent.futures
import gzip
import io
import json
import lzma
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

import numpy as np

MEMORY, SECONDS = 4 << 30, 60
STATUSES = {0, 2, 65, 66, 69, 71, 74, 76, 77, 78}
WORDS = ["", "-1", "0", "nan", "inf", "1e999", "-0", "1e-400", "1e39", "2147483647", "2147483648", "4294967296",
         "9223372036854775807", "9223372036854775808", "99999999999999999999", "0x10", "1,5", "1.5D+00", '"', '""', "'", "a", "é", "\0",
         "#", "%", ";", ",", "\t", "\r", "{", "[", "train", "source", "-", "id", "1 2 3 4 5", "\x1b[31m", "\ufeff", "A" * 300]
NUMBERS = [0, 1, 2, 255, 256, 0x7f, 0x80, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]


# ---- changes ----

def change_text(rng, data):
    """Tokens, lines and characters."""
    text = data.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.randrange(10)
        if kind < 3:
            parts = re.split(r"([\s,;:\"=]+)", lines[i])
            parts[rng.randrange(len(parts))] = rng.choice(WORDS)
            lines[i] = "".join(parts)
        elif kind == 3:
            del lines[i]
        elif kind == 4:
            lines.insert(j, lines[i])
        elif kind == 5:
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 6:
            lines[i] += rng.choice([" ", ",", "\t", ";"]) + rng.choice(WORDS)
        elif kind == 7:
            old, new = rng.choice([(",", ";"), (" ", ","), ("\n", "\r\n"), (".", ","), (",", "\t")])
            lines = [line.replace(old, new) if rng.random() < 0.5 else line for line in lines]
        elif kind == 8:
            lines[i] = lines[i][:rng.randrange(len(lines[i]) + 1)]
        else:
            at = rng.randrange(len(lines[i]) + 1)
            lines[i] = lines[i][:at] + rng.choice(WORDS) + lines[i][at:]
        text = "\n".join(lines)
    return text.encode("utf-8", "surrogateescape")


def change_bytes(rng, data):
    """Bits, bytes, numbers, and pieces left out, moved or repeated."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at, to = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
        size = min(len(data) - at, rng.choice([1, 2, 4, 8, 16, 512]))
        kind = rng.randrange(9)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.choice([0, 1, 0x20, 0x2f, 0x7f, 0x80, 0xff, rng.randrange(256)])
        elif kind in (2, 3):
            width, order = rng.choice([2, 4, 8]), rng.choice(["little", "big"])
            data[at:at + width] = (rng.choice(NUMBERS) & ((1 << 8 * width) - 1)).to_bytes(width, order)
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            del data[at:at + size]
        elif kind == 6:
            data[to:to] = data[at:at + size]
        elif kind == 7:
            data[at:at + size] = bytes(size)
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 3, 17, 600])))
    return bytes(data)


def change_json(rng, data):
    """One value of the tree, or the text."""
    if rng.random() < 0.3:
        return change_text(rng, data)
    root = json.loads(data)
    places = []

    def walk(node):
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(root)
    node, key = rng.choice(places)
    if rng.random() < 0.2:
        del node[key]
    else:
        node[key] = rng.choice([None, True, -1, 0, 1.5, 1 << 31, 1 << 63, "", "x", "../x", [], {}, [1], "a" * 5000, "\x1b[0m"])
    return json.dumps(root).encode()


def change_packed(pack, unpack, change):
    """Behind the checksum of a packed file, or the packed file itself."""
    def packed(rng, data):
        return change_bytes(rng, data) if rng.random() < 0.3 else pack(change(rng, unpack(data)))
    return packed


change_gzip = change_packed(lambda data: gzip.compress(data, mtime=0), gzip.decompress, change_text)
change_gzip_bytes = change_packed(lambda data: gzip.compress(data, mtime=0), gzip.decompress, change_bytes)
change_xz = change_packed(lzma.compress, lzma.decompress, change_text)


def change_npz(rng, data):
    """A member, its name, or the archive."""
    if rng.random() < 0.2:
        return change_bytes(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice(sorted(members))
    kind = rng.random()
    if kind < 0.1:
        del members[name]
    elif kind < 0.2:
        members[rng.choice(["x.npy", "../y.npy", name + name])] = members.pop(name)
    elif kind < 0.7:
        members[name] = change_npy(rng, members[name])
    else:
        members[name] = change_bytes(rng, members[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for member in members:
            archive.writestr(member, members[member])
    return out.getvalue()


def change_npy(rng, data):
    """Another type, shape or order of the same numbers, numbers replaced, or the bytes."""
    if rng.random() < 0.4:
        return change_bytes(rng, data)
    array = np.load(io.BytesIO(data))
    kind = rng.randrange(6)
    if kind == 0 and array.size and array.dtype.kind not in "SU":
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(["f2", "f4", "f8", ">f4", "i1", "u1", "i8", ">i4", "?", "U3"]))
    elif kind == 1:
        array = array.T if array.ndim > 1 else np.atleast_1d(array)[:, None]
    elif kind == 2:
        array = np.asfortranarray(array)
    elif kind == 3 and array.size and array.dtype.kind in "iuf":
        array = array.copy()
        limit = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
        values = [limit.min, limit.max, 0, 1] + ([np.nan, np.inf] if array.dtype.kind == "f" else [])
        array.flat[rng.randrange(array.size)] = rng.choice(values)
    elif kind == 4:
        array = array[:rng.randrange(len(array) + 1)] if array.ndim else array
    else:
        array = np.concatenate([array, array[:1]]) if array.ndim and len(array) else array
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def change_png(rng, data):
    """The chunks of a PNG with right checksums; or its bytes."""
    if rng.random() < 0.3:
        return change_bytes(rng, data)
    chunks, at = [], 8
    while at + 12 <= len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunks.append((kind, data[at + 8:at + 8 + size]))
        at += 12 + size
    i = rng.randrange(len(chunks))
    what = rng.randrange(4)
    if what == 0:
        del chunks[i]
    elif what == 1:
        chunks.insert(rng.randrange(len(chunks)), chunks[i])
    else:
        chunks[i] = (chunks[i][0], change_bytes(rng, chunks[i][1]))
    return data[:8] + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                               for kind, body in chunks)


def change_tar(rng, data):
    """A header with a right sum, or the bytes."""
    if rng.random() < 0.4 or len(data) < 512:
        return change_bytes(rng, data)
    data = bytearray(data)
    blocks = [at for at in range(0, len(data) - 511, 512) if data[at + 257:at + 262] == b"ustar"]
    at = rng.choice(blocks)
    start, size = rng.choice([(0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (345, 155)])
    data[at + start:at + start + size] = change_bytes(rng, bytes(data[at + start:at + start + size])).ljust(size, b"\0")[:size]
    data[at + 148:at + 156] = b" " * 8
    data[at + 148:at + 156] = b"%06o\0 " % sum(data[at:at + 512])
    return bytes(data)


change_tar_gz = change_packed(lambda data: gzip.compress(data, mtime=0), gzip.decompress, change_tar)


def change_safetensors(rng, data):
    """The header of a safetensors file with its right length, or the bytes."""
    if rng.random() < 0.4:
        return change_bytes(rng, data)
    size = int.from_bytes(data[:8], "little")
    header = change_json(rng, data[8:8 + size])
    return len(header).to_bytes(8, "little") + header + data[8 + size:]


# ---- inputs of each format ----

def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def png(pixels):
    height, width, channels = pixels.shape
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def idx(array):
    return struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(">%dI" % array.ndim, *array.shape) + array.tobytes()


N, F = 24, 3
NET = "# a small network\nconv 4 3 pad=1 bias=off\nnorm\nrelu\nmaxpool 2\n\nlinear classes\n"
CONVERT = "convert {file} --out o.weft --quiet"
PATH = "convert path.txt --vertices %d --out o.weft --quiet " % N
IMAGES = "train --data {data} --model tiny.net --epochs 1 --batch-size 4 --warmup 0 --threads 1 --pin off --quiet --run-dir o.run"


def make_tables(rng):
    edges = np.stack([np.arange(N), (np.arange(N) + 1) % N], 1)
    x, y = rng.normal(size=(N, F)).astype(np.float32), np.arange(N) % 3
    split = np.arange(N) % 4
    row = lambda values, separator=" ": separator.join(str(value) for value in values)
    write("path.txt", "".join("%d %d\n" % (v, v + 1) for v in range(N - 1)))
    write("edges.txt", "# a ring\n" + "".join(row(edge) + "\n" for edge in edges))
    write("edges.csv", "source,target,weight\n" + "".join("%d,%d,%g\n" % (u, v, 0.5 + u) for u, v in edges))
    write("edges.txt.gz", gzip.compress(open("edges.txt", "rb").read(), mtime=0))
    write("edges.txt.xz", lzma.compress(open("edges.txt", "rb").read()))
    write("ring.graph", "%d %d\n" % (N, N) + "".join("%d %d\n" % ((v - 1) % N + 1, (v + 1) % N + 1) for v in range(N)))
    write("weighted.graph", "%d %d 001\n" % (N, N) + "".join("%d 5 %d 5\n" % ((v - 1) % N + 1, (v + 1) % N + 1) for v in range(N)))
    write("ring.mtx", "%%MatrixMarket matrix coordinate real general\n% a ring\n" +
          "%d %d %d\n" % (N, N, N) + "".join("%d %d %g\n" % (u + 1, v + 1, 1.5) for u, v in edges))
    write("x.csv", "a,b,c\n" + "".join(row(line, ",") + "\n" for line in x))
    write("x-by-id.csv", "id;f1;f2\n" + "".join("%d;%g;%g\n" % (v, x[v, 0], x[v, 1]) for v in reversed(range(N))))
    write("y.csv", "".join("%d\n" % label for label in y))
    write("words.csv", "id,label\n" + "".join("%d,%s\n" % (v, ("cat", "dog", "emu")[y[v]]) for v in range(N)))
    write("s.csv", "".join(("train", "train", "valid", "test")[part] + "\n" for part in split))
    write("masks.csv", "train,valid,test\n" + "".join(row([int(part < 2), int(part == 2), int(part == 3)], ",") + "\n" for part in split))
    write("x.npy", npy(x))
    write("y.npy", npy(y))
    write("s.npy", npy(np.maximum(split - 1, 0)))
    lists = dict(train=np.flatnonzero(split < 2), valid=np.flatnonzero(split == 2), test=np.flatnonzero(split == 3))
    write("s.npz", npz(**lists))
    write("weft.npz", npz(vertices=np.int64(N), edges=edges, features=x, labels=y, **lists))
    indptr = np.arange(N + 1)
    write("sparse.npz", npz(vertices=np.int64(N), edges=edges, feature_indptr=indptr, feature_indices=np.arange(N) % 9,
                            feature_data=np.ones(N, np.float32), feature_shape=np.array([N, 9]), labels=y, **lists))
    write("pyg.npz", npz(edge_index=edges.T, x=x, y=y, train_mask=split < 2, val_mask=split == 2, test_mask=split == 3))
    write("scipy.npz", npz(row=edges[:, 0], col=edges[:, 1], data=np.ones(N), shape=np.array([N, N]), format=np.array(b"coo")))
    write("weights.npz", npz(edges=edges, weights=np.ones(N)))


def make_images(rng):
    pixels = rng.integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    write("tiny.net", NET)
    for i in range(12):
        write("folders/%s/%s/%d.png" % (("train", "val")[i >= 8], "ab"[i % 2], i), png(pixels[i]))
    with tarfile.open("folders.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add("folders", "top")
    write("folders.tar.gz", gzip.compress(open("folders.tar", "rb").read(), mtime=0))
    for stem, count in (("train", 8), ("t10k", 4)):
        write("idx/%s-images-idx3-ubyte" % stem, idx(pixels[:count, :, :, 0]))
        write("idx/%s-labels-idx1-ubyte" % stem, idx((np.arange(count) % 2).astype(np.uint8)))
    shutil.copytree("idx", "idxgz")
    os.remove("idxgz/train-images-idx3-ubyte")
    write("idxgz/train-images-idx3-ubyte.gz", gzip.compress(idx(pixels[:8, :, :, 0]), mtime=0))
    wide = rng.integers(0, 256, (6, 3072), dtype=np.uint8)
    write("cifar/data_batch_1.bin", np.concatenate([np.arange(6, dtype=np.uint8)[:, None] % 3, wide], 1).tobytes())
    write("cifar/test_batch.bin", np.concatenate([np.arange(6, dtype=np.uint8)[:, None] % 3, wide], 1).tobytes())
    write("train.cfg", "# options\nepochs = 1\n[model]\nmodel = tiny.net\n[batches]\nbatch-size = 4\n")


GRAPH = "--epochs 1 --hidden 4 --threads 1 --pin off --quiet"


def make_runs(weft):
    run = lambda words: subprocess.run([weft] + words.split(), check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run("convert synth:community,n=%d,e=90,f=%d,classes=3 --out g.weft --quiet" % (N, F))
    run("convert sparse.npz --out sparse.weft --quiet")
    for layout in ("ogb", "graphsaint", "dgl-reddit", "ogb-binary"):
        run("convert g.weft --to %s --out %s --quiet" % (layout, layout))
    run("train --data g.weft --run-dir run " + GRAPH)
    run("export run --out graph.safetensors")
    run(IMAGES.replace("{data}", "folders").replace("o.run", "irun"))
    run("export irun --out image.safetensors")


def forget_checksums(folder, path):
    """A store's manifest without what it says of its arrays: changed arrays are looked at themselves."""
    manifest = os.path.join(folder, os.path.dirname(path), "manifest.json")
    with open(manifest, encoding="utf-8") as file:
        root = json.load(file)
    root.pop("arrays", None)
    write(manifest, json.dumps(root))


def seal_checkpoint(folder, path):
    """Right checksums of a changed checkpoint."""
    from xxh3 import xxh3_128
    top = os.path.join(folder, os.path.dirname(path))
    name = os.path.join(top, "manifest.json")
    try:
        with open(name, "rb") as file:
            root = json.loads(file.read())
        changed = os.path.basename(path)
        if changed in root["files"]:
            with open(os.path.join(top, changed), "rb") as file:
                data = file.read()
            root["files"][changed] = {"bytes": len(data), "xxh3": xxh3_128(data), "crc32": "%08x" % zlib.crc32(data)}
            write(name, json.dumps(root))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    with open(name, "rb") as file:
        data = file.read()
    write(os.path.join(top, "manifest.xxh3"), xxh3_128(data) + "\n")
    write(os.path.join(top, "manifest.crc32"), "%08x\n" % zlib.crc32(data))


STORE = "train --data g.weft --run-dir o.run " + GRAPH
# name: (the file that is changed, how, the command that reads it)
FORMATS = {
    "edge-list": ("edges.txt", change_text, CONVERT),
    "edge-csv": ("edges.csv", change_text, CONVERT + " --edge-weights input"),
    "edge-gz": ("edges.txt.gz", change_gzip, CONVERT),
    "edge-xz": ("edges.txt.xz", change_xz, CONVERT),
    "metis": ("ring.graph", change_text, CONVERT),
    "metis-weights": ("weighted.graph", change_text, CONVERT + " --edge-weights input"),
    "matrix-market": ("ring.mtx", change_text, CONVERT + " --edge-weights input"),
    "edge-weights": ("edges.csv", change_text, "convert edges.txt --edge-weights {file} --out o.weft --quiet"),
    "weights-npz": ("weights.npz", change_npz, "convert edges.txt --edge-weights {file} --out o.weft --quiet"),
    "features-csv": ("x.csv", change_text, PATH + "--features {file}"),
    "features-by-id": ("x-by-id.csv", change_text, PATH + "--features {file}"),
    "labels-csv": ("y.csv", change_text, PATH + "--labels {file}"),
    "labels-words": ("words.csv", change_text, PATH + "--labels {file}"),
    "splits-words": ("s.csv", change_text, PATH + "--labels y.npy --splits {file}"),
    "splits-masks": ("masks.csv", change_text, PATH + "--labels y.npy --splits {file}"),
    "features-npy": ("x.npy", change_npy, PATH + "--features {file}"),
    "labels-npy": ("y.npy", change_npy, PATH + "--labels {file}"),
    "splits-npy": ("s.npy", change_npy, PATH + "--labels y.npy --splits {file}"),
    "splits-npz": ("s.npz", change_npz, PATH + "--labels y.npy --splits {file}"),
    "weft-npz": ("weft.npz", change_npz, CONVERT),
    "sparse-npz": ("sparse.npz", change_npz, CONVERT),
    "pyg-npz": ("pyg.npz", change_npz, CONVERT),
    "scipy-npz": ("scipy.npz", change_npz, CONVERT),
    "ogb": ("ogb/raw/edge.csv.gz", change_gzip, "convert ogb --out o.weft --quiet"),
    "ogb-labels": ("ogb/raw/node-label.csv.gz", change_gzip, "convert ogb --out o.weft --quiet"),
    "graphsaint": ("graphsaint/role.json", change_json, "convert graphsaint --out o.weft --quiet"),
    "graphsaint-classes": ("graphsaint/class_map.json", change_json, "convert graphsaint --out o.weft --quiet"),
    "dgl-reddit": ("dgl-reddit/reddit_data.npz", change_npz, "convert dgl-reddit --out o.weft --quiet"),
    "ogb-binary": ("ogb-binary/raw/data.npz", change_npz, "convert ogb-binary --out o.weft --quiet"),
    "store-manifest": ("g.weft/manifest.json", change_json, STORE),
    "store-source": ("g.weft/source.npy", change_npy, STORE),
    "store-offset": ("g.weft/offset.npy", change_npy, STORE),
    "store-label": ("g.weft/label.npy", change_npy, STORE),
    "store-feature": ("g.weft/feature.npy", change_npy, STORE),
    "store-column": ("sparse.weft/feature_column.npy", change_npy, STORE.replace("g.weft", "sparse.weft")),
    "store-numbers": ("sparse.weft/feature_offset.npy", change_npy, STORE.replace("g.weft", "sparse.weft")),
    "folders": ("folders/train/a/0.png", change_png, IMAGES.replace("{data}", "folders")),
    "tar": ("folders.tar", change_tar, IMAGES.replace("{data}", "folders.tar")),
    "tar-gz": ("folders.tar.gz", change_tar_gz, IMAGES.replace("{data}", "folders.tar.gz")),
    "idx": ("idx/train-images-idx3-ubyte", change_bytes, IMAGES.replace("{data}", "idx")),
    "idx-labels": ("idx/train-labels-idx1-ubyte", change_bytes, IMAGES.replace("{data}", "idx")),
    "idx-gz": ("idxgz/train-images-idx3-ubyte.gz", change_gzip_bytes, IMAGES.replace("{data}", "idxgz")),
    "cifar": ("cifar/data_batch_1.bin", change_bytes, IMAGES.replace("{data}", "cifar")),
    "net": ("tiny.net", change_text, IMAGES.replace("{data}", "idx")),
    "config": ("train.cfg", change_text, "train --config train.cfg --data idx --warmup 0 --threads 1 --pin off --quiet --run-dir o.run"),
    "checkpoint": ("run/ckpt/epoch-00000001/manifest.json", change_json, "train --data g.weft --run-dir run --resume " + GRAPH),
    "checkpoint-last": ("run/ckpt/epoch-00000001/last.npz", change_npz, "train --data g.weft --run-dir run --resume " + GRAPH),
    "checkpoint-moments": ("run/ckpt/epoch-00000001/first.npz", change_npz, "train --data g.weft --run-dir run --resume " + GRAPH),
    "weights": ("run/weights.npz", change_npz, "eval --checkpoint run --data g.weft --quiet"),
    "run-json": ("run/run.json", change_json, "predict --checkpoint run --data g.weft --out o.answers --quiet"),
    "metrics": ("run/metrics.jsonl", change_text, "report run --out o.html"),
    "summary": ("run/summary.json", change_json, "report run --out o.html"),
    "safetensors": ("graph.safetensors", change_safetensors, "eval --checkpoint {file} --data g.weft --quiet"),
    "image-safetensors": ("image.safetensors", change_safetensors, "predict --checkpoint {file} --data folders --out o.answers --quiet"),
    "init-weights": ("graph.safetensors", change_safetensors, "train --data g.weft --init-weights {file} --run-dir o.run " + GRAPH),
}


# ---- one input ----

def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judge(name, path, scratch, done):
    """What is wrong with how the program ended, or None."""
    errors = done.stderr.decode("utf-8", "replace")
    if done.returncode < 0 or done.returncode >= 128:
        return "signal: status %d" % done.returncode
    if done.returncode not in STATUSES:
        return "status %d" % done.returncode
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", errors):
        return "control characters in the log"
    left = [entry for folder, _, files in os.walk(scratch) for entry in files + [folder] if ".tmp-" in entry]
    if left:
        return "left behind: %s" % left[0]
    if done.returncode in (0, 76):  # 76: what was read was numbers, and training on them diverged
        return None
    names = [os.path.basename(path), path.split("/")[0]]  # or what holds the file: the folder, store or archive
    if name == "config" and done.returncode == 2:  # a value that the file gave is quoted with its option
        names.append("--")
    if not any(part in errors for part in names):
        return "a message without the file's name"
    for output in ("o.weft", "o.answers", "o.html"):
        if os.path.exists(os.path.join(scratch, output)):
            return "half-written: %s" % output
    return None


def check_seeds(weft, seeds, names):
    """Without a change every input is taken: else nothing behind its first lines would be tried."""
    for name in names:
        unchanged = try_one(weft, seeds, "", name, 0, 0, lambda rng, data: data)
        if unchanged[2] != 0 or unchanged[3]:
            sys.exit("%s: the unchanged input ends with %d: %s" % (name, unchanged[2], unchanged[4]))


def try_one(weft, seeds, keep, name, seed, number, change=None):
    path, own_change, command = FORMATS[name]
    change = change or own_change
    rng = random.Random("%d %s %d" % (seed, name, number))
    scratch = tempfile.mkdtemp(prefix="weft-mutate-")
    fault, text = None, ""
    try:
        folder = os.path.join(scratch, "w")
        shutil.copytree(seeds, folder)
        with open(os.path.join(folder, path), "rb") as file:
            data = file.read()
        write(os.path.join(folder, path), change(rng, data))
        if name.startswith("store-") and name != "store-manifest":
            forget_checksums(folder, path)
        if name.startswith("checkpoint") and rng.random() < 0.85:
            seal_checkpoint(folder, path)
        words = [weft] + command.replace("{file}", path).split()
        environment = dict(os.environ, OMP_NUM_THREADS="1", XDG_CACHE_HOME=os.path.join(scratch, "cache"))
        try:
            done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=SECONDS, preexec_fn=limit, check=False)
            text = done.stderr.decode("utf-8", "replace")[-600:]
            fault = judge(name, path, folder, done)
            status = done.returncode
        except subprocess.TimeoutExpired:
            fault, status = "no end within %d s" % SECONDS, -1
        if fault and keep:
            shutil.copytree(folder, os.path.join(keep, "%s-%d-%d" % (name, seed, number)), dirs_exist_ok=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return name, number, status, fault, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weft")
    parser.add_argument("source")
    parser.add_argument("--count", type=int, default=4, help="inputs of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", default="")
    parser.add_argument("format", nargs="*")
    given = parser.parse_intermixed_args()
    weft = os.path.abspath(given.weft)
    sys.path.insert(0, os.path.join(os.path.abspath(given.source), "python"))
    sys.path.insert(0, os.path.join(os.path.abspath(given.source), "tests", "support"))
    names = given.format or list(FORMATS)
    keep = os.path.abspath(given.keep) if given.keep else ""
    with tempfile.TemporaryDirectory(prefix="weft-seeds-") as seeds:
        os.chdir(seeds)
        rng = np.random.default_rng(1)
        make_tables(rng)
        make_images(rng)
        make_runs(weft)
        check_seeds(weft, seeds, names)
        statuses, faults = {}, []
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            tries = [pool.submit(try_one, weft, seeds, keep, name, given.seed, number)
                     for name in names for number in range(given.count)]
            for done in concurrent.futures.as_completed(tries):
                name, number, status, fault, text = done.result()
                statuses[status] = statuses.get(status, 0) + 1
                if fault:
                    faults.append(fault)
                    print("%s %d (--seed %d): %s\n%s" % (name, number, given.seed, fault, text), flush=True)
    print("%d inputs of %d formats; ends: %s; %d faults" %
          (len(tries), len(names), ", ".join("%d x %d" % (statuses[s], s) for s in sorted(statuses)), len(faults)))
    sys.exit(1 if faults else 0)


main()
