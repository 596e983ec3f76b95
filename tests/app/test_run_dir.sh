#!/bin/bash
# A run folder is one job's: of two that start at the same moment one is refused and touches nothing; the lock of a dead
# job is taken over, that of another host after half a minute without a sign of life. Links in the folder are not
# followed, a job that is refused leaves nothing, and a limit of file sizes is an error like a full disk.
# needs: mpirun
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need python3
work=$(mktemp -d)
jobs=()
cleanup() {
    for job in "${jobs[@]}"; do kill -KILL "$job" 2>/dev/null; done
    wait
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
told=(--data store --threads 1 --hidden 8)
options=("${told[@]}" --quiet)

# ends CODE TEXT OPTION...: weft train ends with CODE and says TEXT.
ends() {
    local code=$1 text=$2 got=0
    shift 2
    timeout 200 "$weft" train "${options[@]}" "$@" >out 2>err || got=$?
    [ "$got" -eq "$code" ] || fail "exit $got instead of $code: $*: $(cat err)"
    grep -qF -- "$text" err || [ -z "$text" ] || fail "no '$text' from $*: $(cat err)"
}

# begin NAME COMMAND...: a job in the background; $job. It writes NAME.err.
begin() {
    local name=$1
    shift
    "$@" >"$name.out" 2>"$name.err" &
    job=$!
    jobs+=("$job")
}
until_lines() { # FILE COUNT
    local tries=0
    until [ -f "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; do
        sleep 0.05
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "$1 does not grow: $(cat ./*.err)"
    done
}
code_of() {
    code=0
    wait "$1" || code=$?
}
# Every epoch once, in order, each line whole.
whole_metrics() {
    python3 - "$1/metrics.jsonl" <<'PY' || fail "$1/metrics.jsonl is torn"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
assert [line["epoch"] for line in lines] == list(range(1, len(lines) + 1)), [line["epoch"] for line in lines][:50]
PY
}

# ---- two jobs, one folder ----
# both NAME COMMAND...: two of the same at the same moment. One trains until it is told to stop; the other is refused.
both() {
    local name=$1 first second refused living
    shift
    begin "$name-1" "$@"
    first=$job
    begin "$name-2" "$@"
    second=$job
    local tries=0
    while kill -0 "$first" 2>/dev/null && kill -0 "$second" 2>/dev/null; do
        sleep 0.1
        tries=$((tries + 1))
        [ "$tries" -lt 1000 ] || fail "$name: two jobs train in one folder"
    done
    if kill -0 "$first" 2>/dev/null; then living=1 refused=2; else living=2 refused=1; fi
    code_of "$([ $refused -eq 1 ] && echo "$first" || echo "$second")"
    [ "$code" -eq 2 ] || fail "$name: the second job ends with $code: $(cat "$name-$refused.err")"
    grep -q "held by process [0-9]* on $(uname -n), since 20..-" "$name-$refused.err" ||
        fail "$name: refused without naming the holder: $(cat "$name-$refused.err")"
    until_lines run/metrics.jsonl 5
    [ -e run/run.lock ] || fail "$name: a refused job removed the lock"
    job=$([ $living -eq 1 ] && echo "$first" || echo "$second")
    kill -USR1 "$job"
    code_of "$job"
    [ "$code" -eq 75 ] || fail "$name: the first job ends with $code: $(cat "$name-$living.err")"
    [ ! -e run/run.lock ] || fail "$name: the lock stays"
    whole_metrics run
}
endless=("$weft" train "${options[@]}" --epochs 1000000000 --checkpoint-every 1 --run-dir run)
both plain "${endless[@]}"
both force "${endless[@]}" --force
both resume "${endless[@]}" --resume
before=$(wc -l <run/metrics.jsonl)
both ranks mpirun --oversubscribe --bind-to none -np 2 "${endless[@]}" --resume
[ "$(wc -l <run/metrics.jsonl)" -gt "$before" ] || fail "the resumed job began at the beginning"

# Readers do not mind.
begin reader "${endless[@]}" --resume
until_lines run/metrics.jsonl $(($(wc -l <run/metrics.jsonl) + 5))
"$weft" report run --out - --format md >out 2>err || fail "report of a folder being written: $(cat err)"
for _ in {1..20}; do
    "$weft" eval --data store --checkpoint run --threads 1 --quiet >out 2>err ||
        fail "eval of a folder being written: $(cat err)"
    [ ! -s err ] || fail "eval of a folder being written complains: $(cat err)"
done

# ---- the dead ----
kill -KILL "$job"
wait "$job" 2>/dev/null
[ -e run/run.lock ] || fail "a killed job has no lock to leave"
lines=$(wc -l <run/metrics.jsonl)
"$weft" train "${told[@]}" --epochs 1000000000 --max-hours 1e-9 --resume --run-dir run >out 2>err
[ $? -eq 75 ] || fail "after a killed job: $(cat err)"
! grep -q "for a sign of life" err || fail "a dead job of this host is waited for: $(cat err)"
[ "$(wc -l <run/metrics.jsonl)" -ge $((lines - 1)) ] || fail "the resumed job began at the beginning"
whole_metrics run

# forge BEAT: the lock of a job on another host.
forge() {
    echo '{"host": "node17", "process": 4711, "began": 1, "kernel": "of node17", "job": "slurm 33", "since": "2024-05-01T12:00:00Z", "mark": "1", "beat": "'"$1"'"}' >forged
    mv forged run/run.lock
}
forge 0000000001
(for beat in {2..60}; do sleep 1; [ -e run/run.lock ] && forge "$(printf %010d "$beat")"; done) &
beats=$!
jobs+=("$beats")
before=$(cksum run/metrics.jsonl run/run.json)
ends 2 "held by process 4711 on node17, since 2024-05-01T12:00:00Z, slurm 33" --epochs 3 --force --run-dir run
[ "$before" = "$(cksum run/metrics.jsonl run/run.json)" ] || fail "a refused job changed the run"
[ -e run/run.lock ] || fail "a refused job removed the lock"
kill -KILL "$beats"
wait "$beats" 2>/dev/null
began=$SECONDS
options=("${told[@]}")
ends 0 "waiting 30 s for a sign of life" --epochs 3 --force --run-dir run
options+=(--quiet)
[ $((SECONDS - began)) -ge 25 ] || fail "a foreign job is believed dead after $((SECONDS - began)) s"
whole_metrics run
[ ! -e run/run.lock ] || fail "the lock stays"

# ---- links are not followed ----
for file in metrics.jsonl run.json summary.json predictions.npy weights.npz; do
    echo precious >victim-$file
    ln -sf "$work/victim-$file" run/$file
done
mkdir victim-ckpt
echo precious >victim-ckpt/file
rm -rf run/ckpt
ln -s "$work/victim-ckpt" run/ckpt
ends 0 "" --epochs 3 --force --run-dir run
for file in metrics.jsonl run.json summary.json predictions.npy weights.npz; do
    [ "$(cat victim-$file)" = precious ] || fail "--force wrote through the link $file"
    [ -f run/$file ] && [ ! -L run/$file ] || fail "--force left the link $file"
done
[ "$(ls victim-ckpt)" = file ] && [ ! -L run/ckpt ] || fail "--force wrote through the link ckpt: $(ls victim-ckpt)"
ends 0 "" --epochs 3 --force --run-dir run
mv run/metrics.jsonl elsewhere
ln -s "$work/elsewhere" run/metrics.jsonl
before=$(cksum elsewhere run/run.json)
ends 74 "run/metrics.jsonl: is a symbolic link" --epochs 5 --resume --run-dir run
[ "$before" = "$(cksum elsewhere run/run.json)" ] || fail "--resume wrote through the link metrics.jsonl"
mv elsewhere run/metrics.jsonl
mv run/ckpt moved
ln -s "$work/moved" run/ckpt
ends 74 "run/ckpt: is a symbolic link" --epochs 5 --resume --run-dir run
[ "$(ls moved)" = epoch-00000003 ] || fail "--resume wrote through the link ckpt: $(ls moved)"

# ---- a job that is refused leaves nothing ----
python3 - <<'PY'
import csv
with open("edges.txt", "w") as out:
    out.writelines(f"{i} {(i + 1) % 40}\n" for i in range(40))
with open("features.csv", "w") as out:
    out.writelines(f"{i % 3},{i % 5}\n" for i in range(40))
with open("labels.csv", "w") as out:
    out.writelines(f"{i % 2}\n" for i in range(40))
with open("splits.csv", "w") as out:
    out.writelines("valid\n" if i % 2 else "test\n" for i in range(40))
PY
"$weft" convert edges.txt --format edge-list --features features.csv --labels labels.csv --splits splits.csv \
    --out untrained --quiet 2>err || fail "convert: $(cat err)"
"$weft" train --data untrained --dry-run --quiet >out 2>err || fail "dry run: $(cat err)" # the store's seal is kept
before=$(find . | sort)
nothing_left() { [ "$before" = "$(find . | sort)" ] || fail "left: $(diff <(echo "$before") <(find . | sort))"; }
options=(--data untrained --threads 1 --quiet)
ends 65 "convert with --splits" --run-dir none
nothing_left
ends 65 "training split" --run-dir new/parents/none/
nothing_left
ends 65 "training split"
nothing_left
ends 65 "training split" --run-dir run --force
nothing_left
options=(--data store --threads 1 --hidden 8 --quiet)

# ---- a limit of file sizes ----
limited() { # KIB CODE COMMAND...
    local kib=$1 expected=$2 got=0
    shift 2
    (ulimit -c 0; ulimit -f "$kib"; exec "$@" >out 2>err) || got=$?
    [ "$got" -eq "$expected" ] || fail "exit $got instead of $expected below $kib KiB: $*: $(cat err)"
}
for kib in 1 16 64; do
    limited $kib 74 "$weft" convert synth:quickstart,scale=0.01 --out new --quiet
    grep -q "ulimit -f" err || fail "the limit is not named: $(cat err)"
    nothing_left
done
limited 1 74 "$weft" partition store --parts 2
[ -z "$(find . -name '*.tmp-*')" ] || fail "left: $(find . -name '*.tmp-*')"
limited 1 74 "$weft" train "${options[@]}" --epochs 3 --run-dir new
limited 24 74 "$weft" train --data store --threads 1 --quiet --hidden 64 --epochs 4 --checkpoint-every 2 --run-dir big
grep -q "checkpoint after run 1, epoch 2 not written: .*ulimit -f.*training goes on" err || fail "no warning: $(cat err)"
[ "$(wc -l <big/metrics.jsonl)" -eq 4 ] || fail "training did not go on: $(wc -l <big/metrics.jsonl) epochs"
[ -z "$(find . -name '*.tmp-*')" ] || fail "left: $(find . -name '*.tmp-*')"
echo "one job a folder"
