#!/bin/bash
# weft train --teacher, --temperature and --classes: labels are another network's answers; the first loss is the closed form of
# the teacher's own probabilities, one rank as two; images without classes and what moves are trained on; wrong folders are refused.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
check() { python3 "$source_dir/tests/app/teacher_checks.py" "$@" || fail "teacher_checks $*"; }
options=(--batch-size 32 --threads 1 --pin off --quiet)
printf 'conv 8 5 pad=2\nrelu\nmaxpool 2\nconv 8 3 pad=1\nrelu\nmaxpool 12\nlinear classes\n' >large.net
ok "$weft" convert synth:traffic,frames=300,skew=0,seed=4,classes=4 --out traffic --threads 2
train=("$weft" train --image-size 24 --model large.net "${options[@]}" --augment none --eval-every 0)
ok "${train[@]}" --data traffic/objects --lr 0.02 --epochs 40 --run-dir large
ok "$weft" predict large traffic/objects "${options[@]}" --out said

# ---- a network that begins as its teacher, and hardly moves: the loss is a function of the teacher's probabilities ----
images=$(find traffic/objects -name '*.jpg' | wc -l)
still=(--data traffic/objects --init-weights large --lr 1e-12 --warmup 0 --momentum 0 --weight-decay 0 --epochs 1 --teacher said)
for temperature in 0 1 3; do
    ok "${train[@]}" "${still[@]}" --temperature $temperature --run-dir still$temperature
    check loss still$temperature said $temperature
    ok ranks 2 "${train[@]}" "${still[@]}" --temperature $temperature --run-dir two$temperature
    check same still$temperature two$temperature
done

# ---- the teacher counts, not the folders; some classes, and the others as one ----
mkdir flat
for i in traffic/objects/*/*.jpg; do cp "$i" "flat/$(basename "$(dirname "$i")")-$(basename "$i")"; done
ok "$weft" predict large flat "${options[@]}" --out flatsaid
refused 65 "its answers are for other images than flat" "${train[@]}" --data flat --teacher said --run-dir no
ok "${train[@]}" --data flat --teacher flatsaid --temperature 2 --lr 0.02 --epochs 40 --run-dir pupil
ok "$weft" predict pupil flat "${options[@]}" --out pupilsaid
check agree pupilsaid flatsaid 0.8
ok "${train[@]}" --data flat --teacher flatsaid --temperature 2 --classes class3,class1,other --lr 0.02 --epochs 40 --run-dir some
ok "$weft" predict some flat "${options[@]}" --out somesaid
check merged somesaid flatsaid
# Classes of folders that the list does not name are the last name to a model that learnt it, as they were in its training.
"$weft" eval --checkpoint some --data traffic/objects --batch-size 32 --threads 1 --pin off >some.md 2>some.log || fail "eval of some"
grep -q "class0, class2: are taken for other" some.log && ! grep -q "left out" some.log || fail "$(cat some.log)"
grep -q "^| micro | $images |" some.md || fail "$images images: $(cat some.md)"
ok "$weft" focus ingest --data flat --cheap some --index some.idx "${options[@]}"
ok "$weft" focus query --data flat --index some.idx --expensive large --class class1 --labels 20 "${options[@]}"
check answers out flatsaid 1
ok "$weft" focus query --data flat --index some.idx --expensive large --class class0 --labels 20 "${options[@]}"
check answers out flatsaid 0
ok "$weft" focus plan --data flat --cheap pupil,some --expensive large --labels 300 "${options[@]}"
check plan out flatsaid pupilsaid somesaid
refused 2 "does not know the class other of the expensive network" "$weft" focus plan --data flat --cheap large --expensive some "${options[@]}"

# ---- what moves ----
ok "$weft" predict large --data traffic/frames --motion "${options[@]}" --out boxes
ok "${train[@]}" --data traffic/frames --motion --teacher boxes --temperature 2 --lr 0.02 --epochs 4 --run-dir mover
ok "$weft" predict mover --data traffic/frames --motion "${options[@]}" --out moversaid
check agree moversaid boxes 0.8

# ---- what is refused ----
bad() { refused "$1" "$2" "${train[@]}" --data traffic/objects --run-dir no "${@:3}"; }
bad 66 "has no probabilities.npy" --teacher nothing
mkdir -p parted/train parted/test && cp -r traffic/objects/* parted/train && cp -r traffic/objects/* parted/test
ok "$weft" predict large parted "${options[@]}" --out testsaid
refused 65 "its option split set to labelled" "${train[@]}" --data parted --teacher testsaid --run-dir no
bad 2 "contradict" --teacher said --temperature 2 --label-smoothing 0.1
bad 2 "contradict" --teacher said --mixup 0.2
bad 2 "no class of objects is called so" --classes class1,car,class2
bad 2 "stands there twice" --classes class1,class1,other
bad 2 "give the list a last name" --classes class0,class1
"${train[@]}" --data traffic/objects --epochs 1 --classes class0,class1,class2,class3,rest --run-dir all --force 2>all.log || fail "all"
grep -q "no image of objects is rest" all.log || fail "a list of all classes: $(cat all.log)"
cp -r traffic/objects named && mv named/class2 named/other
refused 2 "such as others" "${train[@]}" --data named --classes class0,other --run-dir no
refused 2 "have no classes" "${train[@]}" --data flat --classes class1,other --run-dir no
for damage in nan sum short names hash; do
    rm -rf damaged
    check damage said damaged $damage
    bad 65 "" --teacher damaged
done
[ "$images" -gt 30 ] || fail "$images images"
echo ok
