#!/bin/bash
# What a training may be asked beside a loss and a rate, on images and graphs: averaged weights, clipped gradients, a rate that
# follows the scores, scores by class; the same on 1, 2 and 3 ranks, stopped within an epoch and resumed to the bit.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
work_folder
cat >small.net <<'NET'
conv 8 3 pad=1 bias=off
norm
relu
maxpool 2
linear 32
relu
linear classes
NET
images=(--data synth:images,n=300,size=16,channels=3,classes=7,test=100 --model small.net --batch-size 64 --threads 1 --pin off
    --quiet --warmup 0 --valid-images 60)
modern=(--optimizer adamw --lr 0.002 --weight-decay 0.1 --clip-norm 1 --ema 0.8 --schedule plateau --schedule-patience 0)
graph=(--data synth:quickstart,scale=0.01 --threads 1 --pin off --quiet)
values() { # KEY RUN: of every epoch
    sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p" "$2/metrics.jsonl"
}
same() { # KEY RUN RUN LINES TOLERANCE
    paste <(values "$1" "$2") <(values "$1" "$3") | awk -v lines="$4" -v most="$5" '
        {d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) {print; bad = 1}} END {exit bad || NR != lines}' ||
        fail "$1 of $2 and $3 differ: $(values "$1" "$2" | tr '\n' ' ')| $(values "$1" "$3" | tr '\n' ' ')"
}

# ---- any number of ranks: norms over all of them, or each over its own ----
for norm in all own; do
    for ranks in 1 2 3; do
        [ $norm$ranks = own1 ] || [ $norm$ranks = own2 ] && continue
        ok ranks $ranks "$weft" train "${images[@]}" "${modern[@]}" --norm-over $norm --epochs 3 --checkpoint-every 2steps \
            --run-dir $norm$ranks
    done
done
for ranks in 2 3; do
    for key in loss train valid test lr; do
        same $key all1 all$ranks 3 2e-3
    done
done
values train all1 | awk '{seen += $1 > 0 && $1 < 1} END {exit seen != 3}' || fail "training scores: $(values train all1)"
values lr all1 | awk 'NR > 1 && $1 < last {fell = 1} {last = $1} END {exit !fell}' || fail "the rate never fell: $(values lr all1)"
grep -q '"allocations_after_first_epoch": 0,' all1/summary.json || fail "epochs allocate: $(grep allocations all1/summary.json)"

# ---- stopped within an epoch, and on to the bit ----
same_weights() { # RUN RUN
    python3 - "$@" <<'CHECK'
import sys, zipfile
a, b = (zipfile.ZipFile(name + "/weights.npz") for name in sys.argv[1:])
assert sorted(a.namelist()) == sorted(b.namelist())
assert all(a.read(name) == b.read(name) for name in a.namelist())
CHECK
}
for whole in all1 all3 own3; do
    cp -r $whole stopped
    rm -r stopped/weights.npz stopped/summary.json
    for ck in stopped/ckpt/*; do
        case $ck in
        *step*) ls "$ck" | grep -q average.npz || fail "no average in $ck" ;;
        *) rm -r "$ck" ;;
        esac
    done
    ls stopped/ckpt | grep -q step || fail "no checkpoint within an epoch: $(ls $whole/ckpt)"
    ok ranks ${whole#???} "$weft" train "${images[@]}" "${modern[@]}" --norm-over ${whole%?} --epochs 3 --checkpoint-every 2steps \
        --run-dir stopped --resume
    same_weights $whole stopped || fail "$whole: a resumed training has other weights"
    for key in loss train valid lr; do
        same $key $whole stopped 3 0
    done
    [ $whole = all1 ] && cp -r stopped other
    rm -r stopped
done
refused 2 "was made with --ema 0.8" "$weft" train "${images[@]}" "${modern[@]/0.8/0.5}" --epochs 3 --run-dir other \
    --resume

# ---- the weights that are written are averaged ones: what eval scores is what the epochs scored ----
ok "$weft" eval --data synth:images,n=300,size=16,channels=3,classes=7,test=100 --checkpoint all1 --threads 1 --pin off --quiet \
    --format json
best=$(sed -n 's/.*"test_mean": *\([0-9.]*\).*/\1/p' all1/summary.json)
python3 - "$best" <<'CHECK' || fail "eval scores $(cat out), the training $best"
import json, sys
assert abs(json.load(open("out"))["micro"]["f1"] - float(sys.argv[1])) < 1e-9
CHECK

# ---- classes that weigh: the same on any number of ranks; equal weights are none ----
adam=("${images[@]}" --lr 0.002 --optimizer adam --epochs 2)
for ranks in 1 3; do
    ok ranks $ranks "$weft" train "${adam[@]}" --class-weights balanced --run-dir balanced$ranks
done
ok "$weft" train "${adam[@]}" --class-weights 3,3,3,3,3,3,3 --run-dir alike
ok "$weft" train "${adam[@]}" --run-dir unweighted
same loss alike unweighted 2 1e-6
same loss balanced1 balanced3 2 1e-4
cmp -s <(values loss balanced1) <(values loss unweighted) && fail "balanced weights change nothing"
refused 2 "3 weights, and the data have 7 classes" "$weft" train "${images[@]}" --class-weights 1,2,3 --run-dir refused
refused 2 "expected numbers from 0 to 1e9" "$weft" train "${images[@]}" --class-weights 1,-2 --run-dir refused
refused 2 "give one of them" "$weft" train "${images[@]}" --class-weights balanced --label-smoothing 0.1 --run-dir refused
refused 2 "leave out it or --class-weights" "$weft" train "${images[@]}" --class-weights balanced --accumulate 2 --run-dir refused

# ---- adadelta has a rate of its own, whatever that of the recipe is ----
ok "$weft" train "${images[@]}" --optimizer adadelta --epochs 2 --run-dir adadelta
ok "$weft" train "${images[@]}" --optimizer adadelta --epochs 2 --lr 1 --run-dir adadelta1
same loss adadelta adadelta1 2 1e-12

# ---- scores by class ----
for metric in f1 top5 rocauc; do
    for ranks in 1 3; do
        ok ranks $ranks "$weft" train "${adam[@]}" --metric $metric --run-dir $metric$ranks
    done
    same test ${metric}1 ${metric}3 2 3e-2
    values test ${metric}1 | awk '{seen += $1 > 0 && $1 <= 1} END {exit seen != 2}' || fail "$metric: $(values test ${metric}1)"
done

# ---- vertices with numbers ----
python3 - <<'MAKE'
import random
random.seed(4)
n, x = 200, [[random.gauss(0, 1) for _ in range(4)] for _ in range(200)]
open("edges.txt", "w").writelines(f"{random.randrange(n)} {random.randrange(n)}\n" for _ in range(800))
open("x.csv", "w").writelines(",".join(f"{v:.5f}" for v in row) + "\n" for row in x)
open("y.csv", "w").writelines("nan\n" if v % 20 == 0 else f"{2 * x[v][0] + x[v][1]:.5f}\n" for v in range(n))
open("z.csv", "w").writelines(f"{v % 2}\n" for v in range(n))
MAKE
ok "$weft" convert edges.txt --vertices 200 --features x.csv --labels y.csv --number-labels --random-split 60/20/20 --out numbers
for ranks in 1 3; do
    ok ranks $ranks "$weft" train --data numbers --loss huber --metric r2 --epochs 40 --threads 1 --pin off --quiet --reproducible \
        --run-dir numbers$ranks
done
same loss numbers1 numbers3 40 1e-4
same test numbers1 numbers3 40 1e-3
values test numbers1 | tail -1 | awk '{exit !($1 > 0.5)}' || fail "R2 of numbers: $(values test numbers1 | tail -1)"
ok "$weft" predict numbers1 numbers --out answers --threads 1 --pin off --quiet
refused 65 "every label is 0 or 1" "$weft" convert edges.txt --vertices 200 --labels z.csv --number-labels --out refused
refused 2 "use --loss squared, absolute or huber" "$weft" train --data numbers --loss bce --run-dir refused --quiet
refused 2 "no labels that are numbers" "$weft" train "${graph[@]}" --loss squared --run-dir refused

# ---- refusals ----
refused 2 "of 4 classes every answer is among the first 5" "$weft" train --data synth:images,n=20,size=28,classes=4,test=10 \
    --model lenet --metric top5 --run-dir refused --quiet
refused 2 "the rate follows the evaluations" "$weft" train "${graph[@]}" --schedule plateau --eval-every 0 --run-dir refused
for option in "--clip-norm 1" "--ema 0.9"; do
    refused 2 "give --sync allreduce, or leave it out" mpirun -np 2 --oversubscribe --bind-to none "$weft" train "${graph[@]}" \
        $option --sync shadow --run-dir refused
done
echo "ok"
