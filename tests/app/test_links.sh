#!/bin/bash
# Prediction of links: ten steps beside NumPy for both decoders and both losses, scores by brute force, the same on 1, 2 and 3
# ranks, no leak of held-out edges, links from files, pairs, a resumed run to the bit, and what is refused.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
python3 -c 'import numpy' 2>/dev/null || skip "no NumPy"
program=$(dirname "$weft")/tests/mpi_jobs
[ -x "$program" ] || skip "no $program"
work_folder
checks=$source_dir/tests/app/links_checks.py
check() {
    python3 "$checks" "$@" || fail "links_checks.py $*"
}
ok "$weft" convert synth:community,n=400,e=3000,f=12 --out g --quiet
plain=(--model gcn --hidden 8 --embedding 6 --norm none --dropout 0 --normalize none --feature-form whole --threads 1)
link=(--data g --task link --link-split 85/5/10 "${plain[@]}")
values() { # KEY RUN
    sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p" "$2/metrics.jsonl"
}
# job RANKS OPTION VALUE...: a training among those that one launch of so many ranks makes.
job() {
    local line= i words=("${@:2}")
    for ((i = 0; i < ${#words[@]}; i += 2)); do
        line+="${words[i]#--}=${words[i + 1]} "
    done
    echo "$line" >>"jobs-$1"
}
# Every job: RANKS RUN OPTION VALUE...
train() {
    job "$1" "${link[@]}" --run-dir "$2" --lr 0.02 --epochs 10 --eval-every 5 --seed 3 "${@:3}"
}
# alike RUN RUN EPOCHS TOLERANCE KEY...: figures of every epoch.
alike() {
    local key
    for key in "${@:5}"; do
        paste <(values "$key" "$1") <(values "$key" "$2") | awk -v lines="$3" -v most="$4" '
            {d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) {print; bad = 1}} END {exit bad || NR != lines}' ||
            fail "$key of $1 and $2"
    done
}

# ---- trainings ----
mkdir files0 files4
for how in dot mlp bpr; do
    case $how in
    dot) extra=(--negatives 2) ;;
    mlp) extra=(--negatives 2 --decoder mlp) ;;
    bpr) extra=(--negatives 2 --link-loss bpr --metric mrr) ;;
    esac
    job 1 "${link[@]}" --run-dir $how-0 --lr 0 --epochs 1 --seed 3 "${extra[@]}" # first weights
    train 1 ${how}1 "${extra[@]}"
    train 3 ${how}3 "${extra[@]}"
    job 1 "${link[@]}" --run-dir $how-still --epochs 3 --eval-every 0 "${extra[@]}"
done
train 2 dot2 --negatives 2
# 1,274 links in steps of 350: the last is short. Halos of an epoch ago are those of the step before.
train 1 some1 --negatives 2 --link-batch 350
train 3 some3 --negatives 2 --link-batch 350
train 3 some-bpr --negatives 2 --link-batch 350 --link-loss bpr
train 1 drop-some1 --decoder mlp --dropout 0.5 --link-batch 350
train 3 drop-some3 --decoder mlp --dropout 0.5 --link-batch 350
job 1 "${link[@]}" --run-dir some-still --epochs 3 --eval-every 0 --link-batch 350
for halo in "" "--delay 2"; do
    for run in some-whole:8 some-half:4 some-half:8; do
        train 2 "${run%:*}${halo:0:7}" --link-batch 350 --checkpoint-every 3steps --epochs ${run#*:} --resume on $halo
    done
done
train 1 drop1 --decoder mlp --dropout 0.5
train 3 drop3 --decoder mlp --dropout 0.5
train 1 own --metric mrr --eval-negatives 5
train 3 hits --metric hits --hits-at 10 --decoder mlp
train 2 hits-own --metric hits --hits-at 2 --eval-negatives 5
for model in sage gat gin; do
    job 2 --data g --task link --model $model --epochs 3 --threads 1 --run-dir $model
done
train 2 whole --epochs 8
train 2 half --epochs 4 --checkpoint-every 2
train 2 half --epochs 8 --resume on
for own in 0 4; do
    check files g files$own $own
    ok "$weft" convert files$own/edges.txt --format edge-list --vertices 400 --features files$own/feature.npy --symmetrize on \
        --out held$own --quiet
    for ranks in 1 3; do
        job $ranks --data held$own --task link --links files$own "${plain[@]}" --lr 0.02 --epochs 5 --seed 3 \
            --run-dir files$own-$ranks --metric mrr --eval-every 5
    done
done
check bipartite 60 90 bought.txt
ok "$weft" convert bought.txt --format edge-list --vertices 150 --symmetrize on --features onehot --out bought --quiet
recommend=(--data bought --task link --link-split 80/0/20 --users 60 --model lightgcn --layers 3 --embedding 8 --link-loss bpr
    --hits-at 5 --threads 1 --seed 3)
job 1 "${recommend[@]}" --run-dir light-0 --lr 0 --epochs 1
for ranks in 1 3; do
    job $ranks "${recommend[@]}" --run-dir light$ranks --lr 0.02 --epochs 10 --eval-every 0
done
for ranks in 1 2 3; do
    ok ranks $ranks "$program" "jobs-$ranks"
done

# ---- ten steps, scores by brute force, and any number of ranks ----
for how in dot mlp bpr; do
    check train g $how-0 ${how}1 $how
    alike ${how}1 ${how}3 10 1e-5 loss
    alike ${how}1 ${how}3 2 5e-3 train valid test
    grep -q '"allocations_after_first_epoch": 0,' $how-still/summary.json || fail "epochs of $how allocate"
done
alike dot1 dot2 10 1e-5 loss
check train g dot-0 some1 dot 350
check train g bpr-0 some-bpr bpr 350
alike some1 some3 10 1e-5 loss
alike drop-some1 drop-some3 10 1e-5 loss
cmp -s <(values loss some1) <(values loss dot1) && fail "steps of 350 links are steps of all"
grep -q '"allocations_after_first_epoch": 0,' some-still/summary.json || fail "steps allocate"
alike drop1 drop3 10 1e-5 loss
python3 - <<'CHECK' || fail "answers of 1 and 3 ranks stand in another order"
import numpy
a, b = (numpy.load(run + "/predictions.npy") for run in ("dot1", "dot3"))
assert a.shape == b.shape and numpy.abs(a - b).max() < 1e-3, numpy.abs(a - b).max()
CHECK
check recommend bought light-0 light1 60
check recommend bought light-0 light3 60
alike light1 light3 10 1e-5 loss
check scores g dot1 rocauc 0 0
check scores g bpr1 mrr 0 0
check scores g own mrr 5 0
check scores g hits hits 0 10
check scores g hits-own hits 5 2
for own in 0 4; do
    alike files$own-1 files$own-3 5 1e-5 loss
    alike files$own-1 files$own-3 1 2e-3 valid test
done
alike files0-1 files4-1 5 0 loss
cmp -s <(values test files0-1) <(values test files4-1) && fail "own and shared negatives have one score"
python3 - <<'CHECK' || fail "resumed weights differ"
import zipfile
for pair in (("whole", "half"), ("some-whole", "some-half"), ("some-whole--delay", "some-half--delay")):
    a, b = (zipfile.ZipFile(run + "/weights.npz") for run in pair)
    assert all(a.read(n) == b.read(n) for n in a.namelist()), pair
CHECK
ls -d ./*/data-* data-* 2>/dev/null && fail "a store of messages was left behind"

# A batch takes less memory than all links.
planned() {
    ok "$weft" train "${link[@]}" --negatives 200 --link-batch "$1" --dry-run
    sed -n 's/^ *links  *\([0-9.]*\) MB$/\1/p' out
}
awk -v all="$(planned 0)" -v some="$(planned 50)" 'BEGIN {exit !(all > 10 && some > 0 && some < all / 5)}' ||
    fail "planned memory of all links and of 50: $(planned 0), $(planned 50) MB"

# ---- eval and pairs ----
ok "$weft" eval --checkpoint dot1 --data g --format json --quiet
python3 - <<'CHECK' || fail "eval and training differ: $(cat out)"
import json
told, scored = json.load(open("dot1/summary.json")), json.load(open("out"))
assert abs(told["test_mean"] - scored["test"]["score"]) < 1e-5, scored
CHECK
python3 -c "
import numpy; numpy.save('pairs.npy', numpy.random.default_rng(1).integers(0, 400, (37, 2)))"
ok "$weft" predict dot1 g --pairs pairs.npy --out dot-pairs --threads 1 --quiet
check pairs g dot1 pairs.npy dot-pairs
ok ranks 3 "$weft" predict mlp1 g --pairs pairs.npy --out mlp-pairs --threads 1 --quiet
check pairs g mlp1 pairs.npy mlp-pairs
ok "$weft" eval --checkpoint files0-1 --data held0 --links files0 --quiet
ok "$weft" train --data g --task link --links files0 --model gcn --epochs 1 --threads 1 --run-dir leak
grep -q "[1-9][0-9]* of the links of validation and test are edges" err || fail "no word of edges that training sees: $(cat err)"
ok "$weft" train --data g --task link --link-split 100/0/0 "${plain[@]}" --epochs 1 --run-dir no-shares
grep -q "no labelled pairs in the test split.*--link-split gives test" out && grep -q "validation split.*--link-split gives" out ||
    fail "no word of shares: $(cat out)"
mkdir test-alone && cp files0/test.npz test-alone
ok "$weft" train --data held0 --task link --links test-alone "${plain[@]}" --epochs 1 --run-dir no-file
grep -q "validation split.*valid.npz" out || fail "no word of valid.npz: $(cat out)"
ok "$weft" train "${link[@]}" --metric hits --hits-at 10 --eval-negatives 10 --epochs 1 --run-dir as-many

# ---- what is refused ----
quiet=(--run-dir x --quiet)
python3 -c "import numpy; numpy.save('far.npy', numpy.array([[1, 400]]))"
mkdir pickles && touch pickles/test.pt
refused 65 "row 0: vertex 400" "$weft" predict dot1 g --pairs far.npy --out far --quiet
refused 2 "weft predict" "$weft" eval --checkpoint dot1 --data g --pairs none.npy --quiet
ok "$weft" train --data g "${plain[@]}" --epochs 1 --run-dir vertex --quiet
refused 2 "answers for vertices" "$weft" predict vertex g --pairs none.npy --out far --quiet
refused 2 "answers for vertices" "$weft" eval --checkpoint vertex --data g --pairs none.npy --quiet
refused 2 "--hits-at 20: links of test stand among 10 negatives of their own" "$weft" train "${link[@]}" "${quiet[@]}" --metric hits \
    --eval-negatives 10
refused 2 "--eval-negatives of as many" ranks 2 "$weft" train "${link[@]}" "${quiet[@]}" --metric hits --hits-at 5000
refused 2 "in the files of --links" "$weft" train --data held4 --task link --links files4 "${quiet[@]}" --metric hits
refused 2 "weft predict" "$weft" train "${link[@]}" "${quiet[@]}" --pairs pairs.npy
refused 2 "needs classes" "$weft" train "${link[@]}" "${quiet[@]}" --metric acc
refused 2 "links" "$weft" train --data g "${quiet[@]}" --metric hits
refused 2 "name their folder with --links" "$weft" eval --checkpoint files0-1 --data held0
refused 2 "take one of both" "$weft" train --data held0 --task link --links files0 --link-split 80/10/10 "${quiet[@]}"
refused 66 "torch.load" "$weft" train --data held0 --task link --links pickles "${quiet[@]}"
refused 2 "--link-batch 64" "$weft" train "${link[@]}" "${quiet[@]}" --batch-size 64
refused 69 "second order" "$weft" train "${link[@]}" "${quiet[@]}" --precondition kfac
refused 2 "link-loss" "$weft" train "${link[@]}" "${quiet[@]}" --loss squared
refused 2 "train needs a share" "$weft" train --data g --task link --link-split 0/50/50 "${quiet[@]}"
refused 65 "are both users" "$weft" train --data g --task link --users 100 "${quiet[@]}"
refused 69 "no names for lightgcn" "$weft" export light1 --out light.safetensors
refused 69 "decoder of links" "$weft" export mlp1 --out mlp.safetensors
exit 0
