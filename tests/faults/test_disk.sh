#!/bin/bash
# Disks that are full, read-only, missing or not ours: convert, partition and train say which file and why, exit 74 or
# 77, leave nothing half-written and lose nothing that was there. A disk of any size between nothing and enough is tried
# (tmpfs; root only), so that every single write is once the one that does not fit.
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work=$(mktemp -d)
disk=$work/disk
mounted=
cleanup() {
    [ -z "$mounted" ] || umount "$disk"
    chmod -R u+w "$work"
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
mkdir disk
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
train=("$weft" train --epochs 3 --threads 1 --hidden 16 --quiet --data)

# expect CODES TEXT COMMAND...: one of the exit codes; a failure is told in one line that says TEXT.
expect() {
    local codes=$1 text=$2
    shift 2
    got=0
    timeout 60 "$@" >out 2>err || got=$?
    [[ " $codes " == *" $got "* ]] || fail "exit $got instead of $codes: $*: $(cat err)"
    [ "$got" -eq 0 ] || [ "$(grep -c "weft: error: .*$text" err)" -eq 1 ] || fail "no '$text' from $*: $(cat err)"
}

# nothing_but NAME...: what the disk holds, sorted.
nothing_but() {
    local held
    held=$(ls -A disk | sort | tr '\n' ' ')
    [ "${held% }" = "$*" ] || fail "left on the disk: $held"
}

# ---- missing folders ----
expect 74 "no/such/out" "$weft" convert synth:quickstart,scale=0.01 --out no/such/out
[ ! -e no ] || fail "convert made part of a path"
expect 66 "nowhere" "$weft" partition nowhere --parts 2
expect 66 "nowhere" "${train[@]}" nowhere --run-dir run
[ ! -e run ] || fail "a run folder for a store that is not there"

# ---- a folder that is not ours ----
mkdir locked
cp -r store locked/store
chmod -R a-w locked
if [ "$(id -u)" -ne 0 ]; then
    user=()
elif command -v setpriv >/dev/null && chmod 755 "$work" &&
    setpriv --reuid=65534 --regid=65534 --clear-groups "$weft" --version >/dev/null 2>&1; then
    user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
else
    user=(none)
    echo "no user without rights to try"
fi
if [ "${user[*]-}" != none ]; then
    expect 77 "locked/out" "${user[@]}" "$weft" convert synth:quickstart,scale=0.01 --out locked/out
    expect 77 "locked/store" "${user[@]}" "$weft" partition locked/store --parts 3
    expect 77 "locked/run" "${user[@]}" "${train[@]}" store --run-dir locked/run
    chmod 000 locked/store/manifest.json
    expect 77 "manifest.json" "${user[@]}" "$weft" partition locked/store --parts 3
    [ "$(ls locked)" = store ] || fail "left in a locked folder: $(ls locked)"
fi

# ---- a limit on file sizes ----
(ulimit -f 4 && expect 74 "File too large" "$weft" convert synth:quickstart,scale=0.01 --out large) || exit 1
[ -z "$(ls -d large* 2>/dev/null)" ] || fail "left beyond the limit: $(ls -d large*)"

# ---- full disks ----
if ! mount -t tmpfs -o size=4k weft-test disk 2>/dev/null; then
    echo "full disks are not tried: mounting a tmpfs needs root"
    exit 0
fi
mounted=yes
resize() { mount -o "remount,size=$1" disk || fail "remount"; }
small=synth:quickstart,scale=0.002
short=$((0)) whole=$((0))

# tally NAME...: a run on a disk that may be too small; what a failure may leave.
tally() {
    if [ "$got" -eq 0 ]; then
        whole=$((whole + 1))
    else
        short=$((short + 1))
        nothing_but "$@"
    fi
}

for kib in 4 8 16 24 32 48 64 96 128 512; do
    resize ${kib}k
    expect "0 74" "No space left" "$weft" convert $small --out disk/new --quiet
    tally
    rm -rf disk/new
done
[ $short -ge 3 ] && [ $whole -ge 1 ] || fail "convert: $short disks too small, $whole large enough"

# A store that is to be replaced stays as it is until the new one is whole.
resize 1m
"$weft" convert $small --out disk/kept --quiet || fail "convert onto the disk"
# What commands keep beside a store (partitions, the seal of a check, parts) goes again.
pristine() { find disk/kept -mindepth 1 -maxdepth 1 ! -name manifest.json ! -name '*.npy' -exec rm -rf {} +; }
sum_store() { cat disk/kept/manifest.json disk/kept/*.npy | cksum; }
before=$(sum_store)
resize "$(($(du -sk disk | cut -f1) + 8))k"
expect 74 "No space left" "$weft" convert synth:quickstart,scale=0.01 --out disk/kept --force
nothing_but kept
[ "$before" = "$(sum_store)" ] || fail "the old store was harmed"

used=$(du -sk disk | cut -f1) short=0 whole=0
for more in 0 4 8 12 16 24 32 64 256; do
    resize $((used + more))k
    expect "0 74" "No space left" "$weft" partition disk/kept --parts 3
    nothing_but kept
    [ "$(find disk/kept -name '*tmp*' | wc -l)" -eq 0 ] || fail "half a partition: $(find disk/kept)"
    if [ "$got" -eq 0 ]; then whole=$((whole + 1)); else short=$((short + 1)); fi
    pristine
done
[ $short -ge 1 ] && [ $whole -ge 1 ] || fail "partition: $short disks too small, $whole large enough"
[ "$before" = "$(sum_store)" ] || fail "partition harmed the store"

# A run folder stays and tells how far the run came; its files are whole or absent.
short=0 whole=0
for more in 0 4 8 12 16 20 24 32 48 256; do
    resize $((used + more))k
    expect "0 74" "No space left" "${train[@]}" disk/kept --run-dir disk/run
    if [ "$got" -eq 0 ]; then whole=$((whole + 1)); else short=$((short + 1)); fi
    for file in disk/run/*; do
        case $file in
        *.json) python3 -m json.tool "$file" >/dev/null || fail "$more KiB: half a $file" ;;
        *.npz | *.npy) [ "$(stat -c %s "$file")" -gt 100 ] || fail "$more KiB: half a $file" ;;
        *.jsonl) ;;
        */ckpt) [ -z "$(find "$file" -name '*tmp*')" ] || fail "$more KiB: half a checkpoint: $(find "$file")" ;;
        *) [ ! -e "$file" ] || fail "$more KiB: left behind: $file" ;;
        esac
    done
    rm -rf disk/run
    pristine
done
[ $short -ge 2 ] && [ $whole -ge 1 ] || fail "train: $short disks too small, $whole large enough"

# --force on a full disk: a run that cannot begin removes nothing of the one before.
resize 1m
"${train[@]}" disk/kept --run-dir disk/run >/dev/null || fail "train onto the disk"
before=$(find disk/run -type f -exec cksum {} + | sort)
dd if=/dev/zero of=disk/filler bs=4k 2>/dev/null
expect 74 "No space left" "${train[@]}" disk/kept --run-dir disk/run --force
[ "$before" = "$(find disk/run -type f -exec cksum {} + | sort)" ] ||
    fail "a run that could not begin has changed the one before: $(ls disk/run)"

# ---- a read-only disk ----
mount -o remount,ro disk || fail "remount"
expect 77 "disk/out" "$weft" convert $small --out disk/out
expect 77 "disk/kept" "$weft" partition disk/kept --parts 3
expect 77 "disk/other" "${train[@]}" disk/kept --run-dir disk/other
"${train[@]}" disk/kept --run-dir run >/dev/null 2>err || fail "training from a read-only disk: $(cat err)"
nothing_but filler kept run
echo "all refused as they should"
