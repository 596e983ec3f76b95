"""weft_trees: boosted trees of Weft from Python: arrays and DataFrames in, models out.

One file beside weft_store.py; it needs NumPy (Python 3.8 or later), and the program `weft` for training and contributions. Answers
are computed by NumPy from the model alone, so that a served model needs neither the program nor a compiler.

    import weft_trees

    model = weft_trees.train(frame, died, valid=(frame2, died2), trees=300, depth=4, lr=0.05, patience=30)
    model.predict_proba(new)                 # [rows, classes]; predict() gives classes, or numbers of a regression
    model.contributions(new)                 # [rows, columns + 1]: SHAP values, the mean last
    model.save("model.json")                 # XGBoost's JSON form, which weft, XGBoost and weft_trees.load read
    weft_trees.load("model.json").predict(new)

Options are those of `weft train --model trees` (docs/howto-trees.md), `-` written as `_`. The program judges them, and what it refuses is
raised as WeftError with its words.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

import weft_store

__all__ = ["train", "load", "Model", "WeftError"]

_PathLike = Union[str, "os.PathLike[str]"]
TARGET, SPLIT, WEIGHT, GROUP = "weft_target", "weft_split", "weft_weight", "weft_group"  # columns beside the features
INT_MISSING, LARGEST = np.iinfo(np.int32).min, np.finfo(np.float32).max


class WeftError(RuntimeError):
    """The program refused what it was asked, or failed; the text is its own message."""


# ---- tables ---------------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A column as the table store has it."""
    kind: str  # real, integer, category, id, split
    values: np.ndarray
    words: List[str]  # of a category, in the order of their bytes


def _missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell  # NA has no truth: it comes first


def _words(name: str, values: np.ndarray) -> _Column:
    cells = [None if _missing(cell) else str(cell) for cell in values.tolist()]
    words = sorted({cell for cell in cells if cell is not None}, key=lambda word: word.encode())
    if any("\n" in word or "\0" in word for word in words):
        raise ValueError("column %s: a word with a line feed or a zero byte cannot be kept" % name)
    code = {word: place for place, word in enumerate(words)}
    return _Column("category", np.array([-1 if cell is None else code[cell] for cell in cells], np.int32), words)


def _column(name: str, given: Any) -> _Column:
    """Numbers stay numbers and words become a category; None, NaN and NA are missing."""
    if hasattr(given, "cat") or hasattr(given, "categories"):  # pandas: categories are words, whatever they are made of
        return _words(name, np.asarray(given.astype(object), dtype=object))
    values = np.asarray(given)
    if values.ndim != 1:
        raise ValueError("column %s: its shape is %s, expected [rows]" % (name, values.shape))
    if values.dtype.kind == "O":
        present = [cell for cell in values.tolist() if not _missing(cell)]
        if not all(isinstance(cell, (bool, int, float, np.bool_, np.integer, np.floating)) for cell in present):
            return _words(name, values)
        values = np.array([np.nan if _missing(cell) else float(cell) for cell in values.tolist()])
    if values.dtype.kind in "US":
        return _words(name, values.astype(str).astype(object))
    if values.dtype.kind not in "biuf":
        raise TypeError("column %s: cells of type %s are neither numbers nor words; make numbers of them" % (name, values.dtype))
    if values.dtype.kind in "biu" and (values.size == 0 or (values.min() > INT_MISSING and values.max() <= np.iinfo(np.int32).max)):
        return _Column("integer", values.astype(np.int32), [])
    real = values.astype(np.float64)
    too_large = np.isinf(real) | (np.abs(np.nan_to_num(real)) > LARGEST)
    if too_large.any():
        row = int(np.argmax(too_large))
        raise ValueError("column %s, row %d: %g is not finite as float32; NaN is a missing value" % (name, row, real[row]))
    return _Column("real", real.astype(np.float32), [])


def _columns(x: Any, names: Optional[Sequence[str]] = None) -> Dict[str, _Column]:
    """The features by name, of an array [rows, columns], a DataFrame, or a mapping of names to columns."""
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        given = [(str(name), x.iloc[:, place]) for place, name in enumerate(x.columns)]
    elif isinstance(x, Mapping):
        given = [(str(name), column) for name, column in x.items()]
    else:
        array = np.asarray(x)
        if array.ndim != 2:
            raise ValueError("x: its shape is %s, expected [rows, columns]" % (array.shape,))
        names = list(map(str, names)) if names is not None else ["c%d" % (place + 1) for place in range(array.shape[1])]
        if len(names) != array.shape[1]:
            raise ValueError("%d names for %d columns" % (len(names), array.shape[1]))
        given = [(name, array[:, place]) for place, name in enumerate(names)]
    found = {}
    for name, column in given:
        if name in found or name in (TARGET, SPLIT, WEIGHT, GROUP):
            raise ValueError("column %s: there is another one of this name" % name)
        found[name] = _column(name, column)
    rows = {len(column.values) for column in found.values()}
    if len(rows) != 1:
        raise ValueError("x: columns have %s rows, expected one number for all" % sorted(rows) if rows else "x: it has no columns")
    return found


def _write_table(folder: str, columns: Mapping[str, _Column], roles: Mapping[str, str]) -> None:
    """A table store as docs/formats.md describes it."""
    rows = len(next(iter(columns.values())).values)
    if rows == 0:
        raise ValueError("x: it has no rows")
    stacks: Dict[str, List[np.ndarray]] = {}
    words, lines = [], []
    for name, column in columns.items():
        stack = stacks.setdefault(column.kind, [])
        line: Dict[str, Any] = {"name": name, "kind": column.kind, "role": roles.get(name, "feature"), "place": len(stack)}
        stack.append(column.values)
        if column.kind == "category":
            line["words"] = len(column.words)
            words += [word.encode() for word in column.words]
        holes = {"real": np.isnan(column.values) if column.kind == "real" else None, "category": column.values == -1}.get(column.kind)
        if holes is not None and holes.any():
            line["missing"] = int(holes.sum())
        if column.kind in ("real", "integer"):
            known = column.values if holes is None else column.values[~holes]
            if known.size:
                line.update(least=float(known.min()), most=float(known.max()))
        lines.append(line)
    arrays = {kind: np.stack(stacks[kind]) for kind in ("real", "integer", "category", "id", "split") if kind in stacks}
    if words:
        arrays["word"] = np.frombuffer(b"".join(words), np.uint8)
        arrays["word_offset"] = np.cumsum([0, *map(len, words)]).astype(np.int64)
    os.makedirs(folder)
    manifest = {"format": "weft-table", "version": 1, "rows": rows, "columns": len(columns),
                "arrays": {name: weft_store._save(folder, name, array, True) for name, array in arrays.items()}}
    with open(os.path.join(folder, "schema.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)


def _joined(name: str, parts: Sequence[_Column]) -> _Column:
    """The rows of a column one part after the other."""
    kinds = {part.kind for part in parts}
    if kinds == {"integer", "real"}:
        return _Column("real", np.concatenate([part.values.astype(np.float32) for part in parts]), [])
    if len(kinds) != 1:
        raise ValueError("column %s holds words in one of x, valid and test, and numbers in another" % name)
    if kinds != {"category"}:
        return _Column(parts[0].kind, np.concatenate([part.values for part in parts]), [])
    cells = [None if code < 0 else part.words[code] for part in parts for code in part.values.tolist()]
    return _words(name, np.array(cells, dtype=object))


def _numbered_groups(parts: Sequence[Any]) -> _Column:
    """Groups by number from 1, whatever names them; those of different parts are different ones, also of one name."""
    numbers: List[int] = []
    last = 0
    for given in parts:
        cells = np.asarray(given)
        if cells.ndim != 1:
            raise ValueError("group: its shape is %s, expected [rows]" % (cells.shape,))
        number: Dict[Any, int] = {}
        for row, cell in enumerate(cells.tolist()):
            if _missing(cell):
                raise ValueError("group, row %d: it is missing; each row of a ranking has a group" % row)
            numbers.append(last + number.setdefault(cell, len(number) + 1))
        last += len(number)
    return _Column("id", np.array(numbers, np.uint64), [])


# ---- the program ----------------------------------------------------------------------------------------------------


def _words_of_options(options: Mapping[str, Any]) -> List[str]:
    words = []
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if isinstance(value, (bool, np.bool_)):
            words.append(flag if value else "--no-" + flag[2:])
        elif isinstance(value, (list, tuple)):
            words += [flag, ",".join(map(str, value))]
        elif value is not None:
            words += [flag, str(value)]
    return words


def _run(words: Sequence[str], weft: Optional[str], ranks: int, quiet: bool) -> None:
    """Runs the program; its log goes on to stderr as it comes."""
    program = weft or os.environ.get("WEFT") or shutil.which("weft")
    if program is None:
        raise WeftError("the program weft is not on PATH: install it, or name it: weft=\"build/release/weft\"")
    launch = ["mpirun", "-np", str(ranks)] if ranks > 1 else []
    log: List[str] = []
    with subprocess.Popen([*launch, program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          errors="replace") as process:  # an interruption reaches the program, too, and it is waited for
        for line in process.stderr:  # type: ignore[union-attr]
            log.append(line)
            if not quiet:
                sys.stderr.write(line)
        status = process.wait()
    if status != 0:
        told = [line.strip() for line in log if "error:" in line] or [line.strip() for line in log[-5:]]
        raise WeftError("\n".join(told) or "%s: exit status %d" % (program, status))


def _part(name: str, given: Any) -> Tuple[Any, ...]:
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise ValueError("%s: expected (x, y), or (x, y, weight or group as train has it)" % name)
    return tuple(given) + (None,) * (3 - len(given))


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

    Raises ValueError for arrays that do not fit together, and WeftError with the program's message."""
    if ranks < 1:
        raise ValueError("ranks: %d, expected 1 or more" % ranks)
    if weight is not None and group is not None:
        raise ValueError("weight and group: rows of a ranking have no weights of their own; leave one out")
    beside = WEIGHT if weight is not None else GROUP if group is not None else None
    parts = [(x, y, weight if weight is not None else group)]
    parts += [_part(name, given) for name, given in (("valid", valid), ("test", test)) if given is not None]
    codes = [0] + [code for code, given in ((1, valid), (2, test)) if given is not None]
    tables = [_columns(part, names) for part, _, _ in parts]
    for table in tables[1:]:
        if set(table) != set(tables[0]):
            raise ValueError("columns differ: %s" % ", ".join(sorted(set(table) ^ set(tables[0]))))
    rows = [len(next(iter(table.values())).values) for table in tables]
    for where, count, (_, *own) in zip(("x", "valid", "test") if valid is not None else ("x", "test"), rows, parts):
        if count == 0:
            raise ValueError("%s: it has no rows" % where)
        for name, given in zip(("y", "weight or group"), own):
            if given is not None and len(given) != count:
                raise ValueError("%s: %s has %d rows, and its x has %d" % ("train" if where == "x" else where, name, len(given), count))
    columns = {name: _joined(name, [table[name] for table in tables]) for name in tables[0]}
    columns[TARGET] = _joined("y", [_column("y", target) for _, target, _ in parts])
    columns[SPLIT] = _Column("split", np.repeat(np.array(codes, np.uint8), rows), [])
    roles = {TARGET: "target", SPLIT: "split"}
    if beside is not None:
        if any(given is None for _, _, given in parts):
            raise ValueError("valid, test: they need the %s, too" % beside[5:])
        own = [given for _, _, given in parts]
        columns[beside] = _numbered_groups(own) if beside == GROUP else _joined(beside, [_column(beside, given) for given in own])
        roles[beside] = beside[5:]
    elif any(given is not None for _, _, given in parts):
        raise ValueError("valid, test: a weight or group, which x lacks: say weight= or group=, or leave it out")
    with tempfile.TemporaryDirectory(prefix="weft-trees-") as folder:
        table, run = os.path.join(folder, "table"), os.fspath(run_dir) if run_dir is not None else os.path.join(folder, "run")
        _write_table(table, columns, roles)
        _run(["train", "--data", table, "--model", "trees", "--run-dir", run, *_words_of_options(options)], weft, ranks, quiet)
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
        given = _columns(x, self.columns if not hasattr(x, "columns") and not isinstance(x, Mapping) else None)
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
        columns = _columns(x, self.columns if not hasattr(x, "columns") and not isinstance(x, Mapping) else None)
        with tempfile.TemporaryDirectory(prefix="weft-trees-") as folder:
            table, model, out = (os.path.join(folder, name) for name in ("table", "model.json", "answers"))
            _write_table(table, columns, {})
            self.save(model)
            _run(["predict", "--model", "trees", "--data", table, "--checkpoint", model, "--out", out, "--contributions"], self._weft, 1, True)
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
        model.metrics = weft_store.read_metrics(origin)
        summary = os.path.join(origin, "summary.json")
        if os.path.exists(summary):
            with open(summary, encoding="utf-8") as file:
                model.summary = json.load(file)
    return model
