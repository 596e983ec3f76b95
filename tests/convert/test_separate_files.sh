#!/bin/bash
# A plain graph with features, labels and splits from files of their own, in every container; splits drawn at random;
# graphs written as text and read back.
# trees: asan
set -euo pipefail
weft=$1
command -v python3 >/dev/null || { echo "skipped: python3 is not available"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

same() {
  local one=$1 other=$2 array
  shift 2
  for array in "$@"; do
    cmp "$one/$array.npy" "$other/$array.npy" || { echo "$other: $array differs"; exit 1; }
  done
}

# ---- text formats carry the graph ----
"$weft" convert synth:community,n=300,e=2500,f=4,classes=3 --out ref -q
for format in metis matrix-market edge-list; do
  vertices=$([ $format = edge-list ] && echo --vertices 300 || true) # its last vertex has no edge
  "$weft" convert ref --to $format --out g.$format 2>log.txt
  [ $format != edge-list ] || grep -qF 'read it back with --vertices 300' log.txt
  "$weft" convert g.$format --out g.$format.back --format $format $vertices -q 2>/dev/null
  same ref g.$format.back offset source
  "$weft" convert ref --to $format --out g.$format.gz -q 2>/dev/null
  gunzip -c g.$format.gz | cmp - g.$format
  "$weft" convert g.$format.gz --out g.$format.back --force $vertices -q 2>/dev/null # recognised
  same ref g.$format.back offset source
done
# Directions, self-loops and a last vertex without edges.
printf '0 1\n1 2\n2 0\n3 1\n2 2\n' >directed.txt
"$weft" convert directed.txt --vertices 6 --symmetrize off --self-loops keep --out directed -q 2>/dev/null
for format in matrix-market edge-list; do
  "$weft" convert directed --to $format --out d.$format -q 2>/dev/null
  "$weft" convert d.$format --symmetrize off --self-loops keep --out d.$format.back --format $format \
    $([ $format = edge-list ] && echo --vertices 6) -q 2>/dev/null
  same directed d.$format.back offset source
done

# ---- separate files ----
# The same numbers in every container, written from the reference store; what Weft makes of each must be equal to it.
python3 - <<'PY'
import gzip, struct, zipfile
def npy(descr, shape, data, fortran=False):
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + data
def data(name):
    raw = open(f"ref/{name}.npy", "rb").read()
    return raw[10 + int.from_bytes(raw[8:10], "little"):]
n, f = 300, 4
feature = struct.unpack(f"<{n * f}f", data("feature"))
label = struct.unpack(f"<{n}i", data("label"))
split = list(data("split"))
put = lambda name, content: open(name, "wb").write(content)
rows = [feature[v * f:v * f + f] for v in range(n)]
put("f.npy", npy("<f4", (n, f), data("feature")))
put("f64.npy", npy(">f8", (n, f), struct.pack(f">{n * f}d", *feature)))
put("fortran.npy", npy("<f4", (n, f), struct.pack(f"<{n * f}f", *(r[c] for c in range(f) for r in rows)), True))
with zipfile.ZipFile("f.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("x.npy", npy("<f4", (n, f), data("feature")))
    z.writestr("y.npy", npy("<i4", (n, 1), data("label")))
with zipfile.ZipFile("sparse.npz", "w") as z:
    z.writestr("data.npy", npy("<f4", (n * f,), data("feature")))
    z.writestr("indices.npy", npy("<i4", (n * f,), struct.pack(f"<{n * f}i", *(list(range(f)) * n))))
    z.writestr("indptr.npy", npy("<i4", (n + 1,), struct.pack(f"<{n + 1}i", *range(0, n * f + 1, f))))
    z.writestr("shape.npy", npy("<i8", (2,), struct.pack("<2q", n, f)))
    z.writestr("format.npy", npy("|S3", (), b"csr"))
text = "a,b,c,d\n" + "".join(",".join(repr(x) for x in row) + "\r\n" for row in rows)
put("f.csv", text.encode())
put("f.csv.gz", gzip.compress(text.encode()))
put("l.npy", npy("<i4", (n,), data("label")))
put("l.csv", "".join(f"{x}\n" for x in label).encode())
put("s.npy", npy("|u1", (n,), bytes(split)))
words = {0: "train", 1: "val", 2: "test", 255: "none"}
put("s.csv", ("split\n" + "".join(words[s] + "\n" for s in split)).encode())
masks = {0: "1,0,0", 1: "0,1,0", 2: "0,0,1", 255: "0,0,0"}
put("m.csv.gz", gzip.compress(("train,valid,test\n" + "".join(masks[s] + "\n" for s in split)).encode()))
import os
os.mkdir("lists")
for part, name in enumerate(("train", "valid", "test")):
    members = [v for v in range(n) if split[v] == part]
    if part == 1:
        put("lists/valid.npy", npy("<i8", (len(members),), struct.pack(f"<{len(members)}q", *members)))
    else:
        put(f"lists/{name}.csv", "".join(f"{v}\n" for v in members).encode())
put("task.csv", b"".join(b"1,0,nan\n" if v % 2 else b"0,,1\n" for v in range(n)))
PY
turn() {
  "$weft" convert g.edge-list --vertices 300 --out o --force -q "$@" 2>log.txt || { cat log.txt; exit 1; }
}
for features in f.npy f64.npy fortran.npy f.npz sparse.npz f.csv f.csv.gz; do
  turn --features $features --labels l.npy --splits s.npy
  same ref o offset source feature label split
done
for labels in l.npy l.csv f.npz; do
  turn --labels $labels
  same ref o label
  [ ! -e o/split.npy ] && [ ! -e o/feature.npy ]
done
for splits in s.npy s.csv m.csv.gz lists; do
  turn --splits $splits
  same ref o split
done
turn --split s.npy # the older name
same ref o split
turn --labels task.csv
grep -qF 'labels: 3' <<<"$("$weft" info o --check)"
python3 - <<'PY'
import math, struct
raw = open("o/target.npy", "rb").read()[-300 * 3 * 4:]
for v, row in enumerate(struct.iter_unpack("<3f", raw)):
    assert (row[:2] == (1, 0) and math.isnan(row[2])) if v % 2 else (row[0] == 0 and math.isnan(row[1]) and row[2] == 1), v
PY

# ---- drawn splits ----
turn --labels l.npy --random-split 60/20/20 --seed 3
cp o/split.npy first.npy
turn --labels l.npy --random-split 3/1/1 --seed 3 --threads 1
cmp first.npy o/split.npy
"$weft" convert g.edge-list --vertices 300 --random-split 3/1/1 --out slip 2>stderr.txt
grep -qF 'the shares sum to 5, not to 100: 60/20/20 percent are drawn' stderr.txt
grep -qF 'split drawn: 3/1/1 of 300 vertices' stderr.txt # none is labelled
turn --labels l.npy --random-split 60/20/20 --seed 4
! cmp -s first.npy o/split.npy
grep -qF 'split 0: 180 train, 60 valid, 60 test, 0 none' <<<"$("$weft" info o)"

# ---- weights of edges ----
# The same ones in every container, each undirected edge once; what is written is what the rule says of every entry.
python3 - <<'PY'
import gzip, struct, zipfile
def npy(descr, shape, data):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + data
def archive(name, **arrays):
    with zipfile.ZipFile(name, "w") as z:
        for key, (descr, code, shape, values) in arrays.items():
            z.writestr(key + ".npy", npy(descr, shape, b"".join(struct.pack("<" + code, x) for x in values)))
edges = sorted({tuple(map(int, line.split())) for line in open("g.edge-list") if line[0].isdigit()})
weight = [((min(e) * 31 + max(e) * 17) % 9) / 4 for e in edges]
m, n = len(edges), 300
lines = "".join(f"{u}\t{v}\t{w!r}\n" for (u, v), w in zip(edges, weight))
open("w.txt", "w").write("# from to weight time\nfrom to weight\n" + lines)
open("w.txt.gz", "wb").write(gzip.compress(lines.replace("\n", " 7\r\n").encode()))
open("w.mtx", "w").write(f"%%MatrixMarket matrix coordinate real symmetric\n% made\n{n} {n} {m}\n" +
                         "".join(f"{v + 1} {u + 1} {w:e}\n" for (u, v), w in zip(edges, weight)))
ids = [[e[k] for e in edges] for k in (0, 1)]
offset = [sum(u < v for u in ids[0]) for v in range(n + 1)]
text = lambda word: ("|S3", "3s", (), [word])
column = lambda values: ("<i8", "q", (len(values),), values)
data = ("<f4", "f", (m,), weight)
archive("coo.npz", row=column(ids[0]), col=column(ids[1]), data=("<f8", "d", (m,), weight), format=text(b"coo"))
archive("csr.npz", indptr=column(offset), indices=column(ids[1]), data=data, format=text(b"csr"))
archive("csc.npz", indptr=column(offset), indices=column(ids[1]), data=data, format=text(b"csc"))
archive("adj.npz", adj_indptr=column(offset), adj_indices=column(ids[1]), adj_data=data)
archive("pairs.npz", edges=("<i8", "q", (m, 2), [i for e in edges for i in e]), weights=data)
PY
for weights in w.txt w.txt.gz w.mtx coo.npz csr.npz csc.npz adj.npz pairs.npz; do
  turn --edge-weights $weights
  same ref o offset source
  grep -qF 'weights of edges: yes' <<<"$("$weft" info o --check)"
  [ -e first-weight.npy ] || cp o/weight.npy first-weight.npy
  cmp first-weight.npy o/weight.npy || { echo "$weights: other weights"; exit 1; }
done
"$weft" convert w.mtx --edge-weights input --out own -q 2>log.txt
same o own offset source weight
python3 - <<'PY'
import struct
def data(name):
    raw = open(f"own/{name}.npy", "rb").read()
    return raw[10 + int.from_bytes(raw[8:10], "little"):]
offset = struct.unpack("<301q", data("offset"))
source = struct.unpack(f"<{offset[-1]}i", data("source"))
weight = struct.unpack(f"<{offset[-1]}f", data("weight"))
for v in range(300):
    for e in range(offset[v], offset[v + 1]):
        assert weight[e] == ((min(v, source[e]) * 31 + max(v, source[e]) * 17) % 9) / 4, (v, source[e], weight[e])
PY
# Directions that weigh differently make a graph that is not symmetric; a loop and a second mention of one weight do no harm.
printf '0 1 2\n1 0 3\n1 2 0.5\n1 2 0.5\n2 1 0.5\n2 2 9\n' >two-ways.txt
"$weft" convert two-ways.txt --symmetrize off --edge-weights input --out two-ways -q 2>log.txt
grep -F 'is not used as long as' log.txt && exit 1
grep -qF 'symmetric: no' <<<"$("$weft" info two-ways --check)"

# ---- faults ----
# expect CODE TEXT OPTION FILE: fails so and leaves nothing.
expect() {
  local got=0
  "$weft" convert g.edge-list --vertices 300 --out bad "$3" "$4" >stdout.txt 2>stderr.txt || got=$?
  [ "$got" -eq "$1" ] || { echo "exit $got instead of $1 ($2)"; cat stderr.txt; exit 1; }
  grep -qF -- "$2" stderr.txt || { echo "no '$2' in:"; cat stderr.txt; exit 1; }
  [ -z "$(find . -name 'bad*')" ] || { echo "left behind ($2)"; exit 1; }
}
head -200 f.csv >short.csv
expect 65 'short.csv' --features short.csv
sed '7s/,/,x/' f.csv >letters.csv
expect 65 'letters.csv: line 7' --features letters.csv
sed '5s/.*/1.5/' l.csv >half.csv
expect 65 'half.csv: row 4: 1.5 is not a class' --labels half.csv
sed '5s/.*/2,0,1/' task.csv >two.csv
expect 65 'two.csv: row 4, column 0: 2: tasks are 0 or 1' --labels two.csv
sed '5s/.*/trian/' s.csv >misspelt.csv
expect 65 "misspelt.csv: line 5: column 'split': 'trian': expected train, valid" --splits misspelt.csv
sed '5s/.*/1,1,0/' <(gunzip -c m.csv.gz) >both.csv
expect 65 'both.csv: line 5' --splits both.csv
head -299 s.csv >few.csv
expect 65 'few.csv: 298 rows for 300 vertices' --splits few.csv
{ cat s.csv; echo test; } >many.csv
expect 65 'more rows than the 300 vertices' --splits many.csv
echo 300 >>lists/test.csv
expect 65 'lists/test.csv: row' --splits lists
expect 66 'absent.csv' --features absent.csv
expect 66 'is a folder' --features lists
expect 65 'lacks train.csv' --splits ref
expect 2 'expected shares of train, valid and test' --random-split 60/40
expect 66 'absent.txt' --edge-weights absent.txt
expect 65 'g.edge-list: line' --edge-weights g.edge-list # has two fields a line
expect 65 'pattern' --edge-weights g.matrix-market
sed '9s/\t[^\t]*$/\t-1/' w.txt >negative.txt
expect 65 'negative.txt: line 9: -1 of the edge' --edge-weights negative.txt
sed '9s/\t[^\t]*$/\t1e-60/' w.txt >tiny.txt
expect 65 'tiny.txt: line 9: 1e-60 of the edge' --edge-weights tiny.txt
sed '9s/^[0-9]*/300/' w.txt >beyond.txt
expect 65 'beyond.txt: line 9: vertex 300: vertices are 0 to 299' --edge-weights beyond.txt
{ cat w.txt; echo '299 298 1'; } >more.txt
expect 65 'which the graph does not have' --edge-weights more.txt
awk 'NR == 9 { u = $1; v = $2 } !(u "" != "" && (($1 == u && $2 == v) || ($1 == v && $2 == u)))' w.txt >fewer.txt
expect 65 'fewer.txt: has no weight for the edge' --edge-weights fewer.txt
awk 'NR == 9 { print $2, $1, $3 + 1 } { print }' w.txt >twice.txt
expect 65 'or keep directions that differ apart with --symmetrize off' --edge-weights twice.txt
expect 65 'no weights that are known' --edge-weights f.npz
got=0; "$weft" convert synth:rmat,scale=5 --splits s.npy --out bad 2>stderr.txt || got=$?
[ "$got" -eq 2 ] && grep -qF -- "--splits adds to a data set's files" stderr.txt
echo "separate files agree"
