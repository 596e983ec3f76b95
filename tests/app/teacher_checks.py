"""teacher_checks.py: trainings towards another network's answers, beside what NumPy-free arithmetic makes of its probabilities.

loss RUN TEACHER T: the loss of the only epoch is T^2 times the mean cross-entropy of the teacher's softened probabilities with
    themselves; with T = 0 that of its likeliest classes.
same RUN OTHER: their losses differ by rounding alone.
agree FOLDER TEACHER SHARE: predictions of FOLDER are the teacher's on that share of the rows.
merged FOLDER TEACHER: FOLDER knows class3, class1 and other, and mostly says them where the teacher says these or others.
plan CSV TEACHER PUPIL SOME: agreement of both as their predictions have it, the second of classes as in `merged`.
answers CSV TEACHER CLASS: all answers of a query that are verified are of the class by the teacher, and most of the class are there.
damage FOLDER OUT KIND: a copy that is wrong in one way.
"""
import csv
import json
import math
import os
import shutil
import struct
import sys

from focus_index import npy


def loss_of(run):
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as stream:
        return json.loads(stream.readlines()[-1])["loss"]


def probabilities(folder):
    return [list(row) for row in npy(os.path.join(folder, "probabilities.npy"))]


def predictions(folder):
    return [row[0] for row in npy(os.path.join(folder, "predictions.npy"))]


def softened(row, t):
    powers = [p ** (1 / t) for p in row]
    return [p / sum(powers) for p in powers]


def check_loss(run, teacher, text):
    t, rows = float(text), probabilities(teacher)
    if t == 0:
        expected = sum(-math.log(max(row)) for row in rows) / len(rows)
    else:
        expected = t * t * sum(-sum(q * math.log(q) for q in softened(row, t) if q > 0) for row in rows) / len(rows)
    assert abs(loss_of(run) - expected) < 1e-4 * max(1.0, expected), (loss_of(run), expected)


def check_same(run, other):
    assert abs(loss_of(run) - loss_of(other)) < 1e-6 * max(1.0, loss_of(run)), (loss_of(run), loss_of(other))


def check_agree(folder, teacher, share):
    said, taught = predictions(folder), predictions(teacher)
    same = sum(a == b for a, b in zip(said, taught))
    assert len(said) == len(taught) and len(set(taught)) > 1 and same >= float(share) * len(taught), (same, len(taught))


def check_merged(folder, teacher):
    with open(os.path.join(folder, "scores.json"), encoding="utf-8") as stream:
        names = json.load(stream)["class_names"]
    assert names == ["class3", "class1", "other"], names
    taught = [{3: 0, 1: 1}.get(c, 2) for c in predictions(teacher)]
    same = sum(a == b for a, b in zip(predictions(folder), taught))
    assert len(set(taught)) == 3 and same >= 0.8 * len(taught), (same, len(taught))


def check_plan(path, teacher, pupil, some):
    """Agreement is measured on runs of these images: half of them or more."""
    truth = predictions(teacher)
    shares = [sum(a == b for a, b in zip(predictions(pupil), truth)) / len(truth),
              sum(a == {3: 0, 1: 1}.get(b, 2) for a, b in zip(predictions(some), truth)) / len(truth)]
    with open(path, encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["plan"] == "cheap"]
    assert len(rows) == 2
    for row, share in zip(rows, shares):
        assert abs(float(row["agreement"]) - share) < 0.06 and float(row["recall"]) > 0.9, (row, share)


def check_answers(path, teacher, wanted):
    with open(os.path.join(teacher, "answers.csv"), encoding="utf-8") as stream:
        of_class = {row["file"] for row in csv.DictReader(stream) if row["class"] == wanted}
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["file"] for row in rows if row["answer"] == "verified"} <= of_class
    assert len(of_class & {row["file"] for row in rows}) >= 0.9 * len(of_class) > 0


def damage(folder, out, kind):
    shutil.copytree(folder, out)
    array, text = os.path.join(out, "probabilities.npy"), os.path.join(out, "scores.json")
    with open(array, "r+b") as stream:
        if kind in ("nan", "sum"):
            stream.seek(-4, os.SEEK_END)
            stream.write(struct.pack("<f", float("nan") if kind == "nan" else 1.5))
        elif kind == "short":
            stream.truncate(os.path.getsize(array) - 4)
    with open(text, encoding="utf-8") as stream:
        facts = json.load(stream)
    if kind == "names":
        facts["class_names"].pop()
    elif kind == "hash":
        facts["data_hash"] = "0" * 32
    with open(text, "w", encoding="utf-8") as stream:
        json.dump(facts, stream)


{"loss": check_loss, "same": check_same, "agree": check_agree, "merged": check_merged, "plan": check_plan, "answers": check_answers,
 "damage": damage}[sys.argv[1]](*sys.argv[2:])
