#!/bin/bash
# weft focus --motion: boxes and tracks of made traffic are those of its truth, the index is the same bytes for 1, 2 and 4 ranks,
# from a folder and from tars, in one part and in two; a query asks once a track; pictures that changed are refused.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
check() { python3 "$source_dir/tests/app/motion_checks.py" "$@" || fail "motion_checks $*"; }
options=(--batch-size 32 --threads 1 --pin off --quiet)
printf 'conv 4 5 stride=2 pad=2\nrelu\nmaxpool 6\nlinear classes\n' >small.net
printf 'conv 8 5 pad=2\nrelu\nmaxpool 2\nconv 8 3 pad=1\nrelu\nmaxpool 12\nlinear classes\n' >large.net

# ---- made traffic: the same files for any number of threads ----
ok "$weft" convert synth:traffic,frames=300,skew=0,seed=4,jump=200 --out traffic --threads 2
ok "$weft" convert synth:traffic,frames=60,skew=0,seed=4 --out again --threads 1 --symmetrize on --features onehot
grep -q -e "--symmetrize on (command line) has no effect" err && grep -q -e "--features onehot (command line) has no effect" err &&
    grep -q "again: written: 60 frames" err || fail "what a conversion says: $(cat err)"
cmp traffic/frames/000050.jpg again/frames/000050.jpg || fail "a frame depends on threads or on later ones"
[ "$(ls traffic/frames | wc -l)" -eq 300 ] || fail "$(ls traffic/frames | wc -l) frames"
refused 2 "would hide each other" "$weft" convert synth:traffic,objects=50 --out crowd
for size in small large; do
    ok "$weft" train --data traffic/objects --image-size 24 --model $size.net "${options[@]}" --augment none --lr 0.02 \
        --eval-every 0 --epochs 10 --run-dir $size
done
refused 2 "no classes to train for" "$weft" train --data traffic/frames --motion --image-size 24 --model small.net "${options[@]}"

# ---- one index ----
focus() { "$weft" focus "$@" "${options[@]}"; }
ok focus ingest --data traffic/frames --motion --cheap small --index one.idx
check truth one.idx traffic/truth.csv
for count in 2 4; do
    ok ranks $count "$weft" focus ingest --data traffic/frames --motion --cheap small --index many.idx "${options[@]}"
    cmp one.idx many.idx || fail "$count ranks make another index"
    rm many.idx
done
(cd traffic/frames && tar cf ../../plain.tar -- *.jpg && tar czf ../../packed.tar.gz -- *.jpg)
for archive in plain.tar packed.tar.gz; do
    ok focus ingest --data $archive --motion --cheap small --index tar.idx
    cmp one.idx tar.idx || fail "$archive makes another index"
    rm tar.idx
done

# ---- frames that are added; the first window is whole by then ----
mkdir grown
cp -p traffic/frames/0000*.jpg traffic/frames/0001[0-6]*.jpg grown/
ok focus ingest --data grown --motion --cheap small --index grown.idx
cp -p traffic/frames/*.jpg grown/
ok focus ingest --data grown --motion --cheap small --index grown.idx
for index in one grown; do
    cp $index.idx $index-asked.idx
    ok focus query --data grown --index $index-asked.idx --expensive large --class class1 --labels 12
    mv out $index.csv
done
cmp one.csv grown.csv || fail "an index in two parts answers otherwise"

# ---- one run a track, none for a second query, and the same answers of several ranks ----
ok "$weft" predict --data traffic/frames --motion --checkpoint large "${options[@]}" --out all
check answers one.csv one.idx all/predictions.npy 1
ok focus query --data traffic/frames --index one-asked.idx --expensive large --class class1 --labels 12 --frames 40-200
check answers out one.idx all/predictions.npy 1 40 200
cp one.idx one-asked.idx
ok focus query --data traffic/frames --index one-asked.idx --expensive large --class class1 --labels 12
ok "$weft" focus query --data grown --motion --index one-asked.idx --expensive large --class class2 --labels 12 --count \
    --batch-size 32 --threads 1 --pin off
check count out one.idx all/predictions.npy 2
check stride err one.idx 0.95
grep -q ",0$" out || fail "every track was asked about, and the network runs again: $(cat out)"
ok ranks 2 "$weft" focus query --data traffic/frames --index grown.idx --expensive large --class class1 --labels 12 "${options[@]}"
cmp out one.csv || fail "2 ranks answer otherwise"

# ---- plans: of tracks, beside every s-th frame ----
ok "$weft" predict --data traffic/frames --motion --checkpoint small "${options[@]}" --out cheap
ok focus plan --data traffic/frames --motion --cheap small,large --expensive large
check plan out one.idx cheap/predictions.npy all/predictions.npy
cut -d, -f1-4,6-8 out >plan.csv
ok ranks 2 "$weft" focus plan --data traffic/frames --motion --cheap small,large --expensive large "${options[@]}"
cut -d, -f1-4,6-8 out | cmp - plan.csv || fail "2 ranks plan otherwise"

# ---- what is refused, and frames that are damaged ----
refused 65 "read the data in one way" focus ingest --data traffic/frames --cheap small --index one.idx
cp traffic/frames/000031.jpg grown/000030.jpg
refused 65 "other contents than when the index" focus query --data grown --index one.idx --expensive large --class class1
rm grown/000030.jpg
refused 65 "frame 300, in which something moved, is missing" focus query --data grown --index one.idx --expensive large --class class1
refused 65 "what moves is not what moved" focus ingest --data grown --motion --cheap small --index one.idx
cp -p traffic/frames/000030.jpg grown/
head -c 1500 traffic/frames/000040.jpg >grown/000040.jpg
ok "$weft" focus ingest --data grown --motion --cheap small --index damaged.idx --batch-size 32 --threads 1 --pin off
grep -q "1 of 300 frames malformed, 000040.jpg first" err || fail "a frame that is cut off is not told: $(cat err)"
mkdir still
for i in 1 2 3 4 5; do cp traffic/frames/000001.jpg still/$i.jpg; done
refused 65 "nothing moves in 5 frames" focus ingest --data still --motion --cheap small --index still.idx
refused 2 "frames are a folder or a tar" focus ingest --data synth:images --data-format synth --motion --cheap small --index no.idx

# ---- real frames ----
folder="${WEFT_SHARED:-$source_dir/../shared}/data/frames"
if [ -d "$folder/parking" ]; then
    ok focus ingest --data "$folder/parking" --motion --cheap small --index parking.idx
    check scene parking.idx 25 8
    ok focus query --data "$folder/parking" --motion --index parking.idx --expensive large --class class1 --labels 10 --count
    check runs out parking.idx
fi
echo ok
