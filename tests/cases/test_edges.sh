#!/bin/bash
# Edges, weights and ids as users' files hold them: what is clear is read with the values of the cases' README, and what is not is
# refused or told with file, line and cure.
# trees: release
# needs: mpirun
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
cases="${WEFT_SHARED:-$source_dir/../shared}/cases/inputs"
[ -d "$cases/text" ] || skip "no cases at $cases"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# numbers FILE.npy TYPE BYTES: the elements of an array, one a line.
numbers() { od -An -v -t "$2" -w"$3" -j $((10 + $(od -An -j 8 -N 2 -t u2 "$1"))) "$1"; }

# show STORE: its vertices, then its edges as "from>to" in order of the destinations, with ":weight" where there are weights.
show() {
    {
        echo offset
        numbers "$1/offset.npy" d8 8
        echo source
        numbers "$1/source.npy" d4 4
        echo weight
        [ ! -e "$1/weight.npy" ] || numbers "$1/weight.npy" f4 4
    } | awk '
        /[a-z]/ { array = $1; next }
        array == "offset" { offset[n++] = $1 }
        array == "source" { source[m++] = $1 }
        array == "weight" { weight[w++] = $1 }
        END {
            printf "%d", n - 1
            for (v = 0; v < n - 1; v++)
                for (e = offset[v]; e < offset[v + 1]; e++)
                    printf w ? " %d>%d:%g" : " %d>%d", source[e], v, weight[e]
            print ""
        }'
}

# reads TEXT EXPECTED ARGUMENTS...: the store holds what is expected, and the log says the text (- for none).
reads() {
    local text=$1 expected=$2 held
    shift 2
    "$weft" convert "$@" --out read.weft --force 2>log.txt || fail "convert $*: $(cat log.txt)"
    held=$(show read.weft)
    [ "$held" = "$expected" ] || fail "convert $*: holds $held, expected $expected"
    [ "$text" = - ] || grep -qF -- "$text" log.txt || fail "convert $*: no '$text' in: $(cat log.txt)"
}

# refuses CODE TEXT ARGUMENTS...: no store, and the message holds the text.
refuses() {
    local code=$1 text=$2 got=0
    shift 2
    "$weft" convert "$@" --out refused.weft 2>log.txt || got=$?
    [ $got -eq "$code" ] || fail "convert $*: exit $got instead of $code: $(cat log.txt)"
    grep -qF -- "$text" log.txt || fail "convert $*: no '$text' in: $(cat log.txt)"
    ! compgen -G 'refused.weft*' >/dev/null || fail "convert $*: left behind"
}

# ---- self-loops ----
launch() {
    if [ "$1" -eq 1 ]; then "${@:2}"; else ranks "$@"; fi
}

# D^-1/2 (A + I) D^-1/2 where only vertices 1 and 2 are given a loop, as PyG's GCNConv: worked out by hand in the README.
at() { echo "$cases/arrays/$1"; }
"$weft" convert "$(at loops.txt)" --self-loops keep --features "$(at loops-x.npy)" --labels "$(at loops-y.npy)" \
    --splits "$(at loops-s.npy)" --out loops.weft 2>/dev/null
for count in 1 2; do
    for kind in "gcn --layers 1" "sgc --layers 1"; do

        launch $count "$weft" predict --data loops.weft --checkpoint "$(at loops-weights.npz)" --model $kind \
            --norm none --normalize none --out answers --force >log.txt 2>&1 || fail "$kind: $(cat log.txt)"
        python3 - <<'PY' || fail "$kind on $count ranks: self-loops do not count as in PyG"
import array, math
data = open("answers/probabilities.npy", "rb").read()
p = array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])
odds = [math.log(p[2 * v] / p[2 * v + 1]) for v in range(3)]
assert all(abs(a - b) < 5e-5 for a, b in zip(odds, [0.0918, 0.0749, -0.4082])), odds
PY
    done
done
# Attention counts every vertex once: a loop of the graph changes nothing, whoever holds it.
"$weft" convert synth:community,n=60,e=300,f=4,classes=3 --out plain.weft -q
"$weft" convert plain.weft --to edge-list --out plain.txt -q 2>/dev/null
{ cat plain.txt; printf '%d %d\n' 3 3 17 17 40 40; } >looped.txt
for name in plain looped; do
    "$weft" convert $name.txt --self-loops keep --vertices 60 --features degree --out $name.degrees -q 2>/dev/null
    cp -r plain.weft $name.graph
    cp $name.degrees/offset.npy $name.degrees/source.npy $name.graph/
    python3 - $name.graph/manifest.json $name.degrees/manifest.json <<'PY'
import json, sys
held, graph = (json.load(open(name)) for name in sys.argv[1:])
held["edges"] = graph["edges"]
held.pop("arrays", None)
json.dump(held, open(sys.argv[1], "w"))
PY
done
[ "$(show plain.graph | wc -w)" -lt "$(show looped.graph | wc -w)" ] || fail "no self-loop was kept"
for model in gat gatv2; do
    "$weft" train --data plain.graph --model $model --epochs 3 --hidden 8 --run-dir $model -q >/dev/null 2>&1
    for count in 1 2; do
        for name in plain looped; do
            launch $count "$weft" predict --data $name.graph --checkpoint $model --out $name.answers --force >log.txt 2>&1 ||
                fail "$model: $(cat log.txt)"
        done
        cmp plain.answers/predictions.npy looped.answers/predictions.npy || fail "$model on $count ranks: a self-loop counts"
        [ $count -ne 1 ] || cmp plain.answers/probabilities.npy looped.answers/probabilities.npy ||
            fail "$model: a self-loop counts"
    done
done
# ---- Matrix Market and METIS ----
for form in one-percent leading-blanks; do
    file=$cases/matrix/$form.mtx
    reads "line 1 is taken for the '%%MatrixMarket'" "3 1>0:0.5 2>1:0.25" "$file" --edge-weights input --symmetrize off
    cp "$file" $form.txt # the banner tells, not the name
    gzip -k $form.txt
    reads - "3 1>0:0.5 0>1:0.5 2>1:0.25 1>2:0.25" $form.txt.gz --edge-weights input
done
sed 1d "$cases/matrix/one-percent.mtx" >headless.mtx
refuses 65 "line 1: '3 3 2': expected '%%MatrixMarket" headless.mtx
reads "skew-symmetric: its signs are dropped" "3 1>0 0>1 2>1 1>2" "$cases/matrix/skew.mtx"
refuses 65 "line 1: beside each value of a skew-symmetric matrix stands its negative" "$cases/matrix/skew.mtx" --edge-weights input
reads - "3 0>1:1.5 1>2:0.1" "$cases/matrix/fortran-exponent.mtx" --edge-weights input --symmetrize off
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 2.5d-1\n3 2 7\n' >symmetric.mtx
reads - "3 1>0:0.25 0>1:0.25 2>1:7 1>2:7" symmetric.mtx --edge-weights input --symmetrize off
printf '0 1\n1 0\n1 2\n2 1\n' >both.txt
reads - "3 1>0:0.25 0>1:0.25 2>1:7 1>2:7" both.txt --edge-weights symmetric.mtx --symmetrize off
reads - "3 1>0:5 0>1:5 2>1:7 1>2:7" "$cases/matrix/edge-weights.graph" --edge-weights input
reads - "3 1>0 0>1 2>1 1>2" "$cases/matrix/edge-weights.graph"
reads - "3 1>0:5 0>1:5 2>1:7 1>2:7" both.txt --edge-weights "$cases/matrix/edge-weights.graph"
printf '3 2 011 2\n4 4 2 5\n1 1 1 5 3 7\n0 0 2 7\n' >vertices.graph
reads - "3 1>0:5 0>1:5 2>1:7 1>2:7" vertices.graph --edge-weights input
printf '3 2 101\n9 2 5\n9 1 5 3 7\n9 2 7\n' >SIZES.GRAPH
reads - "3 1>0:5 0>1:5 2>1:7 1>2:7" SIZES.GRAPH --edge-weights input
sed 's/^2 7/2 8/' "$cases/matrix/edge-weights.graph" >differs.graph
refuses 65 "an edge weighs the same in both of its lines" differs.graph --edge-weights input
printf '3 2\n2\n1 3\n2\n' >plain.graph.metis
refuses 65 "line 1: '3 2': without edge weights, which a last digit 1 of FMT" plain.graph.metis --edge-weights input

# ---- pipes ----
reads - "4 1>0 0>1 2>1 1>2 3>2 2>3" - <"$cases/text/path4.txt"
refuses 66 "/dev/stdin: is a pipe or a device, which can be read once only: write it into a file first" - < <(cat "$cases/text/path4.txt")
refuses 66 "write it into a file first" /dev/stdin < <(cat "$cases/text/path4.txt")
mkfifo queue
refuses 66 "queue: is a pipe" queue
refuses 66 "queue: is a pipe" "$cases/text/path4.txt" --labels queue

# ---- columns by their names ----
text=$cases/text
directed=(--symmetrize off)
reads "a column is left out: 'id'" "4 3>0 2>1 1>2 3>2 0>3 2>3" "$text/edges-id-first.csv"
reads - "4 3>0 1>2 2>3" "$text/edges-id-first.csv" "${directed[@]}"
reads - "3 0>1 1>2" "$text/edges-target-first.csv" "${directed[@]}"
reads "a column is left out: 'time'" "4 1>2 2>3" "$text/edges-time-first.csv" "${directed[@]}"
reads "the first column is left out: it has no name" "3 0>1 1>2" "$text/edges-pandas-index.csv" "${directed[@]}"
reads - "3 0>1 1>2" "$text/edges-quoted.csv" "${directed[@]}"
reads - "3 0>1 1>2" "$text/edges-float-ids.csv" "${directed[@]}"
reads "the dictionaries {...} behind the ids" "3 0>1 1>2" "$text/edges-networkx.txt" "${directed[@]}"
refuses 65 'write it with data=["weight"]' "$text/edges-networkx.txt" --edge-weights input
refuses 65 "line 1 has 2 names, line 2 has 3 fields" "$text/edges-row-names.csv"
tr , '\t' <"$text/edges-row-names.csv" >row-names.tsv
reads "it is an index or row names" "3 2>0 0>1 1>2" row-names.tsv "${directed[@]}"
reads "columns are left out: 'Type', 'Id', 'Label'" "3 1>0:1 0>1:1 2>1:2.5 1>2:2.5" "$text/edges-gephi.csv" --edge-weights input
reads "the column 'Weight' is not used as long as --edge-weights" "3 1>0 0>1 2>1 1>2" "$text/edges-gephi.csv"
refuses 65 "line 1 has 3 names, line 2 has 4 fields: decimal commas?" "$text/edges-decimal-comma.csv" --edge-weights input
printf '0;1;0,5\n1;2;1,5\n' >comma.csv
refuses 65 "line 1: '0,5': a comma within the weight of the edge: decimal commas?" comma.csv --edge-weights input
printf 'W;Dst;SRC\r\n2.5;0;1\r\n4;2;1\r\n' | gzip >weighted.csv.gz
reads - "3 1>0:2.5 1>2:4" weighted.csv.gz --edge-weights input "${directed[@]}"
printf 'kind\tTo Node\tFrom Node\tscore\n"a, b"\t1\t0\t3\nc\t2\t1\t4\n' >table.tsv
reads "columns are left out: 'kind', 'score'" "3 0>1 1>2" table.tsv "${directed[@]}"
refuses 65 "line 1: no column is named weight" table.tsv --edge-weights input
printf 'a,b,score\n0,1,3\n1,2,4\n' >unknown.csv
refuses 65 "line 1: no column is named for the ends of edges" unknown.csv
printf 'a,b,weight\n0,1,3\n1,2,4\n' >unknown.csv
reads "the columns 'a' and 'b' are taken for source and target" "3 0>1:3 1>2:4" unknown.csv --edge-weights input "${directed[@]}"
printf '# target source\n1 0\n2 1\n' >comment.txt
reads "a header without # is followed" "3 1>0 2>1" comment.txt "${directed[@]}"
printf 'i,j,v\n0,1,7\n1,2,8\n' >entries.csv # v is an end beside u, and a value beside i and j
reads - "3 0>1:7 1>2:8" entries.csv --edge-weights input "${directed[@]}"
printf 'source,target,start,end\n0,1,7,8\n1,2,8,9\n' >times.csv
reads "columns are left out: 'start', 'end'" "3 0>1 1>2" times.csv "${directed[@]}"
cp "$cases/matrix/edge-weights.graph" metis.txt # the format that is named counts for the weights, too
reads - "3 1>0:5 0>1:5 2>1:7 1>2:7" metis.txt --format metis --edge-weights input
printf '0 1 2\n1 2 3\n' >plain.mtx
reads - "3 0>1:2 1>2:3" plain.mtx --format edge-list --edge-weights input "${directed[@]}"
# A file of weights has columns of its own.
printf 'w,to,from\n3,1,0\n4,2,1\n' >only.csv
reads - "3 0>1:3 1>2:4" "$text/edges-target-first.csv" --edge-weights only.csv "${directed[@]}"

# ---- ids ----
reads "no edge has vertex 0: where ids count from 1, --first-id 1 says so" "4 3>1 1>2 2>3" "$text/edges-one-based.txt" "${directed[@]}"
reads - "3 2>0 0>1 1>2" "$text/edges-one-based.txt" --first-id 1 "${directed[@]}"
printf '0.5\n1\n2\n' >three.csv
for option in --features --labels; do
    refuses 65 "ids that count from 1 need --first-id 1" "$text/edges-one-based.txt" $option three.csv
done
reads - "3 2>0 0>1 1>2" "$text/edges-one-based.txt" --features three.csv --first-id 1 "${directed[@]}"
printf '1 2 5\n2 3 6\n' >one.txt
reads - "3 0>1:5 1>2:6" one.txt --edge-weights input --first-id 1 "${directed[@]}"
refuses 65 "'0': expected a vertex id, 1 to" "$text/path4.txt" --first-id 1
refuses 2 "--first-id: only edge lists leave open what ids mean" "$cases/matrix/edge-weights.graph" --first-id 1
reads "3 of 1000001 vertices have an edge, as ids have gaps: --relabel" "1000001 5>17 17>1000000" "$text/edges-gaps.txt" "${directed[@]}"
reads "3 ids, '5' to '1000000', are vertices 0 to 2" "3 0>1 1>2" "$text/edges-gaps.txt" --relabel "${directed[@]}"
named() { tail -c +$((11 + $(od -An -j 8 -N 2 -t u2 read.weft/vertex_name.npy))) read.weft/vertex_name.npy | paste -sd " "; }
[ "$(named)" = "5 17 1000000" ] || fail "the store of gaps keeps $(named)"
refuses 65 "line 1: '10000000001': expected a vertex id, 0 to 2147483646 (--relabel takes names" "$text/edges-64bit.txt"
reads - "3 0>1 1>2" "$text/edges-64bit.txt" --relabel "${directed[@]}"
[ "$(named)" = "10000000001 10000000002 10000000003" ] || fail "ids of 64 bits"
refuses 65 "line 2: 'alice': expected a vertex id, 0 to 2147483646 (--relabel takes names" "$text/edges-names.csv"
sed 1d "$text/edges-names.csv" >headless.csv
refuses 65 "--relabel takes names" headless.csv
reads "line 1 is taken for an edge" "3 0>1 1>2" headless.csv --relabel "${directed[@]}"
reads "has no column of ids: its rows are taken in the ascending order" "3 0>1 1>2" "$text/edges-names.csv" --relabel \
    --features three.csv "${directed[@]}"
# Tables and weights by names, in any order; a vertex need not have an edge.
printf 'id,x,label\ncarol,0.5,red\nalice,1,blue\ndave,4,red\n"bob",2,blue\n' >people.csv
printf 'from;to;w\n"bob";carol;3\nalice;bob;2\n' >shares.csv
reads "3 of 4 vertices have an edge" "4 0>1:2 1>2:3" "$text/edges-names.csv" --relabel --features people.csv --labels people.csv \
    --edge-weights shares.csv "${directed[@]}"
[ "$(named)" = "alice bob carol dave" ] || fail "names: $(named)"
[ "$(echo $(numbers read.weft/feature.npy f4 4))" = "1 2 0.5 4" ] || fail "features by names"
[ "$(echo $(numbers read.weft/label.npy d4 4))" = "0 0 1 1" ] || fail "labels by names"
printf 'from,to,w\nbob,carol,3\nalice,eve,2\n' >stranger.csv
refuses 65 "line 3: 'eve': expected the id of a vertex of the graph" "$text/edges-names.csv" --relabel --edge-weights stranger.csv
printf 'from,to,w\nbob,carol,3\nalice,carol,2\n' >stranger.csv
refuses 65 "the edge 'alice' -> 'carol', which the graph does not have" "$text/edges-names.csv" --relabel --edge-weights stranger.csv
# Matrix Market and METIS have no ids but 1 to n: as positions they say nothing about ids with gaps.
printf '1 2\n2 3\n3 1\n' >cycle.txt
awk '{ print 10 * $1, 10 * $2 }' cycle.txt >tens.txt
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 12\n2 3 23\n3 1 31\n' >cycle.mtx
printf '3 3 1\n2 12 3 31\n1 12 3 23\n2 23 1 31\n' >cycle.graph
for weights in cycle.mtx cycle.graph; do
    refuses 2 "$weights has no ids but 1 to 3; give the weights in a table of text" tens.txt --relabel --edge-weights $weights
    reads - "3 1>0:12 2>0:31 0>1:12 2>1:23 0>2:31 1>2:23" cycle.txt --relabel --edge-weights $weights
done
# Layouts of public data sets have no names.
"$weft" convert "$text/edges-names.csv" --relabel --features people.csv --labels people.csv --out people.weft -q 2>log.txt
"$weft" convert people.weft --to edge-list --out people.txt 2>log.txt
grep -qF 'edge-list carries no names: vertices of ' log.txt || fail "names are lost without a word: $(cat log.txt)"
# Ids beyond 64 bits with a sign are ids, too, and numpy.savetxt writes ids with exponents.
printf '18446744073709551615 1\n18446744073709551614 2\n' >unsigned.txt
refuses 65 "'18446744073709551615': expected a vertex id, 0 to 2147483646 (--relabel takes names, and numbers of any size)" unsigned.txt
reads - "4 2>0 1>3" unsigned.txt --relabel "${directed[@]}"
{ echo 'person,other' && cat unsigned.txt; } | tr ' ' , >unsigned.csv
reads "the columns 'person' and 'other' are taken" "4 2>0 1>3" unsigned.csv --relabel "${directed[@]}"
printf '0.000000000000000000e+00 1.000000000000000000e+00\n1.000000000000000000e+00 1.200000000000000000e+01\n' >savetxt.txt
reads - "13 0>1 1>12" savetxt.txt "${directed[@]}"
printf '1.5e+00 2.0e+00\n' >half.txt
refuses 65 "half.txt" half.txt
# Numbers ascend as numbers, and where one id is a word all are names.
printf '10 9\n9 -3\n' >numbers.txt
reads - "3 1>0 2>1" numbers.txt --relabel "${directed[@]}"
printf '10 9\n9 x\n' >mixed.txt
reads - "3 0>1 1>2" mixed.txt --relabel "${directed[@]}"
[ "$(named)" = "10 9 x" ] || fail "mixed ids: $(named)"
printf '007 7\n7 8\n' >codes.txt # codes keep their zeros
reads "'007' to '8'" "3 0>1 1>2" codes.txt --relabel "${directed[@]}"
printf '1 x\nnan 1\n' >missing.txt
refuses 65 "line 2: 'nan': expected a vertex id (a name like this needs quotes)" missing.txt --relabel
printf 'from,to\na,b\nfrom,to\nb,c\n' >twice.csv
refuses 65 "line 3: 'from': expected an edge, not the header again" twice.csv --relabel
printf 'a,b\n\n#c,d\nd,e\n' >hashes.csv
reads "1 lines that begin with # or % are comments; names that begin so need quotes" "4 0>1 2>3" hashes.csv --relabel "${directed[@]}"
# The order depends neither on the threads nor on the file's order.
python3 - >many.csv <<'PY'
print("source,target")
for i in range(20000):
    print(f"user{i * 7919 % 5003},user{i * 104729 % 4999}")
PY
{ head -1 many.csv; sed 1d many.csv | sort -r; } >reversed.csv
for threads in 1 3; do
    OMP_NUM_THREADS=$threads "$weft" convert many.csv --relabel --out many.$threads -q 2>/dev/null
    OMP_NUM_THREADS=$threads "$weft" convert reversed.csv --relabel --out reversed.$threads -q 2>/dev/null
    for array in offset source vertex_name; do
        cmp many.1/$array.npy many.$threads/$array.npy
        cmp many.1/$array.npy reversed.$threads/$array.npy
    done
done
# Tables of one length tell how many vertices there are.
tables=(--features "$text/x.npy" --labels "$text/y.npy" --splits "$text/s.npy")
last="$text/edges-last-vertices-isolated.csv"
reads "24 vertices, as the tables have so many rows; the largest id is 20" "24$(for ((v = 0; v < 20; v++)); do echo -n " $v>$((v + 1))"; done)" \
    "$last" "${tables[@]}" "${directed[@]}"
seq 0 23 >rows.csv
reads "24 vertices, as the tables" "24$(for ((v = 0; v < 20; v++)); do echo -n " $v>$((v + 1))"; done)" "$last" --labels rows.csv \
    --features rows.csv "${directed[@]}"
refuses 65 "--vertices 24 where the last ones have no edge" "$last" --features "$text/x.npy"
refuses 65 "--vertices gives another number" "$last" --features rows.csv
reads - "24$(for ((v = 0; v < 20; v++)); do echo -n " $v>$((v + 1))"; done)" "$last" --features "$text/x.npy" --vertices 24 "${directed[@]}"

# ---- a first line that counts vertices and edges looks like an edge ----
printf '4 3\n0 1\n1 2\n2 3\n' >counted.txt
reads "the first line, 4 3, is read as an edge" "5 0>1 1>2 2>3 4>3" counted.txt "${directed[@]}"
printf '5 4\n1 2\n2 3\n3 4\n4 5\n' >counted-from-1.txt
reads "the first line, 5 4, is read as an edge" "6 1>2 2>3 3>4 5>4 4>5" counted-from-1.txt "${directed[@]}"
printf '3 2\n0 1\n1 2\n2 3\n' >edges.txt # three lines follow
reads - "4 0>1 1>2 3>2 2>3" edges.txt "${directed[@]}"
! grep -q "is read as an edge" log.txt || fail "a word about counts: $(cat log.txt)"

echo "edges, weights and ids are read as they stand, or refused in words"
