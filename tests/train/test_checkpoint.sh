#!/bin/bash
# weft train that stops and goes on: signals, time limit, exit 75 and the command line it names; run folder and metrics
# as if nothing had happened; options that differ; damaged checkpoints; disks that refuse.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
# Every checkpoint is synced to the disk: in memory that costs nothing.
work_folder
export XDG_CACHE_HOME=$work/cache
export PATH="$work/bin:$PATH"
mkdir bin && ln -s "$(realpath "$weft")" bin/weft
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
options=(--threads 1 --norm batch)
data=store epochs=12 hidden=8

# ends CODE [weft train options]: one rank
ends() {
    local code=$1 got=0
    shift
    "$weft" train "${options[@]}" --data $data --epochs $epochs --hidden $hidden "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "$*: exit $got instead of $code: $(cat err)"
}
says() { grep -qF -- "$1" err || fail "no '$1' in: $(cat err)"; }
# Without times and traffic.
lines() { sed 's/"eval_s.*//; s/"epoch_s.*//' "$1/metrics.jsonl"; }
same_end() {
    cmp "$1/weights.npz" "$2/weights.npz" && cmp "$1/predictions.npy" "$2/predictions.npy" || fail "$2 does not end as $1"
    [ "$(lines "$1")" = "$(lines "$2")" ] || fail "metrics of $2: $(diff <(lines "$1") <(lines "$2") | head -4)"
}
newest() { ls "$1/ckpt" | tail -1; }

# ---- stop and go on, by the command line that is named ----
ends 0 --run-dir whole
[ "$(ls whole/ckpt)" = epoch-00000012 ] || fail "a short run leaves $(ls whole/ckpt)"
ends 75 --run-dir parts --max-hours 1e-9
says "stopped after run 1, epoch 1, with a checkpoint in parts/ckpt; to go on: $weft train "
[ "$(grep -c 'weft: error' err)" -eq 0 ] || fail "stopping is told as an error: $(cat err)"
[ "$(tail -1 parts/run.json)" = "}" ] && grep -q '"exit": 75' parts/run.json || fail "run.json without exit 75"
command=$(sed -n 's/.*to go on: //p' err | sed 's/ --max-hours 1e-9//')
[[ "$command" == *"--resume --run-dir parts" ]] || fail "the command line is: $command"
eval "$command" >out 2>err || fail "$command: $(cat err)"
says "going on after run 1, epoch 1"
same_end whole parts
[ "$(grep -c '"after_epoch"' parts/run.json)" -eq 2 ] || fail "run.json does not list two starts"
ends 0 --run-dir parts --resume
says "the end of the run"
same_end whole parts

# ---- nothing to go on from is a beginning; the default is the newest folder ----
ends 0 --run-dir fresh --resume
same_end whole fresh
ends 75 --max-hours 1e-9 --resume
ends 0 --resume
same_end whole weft-run-0001
[ ! -e weft-run-0002 ] || fail "--resume made another folder"
ends 2 --run-dir whole
says "--resume"
ends 2 --run-dir whole --resume --force
for bad in 3x -1 1.5 min 2step 1.5steps ""; do
    ends 2 --run-dir none "--checkpoint-every=$bad"
    says "--checkpoint-every"
done

# ---- what must agree, and what need not ----
ends 75 --run-dir agree --max-hours 1e-9
before=$(cat agree/metrics.jsonl | cksum; ls agree/ckpt)
ends 2 --run-dir agree --resume --lr 0.5
says "with --lr 0.01, this job has 0.5"
ends 2 --run-dir agree --resume --model gcn
says "with --model sage, this job has gcn"
"$weft" convert synth:quickstart,scale=0.01 --out other --quiet --split-index -1 2>err || fail "convert: $(cat err)"
sed -i 's/"name": "quickstart"/"name": "other"/' other/manifest.json
data=other
ends 2 --run-dir agree --resume
data=store
says "other data"
[ "$before" = "$(cat agree/metrics.jsonl | cksum; ls agree/ckpt)" ] || fail "a refused start changed the run"
ends 0 --run-dir agree --resume --lr 0.010 --trace
same_end whole agree

# ---- a killed job's lines and leavings go; a damaged checkpoint is passed over ----
ends 0 --run-dir kept --checkpoint-every 5steps
cp -r kept damaged
rm -rf damaged/ckpt/epoch-00000012 damaged/weights.npz
mkdir damaged/data-123 damaged/ckpt/epoch-00000011.tmp-1-2-3
echo '{"schema": 1, "run": 1, "epo' >>damaged/metrics.jsonl
cp -r damaged all
ends 0 --run-dir damaged --resume --checkpoint-every 1
same_end whole damaged
[ "$(ls damaged/ckpt | tr '\n' ' ')" = "epoch-00000011 epoch-00000012 " ] || fail "left: $(ls damaged/ckpt)"
[ ! -e damaged/data-123 ] || fail "generated data of a killed job is still there"
cp -r damaged cut
head -c 200 damaged/ckpt/epoch-00000012/best.npz >cut/ckpt/epoch-00000012/best.npz
ends 0 --run-dir cut --resume
says "epoch-00000012/best.npz: damaged: 200 bytes"
says "going on after run 1, epoch 11"
same_end whole cut
rm all/ckpt/epoch-00000010/manifest.json
ends 65 --run-dir all --resume
says "every checkpoint is damaged"
says "begin anew with --force instead of --resume"

# ---- signals, one rank ----
# signalled NAME SIGNAL COMMAND...: it trains until the signal comes
signalled() {
    local name=$1 signal=$2 got=0 process tries=0
    shift 2
    "$@" train "${options[@]}" --data $data --hidden $hidden --epochs 1000000000 --run-dir "$name" --checkpoint-every 0 >out 2>err &
    process=$!
    until [ -s "$name/metrics.jsonl" ]; do
        sleep 0.1
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "$name: no epoch: $(cat err)"
    done
    kill "-$signal" "$process"
    wait "$process" || got=$?
    # mpirun that is terminated itself says 1, whatever its ranks say.
    [ "$got" -eq 75 ] || [ "$name$got" = two-TERM1 ] || fail "$name: exit $got after SIG$signal: $(cat err)"
    grep -q '"exit": 75' "$name/run.json" || fail "$name: run.json without exit 75"
    [ "$(grep -c 'stopped after run 1' err)" -eq 1 ] || fail "$name: not told once: $(cat err)"
    [ "$(newest "$name")" = "$(printf 'epoch-%08d' "$(wc -l <"$name/metrics.jsonl")")" ] || fail "$name: $(newest "$name")"
}
for signal in USR1 TERM INT; do
    signalled "got-$signal" $signal "$weft"
done

# Before there is an epoch: after the first one.
"$weft" train "${options[@]}" --data synth:quickstart,scale=0.1 --epochs 1000000000 --run-dir early >out 2>err &
process=$!
until [ -d early ] || ! kill -0 "$process"; do sleep 0.01; done
kill -USR1 "$process"
got=0
wait "$process" || got=$?
[ "$got" -eq 75 ] || fail "a signal while data load: exit $got: $(cat err)"
says "SIGUSR1: a checkpoint after this step"

# ---- two ranks ----
mpirun=(mpirun --oversubscribe --bind-to none -np)
two() {
    local code=$1 got=0
    shift
    ranks 2 "$weft" train "${options[@]}" --data $data --epochs $epochs --hidden $hidden "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "two ranks, $*: exit $got instead of $code: $(cat err)"
}
two 0 --run-dir two-whole
signalled two-USR1 USR1 "${mpirun[@]}" 2 "$weft"
# mpirun waits as long before it passes SIGTERM on as it does between that and SIGKILL: no cure, and not advised.
signalled two-TERM TERM "${mpirun[@]}" 2 --mca odls_base_sigkill_timeout 5 "$weft"
says "SIGUSR1 to mpirun instead"
grep -q odls_base_sigkill_timeout err && fail "an option is advised that only postpones the signal: $(cat err)"
two 75 --run-dir two --max-hours 1e-9
says "to go on: mpirun -np 2 $weft train"
cp -r two one
two 0 --run-dir two --resume
same_end two-whole two
ends 0 --run-dir one --resume
says "1 ranks (were 2)"
python3 - two-whole one <<'END' || fail "two ranks and one drift apart"
import json, sys
a, b = ([json.loads(line)["loss"] for line in open(run + "/metrics.jsonl")] for run in sys.argv[1:])
assert len(a) == len(b) == 12 and max(abs(x - y) for x, y in zip(a, b)) < 1e-4, (a, b)
END

# ---- a disk that refuses: files of at most 24 KiB ----
hidden=64
ends 75 --run-dir full --max-hours 1e-9
limited() { (trap '' XFSZ; ulimit -f 24; exec "$weft" train "${options[@]}" --data $data --epochs $epochs --hidden $hidden --run-dir full --resume "$@" >out 2>err); }
limited --checkpoint-every 4
[ $? -eq 74 ] || fail "a full disk: $(cat err)"
says "checkpoint after run 1, epoch 4 not written"
says "the one before it stays, training goes on"
limited --max-hours 1e-9
[ $? -eq 74 ] || fail "a full disk and a time limit: $(cat err)"
says "stopping, but the checkpoint could not be written"
[ "$(ls full/ckpt)" = epoch-00000001 ] || fail "left: $(ls full/ckpt)"
ends 0 --run-dir full --resume
ends 0 --run-dir wide
same_end wide full

# ---- a folder that may not be written ----
ends 75 --run-dir locked --max-hours 1e-9
user=()
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || { echo "stops, goes on (no setpriv: no read-only folder)"; exit 0; }
    user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 755 "$work" && chown -R 65534 locked store
fi
chmod 555 locked/ckpt
got=0
"${user[@]}" "$weft" train "${options[@]}" --data $data --epochs $epochs --hidden $hidden --run-dir locked --resume --checkpoint-every 4 >out 2>err || got=$?
chmod 755 locked/ckpt
[ "$got" -eq 0 ] || fail "a read-only folder of checkpoints: exit $got: $(cat err)"
says "not written"
same_end wide locked
echo "stops, goes on"
