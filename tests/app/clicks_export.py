"""Answers of a DeepFM from the file of weft export, by its formula in NumPy, beside those of weft predict.

clicks_export.py MODEL.safetensors TABLE.csv PROBABILITIES.npy
"""

import csv
import json
import struct
import sys

import numpy as np
import xxhash

TYPES = {"F32": "<f4", "I64": "<u8"}


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__")
    tensors = {
        name: np.frombuffer(data[slice(*t["data_offsets"])], TYPES[t["dtype"]]).reshape(t["shape"])
        for name, t in header.items()
    }
    return tensors, metadata


def main():
    tensors, metadata = read(sys.argv[1])
    fields, numbers = (names.split(",") for names in metadata["weft.click-columns"].split(";"))
    mean, deviation = (
        [float(x) for x in metadata[f"weft.feature-{which}"].split(",")] for which in ("mean", "deviation")
    )
    rows = dict(zip(tensors["rows.key"].tolist(), tensors["rows.value"].astype(float)))
    assert len(rows) == len(tensors["rows.key"]) > 0, "a key has two rows"
    width = tensors["rows.value"].shape[1] - 1
    answers = []
    with open(sys.argv[2], newline="") as table:
        for line in csv.DictReader(table):
            keys = [f << 54 | xxhash.xxh3_64_intdigest(line[name]) >> 10 for f, name in enumerate(fields)]
            found = np.array([rows.get(key, np.zeros(width + 1)) for key in keys])
            v, x = found[:, :width], np.zeros(len(numbers))
            for i, name in enumerate(numbers):
                x[i] = (np.float32(line[name]) - mean[i]) / deviation[i] if line[name] else 0
            logit = tensors["bias"][0] + found[:, width].sum() + x @ tensors["linear.numbers"]
            logit += 0.5 * (v.sum(0) @ v.sum(0) - (v * v).sum())
            hidden, layer = np.concatenate([v.ravel(), x]), 0
            while f"deep.{layer}.weight" in tensors:
                hidden = tensors[f"deep.{layer}.weight"] @ hidden + tensors[f"deep.{layer}.bias"]
                hidden, layer = np.maximum(hidden, 0), layer + 1
            logit += (tensors["deep.out.weight"] @ hidden)[0]
            answers.append(1 / (1 + np.exp(-logit)))
    told = np.load(sys.argv[3]).ravel()
    assert len(told) == len(answers), (len(told), len(answers))
    off = np.abs(told - answers).max()
    assert off < 1e-6 and told.std() > 0.01, (off, told.std())


main()
