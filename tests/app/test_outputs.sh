#!/usr/bin/env bash
# Outputs that cannot be written: every command, to a missing folder, below a file, into a folder that takes no files, round a
# ring of links and into a folder that is gone. Never "input file is missing" (66): 74 or 77, with the path as it was given
# and the cure, before the work that would be lost, and with nothing left behind.
# trees: release
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
work_folder
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
"$weft" train --data store --epochs 1 --threads 1 --quiet --run-dir run >/dev/null || fail "train"
printf '0,1\n1,2\n' >edges.csv
touch afile
ln -s ring ring
checked=0

# refused CODES PATH TEXT COMMAND...
refused() {
    local codes=$1 path=$2 text=$3 got=0
    shift 3
    timeout 60 "$@" >out 2>err || got=$?
    [[ " $codes " == *" $got "* ]] || fail "exit $got instead of $codes: $*: $(cat err)"
    [ "$(grep -c 'weft: error: ' err)" -eq 1 ] || fail "not one error from $*: $(cat err)"
    grep -qF -- "$path: " err || fail "'$path: ' is not named by $*: $(cat err)"
    grep -qF -- "$text" err || fail "no '$text' from $*: $(cat err)"
    grep -q 'tmp-' err && fail "a temporary name is told by $*: $(cat err)"
    checked=$((checked + 1))
}

# every CODES TEXT FOLDER: all commands, with FOLDER/x.
every() {
    local codes=$1 text=$2 x=$3/x to
    refused "$codes" "$x" "$text" "$weft" convert synth:quickstart,scale=0.01 --out "$x"
    refused "$codes" "$x" "$text" "$weft" convert edges.csv --out "$x"
    for to in ogb ogb-binary dgl-reddit graphsaint metis matrix-market edge-list; do
        refused "$codes" "$x" "$text" "$weft" convert store --to $to --out "$x"
    done
    refused "$codes" "$x" "$text" "$weft" convert edges.csv --to edge-list --out "$x"
    refused "$codes" "$x.gz" "$text" "$weft" convert edges.csv --to edge-list --out "$x.gz"
    refused "$codes" "$x" "$text" "$weft" export run --out "$x"
    refused "$codes" "$x" "$text" "$weft" report run --out "$x"
    refused "$codes" "$x" "$text" "$weft" predict --data store --checkpoint run --out "$x" --threads 1
}

every 74 "its folder does not exist (mkdir -p missing)" missing
every 74 "its folder does not exist (mkdir -p no/such)" no/such
every 74 "afile is a file, not a folder" afile
every 74 "afile is a file, not a folder" afile/deep
every 74 "symbolic links" ring
every 74 "the folder /proc takes no files" /proc
[ "$(ls -A | sort | tr '\n' ' ')" = "afile edges.csv err out ring run store " ] || fail "left behind: $(ls -A)"

# A run folder is made with its parents.
train=("$weft" train --data store --epochs 1 --threads 1 --quiet --run-dir)
refused 74 afile "not a folder" "${train[@]}" afile/x
refused 74 afile "not a folder" "${train[@]}" afile/deep/x
refused 74 afile "not a folder" "${train[@]}" afile
refused 74 ring "symbolic links" "${train[@]}" ring/x
refused 74 /proc/x "the folder /proc takes no files" "${train[@]}" /proc/x
refused "74 77" /sys/x "" "${train[@]}" /sys/x

# A current folder that was removed.
mkdir gone
cd gone || exit 1
rmdir ../gone
err=$work/err out=$work/out
in_gone() {
    local path=$1 got=0
    shift
    timeout 60 "$@" >"$out" 2>"$err" || got=$?
    [ $got -eq 74 ] || fail "exit $got instead of 74: $*: $(cat "$err")"
    grep -qF "$path: cannot be written: the folder . takes no files" "$err" || fail "$*: $(cat "$err")"
    checked=$((checked + 1))
}
in_gone weft-run-0001 "$weft" train --data "$work/store" --epochs 1 --threads 1 --quiet
in_gone weft-predictions "$weft" predict --data "$work/store" --checkpoint "$work/run" --threads 1
in_gone report.html "$weft" report "$work/run" "$work/run"
cd "$work" || exit 1

# Found before the work: neither graph is generated (the second would take minutes and more memory than there is).
refused 74 missing/x "mkdir -p missing" "$weft" convert synth:products,scale=20 --out missing/x
refused 2 store "exists already" "$weft" convert synth:products,scale=20 --out store

# The run folder goes while the job runs: what is to be written at its end is an output too.
"$weft" train --data store --epochs 1000000 --max-hours 0.001 --threads 1 --run-dir lost --eval-every 0 >out 2>tell &
job=$!
for _ in $(seq 300); do
    grep -q 'Epoch: 01' tell && break
    sleep 0.1
done
rm -r lost
got=0
wait "$job" || got=$?
[ "$got" -eq 74 ] || [ "$got" -eq 75 ] || fail "a job without its run folder ended with $got: $(tail -2 tell)"
[ "$checked" -ge 90 ] || fail "only $checked refusals"
echo "$checked outputs refused with path and cure"
