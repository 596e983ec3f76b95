#!/bin/bash
# --resume with another --epochs: the end has the bits of a job that was started with that number, after the end of a run
# as in its middle, on one rank and on two, and where the mode remembers residuals; what cannot be so is refused, says
# why, and changes nothing.
# needs: mpirun
# timeout: 480
set -u
weft=$1
source_dir=$2
. "$source_dir/tests/support/script.sh"
need mpirun
need python3
work_folder
export XDG_CACHE_HOME=$work/cache
"$weft" convert synth:quickstart,scale=0.01 --out store --quiet || fail "convert"
"$weft" partition store --parts 2 --quiet >out || fail "partition"
count=1
options=(--data store --threads 1 --norm batch --hidden 8 --eval-every 2)

# ends CODE OPTION...
ends() {
    local code=$1 got=0 command=("$weft" train "${options[@]}")
    shift
    if [ "$count" -eq 1 ]; then
        "${command[@]}" "$@" >out 2>err || got=$?
    else
        ranks "$count" "${command[@]}" "$@" >out 2>err || got=$?
    fi
    [ "$got" -eq "$code" ] || fail "$*: exit $got instead of $code: $(cat err)"
}
says() { grep -qF -- "$1" err || fail "no '$1' in: $(cat err)"; }
lines() { sed 's/"eval_s.*//; s/"epoch_s.*//' "$1/metrics.jsonl"; }
scores() {
    python3 - "$1/summary.json" <<'END'
import json, sys
summary = json.load(open(sys.argv[1]))
print([summary[key] for key in ("runs", "epochs", "test_mean", "valid_mean")])
END
}
same_end() {
    cmp "$1/weights.npz" "$2/weights.npz" && cmp "$1/predictions.npy" "$2/predictions.npy" || fail "$2 does not end as $1"
    [ "$(lines "$1")" = "$(lines "$2")" ] || fail "metrics of $2: $(diff <(lines "$1") <(lines "$2") | head -4)"
    [ "$(scores "$1")" = "$(scores "$2")" ] || fail "summary of $2: $(scores "$1"; scores "$2")"
}
refused() { # FOLDER TEXT OPTION...
    local folder=$1 text=$2 before
    shift 2
    before=$(find "$folder" -type f -exec cksum {} + | sort)
    ends 2 --run-dir "$folder" --resume "$@"
    says "$text"
    [ "$before" = "$(find "$folder" -type f -exec cksum {} + | sort)" ] || fail "a refused start changed $folder"
}

# ---- after the end, in several steps, and in the middle ----
# longer NAME OPTION...
longer() {
    local name=$1
    shift
    ends 0 "$@" --epochs 24 --run-dir "$name-whole"
    ends 0 "$@" --epochs 8 --run-dir "$name"
    ends 0 "$@" --epochs 16 --run-dir "$name" --resume
    says "--epochs 16 instead of 8"
    ends 75 "$@" --epochs 20 --run-dir "$name" --resume --max-hours 1e-9
    ends 0 "$@" --epochs 24 --run-dir "$name" --resume
    same_end "$name-whole" "$name"
}
longer adam
longer sgd --optimizer sgd --momentum 0.9 --lr 0.1 --schedule step --schedule-step 3 --warmup 4
longer exp --optimizer sgd --lr 0.5 --schedule exp --schedule-gamma 0.9
count=2
longer two --reproducible
topk=(--sync topk --topk-density 0.1 --topk-dense-below 16)
longer topk "${topk[@]}" --topk-exchange all-gather --allreduce ring
longer split --reproducible --overlap split --bucket 2KiB
# What would be chosen now is no matter: residuals lie as the exchange of the beginning left them.
for exchange in all-gather hierarchical; do
    ends 0 "${topk[@]}" --choices "allreduce=ring topk=$exchange:1:ring" --epochs 8 --run-dir "$exchange"
    ends 0 "${topk[@]}" --epochs 24 --run-dir "$exchange" --resume
    grep -q "topk=$exchange:1:ring" "$exchange/run.json" || fail "resumed with another exchange than $exchange"
done
same_end topk-whole all-gather
# Ranks that lie otherwise over nodes have other residuals; another exchange stands for that here.
ends 0 "${topk[@]}" --choices "allreduce=ring topk=hierarchical:1:ring" --epochs 32 --run-dir all-gather --resume
says "going on from the mean of its replicas"
[ "$(wc -l <all-gather/metrics.jsonl)" -eq 32 ] || fail "without residuals: $(wc -l <all-gather/metrics.jsonl) epochs"
# Where replicas differ a run ends with their mean: training goes on from there, and gets better.
ends 0 --sync divide-shuffle --epochs 8 --run-dir shuffle
ends 0 --sync divide-shuffle --epochs 24 --run-dir shuffle --resume
[ "$(wc -l <shuffle/metrics.jsonl)" -eq 24 ] || fail "divide-shuffle: $(wc -l <shuffle/metrics.jsonl) epochs"
python3 - shuffle/metrics.jsonl <<'END' || fail "divide-shuffle does not go on from where it was"
import json, sys
loss = [json.loads(line)["loss"] for line in open(sys.argv[1])]
assert max(loss[8:]) < loss[0] and loss[-1] < loss[7], loss
END
count=1

# Fewer epochs than were planned, but more than were done.
ends 75 --epochs 24 --run-dir fewer --max-hours 1e-9
ends 0 --epochs 8 --run-dir fewer --resume
ends 0 --epochs 8 --run-dir eight
same_end eight fewer

# ---- several runs: while none but the first has ended ----
ends 0 --runs 2 --epochs 16 --run-dir runs-whole
ends 75 --runs 2 --epochs 8 --run-dir runs --max-hours 1e-9
ends 0 --runs 2 --epochs 16 --run-dir runs --resume
same_end runs-whole runs
refused runs "1 of --runs 2 have ended with --epochs 16" --runs 2 --epochs 24

# ---- a run that got no better stays ended ----
ends 0 --epochs 400 --patience 3 --lr 0.1 --run-dir early
ended=$(wc -l <early/metrics.jsonl)
[ "$ended" -lt 400 ] || fail "--patience did not end the run"
cp -r early early-more
ends 0 --epochs 500 --patience 3 --lr 0.1 --run-dir early-more --resume
says "--patience 3 ended the run after epoch $ended"
same_end early early-more

# ---- what cannot be as if ----
refused adam "has 24 epochs by now, --epochs 16 is less" --epochs 16
ends 75 --epochs 24 --run-dir middle --max-hours 1e-9
refused middle "has 1 epochs by now, --epochs 1 is no more" --epochs 1
for schedule in cosine linear; do
    ends 0 --schedule $schedule --epochs 8 --run-dir $schedule
    refused $schedule "--schedule $schedule spreads over --epochs 8" --schedule $schedule --epochs 16
    ends 0 --schedule $schedule --epochs 8 --run-dir $schedule --resume
done

# ---- --resume RUN: data and options are those of the run, but for those given ----
count=1
ends 0 --lr 0.02 --epochs 8 --run-dir typed-whole
ends 0 --lr 0.02 --epochs 4 --run-dir typed
"$weft" train --resume typed --epochs 8 >out 2>err || fail "--resume typed: $(cat err)"
says "--lr 0.02 (of typed/run.json)"
same_end typed-whole typed
for case in "65:no options:broken" "66:holds no run:absent" "2:are two folders:typed --run-dir other" "2:unexpected argument:typed other"; do
    IFS=: read -r code text words <<<"$case"
    mkdir -p broken && echo '{}' >broken/run.json
    "$weft" train --resume $words >out 2>err
    [ $? -eq "$code" ] || fail "--resume $words: not refused with $code: $(cat err)"
    says "$text"
done
echo "goes on longer"
