#!/usr/bin/env bash
# A second job starts from what the first one left beside the store: the check of the graph and the parts as they were
# cut, and from the form of aggregation that the first one measured. It computes the same bits, and what is damaged is made
# anew. needs: mpirun
set -euo pipefail
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.02 --out store -q
parts=store/partition-libra-2-0

# train NAME OPTION...: two ranks; its log goes to NAME.err.
train() {
  local name=$1
  shift
  ranks 2 "$weft" train --data store --partition libra --hidden 8 --epochs 3 --spmm rows --run-dir "$name" "$@" \
    >"$name.out" 2>"$name.err" || fail "$name: $(tail -3 "$name.err")"
}

same() {
  cmp "$1/weights.npz" "$2/weights.npz" && cmp "$1/predictions.npy" "$2/predictions.npy" || fail "$2 differs from $1"
}

train first
[ -s store/checked.json ] || fail "the check of the graph is not kept"
for rank in 0 1; do
  [ -s "$parts/part-$rank.npz" ] || fail "part $rank is not kept"
done

# The second job does not look at the partition: it would fail on this one, which is as old and as long as the first.
cp -p "$parts/edge_part.npy" kept.npy
python3 - "$parts/edge_part.npy" <<'PY'
import os
import sys

facts = os.stat(sys.argv[1])
with open(sys.argv[1], "r+b") as file:
    file.seek(-8, os.SEEK_END)
    file.write(b"\xff" * 8)
os.utime(sys.argv[1], ns=(facts.st_atime_ns, facts.st_mtime_ns))
PY
train second
same first second
grep -q 'into 2 parts (stored)' second.err || fail "the partition is not told to be stored: $(cat second.err)"
cp -p kept.npy "$parts/edge_part.npy"

# Damaged: cut anew, with a warning, and kept again.
head -c 1000 "$parts/part-0.npz" >cut.npz
mv cut.npz "$parts/part-0.npz"
train third
same first third
grep -q 'warning: cut anew: .*part-0.npz' third.err || fail "no warning about the damaged part: $(cat third.err)"
train fourth
grep -q 'cut anew' fourth.err && fail "the part that was cut anew is not kept"

# So is the partition itself.
for damage in "truncate -s 200 $parts/edge_part.npy" "rm $parts/root.npy"; do
    rm "$parts"/part-*.npz
    $damage
    train remade --force
    same first remade
    grep -q "warning: divided anew: .*${damage##*/}" remade.err || fail "$damage: no warning: $(cat remade.err)"
done

# Clustered parts are others.
train clustered --reorder cluster
[ -s "$parts/part-1-clustered.npz" ] || fail "clustered parts are not kept apart"
train clustered-again --reorder cluster
same clustered clustered-again
train plain
same first plain

# One rank, and a partition that is replaced.
ranks 2 "$weft" train --data store --partition libra --balance 1.5 --hidden 8 --epochs 1 --run-dir other -q >/dev/null
[ "$(find "$parts" -name 'part-*.npz' | wc -l)" -eq 2 ] || fail "parts of a replaced partition stay: $(ls "$parts")"

# weft partition cuts the parts at once: the first training is like the second.
"$weft" partition store --parts 3 --method random -q >/dev/null
for rank in 0 1 2; do
  mv "store/partition-random-3-0/part-$rank.npz" "whole-$rank.npz" || fail "weft partition does not keep part $rank"
done
ranks 3 "$weft" train --data store --partition random --hidden 8 --epochs 1 --run-dir three -q >/dev/null
for rank in 0 1 2; do
  cmp "whole-$rank.npz" "store/partition-random-3-0/part-$rank.npz" || fail "weft partition cuts another part $rank"
done

# A store that may not be written to (root may anyway).
if [ "$(id -u)" -ne 0 ]; then
  rm -f store/checked.json "$parts"/part-*.npz
  chmod -R a-w store
  train readonly --balance 1.5
fi

# Forms of aggregation are measured once, where there are edges enough.
"$weft" convert synth:quickstart,scale=0.12 --out more -q
measured='form of aggregation: [a-z]*, measured in'
records() { ls cache/weft/forms-*.json 2>/dev/null || true; }
forms() {
  local name=$1
  shift
  ranks 2 "$weft" train --data more --partition random --hidden "${hidden:-8}" --epochs 3 --threads 1 --calibrate never --run-dir "$name" \
    "$@" >"$name.out" 2>"$name.err" || fail "$name: $(tail -3 "$name.err")"
}
forms named --spmm rows
forms fixed --reproducible
[ -z "$(records)" ] || fail "a job that does not measure keeps $(records)"
forms once
grep -q "$measured" once.err || fail "forms are not measured: $(cat once.err)"
record=$(records)
[ -s "$record" ] || fail "what was measured is not kept: $record"
for trial in 2 3 4; do # a busy machine, or forms that are nearly alike, are timed again, three times in all
  forms twice
  grep -q "$measured" twice.err || break
  grep -Eq "measured while others used|nearly alike: timed once more, trial $trial" twice.err || fail "measured again: $(cat twice.err)"
  rm -rf twice
done
form=$(sed -n "s|.*form of aggregation: \([a-z]*\) (remembered: $work/$record).*|\1|p" twice.err)
[ -n "$form" ] || fail "forms are not remembered: $(cat twice.err)"
forms told --spmm "$form"
same told twice
hidden=24 forms wider
grep -q "$measured" wider.err || fail "another width is not measured: $(cat wider.err)"
sed -i 's/"forms": *"./"forms":"-/' "$record"
forms thrice
grep -q "measured again: .*$record: \"check\"" thrice.err && grep -q "$measured" thrice.err ||
  fail "a damaged record is not replaced: $(cat thrice.err)"
grep -q '"forms": *"[rblt]' "$record" || fail "what was measured again is not kept: $(cat "$record")"

python3 - <<'PY'
import json

summary = json.load(open("second/summary.json"))
assert 0 < summary["startup_s"] < summary["seconds"], summary
PY
