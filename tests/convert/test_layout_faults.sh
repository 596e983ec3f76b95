#!/bin/bash
# Layouts of public data sets with single faults: exit 65, a message with file, row and value, nothing left behind. What
# a layout cannot hold is refused.
# trees: asan
set -euo pipefail
weft=$1
source_dir=$2
command -v python3 >/dev/null || { echo "skipped: python3 is not available"; exit 77; }
oracle="$source_dir/tests/convert/layouts.py"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$weft" convert synth:community,n=400,e=4000,f=13,classes=5,test=0.1 --out ref -q
for layout in ogb ogb-binary dgl-reddit graphsaint; do
  "$weft" convert ref --to $layout --out "$layout" -q
done
cp -r ogb plain
gunzip plain/raw/*.gz plain/split/*/*.gz
printf '0 1\n1 2\n2 0\n' >directed.txt
"$weft" convert directed.txt --symmetrize off --out directed -q 2>/dev/null
"$weft" convert ref --to ogb --out ogb.again -q

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
echo "faults are named"
