"""What test_mutations.sh runs: damaged stores, checkpoints and metrics.jsonl read by python/weft/store.py. Only ValueError and
OSError come out, and each names a file of the folder."""

import json
import os
import random
import shutil
import subprocess
import sys
import warnings
import zipfile

import numpy as np

import weft_store

WEFT, COUNT = sys.argv[1], int(sys.argv[2])
WRONG = [None, True, -1, 0, 1e300, 2**70, "x", "", "\0", "../x", [], [1], {}, {"file": 3}, [[[[]]]], float("nan")]


def make_seeds():
    rng = np.random.default_rng(1)
    n = 40
    weft_store.write_store("store", rng.integers(0, n, (2, 90)), rng.normal(size=(n, 3)), np.arange(n) % 3,
                           np.arange(n) < 20, np.arange(n) // 10 == 2, np.arange(n) >= 30, quiet=True,
                           class_names=["a", "b", "ccc"], vertex_names=["v%d" % v for v in range(n)])
    # One number in a hundred: the store keeps them sparse.
    np.savez("sparse.npz", vertices=n, edges=rng.integers(0, n, (90, 2)), feature_indptr=np.arange(n + 1),
             feature_indices=rng.integers(0, 100, n), feature_data=np.ones(n), feature_shape=[n, 100])
    subprocess.run([WEFT, "convert", "sparse.npz", "--out", "few", "--threads", "1", "-q"], check=True,
                   stderr=subprocess.DEVNULL)
    assert os.path.exists("few/feature_offset.npy")
    subprocess.run([WEFT, "train", "--data", "store", "--epochs", "3", "--checkpoint-every", "2", "--threads", "1",
                    "--quiet", "--run-dir", "run"], check=True, stdout=subprocess.DEVNULL)


def mutate_bytes(data, rng):
    data = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0 or not data:
        return bytes(data[:rng.randrange(len(data) + 1)])
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(min(len(data), rng.choice([16, 140, len(data)])) or 1) if data else 0
        data = data or bytearray(1)
        if kind == 1:
            data[at] = rng.choice([0, 10, 34, 39, 44, 48, 57, 91, 123, 128, 255, rng.randrange(256)])
        elif kind == 2:
            data[at:at] = rng.choice([b"[" * 3000, b"9", b"'", b"-", b"PK\3\4", b"\xff\xfe", b"(", b"1e999", b"\n"])
        else:
            del data[at:at + rng.randrange(1, 9)]
    return bytes(data)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, path + (key,))


def mutate_json(text, rng):
    value = json.loads(text)
    path = rng.choice(list(places(value)))
    wrong = rng.choice(WRONG)
    if not path:
        return json.dumps(wrong).encode()
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if rng.randrange(4) == 0 and isinstance(inner, dict):
        del inner[path[-1]]
    else:
        inner[path[-1]] = wrong
    return json.dumps(value).encode()


def mutate_lines(text, rng):
    lines = text.split(b"\n")
    at = rng.randrange(len(lines) - 1)
    lines[at] = mutate_json(lines[at], rng)
    return b"\n".join(lines)


def mutate_file(path, rng):
    with open(path, "rb") as file:
        data = file.read()
    structured = path.endswith((".json", ".jsonl")) and rng.randrange(3) > 0
    kind = rng.randrange(20)
    if kind == 0:
        os.remove(path)
        return
    if kind == 1:
        os.remove(path)
        os.mkdir(path)
        return
    if kind == 2 and path.endswith(".npy"):
        data = zipfile_of(path)
    elif structured:
        data = mutate_lines(data, rng) if path.endswith(".jsonl") else mutate_json(data, rng)
    else:
        data = mutate_bytes(data, rng)
    with open(path, "wb") as file:
        file.write(data)


def zipfile_of(path):
    with zipfile.ZipFile(path + ".zip", "w") as archive:
        archive.write(path, "a.npy")
    with open(path + ".zip", "rb") as file:
        data = file.read()
    os.remove(path + ".zip")
    return data


def put_checksums_right(folder):
    """So that what lies behind the checksums is read, too."""
    name = os.path.join(folder, "manifest.json")
    try:
        with open(name, encoding="utf-8") as file:
            manifest = json.load(file)
        for plain, entry in manifest["files"].items():
            entry["bytes"] = os.path.getsize(os.path.join(folder, plain))
            entry["crc32"] = weft_store._file_crc(os.path.join(folder, plain))
        with open(name, "w", encoding="utf-8") as file:
            json.dump(manifest, file)
    except Exception:
        pass
    if os.path.isfile(name) and not os.path.isdir(os.path.join(folder, "manifest.crc32")):
        with open(os.path.join(folder, "manifest.crc32"), "w", encoding="ascii") as file:
            file.write(weft_store._file_crc(name) + "\n")


def read_store(folder, rng):
    store = weft_store.read_store(folder, mmap=bool(rng.randrange(2)), verify=bool(rng.randrange(2)),
                                  sparse=bool(rng.randrange(2)))
    assert all(isinstance(array, (np.ndarray, list)) for array in store.values())


CHECKS = [("store", "", read_store), ("few", "", read_store),
          ("run", "", lambda folder, rng: weft_store.read_metrics(folder)),
          ("run", "ckpt", lambda folder, rng: weft_store.read_checkpoint(
              os.path.join(folder, "ckpt", rng.choice(sorted(os.listdir(folder + "/ckpt")))), rng.choice(["best", "last"]))),
          ("run", "ckpt", lambda folder, rng: weft_store.read_checkpoint(folder))]


def one(number):
    rng = random.Random(number)
    seed, inner, read = CHECKS[number % len(CHECKS)]
    folder = os.path.abspath("case")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(seed, folder)
    files = [os.path.join(place, name) for place, _, names in os.walk(os.path.join(folder, inner)) for name in names]
    if "metrics.jsonl" in os.listdir(folder) and inner == "":
        files = [os.path.join(folder, "metrics.jsonl")]
    mutate_file(rng.choice(sorted(files)), rng)
    if inner == "ckpt" and rng.randrange(4) > 0:
        for name in os.listdir(os.path.join(folder, "ckpt")):
            put_checksums_right(os.path.join(folder, "ckpt", name))
    try:
        read(folder, rng)
        return "read"
    except (ValueError, OSError) as error:
        assert folder in str(error), "case %d: no file name in %r" % (number, error)
        assert not isinstance(error, UnicodeError), "case %d: %r" % (number, error)
        return "refused"


make_seeds()
warnings.simplefilter("ignore")
ends = [one(number) for number in range(COUNT)]
print("%d read, %d refused" % (ends.count("read"), ends.count("refused")))
assert ends.count("refused") > COUNT // 4
