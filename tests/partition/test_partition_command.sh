#!/usr/bin/env bash
# weft partition on a real graph: JSON, table, what is kept, errors, and the table of bench/partition.
# args of this script: path of weft, source folder
set -u
weft=$1
source=$2
data=${WEFT_SHARED:-}/data/gnn-benchmark/amazon_electronics_photo.npz
[ -f "$data" ] || { echo "skipped: no $data"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$weft" convert "$data" --out "$folder/photo" >"$folder/log" 2>&1 || fail "convert: $(cat "$folder/log")"

out=$("$weft" partition "$folder/photo" --parts 8 --method metis --json 2>"$folder/log") || fail "partition: $(cat "$folder/log")"
[ "$(echo "$out" | wc -l)" = 1 ] || fail "stdout holds more than one JSON object: $out"
for key in method parts replication_factor edge_balance vertex_balance root_balance rows_per_layer split_vertices \
    cut_edges empty_parts seconds peak_rss_bytes; do
    echo "$out" | grep -q "\"$key\":" || fail "no $key in $out"
done
for file in edge_part.npy root.npy report.json; do
    [ -f "$folder/photo/partition-metis-8-0/$file" ] || fail "$file was not kept"
done

"$weft" partition "$folder/photo" --parts 4 --method libra --save off >"$folder/table" 2>&1 || fail "table"
grep -q "^replication factor" "$folder/table" || fail "no table: $(cat "$folder/table")"
[ ! -e "$folder/photo/partition-libra-4-0" ] || fail "--save off kept it"

"$weft" partition "$folder/absent" --parts 4 >"$folder/table" 2>&1
[ $? = 66 ] || fail "a missing store must exit 66"
"$weft" partition "$folder/photo" --parts 0 >"$folder/table" 2>&1
[ $? = 2 ] || fail "--parts 0 must exit 2"

rows=$("$source/bench/partition" "$folder/photo" --parts 2,4 --methods libra,metis --weft "$weft" \
    2>"$folder/log" | grep -c '^| [24] | ')
[ "$rows" = 4 ] || fail "bench/partition: $rows rows instead of 4: $(cat "$folder/log")"
echo passed
