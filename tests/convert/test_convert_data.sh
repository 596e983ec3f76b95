#!/bin/bash
# Every real graph of $WEFT_SHARED/data converts with the published numbers of vertices and undirected edges.
set -euo pipefail
weft=$1
source_dir=$2
data=${WEFT_SHARED:-}/data
[ -d "$data/planetoid" ] || { echo "skipped: no data sets in ${data}"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: python3 is not available"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check INPUT NAME VERTICES UNDIRECTED FEATURES CLASSES SPLIT [OPTIONS...]
check() {
  local input=$1 name=$2 vertices=$3 undirected=$4 features=$5 classes=$6 split=$7 fact
  shift 7
  "$weft" convert "$input" --out "$work/$name" "$@" 2>"$work/log.txt" || { cat "$work/log.txt"; exit 1; }
  "$weft" info "$work/$name" --check >"$work/info.txt"
  for fact in "vertices: $vertices" "edges (directed): $((2 * undirected))" "symmetric: yes" "features: $features" \
    "labels: $classes classes" "split 0: $split" "checked: checksums and every invariant hold"; do
    [ "$fact" = "split 0: none" ] && fact="splits: none"
    grep -qF -- "$fact" "$work/info.txt" || { echo "$name: expected '$fact'"; cat "$work/info.txt"; exit 1; }
  done
  grep -qF "symmetric: $undirected undirected edges" "$work/log.txt" || { cat "$work/log.txt"; exit 1; }
  rm -r "${work:?}/$name"
}

for name in cora citeseer; do
  "$source_dir/scripts/convert_planetoid" "$data/planetoid" "$name" "$work/$name.npz"
done
check "$work/cora.npz" cora 2708 5278 1433 7 "140 train, 500 valid, 1000 test, 1068 none"
check "$work/citeseer.npz" citeseer 3327 4552 3703 6 "120 train, 500 valid, 1000 test, 1707 none"
g=$data/gnn-benchmark
check "$g/amazon_electronics_photo.npz" photo 7650 119081 745 8 "4590 train, 1530 valid, 1530 test, 0 none" \
  --split "$g/amazon-photo_split.npz"
check "$g/blogcatalog.npz" blog 5196 171743 8189 6 none
check "$g/ms_academic_phy.npz" physics 34493 247962 8415 5 "20695 train, 6898 valid, 6900 test, 0 none" \
  --split "$g/coauthor-physics_split.npz"
h=$data/heterophilous
check "$h/minesweeper.npz" minesweeper 10000 39402 7 2 "5000 train, 2500 valid, 2500 test, 0 none"
check "$h/squirrel_filtered.npz" squirrel 2223 46998 2089 5 "1053 train, 718 valid, 452 test, 0 none" --split-index 0
check "$h/tolokers.npz" tolokers 11758 519000 10 2 "5879 train, 2939 valid, 2940 test, 0 none"

# Citeseer's gaps: isolated, without label. Cora: every vertex has a label.
"$weft" convert "$work/citeseer.npz" --out "$work/citeseer" -q
grep -qF 'vertices without incoming edges: 48' <<<"$("$weft" info "$work/citeseer")"
grep -qF '3312 vertices labelled' <<<"$("$weft" info "$work/citeseer")"

# Element by element against NumPy, where there is one.
if python3 -c 'import numpy' 2>/dev/null; then
  "$weft" convert "$g/amazon_electronics_photo.npz" --out "$work/photo" --split "$g/amazon-photo_split.npz" -q
  "$weft" convert "$h/minesweeper.npz" --out "$work/minesweeper" -q
  (cd "$work" && python3 - "$g" "$h" <<'PY')
import os
import sys
import numpy as np


def rows_of(indptr):
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def check(store, u, v, features, labels, split):
    load = lambda name: np.load(f"{store}/{name}.npy", mmap_mode="r")
    both = np.unique(np.vstack([np.stack([v, u], 1), np.stack([u, v], 1)])[np.tile(u != v, 2)], axis=0)
    got = np.stack([rows_of(load("offset")), load("source")], 1)
    assert np.array_equal(got, both), store
    if os.path.exists(f"{store}/feature.npy"):
        stored = load("feature")
    else:
        stored = np.zeros(features.shape, np.float32)
        stored[rows_of(load("feature_offset")), load("feature_column")] = load("feature_value")
    assert np.array_equal(stored, features) and np.array_equal(load("label"), labels), store
    assert np.array_equal(load("split"), split), store


z = np.load(f"{sys.argv[1]}/amazon_electronics_photo.npz")
features = np.zeros(z["attr_shape"], np.float32)
np.add.at(features, (rows_of(z["attr_indptr"]), z["attr_indices"]), z["attr_data"])
split = np.full(len(z["labels"]), 255)
for part, name in enumerate(["train", "valid", "test"]):
    split[np.load(f"{sys.argv[1]}/amazon-photo_split.npz")[name]] = part
check("photo", rows_of(z["adj_indptr"]), z["adj_indices"], features, z["labels"], split)
z = np.load(f"{sys.argv[2]}/minesweeper.npz")
split = np.where(z["train_masks"], 0, np.where(z["val_masks"], 1, np.where(z["test_masks"], 2, 255)))
check("minesweeper", z["edges"][:, 0], z["edges"][:, 1], z["node_features"], z["node_labels"], split)
PY
fi
echo "8 data sets converted"
