#!/bin/bash
# weft focus: an index is the same bytes for 1, 2 and 4 ranks and holds what weft predict says; queries keep recall, precision
# and interval, and a second one runs nothing; items are appended; other networks, other data, other pictures
# under old names and damage are refused in words.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
check() { python3 "$source_dir/tests/app/focus_checks.py" "$@" || fail "focus_checks $*"; }
data=synth:images,n=400,size=16,channels=3,classes=4,test=2400
printf 'conv 4 5 stride=2 pad=2\nrelu\nmaxpool 8\nlinear classes\n' >small.net
printf 'conv 8 5 pad=2\nrelu\nmaxpool 2\nconv 8 3 pad=1\nrelu\nmaxpool 8\nlinear classes\n' >large.net
options=(--batch-size 32 --threads 1 --pin off --quiet)
for size in small large; do
    ok "$weft" train --data $data --model $size.net "${options[@]}" --lr 0.01 --eval-every 0 --epochs 8 --run-dir $size
    ok "$weft" predict --data $data --checkpoint $size "${options[@]}" --out $size-answers
done
focus() { "$weft" focus "$@" "${options[@]}"; }
query=(query --data $data --index one.idx --expensive large --labels 500)

# ---- one index, whatever the ranks ----
ok focus ingest --data $data --cheap small --index one.idx
grep -q "added: 2400 of 2400 images" out || fail "ingest: $(cat out)"
for ranks in 2 4; do
    ok ranks $ranks "$weft" focus ingest --data $data --cheap small --index many.idx "${options[@]}"
    cmp one.idx many.idx || fail "$ranks ranks make another index"
    rm many.idx
done
check index one.idx small-answers
cp one.idx fresh.idx
ok focus ingest --data $data --cheap small --index one.idx
grep -q "added: 0 of 2400 images" out && cmp one.idx fresh.idx || fail "ingest twice: $(cat out)"

# ---- what a query promises, by the answers of the whole network ----
for class in 0 1 2 3; do
    ok focus "${query[@]}" --class $class
    mv out class$class.csv
    check answers class$class.csv large-answers $class 0.95 0.95
done
ok focus "${query[@]}" --class 1 --count
check count out large-answers 1
grep -q ",0$" out || fail "a second query of class 1 runs the network: $(cat out)"
for ranks in 4 2; do
    cp fresh.idx two.idx
    ok ranks $ranks "$weft" "focus" query --data $data --index two.idx --expensive large --labels 500 --class 0 "${options[@]}"
    cmp out class0.csv || fail "$ranks ranks answer otherwise"
done
ok focus query --data $data --index two.idx --expensive large --class 2 --limit 5
[ "$(grep -c verified out)" -eq 5 ] && [ "$(wc -l <out)" -eq 6 ] || fail "--limit 5: $(cat out)"
check answers out large-answers 2 0 1

# ---- some of the images alone: a sample and a promise of their own ----
cp fresh.idx some.idx
some=(query --data $data --index some.idx --expensive large --labels 200 --class 2 --frames)
ok "$weft" focus "${some[@]}" 300-1499 "${options[@]:0:6}"
check answers out large-answers 2 0.95 0.95 300 1499
grep -q " of 1200 items; the network ran on" err && grep -q "frames 300-1499 alone" err || fail "--frames: $(cat err)"
ok focus "${some[@]}" 300-1499 --recall 1 --precision 1
check answers out large-answers 2 1 1 300 1499
refused 2 "it has frames 0-2399" focus "${some[@]}" 2400-2500
refused 2 "the first and the last, such as" focus "${some[@]}" 20-10

# ---- a limit of time: what is known by then, and no promise that it does not keep ----
cp fresh.idx timed.idx
timed=(query --data $data --index timed.idx --expensive large --class 1)
ok "$weft" focus "${timed[@]}" --labels 500 --time 0.000001 --batch-size 32 --threads 1 --pin off
grep -q "before the sample of --labels was labelled" err && grep -q "ran on 64 of 2400 items" err || fail "--time: $(cat out err)"
grep -q "thresholds" err && fail "thresholds without a sample: $(cat err)"
check answers out large-answers 1 0 1
ok focus "${timed[@]}" --labels 500 --time 0.000001 --count
grep -Eq "^1,([0-9]+),\1,2400," out || fail "--time --count: $(cat out)"
for turns in $(seq 100); do # a query that goes on a round at a time ends as one of no limit
    ok "$weft" focus "${timed[@]}" --labels 500 --time 0.000001 "${options[@]:0:6}"
    grep -q "the same query goes on" err || break
done
mv out rounds.csv
cp fresh.idx once.idx
ok focus query --data $data --index once.idx --expensive large --class 1 --labels 500
[ "$turns" -gt 6 ] && cmp out rounds.csv || fail "$turns rounds: $(cat err)"
ok focus "${timed[@]}" --labels 500 --time 0.000001 --count # every answer is known: no time is needed
mv out known.csv
ok focus "${timed[@]}" --labels 500 --count
cmp out known.csv && grep -q ",0$" out || fail "--time 0.000001 with all answers: $(cat known.csv out)"
cp fresh.idx timed.idx
ok focus "${timed[@]}" --labels 100 --recall 1 --precision 1 --time 1000
check answers out large-answers 1 1 1
cp one.idx timed.idx
ok focus query --data $data --index timed.idx --expensive large --labels 500 --class 1 --time 1000
cmp out class1.csv || fail "a limit that is not reached changes answers"

# ---- recall 1: nothing is left out; precision 1: the network runs on every answer ----
cp fresh.idx all.idx
all=("$weft" focus query --data $data --index all.idx --expensive large --class 2 --labels 500 "${options[@]:0:6}")
ok "${all[@]}" --recall 1
check answers out large-answers 2 1 0.95
most=$(sed -n 's/.*no sample promises --recall 1.*; --recall \([0-9.]*\) is the most.*/\1/p' err)
ok "${all[@]}" --recall "$(awk -v most="$most" 'BEGIN { print most + 0.0001 }')"
! grep -q "(a uniform sample)" err || fail "more than --recall $most is promised, too: $(cat err)"
cp fresh.idx all.idx
ok "${all[@]}" --recall "$most" --precision 1
check answers out large-answers 2 "$most" 1
grep -q "(a uniform sample)" err || fail "--recall $most, which the sample promises: $(cat err)"
! grep -q accepted out || fail "--precision 1 accepts unseen"
grep -q "no sample promises --precision 1" err || fail "--precision 1: $(cat err)"

# ---- the same network twice: accepted answers need no run, and thresholds cost their labels ----
cp fresh.idx same.idx
ok focus query --data $data --index same.idx --expensive small --class 0 --labels 500
check answers out small-answers 0 0.95 0.95

# ---- items with names: a folder that grows ----
check pictures grown 0 200
ok focus ingest --data grown --cheap small --index grown.idx
check pictures grown 200 330
ok focus ingest --data grown --cheap small --index grown.idx
grep -q "added: 130 of 330 images" out || fail "a folder that grew: $(cat out)"
ok focus ingest grown --cheap small --index whole.idx
cp whole.idx unasked.idx
for index in grown whole; do
    ok focus query --data grown --index $index.idx --expensive large --class 2 --labels 100
    mv out $index.csv
done
cmp grown.csv whole.csv || fail "an index in two parts answers otherwise"
grep -q "^file,score,answer" whole.csv && grep -q "0[0-9]*.png," whole.csv || fail "names: $(head -3 whole.csv)"

# ---- a few classes of data whose classes have no names: another one is looked for among all others ----
ok "$weft" train --data $data --model small.net "${options[@]}" --lr 0.01 --eval-every 0 --epochs 2 --classes 1,3,other --run-dir few
ok focus ingest --data $data --cheap few --index few.idx
for class in 0 3; do
    ok focus query --data $data --index few.idx --expensive large --class $class --recall 1 --precision 1 --labels 500
    check answers out large-answers $class 1 1
done

# ---- plans ----
check pictures planned 0 512
for size in small large; do
    ok "$weft" predict --data planned --checkpoint $size "${options[@]}" --out $size-planned
done
plan=(plan --data planned --cheap small --expensive large --labels 300)
ok focus "${plan[@]}"
check plan out small-planned large-planned
cmp out large/focus/front.csv || fail "front.csv is another"
ok focus plan --data planned --cheap small,few --expensive large --labels 300 --limit 5
grep -q -- "--limit 5 .* has no effect on weft focus plan" err || fail "--limit of a plan: $(cat err)"
grep -q few out || fail "the plan does not weigh a network of a few classes: $(cat out)"
ok focus "${plan[@]}"
ok "$weft" report large
grep -q "Milliseconds of ingest an item" large/report.html && ! grep -q "is left out" large/report.html ||
    fail "the report does not draw the plan"
cut -d, -f1-4,6-8 large/focus/front.csv >one.csv
ok ranks 2 "$weft" focus "${plan[@]}" "${options[@]}"
cut -d, -f1-4,6-8 out | cmp - one.csv || fail "2 ranks plan otherwise"

# ---- refusals ----
refused 2 "holds answers of another network" focus query --data $data --index one.idx --expensive small --class 0
refused 2 "holds scores of another network" focus ingest --data $data --cheap large --index one.idx
refused 2 "is no class of" focus "${query[@]}" --class cat
refused 2 "it is plan, ingest or query" focus quarry --index one.idx
refused 66 "weft focus ingest makes it" focus query --data $data --index none.idx --expensive large --class 0
refused 74 "its folder does not exist (mkdir -p none)" focus ingest --data $data --cheap small --index none/one.idx
refused 2 "--class is missing" focus query --data $data --index one.idx --expensive large
refused 65 "is an index of other data" focus query --data grown --index one.idx --expensive large --class 0
check pictures other 8 9
mv other/0008.png grown/0007.png
refused 65 "0007.png has other contents than when the index unasked.idx was made" focus query --data grown --index unasked.idx \
    --expensive large --class 0 --labels 500
refused 65 "other contents" focus ingest --data grown --cheap small --index unasked.idx
rm grown/0007.png
refused 65 "is in the index" focus query --data grown --index unasked.idx --expensive large --class 0 --labels 500
ok "$weft" train --data synth:quickstart,scale=0.01 --model sage --epochs 2 --quiet --run-dir graph
refused 69 "use weft predict" "$weft" focus ingest --data synth:quickstart,scale=0.01 --cheap graph --index graph.idx --quiet
size=$(stat -c %s fresh.idx)
head -c $((size - 100)) fresh.idx >cut.idx
ok focus ingest --data $data --cheap small --index cut.idx
cmp cut.idx fresh.idx || fail "an index whose end is missing is not completed"
printf 'x' | dd of=one.idx bs=1 seek=$((size / 2)) conv=notrunc status=none
refused 65 "is damaged" focus "${query[@]}" --class 0
refused 65 "no index of weft focus" focus query --data $data --index small.net --expensive large --class 0
echo ok
