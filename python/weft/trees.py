"""weft.trees: boosted trees: arrays and DataFrames in, models out.

Answers are computed by NumPy from the model alone, so that a served model needs neither the program nor a compiler.

    import weft.trees

    model = weft.trees.train(frame, died, valid=(frame2, died2), trees=300, depth=4, lr=0.05, patience=30)
    model.predict_proba(new)                 # [rows, classes]; predict() gives classes, or numbers of a regression
    model.contributions(new)                 # [rows, columns + 1]: SHAP values, the mean last
    model.save("model.json")                 # XGBoost's JSON form, which weft, XGBoost and weft.trees.load read
    weft.trees.load("model.json").predict(new)

Options are those of `weft train --model trees` (docs/howto-trees.md), `-` written as `_`. The program judges them, and what it refuses is
raised as weft.Error with its words.
"""

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from weft import program, store, tables
from weft.program import Error

__all__ = ["train", "load", "Model", "Error"]

_PathLike = Union[str, "os.PathLike[str]"]


def train(x: Any, y: Any, *, valid: Any = None, test: Any = None, weight: Any = None, group: Any = None,
          names: Optional[Sequence[str]] = None, run_dir: Optional[_PathLike] = None, ranks: int = 1, weft: Optional[str] = None,
          quiet: bool = False, **options: Any) -> "Model":
    """Trains boosted trees.

    x: [rows, columns] of numbers, a DataFrame, or a mapping of names to columns; columns of words are categories, and NaN, None and NA
    are missing. y: [rows], classes (words or whole numbers) or numbers. valid, test: (x, y) of rows that choose the number of trees and
    that score the model; with `weight` or `group` (x, y, weight or group). Without valid, all rows train, for all rounds. weight: [rows].
    group: [rows], queries of a ranking, whose rows stand together; those of valid and test are others, also of one name. run_dir: a
    folder that keeps metrics, checkpoints and the model (resume=True goes on there); without it they go when the model is read. ranks:
    processes, started by mpirun; the model does not depend on them.

    Raises ValueError for arrays that do not fit together, and weft.Error with the program's message."""
    if ranks < 1:
        raise ValueError("ranks: %d, expected 1 or more" % ranks)
    with tempfile.TemporaryDirectory(prefix="weft-trees-") as folder:
        table, run = os.path.join(folder, "table"), os.fspath(run_dir) if run_dir is not None else os.path.join(folder, "run")
        tables.write_parts(table, x, y, valid, test, weight, group, names)
        program.command("train", (), {**options, "data": table, "model": "trees", "run_dir": run}, weft=weft, ranks=ranks, quiet=quiet)
        return load(run, weft=weft)


# ---- models ---------------------------------------------------------------------------------------------------------


class _Tree:
    """A tree's arrays by node."""

    def __init__(self, tree: Mapping[str, Any]):
        self.left = np.array(tree["left_children"], np.int64)
        self.right = np.array(tree["right_children"], np.int64)
        self.feature = np.array(tree["split_indices"], np.int64)
        self.value = np.array(tree["split_conditions"], np.float64).astype(np.float32)
        self.default_left = np.array(tree["default_left"], bool)
        self.sets = {}
        for node, first, size in zip(tree.get("categories_nodes", []), tree.get("categories_segments", []), tree.get("categories_sizes", [])):
            self.sets[node] = np.array(tree["categories"][first:first + size], np.int64)

    def leaves(self, values: np.ndarray) -> np.ndarray:
        """-> the leaf of each row of values [rows, columns] float32; NaN is missing."""
        at = np.zeros(len(values), np.int64)
        rows = np.arange(len(values))
        while rows.size:
            rows = rows[self.left[at[rows]] >= 0]
            node = at[rows]
            x = values[rows, self.feature[node]]
            goes_left = x < self.value[node]
            for split, members in self.sets.items():
                here = node == split
                goes_left[here] = ~np.isin(x[here], members)
            goes_left = np.where(np.isnan(x), self.default_left[node], goes_left)
            at[rows] = np.where(goes_left, self.left[node], self.right[node])
        return at


class Model:
    """A trained forest: what train and load give."""

    def __init__(self, text: str, origin: str, weft: Optional[str]):
        self._text, self._weft = text, weft
        try:
            learner = json.loads(text)["learner"]
            attributes = learner.get("attributes", {})
            model = learner["gradient_booster"]["model"]
            self.columns: List[str] = list(learner["feature_names"])
            self.objective: str = learner["objective"]["name"]
            self.outputs = max(1, int(learner["learner_model_param"]["num_class"]))
            self._trees = [_Tree(tree) for tree in model["trees"]]
            self._base = np.array([float(attributes["weft_base_%d" % k]) for k in range(self.outputs)], np.float32)
            self._words: Dict[int, Dict[str, int]] = {}
            classes: Dict[int, str] = {}
            for key, value in attributes.items():
                kind, _, place = key.rpartition("_")
                if kind == "weft_class":
                    classes[int(place)] = value
                elif kind.startswith("weft_word_"):
                    self._words.setdefault(int(kind[10:]), {})[value] = int(place)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("%s: it is no model of `weft train --model trees`: %r" % (origin, error)) from error
        names = [classes[k] for k in sorted(classes)]
        whole = bool(names) and all(name.lstrip("-").isdigit() for name in names)
        self.classes: Optional[np.ndarray] = (np.array(list(map(int, names)) if whole else names)) if names else None
        self.metrics: Dict[str, np.ndarray] = {}
        self.summary: Dict[str, Any] = {}

    def _values(self, x: Any) -> np.ndarray:
        """The columns of the model, by name where x has names, as float32 [rows, columns]."""
        given = tables.columns_of(x, self.columns if not hasattr(x, "columns") and not isinstance(x, Mapping) else None)
        lacking = [name for name in self.columns if name not in given]
        if lacking:
            raise ValueError("x lacks columns of the model: %s" % ", ".join(lacking))
        values = np.empty((len(next(iter(given.values())).values), len(self.columns)), np.float32)
        for place, name in enumerate(self.columns):
            column = given[name]
            if column.kind != "category" and place not in self._words:
                values[:, place] = column.values
                continue
            if place not in self._words:
                raise ValueError("column %s holds words, and was trained on numbers" % name)
            code = self._words[place]
            if column.kind == "category":
                table = np.array([code.get(word, np.nan) for word in column.words] + [np.nan], np.float32)  # the last one: missing
                values[:, place] = table[column.values]
            else:
                values[:, place] = [code.get("%d" % cell if cell == cell and cell == int(cell) else str(cell), np.nan)
                                    for cell in column.values]
        return values

    def leaves(self, x: Any) -> np.ndarray:
        """-> [rows, trees], the node that each row ends in."""
        values = self._values(x)
        return np.stack([tree.leaves(values) for tree in self._trees], axis=1) if self._trees else np.zeros((len(values), 0), np.int64)

    def margins(self, x: Any) -> np.ndarray:
        """-> float32 [rows, outputs], sums of leaves before the link: the bits of the program."""
        values = self._values(x)
        margins = np.tile(self._base, (len(values), 1))
        for number, tree in enumerate(self._trees):
            margins[:, number % self.outputs] += tree.value[tree.leaves(values)]
        return margins

    def predict_proba(self, x: Any) -> np.ndarray:
        """-> [rows, classes]"""
        if self.classes is None:
            raise ValueError("the model answers with numbers (%s), not with classes: call predict" % self.objective)
        margins = self.margins(x).astype(np.float64)
        if self.outputs == 1:
            margins = np.concatenate([np.zeros_like(margins), margins], axis=1)
        power = np.exp(margins - margins.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True)

    def predict(self, x: Any) -> np.ndarray:
        """-> [rows]: the likeliest class, or the number."""
        if self.classes is not None:
            return self.classes[self.predict_proba(x).argmax(axis=1)]
        margins = self.margins(x)[:, 0]
        return np.exp(margins) if self.objective == "count:poisson" else margins

    def contributions(self, x: Any) -> np.ndarray:
        """-> [rows, columns + 1], of more than two classes [rows, classes, columns + 1]: what each column adds to the margin (SHAP values),
        and last the mean margin. Computed by the program."""
        columns = tables.columns_of(x, self.columns if not hasattr(x, "columns") and not isinstance(x, Mapping) else None)
        with tempfile.TemporaryDirectory(prefix="weft-trees-") as folder:
            table, model, out = (os.path.join(folder, name) for name in ("table", "model.json", "answers"))
            tables.write_columns(table, columns, {})
            self.save(model)
            program.command("predict", (), {"model": "trees", "data": table, "checkpoint": model, "out": out, "contributions": True},
                            weft=self._weft, quiet=True)
            found = np.load(os.path.join(out, "contributions.npy"))
        return found if found.shape[1] > 2 else found[:, -1]

    def save(self, path: _PathLike) -> None:
        """Writes the model as JSON: the bytes that the program wrote."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self._text)


def load(path: _PathLike, *, weft: Optional[str] = None) -> Model:
    """A model of a file, or of a run folder, with its metrics by epoch and its summary. weft: the program, for contributions."""
    origin = os.fspath(path)
    run = os.path.isdir(origin)
    name = os.path.join(origin, "model.json") if run else origin
    with open(name, encoding="utf-8", newline="") as file:
        model = Model(file.read(), name, weft)
    if run:
        model.metrics = store.read_metrics(origin)
        summary = os.path.join(origin, "summary.json")
        if os.path.exists(summary):
            with open(summary, encoding="utf-8") as file:
                model.summary = json.load(file)
    return model
