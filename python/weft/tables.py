"""weft.tables: arrays, DataFrames and mappings of names to columns, as table stores of Weft (docs/formats.md).

Columns of words are categories; NaN, None and NA are missing.
"""

import json
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from weft import store

TARGET, SPLIT, WEIGHT, GROUP = "weft_target", "weft_split", "weft_weight", "weft_group"  # columns beside the features
INT_MISSING, LARGEST = np.iinfo(np.int32).min, np.finfo(np.float32).max

# ---- columns --------------------------------------------------------------------------------------------------------


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


def columns_of(x: Any, names: Optional[Sequence[str]] = None) -> Dict[str, _Column]:
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


def write_columns(folder: str, columns: Mapping[str, _Column], roles: Mapping[str, str]) -> None:
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
                "arrays": {name: store._save(folder, name, array, True) for name, array in arrays.items()}}
    with open(os.path.join(folder, "schema.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)


# ---- rows of several parts -------------------------------------------------------------------------------------------


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


def _part(name: str, given: Any) -> Tuple[Any, ...]:
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise ValueError("%s: expected (x, y), or (x, y, weight or group as train has it)" % name)
    return tuple(given) + (None,) * (3 - len(given))


def write_parts(folder: str, x: Any, y: Any, valid: Any = None, test: Any = None, weight: Any = None, group: Any = None,
                names: Optional[Sequence[str]] = None) -> None:
    """Writes rows with targets as a table store that does not exist yet. valid, test: (x, y) or (x, y, weight or group) of rows that
    validate and test; without valid the program takes no rows for it. weight, group: [rows]; rows of a group stand together, and those of
    different parts are different ones. names: of the columns of an array."""
    if weight is not None and group is not None:
        raise ValueError("weight and group: rows of a ranking have no weights of their own; leave one out")
    beside = WEIGHT if weight is not None else GROUP if group is not None else None
    parts = [(x, y, weight if weight is not None else group)]
    parts += [_part(name, given) for name, given in (("valid", valid), ("test", test)) if given is not None]
    codes = [0] + [code for code, given in ((1, valid), (2, test)) if given is not None]
    tables = [columns_of(part, names) for part, _, _ in parts]
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
    write_columns(folder, columns, roles)
