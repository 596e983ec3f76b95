#!/bin/bash
# Edges, weights and ids as users' files hold them: what is clear is read with the values of the cases' README, and what is not is
# refused or told with file, line and cure.
# trees: release asan
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

# show STORE: its vertices, then its edges as "from>to" in order of the destinations, with ":weight" where there are weights.
cat >show.py <<'PY'
import array, json, os, sys

def read(name):
    data = open(os.path.join(sys.argv[1], name), "rb").read()
    begin = 10 + int.from_bytes(data[8:10], "little")
    kind = {"<i8": "q", "<i4": "i", "<f4": "f", "|u1": "B"}[data[10:begin].decode().split("'")[3]]
    return list(array.array(kind, data[begin:]))

held = json.load(open(os.path.join(sys.argv[1], "manifest.json")))
if len(sys.argv) > 2:
    print(*[f"{x:g}" for x in read(sys.argv[2])])
    sys.exit()
offset, source = read("offset.npy"), read("source.npy")
weight = read("weight.npy") if held.get("weighted") else None
text = []
for v in range(held["vertices"]):
    for e in range(offset[v], offset[v + 1]):
        text.append(f"{source[e]}>{v}" + (f":{weight[e]:g}" if weight else ""))
print(held["vertices"], *text)
PY
show() { python3 show.py "$@"; }

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
# D^-1/2 (A + I) D^-1/2 where only vertices 1 and 2 are given a loop, as PyG's GCNConv: worked out by hand in the README.
at() { echo "$cases/arrays/$1"; }
"$weft" convert "$(at loops.txt)" --self-loops keep --features "$(at loops-x.npy)" --labels "$(at loops-y.npy)" \
    --splits "$(at loops-s.npy)" --out loops.weft 2>/dev/null
for count in 1 2; do
    for kind in "gcn --layers 1" "sgc --layers 1"; do

        ranks $count "$weft" predict --data loops.weft --checkpoint "$(at loops-weights.npz)" --model $kind \
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
            ranks $count "$weft" predict --data $name.graph --checkpoint $model --out $name.answers --force >log.txt 2>&1 ||
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

echo "edges, weights and ids are read as they stand, or refused in words"
