#!/bin/bash
# Layouts of public data sets: generated, checked by an oracle that shares no code, read back, compared with the store
# made directly. Then every layout with single faults: exit 65, a message with file, row and value, nothing left behind.
# timeout: 240
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
"$weft" info proteins.weft --check | grep -qF 'split 0: 10 train, 10 valid, 10 test, 0 none'
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

# ---- faults ----

# expect TEXT LAYOUT: converting the damaged copy of LAYOUT, "bad", exits 65, says TEXT and leaves nothing.
expect() {
  local got=0 before
  before=$(find . | sort)
  "$weft" convert bad --out o --format "$2" >stdout.txt 2>stderr.txt || got=$?
  [ "$got" -eq 65 ] || { echo "exit $got instead of 65 ($1)"; cat stderr.txt; exit 1; }
  grep -qF -- "$1" stderr.txt || { echo "no '$1' in:"; cat stderr.txt; exit 1; }
  [ "$before" = "$(find . | sort)" ] || { echo "left behind ($1):"; find .; exit 1; }
}
fresh() { rm -rf bad; cp -r "$1" bad; }
hurt() { python3 "$oracle" damage "$@"; }
touch stdout.txt stderr.txt
: >bad

fresh dgl-reddit; hurt bad/reddit_graph.npz col 7 400
expect 'bad/reddit_graph.npz[col]: row 7: 400: vertices are 0 to 399' dgl-reddit
fresh dgl-reddit; hurt bad/reddit_graph.npz format 0 dok
expect "bad/reddit_graph.npz[format]: 'dok'" dgl-reddit
fresh dgl-reddit; hurt bad/reddit_graph.npz shape 1 399
expect 'bad/reddit_graph.npz[shape]: (400, 399): an adjacency matrix is square' dgl-reddit
fresh dgl-reddit; hurt bad/reddit_data.npz feature 27 nan
expect 'bad/reddit_data.npz[feature]: row 2, column 1: nan is not finite' dgl-reddit
fresh dgl-reddit; hurt bad/reddit_data.npz node_types 5 4
expect 'bad/reddit_data.npz[node_types]: row 5: 4' dgl-reddit
fresh dgl-reddit; hurt bad/reddit_data.npz label 3 -9
expect 'bad/reddit_data.npz[label]: row 3: -9' dgl-reddit
fresh dgl-reddit; python3 "$oracle" drop bad/reddit_graph.npz row
expect "bad/reddit_graph.npz: lacks the array 'row'" dgl-reddit

fresh graphsaint; hurt bad/adj_full.npz indices 9 -1
expect 'bad/adj_full.npz[indices]: row 9: -1: vertices are 0 to 399' graphsaint
fresh graphsaint; hurt bad/adj_full.npz indptr 4 100000
expect 'bad/adj_full.npz[indptr]: row 4: 100000 is followed by' graphsaint
fresh graphsaint; sed -i 's/"7":/"6":/' bad/class_map.json
expect 'bad/class_map.json: key "6" comes twice' graphsaint
fresh graphsaint; sed -i 's/"7": [0-9]*/"7": x/' bad/class_map.json
expect "bad/class_map.json: line 1, column 63: expected a whole number, found 'x'" graphsaint
fresh graphsaint; head -c 900 graphsaint/class_map.json >bad/class_map.json
expect 'the file ends (truncated?)' graphsaint
fresh graphsaint; sed -i 's/"va": \[/"va": [400, /' bad/role.json
expect 'bad/role.json: "va", row 0: 400: vertices are 0 to 399' graphsaint
fresh graphsaint; sed -i 's/"te"/"tr"/' bad/role.json
expect 'bad/role.json: key "tr": expected' graphsaint
fresh graphsaint; head -c 2000 graphsaint/feats.npy >bad/feats.npy
expect 'bad/feats.npy: ' graphsaint

fresh ogb-binary; hurt bad/raw/data.npz edge_index 5 400
expect 'bad/raw/data.npz[edge_index]: row 5: 400: vertices are 0 to 399' ogb-binary
fresh ogb-binary; hurt bad/raw/data.npz num_nodes_list 0 0
expect 'bad/raw/data.npz: no vertices' ogb-binary
fresh ogb-binary; hurt bad/raw/data.npz num_nodes_list 0 500
expect 'bad/raw/data.npz[node_feat]: 400 rows of features for 500 vertices' ogb-binary
fresh ogb-binary; hurt bad/raw/node-label.npz node_label 11 1.5
expect 'bad/raw/node-label.npz[node_label]: row 11: 1.5' ogb-binary
fresh ogb-binary; size=$(stat -c %s bad/raw/data.npz); truncate -s $((size / 2)) bad/raw/data.npz
expect 'bad/raw/data.npz: ' ogb-binary

fresh plain; sed -i '9s/.*/3,400/' bad/raw/edge.csv
expect 'bad/raw/edge.csv: line 9' ogb
fresh plain; sed -i '9s/.*/3;x/' bad/raw/edge.csv
expect 'bad/raw/edge.csv: line 9' ogb
fresh plain; sed -i '$d' bad/raw/edge.csv
expect "bad/raw/edge.csv: $(wc -l <bad/raw/edge.csv) edges, but raw/num-edge-list says" ogb
fresh plain; sed -i '5s/,/,nan,/' bad/raw/node-feat.csv
expect 'bad/raw/node-feat.csv: line 5' ogb
fresh plain; sed -i '3s/.*/-4/' bad/raw/node-label.csv
expect 'bad/raw/node-label.csv: row 2: -4' ogb
fresh plain; head -1 bad/split/time/train.csv >>bad/split/time/test.csv
expect 'bad/split/time/test.csv: vertex' ogb
fresh ogb; size=$(stat -c %s bad/raw/edge.csv.gz); truncate -s $((size / 2)) bad/raw/edge.csv.gz
expect 'bad/raw/edge.csv.gz' ogb

# What a layout cannot hold is said before anything is written.
refuse() {
  local got=0
  "$weft" convert "${@:2}" --out refused >stdout.txt 2>stderr.txt || got=$?
  [ "$got" -eq 2 ] && grep -qF -- "$1" stderr.txt && [ ! -e refused ] || { echo "exit $got: ${*:2}"; cat stderr.txt; exit 1; }
}
refuse 'is directed, which the format cannot tell' directed --to metis
refuse 'has no features' synth:rmat,scale=5,f=0 --to dgl-reddit
refuse 'did you mean' ref --to graphsnt
got=0; "$weft" convert ref --to ogb --out graphsaint --force 2>stderr.txt || got=$?
[ "$got" -eq 2 ] && grep -qF 'has not the layout ogb' stderr.txt || { echo "exit $got"; cat stderr.txt; exit 1; }
"$weft" convert ref --to ogb --out ogb.again --force -q
[ -z "$(find . -name '*.tmp-*')" ] || { echo "left behind:"; find . -name '*.tmp-*'; exit 1; }
echo "layouts agree, faults are named"
