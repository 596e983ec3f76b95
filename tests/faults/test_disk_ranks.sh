#!/bin/bash
# Jobs of two ranks whose store lies on a full or a read-only disk: what cannot be kept beside the store stays in memory, one
# warning says so, and the training is the same, bit for bit, as with room. (tmpfs; root only)
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
disk=$work/disk
mounted=
cleanup() {
    [ -z "$mounted" ] || umount "$disk"
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
mkdir disk
mount -t tmpfs -o size=4m weft-test disk 2>/dev/null || skip "mounting a tmpfs needs root"
mounted=yes
"$weft" convert synth:quickstart,scale=0.02 --out disk/store --quiet || fail "convert"

# train RUN OPTION...: two ranks; what the epochs computed in RUN.result.
train() {
    local run=$1
    shift
    timeout 60 mpirun --oversubscribe --bind-to none -np 2 "$weft" train --data disk/store --epochs 3 --threads 1 \
        --reproducible --calibrate never --run-dir "$run" "$@" >"$run.out" 2>"$run.err" ||
        fail "$run: exit $?: $(cat "$run.err")"
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    print(row["epoch"], row["loss"], row["valid"], row["test"])' "$run/metrics.jsonl" >"$run.result" || fail "$run: metrics"
}
warnings() { grep -c "weft: warning: .*$1" "$2.err"; }
bare() { find disk/store -mindepth 1 ! -name manifest.json ! -name offset.npy ! -name source.npy ! -name feature.npy \
    ! -name label.npy ! -name split.npy; }

for reorder in none cluster; do
    train "room-$reorder" --reorder "$reorder"
    [ "$(warnings 'not kept' "room-$reorder")" -eq 0 ] || fail "a warning with room: $(cat "room-$reorder.err")"
    [ -n "$(bare)" ] || fail "nothing was kept where there is room"
    bare | xargs rm -rf

    # A full disk: 0 KiB left, then a few, so that one of several files may fit.
    for left in 0 8 24; do
        run=full-$reorder-$left
        mount -o "remount,size=$(($(du -sk disk | cut -f1) + left))k" disk || fail "remount"
        train "$run" --reorder "$reorder"
        [ "$(warnings 'the partition is not kept for the next job: disk/store.*No space left.*in memory' "$run")" -eq 1 ] ||
            fail "$run: no warning, or several: $(cat "$run.err")"
        cmp -s "$run.result" "room-$reorder.result" || fail "$run: another training: $(diff "$run.result" "room-$reorder.result")"
        [ -z "$(find disk/store -name '*tmp*' -o -name 'partition-*')" ] || fail "$run: left behind: $(bare)"
        bare | xargs rm -rf
        mount -o remount,size=4m disk || fail "remount"
    done
    [ "$reorder" = none ] || [ "$(warnings 'order of the vertices is not kept' full-cluster-0)" -eq 1 ] ||
        fail "no warning about the order: $(cat full-cluster-0.err)"

    # A read-only one: the run folder takes the partition; nothing to warn of.
    mount -o remount,ro disk || fail "remount"
    train "read-only-$reorder" --reorder "$reorder"
    cmp -s "read-only-$reorder.result" "room-$reorder.result" || fail "read-only: another training"
    mount -o remount,rw disk || fail "remount"
done
exit 0
