"""python/weft/trees.py beside the program: tables of arrays, mappings and DataFrames train as the same CSV file does, answers of NumPy
are those of `weft predict`, and what cannot be meant is refused. Arguments: the program."""

import csv
import json
import os
import subprocess
import sys

import numpy as np

import weft_trees

WEFT = sys.argv[1]
rng = np.random.default_rng(5)
N = 600


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), (text, str(error))
        return
    raise AssertionError("not refused: " + text)


def program(*words):
    done = subprocess.run([WEFT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- numbers and words, two classes: as the same rows from a CSV file ----
number = rng.normal(size=N).astype(np.float32)
number[rng.random(N) < 0.1] = np.nan
count = rng.integers(0, 9, N)
town = np.array(["Ulm", "Köln", "Bonn", "Jena", "Kiel", "Hof"])[rng.integers(0, 6, N)].astype(object)
town[:7] = None
y = ((np.nan_to_num(number) + 0.3 * count + (town == "Ulm") + rng.normal(size=N)) > 1.4).astype(int)
table = {"number": number, "count": count, "town": town}


def rows_of(first, end):
    return {name: column[first:end] for name, column in table.items()}


train, valid, test = rows_of(0, 400), rows_of(400, 500), rows_of(500, N)
options = dict(trees=30, depth=4, lr=0.2, weft=WEFT, quiet=True, one_hot=2, category_smooth=5)
model = weft_trees.train(train, y[:400], valid=(valid, y[400:500]), test=(test, y[500:]), run_dir="run", **options)
assert list(model.classes) == [0, 1] and len(model.metrics["epoch"]) >= 30 and model.columns == list(table)
with open("rows.csv", "w", encoding="utf-8", newline="") as file:
    out = csv.writer(file)
    out.writerow([*table, "weft_target", "weft_split"])
    for row in range(N):
        cell = "" if np.isnan(number[row]) else repr(float(number[row]))
        out.writerow([cell, count[row], town[row] or "", y[row], "train" if row < 400 else "valid" if row < 500 else "test"])
program("train", "--data", "rows.csv", "--model", "trees", "--target", "weft_target", "--split-column", "weft_split", "--trees", "30", "--depth", "4", "--lr", "0.2", "--one-hot", "2",
        "--category-smooth", "5", "--run-dir", "by_csv")
with open("run/model.json", "rb") as mine, open("by_csv/model.json", "rb") as other:
    assert mine.read() == other.read()

program("predict", "--data", "rows.csv", "--checkpoint", "run", "--out", "answers", "--contributions")
probabilities = np.load("answers/probabilities.npy")
assert np.abs(model.predict_proba(table) - probabilities).max() < 1e-6
assert (model.predict(table) == probabilities.argmax(axis=1)).all()
why = model.contributions(table)
assert why.shape == (N, 4) and np.abs(why - np.load("answers/contributions.npy")[:, -1]).max() == 0
assert np.abs(why.sum(axis=1) - model.margins(table)[:, 0]).max() < 1e-4
# A word that training has not seen is a missing value; columns come in any order, and further ones are left aside.
strange = dict(reversed(list(table.items())), town=np.full(N, "Rom"), more=count)
assert (model.margins(strange) == model.margins(dict(table, town=np.full(N, None)))).all()
model.save("kept.json")
again = weft_trees.load("kept.json")
assert (again.margins(table) == model.margins(table)).all() and again.leaves(table).shape[0] == N
with open("kept.json", "rb") as mine, open("run/model.json", "rb") as other:
    assert mine.read() == other.read()

# ---- three classes of words, weights; an array without names; two ranks give the same bytes ----
x = rng.normal(size=(N, 3))
kind = np.array(["red", "green", "blue"])[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)]
weight = rng.random(N) + 0.5
models = [weft_trees.train(x, kind, weight=weight, trees=8, depth=3, weft=WEFT, quiet=True, ranks=ranks) for ranks in (1, 2)]
models[0].save("one.json")
models[1].save("two.json")
with open("one.json", "rb") as one, open("two.json", "rb") as two:
    assert one.read() == two.read()
assert sorted(models[0].classes) == ["blue", "green", "red"] and models[0].predict_proba(x).shape == (N, 3)
assert (models[0].predict(x) == kind).mean() > 0.95
assert models[0].contributions(x).shape == (N, 3, 4)

# ---- numbers, counts, and a ranking ----
amount = 3 * x[:, 0] + rng.normal(size=N) * 0.1
regression = weft_trees.train(x, amount, trees=60, depth=4, weft=WEFT, quiet=True)
assert regression.classes is None and np.abs(regression.predict(x) - amount).mean() < 0.3
counts = rng.poisson(np.exp(x[:, 0] * 0.5))
poisson = weft_trees.train(x, counts, loss="poisson", trees=30, depth=3, weft=WEFT, quiet=True)
assert (poisson.predict(x) > 0).all() and abs(poisson.predict(x).mean() - counts.mean()) < 0.2
query = np.repeat(np.arange(60), 10)
ranking = weft_trees.train(x, (x[:, 0] > 0.5).astype(int), group=query, loss="rank", trees=20, depth=3, weft=WEFT, quiet=True)
assert np.corrcoef(ranking.predict(x), x[:, 0])[0, 1] > 0.5

# Queries of valid are others than those of x, also of the same numbers; large numbers stay apart.
same = dict(loss="rank", trees=5, depth=3, weft=WEFT, quiet=True)
grades = (x[:, 0] > 0.5).astype(int)
ranked = weft_trees.train(x[:300], grades[:300], group=query[:300], valid=(x[300:], grades[300:], query[:300]), **same)
large = weft_trees.train(x[:300], grades[:300], group=query[:300] + 2**60, valid=(x[300:], grades[300:], query[300:] + 2**60), **same)
assert (ranked.margins(x) == large.margins(x)).all() and ranked.metrics["valid"][-1] == large.metrics["valid"][-1]

# ---- a DataFrame, where pandas is ----
try:
    import pandas
except ImportError:
    print("trees_checks: no pandas: DataFrames were not tried")
else:
    frame = pandas.DataFrame(table)
    frame["town"] = frame["town"].astype("category")
    by_frame = weft_trees.train(frame[:400], y[:400], valid=(frame[400:500], y[400:500]), test=(frame[500:], y[500:]), **options)
    by_frame.save("frame.json")
    with open("frame.json", "rb") as mine, open("run/model.json", "rb") as other:
        assert mine.read() == other.read()
    assert (by_frame.margins(frame) == model.margins(table)).all()
    holes = frame[["number"]].assign(count=pandas.array([None, *count[1:]], dtype="Int64"), town=pandas.array([None, *town[1:]], dtype="string"))
    assert np.isfinite(weft_trees.train(holes, y, trees=2, depth=2, weft=WEFT, quiet=True).margins(holes)).all()
    coded = {"ward": pandas.Categorical(count % 3), "number": number}
    assert weft_trees.train(coded, (count % 3 == 1).astype(int), trees=2, depth=1, weft=WEFT, quiet=True)._words[0] == {"0": 0, "1": 1, "2": 2}

# ---- what is refused ----
refused(weft_trees.Error, "unknown option --nonsense", lambda: weft_trees.train(x, kind, nonsense=3, weft=WEFT, quiet=True))
refused(ValueError, "train: y has 599 rows, and its x has 600", lambda: weft_trees.train(x, kind[:-1], weft=WEFT, quiet=True))
refused(ValueError, "test: weight or group has 1 rows, and its x has 600", lambda: weft_trees.train(x, kind, weight=weight, test=(x, kind, [1])))
refused(ValueError, "c2, row 3: inf", lambda: weft_trees.train(np.where(np.arange(N * 3).reshape(N, 3) == 10, np.inf, x), kind, weft=WEFT))
refused(ValueError, "valid: it has no rows", lambda: weft_trees.train(x, kind, valid=(x[:0], kind[:0]), weft=WEFT))
refused(ValueError, "which x lacks", lambda: weft_trees.train(x, kind, valid=(x, kind, weight), weft=WEFT))
refused(ValueError, "ranks: 0", lambda: weft_trees.train(x, kind, ranks=0, weft=WEFT))
refused(ValueError, "group, row 2", lambda: weft_trees.train(x, kind, group=np.where(np.arange(N) == 2, np.nan, query), weft=WEFT))
refused(ValueError, "columns differ: town", lambda: weft_trees.train(train, y[:400], valid=({"number": number, "count": count}, y), weft=WEFT))
refused(ValueError, "lacks columns of the model: town", lambda: model.predict({"number": number, "count": count}))
refused(ValueError, "holds words, and was trained on numbers", lambda: model.predict(dict(table, count=town)))
refused(ValueError, "not with classes", lambda: regression.predict_proba(x))
refused(TypeError, "neither numbers nor words", lambda: model.predict(dict(table, count=np.zeros(N, "datetime64[s]"))))
with open("kept.json", encoding="utf-8") as file:
    broken = json.load(file)
del broken["learner"]["gradient_booster"]["model"]["trees"]
with open("broken.json", "w", encoding="utf-8") as file:
    json.dump(broken, file)
refused(ValueError, "broken.json: it is no model", lambda: weft_trees.load("broken.json"))
assert not [name for name in os.listdir(".") if name.startswith("weft-trees-")]
print("trees_checks: passed")
