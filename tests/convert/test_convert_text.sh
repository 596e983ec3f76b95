#!/bin/bash
# weft convert of the plain graphs in the shared data: the counts of its README, the same bits within little memory, and
# what a killed conversion leaves is removed by the next.
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
data=$(data_folder partition)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# converts FILE VERTICES DIRECTED_EDGES [OPTIONS...]: into the store named after the file; nothing else stays.
converts() {
    local file=$1 vertices=$2 edges=$3 store
    shift 3
    store=$(basename "$file")
    "$weft" convert "$data/$file" --out "$store" "$@" 2>"$store.log" || fail "$file: $(tail -n 1 "$store.log")"
    grep -q "$vertices vertices, $edges directed edges" "$store.log" || fail "$file: $(cat "$store.log")"
    "$weft" info "$store" --check >/dev/null || fail "$store does not hold"
    ! compgen -G '*.tmp-*' >/dev/null || fail "left behind: $(ls)"
}

converts partition/4elt.graph 15606 91756
converts partition/delaunay_n15.graph 32768 196548
converts partition/example_weighted.graph 132 656
converts partition/test.mgraph 766 2628
converts snap/soc-Slashdot0902.txt.gz 82168 1008460
converts snap/email-Eu-core.txt.gz 1005 32128
converts gowalla/s_adj_mat.npz 70839 1620256 # a store with the name of arrays
grep -q "642 self-loops in the input, 0 kept" email-Eu-core.txt.gz.log || fail "self-loops of email-Eu-core"
grep -q 'MB/s, .* edges/s' email-Eu-core.txt.gz.log || fail "no rate told"
xz=yes
if "$weft" convert "$data/cnr-2000/cnr-2000.arcs.txt.xz" --out probe 2>probe.log; then
    rm -r probe
    converts cnr-2000/cnr-2000.arcs.txt.xz 325557 5477938
else
    xz=no
    grep -q 'liblzma-dev' probe.log || fail "xz: $(cat probe.log)"
fi

# Directions kept: the arcs of the README without its self-loops; and with them.
if [ $xz = yes ]; then
    converts cnr-2000/cnr-2000.arcs.txt.xz 325557 $((3216152 - 87442)) --symmetrize off --force
    "$weft" convert "$data/cnr-2000/cnr-2000.arcs.txt.xz" --out arcs --symmetrize off --self-loops keep 2>arcs.log
    grep -q '325557 vertices, 3216152 directed edges' arcs.log || fail "arcs kept: $(cat arcs.log)"
fi

# Refused: what is no graph file, with the reason; no store.
refuses() {
    local got=0
    "$weft" convert "$data/$1" --out refused 2>refused.log || got=$?
    [ $got -eq 65 ] || fail "$1: exit $got instead of 65"
    [ ! -e refused ] || fail "$1: a store stands"
    ! compgen -G 'refused.tmp-*' >/dev/null || fail "$1: left behind"
}
refuses partition/metis.mesh
grep -q 'text of no known format' refused.log || fail "$(cat refused.log)"
refuses cnr-2000/cnr-2000.graph

# Little memory: spilled, in several ranges, the same bits.
converts snap/soc-Slashdot0902.txt.gz 82168 1008460 --memory 4M --force
grep -q 'ranges of vertices within .* from a temporary file' soc-Slashdot0902.txt.gz.log || fail "not spilled"
mkdir large && cd large
"$weft" convert "$data/snap/soc-Slashdot0902.txt.gz" --out s --memory 1G 2>/dev/null
cd ..
cmp large/s/source.npy soc-Slashdot0902.txt.gz/source.npy
cmp large/s/offset.npy soc-Slashdot0902.txt.gz/offset.npy
got=0
"$weft" convert "$data/snap/soc-Slashdot0902.txt.gz" --out small --memory 500K 2>small.log || got=$?
[ $got -eq 71 ] && grep -q -- '--memory' small.log || fail "too little memory: exit $got, $(cat small.log)"

# Killed at several moments: the next conversion of the same store removes what is left.
for delay in 0.02 0.05 0.1 0.2 0.3; do
    "$weft" convert "$data/snap/soc-Slashdot0902.txt.gz" --out killed --force 2>/dev/null &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
done
"$weft" convert "$data/snap/soc-Slashdot0902.txt.gz" --out killed --force 2>/dev/null
! compgen -G 'killed.tmp-*' >/dev/null || fail "left behind by killed conversions: $(ls)"
cmp killed/source.npy large/s/source.npy
echo "text graphs: counts, bits and clean-up are right (xz: $xz)"
