#!/bin/bash
# Prediction of links: ten steps beside NumPy for both decoders and both losses, scores by brute force, the same on 1, 2 and 3
# ranks, no leak of held-out edges, links from files, pairs, a resumed run to the bit, and what is refused.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
python3 -c 'import numpy' 2>/dev/null || { skip "no NumPy"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=$source_dir/tests/app/links_checks.py
check() {
    python3 "$checks" "$@" || fail "links_checks.py $*"
}
ok "$weft" convert synth:community,n=400,e=3000,f=12 --out g --quiet
plain=(--model gcn --hidden 8 --embedding 6 --norm none --dropout 0 --normalize none --feature-form whole --threads 1 --pin off
    --quiet)
link=(--data g --task link --link-split 85/5/10 "${plain[@]}")
train() { # RANKS RUN OPTION...
    ok ranks "$1" "$weft" train "${link[@]}" --run-dir "$2" --lr 0.02 --epochs 20 --seed 3 "${@:3}"
}
values() { # KEY RUN
    sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p" "$2/metrics.jsonl"
}

# ---- ten steps, and the same on any number of ranks ----
for how in dot mlp bpr; do
    case $how in
    dot) extra=(--negatives 2) ;;
    mlp) extra=(--negatives 2 --decoder mlp) ;;
    bpr) extra=(--negatives 2 --link-loss bpr --metric mrr) ;;
    esac
    ok "$weft" train "${link[@]}" --run-dir $how-0 --lr 0 --epochs 1 --seed 3 "${extra[@]}" # first weights
    for ranks in 1 2 3; do
        train $ranks $how$ranks "${extra[@]}"
    done
    check train g $how-0 ${how}1 $how
    for ranks in 2 3; do
        for key in loss train valid test; do
            paste <(values $key ${how}1) <(values $key $how$ranks) | awk -v most=$([ $key = loss ] && echo 1e-5 || echo 5e-3) '
                {d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) {print; bad = 1}} END {exit bad || NR != 20}' ||
                fail "$key of $how on $ranks ranks"
        done
        cmp -s <(python3 -c "import numpy; print(numpy.load('${how}1/predictions.npy').shape)") \
            <(python3 -c "import numpy; print(numpy.load('$how$ranks/predictions.npy').shape)") || fail "rows of $how$ranks"
    done
    grep -q '"allocations_after_first_epoch": 0,' ${how}1/summary.json || fail "epochs of $how allocate"
done
python3 - <<'CHECK' || fail "answers of 1 and 3 ranks stand in another order"
import numpy
a, b = (numpy.load(run + "/predictions.npy") for run in ("dot1", "dot3"))
assert numpy.abs(a - b).max() < 1e-3, numpy.abs(a - b).max()
CHECK

# ---- scores ----
check scores g dot1 rocauc 0 0
check scores g bpr1 mrr 0 0
train 1 own --metric mrr --eval-negatives 5
check scores g own mrr 5 0
train 3 hits --metric hits --hits-at 10 --decoder mlp
check scores g hits hits 0 10
train 2 hits-own --metric hits --hits-at 2 --eval-negatives 5
check scores g hits-own hits 5 2
refused 64 "needs classes" "$weft" train "${link[@]}" --run-dir x --metric acc

# ---- eval and pairs ----
ok "$weft" eval dot1 --data g --format json --quiet
python3 - <<'CHECK' || fail "eval and training differ: $(cat out)"
import json
told, scored = json.load(open("dot1/summary.json")), json.load(open("out"))
print(told, scored)
CHECK
python3 -c "
import numpy; numpy.save('pairs.npy', numpy.random.default_rng(1).integers(0, 400, (37, 2)))"
for run in dot1 mlp1; do
    for ranks in 1 3; do
        ok ranks $ranks "$weft" predict $run g --pairs pairs.npy --out $run-pairs$ranks --threads 1 --pin off --quiet
        check pairs g $run pairs.npy $run-pairs$ranks
    done
done
python3 -c "import numpy; numpy.save('far.npy', numpy.array([[1, 400]]))"
refused 65 "row 0: vertex 400" "$weft" predict dot1 g --pairs far.npy --out far --quiet
refused 64 "weft predict" "$weft" train "${link[@]}" --run-dir x --pairs pairs.npy

# ---- files in OGB's layout; the edges of the graph are train ----
for own in 0 4; do
    rm -rf files && mkdir files
    check files g files $own
    ok "$weft" convert files/edges.txt --format edge-list --vertices 400 --features files/feature.npy --symmetrize on \
        --out held$own --quiet
    for ranks in 1 3; do
        ok ranks $ranks "$weft" train --data held$own --task link --links files "${plain[@]}" --lr 0.02 --epochs 5 --seed 3 \
            --run-dir files$own-$ranks --metric mrr
    done
    paste <(values test files$own-1) <(values test files$own-3) |
        awk '{d = $1 - $2; if (d < 0) d = -d; if (d > 2e-3) bad = 1} END {exit bad || NR != 5}' || fail "scores of files, own $own"
done
paste <(values loss files0-1) <(values loss files4-1) | awk '$1 != $2 {bad = 1} END {exit bad || NR != 5}' || fail "losses of files"
refused 64 "name their folder with --links" "$weft" eval files0-1 --data held0
ok "$weft" eval files0-1 --data held0 --links files --quiet
refused 64 "take one of both" "$weft" train --data held0 --task link --links files --link-split 80/10/10 --run-dir x --quiet
mkdir pickles && touch pickles/test.pt
refused 66 "torch.load" "$weft" train --data held0 --task link --links pickles --run-dir x --quiet
ok "$weft" train --data g --task link --links files --model gcn --epochs 1 --threads 1 --pin off --run-dir leak
grep -q "are edges of" err || fail "no word of edges that training sees: $(cat err)"

# ---- a resumed run has the bits of an unbroken one ----
train 2 whole --epochs 8 --seed 3
train 2 half --epochs 4 --checkpoint-every 2
ok ranks 2 "$weft" train "${link[@]}" --run-dir half --lr 0.02 --seed 3 --epochs 8 --resume
python3 - <<'CHECK' || fail "resumed weights differ"
import zipfile
a, b = (zipfile.ZipFile(run + "/weights.npz") for run in ("whole", "half"))
assert all(a.read(n) == b.read(n) for n in a.namelist())
CHECK

# ---- other encoders; what is refused ----
for model in sage gat gin; do
    ok ranks 2 "$weft" train --data g --task link --model $model --epochs 3 --threads 1 --pin off --quiet --run-dir $model
done
refused 69 "second order" "$weft" train "${link[@]}" --run-dir x --precondition kfac
refused 64 "link-loss" "$weft" train "${link[@]}" --run-dir x --loss squared
refused 64 "train needs a share" "$weft" train --data g --task link --link-split 0/50/50 --run-dir x --quiet
ls -d */data-* data-* 2>/dev/null && fail "a store of messages was left behind"
exit 0
