"""focus_checks.py: an index of weft focus and its answers, beside what weft predict says of both networks.

index FILE PREDICTIONS: each score of the index is the log-odds of probabilities.npy of the cheap network.
answers CSV PREDICTIONS CLASS R P [FIRST LAST]: recall and precision of answers by predictions.npy of the expensive
    network, of images FIRST to LAST alone; verified ones are all of the class.
count CSV PREDICTIONS CLASS: the interval holds how many items are of the class.
plan CSV SMALL LARGE: agreement and plans of every s-th item by predictions.npy of both networks.
pictures FOLDER FIRST LAST: writes small pictures FIRST .. LAST - 1 as PNG.
"""
import csv
import json
import math
import os
import struct
import sys
import zlib

from focus_index import blocks, npy


def scores(path):
    """The head, and a list of scores of each item."""
    head, items = None, []
    for kind, contents in blocks(path):
        if kind == 1:
            head = json.loads(contents.rstrip(b"\0"))
        elif kind == 2:
            first, count, kept, _ = struct.unpack_from("<QIIQ", contents)
            assert first == len(items) and kept == head["kept"]
            origins = count * (8 if head["data"] == "" else 0)
            column = struct.unpack_from(f"<{kept * count}H", contents, 24 + origins)
            items += [[column[k * count + i] / 65535 * 64 - 32 for k in range(kept)] for i in range(count)]
    return head, items


def check_index(path, predictions):
    head, items = scores(path)
    probabilities = npy(f"{predictions}/probabilities.npy")
    assert len(items) == len(probabilities) and head["classes"] == len(probabilities[0])
    for i, (odds, p) in enumerate(zip(items, probabilities)):
        for c, (x, value) in enumerate(zip(odds, p)):
            if 1e-6 < value < 1 - 1e-3:  # beyond, float32 holds too few digits of p or of 1 - p
                assert abs(x - math.log(value / (1 - value))) < 2e-3, (i, c, x, value)


def check_answers(path, predictions, wanted, recall, precision, first=0, last=1 << 60):
    answers = npy(f"{predictions}/predictions.npy")
    truth = [row[0] == int(wanted) and int(first) <= i <= int(last) for i, row in enumerate(answers)]
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    found = [int(row["image"]) for row in rows]
    assert len(found) == len(set(found))
    assert all(truth[int(row["image"])] for row in rows if row["answer"] == "verified")
    hits = sum(truth[i] for i in found)
    assert sum(truth) > 50, sum(truth)
    assert hits >= float(recall) * sum(truth), (hits, sum(truth))
    assert hits >= float(precision) * len(found), (hits, len(found))


def check_count(path, predictions, wanted):
    truth = sum(row[0] == int(wanted) for row in npy(f"{predictions}/predictions.npy"))
    with open(path, encoding="utf-8") as stream:
        row, = csv.DictReader(stream)
    assert row["class"] == wanted and int(row["least"]) <= truth <= int(row["most"]), (row, truth)
    assert int(row["least"]) <= int(row["count"]) <= int(row["most"]) <= truth * 1.2, (row, truth)


def check_plan(path, small, large):
    """The data are as many rows as the runs that judge, so agreement and every s-th item are known for all of them."""
    cheap, truth = ([row[0] for row in npy(f"{folder}/predictions.npy")] for folder in (small, large))
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(truth) == 512 and [row["plan"] for row in rows][:3] == ["cheap", "everything", "every 2nd"]

    def near(row, key, value):
        assert abs(float(row[key]) - value) < 1e-6, (row, key, value)
    near(rows[0], "agreement", sum(a == b for a, b in zip(cheap, truth)) / 512)
    near(rows[1], "query_runs", 512)
    for k, row in enumerate(rows[2:]):
        stride = 2 << k
        near(row, "query_runs", -(-512 // stride))
        near(row, "recall", sum(truth[i] == truth[i - i % stride] for i in range(512)) / 512)
    chosen, = [row for row in rows if row["chosen"] == "true"]
    assert float(chosen["recall"]) >= 0.95 and float(chosen["precision"]) >= 0.95
    assert all(float(chosen["seconds"]) <= float(row["seconds"]) for row in rows if row["meets"] == "true")


def picture(number, side=16):
    """Stripes of a direction and colour that depend on the number."""
    lines = b""
    for y in range(side):
        line = b"\0"
        for x in range(side):
            wave = math.cos((x * (number % 5) + y * (4 - number % 5)) * (0.4 + 0.07 * (number % 7)) + number)
            line += bytes(int(128 + 100 * wave * gain) for gain in (1, 0.3 + 0.01 * (number % 60), 0.8))
        lines += line

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def make_pictures(folder, first, last):
    os.makedirs(folder, exist_ok=True)
    for number in range(int(first), int(last)):
        with open(f"{folder}/{number:04}.png", "wb") as stream:
            stream.write(picture(number))


{"index": check_index, "answers": check_answers, "count": check_count, "plan": check_plan, "pictures": make_pictures}[sys.argv[1]](*sys.argv[2:])
