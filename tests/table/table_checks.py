"""What test_table.sh runs: stores that weft convert makes of tables against Python's csv module and NumPy."""
import csv
import gzip
import io
import json
import lzma
import os
import subprocess
import sys

import numpy as np

WEFT, DATA = sys.argv[1], sys.argv[2]
MISSING = {"", "na", "n/a", "nan", "null", "?", "\\n"}
TYPES = {"real": np.float32, "integer": np.int32, "long": np.int64, "category": np.int32, "id": np.uint64, "split": np.uint8}


def weft(*arguments, code=0):
    done = subprocess.run([WEFT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, "weft %s: exit %d, expected %d\n%s" % (" ".join(arguments), done.returncode, code, done.stderr)
    return done.stdout + done.stderr


def put(name, text, mode="w"):
    with open(name, mode, **({} if "b" in mode else {"newline": "", "encoding": "utf-8"})) as file:
        file.write(text)
    return name


def read_store(folder):
    """{name: (kind, role, array or list of words)}, and the manifest."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    with open(os.path.join(folder, "schema.jsonl"), encoding="utf-8") as file:
        fields = [json.loads(line) for line in file]
    arrays = {name: np.load(os.path.join(folder, entry["file"])) for name, entry in manifest["arrays"].items()}
    words, columns = 0, {}
    for field in fields:
        column = arrays[field["kind"]][field["place"]]
        assert column.dtype == TYPES[field["kind"]] and len(column) == manifest["rows"]
        if field["kind"] == "category":
            offset = arrays["word_offset"][words:words + field["words"] + 1]
            text = arrays["word"].tobytes()
            names = [text[a:b] for a, b in zip(offset, offset[1:])]
            assert names == sorted(names) and len(set(names)) == len(names)
            words += field["words"]
            column = [None if code < 0 else names[code].decode() for code in column]
        columns[field["name"]] = (field["kind"], field["role"], column)
    return columns, manifest


def convert(*arguments, out="t.weft"):
    told = weft("convert", *arguments, "--out", out, "--force")
    assert "checksums and codes hold" in weft("info", out, "--check")
    return *read_store(out), told


def refused(part, *arguments, code=65):
    told = weft("convert", *arguments, "--out", "refused.weft", "--force", code=code)
    assert part in told, "%r lacks %r" % (told, part)
    assert not os.path.exists("refused.weft")


def oracle(rows, header, decimal="."):
    """Columns as the kinds would have them: floats, ints with None, or words with None."""
    columns = {}
    for j, name in enumerate(header):
        cells = [row[j].strip(" ") for row in rows]
        cells = [None if cell.lower() in MISSING else cell for cell in cells]
        try:
            columns[name] = [None if cell is None else int(cell) for cell in cells]
        except ValueError:
            try:
                columns[name] = [None if cell is None else float(cell.replace(decimal, ".")) for cell in cells]
            except ValueError:
                columns[name] = cells
    return columns


def same(found, expected, name):
    kind, _, values = found
    if kind == "category":
        assert values == [None if v is None else str(v) for v in expected], name
    elif kind == "real":
        wanted = np.array([np.nan if v is None else v for v in expected], dtype=np.float64).astype(np.float32)
        assert np.array_equal(values, wanted, equal_nan=True), (name, values, wanted)
    else:
        none = np.iinfo(values.dtype).min
        assert values.tolist() == [none if v is None else v for v in expected], (name, values, expected)


def check(columns, rows, header, decimal=".", skip=()):
    for name, expected in oracle(rows, header, decimal).items():
        if name not in skip:
            same(columns[name], expected, name)


# ---- text ----

def check_quotes_and_ends():
    text = ('\ufeffname,"a, b",x,y\r\n"line one\nline two",1,0.5,0\r\n"say ""hi""",,1e-3,1\r\n\r\n'
            ' plain ,?,-2.25,0\n"",4,NA,1\n')
    put("q.csv", text)
    columns, manifest, told = convert("q.csv", "--target", "y")
    rows = [row for row in csv.reader(io.StringIO(text[1:], newline="")) if row]
    check(columns, rows[1:], rows[0])
    assert manifest["rows"] == 4 and columns["y"][1] == "target" and columns["a, b"][0] == "integer"
    assert columns["name"][2] == ["line one\nline two", 'say "hi"', "plain", None]
    assert "2 missing" in told
    for pack, name in ((gzip, "q.csv.gz"), (lzma, "q.csv.xz")):
        with pack.open(name, "wt", encoding="utf-8", newline="") as file:
            file.write(text)
        assert convert(name, "--target", "y", out="packed.weft")[1] == manifest


def check_separators():
    put("semicolon.csv", "a;b;y\n0,5;1,25;1\n-1,5;3;0\n")
    columns, _, told = convert("semicolon.csv", "--target", "y")
    assert "decimal comma" in told
    assert columns["a"][2].tolist() == [0.5, -1.5] and columns["b"][2].tolist() == [1.25, 3]
    put("tabs.tsv", "a\tb c\ty\n1\tx, y\t0\n2\tz, w\t1\n")
    columns = convert("tabs.tsv", "--target", "y")[0]
    assert columns["b c"][2] == ["x, y", "z, w"]
    put("one.csv", "y\n1\n2\n")
    assert convert("one.csv", "--target", "y")[0]["y"][2].tolist() == [1, 2]
    put("index.csv", ",a,y\n0,5,1\n1,6,0\n")
    columns = convert("index.csv", "--target", "y")[0]
    assert list(columns) == ["a", "y"]
    put("r.csv", "\"a\",\"y\"\n\"r1\",5,1\n\"r2\",6,0\n")
    columns = convert("r.csv", "--target", "y")[0]
    assert list(columns) == ["a", "y"] and columns["a"][2].tolist() == [5, 6]
    put("bare.csv", "3,a\n4,b\n")
    assert list(convert("bare.csv", "--target", "c2")[0]) == ["c1", "c2"]
    assert list(convert("bare.csv", "--target", "2")[0]) == ["c1", "c2"]
    put("words.csv", "vhigh,low\nlow,high\n")
    assert convert("words.csv", "--target", "c2", "--header", "no")[1]["rows"] == 2


def check_kinds():
    late = "a,b,c,y\n" + "1,2,3,0\n" * 200000 + "1.5,5000000000,,1\n"
    put("late.csv", late)
    columns, _, told = convert("late.csv", "--target", "y")
    assert [columns[name][0] for name in "abcy"] == ["real", "long", "integer", "integer"]
    assert columns["a"][2][-1] == 1.5 and columns["b"][2][-1] == 5000000000
    assert "column 'a' is real, not integer" in told and "column 'b' is long, not integer" in told
    refused("late.csv: line 200002: column 'b': 'word' is no finite number",
            put("late.csv", late.replace("5000000000", "word")), "--target", "y")
    columns = convert("late.csv", "--target", "y", "--missing", "word")[0]
    assert columns["b"][2][-1] == np.iinfo(np.int32).min
    columns = convert("late.csv", "--target", "y", "--category", "b")[0]
    assert columns["b"][2][-1] == "word" and columns["b"][2][0] == "2"
    put("minus.csv", "a,y\n-1,0\n5,1\n")
    assert convert("minus.csv", "--target", "y", "--missing", "-1")[0]["a"][2].tolist() == [np.iinfo(np.int32).min, 5]
    put("split.csv", "x,split,y\n1,train,0\n2,val,1\n3,test,1\n4,,0\n")
    columns = convert("split.csv", "--target", "y")[0]
    assert columns["split"][:2] == ("split", "split") and columns["split"][2].tolist() == [0, 1, 2, 255]
    put("roles.csv", "q,w,id,x,y\n7,0.5,u1,1,0\n7,2,u2,2,1\n9,1,u1,3,0\n")
    columns, _, told = convert("roles.csv", "--target", "y", "--group", "q", "--weight", "w", "--id", "id", "--drop", "x")
    assert [columns[name][1] for name in ("q", "w", "id", "y")] == ["group", "weight", "feature", "target"]
    assert columns["w"][2].tolist() == [0.5, 2, 1] and "x" not in columns
    assert columns["id"][2][0] == columns["id"][2][2] != columns["id"][2][1]
    assert "row 1" not in told
    put("big.csv", "a,y\n9223372036854775807,0\n-5,1\n")
    assert convert("big.csv", "--target", "y")[0]["a"][2].tolist() == [9223372036854775807, -5]


def check_wide():
    rng = np.random.default_rng(5)
    values = rng.integers(-99, 99, (30, 10000))
    with open("wide.csv", "w", encoding="ascii") as file:
        file.write(",".join("x%d" % j for j in range(9999)) + ",y\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in values.tolist())
    columns, manifest, _ = convert("wide.csv", "--target", "y")
    assert manifest["columns"] == 10000 and len(os.listdir("t.weft")) == 3
    for j, name in enumerate(columns):
        assert columns[name][2].tolist() == values[:, j].tolist()


# ---- refusals ----

def check_refusals():
    refused("empty.csv: is empty", put("empty.csv", ""), "--target", "y")
    refused("head.csv: holds a header and no row", put("head.csv", "a,b\n"), "--target", "b")
    refused("ragged.csv: line 3: 3 cells separated by a comma, and the header names 2",
            put("ragged.csv", "a,y\n1,2\n1,2,3\n"), "--target", "y")
    refused("short.csv: line 4: 1 cells", put("short.csv", "a,y\n1,2\n3,4\n5\n"), "--target", "y")
    refused("twice.csv: columns 1 and 3 are both named 'a'", put("twice.csv", "a,b,a\n1,2,3\n"), "--target", "b")
    refused("did you mean 'price'", put("near.csv", "price,x\n1,2\n"), "--target", "prise", code=2)
    refused("no column 'zzz' among 2, from 'price' to 'x'", "near.csv", "--target", "zzz", code=2)
    refused("is the target already", "near.csv", "--target", "x", "--weight", "x", code=2)
    refused("line 2: column 'a': a quote within a cell", put("inner.csv", 'a,y\n5" to 6" pipe,1\n'), "--target", "y")
    refused("line 2: a quote is not closed", put("inner.csv", 'a,y\n5" pipe,"1"\n'), "--target", "y")
    assert convert(put("inner.csv", 'a,y\n5" pipe,1\n6" pipe,2\n'), "--target", "y", "--quote", "none")[0]["a"][2][0] == '5" pipe'
    refused("line 3: a quote is not closed", put("open.csv", 'a,y\n1,2\n"open,3\n4,5\n'), "--target", "y")
    refused("is beyond the range of float32", put("range.csv", "a,y\n1.5,2\n1e300,3\n"), "--target", "y")
    refused("is no weight", put("weight.csv", "w,y\n1,2\n-1,3\n"), "--target", "y", "--weight", "w")
    refused("line 3: column 'w': '' is no weight", put("weight.csv", "w,y\n1,2\n,3\n"), "--target", "y", "--weight", "w")
    refused("line 2: a zero byte", put("zero.csv", b"a,y\n1,\x002\n", "wb"), "--target", "y")
    refused("is a Parquet file", put("t.parquet", b"PAR1\x15\x00" + bytes(100), "wb"), "--target", "y")
    refused("row 3: its query in column 'q' has rows above", put("query.csv", "q,y\na,1\nb,2\na,3\n"), "--target", "y", "--group", "q")
    refused("row 2: column 'q' names no query", put("query.csv", "q,y\na,1\n,2\n"), "--target", "y", "--group", "q")
    refused("'5,678': the comma may be decimal or group thousands", put("th.tsv", "a\ty\n1,234\t2\n5,678\t4\n"), "--target", "y")
    assert convert("th.tsv", "--target", "y", "--decimal", "comma")[0]["a"][2].tolist() == [np.float32(1.234), np.float32(5.678)]
    refused("none of the words train", put("parts.csv", "x,split,y\n1,train,0\n" * 1 + "2,other,1\n"), "--target", "y", "--split-column", "split")
    refused("the comma separates columns", put("dec.csv", "a,y\n1,2\n"), "--target", "y", "--decimal", "comma", code=2)
    refused("--features does not say how a table is read", "dec.csv", "--target", "y", "--features", "f.csv", code=2)
    told = weft("convert", put("const.csv", "a,y\n1,2\n3,2\n"), "--target", "y", "--out", "c.weft")
    assert "the same value in all rows" in told
    told = weft("convert", put("many.csv", "name,y\n" + "".join("n%d,%d\n" % (i, i % 2) for i in range(3000))), "--target", "y", "--out", "m.weft")
    assert "has 3000 different words in 3000 rows" in told
    told = weft("convert", put("latin.csv", "gr\xf6sse,y\n1,2\n2,3\n".encode("latin-1"), "wb"), "--target", "y", "--out", "l.weft")
    assert "the name of column 1 is not UTF-8" in told
    told = weft("convert", put("none.csv", "a,y\n1,\n3,2\n"), "--target", "y", "--out", "n.weft")
    assert "1 of 2 rows have no value of the target 'y'" in told
    told = weft("convert", put("no.csv", "a,b\n1,2\n"), "--table-format", "csv", "--out", "no.weft")
    assert "no column is the target" in told
    refused("no such layout of tables", "no.csv", "--table-format", "excel", code=2)


def check_damage():
    convert(put("d.csv", "a,w,y\n1,x,2\n3,z,4\n"), "--target", "y", out="d.weft")
    for name in ("integer.npy", "word.npy", "schema.jsonl"):
        path = os.path.join("d.weft", name)
        with open(path, "r+b") as file:
            data = file.read()
            file.seek(len(data) - 2)
            file.write(bytes([data[-2] ^ 1]))
        told = weft("info", "d.weft", "--check", code=65)
        assert name in told, told
        put(path, data, "wb")
    weft("info", "d.weft", "--check")


# ---- other layouts ----

def check_libsvm():
    put("s.svm", "1 qid:3 1:0.5 4:2 # words\n0 qid:3 2:-1\n\n2 qid:8\n")
    columns, _, told = convert("s.svm", "--table-format", "libsvm")
    assert "indices begin at 1" in told
    assert columns["label"][1] == "target" and columns["qid"][1] == "group"
    found = np.stack([columns["f%d" % j][2] for j in range(1, 5)], axis=1)
    assert found.tolist() == [[0.5, 0, 0, 2], [0, -1, 0, 0], [0, 0, 0, 0]]
    put("s0.svm", "1 0:1 2:5\n-1 1:3\n")
    columns = convert("s0.svm", "--target", "label")[0]
    assert list(columns) == ["label", "f0", "f1", "f2"] and columns["label"][2].tolist() == [1, -1]
    refused("s0.svm: an index of 0", "s0.svm", "--index-base", "1")
    refused("line 2: index 2 does not ascend", put("down.svm", "1 1:1\n1 3:1 2:1\n"), "--target", "label")
    refused("line 2: '3:': expected INDEX:VALUE", put("bad.svm", "1 1:1\n1 3: 2:1\n"), "--target", "label")
    refused("at most 65536 columns", put("far.svm", "1 1:1 9999999:1\n"), "--sparse", "no", code=69)
    check_block("far.svm", "--sparse", "yes")
    check_block(put("zeros.svm", "1 0:0 300:2\n-1.5 1:-0\n"), "--target", "label")
    refused("'1e+39' is beyond the range of float32", put("huge.svm", "1 1:1\n2 400:1e39\n"), "--target", "label")
    refused("line 2: index 400 does not ascend", put("twice.svm", "1 1:1\n2 400:1 400:2\n"), "--target", "label")
    refused("--sparse yes is for LIBSVM files", put("plain.csv", "a,b\n1,2\n"), "--sparse", "yes", code=2)


def check_block(path, *arguments):
    """The sparse block of a store beside a parser of four lines."""
    columns, manifest, told = convert(path, *arguments)
    pairs = [[pair.split(":") for pair in line.split("#")[0].split()[1:] if not pair.startswith("qid")] for line in open(path)]
    index = [[int(i) for i, _ in row] for row in pairs]
    base = 0 if any(0 in row for row in index) else 1
    width = max(max(row, default=base) for row in index) - base + 1
    arrays = {name: np.load("t.weft/%s.npy" % name) for name in ("indptr", "indices", "values")}
    assert manifest["sparse"] == {"columns": width, "base": base} and "kept as a sparse block" in told
    assert arrays["indptr"].dtype == np.int64 and arrays["indptr"].tolist() == [0] + np.cumsum([len(row) for row in pairs]).tolist()
    assert arrays["indices"].dtype == np.int32 and arrays["indices"].tolist() == [i - base for row in index for i in row]
    values = np.array([float(v) for row in pairs for _, v in row]).astype(np.float32)
    assert arrays["values"].dtype == np.float32 and arrays["values"].tobytes() == values.tobytes()
    assert columns["label"][2].tolist() == [float(line.split()[0]) for line in open(path) if line.strip()]
    assert "sparse features: %d, numbered from %d\nentries: %d," % (width, base, len(values)) in weft("info", "t.weft")


def check_arrays():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    x[3, 1] = np.nan
    np.save("x.npy", x)
    columns = convert("x.npy", "--target", "c3")[0]
    for j in range(3):
        assert np.array_equal(columns["c%d" % (j + 1)][2], x[:, j].astype(np.float32), equal_nan=True)
    np.savez_compressed("xy.npz", x=np.asfortranarray(x), y=y.astype(">i8"), small=y.astype(np.uint8))
    columns = convert("xy.npz", "--target", "y", "--category", "small")[0]
    assert np.array_equal(columns["x2"][2], x[:, 1].astype(np.float32), equal_nan=True)
    assert columns["y"][2].tolist() == y.tolist() and columns["small"][2] == [str(v) for v in y]
    np.savez("uneven.npz", a=np.zeros(3), b=np.zeros(4))
    refused("array 'b' has 4 rows, array 'a' has 3", "uneven.npz", "--target", "a")
    np.save("huge.npy", np.array([[1, 2**60], [3, 4]]))
    refused("beyond 2^53", "huge.npy", "--target", "c1")


def check_clicks():
    rng = np.random.default_rng(7)
    rows = [[str(rng.integers(0, 2))] + [str(v) if rng.random() > 0.3 else "" for v in rng.integers(-2, 9000, 13)] +
            ["%08x" % v if rng.random() > 0.2 else "" for v in rng.integers(0, 2**32, 26)] for _ in range(500)]
    header = ["label"] + ["I%d" % j for j in range(1, 14)] + ["C%d" % j for j in range(1, 27)]
    put("criteo.txt", "".join("\t".join(row) + "\n" for row in rows))
    columns, _, _ = convert("criteo.txt", "--target", "label")
    assert [columns[name][0] for name in header] == ["integer"] * 14 + ["category"] * 26
    for j, name in enumerate(header):
        cells = [row[j] or None for row in rows]
        same(columns[name], cells if j > 13 else [None if c is None else int(c) for c in cells], name)
    names = ("id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,app_category,device_id,device_ip,"
             "device_model,device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21").split(",")
    rows = [[str(10**18 + i), str(i % 2), "14102100"] + [str(v) for v in rng.integers(0, 5, 21)] for i in range(100)]
    put("avazu.csv", ",".join(names) + "\n" + "".join(",".join(row) + "\n" for row in rows))
    columns, _, _ = convert("avazu.csv", "--target", "click")
    assert list(columns) == names[1:] and columns["hour"][0] == "integer" and columns["C14"][0] == "category"
    assert columns["device_type"][2] == [row[14] for row in rows]


# ---- real data ----

def shared(*parts):
    path = os.path.join(DATA, *parts)
    if not os.path.exists(path):
        print("note: %s is not there: left out" % path)
        return None
    return path


def check_real_data():
    path = shared("nycflights13", "weather.csv.xz")
    if path is not None:
        columns, _, _ = convert(path, "--target", "temp")
        with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        check(columns, rows[1:], rows[0])
    path = shared("amazon-employee", "train.csv.xz")
    if path is not None:
        columns, manifest, _ = convert(path, "--target", "ACTION", "--category", "RESOURCE,MGR_ID")
        assert manifest["rows"] == 32769
        assert len(set(columns["RESOURCE"][2])) == 7518 and len(set(columns["MGR_ID"][2])) == 4243
    path = shared("agaricus", "agaricus.txt.train")
    if path is not None:
        columns, manifest, _ = convert(path, "--target", "label")
        assert manifest["rows"] == 6513 and manifest["columns"] == 127
        found = np.stack([columns["f%d" % j][2] for j in range(1, 127)], axis=1)
        expected = np.zeros_like(found)
        with open(path, encoding="ascii") as file:
            for i, line in enumerate(file):
                for pair in line.split()[1:]:
                    j, v = pair.split(":")
                    expected[i, int(j) - 1] = float(v)
        assert np.array_equal(found, expected)
        check_block(path, "--target", "label", "--sparse", "yes")
    path = shared("lightgbm", "rank.train")
    if path is not None:
        check_block(path, "--target", "label", "--sparse", "yes")
    path = shared("eicu-demo", "patient.csv.xz")
    if path is not None:
        columns, manifest, _ = convert(path, "--target", "hospitaldischargestatus")
        with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert manifest["rows"] == 2520 and manifest["columns"] == 29
        check(columns, rows[1:], rows[0])


for step in [check_quotes_and_ends, check_separators, check_kinds, check_wide, check_refusals, check_damage, check_libsvm,
             check_arrays, check_clicks, check_real_data]:
    step()
    print("%s: ok" % step.__name__)
