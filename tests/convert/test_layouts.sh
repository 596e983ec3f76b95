#!/bin/bash
# Layouts of public data sets: generated, checked by an oracle that shares no code, read back, compared with the store
# made directly.
# trees: asan
set -euo pipefail
weft=$1
source_dir=$2
command -v python3 >/dev/null || { echo "skipped: python3 is not available"; exit 77; }
oracle="$source_dir/tests/convert/layouts.py"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# same STORE STORE ARRAY...: these arrays have the same bytes.
same() {
  local one=$1 other=$2 array
  shift 2
  for array in "$@"; do
    cmp "$one/$array.npy" "$other/$array.npy" || { echo "$other: $array differs"; exit 1; }
  done
}

spec=synth:community,n=400,e=4000,f=13,classes=5,test=0.1
"$weft" convert $spec --out ref -q
for layout in ogb ogb-binary dgl-reddit graphsaint; do
  "$weft" convert $spec --to $layout --out "$layout" -q
  python3 "$oracle" compare ref $layout "$layout"
  "$weft" convert "$layout/" --out "$layout.back" -q
  same ref "$layout.back" offset source feature label split
  "$weft" info "$layout.back" --check >info.txt
  grep -qF 'checked: checksums and every invariant hold' info.txt
  "$weft" convert ref --to $layout --out "$layout.again" -q
  diff -r "$layout" "$layout.again"
done

# A directed graph keeps its directions.
printf '%s\n' 0,1 1,2 2,0 3,1 0,3 >directed.csv
python3 - <<'PY'
import struct, zipfile
def npy(descr, shape, data):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + data
edges = [tuple(map(int, line.split(","))) for line in open("directed.csv")]
with zipfile.ZipFile("directed.npz", "w") as archive:
    archive.writestr("vertices.npy", npy("<i8", (), struct.pack("<q", 4)))
    archive.writestr("edges.npy", npy("<i8", (5, 2), struct.pack("<10q", *sum(edges, ()))))
    archive.writestr("features.npy", npy("<f4", (4, 1), struct.pack("<4f", .5, -1e-30, 3.25e10, 7)))
    archive.writestr("labels.npy", npy("<i8", (4,), struct.pack("<4q", 0, 2, -1, 1)))
    archive.writestr("train.npy", npy("<i8", (1,), struct.pack("<q", 3)))
    archive.writestr("valid.npy", npy("<i8", (1,), struct.pack("<q", 0)))
    archive.writestr("test.npy", npy("<i8", (1,), struct.pack("<q", 1)))
PY
"$weft" convert directed.npz --symmetrize off --out directed -q
for layout in ogb ogb-binary dgl-reddit graphsaint; do
  "$weft" convert directed --to $layout --out "directed.$layout" -q
  "$weft" convert "directed.$layout" --symmetrize off --out "directed.$layout.back" -q
  same directed "directed.$layout.back" offset source feature label split
done

# ogbn-proteins: tasks, and features that come from the edges.
mkdir -p proteins/raw proteins/split/species
python3 "$oracle" proteins proteins
"$weft" convert proteins --out proteins.weft 2>log.txt
grep -qF "each gets the mean of its edges' 8 features" log.txt || { cat log.txt; exit 1; }
python3 "$oracle" features proteins.weft proteins.expected
grep -qF 'split 0: 10 train, 10 valid, 10 test, 0 none' <<<"$("$weft" info proteins.weft --check)"
"$weft" convert proteins.weft --to ogb --out proteins.out -q
[ -f proteins.out/split/species/train.csv.gz ]
"$weft" convert proteins.out --out proteins.back -q
same proteins.weft proteins.back offset source feature target split

"$weft" convert ref --to ogb-proteins --out proteins.made -q
"$weft" convert proteins.made --symmetrize off --out proteins.again -q
python3 "$oracle" proteins_of ref proteins.made proteins.again
same ref proteins.again offset source split

# Plain .csv in place of .csv.gz.
cp -r ogb plain
gunzip plain/raw/*.gz plain/split/*/*.gz
"$weft" convert plain --out plain.back -q
same ref plain.back offset source feature label split
[ -z "$(find . -name '*.tmp-*')" ] || { echo "left behind:"; find . -name '*.tmp-*'; exit 1; }
echo "layouts agree"
